package agui

import (
	"bytes"
	"cmp"

	"a2aserve/gen/a2a"
	wire "a2aserve/gen/agui"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// settlePiece completes what came in chunks when an event of another kind follows. Those
// of the systems around the agent may come in between.
func (t *run) settlePiece(e wire.Event) error {
	last := t.piece
	switch e := e.(type) {
	case nil, wire.Raw, wire.ActivitySnapshot, wire.ActivityDelta, wire.ReasoningEncryptedValue:
		return nil
	case wire.TextMessageChunk:
		if last.kind == ofMessage && (e.MessageID == "" || e.MessageID == last.id) {
			return nil
		}
	case wire.ToolCallChunk:
		if last.kind == ofCall && (e.ToolCallID == "" || e.ToolCallID == last.id) {
			return nil
		}
	case wire.ReasoningMessageChunk:
		if last.kind == ofReasoning && (e.MessageID == "" || e.MessageID == last.id) {
			return nil
		}
	}
	t.piece = piece{}
	switch last.kind {
	case ofMessage:
		return t.end(last.id)
	case ofCall:
		return t.invoke(last.id)
	case ofReasoning:
		return t.think()
	}
	return nil
}

func (t *run) sayChunk(e wire.TextMessageChunk) error {
	t.piece = piece{ofMessage, cmp.Or(e.MessageID, t.piece.id)}
	if err := t.start(t.piece.id, e.Role); err != nil {
		return err
	}
	return t.say(t.piece.id, e.Delta)
}

func (t *run) toolChunk(e wire.ToolCallChunk) error {
	t.piece = piece{ofCall, cmp.Or(e.ToolCallID, t.piece.id)}
	if t.piece.id == "" {
		t.warn("TOOL_CALL_CHUNK", "a piece of a tool call that names no call")
		return nil
	}
	if err := t.tool(wire.ToolCallStart{ToolCallID: t.piece.id, ToolCallName: e.ToolCallName}); err != nil {
		return err
	}
	return t.tool(wire.ToolCallArgs{ToolCallID: t.piece.id, Delta: e.Delta})
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
