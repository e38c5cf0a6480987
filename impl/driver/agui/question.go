package agui

import (
	"slices"

	"a2aserve/gen/a2a"
	wire "a2aserve/gen/agui"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// question is a question in the server's words, and what the agent takes for an answer.
type question struct {
	event.HITLRequested
	payload func(event.HITLResponded) a2a.Value
}

// value writes what cannot fail: strings, booleans and maps of them.
func value(v any) a2a.Value {
	b, _ := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	return b
}

// nexus is a question of Nexus. A mode that the server does not have becomes the nearest:
// any answer is taken.
func nexus(q wire.Interrupt) question {
	out := event.HITLRequested{RequestID: q.InterruptID, Prompt: q.Prompt, Mode: q.Mode, DefaultChoiceID: q.DefaultChoiceID}
	for _, c := range q.Choices {
		out.Choices = append(out.Choices, event.Choice{ID: c.ID, Label: c.Label})
	}
	if len(out.Choices) == 0 {
		out.Mode = "free_text"
	} else if out.Mode != "choices" && out.Mode != "free_text" {
		out.Mode = "both"
	}
	return question{out, func(e event.HITLResponded) a2a.Value {
		return value(wire.Answer{ChoiceID: e.ChoiceID, FreeText: e.FreeText})
	}}
}

// schema is what is understood of an interrupt's responseSchema.
type schema struct {
	Type       any               `json:"type"`
	Enum       []any             `json:"enum"`
	Required   []string          `json:"required"`
	Properties map[string]schema `json:"properties"`
}

// standard is a question as the protocol has it, whose answer is free JSON. Decisions and
// enumerations become choices; an object that needs one member gets it; whoever can write
// the answer as JSON may do so. Anything else is answered in words.
func standard(i wire.StandardInterrupt) question {
	q := question{HITLRequested: event.HITLRequested{RequestID: i.ID, Prompt: i.Message, Mode: "free_text"}}
	if q.Prompt == "" {
		q.Prompt = i.Reason
	}
	var s schema
	if json.Unmarshal(i.ResponseSchema, &s) != nil {
		s = schema{}
	}
	if s.Type == nil && s.Enum == nil && i.Reason == "confirmation" {
		s.Type = "boolean"
	}
	wrap, open := value, len(s.Properties) > 1 // an answer may say more than what has to be there
	if s.Type == "object" && len(s.Required) == 1 {
		name := s.Required[0]
		if member, ok := s.Properties[name]; ok {
			s = member
			wrap = func(v any) a2a.Value { return value(map[string]any{name: v}) }
		}
	}
	offers := map[string]any{}
	if s.Type == "boolean" {
		q.Choices = []event.Choice{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}}
		offers["yes"], offers["no"] = true, false
	}
	for _, v := range s.Enum {
		if text, ok := v.(string); ok && text != "" && !slices.ContainsFunc(q.Choices, func(c event.Choice) bool { return c.ID == text }) {
			q.Choices = append(q.Choices, event.Choice{ID: text, Label: text})
			offers[text] = text
		}
	}
	switch {
	case len(q.Choices) > 0 && open:
		q.Mode = "both"
	case len(q.Choices) > 0:
		q.Mode = "choices"
	}
	q.payload = func(e event.HITLResponded) a2a.Value {
		if v, ok := offers[e.ChoiceID]; ok {
			return wrap(v)
		}
		if v := jsontext.Value(e.FreeText); s.Type != "string" && v.IsValid() {
			if k := v.Kind(); k == '{' || k == '[' {
				return a2a.Value(e.FreeText)
			}
			var plain any
			if json.Unmarshal(v, &plain) == nil {
				return wrap(plain)
			}
		}
		return wrap(e.FreeText)
	}
	return q
}
