//go:build unix

package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

// bench is an engine around a command that the test binary plays.
func bench(t *testing.T, part string, o Options, e turn.Options) *drivertest.Bench {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Command = exe
	if o.Env == nil {
		o.Env = map[string]string{}
	}
	o.Env[tool], o.Env["GORACE"] = part, "atexit_sleep_ms=0" // a second for each command otherwise
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return drivertest.New(t, NewText(o), e)
}

// expect runs a turn and compares its end.
func expect(t *testing.T, b *drivertest.Bench, text string, state a2a.TaskState, answer, said string) {
	t.Helper()
	task := b.Do(text)
	if task.Status.State != state || drivertest.Answered(task) != answer || drivertest.Said(task) != said {
		t.Errorf("%q: %s, answered %.100q, said %q", text, task.Status.State, drivertest.Answered(task), drivertest.Said(task))
	}
}

func TestAnswers(t *testing.T) {
	b := bench(t, "tool", Options{}, turn.Options{})
	done, failed := a2a.TaskStateCompleted, a2a.TaskStateFailed
	expect(t, b, "upper hello\nthere", done, "HELLO\nTHERE", "")
	expect(t, b, "upper ", done, "", "")
	expect(t, b, "exit", failed, "half", "The agent's command ended with exit status 3")
	expect(t, b, "die", failed, "", "The agent's command was ended by a signal")
	expect(t, b, "slowly grün €uro 🙂", done, "grün €uro 🙂", "")
	expect(t, b, "bytes", done, "a\uFFFDb\uFFFD", "")
	long := strings.Repeat("long ", 200_000) // does not fit a pipe, in either direction
	expect(t, b, "upper "+long, done, strings.ToUpper(long), "")
}

func TestArguments(t *testing.T) {
	b := bench(t, "arguments", Options{Args: []string{"-x", "say {prompt}, {prompt}"}}, turn.Options{})
	expect(t, b, "$HOME; ls", a2a.TaskStateCompleted, `["-x" "say $HOME; ls, $HOME; ls"] ""`, "")
	if task := b.Do("a\x00b"); task.Status.State != a2a.TaskStateRejected {
		t.Errorf("NUL: %s", task.Status.State)
	}
	if task := b.Do(strings.Repeat("x", 4<<20)); !strings.Contains(drivertest.Said(task), "longer than a command line") {
		t.Errorf("too long: %s %q", task.Status.State, drivertest.Said(task))
	}
}

func TestNoSuchCommand(t *testing.T) {
	b := drivertest.New(t, NewText(Options{Command: "/no/such/command", Logger: slog.New(slog.DiscardHandler)}), turn.Options{})
	expect(t, b, "hello", a2a.TaskStateFailed, "", "The agent could not be run")
}

// Only what is passed is in the environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("CHILD_TEST_SECRET", "secret")
	t.Setenv("CHILD_TEST_PASSED", "passed")
	t.Setenv("PATH", "/bin")
	b := bench(t, "tool", Options{Env: map[string]string{"A": "1"}, EnvPass: []string{"CHILD_TEST_PASSED", "PATH", "CHILD_TEST_UNSET"}}, turn.Options{})
	got := drivertest.Answered(b.Do("environment"))
	for _, want := range []string{"A=1", "CHILD_TEST_PASSED=passed", "PATH=/bin", tool + "=tool", "GORACE=atexit_sleep_ms=0"} {
		if !strings.Contains("\n"+got+"\n", "\n"+want+"\n") {
			t.Errorf("without %s: %q", want, got)
		}
	}
	if n := len(strings.Split(got, "\n")); n != 5 {
		t.Errorf("%d variables: %q", n, got)
	}
}

// What a command writes to standard error is logged, within bounds, and not sent.
func TestStandardError(t *testing.T) {
	var mu sync.Mutex
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(lockedWriter{&mu, &out}, nil))
	b := bench(t, "tool", Options{Logger: log}, turn.Options{})
	expect(t, b, "exit", a2a.TaskStateFailed, "half", "The agent's command ended with exit status 3")
	expect(t, b, "noise", a2a.TaskStateCompleted, "done", "")
	logged := func() string {
		mu.Lock()
		defer mu.Unlock()
		return out.String()
	}
	// The task is over before all that was written is read.
	for end := time.Now().Add(time.Minute); !strings.Contains(logged(), "were left out") && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if text := logged(); !strings.Contains(text, "the secret of the house") || !strings.Contains(text, "were left out") || len(text) > 1<<20 {
		t.Errorf("%d bytes of log: %.300s", len(text), text)
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

// said waits until the command has said its process id.
func said(t *testing.T, b *drivertest.Bench, s turn.Sent) int {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		rec, _ := s.Run.Snapshot()
		if pid, err := strconv.Atoi(strings.TrimSpace(drivertest.Answered(b.Decode(rec)))); err == nil {
			return pid
		}
	}
	t.Fatal("the command does not begin")
	return 0
}

// gone waits until a process is no more.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		// One whose parent is gone may wait for a lazy init to take notice.
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d is still there", pid)
}

