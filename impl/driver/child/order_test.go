//go:build unix

package child

import (
	"strings"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

const (
	start2   = `{"type":"agent.turn.start","payload":{"turnId":"second","taskId":"TASK"}}`
	unknown  = `{"type":"agent.turn.start","payload":{"turnId":"x","taskId":"nobody"}}`
	ask      = `{"type":"hitl.requested","payload":{"turnId":"TASK","requestId":"q","prompt":"Which?"}}`
	again    = `{"type":"hitl.requested","payload":{"turnId":"TASK","requestId":"q","prompt":"Which then?"}}`
	stray    = `{"type":"io.output","payload":{"turnId":"x","role":"assistant","content":"stray"}}`
	output   = `{"type":"io.output","payload":{"turnId":"TASK","role":"assistant","content":"early"}}`
	end      = `{"type":"agent.turn.end","payload":{"turnId":"TASK"}}`
	retract  = `{"type":"hitl.cancel","payload":{"requestId":"nobody's"}}`
	declined = `{"type":"turn.rejected","payload":{"taskId":"nobody","reason":"no"}}`
	fault    = `{"type":"core.error","payload":{"message":"the moon is full"}}`
)

// Events out of order are one line in the log. A turn that they leave in doubt fails at
// once, with a reason; the next one works in the same process.
func TestOrder(t *testing.T) {
	for name, c := range map[string]struct {
		lines       []string
		fails, logs string
	}{
		"no start":                 {[]string{output, end}, "event of a turn that it had not begun", "not begun"},
		"end without start":        {[]string{end}, "event of a turn that it had not begun", "not begun"},
		"a question without start": {[]string{ask}, "event of a turn that it had not begun", "not begun"},
		"another's task":           {[]string{unknown, stray}, "a turn of a task that it was not given", "was not given"},
		"two starts":               {[]string{"!start", start2, output}, "began the task's turn twice", "a second turn"},
		"a question's id twice":    {[]string{"!start", ask, again}, "the id of a question for another", "the id of a question"},
		"the same start twice":     {[]string{"!start", "!start", "!say fine"}, "", "has begun"},
		"a stray turn":             {[]string{"!start", stray, "!say fine"}, "", "not begun"},
		"ended twice":              {[]string{"!start", "!say fine", end}, "", "has ended"},
		"more after the end":       {[]string{"!start", "!say fine", output, ask}, "", "has ended"},
		"nobody's question":        {[]string{"!start", retract, "!say fine"}, "", "did not ask"},
		"nobody's task":            {[]string{"!start", declined, "!say fine"}, "", "declines a task"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, d, log := script(t, greeting, Options{}, turn.Options{})
			if c.fails != "" {
				fails(t, b, lines("c", c.lines...), c.fails)
			} else {
				works(t, b, lines("c", c.lines...), "fine")
			}
			until(t, "the log line "+c.logs, func() bool { return strings.Contains(log.String(), c.logs) })
			works(t, b, lines("c", "!hello"), `"restart":false`)
			if n := strings.Count(log.String(), "out of order"); n != 1 && name != "more after the end" {
				t.Errorf("%d warnings: %s", n, log)
			}
			until(t, "one session", func() bool { return count(d) == 1 }) // the one that was asked what it can do ends
		})
	}
}

// In one process for all, an agent's fault is that of the turn it is about, and of no other.
func TestOrderBesideOthers(t *testing.T) {
	b, _, log := script(t, greeting, Options{Single: true}, turn.Options{})
	held := b.Send(lines("a", "!start", ask))
	b.Await(held)
	works(t, b, lines("b", "!start", stray, fault, "!say fine"), "fine")
	if !strings.Contains(log.String(), "the moon is full") {
		t.Errorf("an error of no turn is not logged: %s", log)
	}
	fails(t, b, lines("b", "!start", again), "the id of a question for another")
	works(t, b, lines("b", "!start", "!say fine"), "fine")
	if task := b.Await(b.Answer(held, "this one")); drivertest.Answered(task) != "this one" {
		t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
	}
	// Two turns of one id: what comes with it could be either's, so that neither gets it.
	first := b.Send(lines("a", "!start", ask))
	b.Await(first)
	fails(t, b, lines("b", `{"type":"agent.turn.start","payload":{"turnId":"`+first.Record.ID+`","taskId":"TASK"}}`), "the id of a turn for another")
	if task := over(b, first); task.Status.State != a2a.TaskStateFailed {
		t.Error(task.Status.State)
	}
}

// What comes of a turn that was cancelled is no news, before its beginning and after.
func TestLateEvents(t *testing.T) {
	b, _, log := script(t, greeting, Options{}, turn.Options{})
	s := b.Send(lines("c", "!start", ask))
	b.Await(s)
	if _, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID); err != nil {
		t.Fatal(err)
	}
	late := func(line string) string { return strings.ReplaceAll(line, "TASK", s.Record.ID) }
	works(t, b, lines("c", late(output), late(end), late(start2), late(ask), "!start", "!say fine"), "fine")
	if strings.Contains(log.String(), "level=WARN") {
		t.Errorf("%s", log)
	}
	if !strings.Contains(log.String(), "of what has ended") {
		t.Errorf("not even to be seen: %s", log)
	}
}

// An agent that did not say that it asks does not get to: nobody would hear the answer.
func TestQuestionsFlag(t *testing.T) {
	b, _, log := script(t, `{"type":"agent.hello","payload":{"protocol":1,"cancel":true}}`, Options{}, turn.Options{})
	fails(t, b, lines("c", "!start", ask), "asked a question, which it had not said it would do")
	fails(t, b, lines("c", "!start", strings.Replace(ask, "hitl.requested", "auth.required", 1)), "asked a question")
	works(t, b, lines("c", "!start", "!say fine"), "fine")
	if !strings.Contains(log.String(), "its greeting did not say") {
		t.Errorf("%s", log)
	}
}

// An agent without cancel is ended in the place of being told; the next turn has a new
// process, which hears that there was one before.
func TestWithoutCancel(t *testing.T) {
	const hello = `{"type":"agent.hello","payload":{"protocol":1,"questions":true}}`
	b, _, log := script(t, hello, Options{}, turn.Options{CancelGrace: time.Hour})
	s := b.Send(lines("c", "!pid", "!hold"))
	pid := said(t, b, s)
	if _, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
	works(t, b, lines("c", "!hello"), `"restart":true`)
	if !strings.Contains(log.String(), "its conversation begins anew") {
		t.Errorf("%s", log)
	}
	// One that says itself that it failed has stopped, and keeps its process.
	fails(t, b, lines("c", "!start", `{"type":"core.error","payload":{"turnId":"TASK","message":"broken","fatal":true}}`, end), "broken")
	works(t, b, lines("c", "!recall x"), "!hello,")
}

// Resume: a new process of a known session is told, and so is whoever reads the log.
func TestResume(t *testing.T) {
	b, _, log := script(t, `{"type":"agent.hello","payload":{"protocol":1,"resume":true}}`, Options{}, turn.Options{})
	works(t, b, lines("c", "!hello"), `"restart":false`)
	fails(t, b, lines("c", "!start", "!exit 3"), "ended with exit status 3")
	works(t, b, lines("c", "!hello"), `"restart":true`)
	works(t, b, lines("another", "!hello"), `"restart":false`)
	if text := log.String(); !strings.Contains(text, "resumes its conversation") || strings.Contains(text, "begins anew") {
		t.Errorf("%s", text)
	}
}
