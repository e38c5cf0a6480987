//go:build unix

package child

import (
	"log/slog"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

// TestSuite runs the suite against an agent that speaks JSON lines, in a process for each
// context and in one for all, with turns beside the handlers of its bus and inside them, and
// against one that is a command line tool. The agent is a program of its own and not the test binary: hundreds of them are started, and with the
// race detector that would take most of the time.
func TestSuite(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command builds the suite's agent, and is not installed")
	}
	agent := filepath.Join(t.TempDir(), "agent")
	if out, err := exec.Command(tool, "build", "-o", agent, "../drivertest/agent").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	options := func(args ...string) Options {
		return Options{Command: agent, Args: args, StopGrace: 500 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}
	}
	for name, single := range map[string]bool{"per context": false, "single": true} {
		how := map[bool]string{false: "beside", true: "nested"}[single]
		t.Run(name, func(t *testing.T) {
			open := func(t *testing.T, o Options) *JSON {
				o.Single = single
				d := NewJSON(o)
				t.Cleanup(d.Close)
				return d
			}
			s := drivertest.Subject{
				New: func(t *testing.T, files string) turn.Driver { return open(t, options(how, files)) },
				Rest: func(t *testing.T) (turn.Driver, func()) {
					o := options(how, t.TempDir())
					o.IdleTimeout = time.Millisecond
					d := open(t, o)
					return d, func() { alone(t, d) }
				},
			}
			if single {
				s.Except = map[string]string{"isolation/crash": "one process has all conversations"}
			}
			drivertest.Suite(t, s)
		})
	}
	t.Run("text", func(t *testing.T) {
		drivertest.Suite(t, drivertest.Subject{
			New:    func(*testing.T, string) turn.Driver { return NewText(options("text")) },
			Except: noText(),
		})
	})
}

// alone waits until no process is left.
func alone(t *testing.T, d *JSON) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		d.mu.Lock()
		n := len(d.sessions)
		d.mu.Unlock()
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d processes are still there", n)
		}
	}
}

// noText is what a command has no means for: there is the message in, bytes out, and an
// exit status.
func noText() map[string]string {
	const (
		bytesOnly = "standard output is text, in pieces as they come"
		noInput   = "standard input is the message, and closed after it"
		begun     = "the driver begins the turn itself, with the process"
		status    = "an exit status says that it failed, and no more"
		process   = "no process outlives its turn"
	)
	return map[string]string{
		"chunks": bytesOnly, "several artifacts": bytesOnly, "parts": bytesOnly, "tool": bytesOnly, "tool error": bytesOnly,
		"file": bytesOnly, "reasoning": bytesOnly, "usage": bytesOnly, "garbage/broken": bytesOnly + ": any bytes are an answer",
		"cancel/in a tool": bytesOnly, "stop/in a tool": bytesOnly, "crash/tool": bytesOnly,
		"question": noInput, "authorisation": noInput, "isolation/question": noInput,
		"cancel/asked": noInput, "cancel/answered": noInput, "cancel/unauthorised": noInput,
		"stop/asked": noInput, "stop/answered": noInput, "stop/unauthorised": noInput,
		"crash/question": noInput, "crash/auth": noInput, "crash/answered": noInput,
		"cancel/submitted": begun, "stop/submitted": begun,
		"failure/declined": status, "failure/survived": status,
		"crash/end": process, "memory": process, "rest": process,
	}
}
