package nexusplugin

import (
	"a2aserve/impl/nexus"

	"github.com/frankbardon/nexus/pkg/engine"
	"github.com/frankbardon/nexus/pkg/events"
)

// heard are the events that mean something to the server, with their payloads' readers.
// Copying field by field has the compiler say when Nexus changes one.
var heard = map[string]func(any) nexus.Payload{
	"io.input":           read(func(e events.UserInput) nexus.Payload { return nexus.Input{Content: e.Content} }),
	"agent.turn.start":   read(func(e events.TurnInfo) nexus.Payload { return nexus.TurnStart{TurnID: e.TurnID} }),
	"agent.turn.end":     read(func(e events.TurnInfo) nexus.Payload { return nexus.TurnEnd{TurnID: e.TurnID} }),
	"llm.request":        read(func(e events.LLMRequest) nexus.Payload { return request(e) }),
	"llm.response":       read(response),
	"io.output":          read(output),
	"core.error":         read(failure),
	"provider.fallback":  read(fallback),
	"hitl.requested":     read(question),
	"hitl.responded":     read(answer),
	"cancel.active":      read(func(e events.CancelActive) nexus.Payload { return nexus.CancelActive{TurnID: e.TurnID} }),
	"cancel.complete":    read(cancelled),
	"cancel.resume":      read(func(e events.CancelResume) nexus.Payload { return nexus.CancelResume{TurnID: e.TurnID} }),
	"tool.invoke":        read(invoke),
	"tool.result":        read(result),
	"thinking.step":      read(thinking),
	"subagent.started":   read(started),
	"subagent.iteration": read(iteration),
	"subagent.complete":  read(complete),
}

// read takes a payload as a value or as a pointer; some plugins emit one. Any other type
// is nil: not what the event's name promises.
func read[E any](f func(E) nexus.Payload) func(any) nexus.Payload {
	return func(payload any) nexus.Payload {
		switch e := payload.(type) {
		case E:
			return f(e)
		case *E:
			if e != nil {
				return f(*e)
			}
		}
		return nil
	}
}

func request(e events.LLMRequest) nexus.LLMRequest {
	r := nexus.LLMRequest{Metadata: e.Metadata}
	if f := e.ResponseFormat; f != nil {
		r.ResponseFormat = &nexus.ResponseFormat{Type: f.Type, Name: f.Name}
	}
	return r
}

