package drivertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/turn"
)

// endParts are a turn's ends that are not its own: it is cancelled, or the server stops.
func endParts() []part {
	var out []part
	for _, p := range points() {
		// Until it has begun, an agent in process may not be reached before the grace is over.
		grace := turn.Options{CancelGrace: 2 * time.Second}
		out = append(out,
			part{name: "cancel/" + p.name, test: func(t *testing.T, b *Bench) { cancelled(t, b, p) }, opts: grace},
			part{name: "stop/" + p.name, test: func(t *testing.T, b *Bench) { stopped(t, b, p) }, opts: grace},
		)
	}
	return append(out,
		part{name: "cancel/at once", test: cancelAtOnce},
		part{name: "cancel/while it ends", test: cancelWhileItEnds},
		part{name: "cancel/twice", test: cancelTwice},
		part{name: "cancel/after the end", test: cancelAfterTheEnd},
		part{name: "cancel/in vain", test: cancelInVain, opts: turn.Options{CancelGrace: 50 * time.Millisecond}},
		part{name: "stop/in time", test: stopInTime},
	)
}

// cancelled: the task is, at once and for good, whatever the agent does about it.
func cancelled(t *testing.T, b *Bench, p point) {
	s := p.bring(b)
	b.cancel(s)
	b.next(t)
	b.endsOnce(s, a2a.TaskStateCanceled)
}

// cancelAtOnce: not even its turn need have begun.
func cancelAtOnce(t *testing.T, b *Bench) {
	for range 4 {
		s := b.Send(in("c", "silent"))
		b.cancel(s)
		b.endsOnce(s, a2a.TaskStateCanceled)
	}
	b.next(t)
}

// cancelWhileItEnds: whoever comes first, there is one outcome that all see.
func cancelWhileItEnds(t *testing.T, b *Bench) {
	for i := range 8 {
		s := b.Send(in("c", "echo hello"))
		time.Sleep(time.Duration(i) * 300 * time.Microsecond)
		want := a2a.TaskStateCanceled
		rec, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID)
		if err != nil {
			want = b.Await(s).Status.State
			if want != a2a.TaskStateCompleted && !b.lags {
				t.Errorf("%v, and then %s", err, want)
			}
		} else if rec.State != want {
			t.Fatal(rec.State)
		}
		b.endsOnce(s, want)
	}
	b.next(t)
}

// cancelTwice: of two at once, one or both find the task running; it ends once.
func cancelTwice(t *testing.T, b *Bench) {
	s := b.Send(in("c", "silent"))
	var wg sync.WaitGroup
	var errs [2]error
	for i := range errs {
		wg.Go(func() { _, errs[i] = b.Engine.Cancel(t.Context(), "alice", s.Record.ID) })
	}
	wg.Wait()
	if errs[0] != nil && errs[1] != nil {
		t.Error(errs)
	}
	b.endsOnce(s, a2a.TaskStateCanceled)
	b.next(t)
}

// cancelAfterTheEnd is refused and changes nothing.
func cancelAfterTheEnd(t *testing.T, b *Bench) {
	s := b.Send(in("c", "echo hello"))
	b.Await(s)
	_, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID)
	said, ok := errors.AsType[*a2a.Error](err)
	if !errors.Is(err, turn.ErrNotLive) && (!ok || said.Type != a2a.TaskNotCancelableError) {
		t.Error(err)
	}
	b.endsOnce(s, a2a.TaskStateCompleted)
	b.next(t)
}

// cancelInVain: an agent that does not obey in time is given up. Its context waits for it,
// or fails turns with that reason, but never hears what it says so late.
func cancelInVain(t *testing.T, b *Bench) {
	s := b.Send(in("c", "ignore-cancel 1000 late"))
	b.until(s, a2a.TaskStateWorking)
	b.cancel(s)
	b.nextAtLast(t)
	b.endsOnce(s, a2a.TaskStateCanceled)
}

// stopped: a turn that goes on when the server's time is up fails, and says why.
func stopped(t *testing.T, b *Bench, p point) {
	s := p.bring(b)
	now, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Engine.Drain(now); err != nil {
		t.Error(err)
	}
	b.endsOnce(s, a2a.TaskStateFailed)
	if Said(b.stored(s)) == "" {
		t.Error("nobody learns why")
	}
	if _, err := b.Engine.Send(t.Context(), Text("echo too late")); err == nil {
		t.Error("a message is taken by a server that has stopped")
	}
}

// stopInTime: what ends by itself may, and what waits for a person need not be waited for.
func stopInTime(t *testing.T, b *Bench) {
	s := b.Send(in("c", "slow 50 done"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.Engine.Drain(ctx); err != nil {
		t.Error(err)
	}
	b.endsOnce(s, a2a.TaskStateCompleted)
	if got := Answered(b.stored(s)); got != "done" {
		t.Errorf("%q", got)
	}
}
