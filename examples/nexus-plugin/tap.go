package nexusplugin

import (
	"log/slog"
	"runtime/debug"

	"a2aserve"
	"a2aserve/impl/nexus"

	"github.com/frankbardon/nexus/pkg/engine"
	"github.com/frankbardon/nexus/pkg/events"
)

// tap is a bridge on an engine's bus, and what both plugins say of themselves.
type tap struct {
	log    *slog.Logger
	bus    engine.EventBus
	bridge *nexus.Bridge
	unsubs []func()
}

// ID is the plugin's, for the engine.
func (*tap) ID() string { return ID }

// Version is the plugin's.
func (*tap) Version() string { return "1.0.0" }

// Dependencies are none.
func (*tap) Dependencies() []string { return nil }

// Capabilities are none.
func (*tap) Capabilities() []engine.Capability { return nil }

// Requires asks for who stops turns: without it CancelTask only settles the task.
func (*tap) Requires() []engine.Requirement {
	return []engine.Requirement{{Capability: "control.cancel"}}
}

// Emissions are what the server tells the agent, and what mends it after a cancellation.
func (*tap) Emissions() []string {
	return []string{"before:io.input", "io.input", "hitl.responded", "hitl.cancel", "cancel.request", "cancel.resume", "agent.turn.end"}
}

// subscriptions are the handlers, most of them before every plugin that goes on with the
// turn while it handles an event.
func subscriptions() []engine.EventSubscription {
	list := []engine.EventSubscription{{EventType: "before:llm.request", Priority: first}, {EventType: "llm.request", Priority: last}}
	for name := range heard {
		list = append(list, engine.EventSubscription{EventType: name, Priority: priority(name)})
	}
	return list
}

// first is before all others: a request that is to be vetoed must not be counted,
// recorded or answered by anybody.
const first = -100

// last is after all others: the handlers of a provider have returned, and so have those of
// whoever hears of the shutdown.
const last = 1000

// priority of the handler of an event. The start of a turn is told once control.cancel
// (10) knows it, because from then on the client may cancel it.
func priority(name string) int {
	if name == "agent.turn.start" {
		return 15
	}
	return 0
}

// open connects the engine's bus to the server's.
func (t *tap) open(ctx engine.PluginContext, b *a2aserve.Bus, o nexus.Options) {
	t.log, t.bus = ctx.Logger, ctx.Bus
	t.bridge = nexus.Connect(b, host{t.bus}, o)
	for name, read := range heard {
		t.on(name, priority(name), func(e engine.Event[any]) {
			if payload := read(e.Payload); payload != nil {
				t.bridge.Hear(payload)
			}
		})
	}
	t.on("llm.request", last, t.returned)
	t.on("before:llm.request", first, func(e engine.Event[any]) {
		v, ok := e.Payload.(*engine.VetoablePayload)
		if !ok {
			return
		}
		r, ok := v.Original.(*events.LLMRequest)
		if !ok {
			return
		}
		if reason, vetoed := t.bridge.Vetoes(request(*r)); vetoed {
			v.Veto = engine.VetoResult{Vetoed: true, Reason: reason}
		}
	})
}

// returned tells that a request's handlers have returned.
func (t *tap) returned(e engine.Event[any]) {
	switch r := e.Payload.(type) {
	case events.LLMRequest:
		t.bridge.Returned(request(r))
	case *events.LLMRequest:
		t.bridge.Returned(request(*r))
	}
}

// on subscribes a handler. A panic of ours must not end the process, and the engine
// catches those of its own plugins only.
func (t *tap) on(name string, priority int, h engine.HandlerFunc) {
	guarded := func(e engine.Event[any]) {
		defer func() {
			if r := recover(); r != nil {
				t.log.Error("a2a: a handler panicked", "event", e.Type, "panic", r, "stack", string(debug.Stack()))
			}
		}()
		h(e)
	}
	t.unsubs = append(t.unsubs, t.bus.Subscribe(name, guarded, engine.WithPriority(priority), engine.WithSource(ID)))
}

// close takes the bridge off both.
func (t *tap) close() {
	for _, unsub := range t.unsubs {
		unsub()
	}
	t.bridge.Close()
}
