package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"a2aserve/gen/db"
)

// Bounds of one step of maintenance, each of which is one write.
const (
	evictAtCreation = 8   // tasks of a context or of age, besides the one being made
	evictAtOnce     = 64  // tasks, in a sweep
	walkAtOnce      = 256 // principals, or contexts of one
)

// retain makes room after a task has been created, in the same write.
func (s *Store) retain(ctx context.Context, a account, contextID string) error {
	if s.opts.MaxPerContext > 0 {
		if err := s.trim(ctx, a, contextID, evictAtCreation); err != nil {
			return err
		}
	}
	if s.opts.MaxPerPrincipal > 0 {
		if err := s.trimPrincipal(ctx, a, evictAtCreation); err != nil {
			return err
		}
	}
	if s.opts.TTL > 0 {
		_, err := s.expire(ctx, a, evictAtCreation)
		return err
	}
	return nil
}

// trimPrincipal evicts the principal's oldest finished tasks, at most n, while it is over its cap.
func (s *Store) trimPrincipal(ctx context.Context, a account, n int64) error {
	have, _, err := a.whole(ctx)
	if err != nil {
		return err
	}
	surplus := have.sum() - int64(s.opts.MaxPerPrincipal)
	if surplus <= 0 {
		return nil
	}
	ids, err := a.Expired(ctx, db.ExpiredParams{Cutoff: math.MaxInt64, N: min(surplus, n)})
	if err != nil {
		return err
	}
	return s.evict(ctx, a, ids)
}

// trim evicts the context's oldest finished tasks, at most n, while it is over its cap.
func (s *Store) trim(ctx context.Context, a account, contextID string, n int64) error {
	have, _, err := a.context(ctx, contextID)
	if err != nil {
		return err
	}
	surplus := have.sum() - int64(s.opts.MaxPerContext)
	if surplus <= 0 {
		return nil
	}
	ids, err := a.OldestOfContext(ctx, db.OldestOfContextParams{ContextID: contextID, N: min(surplus, n)})
	if err != nil {
		return err
	}
	return s.evict(ctx, a, ids)
}

// expire evicts at most n finished tasks that are older than the TTL.
func (s *Store) expire(ctx context.Context, a account, n int64) (int, error) {
	return s.evictBefore(ctx, a, time.Now().Add(-s.opts.TTL), n)
}

// evictBefore evicts at most n tasks that had finished by a time, the oldest first.
func (s *Store) evictBefore(ctx context.Context, a account, t time.Time, n int64) (int, error) {
	ids, err := a.Expired(ctx, db.ExpiredParams{Cutoff: t.UnixMilli(), N: n})
	if err != nil {
		return 0, err
	}
	return len(ids), s.evict(ctx, a, ids)
}

// evict removes finished tasks with all their rows and counts them off, once a context.
func (s *Store) evict(ctx context.Context, a account, ids []string) error {
	gone := map[string]tally{}
	for _, id := range ids {
		row, err := a.Evict(ctx, id)
		if absent(err) {
			continue
		}
		if err != nil {
			return err
		}
		s.writer.evicting++
		t := gone[row.ContextID]
		t[row.State-firstDone]--
		gone[row.ContextID] = t
	}
	rev := int64(0)
	for contextID, t := range gone {
		var err error
		if rev, err = a.count(ctx, contextID, t, 0); err != nil {
			return err
		}
	}
	if rev == 0 {
		return nil
	}
	return a.DropEmptyCounters(ctx, rev)
}

