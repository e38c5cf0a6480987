package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Behaviour is something that a message can provoke an agent to do.
type Behaviour string

// The behaviours. Whatever a scenario leaves out is not tried.
const (
	Complete      Behaviour = "complete"       // ends the task, with an artifact
	Direct        Behaviour = "message"        // is answered with a message instead of a task
	Delayed       Behaviour = "delayed"        // ends the task after some time, well below the time-out
	LongRunning   Behaviour = "long-running"   // works for longer than the time-out, until it is canceled
	Chunks        Behaviour = "chunks"         // gives an artifact in several pieces, over a second or so
	Artifacts     Behaviour = "artifacts"      // gives several artifacts
	InputRequired Behaviour = "input-required" // asks something
	Answer        Behaviour = "answer"         // answers that question, and ends the task
	AuthRequired  Behaviour = "auth-required"  // asks for authorisation
	Failing       Behaviour = "fail"           // ends the task as failed
	Rejecting     Behaviour = "reject"         // is rejected
)

// behaviours with what the agent is expected to do.
var behaviours = []Behaviour{Complete, Direct, Delayed, LongRunning, Chunks, Artifacts, InputRequired, Answer, AuthRequired, Failing, Rejecting}

// Scenario says which message provokes which behaviour.
type Scenario struct {
	// Messages are the members of a Message, without id and role, or its text alone.
	Messages map[Behaviour]any
}

// DemoScenario are the contracts of the demo agent.
func DemoScenario() *Scenario {
	return &Scenario{Messages: map[Behaviour]any{
		Complete: "echo hello", Direct: "direct hello", Delayed: "slow 600 done", LongRunning: "slow 60000 done",
		Chunks: "chunks 4 120", Artifacts: "artifacts 3", InputRequired: "ask Which colour?", Answer: "blue",
		AuthRequired: "auth", Failing: "fail as asked", Rejecting: "reject as asked",
	}}
}

// ReadScenario reads a scenario file:
//
//	messages:
//	  complete: Tell me the time.
//	  input-required: Book a table.
//	  answer: {parts: [{data: {people: 2}}]}
func ReadScenario(b []byte) (*Scenario, error) {
	var doc struct {
		Messages map[Behaviour]any `yaml:"messages"`
	}
	if err := yaml.UnmarshalWithOptions(b, &doc, yaml.DisallowUnknownField()); err != nil {
		return nil, fmt.Errorf("scenario: %s", yaml.FormatError(err, false, true))
	}
	for _, b := range slices.Sorted(maps.Keys(doc.Messages)) {
		v := doc.Messages[b]
		if !slices.Contains(behaviours, b) {
			return nil, fmt.Errorf("scenario: messages.%s: no such behaviour; there are %s", b, listed(behaviours))
		}
		switch m := v.(type) {
		case string:
			if m == "" {
				return nil, fmt.Errorf("scenario: messages.%s: the text is empty", b)
			}
		case obj:
			if len(list(m["parts"])) == 0 {
				return nil, fmt.Errorf("scenario: messages.%s: parts are expected, or a text alone", b)
			}
		default:
			return nil, fmt.Errorf("scenario: messages.%s: a text or an object with parts is expected", b)
		}
	}
	if len(doc.Messages) == 0 {
		return nil, fmt.Errorf("scenario: messages: at least one is expected, of %s", listed(behaviours))
	}
	return &Scenario{doc.Messages}, nil
}

func listed[T ~string](all []T) string {
	out := make([]string, len(all))
	for i, v := range all {
		out[i] = string(v)
	}
	return strings.Join(out, ", ")
}

// message makes a new message that provokes b, or nil.
func (s *Scenario) message(b Behaviour) obj {
	m := obj{"messageId": newID(), "role": "ROLE_USER"}
	switch v := s.Messages[b].(type) {
	case string:
		m["parts"] = []any{obj{"text": v}}
	case obj:
		for name, e := range v {
			m[name] = e
		}
	default:
		return nil
	}
	return m
}

// shown is the message for a sentence.
func (s *Scenario) shown(b Behaviour) string {
	if v, ok := s.Messages[b].(string); ok {
		return v
	}
	return string(encode(s.Messages[b]))
}
