package conformance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"a2aserve/conformance/vector"

	"golang.org/x/sync/errgroup"
)

// agentMark is in the environment of every process that an agent of these tests starts.
const agentMark = "A2ASERVE_TEST_AGENT"

// hostile is a server process with a hostile agent behind it.
type hostile struct {
	*vector.Target
	cmd  *exec.Cmd
	mark string
}

// serveHostile serves testdata/agents/PROTOCOL.sh.
func serveHostile(t *testing.T, protocol string) hostile {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("this system does not tell what runs and how much memory it takes")
	}
	script, err := filepath.Abs("testdata/agents/" + protocol + ".sh")
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "tasks.db")
	h := hostile{mark: agentMark + "=" + db}
	h.Target, h.cmd = child(t, db, tokens+fmt.Sprintf(`
agent: {driver: child, child: {command: /bin/sh, args: [%q], protocol: %s, stop_grace: 200ms, max_line_bytes: 1048576, env: {%s: %q}}}
artifacts: {max_answer_bytes: 1048576, max_task_bytes: 65536}
tasks: {silence_timeout: 8s}
shutdown_timeout: 500ms
`, script, protocol, agentMark, db))
	return h
}

// agents lists the processes of the agent, whoever started them. One that is dead and not
// yet waited for has no environment any more.
func (h hostile) agents() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err == nil && bytes.Contains(env, []byte(h.mark)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// await waits until ok holds of the number of the agent's processes.
func (h hostile) await(t *testing.T, want string, ok func(n int) bool) {
	t.Helper()
	var pids []int
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if pids = h.agents(); ok(len(pids)) {
			return
		}
	}
	t.Errorf("%s, but there are the agent's processes %v", want, pids)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func none(n int) bool { return n == 0 }

// peak is the most memory that the server has held, in bytes.
func (h hostile) peak(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// says sends a message in a context named after it and reads the answer when it is over.
func (h hostile) says(ctx context.Context, text string, extra ...string) ([]byte, task, error) {
	body, err := h.Call(ctx, vector.REST, "SendMessage", "alice", say(text, append([]string{`"contextId":"` + text + `"`}, extra...)...))
	got, err := parseAs[sent](body, err)
	return body, got.Task, err
}

// most is how much memory the server may take while agents do their worst: what it keeps of
// each task is bounded, and the race detector multiplies that.
const most = 512 << 20

// Whatever an agent in a process does, its task ends as documented, the others are served
// meanwhile, and the server stays small.
func TestHostileAgents(t *testing.T) {
	t.Parallel() // each server is a process of its own, and the longest of it is waiting for silence
	full := "long after its answer was full"
	for protocol, wants := range map[string]map[string]string{
		"text": {"flood": full, "line": full, "closes": "", "leaves": `"left\n"`},
		"json": {"flood": full, "tools": "long after the task was full", "line": "a line of more than",
			"noise": "", "closes": "closed its output", "leaves": `"left"`},
	} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			h := serveHostile(t, protocol)
			before := h.peak(t)
			ctx, cancel := context.WithCancel(t.Context())
			served := 0
			var others errgroup.Group
			others.Go(func() error {
				for ; ctx.Err() == nil; served++ {
					want := fmt.Sprint("number ", served)
					if _, got, err := h.says(t.Context(), "echo "+want); err != nil || strings.TrimSpace(got.text()) != want {
						return fmt.Errorf("%s: %s %q %w", want, got.Status.State, got.text(), err)
					}
				}
				return nil
			})
			var worst sync.WaitGroup
			for what, want := range wants {
				worst.Go(func() {
					body, got, err := h.says(t.Context(), what)
					state := "TASK_STATE_FAILED"
					if what == "leaves" {
						state = "TASK_STATE_COMPLETED"
					}
					if err != nil || got.Status.State != state || !bytes.Contains(body, []byte(want)) {
						t.Errorf("%s: %s %v %.300s", what, got.Status.State, err, body[max(0, len(body)-300):])
					}
				})
			}
			worst.Wait()
			cancel()
			if err := others.Wait(); err != nil || served == 0 {
				t.Errorf("others were served %d times: %v", served, err)
			}
			if protocol == "text" {
				h.await(t, "every turn is over", none)
			}
			t.Logf("%d others served; %d MiB at first, %d MiB at most", served, before>>20, h.peak(t)>>20)
			if p := h.peak(t); p > most {
				t.Errorf("the server took %d MiB", p>>20)
			}
		})
	}
}

// Nothing of an agent outlives the server, however the server ends and whatever the agent
// does about it.
func TestAgentsEndWithTheServer(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"text", "json"} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			t.Run(protocol+" "+sig.String(), func(t *testing.T) {
				h := serveHostile(t, protocol)
				for _, what := range []string{"forks", "stubborn"} {
					if _, _, err := h.says(t.Context(), what, now); err != nil {
						t.Fatal(err)
					}
				}
				h.await(t, "two turns run", func(n int) bool { return n >= 6 })
				if err := h.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				if err := h.cmd.Wait(); err != nil && sig == syscall.SIGTERM {
					t.Errorf("the server ended with %v", err)
				}
				h.await(t, "the server is gone", none)
			})
		}
	}
}

// An agent that ignores SIGTERM is killed when its task is cancelled, with what it started.
func TestCancelStubbornAgent(t *testing.T) {
	for _, protocol := range []string{"text", "json"} {
		t.Run(protocol, func(t *testing.T) {
			h := serveHostile(t, protocol)
			_, running, err := h.says(t.Context(), "stubborn", now)
			if err != nil {
				t.Fatal(err)
			}
			h.await(t, "the turn runs", func(n int) bool { return n >= 3 })
			got, err := parseAs[task](h.Call(t.Context(), vector.REST, "CancelTask", "alice", `{"id":"`+running.ID+`"}`))
			if err != nil || got.Status.State != "TASK_STATE_CANCELED" {
				t.Errorf("%s %v", got.Status.State, err)
			}
			h.await(t, "the turn is cancelled", none)
		})
	}
}
