package nexus

import (
	"fmt"
	"strings"
	"sync"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
)

// Session is what has to be remembered of a Nexus session, which has one agent loop: the
// turn that is ours, its questions, and whether the agent has to be mended. It emits
// nothing itself, so that it can be asked from any handler. It may be used from several
// goroutines.
type Session struct {
	agents []string

	mu       sync.Mutex // guards what follows; nothing is called with it held
	task     string     // the task whose input the agent has; empty between turns
	turn     string     // its turn, once agent.turn.start has come
	children map[string]bool
	asks     map[string]bool // ids of the turn's open questions
	unnamed  int             // tool results without a call id
	cancel   cancellation
}

// DefaultAgents are the ids of the agents that come with Nexus: each has a model request
// of its own tagged with its id, or with its id and a suffix after a dot.
var DefaultAgents = []string{"nexus.agent"}

// NewSession returns a Session without a turn. agents are the plugin ids under which the
// session's own agent asks its model; nil means DefaultAgents.
func NewSession(agents []string) *Session {
	if agents == nil {
		agents = DefaultAgents
	}
	return &Session{agents: agents}
}

// Begin makes the next turn that starts the turn of a task, and returns what the agent is
// to be given. Mend the agent first, see Repair.
func (s *Session) Begin(in event.Input) Input {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	s.task, s.cancel.stopping, s.cancel.held, s.cancel.calls = in.TaskID, false, false, 0
	return input(in)
}

// Refused says that a gate vetoed the input that Begin returned.
func (s *Session) Refused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
}

// forget ends the turn. s.mu is held.
func (s *Session) forget() {
	s.task, s.turn, s.unnamed = "", "", 0
	s.children, s.asks = map[string]bool{}, map[string]bool{}
}

// Tell turns what the server tells the agent into what Nexus is told, in this order; nil
// means nothing: the question has been answered already, or the turn is not under way any
// more.
func (s *Session) Tell(e event.Event) []Payload {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := e.(type) {
	case event.HITLResponded:
		if !s.answered(e.RequestID) {
			return nil
		}
		return []Payload{HITLResponded{RequestID: e.RequestID, ChoiceID: e.ChoiceID, FreeText: e.FreeText, Cancelled: e.Cancelled, CancelReason: e.CancelReason}}
	case event.HITLCancel:
		if !s.answered(e.RequestID) {
			return nil
		}
		// The server takes a question back only to stop the turn. An agent that is
		// let out of its wait must not ask its model once more before it hears that.
		s.cancel.stopping = true
		return []Payload{HITLCancel{RequestID: e.RequestID, Reason: e.Reason}}
	case event.CancelRequest:
		// Nexus would stop whatever turn is active, also somebody else's.
		if e.TaskID != s.task || s.turn == "" {
			return nil
		}
		return s.cancelTurn("The turn has been cancelled")
	}
	return nil
}

// answered closes a question. The first answer counts, from whichever side; of the
// others, and of its own echo, it returns false. s.mu is held.
func (s *Session) answered(id string) bool {
	open := s.asks[id]
	delete(s.asks, id)
	return open
}

// own says whether a request to a model is the agent's, not a planner's or a memory's.
func (s *Session) own(meta map[string]any) bool {
	from := source(meta)
	for _, id := range s.agents {
		if from == id || strings.HasPrefix(from, id+".") {
			return true
		}
	}
	return false
}

// source is who asked a model: the id of a plugin, or a name of its making.
func source(meta map[string]any) string {
	from, _ := meta["_source"].(string)
	return from
}

// delegated says whether a request is that of a subagent. What comes of it is told by
// subagent.complete and the tool's result, and is not the end of the turn.
func delegated(meta map[string]any) bool {
	from := source(meta)
	return strings.HasPrefix(from, "subagent.") || strings.HasPrefix(from, "delegate.")
}

// input is a message as Nexus takes it: text, and files where parts are bytes or
// documents. What is only an address stays one, for a tool to fetch.
func input(in event.Input) Input {
	out := Input{Content: in.Text, SessionID: in.ContextID}
	for i, p := range in.Parts {
		name := p.Filename
		switch {
		case p.Raw != nil:
			if name == "" {
				name = fmt.Sprintf("file-%d", i+1)
			}
			out.Files = append(out.Files, File{Name: name, MimeType: mediaType(p, "application/octet-stream"), Data: p.Raw})
		case p.Data != nil:
			if name == "" {
				name = fmt.Sprintf("data-%d.json", i+1)
			}
			out.Files = append(out.Files, File{Name: name, MimeType: mediaType(p, "application/json"), Data: p.Data})
		case p.URL != nil:
			out.Content = strings.TrimPrefix(out.Content+"\n"+*p.URL, "\n")
		}
	}
	return out
}

func mediaType(p a2a.Part, otherwise string) string {
	if p.MediaType != "" {
		return p.MediaType
	}
	return otherwise
}
