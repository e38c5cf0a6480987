package nexus

import "a2aserve/gen/event"

// cancellation is what is known of a turn that was, or is being, cancelled.
//
// Nexus's own agent remembers a cancellation until it is resumed, and drops all its
// model's answers until then: new input starts a turn, and that turn never ends. So the
// agent has to be resumed, but kept from going on with what was cancelled:
//
//	running ──stop asked──▶ stopping ──cancel.complete──▶ cancelled ──Repair, Repaired──▶ usable
//
// While stopping is set the agent's requests to its model are to be vetoed; it ends with
// the next input, not with the repair, because a tool that finishes late would make the
// agent ask its model once more for the old turn.
type cancellation struct {
	stopping  bool   // the agent's requests are to be vetoed
	turn      string // the turn that the agent remembers as cancelled; empty: none
	ours      bool   // it was the turn of a task
	repairing bool   // from Repair to Repaired
	calls     int    // requests of the agent that its model has not answered
	held      bool   // no task has had input yet: what starts is a turn that a crash cut short
}

// returned notes that the model has answered, or failed.
func (c *cancellation) returned() { c.calls = max(0, c.calls-1) }

// Returned says that all handlers of a llm.request have returned. Providers drop the
// request of a stopped turn without a word: one whose handler worked until then will not
// answer any more. One that answers from another goroutine has returned long before.
func (s *Session) Returned(r LLMRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own(r.Metadata) && (s.cancel.stopping || s.cancel.turn != "") {
		s.cancel.returned()
	}
}

// cancelComplete: the agent has dropped its turn, whoever asked for it. s.mu is held.
func (s *Session) cancelComplete(p CancelComplete) []event.Event {
	ours := s.ours(p.TurnID)
	if p.TurnID != "" && p.Resumable {
		s.cancel.turn, s.cancel.ours = p.TurnID, ours
	}
	if !ours {
		return nil
	}
	s.cancel.stopping = true
	s.forget() // the agent.turn.end that follows says nothing new
	return []event.Event{event.CancelComplete{TurnID: p.TurnID}}
}

// overheard: somebody else gives the agent input, or resumes it. s.mu is held.
func (s *Session) overheard(p Payload) {
	switch p.(type) {
	case CancelResume:
		if s.cancel.repairing {
			return // this is us
		}
		s.cancel.turn, s.cancel.stopping = "", false
	case Input:
		if s.task == "" && !s.cancel.held { // otherwise it is Begin's
			s.cancel.stopping = false
		}
	}
}

// hold has requests vetoed until the first input of a task.
func (s *Session) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel.held, s.cancel.stopping = true, true
}

// abandon returns what ends the turn of a task.
func (s *Session) abandon() []Payload {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == "" {
		return nil
	}
	return s.cancelTurn("nobody waits for the answer")
}

// cancelTurn returns what lets the agent out of its questions, also of those that came too
// late for the server to know, and then stops it. s.mu is held.
func (s *Session) cancelTurn(reason string) []Payload {
	s.cancel.stopping = true
	var out []Payload
	for id := range s.asks {
		out = append(out, HITLCancel{RequestID: id, Reason: reason})
	}
	clear(s.asks)
	return append(out, CancelRequest{TurnID: s.turn, Source: "a2a"})
}

// Retracts says whether a question that was heard is to be taken back at once: its turn was
// stopped in the moment before, so that nobody answers, and the agent would wait.
func (s *Session) Retracts(p HITLRequested) (HITLCancel, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.cancel.stopping || p.ID == "" {
		return HITLCancel{}, false
	}
	return HITLCancel{RequestID: p.ID, Reason: "The turn has been cancelled"}, true
}

// Vetoes says whether a request to a model is to be vetoed, and why. Ask it in the very
// first handler of before:llm.request.
func (s *Session) Vetoes(r LLMRequest) (reason string, vetoed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// An agent of another make may not say that it is the one who asks; while it is
	// being mended, nobody else does.
	if s.own(r.Metadata) && s.cancel.stopping || s.cancel.repairing && source(r.Metadata) == "" {
		return "The turn has been cancelled", true
	}
	return "", false
}

// Repair returns what to emit, in this order, to make an agent usable that was
// cancelled, and nil where there is nothing to mend or it is not the time yet. Call it
// while no input of ours is being emitted, emit all, then call Repaired.
//
// It is time when the turn was a task's and the model has no answer outstanding: that
// answer would be taken for one to the resumed turn, and its tool calls carried out. With
// now set it is time in any case, because the next input is waiting. A turn that was not
// ours is left to be resumed by whoever stopped it until then.
func (s *Session) Repair(now bool) []Payload {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.due(now) {
		return nil
	}
	s.cancel.repairing, s.cancel.stopping = true, true
	return []Payload{
		// The agent forgets the cancellation, says that the turn starts, and has its
		// model request vetoed.
		CancelResume{TurnID: s.cancel.turn},
		// Whoever heard that start, among them the one who cancels, hears the end.
		TurnEnd{TurnID: s.cancel.turn},
	}
}

// Due says whether Repair has something to do without waiting for the next input.
func (s *Session) Due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.due(false)
}

// Outstanding says whether a cancelled agent's model still owes an answer.
func (s *Session) Outstanding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cancel.turn != "" && s.cancel.calls > 0
}

// s.mu is held.
func (s *Session) due(now bool) bool {
	c := &s.cancel
	return c.turn != "" && !c.repairing && (now || c.ours && c.calls == 0)
}

// Repaired says that what Repair returned has been emitted.
func (s *Session) Repaired() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel.repairing, s.cancel.turn = false, ""
}
