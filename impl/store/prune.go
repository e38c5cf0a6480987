package store

import (
	"context"
	"errors"
	"time"

	"a2aserve/gen/db"
)

// Prune evicts tasks that had finished by a time, of one principal or, where principal is
// "", of all. With dry it only counts them. Others go on meanwhile, since it works in small
// writes; a task that has not ended stays. progress is told of every principal's share.
func (s *Store) Prune(ctx context.Context, principal string, by time.Time, dry bool, progress func(gone int64)) (n int64, err error) {
	one := func(principal string) error {
		if dry {
			return s.read(ctx, func(h *handle) error {
				more, err := h.View(principal).CountExpired(ctx, by.UnixMilli())
				n += more
				return err
			})
		}
		more, err := s.pruneOne(ctx, principal, by, func(gone int64) { progress(n + gone) })
		n += more
		return err
	}
	if principal != "" {
		return n, one(principal)
	}
	err = s.walk(ctx, func(principals []string) error {
		for _, p := range principals {
			if err := one(p); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// pruneOne looks before each write, as a sweep does.
func (s *Store) pruneOne(ctx context.Context, principal string, by time.Time, progress func(int64)) (n int64, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		var found []string
		err := s.read(ctx, func(h *handle) (err error) {
			found, err = h.View(principal).Expired(ctx, db.ExpiredParams{Cutoff: by.UnixMilli(), N: 1})
			return err
		})
		if err != nil || len(found) == 0 {
			return n, err
		}
		gone := 0
		err = s.writer.submit(func(ctx context.Context, h *handle) (err error) {
			gone, err = s.evictBefore(ctx, s.writer.account(h, principal), by, evictAtOnce)
			return err
		})
		if err != nil {
			return n, err
		}
		n += int64(gone)
		progress(n)
	}
}

// ErrUnfinished says that a principal has tasks that have not ended.
var ErrUnfinished = errors.New("tasks have not ended yet")

// Forget removes everything of a principal: its tasks, its counters, the sessions that its
// contexts have claimed, and its name. It returns the number of tasks and whether the
// principal was known. Where tasks have not ended the error is ErrUnfinished, and the
// finished ones are gone. What was deleted stays readable in the file until Compact.
func (s *Store) Forget(ctx context.Context, principal string, progress func(gone int64)) (n int64, known bool, err error) {
	const ever = 1 << 62
	n, err = s.pruneOne(ctx, principal, time.UnixMilli(ever), progress)
	if err != nil {
		return n, false, err
	}
	err = s.writer.submit(func(ctx context.Context, h *handle) error {
		v := h.View(principal)
		s.writer.memory.forget()
		live, err := v.CountLive(ctx)
		if err != nil {
			return err
		}
		if len(live) > 0 {
			return ErrUnfinished
		}
		if err := v.DropCounters(ctx); err != nil {
			return err
		}
		if _, err := v.ReleaseOwned(ctx); err != nil {
			return err
		}
		rows, err := v.DropPrincipal(ctx)
		known = rows > 0
		return err
	})
	return n, known, err
}

// Compact writes the file anew without what has been deleted, so that neither file nor log
// holds it, and gives the room back. It takes about as much room again meanwhile. Nothing
// can be written to the store afterwards; close it.
func (s *Store) Compact(ctx context.Context) error {
	return s.writer.stop().compact(ctx)
}
