package drivertest

import (
	"strings"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/turn"
)

// point is a moment within a turn at which something may happen to it.
type point struct {
	name string
	// bring has a turn of context c get there, and returns once it is.
	bring func(b *Bench) turn.Sent
}

// points are all moments before the end.
func points() []point {
	return []point{
		{"queued", func(b *Bench) turn.Sent {
			// The turn before has lost its task, and is not done with it.
			s := b.Send(in("c", "ignore-cancel 300 late"))
			b.until(s, a2a.TaskStateWorking)
			b.cancel(s)
			return b.Send(in("c", "silent"))
		}},
		{"submitted", func(b *Bench) turn.Sent {
			s := b.Send(in("c", "late 3600000"))
			// There is nothing to see until it begins; it has most likely got the message.
			time.Sleep(20 * time.Millisecond)
			return s
		}},
		{"working", func(b *Bench) turn.Sent {
			s := b.Send(in("c", "silent"))
			b.until(s, a2a.TaskStateWorking)
			return s
		}},
		{"in chunks", func(b *Bench) turn.Sent {
			s := b.Send(in("c", "chunks 100000 5 ."))
			b.untilFrame(s.Follow(), `"artifactUpdate"`)
			return s
		}},
		{"in a tool", func(b *Bench) turn.Sent {
			i := in("c", "slow-tool search 3600000 found")
			i.Telemetry = true
			s := b.Send(i)
			b.untilFrame(s.Follow(), `"toolCall"`)
			return s
		}},
		{"in a flood", func(b *Bench) turn.Sent {
			s := b.Send(in("c", "flood 1000000"))
			b.untilFrame(s.Follow(), `"artifactUpdate"`)
			return s
		}},
		{"asked", func(b *Bench) turn.Sent {
			s := b.Send(in("c", "ask now?"))
			b.until(s, a2a.TaskStateInputRequired)
			return s
		}},
		{"answered", func(b *Bench) turn.Sent {
			s := b.Send(in("c", "ask now?"))
			b.until(s, a2a.TaskStateInputRequired)
			b.Answer(s, "silent")
			return s
		}},
		{"unauthorised", func(b *Bench) turn.Sent {
			s := b.Send(in("c", "auth"))
			b.until(s, a2a.TaskStateAuthRequired)
			return s
		}},
		{"deaf", func(b *Bench) turn.Sent {
			s := b.Send(in("c", "ignore-cancel 200 late"))
			b.until(s, a2a.TaskStateWorking)
			return s
		}},
	}
}

// until waits for a state. It gives up after a minute, or when the task has ended.
func (b *Bench) until(s turn.Sent, want a2a.TaskState) {
	b.T.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		rec, _ := s.Run.Snapshot()
		if rec.State == want {
			return
		}
		if rec.State.Terminal() || time.Now().After(end) {
			b.T.Fatalf("%s in place of %s: %s", rec.State, want, rec.Status)
		}
	}
}

// untilFrame waits for a frame that holds a text.
func (b *Bench) untilFrame(s *op.Stream, want string) {
	b.T.Helper()
	if s.Close != nil {
		defer s.Close()
	}
	for i := s.At; ; {
		frames, wake := s.From(i)
		for _, f := range frames {
			if strings.Contains(string(f.JSON), want) {
				return
			}
			if f.Last {
				b.T.Fatalf("ended without %s: %s", want, f.JSON)
			}
		}
		if i += len(frames); len(frames) == 0 {
			select {
			case <-wake:
			case <-time.After(time.Minute):
				b.T.Fatalf("no %s in a minute", want)
			}
		}
	}
}

// cancel cancels a task that is known to run.
func (b *Bench) cancel(s turn.Sent) {
	b.T.Helper()
	rec, err := b.Engine.Cancel(b.T.Context(), "alice", s.Record.ID)
	if err != nil || rec.State != a2a.TaskStateCanceled {
		b.T.Fatalf("cancel: %s, %v", rec.State, err)
	}
}

// next says that the context's next turn is as if there had been none before.
func (b *Bench) next(t *testing.T) {
	t.Helper()
	if b.lags {
		b.nextAtLast(t)
		return
	}
	b.sub(t, "next", func(t *testing.T) {
		task := b.Await(b.Send(in("c", "echo next")))
		if task.Status.State != a2a.TaskStateCompleted || Answered(task) != "next" || len(task.Artifacts) != 1 {
			t.Errorf("%s %q %q, %d artifacts", task.Status.State, Answered(task), Said(task), len(task.Artifacts))
		}
	})
}

// nextAtLast says that the context has a clean turn again, and that what fails before says why.
func (b *Bench) nextAtLast(t *testing.T) {
	t.Helper()
	b.sub(t, "next", func(t *testing.T) {
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			task := b.Await(b.Send(in("c", "echo next")))
			if task.Status.State == a2a.TaskStateCompleted && Answered(task) == "next" && len(task.Artifacts) == 1 {
				return
			}
			if task.Status.State != a2a.TaskStateFailed || Said(task) == "" || len(task.Artifacts) > 0 || time.Now().After(end) {
				t.Fatalf("%s %q %q", task.Status.State, Answered(task), Said(task))
			}
		}
	})
}

// stored reads a task as the journal has it.
func (b *Bench) stored(s turn.Sent) a2a.Task {
	b.T.Helper()
	return b.Decode(b.Journal.Task(s.Record.ID))
}

// endsOnce says that the frames of a task have one end, as the last of them.
func (b *Bench) endsOnce(s turn.Sent, want a2a.TaskState) {
	b.T.Helper()
	frames := b.Frames(s)
	for i, f := range frames {
		u := f.StatusUpdate
		if last := i == len(frames)-1; last && (u == nil || u.Status.State != want) || !last && u != nil && u.Status.State.Terminal() {
			b.T.Errorf("frame %d of %d: %+v", i, len(frames), f)
		}
	}
	if got := b.stored(s).Status.State; got != want {
		b.T.Errorf("stored as %s", got)
	}
}
