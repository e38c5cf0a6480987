package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/db"
)

// settleAtOnce bounds the orphans that one write settles.
const settleAtOnce = 256

// orphan is a task that was running when the last process ended.
type orphan struct {
	principal, id, contextID string
	since                    int64 // ms; of its last status
}

// SettleOrphans makes every task that has not ended FAILED, of all principals, and returns
// how many there were. status gives each one's TaskStatus, which is to carry a message
// (decision 26). It must run before anything can create tasks: nothing in the file tells a
// running task from one that was left running.
func (s *Store) SettleOrphans(ctx context.Context, status func(taskID, contextID string, at time.Time) []byte) (n int, err error) {
	var found []orphan
	flush := func() error {
		err := s.settle(found, status)
		if err == nil {
			n += len(found)
		}
		found = found[:0]
		return err
	}
	err = s.walk(ctx, func(principals []string) error {
		for len(principals) > 0 {
			done, err := s.orphans(ctx, principals, &found)
			if err != nil {
				return err
			}
			if len(found) >= settleAtOnce {
				if err := flush(); err != nil {
					return err
				}
			}
			principals = principals[done:]
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return n, err
}

// orphans collects the principals' live tasks until there are enough for a write. It
// returns how many principals it is done with; one that has more is not done.
func (s *Store) orphans(ctx context.Context, principals []string, found *[]orphan) (done int, err error) {
	err = s.read(ctx, func(h *handle) error {
		ctx := context.WithoutCancel(ctx) // between pages is soon enough to stop
		for _, p := range principals {
			room := settleAtOnce - len(*found)
			if room == 0 {
				return nil
			}
			rows, err := h.View(p).LiveTasks(ctx, int64(room))
			if err != nil {
				return err
			}
			for _, r := range rows {
				*found = append(*found, orphan{p, r.ID, r.ContextID, r.StatusTS})
			}
			if len(rows) == room {
				return nil
			}
			done++
		}
		return nil
	})
	return done, err
}

// settle writes once for many tasks, and a context's counters once for all of its tasks. A
// context is counted before the next one is touched: who is counted may have to be read from
// the file just then, and what had ended there already would be taken off again.
func (s *Store) settle(found []orphan, status func(taskID, contextID string, at time.Time) []byte) error {
	if len(found) == 0 {
		return nil
	}
	contexts := map[place][]orphan{}
	for _, o := range found {
		p := place{o.principal, o.contextID}
		contexts[p] = append(contexts[p], o)
	}
	now := time.Now().UnixMilli()
	return s.writer.submit(func(ctx context.Context, h *handle) error {
		for p, orphans := range contexts {
			for _, o := range orphans {
				at := time.UnixMilli(max(now, o.since)).UTC() // the clock may have been set back
				if err := settleOne(ctx, h.View(o.principal), o, at, status(o.id, o.contextID, at)); err != nil {
					return fmt.Errorf("store: settling task %s: %w", o.id, err)
				}
			}
			var t tally
			t[codes[a2a.TaskStateFailed]-firstDone] = int64(len(orphans))
			if _, err := s.writer.account(h, p.principal).count(ctx, p.context, t, t.sum()); err != nil {
				return err
			}
		}
		return nil
	})
}

// settleOne also stores the status document: the history says why the task failed.
func settleOne(ctx context.Context, v db.View, o orphan, at time.Time, doc []byte) error {
	code := codes[a2a.TaskStateFailed]
	n, err := v.SetStatus(ctx, db.SetStatusParams{
		ID: o.id, ContextID: o.contextID, State: code, StatusTS: at.UnixMilli(), Status: doc, Steps: step(code, at, true),
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return errors.New("it has ended meanwhile")
	}
	seq, err := v.NextStatusSeq(ctx, o.id)
	if err != nil {
		return err
	}
	return v.AddStatus(ctx, db.AddStatusParams{TaskID: o.id, Seq: seq, Doc: doc})
}