// A cancelled command is gone, one that ignores SIGTERM too, before the context's next turn.
func TestCancel(t *testing.T) {
	t.Parallel()
	b := bench(t, "tool", Options{StopGrace: 50 * time.Millisecond}, turn.Options{})
	for _, what := range []string{"hang", "stubborn"} {
		in := drivertest.Text(what)
		in.ContextID = "c"
		s := b.Send(in)
		pid := said(t, b, s)
		if rec, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID); err != nil || rec.State != a2a.TaskStateCanceled {
			t.Fatalf("%s: %s, %v", what, rec.State, err)
		}
		gone(t, pid)
		in = drivertest.Text("upper next")
		in.ContextID = "c"
		if task := b.Await(b.Send(in)); drivertest.Answered(task) != "NEXT" {
			t.Errorf("after %s: %s", what, task.Status.State)
		}
	}
	for _, what := range []string{"flood", "closes", "hang"} { // at once
		s := b.Send(drivertest.Text(what))
		if rec, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID); err != nil || rec.State != a2a.TaskStateCanceled {
			t.Fatalf("%s: %s, %v", what, rec.State, err)
		}
	}
}

// What the command leaves behind in its group ends with it, whether it ends by itself or
// is cancelled.
func TestGroup(t *testing.T) {
	script := func(s string) *drivertest.Bench {
		return drivertest.New(t, NewText(Options{Command: "/bin/sh", Args: []string{"-c", s}, StopGrace: 50 * time.Millisecond,
			Logger: slog.New(slog.DiscardHandler)}), turn.Options{})
	}
	b := script("sleep 3600 & echo $!")
	task := b.Do("go")
	pid, err := strconv.Atoi(strings.TrimSpace(drivertest.Answered(task)))
	if err != nil || task.Status.State != a2a.TaskStateCompleted {
		t.Fatalf("%s %v", task.Status.State, err)
	}
	gone(t, pid)
	b = script("trap '' TERM; sleep 3600 & echo $!; wait")
	s := b.Send(drivertest.Text("go"))
	pid = said(t, b, s)
	if _, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}

// A server that stops takes its commands with it.
func TestDrain(t *testing.T) {
	b := bench(t, "tool", Options{StopGrace: time.Hour}, turn.Options{})
	s := b.Send(drivertest.Text("stubborn"))
	pid := said(t, b, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Engine.Drain(ctx); err != nil {
		t.Error(err)
	}
	gone(t, pid)
	if got := b.Journal.Task(s.Record.ID).State; got != a2a.TaskStateFailed {
		t.Error(got)
	}
}

// A command that would write for ever is ended; the beginning of what it wrote stays.
func TestEndlessAnswer(t *testing.T) {
	b := bench(t, "tool", Options{}, turn.Options{Artifacts: turn.Artifacts{MaxAnswerBytes: 1 << 16}})
	task := b.Do("flood")
	if said := drivertest.Said(task); task.Status.State != a2a.TaskStateFailed || said != "The agent went on long after its answer was full (65536 bytes)" {
		t.Errorf("%s %q", task.Status.State, said)
	}
	if n := len(drivertest.Answered(task)); n < 1<<16 || n > 1<<16+100 {
		t.Errorf("the answer has %d bytes", n)
	}
}

// Contexts run side by side up to the bound; nothing is left open behind them.
func TestSideBySide(t *testing.T) {
	b := drivertest.New(t, NewText(Options{Command: "tr", Args: []string{"a-z", "A-Z"}, Logger: slog.New(slog.DiscardHandler)}), turn.Options{})
	b.Do("warm")
	before := descriptors(t)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			in := drivertest.Text(fmt.Sprintf("context %d", i))
			in.ContextID = fmt.Sprint(i)
			s, err := b.Engine.Send(context.Background(), in)
			if err != nil {
				t.Error(err)
				return
			}
			rec, err := s.Await(context.Background())
			if got := drivertest.Answered(b.Decode(rec)); err != nil || got != fmt.Sprintf("CONTEXT %d", i) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	wg.Wait()
	for end := time.Now().Add(time.Minute); descriptors(t) > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors, %d before", descriptors(t), before)
		}
	}
}

// One command more than are allowed is refused.
func TestMaxSessions(t *testing.T) {
	b := drivertest.New(t, NewText(Options{Command: "sleep", Args: []string{"3600"}, Logger: slog.New(slog.DiscardHandler)}), turn.Options{})
	var held []turn.Sent
	for i := range DefaultMaxSessions {
		in := drivertest.Text("hang")
		in.ContextID = fmt.Sprint("held ", i)
		held = append(held, b.Send(in))
	}
	in := drivertest.Text("hang")
	in.ContextID = "one too many"
	if _, err := b.Engine.Send(t.Context(), in); err == nil || !strings.Contains(err.Error(), "as many turns as it can") {
		t.Errorf("one too many: %v", err)
	}
	for _, s := range held {
		if _, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID); err != nil {
			t.Error(err)
		}
	}
}

// descriptors counts the open ones, where the system tells.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}