// startSweeper looks through all principals at once and every SweepEvery, so that tasks of
// those who never come back go too.
func (s *Store) startSweeper() {
	if s.opts.TTL <= 0 && s.opts.MaxPerContext <= 0 && s.opts.MaxPerPrincipal <= 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.sweeper.Go(func() {
		<-s.closing
		cancel()
	})
	s.sweeper.Go(func() {
		tick := time.NewTicker(s.opts.SweepEvery)
		defer tick.Stop()
		for {
			if err := s.Sweep(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, ErrClosed) {
				s.opts.Progress(fmt.Sprintf("retention: %v", err))
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// Sweep evicts what retention asks for, of all principals, in small writes between which
// others go on. It is also run when the store opens and every SweepEvery.
func (s *Store) Sweep(ctx context.Context) error {
	return s.walk(ctx, func(principals []string) error {
		for _, p := range principals {
			if err := s.sweep(ctx, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// walk goes through all principals, in bounded pages.
func (s *Store) walk(ctx context.Context, page func(principals []string) error) error {
	last := ""
	for {
		var ids []string
		err := s.read(ctx, func(h *handle) (err error) {
			ids, err = h.PrincipalsAfter(ctx, db.PrincipalsAfterParams{After: last, N: walkAtOnce})
			return err
		})
		if err != nil {
			return err
		}
		if err := page(ids); err != nil {
			return err
		}
		if len(ids) < walkAtOnce {
			return nil
		}
		last = ids[len(ids)-1]
	}
}

// sweep does one principal. Reading comes first, so that an idle principal costs no write.
func (s *Store) sweep(ctx context.Context, principal string) error {
	if s.opts.TTL > 0 {
		for {
			n, err := s.expireOnce(ctx, principal)
			if err != nil {
				return err
			}
			if n < evictAtOnce {
				break
			}
		}
	}
	if s.opts.MaxPerContext > 0 {
		if err := s.sweepContexts(ctx, principal); err != nil {
			return err
		}
	}
	if s.opts.MaxPerPrincipal > 0 {
		return s.sweepPrincipal(ctx, principal)
	}
	return nil
}

// sweepPrincipal trims a principal that is over a cap that has been lowered.
func (s *Store) sweepPrincipal(ctx context.Context, principal string) error {
	var done tally
	err := s.read(ctx, func(h *handle) (err error) {
		done, _, err = totals(context.WithoutCancel(ctx), h.View(principal))
		return err
	})
	for surplus := done.sum() - int64(s.opts.MaxPerPrincipal); err == nil && surplus > 0; surplus -= evictAtOnce {
		err = s.writer.submit(func(ctx context.Context, h *handle) error {
			return s.trimPrincipal(ctx, s.writer.account(h, principal), evictAtOnce)
		})
	}
	return err
}

// expireOnce looks before it writes: most principals have nothing to expire, and an empty write would
// still cost a commit.
func (s *Store) expireOnce(ctx context.Context, principal string) (n int, err error) {
	err = s.read(ctx, func(h *handle) error {
		ctx := context.WithoutCancel(ctx)
		ids, err := h.View(principal).Expired(ctx, db.ExpiredParams{Cutoff: time.Now().Add(-s.opts.TTL).UnixMilli(), N: 1})
		n = len(ids)
		return err
	})
	if err != nil || n == 0 {
		return 0, err
	}
	err = s.writer.submit(func(ctx context.Context, h *handle) (err error) {
		n, err = s.expire(ctx, s.writer.account(h, principal), evictAtOnce)
		return err
	})
	return n, err
}

// sweepContexts trims contexts that are over a cap that has been lowered.
func (s *Store) sweepContexts(ctx context.Context, principal string) error {
	last := ""
	for {
		var rows []db.ContextsAfterRow
		err := s.read(ctx, func(h *handle) (err error) {
			rows, err = h.View(principal).ContextsAfter(ctx, db.ContextsAfterParams{After: last, N: walkAtOnce})
			return err
		})
		if err != nil {
			return err
		}
		for _, r := range rows {
			for surplus := r.Done - int64(s.opts.MaxPerContext); surplus > 0; surplus -= evictAtOnce {
				err := s.writer.submit(func(ctx context.Context, h *handle) error {
					return s.trim(ctx, s.writer.account(h, principal), r.ContextID, evictAtOnce)
				})
				if err != nil {
					return err
				}
			}
		}
		if len(rows) < walkAtOnce {
			return nil
		}
		last = rows[len(rows)-1].ContextID
	}
}
