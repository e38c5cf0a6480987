package turn

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/gen/op"
)

// TestJoiningMidTurn: the snapshot and what follows it are the whole answer, however the
// joining falls.
func TestJoiningMidTurn(t *testing.T) {
	const pieces = 200
	var whole strings.Builder
	events := []event.Event{start}
	for i := range pieces {
		piece := string(rune('a' + i%26))
		whole.WriteString(piece)
		events = append(events, delta(piece))
	}
	events = append(events, end)
	e := engine(t, Options{Driver: &script{turn: func(_ context.Context, _ Input, l *Line) error {
		for _, ev := range events {
			l.Emit(ev)
			if ev.Turn() == "t" && time.Now().UnixNano()%8 == 0 {
				time.Sleep(time.Microsecond)
			}
		}
		return nil
	}}})
	for range 100 {
		s := send(t, e, ask("go"))
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				time.Sleep(time.Duration(i*100) * time.Microsecond)
				stream, err := s.Run.Join()
				if err != nil {
					t.Error(err)
					return
				}
				var got strings.Builder
				var state a2a.TaskState
				for _, f := range all(stream) {
					if f.JSON == nil {
						continue
					}
					r := decoded(t, f)
					switch {
					case r.Task != nil:
						state = r.Task.Status.State
						if len(r.Task.Artifacts) > 0 {
							got.WriteString(joined(r.Task.Artifacts[0].Parts))
						}
					case r.StatusUpdate != nil:
						state = r.StatusUpdate.Status.State
					default:
						got.WriteString(joined(r.ArtifactUpdate.Artifact.Parts))
					}
				}
				if got.String() != whole.String() || state != a2a.TaskStateCompleted {
					t.Errorf("%s after %q", state, got.String())
				}
			})
		}
		wg.Wait()
	}
}

// TestASlowReader holds nobody up and gets everything in the end.
func TestASlowReader(t *testing.T) {
	e := engine(t, Options{Driver: &script{turn: func(_ context.Context, _ Input, l *Line) error {
		says(l, start)
		for range 5000 {
			l.Emit(delta("piece "))
		}
		says(l, end)
		return nil
	}}})
	s := send(t, e, ask("go"))
	stream := s.Run.Follow()
	first, _ := stream.From(0) // and then reads nothing for the whole turn
	await(t, s)
	var got strings.Builder
	for _, f := range all(stream) {
		if r := decoded(t, f); r.ArtifactUpdate != nil {
			got.WriteString(joined(r.ArtifactUpdate.Artifact.Parts))
		}
	}
	if got.Len() != 5000*len("piece ") || len(first) == 0 {
		t.Errorf("%d bytes", got.Len())
	}
}

// TestAReaderWhoLeaves does not end the turn, whether it waits or not.
func TestAReaderWhoLeaves(t *testing.T) {
	goOn := make(chan struct{})
	j := newMemory()
	e := engine(t, Options{Journal: j, Driver: &script{turn: func(ctx context.Context, _ Input, l *Line) error {
		says(l, start)
		<-goOn
		if ctx.Err() != nil {
			t.Error("the turn's context ended with the request's")
		}
		says(l, output("x"), end)
		return nil
	}}})
	ctx, leave := context.WithCancel(t.Context())
	s, err := e.Send(ctx, ask("go"))
	if err != nil {
		t.Fatal(err)
	}
	leave()
	if _, err := s.Run.Await(ctx, s.From); err != context.Canceled {
		t.Error(err)
	}
	close(goOn)
	if rec := await(t, s); rec.State != a2a.TaskStateCompleted || j.get(rec.ID).State != rec.State {
		t.Error(rec.State)
	}
}

