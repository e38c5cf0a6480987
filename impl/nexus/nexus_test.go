package nexus_test

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"a2aserve/impl/driver/bus"
	"a2aserve/impl/nexus"

	"go.uber.org/goleak"
)

// TestMain lets the test binary stand in for a bridge.
func TestMain(m *testing.M) {
	if root := os.Getenv(rootVariable); root != "" {
		bridgeMain(root)
		return
	}
	goleak.VerifyTestMain(m)
}

// owner is who ends what a double has begun: a test, or a process.
type owner interface{ Cleanup(func()) }

// engine is a double of a Nexus engine: its synchronous bus with priorities, and the
// plugins that matter here, each with the state that the real one keeps to itself.
type engine struct {
	mu       sync.Mutex // guards what follows, and the plugins' state
	handlers map[string][]handler
	seen     []string // the types of all events

	current string // react: the turn it is in, kept after the end
	turns   int
	pending int
	flagged bool   // react: cancelled, until resumed
	active  string // control.cancel
	last    string // control.cancel: the turn that /resume would resume
	waiting map[string]chan nexus.HITLResponded

	model func(e *engine, said string) nexus.LLMResponse // answers llm.request
	tool  func(e *engine, c nexus.ToolInvoke) nexus.ToolResult
	said  string // the last input
	asked atomic.Int64
	wg    sync.WaitGroup
	// apart has the model answer on a goroutine of its own, so that the emission of the
	// input returns before the turn ends.
	apart bool
}

type handler struct {
	priority int
	call     func(any)
}

// aborted is the answer of a model that gives none: its request was dropped.
const aborted = "aborted"

// proposal is the payload of a before: event.
type proposal struct {
	what   any
	reason string
	vetoed bool
}

func (e *engine) on(name string, priority int, call func(any)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handlers[name] = append(e.handlers[name], handler{priority, call})
	slices.SortStableFunc(e.handlers[name], func(a, b handler) int { return a.priority - b.priority })
}

func (e *engine) emit(name string, payload any) {
	e.mu.Lock()
	e.seen = append(e.seen, name)
	list := slices.Clone(e.handlers[name])
	e.mu.Unlock()
	for _, h := range list {
		h.call(payload)
		if p, ok := payload.(*proposal); ok && p.vetoed {
			return
		}
	}
}

func (e *engine) Emit(p nexus.Payload) { e.emit(p.EventName(), p) }

func (e *engine) Propose(in *nexus.Input) (string, bool) {
	p := &proposal{what: in}
	e.emit("before:io.input", p)
	return p.reason, p.vetoed
}

// get and set keep the double itself free of races.
func get[T any](e *engine, f func() T) T {
	e.mu.Lock()
	defer e.mu.Unlock()
	return f()
}

var meta = map[string]any{"_source": "nexus.agent.react"}

// newEngine is an engine with an agent like nexus.agent.react, and the plugins for
// cancellation and questions. The model answers "said: " and the input.
func newEngine(t owner) *engine {
	e := &engine{handlers: map[string][]handler{}, waiting: map[string]chan nexus.HITLResponded{}}
	e.model = func(_ *engine, said string) nexus.LLMResponse { return nexus.LLMResponse{Content: "said: " + said} }
	e.tool = func(_ *engine, c nexus.ToolInvoke) nexus.ToolResult {
		return nexus.ToolResult{Output: c.Name + " done"}
	}
	t.Cleanup(e.wg.Wait)
	e.agent()
	e.cancelling()
	e.asking()
	e.on("llm.request", 50, func(any) {
		e.asked.Add(1)
		said := get(e, func() string { return e.said })
		answer := func() {
			r := e.model(e, said)
			if r.Model == aborted {
				return
			}
			if r.Metadata == nil {
				r.Metadata = meta
			}
			e.emit("llm.response", r)
		}
		if e.apart {
			e.wg.Go(answer)
			return
		}
		answer()
	})
	e.on("tool.invoke", 50, func(p any) {
		c := p.(nexus.ToolInvoke)
		if c.Name == "ask_user" {
			return
		}
		r := e.tool(e, c)
		r.ID, r.Name, r.TurnID = c.ID, c.Name, c.TurnID
		e.emit("tool.result", r)
	})
	return e
}

