package nexus

import (
	"fmt"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Hear takes an event of the Nexus bus and returns what it means to the server, which
// for most events of other turns, plugins and transports is nothing.
func (s *Session) Hear(p Payload) []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch p := p.(type) {
	case Input, CancelResume:
		s.overheard(p)
	case TurnStart:
		return s.turnStart(p)
	case TurnEnd:
		return s.turnEnd(p)
	case CancelActive:
		// Whoever asked for it: from now on a provider may drop what it was asked.
		s.cancel.stopping = s.cancel.stopping || s.ours(p.TurnID)
	case CancelComplete:
		return s.cancelComplete(p)
	case LLMRequest:
		return s.llmRequest(p)
	case LLMResponse:
		return s.llmResponse(p)
	case Error:
		return s.coreError(p)
	case Fallback:
		return s.fallback(p)
	case HITLRequested:
		return s.hitlRequested(p)
	case HITLResponded:
		if s.answered(p.RequestID) {
			return []event.Event{event.HITLResponded{
				RequestID: p.RequestID, TurnID: s.turn, ChoiceID: p.ChoiceID, FreeText: p.FreeText,
				Cancelled: p.Cancelled, CancelReason: p.CancelReason,
			}}
		}
	default:
		return s.progress(p)
	}
	return nil
}

// ours says whether an event that names its turn is of the task's turn. s.mu is held.
func (s *Session) ours(turnID string) bool { return s.turn != "" && turnID == s.turn }

// turnStart binds the first turn after the input. Others are somebody else's, or what an
// agent starts by itself on being mended. s.mu is held.
func (s *Session) turnStart(p TurnStart) []event.Event {
	if s.cancel.held && s.task == "" {
		s.cancel.turn, s.cancel.ours = p.TurnID, false // ended before the next input
	}
	if s.task == "" || s.turn != "" || p.TurnID == "" {
		return nil
	}
	s.turn = p.TurnID
	return []event.Event{event.TurnStart{TurnID: p.TurnID, TaskID: s.task}}
}

// s.mu is held.
func (s *Session) turnEnd(p TurnEnd) []event.Event {
	if !s.ours(p.TurnID) {
		return nil
	}
	s.forget()
	return []event.Event{event.TurnEnd{TurnID: p.TurnID}}
}

// llmRequest tells the schema of the answer. s.mu is held.
func (s *Session) llmRequest(p LLMRequest) []event.Event {
	if !s.own(p.Metadata) {
		return nil
	}
	s.cancel.calls++
	if s.turn == "" {
		return nil
	}
	e := event.LLMRequest{TurnID: s.turn}
	if f := p.ResponseFormat; f != nil && f.Type == "json_schema" {
		e.SchemaName = f.Name
	}
	return []event.Event{e}
}

// llmResponse tells the tokens of every request that is made meanwhile; the words are
// told of the agent's only. s.mu is held.
func (s *Session) llmResponse(p LLMResponse) []event.Event {
	// A response that several models made together comes without a source, and the
	// agent takes it.
	own := s.own(p.Metadata) || source(p.Metadata) == ""
	if own {
		s.cancel.returned()
	}
	e := event.LLMResponse{TurnID: s.turn, Model: p.Model, Usage: usage(p.Usage)}
	if s.turn == "" || !own && e.Usage == nil {
		return nil
	}
	if own {
		e.Content = p.Content
		for _, c := range p.ToolCalls {
			e.ToolCalls = append(e.ToolCalls, event.ToolCall{ID: c.ID, Name: c.Name, Arguments: arguments(c.Arguments)})
		}
	}
	return []event.Event{e}
}

// coreError: the flags do not say whether the turn goes on. It does not when the
// agent's own request failed, since whoever could have taken over has had its chance
// by now; it does when a subagent's did (decision 20). s.mu is held.
func (s *Session) coreError(p Error) []event.Event {
	own := s.own(p.RequestMeta)
	if own {
		s.cancel.returned()
	}
	if s.task == "" {
		return nil
	}
	e := event.CoreError{Message: p.Err, Source: p.Source, Fatal: p.Fatal, Retryable: p.Retryable, RetriesExhausted: p.RetriesExhausted}
	switch {
	case own:
		e.TurnID, e.Retryable = s.turn, false
	case delegated(p.RequestMeta):
		e.RetriesExhausted = false
	}
	return []event.Event{e}
}

// fallback: the request that failed is made again, elsewhere. s.mu is held.
func (s *Session) fallback(p Fallback) []event.Event {
	s.cancel.returned()
	if s.turn == "" {
		return nil
	}
	return []event.Event{event.CoreError{
		TurnID: s.turn, Source: p.FailedProvider, Retryable: true,
		Message: fmt.Sprintf("%s (%s) failed, %s (%s) is asked instead: %s", p.FailedProvider, p.FailedModel, p.NextProvider, p.NextModel, p.Error),
	}}
}

// hitlRequested: gates ask without naming a turn, and subagents name their own. Both
// hold up the turn, so that its task is the one that waits. s.mu is held.
func (s *Session) hitlRequested(p HITLRequested) []event.Event {
	if s.turn == "" || s.cancel.stopping || p.ID == "" || p.TurnID != "" && p.TurnID != s.turn && !s.children[p.TurnID] {
		return nil
	}
	e := event.HITLRequested{TurnID: s.turn, RequestID: p.ID, Prompt: p.Prompt, Mode: p.Mode, DefaultChoiceID: p.DefaultChoiceID}
	if e.Prompt == "" {
		e.Prompt = strings.TrimSpace(fmt.Sprintf("%s asks for a decision. %s", p.RequesterPlugin, p.ActionKind))
	}
	for _, c := range p.Choices {
		e.Choices = append(e.Choices, event.Choice{ID: c.ID, Label: c.Label})
	}
	if len(e.Choices) == 0 {
		e.Mode, e.DefaultChoiceID = "free_text", ""
	}
	s.asks[p.ID] = true
	return []event.Event{e}
}

