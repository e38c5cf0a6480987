package child

import (
	"a2aserve/gen/event"
	"a2aserve/impl/turn"
)

// given is a turn that the agent has been given and that has not returned.
type given struct {
	taskID string
	line   *turn.Line
	turnID string
	begun  bool            // agent.turn.start has come
	ended  bool            // the agent has said that it is over
	failed bool            // it has ended otherwise than well, and agent.turn.end may follow
	asks   map[string]bool // the ids of its questions
}

// over reports whether the task has ended, whatever the agent says.
func (g *given) over() bool {
	select {
	case <-g.line.Over():
		return true
	default:
		return false
	}
}

// verdict is what is thought of an event's place among the others. Its zero value: there is
// nothing to object to.
type verdict struct {
	wrong string   // what the agent did wrong, for the log
	late  bool     // it belongs to what the server has ended, and is no news
	fails []*given // turns that cannot be trusted any more,
	why   string   // and what clients read
}

func wrong(what string) verdict { return verdict{wrong: what} }

// inOrder reports whether an event may take effect. Turns that cannot be trusted after it
// fail; the engine then has the agent stop them, as it does with every turn that fails.
func (s *session) inOrder(e event.Event) bool {
	s.mu.Lock()
	v := s.judge(e)
	s.mu.Unlock()
	switch {
	case v.late:
		s.log.Debug("the agent sent an event of what has ended", "type", e.EventType(), "turn", excerpt([]byte(e.Turn())))
		return false
	case v.wrong == "":
		return true
	}
	if s.strays.take() {
		s.log.Warn("the agent sent an event out of order", "type", e.EventType(), "turn", excerpt([]byte(e.Turn())), "what", v.wrong)
	}
	for _, g := range v.fails {
		g.line.Emit(event.CoreError{Source: "child", Message: v.why, Fatal: true})
	}
	return false
}

// judge compares an event with what went before. s.mu is held, as in what follows.
func (s *session) judge(e event.Event) verdict {
	switch e := e.(type) {
	case event.TurnStart:
		return s.judgeStart(e)
	case event.TurnRejected:
		if e.TaskID == "" {
			break
		}
		g := s.turns[e.TaskID]
		if g == nil {
			v, _ := s.past(e.TaskID, "it declines a task that it was not given")
			return v
		}
		return s.mark(g, e)
	case event.HITLResponded:
		return s.judgeAnswer(e.RequestID)
	case event.HITLCancel:
		return s.judgeAnswer(e.RequestID)
	case event.HITLRequested:
		return s.judgeQuestion(e, e.RequestID)
	case event.AuthRequired:
		return s.judgeQuestion(e, e.RequestID)
	case event.CancelComplete:
		// A turn that was stopped before it began has no name to confirm it by.
		if g := s.only(); e.TurnID == "" && (g == nil || !g.over()) {
			return verdict{late: true}
		}
	case event.CoreError:
		if e.TurnID == "" && s.only() == nil { // of the agent, not of a turn
			return wrong("it reports an error of no turn: " + excerpt([]byte(e.Message)))
		}
	}
	g, v := s.turnOf(e)
	if g == nil {
		return v
	}
	return s.mark(g, e)
}

// judgeStart binds a turn id to a task.
func (s *session) judgeStart(e event.TurnStart) verdict {
	g, other := s.turns[e.TaskID], s.named(e.TurnID)
	if e.TaskID == "" {
		if other != nil {
			g = other
		} else if g = s.waiting(); g == nil {
			return wrong("it begins a turn without a taskId, and it is not plain which")
		}
	}
	switch {
	case g == nil:
		v, known := s.past(e.TaskID, "it begins a turn of a task that it was not given")
		if known {
			s.forgive(e.TurnID)
			return v
		}
		return s.blame(v, e, "The agent began a turn of a task that it was not given")
	case g.begun && g.turnID == e.TurnID:
		return wrong("it begins a turn that it has begun") // harmless
	case g.begun:
		s.forgive(e.TurnID)
		return verdict{wrong: "it begins a second turn for a task", fails: []*given{g}, why: "The agent began the task's turn twice"}
	case other != nil:
		// What it says with this id could be of either.
		return verdict{wrong: "it gives the id of a turn to another", fails: []*given{g, other}, why: "The agent used the id of a turn for another"}
	}
	g.begun, g.turnID = true, e.TurnID
	return verdict{}
}