// TestMaxLogBytes: above half of the room small pieces are gathered, and a task that
// still outgrows it fails.
func TestMaxLogBytes(t *testing.T) {
	run := func(maxLog, pieces int) ([]string, Record) {
		e := engine(t, Options{MaxLogBytes: maxLog, Driver: &script{turn: func(ctx context.Context, in Input, l *Line) error {
			events := []event.Event{start}
			for range pieces {
				events = append(events, delta("four"))
			}
			return unbatched(append(events, end)...)(ctx, in, l)
		}}})
		s := send(t, e, ask("go"))
		w := words(t, all(s.Run.Follow()))
		rec, _ := s.Run.Snapshot()
		return w, rec
	}
	w, rec := run(40_000, 2000)
	if rec.State != a2a.TaskStateCompleted || len(w) > 150 || joined(task(t, rec).Artifacts[0].Parts) != strings.Repeat("four", 2000) {
		t.Errorf("%s in %d frames", rec.State, len(w))
	}
	_, rec = run(20_000, 10_000)
	if done := task(t, rec); done.Status.State != a2a.TaskStateFailed || !strings.Contains(text(done.Status.Message.Parts), "20000 bytes") {
		t.Errorf("%+v", done.Status)
	}
}

// TestBackPressure: an agent that outruns the store waits; nothing grows without bound.
func TestBackPressure(t *testing.T) {
	e := engine(t, Options{Journal: slowStore{newMemory()}, Driver: &script{turn: func(_ context.Context, _ Input, l *Line) error {
		says(l, start)
		for range 3000 {
			l.Emit(delta("x"))
			l.in.mu.Lock()
			n := l.in.agent
			l.in.mu.Unlock()
			if n > queueRoom {
				t.Errorf("%d events wait", n)
			}
		}
		says(l, end)
		return nil
	}}})
	s := send(t, e, ask("go"))
	frames := all(s.Run.Follow())
	if w := words(t, frames); w[len(w)-1] != "COMPLETED" || len(w) > 100 {
		t.Errorf("%d frames, last %s", len(w), w[len(w)-1])
	}
}

type slowStore struct{ *memory }

func (s slowStore) Append(c []Change) error {
	time.Sleep(time.Millisecond)
	return s.memory.Append(c)
}

func (s slowStore) Begin(w *Write) { w.Done <- s.Append(w.Take()) }

// TestASnapshotIsNotALiveObject: LR-09.
func TestASnapshotIsNotALiveObject(t *testing.T) {
	e := engine(t, Options{Driver: &script{turn: plays(start, delta("a"), delta("b"), output("abc"), end)}})
	for range 200 {
		s := send(t, e, ask("go"))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				rec, _ := s.Run.Snapshot()
				one, err1 := rec.JSON(nil, true)
				time.Sleep(50 * time.Microsecond)
				two, err2 := rec.JSON(nil, true)
				if err1 != nil || err2 != nil || !slices.Equal(one, two) {
					t.Errorf("%s became %s", one, two)
				}
			})
		}
		if s.Record.State != a2a.TaskStateSubmitted {
			t.Errorf("admitted as %s", s.Record.State)
		}
		wg.Wait()
		await(t, s)
	}
}

// TestManyReaders: a thousand follow one task, and each sees every frame, in order.
func TestManyReaders(t *testing.T) {
	goOn := make(chan struct{})
	e := engine(t, Options{Driver: &script{turn: func(_ context.Context, _ Input, l *Line) error {
		says(l, start)
		<-goOn
		for i := range 100 {
			l.Emit(artifactEvent("a", strconv.Itoa(i), i > 0, i == 99))
		}
		says(l, end)
		return nil
	}}})
	s := send(t, e, ask("go"))
	var wg sync.WaitGroup
	got := make([][]op.Frame, 1000)
	for i := range got {
		wg.Go(func() { got[i] = all(s.Run.Follow()) })
	}
	close(goOn)
	wg.Wait()
	want := words(t, got[0])
	if len(want) != 103 || want[102] != "COMPLETED" {
		t.Fatalf("%q", want)
	}
	for _, frames := range got {
		same := slices.EqualFunc(frames, got[0], func(a, b op.Frame) bool { return &a.JSON[0] == &b.JSON[0] })
		if !same { // encoded once, shared by all
			t.Fatalf("another reader saw %q", words(t, frames))
		}
	}
}
