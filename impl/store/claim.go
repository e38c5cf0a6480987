package store

import (
	"context"
	"errors"

	"a2aserve/gen/db"
	"a2aserve/impl/turn"
)

// errLooking undoes the claim by which Bound looks a session up.
var errLooking = errors.New("store: only looking")

// Bound says what the principal would find on claiming the session of a one-session agent
// for a context: the context that the session is bound to and true, where it is free or the
// principal's, and "" and false where it is another's: whose, and which, is not told.
func (s *Store) Bound(principal, session, contextID string) (bound string, mine bool, err error) {
	// Most often the session is the principal's already, which needs no writer.
	err = s.read(context.Background(), func(h *handle) error {
		var err error
		bound, mine, err = holds(context.Background(), h.View(principal), session)
		return err
	})
	if err != nil || mine {
		return bound, mine, err
	}
	// No statement sees another's row, so a claim is tried and taken back.
	err = s.writer.submit(func(ctx context.Context, h *handle) error {
		v := h.View(principal)
		err := v.ClaimSession(ctx, db.ClaimSessionParams{ID: session, ContextID: contextID})
		if err == nil {
			bound, mine, err = holds(ctx, v, session)
		}
		if err == nil {
			err = errLooking
		}
		return err
	})
	if !errors.Is(err, errLooking) {
		return "", false, err
	}
	return bound, mine, nil
}

// holds returns the context for which the principal has a session, if it has.
func holds(ctx context.Context, v db.View, session string) (contextID string, mine bool, err error) {
	contextID, err = v.SessionContext(ctx, session)
	if absent(err) {
		return "", false, nil
	}
	return contextID, err == nil, err
}

// claim binds the session that a new task names to the task's context. The first claim
// stays; a task that has another context is refused.
func claim(ctx context.Context, v db.View, created *turn.Change) error {
	if created.Session == "" {
		return nil
	}
	if err := v.ClaimSession(ctx, db.ClaimSessionParams{ID: created.Session, ContextID: created.Context}); err != nil {
		return err
	}
	bound, mine, err := holds(ctx, v, created.Session)
	if err == nil && (!mine || bound != created.Context) {
		err = turn.ErrBound
	}
	return err
}

// Release frees a session, whoever holds it, and reports whether anybody did.
func (s *Store) Release(session string) (held bool, err error) {
	err = s.writer.submit(func(ctx context.Context, h *handle) error {
		n, err := h.ReleaseSession(ctx, session)
		held = n > 0
		return err
	})
	return held, err
}
