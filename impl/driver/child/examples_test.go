//go:build unix

package child

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

// The example agents answer, ask, are cancelled, and survive being killed between turns.
func TestExamples(t *testing.T) {
	for _, tool := range []string{"go", "python3", "node"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(tool)
			if err != nil && os.Getenv("A2ASERVE_NO_SKIP") != "" {
				t.Fatalf("%s is not installed, and A2ASERVE_NO_SKIP is set", tool)
			} else if err != nil {
				t.Skipf("this example runs with %s, which is not installed", tool)
			}
			o := Options{Command: path, EnvPass: []string{"HOME"}, Logger: slog.New(slog.DiscardHandler)}
			switch tool {
			case "go":
				o.Command = filepath.Join(t.TempDir(), "agent")
				if out, err := exec.Command(path, "build", "-o", o.Command, "../../../examples/agents/go").CombinedOutput(); err != nil {
					t.Fatalf("%v %s", err, out)
				}
			case "python3":
				o.Args = []string{"../../../examples/agents/python/agent.py"}
			case "node":
				o.Args = []string{"../../../examples/agents/javascript/agent.js"}
			}
			d := NewJSON(o)
			t.Cleanup(d.Close)
			converse(t, d, drivertest.New(t, d, turn.Options{}))
		})
	}
}

// converse has a conversation with an example agent.
func converse(t *testing.T, d *JSON, b *drivertest.Bench) {
	send := func(text string) turn.Sent {
		in := drivertest.Text(text)
		in.ContextID = "c"
		return b.Send(in)
	}
	if got := drivertest.Answered(b.Await(send("hello"))); got != "You said: hello" {
		t.Fatalf("%q", got)
	}
	s := send("ask")
	if task := b.Await(s); task.Status.State != a2a.TaskStateInputRequired {
		t.Fatal(task.Status.State)
	}
	if got := drivertest.Answered(b.Await(b.Answer(s, "Ada"))); got != "Hello, Ada" {
		t.Errorf("%q", got)
	}
	if rec, err := b.Engine.Cancel(t.Context(), "alice", send("wait").Record.ID); err != nil || rec.State != a2a.TaskStateCanceled {
		t.Errorf("%s %v", rec.State, err)
	}
	if got := drivertest.Answered(b.Await(send("again"))); got != "You said: again" {
		t.Errorf("%q", got)
	}
	d.mu.Lock()
	for _, s := range d.sessions {
		signalGroup(s.p.cmd, syscall.SIGKILL)
		d.mu.Unlock()
		<-s.gone
		d.mu.Lock()
	}
	d.mu.Unlock()
	if got := drivertest.Answered(b.Await(send("after"))); got != "You said: after" {
		t.Errorf("%q", got)
	}
}
