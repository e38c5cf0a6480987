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

	"github.com/go-json-experiment/json"
)

// TestTheJournalFailsAtEachPoint: decision 31. Nothing of a change that is not stored is
// seen by anybody, and the task becomes FAILED once the store takes it.
func TestTheJournalFailsAtEachPoint(t *testing.T) {
	events := []event.Event{start, artifactEvent("a", "1", false, true), output("x"), end}
	for n := 1; n <= 5; n++ {
		synctest.Test(t, func(t *testing.T) {
			j := newMemory()
			j.failAt[n], j.failAt[n+1] = true, true
			e := engine(t, Options{Journal: j, Driver: &script{turn: func(ctx context.Context, _ Input, l *Line) error {
				for _, ev := range events {
					if !says(l, ev) {
						break
					}
					time.Sleep(time.Millisecond) // a batch each
				}
				l.Next(ctx)
				return nil
			}}})
			s, err := e.Send(t.Context(), ask("go"))
			if n == 1 {
				if detail(err) != "InternalError " || strings.Contains(err.(*a2a.Error).Text(), "disk") {
					t.Error(err)
				}
				j.failAt[n+1] = false
				await(t, send(t, e, ask("go"))) // no slot is left taken, and nothing is failing
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Run.Await(t.Context(), s.From); detail(err) != "InternalError " {
				t.Error(err)
			}
			frames := all(s.Run.Follow())
			seen := words(t, frames)
			whole := []string{"task SUBMITTED", "WORKING", "artifact. 1", "artifact. x", "COMPLETED"}
			if !slices.Equal(seen, append(whole[:n-1:n-1], "end")) {
				t.Errorf("write %d failed: %q", n, seen)
			}
			agree(t, frames[:len(frames)-1], j.get(s.Record.ID))
			if live := e.Live("alice", s.Record.ID); live == nil {
				t.Error("the task cannot be read")
			}
			if _, err := e.Send(t.Context(), ask("go")); detail(err) != "UnavailableError " {
				t.Errorf("a new send: %v", err)
			}
			synctest.Wait()
			if _, err := e.Cancel(t.Context(), "alice", s.Record.ID); detail(err) != "UnavailableError " {
				t.Errorf("a cancel: %v", err)
			}
			time.Sleep(time.Minute) // the second attempt succeeds
			if rec := j.get(s.Record.ID); rec.State != a2a.TaskStateFailed || e.Live("alice", rec.ID) != nil {
				t.Errorf("settled as %s", rec.State)
			}
			await(t, send(t, e, ask("go")))
		})
	}
}

func TestWaitersWhenTheJournalFails(t *testing.T) {
	j := newMemory()
	e := engine(t, Options{Journal: j, Driver: &script{turn: asks(question1("q", ""))}})
	for _, act := range []func(Sent) error{
		func(s Sent) error { _, err := e.Cancel(t.Context(), "alice", s.Record.ID); return err },
		func(s Sent) error { _, err := e.Answer(t.Context(), replyTo(s, "x")); return err },
	} {
		s := send(t, e, ask("go"))
		await(t, s)
		j.setDown(true)
		if err := act(s); detail(err) != "InternalError " {
			t.Error(err)
		}
		if rec, _ := s.Run.Snapshot(); rec.State != a2a.TaskStateInputRequired || len(rec.History) != 2 {
			t.Errorf("reads show %s", rec.State)
		}
		j.setDown(false)
		for e.Live("alice", s.Record.ID) != nil {
			time.Sleep(time.Millisecond)
		}
		if rec := j.get(s.Record.ID); rec.State != a2a.TaskStateFailed {
			t.Errorf("settled as %s", rec.State)
		}
	}
}

// TestAWriteThatTookEffectAfterAll does not leave the engine waiting for the store.
func TestAWriteThatTookEffectAfterAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newMemory()
		j.lieAt = 2
		e := engine(t, Options{Journal: j, Driver: &script{turn: func(context.Context, Input, *Line) error { return nil }}})
		s := send(t, e, ask("go"))
		if _, err := s.Run.Await(t.Context(), s.From); detail(err) != "InternalError " {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if e.Live("alice", s.Record.ID) != nil || j.get(s.Record.ID).State != a2a.TaskStateFailed {
			t.Error("the task is still live")
		}
		await(t, send(t, e, ask("go")))
	})
}