// agent is the react loop.
func (e *engine) agent() {
	ask := func() {
		p := &proposal{what: &nexus.LLMRequest{Metadata: meta}}
		if e.emit("before:llm.request", p); !p.vetoed {
			e.emit("llm.request", nexus.LLMRequest{Metadata: meta})
		}
	}
	e.on("io.input", 50, func(p any) {
		id := get(e, func() string {
			e.turns++
			e.said, e.pending = p.(nexus.Input).Content, 0
			e.current = "turn_" + string(rune('a'+e.turns))
			return e.current
		})
		e.emit("agent.turn.start", nexus.TurnStart{TurnID: id})
		ask()
	})
	e.on("llm.response", 50, func(p any) {
		r := p.(nexus.LLMResponse)
		id, flagged := get(e, func() string { return e.current }), get(e, func() bool { return e.flagged })
		switch {
		case flagged || r.Metadata["_source"] != "nexus.agent.react":
		case len(r.ToolCalls) == 0:
			out := &proposal{what: &nexus.Output{Content: r.Content, Role: "assistant", TurnID: id}}
			if e.emit("before:io.output", out); !out.vetoed {
				e.emit("io.output", *out.what.(*nexus.Output))
			}
			e.emit("agent.turn.end", nexus.TurnEnd{TurnID: id})
		default:
			get(e, func() int { e.pending = len(r.ToolCalls); return 0 })
			for _, c := range r.ToolCalls {
				call := nexus.ToolInvoke{ID: c.ID, Name: c.Name, TurnID: id}
				if len(r.ToolCalls) > 1 { // in parallel
					e.wg.Go(func() { e.emit("tool.invoke", call) })
					continue
				}
				e.emit("tool.invoke", call)
			}
		}
	})
	e.on("tool.result", 50, func(p any) {
		if get(e, func() bool {
			e.pending--
			return p.(nexus.ToolResult).TurnID == e.current && e.pending <= 0
		}) {
			ask()
		}
	})
	e.on("cancel.active", 20, func(p any) {
		id := p.(nexus.CancelActive).TurnID
		if !get(e, func() bool {
			if id != e.current {
				return false
			}
			e.flagged, e.pending = true, 0
			return true
		}) {
			return
		}
		e.emit("io.output", nexus.Output{Content: "cancelled, /resume goes on", Role: "system", TurnID: id})
		e.emit("cancel.complete", nexus.CancelComplete{TurnID: id, Resumable: true})
		e.emit("agent.turn.end", nexus.TurnEnd{TurnID: id})
	})
	e.on("cancel.resume", 50, func(any) {
		if !get(e, func() bool { was := e.flagged; e.flagged = false; return was }) {
			return
		}
		e.emit("agent.turn.start", nexus.TurnStart{TurnID: get(e, func() string { return e.current })})
		ask()
	})
}

// cancelling is control.cancel.
func (e *engine) cancelling() {
	e.on("agent.turn.start", 10, func(p any) {
		get(e, func() int { e.active = p.(nexus.TurnStart).TurnID; return 0 })
	})
	e.on("agent.turn.end", 10, func(any) { get(e, func() int { e.active = ""; return 0 }) })
	e.on("cancel.request", 10, func(any) {
		if id := get(e, func() string { e.last = e.active; return e.active }); id != "" {
			e.emit("cancel.active", nexus.CancelActive{TurnID: id})
		}
	})
}

// asking is control.hitl: the tool ask_user waits on the goroutine that calls it.
func (e *engine) asking() {
	e.on("tool.invoke", 50, func(p any) {
		c := p.(nexus.ToolInvoke)
		if c.Name != "ask_user" {
			return
		}
		got, id := make(chan nexus.HITLResponded, 1), "hitl-"+c.TurnID+"-"+c.ID
		get(e, func() int { e.waiting[id] = got; return 0 })
		e.emit("hitl.requested", nexus.HITLRequested{ID: id, TurnID: c.TurnID, Prompt: "Which?", Mode: "both",
			Choices: []nexus.Choice{{ID: "r", Label: "Red"}, {ID: "g", Label: "Green"}}})
		r := <-got
		e.emit("tool.result", nexus.ToolResult{ID: c.ID, Name: c.Name, TurnID: c.TurnID, Output: r.ChoiceID + r.FreeText + r.CancelReason})
	})
	e.on("hitl.responded", 50, func(p any) {
		r := p.(nexus.HITLResponded)
		if got := get(e, func() chan nexus.HITLResponded { return e.waiting[r.RequestID] }); got != nil {
			select {
			case got <- r:
			default: // the first answer counts
			}
		}
	})
	e.on("hitl.cancel", 10, func(p any) {
		c := p.(nexus.HITLCancel)
		e.emit("hitl.responded", nexus.HITLResponded{RequestID: c.RequestID, Cancelled: true, CancelReason: c.Reason})
	})
}

// count is how many events of a type there have been.
func (e *engine) count(name string) int {
	return get(e, func() int {
		n := 0
		for _, s := range e.seen {
			if s == name {
				n++
			}
		}
		return n
	})
}

// connect does what the plugin does: it subscribes a bridge to the engine's bus.
func connect(t owner, e *engine, b *bus.Bus, o nexus.Options) *nexus.Bridge {
	br := nexus.Connect(b, e, o)
	t.Cleanup(br.Close)
	for _, name := range []string{
		"io.input", "agent.turn.end", "llm.request", "llm.response", "io.output", "core.error", "provider.fallback",
		"hitl.requested", "hitl.responded", "cancel.active", "cancel.complete", "cancel.resume", "tool.invoke", "tool.result",
		"thinking.step", "subagent.started", "subagent.iteration", "subagent.complete",
	} {
		e.on(name, 0, func(p any) { br.Hear(p.(nexus.Payload)) })
	}
	// After control.cancel: a turn that the server knows can be cancelled.
	e.on("agent.turn.start", 15, func(p any) { br.Hear(p.(nexus.TurnStart)) })
	e.on("llm.request", 1000, func(p any) { br.Returned(p.(nexus.LLMRequest)) })
	e.on("before:llm.request", -100, func(p any) {
		v := p.(*proposal)
		v.reason, v.vetoed = br.Vetoes(*v.what.(*nexus.LLMRequest))
	})
	return br
}
