package store

import (
	"context"
	"errors"
	"fmt"
	"os"

	"a2aserve/gen/a2a"
	"a2aserve/gen/db"
)

// Census is what a database holds, in all or of one principal.
type Census struct {
	Tasks    map[a2a.TaskState]int64 // by state; states without tasks are left out
	Contexts int64                   // that have tasks
}

// Total is the number of tasks.
func (c Census) Total() (n int64) {
	for _, t := range c.Tasks {
		n += t
	}
	return n
}

// FileCensus is what a database file holds.
type FileCensus struct {
	Census
	Path       string
	Bytes      int64 // of the file
	UsedBytes  int64 // of those, without the room that deleted tasks have left
	LogBytes   int64 // of the write-ahead log beside it
	Principals int64
	Sessions   []string // of one-session agents that a context has claimed; whose is not told
}

// Inspect counts what the database at path holds; each is told of every principal. A server
// may serve the file meanwhile: every principal's numbers are of one moment, the sums of a
// span. It must not run in the process that serves it.
func Inspect(ctx context.Context, path string, each func(principal string, s Census)) (all FileCensus, err error) {
	s, closeAll, err := look(ctx, path)
	if err != nil {
		return all, err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	all = FileCensus{Census: Census{Tasks: map[a2a.TaskState]int64{}}, Path: s.path, LogBytes: logSize(s.path)}
	st, err := os.Stat(s.path)
	if err != nil {
		return all, err
	}
	all.Bytes = st.Size()
	err = s.walk(ctx, func(principals []string) error {
		for _, p := range principals {
			one, err := s.For(p).stats(ctx)
			if err != nil {
				return err
			}
			each(p, one)
			all.Principals++
			all.Contexts += one.Contexts
			for state, n := range one.Tasks {
				all.Tasks[state] += n
			}
		}
		return nil
	})
	if err != nil {
		return all, err
	}
	if all.Sessions, err = s.sessions(ctx); err != nil {
		return all, err
	}
	err = s.read(ctx, func(h *handle) (err error) {
		all.UsedBytes, err = h.used()
		return err
	})
	return all, err
}

// look opens a store that only reads and keeps nobody away.
func look(ctx context.Context, path string) (*Store, func() error, error) {
	path, err := existing(path)
	if err != nil {
		return nil, nil, err
	}
	h, err := openHandle(ctx, path, guestMode(path), "BEGIN", readerSettings)
	if err != nil {
		return nil, nil, fmt.Errorf("%w (a database of an older release is brought up when it is served)", err)
	}
	s := &Store{path: path, readers: make(chan *handle, 1), closing: make(chan struct{})}
	s.readers <- h
	return s, h.close, nil
}

func (v View) stats(ctx context.Context) (Census, error) {
	out := Census{Tasks: map[a2a.TaskState]int64{}}
	err := v.s.read(ctx, func(h *handle) (err error) {
		q := h.View(v.principal)
		done, _, err := totals(ctx, q)
		if err != nil {
			return err
		}
		live, err := q.CountLive(ctx)
		if err != nil {
			return err
		}
		for i, n := range done {
			live = append(live, db.CountLiveRow{State: firstDone + int64(i), N: n})
		}
		for _, l := range live {
			state, err := stateOf(l.State)
			if err != nil {
				return err
			}
			if l.N > 0 {
				out.Tasks[state] = l.N
			}
		}
		out.Contexts, err = q.CountContexts(ctx)
		return err
	})
	if err != nil {
		return out, fmt.Errorf("store: counting: %w", err)
	}
	return out, nil
}

func (s *Store) sessions(ctx context.Context) (all []string, err error) {
	last := ""
	for {
		var ids []string
		err := s.read(ctx, func(h *handle) (err error) {
			ids, err = h.SessionsAfter(ctx, db.SessionsAfterParams{After: last, N: walkAtOnce})
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
		if len(ids) < walkAtOnce {
			return all, nil
		}
		last = ids[len(ids)-1]
	}
}
