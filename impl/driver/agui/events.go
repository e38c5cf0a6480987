package agui

import (
	"bytes"
	"log/slog"
	"strings"
	"unicode"

	"a2aserve/gen/a2a"
	wire "a2aserve/gen/agui"
	"a2aserve/gen/event"
	"a2aserve/impl/turn"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxHeld bounds, in bytes, what is kept of a run between its events: texts, names and
// arguments that are not complete.
const maxHeld = 16 << 20

// maxStep is where reasoning becomes a step although it goes on, in bytes.
const maxStep = 4 << 10

// run translates the events of a turn's runs. One goroutine uses it.
type run struct {
	d            *Driver
	line         *turn.Line
	log          *slog.Logger
	task, turnID string
	warned       map[string]bool // what has been logged once
	step         int64           // reasoning steps so far

	// What follows is of one run.
	over      bool
	open      []string // questions that the run has ended with
	held      int      // bytes of what follows
	messages  map[string]*message
	chunk     string // the message that the last TEXT_MESSAGE_CHUNK belongs to
	calls     map[string]*call
	reasoning strings.Builder
}

type message struct {
	ours bool // the assistant's
	text strings.Builder
}

type call struct {
	name    string
	args    strings.Builder
	invoked bool
}

// begin forgets the run before.
func (t *run) begin() {
	t.over, t.open, t.held, t.chunk = false, nil, 0, ""
	t.messages, t.calls = map[string]*message{}, map[string]*call{}
	t.reasoning.Reset()
}

// warn logs a peculiarity once for each turn and kind, and not more than a few kinds: how
// many there are is up to the agent.
func (t *run) warn(kind, what string) {
	if t.warned == nil {
		t.warned = map[string]bool{}
	}
	if !t.warned[kind] && len(t.warned) < 16 {
		t.warned[kind] = true
		t.log.Warn("the agent sent "+what, "type", kind[:min(len(kind), 100)])
	}
}

// hold counts what is kept.
func (t *run) hold(n int) error {
	if t.held += n; t.held > maxHeld {
		return a2a.InvalidAgentResponseError.Errorf("The agent left too much unfinished (more than %d bytes)", maxHeld)
	}
	return nil
}

// emit tells the engine.
func (t *run) emit(e event.Event) error {
	if !t.line.Emit(e) {
		return errOver
	}
	return nil
}

// take gives one event its effect.
func (t *run) take(e wire.Event) error {
	switch e := e.(type) {
	case wire.RunStarted:
		return t.emit(event.TurnStart{TurnID: t.turnID, TaskID: t.task})
	case wire.TextMessageStart:
		return t.start(e.MessageID, e.Role)
	case wire.TextMessageContent:
		return t.say(e.MessageID, e.Delta)
	case wire.TextMessageEnd:
		return t.end(e.MessageID)
	case wire.TextMessageChunk:
		return t.sayChunk(e)
	case wire.ToolCallStart, wire.ToolCallArgs, wire.ToolCallEnd, wire.ToolCallResult:
		return t.tool(e)
	case wire.ReasoningMessageContent:
		t.reasoning.WriteString(e.Delta)
		if t.reasoning.Len() < maxStep {
			return nil
		}
		return t.think()
	case wire.ReasoningMessageEnd, wire.ReasoningEnd:
		return t.think()
	case wire.Custom:
		return t.custom(e)
	case wire.RunError:
		t.over = true
		t.log.Error("the agent reports an error", "message", e.Message)
		return t.emit(event.CoreError{TurnID: t.turnID, Message: t.safe(e.Message), Source: "agui", Fatal: true})
	case wire.RunFinished:
		return t.finished(e)
	}
	return nil // steps and states
}

// start opens a message. What system, tool or user say is no answer.
func (t *run) start(id, role string) error {
	if t.messages[id] != nil {
		return nil
	}
	t.messages[id] = &message{ours: role == "" || role == "assistant"}
	return t.hold(len(id))
}

func (t *run) say(id, delta string) error {
	if err := t.start(id, ""); err != nil { // begun without a START
		return err
	}
	m := t.messages[id]
	if !m.ours || delta == "" {
		return nil
	}
	m.text.WriteString(delta)
	if err := t.hold(len(delta)); err != nil {
		return err
	}
	return t.emit(event.OutputDelta{TurnID: t.turnID, Text: delta})
}

// end completes a message. The answer is the last one: what was said before a tool was
// called gives way to it.
func (t *run) end(id string) error {
	m := t.messages[id]
	if m == nil {
		return nil
	}
	delete(t.messages, id)
	t.held -= len(id) + m.text.Len()
	if !m.ours || m.text.Len() == 0 {
		return nil
	}
	return t.emit(event.Output{TurnID: t.turnID, Role: "assistant", Content: m.text.String()})
}

func (t *run) sayChunk(e wire.TextMessageChunk) error {
	if e.MessageID == "" {
		e.MessageID = t.chunk
	}
	if e.MessageID != t.chunk {
		if err := t.end(t.chunk); err != nil {
			return err
		}
		t.chunk = e.MessageID
	}
	if err := t.start(e.MessageID, e.Role); err != nil {
		return err
	}
	return t.say(e.MessageID, e.Delta)
}

// think publishes the reasoning that has gathered.
func (t *run) think() error {
	said := t.reasoning.String()
	t.reasoning.Reset()
	if said == "" {
		return nil
	}
	t.step++
	return t.emit(event.ThinkingStep{TurnID: t.turnID, Step: t.step, Content: said, Source: "agui"})
}

// tool follows a call from its name to its result.
func (t *run) tool(e wire.Event) error {
	switch e := e.(type) {
	case wire.ToolCallStart:
		if t.calls[e.ToolCallID] == nil {
			t.calls[e.ToolCallID] = &call{name: e.ToolCallName}
			return t.hold(len(e.ToolCallID) + len(e.ToolCallName))
		}
	case wire.ToolCallArgs:
		if c := t.calls[e.ToolCallID]; c != nil && !c.invoked {
			c.args.WriteString(e.Delta)
			return t.hold(len(e.Delta))
		}
	case wire.ToolCallEnd:
		return t.invoke(e.ToolCallID)
	case wire.ToolCallResult:
		if err := t.invoke(e.ToolCallID); err != nil {
			return err
		}
		name := "tool" // of a call that was never announced
		if c := t.calls[e.ToolCallID]; c != nil {
			name = c.name
			delete(t.calls, e.ToolCallID)
			t.held -= len(e.ToolCallID) + len(c.name)
		}
		return t.emit(event.ToolResult{TurnID: t.turnID, CallID: e.ToolCallID, Name: name, Output: e.Content})
	}
	return nil
}

// invoke publishes a call once its arguments are complete.
func (t *run) invoke(id string) error {
	c := t.calls[id]
	if c == nil || c.invoked {
		return nil
	}
	c.invoked = true
	args := a2a.Value(c.args.String())
	t.held -= c.args.Len()
	c.args.Reset()
	if len(bytes.TrimSpace(args)) == 0 {
		args = nil
	} else if !jsontext.Value(args).IsValid() { // shown as it came
		args, _ = json.Marshal(string(args), jsontext.AllowInvalidUTF8(true))
	}
	return t.emit(event.ToolInvoke{TurnID: t.turnID, CallID: id, Name: c.name, Arguments: args})
}

// custom reads the events of subagents; all others are the agent's own business.
func (t *run) custom(e wire.Custom) error {
	what, ok := strings.CutPrefix(e.Name, "subagent.")
	if !ok {
		return nil
	}
	var s wire.Subagent
	if err := json.Unmarshal(e.Value, &s); err != nil || s.SpawnID == "" {
		t.warn(e.Name, "a subagent event that cannot be read")
		return nil
	}
	switch what {
	case "started":
		return t.emit(event.SubagentStarted{TurnID: t.turnID, SubagentID: s.SpawnID, Task: s.Task})
	case "iteration":
		return t.emit(event.SubagentIteration{TurnID: t.turnID, SubagentID: s.SpawnID, Iteration: s.Iteration, Content: s.Content})
	case "complete":
		return t.emit(event.SubagentComplete{TurnID: t.turnID, SubagentID: s.SpawnID, Result: s.Result, Error: s.Error})
	}
	return nil
}

// safe makes the agent's words fit for a status: without control characters, bounded by
// the engine, and without our own token, should the agent repeat it.
func (t *run) safe(text string) string {
	if t.d.o.Token != "" {
		text = strings.ReplaceAll(text, t.d.o.Token, "[redacted]")
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text))
}
