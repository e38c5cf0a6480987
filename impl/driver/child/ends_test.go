//go:build unix

package child

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

// An agent that does not greet as it should fails the turn, saying how, and leaves nothing
// behind.
func TestGreetings(t *testing.T) {
	for hello, want := range map[string]string{
		"!hold":                       "did not greet within 300ms",
		"!exit 4":                     "ended with exit status 4 before it greeted",
		"!start":                      "did not greet as the protocol says",
		"!many 200\n!stubborn\n!hold": "did not greet within",
		`{"type":"agent.hello","payload":{"protocol":2}}`:       "did not greet as the protocol says",
		`{"type":"agent.hello","payload":{"protocol":"first"}}`: "did not greet as the protocol says",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			var o Options
			if strings.Contains(hello, "!hold") {
				o.StartTimeout = 300 * time.Millisecond
			}
			b, d, log := script(t, hello, o, turn.Options{})
			fails(t, b, lines("c", "!say hi"), want)
			until(t, "no session", func() bool { return count(d) == 0 })
			if strings.Count(log.String(), "not of the protocol") > 2*(logBurst+5) {
				t.Error("every stray line is logged")
			}
		})
	}
	for command, want := range map[string]string{
		"cat": "did not greet as the protocol says", "true": "exit status 0 before it greeted", "/no/such/command": "The agent could not be run",
	} {
		d := NewJSON(Options{Command: command, Logger: slog.New(slog.DiscardHandler)})
		t.Cleanup(d.Close)
		fails(t, drivertest.New(t, d, turn.Options{}), lines("c", "hi"), want)
	}
}

// An agent that greets and then reads nothing is given up after start_timeout, whether what
// it should read fits the pipe or not. It holds nobody else up meanwhile.
func TestReadsNothing(t *testing.T) {
	t.Parallel()
	b, _, _ := script(t, greeting, Options{StartTimeout: 2 * time.Second, Single: true}, turn.Options{})
	held := b.Send(lines("a", "!pid", "!hold"))
	said(t, b, held)
	fails(t, b, lines("b", strings.Repeat("x", 1<<20)), "takes no more input")
	if task := over(b, held); task.Status.State != a2a.TaskStateFailed {
		t.Error(task.Status.State)
	}
	works(t, b, lines("a", "!hello"), `"restart":true`)
	works(t, b, lines("a", "!start", "!say x", "!hold"), "x")
	fails(t, b, lines("b", "!say x"), "did not begin the turn within 2s")
	works(t, b, lines("a", "!hello"), `"restart":true`)
}

// A cancelled turn does not end the process that it was the first to want.
func TestCancelWhileStarting(t *testing.T) {
	b, d, _ := script(t, greeting, Options{Single: true}, turn.Options{CancelGrace: time.Hour})
	first := b.Send(lines("a", "!start"))
	if _, err := b.Engine.Cancel(t.Context(), "alice", first.Record.ID); err != nil {
		t.Fatal(err)
	}
	works(t, b, lines("b", "!hello"), `"restart":false`)
	until(t, "one session", func() bool { return count(d) == 1 })
}

// Whatever an agent does not obey, at last it is killed, and its children with it: when it
// is idle for too long, when its turn is given up and when the server stops.
func TestLadder(t *testing.T) {
	for name, o := range map[string]Options{"idle": {IdleTimeout: time.Millisecond}, "given up": {}, "stop": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, d, _ := script(t, greeting, o, turn.Options{CancelGrace: 10 * time.Millisecond})
			script := []string{"!stubborn", "!start", "!fork", "!hold"}
			if name == "idle" {
				script = slices.Insert(script, 3, end)
			}
			s := b.Send(lines("c", script...))
			child := said(t, b, s)
			d.mu.Lock()
			session := d.sessions[d.key(turn.Input{Principal: "alice", ContextID: "c"})]
			d.mu.Unlock()
			switch name {
			case "given up":
				if _, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID); err != nil {
					t.Fatal(err)
				}
				works(t, b, lines("c", "!hello"), `"restart":true`)
			case "stop":
				d.Close()
			}
			if session != nil { // it may be gone by now
				gone(t, session.p.cmd.Process.Pid)
			}
			gone(t, child)
		})
	}
}

// Many agents that do not obey are stopped side by side.
func TestCloseTogether(t *testing.T) {
	b, d, _ := script(t, greeting, Options{StopGrace: time.Second}, turn.Options{})
	for i := range 8 {
		b.Await(b.Send(lines(fmt.Sprint(i), "!stubborn", "!start", "!say x", "!hold")))
	}
	begun := time.Now()
	d.Close()
	if took := time.Since(begun); took > 8*time.Second { // one after another: 16
		t.Errorf("%s", took)
	}
}

// A session without turns ends, its next turn begins a new process; more processes than
// may be end the one that is idle longest.
func TestProcessesAreBounded(t *testing.T) {
	b, d, _ := script(t, greeting, Options{MaxSessions: 2}, turn.Options{})
	pids := map[string]int{}
	for _, c := range []string{"a", "b", "a", "c"} {
		s := b.Send(lines(c, "!pid", end))
		pid := said(t, b, s)
		b.Await(s)
		if before := pids[c]; before != 0 && before != pid {
			t.Errorf("%s has another process", c)
		}
		pids[c] = pid
	}
	gone(t, pids["b"])
	if syscall.Kill(pids["a"], 0) != nil || syscall.Kill(pids["c"], 0) != nil {
		t.Error("another process ended")
	}
	if n := count(d); n != 2 {
		t.Errorf("%d sessions", n)
	}
	works(t, b, lines("b", "!hello"), `"restart":true`)
}
