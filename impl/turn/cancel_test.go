package turn

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
)

// obeys is a turn that works until it is told to stop, and then says so.
func obeys(told *[]event.Event) func(context.Context, Input, *Line) error {
	return func(ctx context.Context, _ Input, l *Line) error {
		says(l, start)
		for {
			e, ok := l.Next(ctx)
			if !ok {
				return nil
			}
			*told = append(*told, e)
			if _, stop := e.(event.CancelRequest); stop {
				says(l, event.Output{TurnID: "t", Role: "system", Content: "Cancelled"}, event.CancelComplete{TurnID: "t"}, end)
			}
		}
	}
}

func TestCancel(t *testing.T) {
	var told []event.Event
	j := newMemory()
	e := engine(t, Options{Journal: j, Driver: &script{turn: obeys(&told)}})
	s := send(t, e, ask("go"))
	for rec, _ := s.Run.Snapshot(); rec.State != a2a.TaskStateWorking; rec, _ = s.Run.Snapshot() {
		time.Sleep(time.Millisecond)
	}
	rec, err := e.Cancel(t.Context(), "alice", s.Record.ID)
	if err != nil {
		t.Fatal(err)
	}
	if rec.State != a2a.TaskStateCanceled || j.get(rec.ID).State != a2a.TaskStateCanceled {
		t.Errorf("answered %s, stored %s", rec.State, j.get(rec.ID).State)
	}
	if w := words(t, all(s.Run.Follow())); w[len(w)-1] != "CANCELED" {
		t.Errorf("%q", w)
	}
	if _, err := e.Cancel(t.Context(), "alice", s.Record.ID); err != ErrNotLive {
		t.Errorf("again: %v", err)
	}
	<-s.Run.returned
	if got := types(told); !slices.Equal(got, []string{"cancel.request"}) {
		t.Errorf("the agent was told %q", got)
	}
	if _, err := e.Cancel(t.Context(), "bob", s.Record.ID); err != ErrNotLive {
		t.Errorf("somebody else: %v", err)
	}
}

// TestCancelParked: HI-04. The question is retracted before the turn is stopped.
func TestCancelParked(t *testing.T) {
	var told []event.Event
	e := engine(t, Options{Driver: &script{turn: func(ctx context.Context, in Input, l *Line) error {
		says(l, start, question1("q", ""))
		return obeys(&told)(ctx, in, l)
	}}})
	s := send(t, e, ask("go"))
	await(t, s)
	if _, err := e.Cancel(t.Context(), "alice", s.Record.ID); err != nil {
		t.Fatal(err)
	}
	<-s.Run.returned
	if got := types(told); !slices.Equal(got, []string{"hitl.cancel", "cancel.request"}) {
		t.Errorf("the agent was told %q", got)
	}
}

// TestCancelRacesCompletion: one end, which the canceller, the reader of the stream and
// the store agree on.
func TestCancelRacesCompletion(t *testing.T) {
	j := newMemory()
	e := engine(t, Options{Journal: j, Driver: &script{turn: plays(start, output("x"), end)}})
	outcomes := map[a2a.TaskState]int{}
	for i := range 3000 {
		s := send(t, e, ask("go"))
		if i%3 == 1 {
			time.Sleep(time.Duration(i%40) * time.Microsecond)
		}
		rec, err := e.Cancel(context.Background(), "alice", s.Record.ID)
		frames := all(s.Run.Follow())
		last := decoded(t, frames[len(frames)-1]).StatusUpdate.Status.State
		outcomes[last]++
		switch {
		case err == nil && rec.State == a2a.TaskStateCanceled && last == rec.State:
		case err == ErrNotLive && last == a2a.TaskStateCompleted:
		case detail(err) == "TaskNotCancelableError " && last == a2a.TaskStateCompleted:
		default:
			t.Fatalf("answered %s, %v; the stream ended %s", rec.State, err, last)
		}
		ends := 0
		for _, f := range frames {
			if f.Last {
				ends++
			}
		}
		if stored := j.get(s.Record.ID); stored.State != last || ends != 1 {
			t.Fatalf("stored %s, streamed %s, %d terminal frames", stored.State, last, ends)
		}
	}
	t.Logf("%v", outcomes)
}

