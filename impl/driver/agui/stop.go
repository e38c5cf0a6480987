package agui

import (
	"context"
	"errors"
	"time"

	wire "a2aserve/gen/agui"
)

// errStopped is why the connection of a run ends whose turn is to stop.
var errStopped = errors.New("the turn is to stop")

// haltWith ends a run when its turn is to stop: over the control link, so that the run
// ends by itself, and by closing the connection where there is no link or the run goes on.
// The channel is closed once nothing of that goes on.
func (t *run) haltWith(ctx, stop context.Context, hangUp context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-stop.Done():
		case <-ctx.Done():
			return
		}
		if t.ended.Load() {
			return
		}
		defer hangUp(errStopped)
		if t.d.o.Control == nil {
			return
		}
		if t.d.link.open() == nil {
			t.log.Warn("the control link is not open: the connection is closed, and the agent may go on with the turn")
			return
		}
		patience := time.NewTimer(t.d.o.CancelTimeout)
		defer patience.Stop()
		// The agent stops whatever turn is active: ours has to be.
		select {
		case <-t.going:
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
		if t.ended.Load() || !t.d.link.cancel(ctx, t.agentTurn) {
			return
		}
		t.cancelled.Store(true)
		select {
		case <-patience.C:
			t.log.Warn("the agent was asked to stop and goes on: the connection is closed", "timeout", t.d.o.CancelTimeout)
		case <-ctx.Done():
		}
	}()
	return done
}

// maxSettling bounds the runs that leave an agent in order: it may ask again although
// nobody is there.
const maxSettling = 4

// settle leaves a usable agent behind a turn that was stopped, as far as the engine gives
// it time.
//
// Questions are declined. The protocol lets a thread take nothing else before that, and in
// Nexus the turn that waits would go on in the middle of a later one. The agent may work on
// for a while then; nobody hears it.
//
// An agent of Nexus that was cancelled takes no answer from its model until somebody says
// /resume: it goes on with the turn, which costs one request to the model as a rule. That
// is refused, and harmless, where nothing was cancelled.
func (t *run) settle(ctx context.Context, open []string) {
	t.deaf = true
	for range maxSettling {
		if len(open) == 0 && !t.cancelled.Load() {
			return
		}
		body := t.input()
		stop, cancel := context.WithCancel(context.WithoutCancel(ctx))
		if len(open) > 0 {
			for _, id := range open {
				body.Resume = append(body.Resume, wire.Resume{InterruptID: id, Status: "cancelled"})
			}
			defer time.AfterFunc(t.d.o.CancelTimeout, cancel).Stop()
		} else {
			t.cancelled.Store(false)
			body.Messages = []wire.Message{{ID: body.RunID, Role: "user", Content: "/resume"}}
		}
		var err error
		open, err = t.play(ctx, stop, body)
		cancel()
		if ctx.Err() != nil {
			t.log.Warn("there was no time to leave the agent in order after a turn that was stopped")
			return
		}
		if err != nil && !errors.Is(err, errOver) {
			t.log.Warn("the agent could not be left in order after a turn that was stopped", "error", err)
		}
	}
}
