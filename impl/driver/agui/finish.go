package agui

import (
	"fmt"

	"a2aserve/gen/a2a"
	wire "a2aserve/gen/agui"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
)

// maxQuestions bounds the questions of one interrupt, maxUsage the models of one run.
const (
	maxQuestions = 32
	maxUsage     = 32
)

// finished ends the turn, or parks it where the run has ended with questions.
func (t *run) finished(e wire.RunFinished) error {
	how := outcome(e.Outcome)
	var asked []question
	if how.Type == "interrupt" {
		var err error
		if asked, err = questions(how, e.Result); err != nil {
			return a2a.InvalidAgentResponseError.Errorf("The agent asked a question that cannot be read").Because(err)
		}
	}
	// First of all: a turn that has been stopped meanwhile has to decline them.
	t.asked = map[string]question{}
	for _, q := range asked {
		t.open = append(t.open, q.RequestID)
		t.asked[q.RequestID] = q
	}
	if err := t.complete(e.Usage); err != nil {
		return err
	}
	switch {
	case how.Type == "cancelled": // at the agent, by somebody else
		return t.emit(event.CancelComplete{TurnID: t.turnID})
	case len(asked) == 0:
		return t.emit(event.TurnEnd{TurnID: t.turnID})
	}
	if !t.begun { // a question is all that it says, and would get no answer
		if err := t.startTurn(); err != nil {
			return err
		}
	}
	for _, q := range asked {
		q.TurnID = t.turnID
		if err := t.emit(q.HITLRequested); err != nil {
			return err
		}
	}
	return nil
}

// complete publishes what a run has left open, and what it cost.
func (t *run) complete(usage []wire.TokenUsage) error {
	if err := t.settlePiece(wire.RunFinished{}); err != nil {
		return err
	}
	if err := t.think(); err != nil {
		return err
	}
	for id := range t.messages { // left without an END; there is hardly more than one
		if err := t.end(id); err != nil {
			return err
		}
	}
	for _, u := range usage[:min(len(usage), maxUsage)] {
		if err := t.emit(event.LLMResponse{TurnID: t.turnID, Model: u.Model, Usage: &event.Usage{
			InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
			ReasoningTokens: u.ReasoningTokens, CachedInputTokens: u.CachedInputTokens,
		}}); err != nil {
			return err
		}
	}
	return nil
}

// outcome reads how a run has ended, which Nexus writes as the type alone.
func outcome(v a2a.Value) (how wire.Outcome) {
	if json.Unmarshal(v, &how.Type) != nil {
		how = wire.Outcome{}
		if json.Unmarshal(v, &how) != nil {
			return wire.Outcome{Type: how.Type}
		}
	}
	return how
}

// questions are those of the outcome or, as Nexus has it, the result: one, or a list. Each
// is named once.
func questions(how wire.Outcome, result a2a.Value) (out []question, err error) {
	for _, i := range how.Interrupts {
		out = append(out, standard(i))
	}
	if len(out) == 0 {
		own := make([]wire.Interrupt, 1)
		if json.Unmarshal(result, &own[0]) != nil {
			own = nil
			err = json.Unmarshal(result, &own)
		}
		for _, i := range own {
			out = append(out, nexus(i))
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(out) == 0 || len(out) > maxQuestions:
		return nil, fmt.Errorf("%d questions", len(out))
	}
	seen := map[string]bool{}
	for _, q := range out {
		if q.RequestID == "" || seen[q.RequestID] {
			return nil, fmt.Errorf("a question's id is missing, or there twice: %.100q", q.RequestID)
		}
		seen[q.RequestID] = true
	}
	return out, nil
}
