package conformance

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"a2aserve/conformance/vector"
	"a2aserve/impl/store"

	"golang.org/x/sync/errgroup"
)

// child starts the server as a process of its own and returns how to reach and end it.
func child(t *testing.T, db, yaml string, env ...string) (*vector.Target, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+configFile(t, db, yaml)), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	target := targetAt(strings.TrimSpace(addr))
	t.Cleanup(target.Client.CloseIdleConnections)
	return target, cmd
}

// rank orders the states that an acknowledged task may move through.
var rank = map[string]int{"TASK_STATE_SUBMITTED": 1, "TASK_STATE_WORKING": 2, "TASK_STATE_COMPLETED": 3, "TASK_STATE_FAILED": 3}

// OP-02, OP-04: a killed server loses nothing that it told anybody, leaves nothing
// running, and its file is whole.
func TestKilledUnderLoad(t *testing.T) {
	db := filepath.Join(t.TempDir(), "tasks.db")
	told := map[string]string{} // task → latest state that a client was told
	var mu sync.Mutex           // guards told
	tell := func(id, state string) {
		mu.Lock()
		defer mu.Unlock()
		if rank[state] > rank[told[id]] {
			told[id] = state
		}
	}
	for round := range 3 {
		target, cmd := child(t, db, tokens)
		recovered(t, target, told)
		ctx, cancel := context.WithCancel(t.Context())
		var g errgroup.Group
		acknowledged := make(chan struct{}, 64)
		for i := range 16 {
			g.Go(func() error {
				for n := 0; ctx.Err() == nil; n++ {
					sender(ctx, target, i, n, round, tell)
					select {
					case acknowledged <- struct{}{}:
					default:
					}
				}
				return nil
			})
		}
		for range 40 {
			<-acknowledged
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		cancel()
		_ = g.Wait()
	}
	target, cmd := child(t, db, tokens)
	recovered(t, target, told)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the last server ended with %v", err)
	}
	s, err := store.Open(t.Context(), store.Options{Path: db})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("the file is not whole: %v", err)
	}
	if len(told) < 40 {
		t.Errorf("only %d tasks were acknowledged", len(told))
	}
}

// sender sends one message in one of three ways and notes what it was told.
func sender(ctx context.Context, target *vector.Target, i, n, round int, tell func(id, state string)) {
	b := bindings[n%2]
	params := say("chunks 3", fmt.Sprintf(`"contextId":"kill-%d-%d"`, round, i))
	switch n % 3 {
	case 0, 1:
		if n%3 == 1 {
			params = say("slow 5 hi", fmt.Sprintf(`"contextId":"kill-%d-%d-%d"`, round, i, n), now)
		}
		if got, err := parseAs[sent](target.Call(ctx, b, "SendMessage", "alice", params)); err == nil {
			tell(got.Task.ID, got.Task.Status.State)
		}
	case 2:
		s, err := target.Open(ctx, b, "SendStreamingMessage", "alice", params)
		if err != nil {
			return
		}
		defer s.Close()
		for {
			f, err := parseAs[frame](s.Next())
			switch {
			case err != nil:
				return
			case f.Task != nil:
				tell(f.Task.ID, f.Task.Status.State)
			case f.StatusUpdate != nil:
				tell(f.StatusUpdate.TaskID, f.StatusUpdate.Status.State)
			}
		}
	}
}

// recovered checks a server that has just started against what clients were told.
func recovered(t *testing.T, target *vector.Target, told map[string]string) {
	t.Helper()
	i := 0
	for id, state := range told {
		i++
		got := get(t, target, vector.REST, id)
		switch {
		case !got.terminal():
			t.Errorf("task %s is still %s", id, got.Status.State)
		case rank[got.Status.State] < rank[state], state == "TASK_STATE_COMPLETED" && got.Status.State != state:
			t.Errorf("task %s was told to be %s and is %s", id, state, got.Status.State)
		}
		s, err := target.Open(t.Context(), bindings[i%2], "SubscribeToTask", "alice", `{"id":"`+id+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		if frames, _, err := ends(s); err != nil || len(frames) != 1 {
			t.Errorf("subscribing to %s gives %d frames: %v", id, len(frames), err)
		}
	}
	for _, state := range []string{"TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"} {
		if p := list(t, target, vector.JSONRPC, `{"status":"`+state+`"}`); p.Total != 0 || len(p.Tasks) != 0 {
			t.Errorf("%d tasks are %s after a start", p.Total, state)
		}
	}
}

// WF-06 and WF-12: what is read after a restart, in another time zone, is what was told.
func TestRestartKeepsDocuments(t *testing.T) {
	db := filepath.Join(t.TempDir(), "tasks.db")
	target, cmd := child(t, db, tokens, "TZ=Asia/Kolkata")
	id := send(t, target, vector.REST, `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":null,"mediaType":"application/json"}],"metadata":{"big":9007199254740993}}}`).ID
	read := func(target *vector.Target) string {
		b, err := target.Call(t.Context(), vector.REST, "GetTask", "alice", `{"id":"`+id+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := read(target)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	target, _ = child(t, db, tokens)
	if after := read(target); after != before {
		t.Errorf("before: %s\nafter: %s", before, after)
	}
	if err := vector.Match(`{"status":{"timestamp":"$timestamp"},"artifacts":[{"parts":[{"data":null}]}],"history":[{"metadata":{"big":9007199254740993}}]}`, []byte(before), vector.Vars{}); err != nil {
		t.Error(err)
	}
}

// OP-03: one process a file; the second says who has it.
func TestSecondProcessIsRefused(t *testing.T) {
	db := filepath.Join(t.TempDir(), "tasks.db")
	_, first := child(t, db, tokens)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+configFile(t, db, tokens))
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), fmt.Sprint(first.Process.Pid)) {
		t.Errorf("the second process ended with %v and said %q, which does not name process %d", err, out, first.Process.Pid)
	}
}
