package bus_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"

	"github.com/google/uuid"
)

// stuckJournal holds one task's writes until it is told how they end.
type stuckJournal struct {
	drivertest.Journal
	mu    sync.Mutex // guards stuck
	stuck string     // the task
	fate  chan error
}

func (j *stuckJournal) Append(cs []turn.Change) error {
	j.mu.Lock()
	held := j.stuck == cs[0].Task
	j.mu.Unlock()
	if held && cs[0].Kind != turn.TaskCreated {
		if err := <-j.fate; err != nil {
			return err
		}
	}
	return j.Journal.Append(cs)
}

func (j *stuckJournal) Begin(w *turn.Write) { w.Done <- j.Append(w.Take()) }

// TestOnlyTheOwnQueueHoldsAnAgentBack: an agent that outruns a slow store waits; nobody
// else on the bus does; and when its task ends for want of a store, it is let go.
func TestOnlyTheOwnQueueHoldsAnAgentBack(t *testing.T) {
	b := bus.New(slog.New(slog.DiscardHandler))
	gone := make(chan struct{})
	bus.On(b, func(in event.Input) {
		emit(b, event.TurnStart{TurnID: in.TaskID, TaskID: in.TaskID})
		for range map[string]int{"flood": 5000}[in.Text] {
			emit(b, event.OutputDelta{TurnID: in.TaskID, Text: "x"})
		}
		emit(b, say(in.TaskID, in.Text), event.TurnEnd{TurnID: in.TaskID})
		if in.Text == "flood" {
			close(gone)
		}
	})
	d := bus.NewDriver(b, bus.Options{})
	t.Cleanup(d.Close)
	j := &stuckJournal{fate: make(chan error)}
	e := turn.New(turn.Options{Driver: d, Journal: j, Logger: slog.New(slog.DiscardHandler), NewID: ids(j)})
	t.Cleanup(func() { _ = e.Drain(t.Context()) })

	flood, err := e.Send(t.Context(), drivertest.Text("flood"))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // while that one hangs
		s, err := e.Send(t.Context(), drivertest.Text("other"))
		if err != nil {
			t.Fatal(err)
		}
		if rec, err := s.Run.Await(t.Context(), s.From); err != nil || rec.State != a2a.TaskStateCompleted {
			t.Fatalf("%s, %v", rec.State, err)
		}
	}
	select {
	case <-gone:
		t.Error("5000 events found room in a queue that nobody empties")
	default:
	}
	j.fate <- errors.New("disk full")
	<-gone
	close(j.fate) // the store has recovered
	for deadline := time.Now().Add(time.Minute); j.Task(flood.Record.ID).State != a2a.TaskStateFailed; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the task never failed")
		}
	}
}

// ids makes the first task the one whose writes hang.
func ids(j *stuckJournal) func() string {
	var once sync.Once
	return func() string {
		id := uuid.NewString()
		once.Do(func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.stuck = id
		})
		return id
	}
}

// TestInputDoesNotHoldTheSender: the turn runs on a goroutine of the driver's.
func TestInputDoesNotHoldTheSender(t *testing.T) {
	release := make(chan struct{})
	b, _ := stage(t, bus.Options{}, func(b *bus.Bus) {
		bus.On(b, func(in event.Input) {
			<-release
			emit(b, event.TurnStart{TurnID: in.TaskID}, say(in.TaskID, "late"), event.TurnEnd{TurnID: in.TaskID})
		})
	}, turn.Options{})
	s := b.Send(drivertest.Text("go")) // returns although the handler has not
	close(release)
	if got := drivertest.Answered(b.Await(s)); got != "late" {
		t.Errorf("%q", got)
	}
}

