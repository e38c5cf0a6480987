package drivertest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/turn"
)

// failureParts are what an agent does wrong.
func failureParts() []part {
	out := []part{
		{name: "failure/fatal", test: fatal},
		{name: "failure/declined", test: declined},
		{name: "failure/survived", test: survived},
		{name: "failure/panic", test: panics},
		{name: "nothing after", test: nothingAfter},
		{name: "garbage/noise", test: noise},
		{name: "garbage/broken", test: broken},
		{name: "flood/endless", test: endless, opts: turn.Options{MaxLogBytes: 1 << 20, Artifacts: turn.Artifacts{MaxFileBytes: 1 << 10}}},
		{name: "silence", test: silence, opts: turn.Options{SilenceTimeout: time.Second}},
	}
	for _, where := range []string{"before", "started", "chunks", "tool", "question", "auth", "answered", "end"} {
		out = append(out, part{name: "crash/" + where, test: func(t *testing.T, b *Bench) { crashed(t, b, where) }})
	}
	return out
}

// ends runs a turn that ends in a state, and says something of it unless it is complete.
func (b *Bench) ends(text string, want a2a.TaskState) a2a.Task {
	b.T.Helper()
	s := b.Send(in("c", text))
	task := b.Await(s)
	if task.Status.State != want || want != a2a.TaskStateCompleted && Said(task) == "" {
		b.T.Errorf("%s: %s %q", text, task.Status.State, Said(task))
	}
	b.endsOnce(s, want)
	return task
}

func fatal(t *testing.T, b *Bench) {
	b.ends("fail because", a2a.TaskStateFailed)
	b.next(t)
}

func declined(t *testing.T, b *Bench) {
	if task := b.ends("reject it", a2a.TaskStateRejected); !strings.Contains(Said(task), "it") {
		t.Errorf("%q", Said(task))
	}
	b.next(t)
}

func survived(t *testing.T, b *Bench) {
	if task := b.ends("error-once hello", a2a.TaskStateCompleted); Answered(task) != "hello" {
		t.Errorf("%q", Answered(task))
	}
	b.next(t)
}

func panics(t *testing.T, b *Bench) {
	b.ends("panic-after 1", a2a.TaskStateFailed)
	b.next(t)
}

// nothingAfter: an agent that goes on after its end reaches neither this task nor the next.
func nothingAfter(t *testing.T, b *Bench) {
	s := b.Send(in("c", "rogue"))
	b.endsOnce(s, a2a.TaskStateCompleted)
	b.next(t)
	if task := b.stored(s); len(task.Artifacts) != 1 || strings.TrimSpace(Answered(task)) != "the answer" {
		t.Errorf("%d artifacts, %q", len(task.Artifacts), Answered(task))
	}
}

// noise: what makes no sense is passed over, and what is said between is heard.
func noise(t *testing.T, b *Bench) {
	task := b.ends("garbage noise", a2a.TaskStateCompleted)
	var said strings.Builder
	for _, a := range task.Artifacts {
		for _, p := range a.Parts {
			if p.Text != nil {
				said.WriteString(*p.Text)
			}
		}
	}
	if got := said.String(); !strings.Contains(got, "sane") || strings.Contains(got, "stray") || strings.Contains(got, "another") {
		t.Errorf("%q", got)
	}
	b.next(t)
}

// broken: a turn that can no longer be trusted fails, and the next has a working agent.
func broken(t *testing.T, b *Bench) {
	b.ends("garbage broken", a2a.TaskStateFailed)
	b.next(t)
}

// endless: an agent that never stops talking fails at the bound, and is stopped.
func endless(t *testing.T, b *Bench) {
	task := b.ends("flood 1000000", a2a.TaskStateFailed)
	if !strings.Contains(Said(task), "1048576 bytes") {
		t.Errorf("%q", Said(task))
	}
	b.next(t)
}

// silence: an agent that says nothing for too long fails, and is stopped.
func silence(t *testing.T, b *Bench) {
	if task := b.ends("silent", a2a.TaskStateFailed); !strings.Contains(Said(task), "silent") {
		t.Errorf("%q", Said(task))
	}
	b.nextAtLast(t)
}

// crashed: the agent is gone in the middle of its turn. The task fails at once, or, where
// the agent has nothing to do with it meanwhile, when it is needed again; the next turn has
// an agent.
func crashed(t *testing.T, b *Bench, where string) {
	s := b.Send(in("c", "crash "+where))
	task := b.Await(s)
	for task.Status.State.Interrupted() {
		more := Text("go on")
		more.TaskID = s.Record.ID
		told, err := b.Engine.Answer(t.Context(), more)
		if _, refused := errors.AsType[*a2a.Error](err); refused || errors.Is(err, turn.ErrNotLive) {
			break // it has noticed meanwhile
		} else if err != nil {
			t.Fatal(err)
		}
		task = b.Await(told)
	}
	switch where {
	case "end":
		b.endsOnce(s, a2a.TaskStateCompleted)
		// A message may reach an agent that is about to be gone.
		b.nextAtLast(t)
		return
	case "before": // an agent in process declines what it cannot even begin
		if st := task.Status.State; st != a2a.TaskStateRejected {
			b.endsOnce(s, a2a.TaskStateFailed)
		}
	default:
		b.endsOnce(s, a2a.TaskStateFailed)
	}
	if Said(b.stored(s)) == "" {
		t.Error("nobody learns why")
	}
	b.next(t)
}
