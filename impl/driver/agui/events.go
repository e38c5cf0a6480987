package agui

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"unicode"

	"a2aserve/gen/a2a"
	wire "a2aserve/gen/agui"
	"a2aserve/gen/event"
	"a2aserve/impl/turn"

	"github.com/go-json-experiment/json"
)

// maxHeld bounds, in bytes, what is kept of a run between its events: texts, names and
// arguments that are not complete.
const maxHeld = 16 << 20

// maxStep is where reasoning becomes a step although it goes on, in bytes.
const maxStep = 4 << 10

// run translates the events of a turn's runs. One goroutine uses it.
type run struct {
	d             *Driver
	line          *turn.Line
	log           *slog.Logger
	task, turnID  string
	thread, trace string
	runs          int             // so far
	warned        map[string]bool // what has been logged once
	step          int64           // reasoning steps so far
	begun         bool            // the engine knows that the turn has begun
	deaf          bool            // the task is over: only the run's end counts
	said          bool            // something was emitted
	cancelled     atomic.Bool     // the agent was asked to stop over the control link

	// What follows is of one run.
	resumed   bool
	over      bool
	ended     atomic.Bool   // over, for haltWith
	going     chan struct{} // closed once the agent has begun with the turn
	isGoing   bool
	agentTurn string // what the agent calls the turn, set before going is closed

	open      []string // questions that the run has ended with
	asked     map[string]question
	held      int // bytes of what follows
	messages  map[string]*message
	calls     map[string]*call
	reasoning strings.Builder
	piece     piece
}

// piece is what the last event of a kind …_CHUNK belongs to. An event of another kind
// completes it.
type piece struct {
	kind pieceKind
	id   string
}

type pieceKind uint8

const (
	noPiece pieceKind = iota
	ofMessage
	ofCall
	ofReasoning
)

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
func (t *run) begin(resumed bool) {
	t.resumed, t.over, t.open, t.held, t.piece = resumed, false, nil, 0, piece{}
	t.going, t.isGoing, t.agentTurn = make(chan struct{}), false, ""
	t.ended.Store(false)
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

// hear gives one event its effect; nil is one of an unknown type.
func (t *run) hear(e wire.Event) error {
	switch e.(type) {
	case wire.RunFinished, wire.RunError:
		t.over = true
		t.ended.Store(true) // before the engine hears: the end that it makes stops no other turn
	default:
		t.noteGoing(e)
		if t.deaf {
			return nil
		}
	}
	t.said = false
	var err error
	if !t.over {
		if !t.begun { // whatever comes first begins the turn; most agents say RUN_STARTED
			err = t.startTurn()
		}
		if err == nil {
			err = t.settlePiece(e)
		}
	}
	if err == nil {
		err = t.take(e)
	}
	// What changes nothing is a sign of life all the same. A turn's further start says
	// just that.
	if err == nil && !t.said && !t.over {
		err = t.startTurn()
	}
	if errors.Is(err, errOver) && !t.over {
		t.deaf = true // the run still has to end
		return nil
	}
	return err
}

// noteGoing finds out when the agent is at the turn. A busy agent begins a run too, only
// to fail it at once; the first event after that is the turn's. A run that goes on with a
// turn has it from the start.
func (t *run) noteGoing(e wire.Event) {
	if t.isGoing {
		return
	}
	switch e := e.(type) {
	case wire.RunStarted:
		if !t.resumed {
			return
		}
	case wire.StepStarted:
		t.agentTurn = e.StepName
	}
	t.isGoing = true
	close(t.going)
}

// emit tells the engine.
func (t *run) emit(e event.Event) error {
	t.said = true
	if !t.line.Emit(e) {
		return errOver
	}
	return nil
}

// startTurn tells the engine that the agent is at the turn. It hears nothing before.
func (t *run) startTurn() error {
	t.begun = true
	return t.emit(event.TurnStart{TurnID: t.turnID, TaskID: t.task})
}

// take gives one event its effect.
func (t *run) take(e wire.Event) error {
	switch e := e.(type) {
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
	case wire.ToolCallChunk:
		return t.toolChunk(e)
	case wire.ReasoningMessageContent:
		return t.muse(e.Delta)
	case wire.ReasoningMessageChunk:
		t.piece = piece{ofReasoning, cmp.Or(e.MessageID, t.piece.id)}
		return t.muse(e.Delta)
	case wire.ThinkingTextMessageContent:
		return t.muse(e.Delta)
	case wire.ReasoningMessageEnd, wire.ReasoningEnd, wire.ThinkingTextMessageEnd, wire.ThinkingEnd:
		return t.think()
	case wire.Custom:
		return t.custom(e)
	case wire.RunError:
		level := slog.LevelError
		if t.deaf { // such as the refusal of a /resume that nothing is left for
			level = slog.LevelDebug
		}
		t.log.Log(context.Background(), level, "the agent reports an error", "message", t.safe(e.Message), "code", t.safe(e.Code))
		return t.emit(event.CoreError{TurnID: t.turnID, Message: t.safe(e.Message), Source: "agui", Fatal: true})
	case wire.RunFinished:
		return t.finished(e)
	}
	return nil // starts, steps, states and what is not known
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

// muse gathers reasoning.
func (t *run) muse(delta string) error {
	t.reasoning.WriteString(delta)
	if t.reasoning.Len() < maxStep {
		return nil
	}
	return t.think()
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