// TestTurnGoesOnInsideTheAnswer: an agent that runs the rest of its turn in its handler of
// the answer can ask again there, and still hears that it is to stop.
func TestTurnGoesOnInsideTheAnswer(t *testing.T) {
	b, _ := stage(t, bus.Options{SessionID: "s"}, func(b *bus.Bus) {
		stop := make(chan struct{}, 1)
		second := make(chan string, 1)
		bus.On(b, func(event.CancelRequest) { stop <- struct{}{} })
		bus.On(b, func(in event.Input) {
			emit(b, event.TurnStart{TurnID: in.TaskID}, event.HITLRequested{TurnID: in.TaskID, RequestID: in.TaskID, Prompt: "1?"})
		})
		bus.On(b, func(e event.HITLResponded) {
			if e.FreeText == "two" {
				second <- e.FreeText
				return
			}
			emit(b, event.HITLRequested{TurnID: e.TurnID, RequestID: e.RequestID + "+", Prompt: "2?"})
			select {
			case told := <-second:
				emit(b, say(e.TurnID, e.FreeText+" "+told), event.TurnEnd{TurnID: e.TurnID})
			case <-stop:
				emit(b, event.CancelComplete{TurnID: e.TurnID}, event.TurnEnd{TurnID: e.TurnID})
			}
		})
	}, turn.Options{CancelGrace: time.Hour})
	for _, cancelled := range []bool{true, false} {
		s := b.Send(drivertest.Text("go"))
		b.Await(s)
		s = b.Answer(s, "one")
		if task := b.Await(s); task.Status.State != a2a.TaskStateInputRequired || drivertest.Said(task) != "2?" {
			t.Fatalf("%s %q", task.Status.State, drivertest.Said(task))
		}
		if cancelled {
			if _, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID); err != nil {
				t.Fatal(err)
			}
			continue // the next turn begins, so this one has stopped
		}
		if got := drivertest.Answered(b.Await(b.Answer(s, "two"))); got != "one two" {
			t.Errorf("%q", got)
		}
	}
}

// TestTurnsWithoutAnEnd: an error that ends a turn is its end, and a nested turn has ended
// when its handlers have returned, whatever it said. Nobody waits for a time-out.
func TestTurnsWithoutAnEnd(t *testing.T) {
	for _, o := range []bus.Options{{SessionID: "s"}, {SessionID: "s", Nested: true}} {
		b, _ := stage(t, o, func(b *bus.Bus) {
			bus.On(b, func(in event.Input) {
				emit(b, event.TurnStart{TurnID: in.TaskID})
				switch in.Text {
				case "fatal":
					emit(b, event.CoreError{TurnID: in.TaskID, Message: "broken", Fatal: true})
				case "refused by the provider":
					emit(b, event.CoreError{TurnID: in.TaskID, Message: "broken"})
				case "fine":
					emit(b, event.CoreError{TurnID: in.TaskID, Message: "a hitch", Retryable: true}, say(in.TaskID, "fine"), event.TurnEnd{TurnID: in.TaskID})
				}
			})
		}, turn.Options{CancelGrace: time.Hour, SilenceTimeout: time.Hour})
		texts := []string{"fatal", "fine", "refused by the provider", "fine"}
		if o.Nested {
			texts = append(texts, "silently vetoed", "fine")
		}
		for _, text := range texts {
			task := b.Do(text)
			if want := text == "fine"; (task.Status.State == a2a.TaskStateCompleted) != want || !want && task.Status.State != a2a.TaskStateFailed {
				t.Errorf("nested %t, %s: %s %q", o.Nested, text, task.Status.State, drivertest.Said(task))
			}
		}
	}
}

// TestAgentThatHasNotBegun can still be stopped: it is told when the engine gives up.
func TestAgentThatHasNotBegun(t *testing.T) {
	b, _ := stage(t, bus.Options{SessionID: "s"}, func(b *bus.Bus) {
		stop := make(chan struct{}, 1)
		bus.On(b, func(event.CancelRequest) { stop <- struct{}{} })
		bus.On(b, func(in event.Input) {
			if in.Text == "hang" {
				<-stop
				return
			}
			emit(b, event.TurnStart{TurnID: in.TaskID}, say(in.TaskID, "fine"), event.TurnEnd{TurnID: in.TaskID})
		})
	}, turn.Options{CancelGrace: 20 * time.Millisecond})
	s := b.Send(drivertest.Text("hang"))
	if _, err := b.Engine.Cancel(context.Background(), "alice", s.Record.ID); err != nil {
		t.Fatal(err)
	}
	if got := drivertest.Answered(b.Do("go")); got != "fine" {
		t.Errorf("%q", got)
	}
}
