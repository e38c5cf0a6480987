package store

import (
	"context"

	"a2aserve/gen/db"
)

// maxRemembered bounds the writer's memory: about 2 MB of contexts and principals.
const maxRemembered = 10_000

// memory is what the writer knows without asking the file. It alone writes what is counted
// here, so that what it has read once stays true until a write is taken back: then all is
// forgotten.
type memory struct {
	contexts   map[place]standing
	principals map[string]named

	room int64 // bytes that may be written before the file is measured again
}

type place struct{ principal, context string }

// standing is how many tasks there are, in all or of one context.
type standing struct {
	done tally
	live int64
}

func (s standing) sum() int64 { return s.done.sum() + s.live }

// named is a principal's standing. rev is the highest of its counters' rows.
type named struct {
	standing
	rev    int64
	stored bool // its row is in the file for certain
}

// forget leaves what a rolled back write may have put there, and makes room.
func (m *memory) forget() {
	*m = memory{contexts: map[place]standing{}, principals: map[string]named{}}
}

// account is a principal's view in the writer.
type account struct {
	db.View
	m         *memory
	principal string
}

// account opens a principal's account for a job. A full memory starts anew.
func (w *writer) account(h *handle, principal string) account {
	if len(w.memory.contexts)+len(w.memory.principals) > maxRemembered || w.memory.contexts == nil {
		w.memory.forget()
	}
	return account{h.View(principal), &w.memory, principal}
}

// context returns a context's standing; known is false where it had to be read just now.
func (a account) context(ctx context.Context, id string) (s standing, known bool, err error) {
	p := place{a.principal, id}
	if s, known = a.m.contexts[p]; known {
		return s, true, nil
	}
	if s.done, err = countersOf(ctx, a.View, id); err != nil {
		return s, false, err
	}
	rows, err := a.CountLiveOfContext(ctx, id)
	for _, r := range rows {
		s.live += r.N
	}
	if err == nil {
		a.m.contexts[p] = s
	}
	return s, false, err
}

// whole returns the principal's standing, as context does.
func (a account) whole(ctx context.Context) (s named, known bool, err error) {
	if s, known = a.m.principals[a.principal]; known {
		return s, true, nil
	}
	if s.done, s.rev, err = totals(ctx, a.View); err != nil {
		return s, false, err
	}
	rows, err := a.CountLive(ctx)
	for _, r := range rows {
		s.live += r.N
	}
	if err == nil {
		a.m.principals[a.principal] = s
	}
	return s, false, err
}

// name makes sure that the principal has its row.
func (a account) name(ctx context.Context) error {
	s, _, err := a.whole(ctx)
	if err != nil || s.stored {
		return err
	}
	s.stored = true
	a.m.principals[a.principal] = s
	return a.AddPrincipal(ctx)
}

// began counts a live task that has just been stored.
func (a account) began(contextID string) {
	if s, known := a.m.principals[a.principal]; known {
		s.live++
		a.m.principals[a.principal] = s
	}
	if s, known := a.m.contexts[place{a.principal, contextID}]; known {
		s.live++
		a.m.contexts[place{a.principal, contextID}] = s
	}
}

// count adds t, and takes as many live tasks off as have just ended, to the counters of a
// context and of the principal in one row write: the row with the highest revision carries
// the principal's totals. It returns that revision.
func (a account) count(ctx context.Context, contextID string, t tally, ended int64) (rev int64, err error) {
	own, known, err := a.context(ctx, contextID)
	if err != nil {
		return 0, err
	}
	if known {
		own.live -= ended
	}
	all, known, err := a.whole(ctx)
	if err != nil {
		return 0, err
	}
	if known {
		all.live -= ended
	}
	own.done, all.done = own.done.plus(t), all.done.plus(t)
	all.rev++
	a.m.contexts[place{a.principal, contextID}], a.m.principals[a.principal] = own, all
	return all.rev, a.PutCounters(ctx, db.PutCountersParams{
		ContextID: contextID, Rev: all.rev,
		Completed: own.done[0], Failed: own.done[1], Canceled: own.done[2], Rejected: own.done[3],
		AllCompleted: all.done[0], AllFailed: all.done[1], AllCanceled: all.done[2], AllRejected: all.done[3],
	})
}
