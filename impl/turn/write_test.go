package turn

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
)

// heldJournal lets the test say when a write begins. Each one is announced with what it
// holds at that moment.
type heldJournal struct {
	*memory
	begun chan *Write
}

func (j heldJournal) Begin(w *Write) { j.begun <- w }

// store ends a write as the journal would.
func (j heldJournal) store(w *Write) { w.Done <- j.memory.Append(w.Take()) }

// storeUntil ends writes until a task's state is published.
func (j heldJournal) storeUntil(s Sent, state a2a.TaskState) {
	for rec, _ := s.Run.Snapshot(); rec.State != state; rec, _ = s.Run.Snapshot() {
		select {
		case w := <-j.begun:
			j.store(w)
		default:
			runtime.Gosched()
		}
	}
}

func kinds(cs []Change) (k []Kind) {
	for _, c := range cs {
		k = append(k, c.Kind)
	}
	return k
}

// What the agent says before the journal begins with a write goes with it; what it says
// later is the next write. Readers see the same frames in either case.
func TestAWriteTakesAlongWhatComesBeforeItBegins(t *testing.T) {
	for _, late := range []bool{false, true} {
		j := heldJournal{newMemory(), make(chan *Write)}
		goOn := make(chan struct{})
		e := engine(t, Options{Journal: j, Driver: &script{turn: func(_ context.Context, _ Input, l *Line) error {
			says(l, start)
			<-goOn
			says(l, output("hello"), end)
			return nil
		}}})
		s := send(t, e, ask("go"))
		first := <-j.begun
		if late {
			first.Take()
		}
		close(goOn)
		if late {
			j.store(first)
			j.storeUntil(s, a2a.TaskStateCompleted) // one write, or two: the owner may take what is said bit by bit
		} else {
			first.holds(3)
			j.store(first)
		}
		if got := words(t, all(s.Run.Follow())); !slices.Equal(got, []string{"task SUBMITTED", "WORKING", "artifact. hello", "COMPLETED"}) {
			t.Errorf("late %t: frames %q", late, got)
		}
		if got, want := kinds(first.Take()), []Kind{StatusChanged, ArtifactAdded, StatusChanged}; slices.Equal(got, want) == late {
			t.Errorf("late %t: the first write holds %v", late, got)
		}
	}
}

// peek returns what the write holds, and leaves it open.
func (w *Write) peek() []Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes
}

// holds waits until the write, which is left open, holds so many changes.
func (w *Write) holds(changes int) {
	for len(w.peek()) < changes {
		runtime.Gosched()
	}
}

// cancelled asks for a task's end and hands on the answer.
func cancelled(e *Engine, s Sent) <-chan error {
	asked := make(chan error, 1)
	go func() {
		_, err := e.Cancel(context.Background(), "alice", s.Record.ID)
		asked <- err
	}()
	return asked
}

// decided waits for what comes first: the end is decided, or the owner takes nothing more
// before its write is done.
func decided(s Sent) {
	select {
	case <-s.Run.over:
	case <-time.After(time.Second):
	}
}

// Whoever answers a question while an earlier write is on its way reads on from behind its
// own answer, whether that went with the write or after it.
func TestAnAnswerBesideAWriteReadsOnBehindIt(t *testing.T) {
	for _, late := range []bool{false, true} {
		j := heldJournal{newMemory(), make(chan *Write)}
		goOn, answered := make(chan struct{}), make(chan struct{})
		e := engine(t, Options{Journal: j, Driver: &script{turn: func(_ context.Context, _ Input, l *Line) error {
			says(l, start, event.HITLRequested{TurnID: "t", RequestID: "q", Prompt: "Which?"})
			<-goOn
			says(l, artifactEvent("a", "x", false, true))
			<-answered
			says(l, end)
			return nil
		}}})
		s := send(t, e, ask("go"))
		j.storeUntil(s, a2a.TaskStateInputRequired)
		close(goOn)
		w := <-j.begun
		if late {
			w.Take()
		}
		got := make(chan Sent)
		go func() {
			sent, err := e.Answer(context.Background(), replyTo(s, "this"))
			if err != nil {
				t.Error(err)
			}
			got <- sent
		}()
		if late {
			j.store(w)
			j.store(<-j.begun)
		} else {
			w.holds(3)
			j.store(w)
		}
		sent := <-got
		close(answered)
		j.storeUntil(s, a2a.TaskStateCompleted)
		if sent.Record.State != a2a.TaskStateWorking || len(sent.Record.Artifacts) != 1 {
			t.Errorf("late %t: answered at %s with %d artifacts", late, sent.Record.State, len(sent.Record.Artifacts))
		}
		if rest := words(t, all(sent.Follow())); !slices.Equal(rest, []string{"COMPLETED"}) {
			t.Errorf("late %t: the answer's stream goes on with %q", late, rest)
		}
	}
}

