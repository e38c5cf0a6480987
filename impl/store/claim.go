package store

import (
	"context"

	"a2aserve/gen/db"
)

// Claim binds the session of a one-session agent to a context of the principal, unless the
// session is taken. It returns the bound context and true where it is this principal's, and
// "" and false where it is another's: whose, and which, is not told.
func (s *Store) Claim(principal, session, contextID string) (bound string, mine bool, err error) {
	ask := func(ctx context.Context, h *handle) error {
		var err error
		bound, err = h.View(principal).SessionContext(ctx, session)
		mine = err == nil
		if absent(err) {
			return nil
		}
		return err
	}
	// Most claims are repeated ones, which need no write.
	read := func(h *handle) error { return ask(context.Background(), h) }
	if err := s.read(context.Background(), read); err != nil || mine {
		return bound, mine, err
	}
	err = s.writer.submit(func(ctx context.Context, h *handle) error {
		arg := db.ClaimSessionParams{ID: session, ContextID: contextID}
		if err := h.View(principal).ClaimSession(ctx, arg); err != nil {
			return err
		}
		return ask(ctx, h)
	})
	return bound, mine && err == nil, err
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
