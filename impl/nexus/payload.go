// Package nexus speaks for a Nexus agent: it turns the events of a Nexus engine's bus into
// the server's vocabulary (package gen/event) and back, and mends the agent after a
// cancellation. It does not import Nexus: a plugin copies payloads into the types below
// and hands them to a Bridge.
package nexus

// Payload is the payload of one Nexus event, reduced to the fields that are used here.
// Fields are named as there, so that a recorded payload decodes into them; only
// hitl.* and ResponseFormat have names of their own in JSON.
type Payload interface {
	// EventName is the type of the event that carries the payload.
	EventName() string
}

// Input is the payload of io.input, and of before:io.input, where gates may change it.
type Input struct {
	Content   string
	Files     []File
	SessionID string
}

// File is a file that comes with the input.
type File struct {
	Name     string
	MimeType string
	Data     []byte
}

// TurnStart is the payload of agent.turn.start.
type TurnStart struct{ TurnID string }

// TurnEnd is the payload of agent.turn.end.
type TurnEnd struct{ TurnID string }

// LLMRequest is the payload of llm.request and before:llm.request. It names no turn; its
// Metadata says under _source who asks the model.
type LLMRequest struct {
	ResponseFormat *ResponseFormat
	Metadata       map[string]any
}

// ResponseFormat is the form that a model's answer must have.
type ResponseFormat struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// LLMResponse is the payload of llm.response. It names no turn.
type LLMResponse struct {
	Content   string
	ToolCalls []ToolCall
	Usage     Usage
	Model     string
	Metadata  map[string]any // that of the request
}

// ToolCall is a call that the model asks for. Arguments is JSON.
type ToolCall struct{ ID, Name, Arguments string }

// Usage counts the tokens of one request to a model.
type Usage struct {
	PromptTokens, CompletionTokens, TotalTokens, ReasoningTokens, CachedTokens int
}

// Output is the payload of io.output: what has passed the output gates.
type Output struct{ Content, Role, TurnID string }

// Error is the payload of core.error. RequestMeta is the Metadata of the request to a
// model that failed, if it was one.
type Error struct {
	Source, Err                        string
	Fatal, Retryable, RetriesExhausted bool
	RequestMeta                        map[string]any
}

// Fallback is the payload of provider.fallback: another model is asked instead.
type Fallback struct{ FailedProvider, FailedModel, Error, NextProvider, NextModel string }

// HITLRequested is the payload of hitl.requested. TurnID may be empty: gates do not know it.
type HITLRequested struct {
	ID              string   `json:"id"`
	TurnID          string   `json:"turn_id"`
	Mode            string   `json:"mode"`
	Choices         []Choice `json:"choices"`
	DefaultChoiceID string   `json:"default_choice_id"`
	Prompt          string   `json:"prompt"`
	RequesterPlugin string   `json:"requester_plugin"`
	ActionKind      string   `json:"action_kind"`
}

// Choice is one option of a question.
type Choice struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// HITLResponded is the payload of hitl.responded, whoever answers.
type HITLResponded struct {
	RequestID    string `json:"request_id"`
	ChoiceID     string `json:"choice_id"`
	FreeText     string `json:"free_text"`
	Cancelled    bool   `json:"cancelled"`
	CancelReason string `json:"cancel_reason"`
}

// HITLCancel is the payload of hitl.cancel, which takes a question back.
type HITLCancel struct {
	RequestID string `json:"request_id"`
	Reason    string `json:"reason"`
}

// CancelRequest is the payload of cancel.request. Nexus stops the turn that is active,
// whatever TurnID says.
type CancelRequest struct{ TurnID, Source string }

// CancelActive is the payload of cancel.active: the turn is being stopped.
type CancelActive struct{ TurnID string }

// CancelComplete is the payload of cancel.complete.
type CancelComplete struct {
	TurnID    string
	Resumable bool
}

// CancelResume is the payload of cancel.resume.
type CancelResume struct{ TurnID string }

// ToolInvoke is the payload of tool.invoke. ParentCallID is set for a call that another
// call makes.
type ToolInvoke struct {
	ID, Name     string
	Arguments    map[string]any
	TurnID       string
	ParentCallID string
}

// ToolResult is the payload of tool.result.
type ToolResult struct {
	ID, Name         string
	Output, Error    string
	OutputFile       string
	OutputData       []byte
	OutputStructured map[string]any
	OutputParts      []MessagePart
	TurnID           string
}

// MessagePart is a part of a tool's output: text, bytes, or a reference to bytes that
// somebody else keeps.
type MessagePart struct {
	Type, Text, MimeType string
	Data                 []byte
	URI, FileID          string
}

// ThinkingStep is the payload of thinking.step. Index counts from 0 within the turn.
type ThinkingStep struct {
	TurnID, Source, Content string
	Index                   int
}

// SubagentStarted is the payload of subagent.started.
type SubagentStarted struct{ SpawnID, Task, ParentTurnID string }

// SubagentIteration is the payload of subagent.iteration. Iteration counts from 0.
type SubagentIteration struct {
	SpawnID, Content, ParentTurnID string
	Iteration                      int
}

// SubagentComplete is the payload of subagent.complete.
type SubagentComplete struct{ SpawnID, Result, Error, ParentTurnID string }

func (Input) EventName() string             { return "io.input" }
func (TurnStart) EventName() string         { return "agent.turn.start" }
func (TurnEnd) EventName() string           { return "agent.turn.end" }
func (LLMRequest) EventName() string        { return "llm.request" }
func (LLMResponse) EventName() string       { return "llm.response" }
func (Output) EventName() string            { return "io.output" }
func (Error) EventName() string             { return "core.error" }
func (Fallback) EventName() string          { return "provider.fallback" }
func (HITLRequested) EventName() string     { return "hitl.requested" }
func (HITLResponded) EventName() string     { return "hitl.responded" }
func (HITLCancel) EventName() string        { return "hitl.cancel" }
func (CancelRequest) EventName() string     { return "cancel.request" }
func (CancelActive) EventName() string      { return "cancel.active" }
func (CancelComplete) EventName() string    { return "cancel.complete" }
func (CancelResume) EventName() string      { return "cancel.resume" }
func (ToolInvoke) EventName() string        { return "tool.invoke" }
func (ToolResult) EventName() string        { return "tool.result" }
func (ThinkingStep) EventName() string      { return "thinking.step" }
func (SubagentStarted) EventName() string   { return "subagent.started" }
func (SubagentIteration) EventName() string { return "subagent.iteration" }
func (SubagentComplete) EventName() string  { return "subagent.complete" }