// A write that fails takes along what was added to it, and what came too late for it and was
// decided already: nothing of it is published, and who asked meanwhile gets an error.
func TestAFailedWriteFailsWhatCameMeanwhile(t *testing.T) {
	for _, late := range []bool{false, true} {
		j := heldJournal{newMemory(), make(chan *Write, 1)}
		e := engine(t, Options{Journal: j, Driver: &script{turn: func(ctx context.Context, _ Input, l *Line) error {
			says(l, start, artifactEvent("a", "x", false, true))
			<-ctx.Done()
			return nil
		}}})
		s := send(t, e, ask("go"))
		w := <-j.begun
		w.holds(2)
		if late {
			w.Take()
		}
		asked := cancelled(e, s)
		decided(s)
		w.Take()
		w.Done <- errDisk
		if err := <-asked; err == nil {
			t.Errorf("late %t: a cancellation that is not stored was granted", late)
		}
		if rec, n := s.Run.Snapshot(); rec.State != a2a.TaskStateSubmitted || n != 1 {
			t.Errorf("late %t: published %s, %d frames", late, rec.State, n)
		}
	}
}

// What is decided beside a write that the journal has begun with is a write of its own:
// nobody reads of it before it is stored, and the agent hears of it then.
func TestWhatComesTooLateForAWriteIsTheNext(t *testing.T) {
	j := heldJournal{newMemory(), make(chan *Write, 1)}
	var clock atomic.Int64
	told := make(chan event.Event, 1)
	e := engine(t, Options{
		Journal: j,
		Now:     func() time.Time { return time.UnixMilli(1_750_000_000_000 - clock.Add(1000)) }, // it goes back
		Driver: &script{turn: func(ctx context.Context, _ Input, l *Line) error {
			says(l, start, artifactEvent("a", "x", false, true))
			if ev, ok := l.Next(ctx); ok {
				told <- ev
			}
			return nil
		}},
	})
	s := send(t, e, ask("go"))
	w := <-j.begun
	w.holds(2)
	w.Take()
	asked := cancelled(e, s)
	decided(s)
	j.store(w)
	var next *Write
	select {
	case next = <-j.begun:
	case <-time.After(30 * time.Second):
		t.Fatal("what came too late is not written")
	}
	if rec, _ := s.Run.Snapshot(); rec.State != a2a.TaskStateWorking || len(asked)+len(told) > 0 {
		t.Errorf("%s, %d answers and %d words to the agent before it is stored", rec.State, len(asked), len(told))
	}
	j.store(next)
	if err := <-asked; err != nil {
		t.Error(err)
	}
	if ev, stop := (<-told).(event.CancelRequest); !stop {
		t.Errorf("the agent was told %v", ev)
	}
	frames := all(s.Run.Follow())
	if got := words(t, frames); !slices.Equal(got, []string{"task SUBMITTED", "WORKING", "artifact. x", "CANCELED"}) {
		t.Errorf("frames %q", got)
	}
	last := decoded(t, frames[0]).Task.Status.Timestamp.Time
	for _, f := range frames[1:] {
		if u := decoded(t, f).StatusUpdate; u != nil {
			if at := u.Status.Timestamp.Time; at.Before(last) {
				t.Errorf("%s at %s, after %s", u.Status.State, at, last)
			}
			last = u.Status.Timestamp.Time
		}
	}
}

// What is added to a write that is still open reaches the agent too.
func TestACancellationThatGoesWithAWriteReachesTheAgent(t *testing.T) {
	j := heldJournal{newMemory(), make(chan *Write, 1)}
	told := make(chan event.Event, 1)
	e := engine(t, Options{Journal: j, Driver: &script{turn: func(_ context.Context, _ Input, l *Line) error {
		says(l, start)
		ev, _ := l.Next(context.Background())
		told <- ev
		return nil
	}}})
	s := send(t, e, ask("go"))
	w := <-j.begun
	asked := cancelled(e, s)
	w.holds(2)
	j.store(w)
	if err := <-asked; err != nil {
		t.Error(err)
	}
	if ev, stop := (<-told).(event.CancelRequest); !stop {
		t.Errorf("the agent was told %v", ev)
	}
}

// Whoever made a write may append to the changes that it was made of: the write holds what
// was added to it, and nothing else.
func TestAWriteSharesNoRoomWithItsMaker(t *testing.T) {
	changes := append(make([]Change, 0, 4), Change{Task: "first"})
	w := NewWrite(changes)
	if !w.Add([]Change{{Task: "added"}}) {
		t.Fatal("a write that has not begun takes nothing")
	}
	_ = append(changes, Change{Task: "the maker's"})
	if got := w.Take(); len(got) != 2 || got[1].Task != "added" {
		t.Errorf("the write holds %v", got)
	}
}
