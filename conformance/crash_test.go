package conformance

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"a2aserve/conformance/vector"
)

// child starts the server as a process of its own and returns how to reach and end it.
func child(t *testing.T, db, yaml string, env ...string) (*vector.Target, *exec.Cmd) {
	t.Helper()
	return await(t, spawn(t, configFile(t, db, yaml), env...))
}

// spawned is a server in a process of its own that may not have begun to listen.
type spawned struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

func spawn(t *testing.T, config string, env ...string) spawned {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+config), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	return spawned{cmd, bufio.NewReader(out)}
}

// kill ends a process at once, unless it has ended and been waited for.
func kill(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// await returns once a server listens.
func await(t *testing.T, s spawned) (*vector.Target, *exec.Cmd) {
	t.Helper()
	addr, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	target := targetAt(strings.TrimSpace(addr))
	t.Cleanup(target.Client.CloseIdleConnections)
	return target, s.cmd
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
