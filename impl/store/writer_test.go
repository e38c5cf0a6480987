package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"a2aserve/gen/a2a"
)

// A commit that fails stores nothing, is told to who waits for it, and leaves the writer as
// if it had not been tried: what it remembered of that group is gone, and the next works.
func TestCommitThatFails(t *testing.T) {
	s := open(t, Options{})
	whole := changes(created("ann", "t1", "c1", 0), status("ann", "t1", "c1", a2a.TaskStateCompleted, 1))
	err := s.writer.submit(func(ctx context.Context, h *handle) error {
		b, err := collect(whole)
		return errors.Join(err, s.apply(ctx, h, b), execute(brokenAtCommit)(ctx, h))
	})
	if err == nil {
		t.Error("stored, as its waiter was told")
	}
	if p := list(t, s, "ann", Filter{}); len(p.Tasks) != 0 || p.Total != 0 {
		t.Errorf("%d tasks of %d are there", len(p.Tasks), p.Total)
	}
	put(t, s, whole...)
	compareCounts(t, s, "ann")
	if p := list(t, s, "ann", Filter{}); ids(p) != "t1" || p.Total != 1 {
		t.Errorf("%q of %d", ids(p), p.Total)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// What the writer remembers of running tasks stays true where a write was taken back and
// where a task ends as it is made: a cap keeps as many as it says.
func TestCapsKeepWhatTheySay(t *testing.T) {
	for name, opts := range map[string]Options{"context": {MaxPerContext: 3}, "principal": {MaxPerPrincipal: 3}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, opts)
			put(t, s, created("ann", "t0", "c1", 0))
			if err := s.Append(changes(created("ann", "t0", "c1", 0))); err == nil {
				t.Fatal("made twice")
			}
			put(t, s, status("ann", "t0", "c1", a2a.TaskStateCompleted, 1))
			for i := range 5 {
				if err := runTurn(s, "ann", fmt.Sprint("turn", i), "c1", 10+10*i); err != nil {
					t.Fatal(err)
				}
			}
			if got := ids(list(t, s, "ann", Filter{})); got != "turn4 turn3 turn2" {
				t.Errorf("kept %q", got)
			}
			for i := range 5 {
				id := fmt.Sprint("refused", i)
				put(t, s, created("ann", id, "c1", 100+i), status("ann", id, "c1", a2a.TaskStateRejected, 100+i))
			}
			if got := ids(list(t, s, "ann", Filter{})); got != "refused4 refused3 refused2" {
				t.Errorf("kept %q", got)
			}
			compareCounts(t, s, "ann")
		})
	}
}

// The writer's memory does not grow with the contexts that there have been.
func TestWriterRemembersSoMuch(t *testing.T) {
	s := open(t, Options{})
	err := s.writer.submit(func(ctx context.Context, h *handle) error {
		for i := range 2 * maxRemembered {
			if _, _, err := s.writer.account(h, "ann").context(ctx, fmt.Sprint("c", i)); err != nil {
				return err
			}
			if n := len(s.writer.memory.contexts); n > maxRemembered+1 {
				return fmt.Errorf("%d contexts are remembered", n)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
