package turn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"a2aserve/gen/a2a"
)

// available refuses new turns while the server stops or the store is failing.
func (e *Engine) available() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.draining:
		return a2a.UnavailableError.Errorf("The server is stopping")
	case e.failing > 0:
		return a2a.UnavailableError.Errorf("The task store does not accept changes at the moment")
	}
	return nil
}

// judge refuses a context that a one-session agent does not serve (decision 17). Another
// principal's context is not named. The session is not claimed yet: the message may still
// be refused, or answered without a turn.
func (e *Engine) judge(in Input) error {
	if e.agent.SessionID == "" {
		return nil
	}
	bound, mine, err := e.Journal.Bound(in.Principal, e.agent.SessionID, in.ContextID)
	switch {
	case err != nil:
		return storeError(err)
	case !mine:
		return refusal("CONTEXT_NOT_SERVED", "The agent serves one conversation, and it is not this one")
	case bound != in.ContextID:
		return refusal("CONTEXT_NOT_SERVED", "The agent serves one conversation: context %q", bound).With("contextId", bound)
	}
	return nil
}

// refusal is an UnsupportedOperationError that says more precisely, in its detail, why
// (decisions 15 to 18).
func refusal(detail, format string, args ...any) *a2a.Error {
	return a2a.UnsupportedOperationError.Errorf(format, args...).With("detail", detail)
}

// storeError passes on what the store says to callers, and hides the rest.
func storeError(err error) error {
	if said, ok := errors.AsType[*a2a.Error](err); ok {
		return said
	}
	return a2a.InternalError.Errorf("The task could not be stored").Because(err)
}

// direct asks the driver for an answer without a task (A2A §3.1.1).
func (e *Engine) direct(ctx context.Context, in Input) (m *a2a.Message, err error) {
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, a2a.InternalError.Errorf("The agent failed").Because(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	m, err = e.Driver.Admit(ctx, in)
	if err != nil {
		if said, ok := errors.AsType[*a2a.Error](err); ok {
			return nil, said
		}
		return nil, a2a.InternalError.Errorf("The agent failed").Because(err)
	}
	if m == nil {
		return nil, nil
	}
	answer := *m // the driver may keep its own
	if answer.MessageID == "" {
		answer.MessageID = e.NewID()
	}
	// An answer without a task invents no ids: the context is the client's or none.
	answer.Role, answer.TaskID, answer.ContextID = a2a.RoleAgent, "", in.ContextID
	if err := checkParts(answer.Parts); err != nil {
		return nil, a2a.InvalidAgentResponseError.Errorf("The agent's answer is not valid").Because(err)
	}
	return &answer, nil
}

// admit makes a run of a message. Of two first messages to a one-session agent, the later
// one may find the slot taken by a turn whose claim was not stored when it was judged. It
// is judged again then: that refusal is for good, a busy slot passes.
func (e *Engine) admit(in Input) (*Run, error) {
	r, holder, err := e.reserve(in)
	if holder != nil && e.agent.SessionID != "" {
		<-holder.made
		if foreign := e.judge(in); foreign != nil {
			return nil, foreign
		}
	}
	return r, err
}

// undo takes back a run whose task could not be stored, and says why to the client.
func (e *Engine) undo(r *Run, cause error) error {
	e.retire(r)
	e.release(r)
	close(r.made)
	r.seen.Over("")
	e.wg.Done()
	if errors.Is(cause, ErrBound) { // claimed by a turn that began and ended meanwhile
		if foreign := e.judge(r.in); foreign != nil {
			return foreign
		}
	}
	return storeError(cause)
}

// reserve takes the slot for a new run, or refuses: first for its context, then for the
// agent's capacity. Turns that outlive their tasks count beyond as many again, so that
// cancelling does not open a way around the bound. Holder is who has the slot.
func (e *Engine) reserve(in Input) (r, holder *Run, err error) {
	r = newRun(e, in)
	// One lock for all three questions: of two sends at once, one takes the slot.
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return nil, nil, a2a.UnavailableError.Errorf("The server is stopping")
	}
	if holder = e.slots[r.key]; holder != nil {
		err := refusal("TASK_ALREADY_IN_FLIGHT", "A task of this context is still running")
		if holder.in.Principal == in.Principal {
			err = err.With("taskId", holder.in.TaskID)
		}
		return nil, holder, err
	}
	if len(e.slots) >= e.agent.MaxSessions || len(e.chain) >= 2*e.agent.MaxSessions {
		return nil, nil, refusal("AGENT_BUSY", "The agent runs as many turns as it can")
	}
	e.slots[r.key] = r
	e.live[taskKey{in.Principal, in.TaskID}] = r
	e.wg.Add(1)
	return r, nil, nil
}

// release frees the run's slot. It happens once the terminal change is decided and
// before it is journalled: whoever reads it may send again at once.
func (e *Engine) release(r *Run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.slots[r.key] == r {
		delete(e.slots, r.key)
		close(r.over)
		e.changed()
	}
}

// retire removes a run whose end is stored: the store answers for it from now on.
func (e *Engine) retire(r *Run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := taskKey{r.in.Principal, r.in.TaskID}
	if e.live[k] == r {
		delete(e.live, k)
		e.changed()
	}
}

// changed wakes whoever waits for runs to end; e.mu is held.
func (e *Engine) changed() {
	close(e.idle)
	e.idle = make(chan struct{})
}
