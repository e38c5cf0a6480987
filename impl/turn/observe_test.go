package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
)

// notebook is an Observer that writes down what it is told, of one turn.
type notebook struct {
	mu   sync.Mutex // guards said
	said []string
	over chan struct{}
}

type bookKey struct{}

func (n *notebook) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, fmt.Sprintf(format, args...))
}

func (n *notebook) Begin(request, turn context.Context, in Input) (context.Context, string, Observation) {
	n.note("begin for %v in %s", request.Value(bookKey{}), in.ContextID)
	return context.WithValue(turn, bookKey{}, "the turn's"), "00-trace-parent-01", n
}

func (n *notebook) Status(s a2a.TaskState) { n.note("%s", short(s)) }
func (n *notebook) Answered(request context.Context) {
	n.note("answered by %v", request.Value(bookKey{}))
}
func (n *notebook) ToolInvoked(id, name string)         { n.note("tool %s %s", id, name) }
func (n *notebook) ToolReturned(id string, failed bool) { n.note("returned %s %t", id, failed) }
func (n *notebook) Over(s a2a.TaskState)                { n.note("over %s", s); close(n.over) }

func by(who string) context.Context { return context.WithValue(context.Background(), bookKey{}, who) }

// An observer hears of a turn from before its task is stored to its end, and of what the
// agent does but not of what is said.
func TestObserver(t *testing.T) {
	n := &notebook{over: make(chan struct{})}
	got := make(chan string, 1)
	e := engine(t, Options{Observe: n, Driver: &script{turn: func(ctx context.Context, in Input, l *Line) error {
		got <- fmt.Sprint(ctx.Value(bookKey{}), " ", in.TraceParent)
		says(l, start, event.ToolInvoke{TurnID: "t", CallID: "1", Name: "clock"}, event.ToolResult{TurnID: "t", CallID: "1", Name: "clock", Error: "none"},
			event.HITLRequested{TurnID: "t", RequestID: "q", Prompt: "which?"})
		l.Next(ctx)
		says(l, output("secret"), end)
		return nil
	}}})
	s, err := e.Send(by("the sender's"), askIn("c", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	await(t, s)
	if st := e.Stats(); st != (Stats{InFlight: 1, Parked: 1}) {
		t.Errorf("parked: %+v", st)
	}
	if s, err = e.Answer(by("the answerer's"), replyTo(s, "secret")); err != nil {
		t.Fatal(err)
	}
	await(t, s)
	if got := <-got; got != "the turn's 00-trace-parent-01" {
		t.Errorf("the driver got %q", got)
	}
	want := []string{"begin for the sender's in c", "tool 1 clock", "returned 1 true", "WORKING", "INPUT_REQUIRED",
		"answered by the answerer's", "WORKING", "COMPLETED", "over TASK_STATE_COMPLETED"}
	n.mu.Lock()
	said := n.said
	n.mu.Unlock()
	// Events are told as they come and states as they are stored, each in their order; so
	// is the answer to its sender, beside the turn that goes on.
	if !sameButOrder(said, want) || said[0] != want[0] || said[len(said)-1] != want[len(want)-1] {
		t.Errorf("said %q", said)
	}
	if st := e.Stats(); st != (Stats{}) {
		t.Errorf("at the end: %+v", st)
	}
}

func sameButOrder(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// Each beginning has one end, also where the store takes nothing.
func TestObserverOfWhatIsNotStored(t *testing.T) {
	for failAt, want := range map[int]string{1: "over ", 2: "over TASK_STATE_FAILED"} {
		n := &notebook{over: make(chan struct{})}
		j := newMemory()
		j.failAt[failAt] = true
		e := engine(t, Options{Observe: n, Journal: j, Driver: &script{turn: plays(start, end)}})
		if _, err := e.Send(t.Context(), ask("go")); (err != nil) != (failAt == 1) || err != nil && !errors.Is(err, errDisk) {
			t.Fatalf("write %d fails: %v", failAt, err)
		}
		<-n.over
		n.mu.Lock()
		if last := n.said[len(n.said)-1]; last != want {
			t.Errorf("write %d fails: %q", failAt, n.said)
		}
		n.mu.Unlock()
	}
}