// judgeQuestion wants an agent that has said that it asks, and an id of its own for each
// question: an answer names nothing else.
func (s *session) judgeQuestion(e event.Event, id string) verdict {
	g, v := s.turnOf(e)
	if g == nil {
		return v
	}
	if v := s.mark(g, e); v.wrong != "" || v.late {
		return v
	}
	if g.over() {
		return verdict{late: true}
	}
	if !s.hello.Questions {
		return verdict{wrong: "it asks, and its greeting did not say that it would", fails: []*given{g}, why: "The agent asked a question, which it had not said it would do"}
	}
	for _, other := range s.turns {
		if id != "" && other.asks[id] {
			return verdict{wrong: "it gives the id of a question to another", fails: []*given{g}, why: "The agent used the id of a question for another"}
		}
	}
	if g.asks == nil {
		g.asks = map[string]bool{}
	}
	g.asks[id] = true
	return verdict{}
}

// judgeAnswer is about a question that was answered elsewhere, or is taken back.
func (s *session) judgeAnswer(id string) verdict {
	for _, g := range s.turns {
		if g.asks[id] {
			return verdict{}
		}
	}
	v, _ := s.past(id, "it names a question that it did not ask")
	return v
}

// turnOf finds the turn of an event, or says what to think of an event that has none. One
// without a turn id belongs to the only turn.
func (s *session) turnOf(e event.Event) (*given, verdict) {
	id := e.Turn()
	g := s.named(id)
	if id == "" {
		g = s.only()
	}
	if g != nil && (g.begun || early(e)) {
		return g, verdict{}
	}
	for _, g := range s.turns {
		if !g.begun && g.over() { // cancelled before it began
			return nil, verdict{late: true}
		}
	}
	v, known := s.past(id, "it sends an event of a turn that it has not begun")
	if known {
		return nil, v
	}
	return nil, s.blame(v, e, "The agent sent an event of a turn that it had not begun")
}

// early says whether an event may come before its turn has begun.
func early(e event.Event) bool {
	switch e.(type) {
	case event.CoreError, event.CancelComplete, event.TurnRejected:
		return true
	}
	return false
}

// mark remembers that an event ends its turn, and objects to what comes after the end. A
// cancel.request may cross with any end, and who confirms one may end the turn as well.
func (s *session) mark(g *given, e event.Event) verdict {
	_, confirms := e.(event.CancelComplete)
	switch {
	case g.ended && (g.failed || confirms):
		return verdict{late: true}
	case g.ended:
		return wrong("it sends an event of a turn that it has ended")
	}
	switch e := e.(type) {
	case event.CancelComplete:
		g.ended, g.failed = true, true
	case event.TurnEnd, event.TurnRejected:
		g.ended = true
	case event.CoreError:
		g.failed = g.failed || e.Fatal || e.RetriesExhausted || !e.Retryable && e.TurnID != ""
	}
	return verdict{}
}

// past is about an id that no turn has: of what is known to have ended, or of nothing.
func (s *session) past(id, what string) (v verdict, known bool) {
	ours, known := s.late.get(id)
	switch {
	case known && ours:
		return verdict{late: true}, true
	case known:
		return wrong("it sends an event of a turn that it has ended"), true
	}
	return wrong(what), false
}

// blame fails the turn that an event was meant for, where there can be only one: otherwise
// it would wait for its beginning until the silence has been long enough.
func (s *session) blame(v verdict, e event.Event, why string) verdict {
	if g := s.only(); g != nil && !g.begun {
		v.fails, v.why = []*given{g}, why
		s.forgive(e.Turn())
	}
	return v
}

// forgive has what is still to come of a turn be no news: it was objected to once.
func (s *session) forgive(turnID string) {
	if turnID != "" {
		s.late.put(turnID, true)
	}
}

// waiting is the only turn that has not begun.
func (s *session) waiting() (found *given) {
	for _, g := range s.turns {
		switch {
		case g.begun:
		case found != nil:
			return nil
		default:
			found = g
		}
	}
	return found
}

// only is the session's turn, where it has just one.
func (s *session) only() *given {
	if len(s.turns) == 1 {
		for _, g := range s.turns {
			return g
		}
	}
	return nil
}

// named is the turn of this id.
func (s *session) named(turnID string) *given {
	for _, g := range s.turns {
		if turnID != "" && g.turnID == turnID {
			return g
		}
	}
	return nil
}

// atWork reports whether the agent has still to be stopped.
func (s *session) atWork(taskID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.turns[taskID]
	return g != nil && !g.ended && !g.failed
}

// neglected reports whether a turn waits to begin and no other is at work.
func (s *session) neglected(taskID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.turns {
		if g.begun && !g.ended {
			return false
		}
	}
	g := s.turns[taskID]
	return g != nil && !g.begun && !g.ended
}

// leave forgets a turn that has returned, but for its ids.
func (s *session) leave(taskID string) {
	g := s.turns[taskID]
	if g == nil {
		return
	}
	delete(s.turns, taskID)
	ours := !g.ended || g.failed
	s.late.put(taskID, ours)
	if g.turnID != "" {
		s.late.put(g.turnID, ours)
	}
	for id := range g.asks {
		s.late.put(id, true)
	}
}