func response(e events.LLMResponse) nexus.Payload {
	r := nexus.LLMResponse{Content: e.Content, Model: e.Model, Metadata: e.Metadata, Usage: nexus.Usage{
		PromptTokens: e.Usage.PromptTokens, CompletionTokens: e.Usage.CompletionTokens, TotalTokens: e.Usage.TotalTokens,
		ReasoningTokens: e.Usage.ReasoningTokens, CachedTokens: e.Usage.CachedTokens,
	}}
	for _, c := range e.ToolCalls {
		r.ToolCalls = append(r.ToolCalls, nexus.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return r
}

func output(e events.AgentOutput) nexus.Payload {
	return nexus.Output{Content: e.Content, Role: e.Role, TurnID: e.TurnID}
}

func failure(e events.ErrorInfo) nexus.Payload {
	p := nexus.Error{Source: e.Source, Fatal: e.Fatal, Retryable: e.Retryable, RetriesExhausted: e.RetriesExhausted, RequestMeta: e.RequestMeta}
	if e.Err != nil {
		p.Err = e.Err.Error()
	}
	return p
}

func fallback(e events.ProviderFallback) nexus.Payload {
	return nexus.Fallback{FailedProvider: e.FailedProvider, FailedModel: e.FailedModel, Error: e.Error, NextProvider: e.NextProvider, NextModel: e.NextModel}
}

func question(e events.HITLRequest) nexus.Payload {
	p := nexus.HITLRequested{
		ID: e.ID, TurnID: e.TurnID, Mode: string(e.Mode), DefaultChoiceID: e.DefaultChoiceID, Prompt: e.Prompt,
		RequesterPlugin: e.RequesterPlugin, ActionKind: e.ActionKind,
	}
	for _, c := range e.Choices {
		p.Choices = append(p.Choices, nexus.Choice{ID: c.ID, Label: c.Label})
	}
	return p
}

func answer(e events.HITLResponse) nexus.Payload {
	return nexus.HITLResponded{RequestID: e.RequestID, ChoiceID: e.ChoiceID, FreeText: e.FreeText, Cancelled: e.Cancelled, CancelReason: e.CancelReason}
}

func cancelled(e events.CancelComplete) nexus.Payload {
	return nexus.CancelComplete{TurnID: e.TurnID, Resumable: e.Resumable}
}

func invoke(e events.ToolCall) nexus.Payload {
	return nexus.ToolInvoke{ID: e.ID, Name: e.Name, Arguments: e.Arguments, TurnID: e.TurnID, ParentCallID: e.ParentCallID}
}

func result(e events.ToolResult) nexus.Payload {
	p := nexus.ToolResult{
		ID: e.ID, Name: e.Name, Output: e.Output, Error: e.Error, OutputFile: e.OutputFile,
		OutputData: e.OutputData, OutputStructured: e.OutputStructured, TurnID: e.TurnID,
	}
	for _, m := range e.OutputParts {
		p.OutputParts = append(p.OutputParts, nexus.MessagePart{Type: m.Type, Text: m.Text, MimeType: m.MimeType, Data: m.Data, URI: m.URI, FileID: m.FileID})
	}
	return p
}

func thinking(e events.ThinkingStep) nexus.Payload {
	return nexus.ThinkingStep{TurnID: e.TurnID, Source: e.Source, Content: e.Content, Index: e.Index}
}

func started(e events.SubagentStarted) nexus.Payload {
	return nexus.SubagentStarted{SpawnID: e.SpawnID, Task: e.Task, ParentTurnID: e.ParentTurnID}
}

func iteration(e events.SubagentIteration) nexus.Payload {
	return nexus.SubagentIteration{SpawnID: e.SpawnID, Iteration: e.Iteration, Content: e.Content, ParentTurnID: e.ParentTurnID}
}

func complete(e events.SubagentComplete) nexus.Payload {
	return nexus.SubagentComplete{SpawnID: e.SpawnID, Result: e.Result, Error: e.Error, ParentTurnID: e.ParentTurnID}
}

// host is the engine's bus as the bridge sees it. Its Emit never fails: a handler that
// panics is the engine's business.
type host struct{ bus engine.EventBus }

// Propose hands the gates a pointer: what they make of the input is what the agent gets.
func (h host) Propose(in *nexus.Input) (reason string, vetoed bool) {
	proposed := userInput(*in)
	v, err := h.bus.EmitVetoable("before:io.input", &proposed)
	switch {
	case err != nil:
		return "The message could not be examined", true
	case v.Vetoed:
		return v.Reason, true
	}
	in.Content, in.SessionID, in.Files = proposed.Content, proposed.SessionID, nil
	for _, f := range proposed.Files {
		in.Files = append(in.Files, nexus.File{Name: f.Name, MimeType: f.MimeType, Data: f.Data})
	}
	return "", false
}

func (h host) Emit(p nexus.Payload) {
	var payload any
	switch p := p.(type) {
	case nexus.Input:
		payload = userInput(p)
	case nexus.HITLResponded:
		payload = events.HITLResponse{
			SchemaVersion: events.HITLResponseVersion, RequestID: p.RequestID, ChoiceID: p.ChoiceID,
			FreeText: p.FreeText, Cancelled: p.Cancelled, CancelReason: p.CancelReason,
		}
	case nexus.HITLCancel:
		payload = events.HITLCancel{SchemaVersion: events.HITLCancelVersion, RequestID: p.RequestID, Reason: p.Reason}
	case nexus.CancelRequest:
		payload = events.CancelRequest{SchemaVersion: events.CancelRequestVersion, TurnID: p.TurnID, Source: p.Source}
	case nexus.CancelResume:
		payload = events.CancelResume{SchemaVersion: events.CancelResumeVersion, TurnID: p.TurnID}
	case nexus.TurnEnd:
		payload = events.TurnInfo{SchemaVersion: events.TurnInfoVersion, TurnID: p.TurnID}
	default:
		return // the bridge emits nothing else
	}
	_ = h.bus.Emit(p.EventName(), payload)
}

func userInput(in nexus.Input) events.UserInput {
	out := events.UserInput{SchemaVersion: events.UserInputVersion, Content: in.Content, SessionID: in.SessionID}
	for _, f := range in.Files {
		out.Files = append(out.Files, events.FileAttachment{Name: f.Name, MimeType: f.MimeType, Data: f.Data})
	}
	return out
}
