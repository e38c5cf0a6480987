package child

import (
	"errors"
	"fmt"
	"io"
	"time"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
)

// protocolVersion is the one that both sides name in their first line.
const protocolVersion = 1

// serverHello is the first line to the agent.
type serverHello struct {
	Protocol  int    `json:"protocol"`
	SessionID string `json:"sessionId,omitzero"` // the same after a restart
	ContextID string `json:"contextId,omitzero"`
	Restart   bool   `json:"restart"` // this server has run a process of the session before
}

// agentHello is the agent's first line. What it does not claim, it does not do.
type agentHello struct {
	Protocol    int      `json:"protocol"`
	InputModes  []string `json:"inputModes"`
	OutputModes []string `json:"outputModes"`
	Cancel      bool     `json:"cancel"`    // it obeys cancel.request; otherwise its process is ended instead
	Questions   bool     `json:"questions"` // it may ask, and understands the answers
	Resume      bool     `json:"resume"`    // a new process goes on with its session's conversation
}

// greet exchanges the first lines. Its error says, to clients too, why there can be no turn.
func (s *session) greet() error {
	s.send(outgoing{"server.hello", serverHello{protocolVersion, s.key, s.contextID, s.restart}})
	late := time.AfterFunc(s.d.opts.StartTimeout, func() { signalGroup(s.p.cmd, kill) })
	err := s.hearGreeting()
	switch {
	case !late.Stop() && err != nil:
		return unfit("did not greet within "+s.d.opts.StartTimeout.String(), err)
	case errors.Is(err, io.EOF):
		select {
		case <-s.p.exited:
			return a2a.InternalError.Errorf("%s before it greeted", outcome(s.p.err)).Because(err)
		case <-time.After(s.moment()):
			return unfit("closed its output before it greeted", err)
		}
	case err != nil:
		return unfit("did not greet as the protocol says", err)
	}
	if s.restart && !s.hello.Resume {
		s.log.Warn("the agent has a new process and does not resume: its conversation begins anew")
	} else if s.restart {
		s.log.Info("the agent has a new process and resumes its conversation")
	}
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.key != "" { // not the one that is only asked what it can do
		s.d.past.put(s.key, true)
	}
	return nil
}

// unfit is the failure of an agent that cannot be talked to.
func unfit(what string, cause error) error {
	return a2a.InternalError.Errorf("The agent %s", what).Because(cause)
}

// hearGreeting reads up to the agent's greeting. What it prints before is only logged.
func (s *session) hearGreeting() error {
	for {
		text, err := s.line()
		if err != nil {
			return fmt.Errorf("the agent's greeting: %w", err)
		}
		var e envelope
		if !s.parse(text, &e) {
			continue
		}
		if e.Type != "agent.hello" {
			return fmt.Errorf("the agent begins with %q, not with agent.hello", excerpt([]byte(e.Type)))
		}
		if err := json.Unmarshal(e.Payload, &s.hello); err != nil {
			return fmt.Errorf("the agent's greeting: %w", err)
		}
		if s.hello.Protocol != protocolVersion {
			return fmt.Errorf("the agent speaks version %d of the protocol, the server %d", s.hello.Protocol, protocolVersion)
		}
		return nil
	}
}
