package agui

import (
	"fmt"

	"a2aserve/gen/a2a"
	wire "a2aserve/gen/agui"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
)

// maxQuestions bounds the questions of one interrupt.
const maxQuestions = 32

// finished ends the turn, or parks it where the run has ended with questions.
func (t *run) finished(e wire.RunFinished) error {
	t.over = true
	if err := t.think(); err != nil {
		return err
	}
	for id := range t.messages { // left without an END; there is hardly more than one
		if err := t.end(id); err != nil {
			return err
		}
	}
	if !interrupted(e.Outcome) {
		return t.emit(event.TurnEnd{TurnID: t.turnID})
	}
	asked, err := questions(e.Result)
	if err != nil {
		return a2a.InvalidAgentResponseError.Errorf("The agent asked a question that cannot be read").Because(err)
	}
	for _, q := range asked {
		if err := t.emit(t.question(q)); err != nil {
			return err
		}
		t.open = append(t.open, q.InterruptID)
	}
	return nil
}

// interrupted reads an outcome, which some agents write as an object with a type.
func interrupted(outcome a2a.Value) bool {
	var name string
	if json.Unmarshal(outcome, &name) == nil {
		return name == "interrupt"
	}
	var object struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(outcome, &object) == nil && object.Type == "interrupt"
}

// questions are one, or a list of them; each is named once.
func questions(result a2a.Value) ([]wire.Interrupt, error) {
	one := make([]wire.Interrupt, 1)
	err := json.Unmarshal(result, &one[0])
	if err != nil {
		one = nil
		err = json.Unmarshal(result, &one)
	}
	switch {
	case err != nil:
		return nil, err
	case len(one) == 0 || len(one) > maxQuestions:
		return nil, fmt.Errorf("%d questions", len(one))
	}
	seen := map[string]bool{}
	for _, q := range one {
		if q.InterruptID == "" || seen[q.InterruptID] {
			return nil, fmt.Errorf("a question's id is missing, or there twice: %.100q", q.InterruptID)
		}
		seen[q.InterruptID] = true
	}
	return one, nil
}

// question is a question in the server's words. A mode that it does not have becomes the
// nearest: any answer is taken.
func (t *run) question(q wire.Interrupt) event.HITLRequested {
	out := event.HITLRequested{TurnID: t.turnID, RequestID: q.InterruptID, Prompt: q.Prompt, Mode: q.Mode, DefaultChoiceID: q.DefaultChoiceID}
	for _, c := range q.Choices {
		out.Choices = append(out.Choices, event.Choice{ID: c.ID, Label: c.Label})
	}
	if len(out.Choices) == 0 {
		out.Mode = "free_text"
	} else if out.Mode != "choices" && out.Mode != "free_text" {
		out.Mode = "both"
	}
	return out
}