// progress is what a turn says on its way. s.mu is held.
func (s *Session) progress(p Payload) []event.Event {
	switch p := p.(type) {
	case Output:
		if s.ours(p.TurnID) {
			return []event.Event{event.Output{TurnID: p.TurnID, Role: p.Role, Content: p.Content}}
		}
	case ToolInvoke:
		if s.ours(p.TurnID) {
			return []event.Event{event.ToolInvoke{TurnID: p.TurnID, CallID: p.ID, Name: p.Name, Arguments: encode(p.Arguments), ParentCallID: p.ParentCallID}}
		}
	case ToolResult:
		if s.ours(p.TurnID) {
			return s.toolResult(p)
		}
	case ThinkingStep:
		if s.ours(p.TurnID) {
			return []event.Event{event.ThinkingStep{TurnID: p.TurnID, Step: int64(p.Index) + 1, Source: p.Source, Content: p.Content}}
		}
	case SubagentStarted:
		if s.parent(p.ParentTurnID) {
			// A subagent's turn bears the spawn's id, as it is or with a prefix.
			s.children[p.SpawnID], s.children["subagent_"+p.SpawnID] = true, true
			return []event.Event{event.SubagentStarted{TurnID: s.turn, SubagentID: p.SpawnID, Task: p.Task}}
		}
	case SubagentIteration:
		if s.parent(p.ParentTurnID) {
			return []event.Event{event.SubagentIteration{TurnID: s.turn, SubagentID: p.SpawnID, Iteration: int64(p.Iteration) + 1, Content: p.Content}}
		}
	case SubagentComplete:
		if s.parent(p.ParentTurnID) {
			return []event.Event{event.SubagentComplete{TurnID: s.turn, SubagentID: p.SpawnID, Result: p.Result, Error: p.Error}}
		}
	}
	return nil
}

// parent says whether a subagent works for the task's turn, also through another
// subagent. s.mu is held.
func (s *Session) parent(turnID string) bool {
	return s.ours(turnID) || s.turn != "" && s.children[turnID]
}

// toolResult is a result and, where the tool gave more than text, a structure and a file
// of the workspace, an artifact with the rest. s.mu is held.
func (s *Session) toolResult(p ToolResult) []event.Event {
	e := event.ToolResult{TurnID: p.TurnID, CallID: p.ID, Name: p.Name, Output: p.Output, Error: p.Error, OutputFile: p.OutputFile}
	if e.Structured = encode(p.OutputStructured); e.Structured == nil && p.OutputStructured != nil {
		e.Output += "\n[structured output left out: it cannot be written as JSON]"
	}
	var texts []string
	var parts []a2a.Part
	for _, m := range p.OutputParts {
		switch {
		case m.Data != nil:
			parts = append(parts, a2a.Part{Raw: m.Data, MediaType: m.MimeType})
		case m.URI != "":
			parts = append(parts, a2a.Part{URL: &m.URI, MediaType: m.MimeType})
		case m.FileID != "":
			text := fmt.Sprintf("[left out: a file of type %s that the model's provider keeps as %s]", m.MimeType, m.FileID)
			parts = append(parts, a2a.Part{Text: &text})
		case m.Text != "":
			texts = append(texts, m.Text)
		}
	}
	// Output says the same as the text parts, for models that take no parts.
	if e.Output == "" {
		e.Output = strings.Join(texts, "\n")
	}
	// Bytes that also lie in a file are published as that file.
	if len(p.OutputData) > 0 && p.OutputFile == "" {
		parts = append(parts, a2a.Part{Raw: p.OutputData, MediaType: "application/octet-stream"})
	}
	events := []event.Event{e}
	if len(parts) > 0 {
		id := p.ID
		if id == "" {
			s.unnamed++
			id = fmt.Sprintf("seq-%d", s.unnamed)
		}
		events = append(events, event.Artifact{TurnID: p.TurnID, LastChunk: true, Artifact: a2a.Artifact{
			ArtifactID: s.task + "-tool-" + id + "-parts", Name: p.Name, Parts: parts,
		}})
	}
	return events
}

// usage is nil where nothing was counted.
func usage(u Usage) *event.Usage {
	if u == (Usage{}) {
		return nil
	}
	total := u.TotalTokens
	if total == 0 {
		total = u.PromptTokens + u.CompletionTokens
	}
	return &event.Usage{
		InputTokens: int64(u.PromptTokens), OutputTokens: int64(u.CompletionTokens), TotalTokens: int64(total),
		CachedInputTokens: int64(u.CachedTokens), ReasoningTokens: int64(u.ReasoningTokens),
	}
}

// encode writes what a plugin put into a map; nil where it cannot be written.
func encode(m map[string]any) a2a.Value {
	if m == nil {
		return nil
	}
	doc, err := json.Marshal(m, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil
	}
	return doc
}

// arguments are JSON as a model wrote it, which need not be any.
func arguments(s string) a2a.Value {
	if v := jsontext.Value(s); v.IsValid() {
		return v
	}
	doc, err := json.Marshal(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		return nil
	}
	return doc
}
