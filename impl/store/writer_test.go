package store

import (
	"context"
	"errors"
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
