package conformance

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/impl/store"
	"a2aserve/impl/turn"
)

// chunky answers in three chunks and then, if it is asked to, stays.
type chunky struct{}

func (chunky) Agent() turn.Agent                                       { return turn.Agent{} }
func (chunky) Admit(context.Context, turn.Input) (*a2a.Message, error) { return nil, nil }
func (chunky) Turn(ctx context.Context, in turn.Input, l *turn.Line) error {
	l.Emit(event.TurnStart{TurnID: "t", TaskID: in.TaskID})
	for i := range 3 {
		text := fmt.Sprint(i)
		l.Emit(event.Artifact{TurnID: "t", Append: i > 0, Artifact: a2a.Artifact{ArtifactID: "a", Parts: []a2a.Part{{Text: &text}}}})
	}
	if *in.Message.Parts[0].Text == "stay" {
		<-ctx.Done()
	}
	l.Emit(event.TurnEnd{TurnID: "t"})
	return nil
}

// A clock that is set forwards and backwards, within a task, between tasks and while the
// server is down, never makes a task's times go back, ends no task early, and neither hides a
// task from a walk over the list nor shows it twice.
func TestClockSteps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	steps := []time.Duration{0, time.Hour, -time.Hour, 365 * 24 * time.Hour, -10 * 365 * 24 * time.Hour, time.Millisecond}
	var mu sync.Mutex // guards asked
	asked := 0
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return time.Now().Add(steps[asked/2%len(steps)])
	}
	var stay []string
	for restart := range 3 {
		db, err := store.Open(t.Context(), store.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := db.SettleOrphans(t.Context(), turn.OrphanStatus); err != nil || n != len(stay) {
			t.Fatalf("%d orphans of %d: %v", n, len(stay), err)
		}
		e := turn.New(turn.Options{Driver: chunky{}, Journal: db, Logger: quiet(), Now: clock,
			InputTimeout: time.Minute, SilenceTimeout: time.Minute, CancelGrace: time.Millisecond, Artifacts: turn.DefaultArtifacts()})
		for range scaled(40, 1000) {
			sent, err := e.Send(t.Context(), message("go", ""))
			if err != nil {
				t.Fatal(err)
			}
			frames := followed(sent.Follow())
			states(t, db, frames, sent.Record.ID)
		}
		stay = stay[:0]
		if restart < 2 {
			for range 5 {
				sent, err := e.Send(t.Context(), message("stay", ""))
				if err != nil {
					t.Fatal(err)
				}
				s := sent.Follow()
				for i := s.At; i < s.At+4; { // WORKING and the chunks, one frame or several
					frames, wake := s.From(i)
					if i += len(frames); len(frames) == 0 {
						<-wake
					}
				}
				stay = append(stay, sent.Record.ID)
			}
		}
		timesGoOn(t, db, restart*(scaled(40, 1000)+5)+scaled(40, 1000)+len(stay))
		if err := db.Close(); err != nil { // before the engine can settle what stays
			t.Fatal(err)
		}
		drained, cancel := context.WithCancel(t.Context())
		cancel()
		_ = e.Drain(drained)
	}
}

// timesGoOn walks all tasks, page by page, and looks at each one's times.
func timesGoOn(t *testing.T, db *store.Store, want int) {
	t.Helper()
	v := db.For("alice")
	seen := map[string]bool{}
	f := store.Filter{PageSize: 7}
	last := time.Time{}
	for {
		p, err := v.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range p.Tasks {
			if seen[rec.ID] {
				t.Errorf("task %s is listed twice", rec.ID)
			}
			seen[rec.ID] = true
			trail, err := v.Transitions(t.Context(), rec.ID)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range trail {
				if i > 0 && s.At.Before(trail[i-1].At) {
					t.Errorf("task %s became %s at %s, after %s at %s", rec.ID, s.State, s.At, trail[i-1].State, trail[i-1].At)
				}
			}
			at := trail[len(trail)-1].At
			if !last.IsZero() && at.After(last) {
				t.Errorf("task %s of %s is listed after one of %s", rec.ID, at, last)
			}
			last = at
		}
		if p.Next == nil {
			break
		}
		f.Before = p.Next
	}
	if len(seen) != want {
		t.Errorf("%d tasks are listed, %d were made", len(seen), want)
	}
}