// TestManyCancels: CA-04. One takes effect; nothing changes after it.
func TestManyCancels(t *testing.T) {
	var told []event.Event
	e := engine(t, Options{Driver: &script{turn: obeys(&told)}})
	s := send(t, e, ask("go"))
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() { _, errs[i] = e.Cancel(context.Background(), "alice", s.Record.ID) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if err != ErrNotLive && detail(err) != "TaskNotCancelableError " {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d cancels took effect", won)
	}
}

// TestTheNextTurnWaits: a context whose turn was cancelled takes a message at once and
// runs it when the cancelled turn has returned.
func TestTheNextTurnWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running int
		e := engine(t, Options{CancelGrace: time.Minute, Driver: &script{turn: func(_ context.Context, in Input, l *Line) error {
			if running++; running != 1 {
				t.Error("two turns interleave")
			}
			defer func() { running-- }()
			says(l, start)
			if text(in.Message.Parts) == "slow" {
				time.Sleep(10 * time.Second)
				says(l, output("late"), end)
				return nil
			}
			says(l, output("next"), end)
			return nil
		}}})
		s := send(t, e, askIn("c", "slow"))
		synctest.Wait()
		if _, err := e.Cancel(t.Context(), "alice", s.Record.ID); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		waiting := send(t, e, askIn("c", "go")) // and is cancelled before it begins
		if _, err := e.Cancel(t.Context(), "alice", waiting.Record.ID); err != nil {
			t.Fatal(err)
		}
		next := send(t, e, askIn("c", "go"))
		if _, err := e.Send(t.Context(), askIn("c", "go")); detail(err) != "UnsupportedOperationError TASK_ALREADY_IN_FLIGHT" {
			t.Error(err)
		}
		done := task(t, await(t, next))
		if text(done.Artifacts[0].Parts) != "next" || time.Since(began) != 10*time.Second {
			t.Errorf("%q after %s", text(done.Artifacts[0].Parts), time.Since(began))
		}
		if w := words(t, all(s.Run.Follow())); w[len(w)-1] != "CANCELED" {
			t.Errorf("%q", w)
		}
	})
}

// TestAnAgentThatIgnoresCancel loses its context after the grace; one that ignores that
// too fails the tasks that wait for it.
func TestAnAgentThatIgnoresCancel(t *testing.T) {
	for _, stoppable := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			e := engine(t, Options{CancelGrace: 30 * time.Second, Driver: &script{turn: func(ctx context.Context, in Input, l *Line) error {
				says(l, start)
				if text(in.Message.Parts) != "stubborn" {
					says(l, end)
					return nil
				}
				if stoppable {
					<-ctx.Done()
				} else {
					<-release
				}
				return nil
			}}})
			s := send(t, e, askIn("c", "stubborn"))
			synctest.Wait()
			if _, err := e.Cancel(t.Context(), "alice", s.Record.ID); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			next := send(t, e, askIn("c", "go"))
			rec, d := task(t, await(t, next)), time.Since(began)
			if stoppable && (rec.Status.State != a2a.TaskStateCompleted || d != 30*time.Second) {
				t.Errorf("%s after %s", rec.Status.State, d)
			}
			if !stoppable {
				said := text(rec.Status.Message.Parts)
				if rec.Status.State != a2a.TaskStateFailed || d != 35*time.Second || !strings.Contains(said, "busy with an earlier turn") {
					t.Errorf("%s %q after %s", rec.Status.State, said, d)
				}
				again := task(t, await(t, send(t, e, askIn("c", "go"))))
				if again.Status.State != a2a.TaskStateFailed {
					t.Errorf("%s while the agent is stuck", again.Status.State)
				}
				close(release)
				synctest.Wait()
				after := task(t, await(t, send(t, e, askIn("c", "go"))))
				if after.Status.State != a2a.TaskStateCompleted {
					t.Errorf("%s once it has returned", after.Status.State)
				}
			}
		})
	}
}