// TestADriverThatFails: the client learns that the agent failed, and not how.
func TestADriverThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		turn func(context.Context, Input, *Line) error
		said string
	}{
		"error": {func(context.Context, Input, *Line) error { return errDisk }, "The agent could not be run"},
		"a reason": {func(context.Context, Input, *Line) error {
			return a2a.UnavailableError.Errorf("The agent sleeps").Because(errDisk)
		}, "The agent sleeps"},
		"panic":   {func(context.Context, Input, *Line) error { panic(errDisk) }, "The agent failed"},
		"nothing": {func(context.Context, Input, *Line) error { return nil }, "The agent ended the turn without an answer"},
		"panic at work": {func(_ context.Context, _ Input, l *Line) error {
			says(l, start, delta("half"))
			panic(errDisk)
		}, "The agent failed"},
	} {
		e := engine(t, Options{Driver: &script{turn: c.turn}})
		done := task(t, await(t, send(t, e, ask("go"))))
		if done.Status.State != a2a.TaskStateFailed || text(done.Status.Message.Parts) != c.said {
			t.Errorf("%s: %s %q", name, done.Status.State, text(done.Status.Message.Parts))
		}
	}
}

// TestRogue: what comes after the end goes nowhere.
func TestRogue(t *testing.T) {
	j := newMemory()
	accepted := 0
	e := engine(t, Options{Journal: j, Driver: &script{turn: func(_ context.Context, _ Input, l *Line) error {
		says(l, start, output("x"), end)
		for range 1000 {
			for _, ev := range []event.Event{output("late"), event.CoreError{TurnID: "t", Fatal: true}, start, question1("q", ""), end} {
				if l.Emit(ev) {
					accepted++
				}
			}
		}
		return nil
	}}})
	s := send(t, e, ask("go"))
	await(t, s)
	<-s.Run.returned
	frames := all(s.Run.Follow())
	if w := words(t, frames); !slices.Equal(w[2:], []string{"artifact. x", "COMPLETED"}) {
		t.Errorf("%q", w)
	}
	agree(t, frames, j.get(s.Record.ID))
	if accepted >= 5000 {
		t.Error("Emit never said that the turn is over")
	}
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newMemory()
		e := New(Options{Journal: j, Driver: &script{turn: func(ctx context.Context, in Input, l *Line) error {
			says(l, start)
			switch text(in.Message.Parts) {
			case "quick":
				time.Sleep(10 * time.Second)
				says(l, output("done"), end)
			case "late question":
				time.Sleep(5 * time.Second)
				says(l, question1("q", ""))
				l.Next(ctx)
			case "question":
				says(l, question1("q", ""))
				l.Next(ctx)
			default:
				<-ctx.Done()
			}
			return nil
		}}})
		ends := map[string]*Sent{}
		for _, what := range []string{"quick", "question", "late question", "endless"} {
			s := send(t, e, ask(what))
			ends[what] = &s
		}
		synctest.Wait()
		began := time.Now()
		var mu sync.Mutex // guards took
		took := map[string]time.Duration{}
		for what, s := range ends {
			go func() {
				all(s.Run.Follow())
				mu.Lock()
				defer mu.Unlock()
				took[what] = time.Since(began)
			}()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		done := make(chan error)
		go func() { done <- e.Drain(ctx) }()
		synctest.Wait()
		if _, err := e.Send(t.Context(), ask("quick")); detail(err) != "UnavailableError " {
			t.Errorf("a new send: %v", err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for what, want := range map[string]struct {
			state a2a.TaskState
			after time.Duration
		}{
			"quick":         {a2a.TaskStateCompleted, 10 * time.Second},
			"question":      {a2a.TaskStateFailed, 0},
			"late question": {a2a.TaskStateFailed, 5 * time.Second},
			"endless":       {a2a.TaskStateFailed, 30 * time.Second},
		} {
			if rec := j.get(ends[what].Record.ID); rec.State != want.state || took[what] != want.after {
				t.Errorf("%s: %s after %s", what, rec.State, took[what])
			}
		}
		if err := e.Drain(t.Context()); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}

func TestDrainNamesAnAgentThatDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := New(Options{Journal: newMemory(), Driver: &script{turn: func(_ context.Context, _ Input, l *Line) error {
			says(l, start)
			<-release
			return nil
		}}})
		s := send(t, e, ask("go"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := e.Drain(ctx); err == nil {
			t.Error("drained")
		}
		if rec, _ := s.Run.Snapshot(); rec.State != a2a.TaskStateFailed {
			t.Error(rec.State)
		}
		close(release)
		synctest.Wait()
	})
}

func TestOrphanStatus(t *testing.T) {
	var s a2a.TaskStatus
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	if err := json.Unmarshal(OrphanStatus("task", "context", at), &s); err != nil {
		t.Fatal(err)
	}
	if m := s.Message; s.State != a2a.TaskStateFailed || !s.Timestamp.Equal(at) || m.TaskID != "task" || m.ContextID != "context" || m.MessageID == "" {
		t.Errorf("%+v", s)
	}
}
