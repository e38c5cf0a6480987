// Package nexusplugin serves a Nexus engine over A2A, from inside its process. Register
// it under its ID, which is that of the plugin it replaces:
//
//	eng.Registry.Register(nexusplugin.ID, nexusplugin.New)
package nexusplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"runtime/debug"
	"sync"

	"a2aserve"
	"a2aserve/impl/nexus"

	"github.com/frankbardon/nexus/pkg/engine"
	"github.com/frankbardon/nexus/pkg/events"
)

// ID is the plugin's id and the name of its configuration block.
const ID = "nexus.io.a2a"

// Plugin is the server as a Nexus plugin. What it means by an event, and what it does
// about it, is decided in package nexus; here payloads are copied.
type Plugin struct {
	// Agents are the ids of the agents of other makes that ask their model under their
	// own id; nil knows those that come with Nexus.
	Agents []string

	log    *slog.Logger
	bus    engine.EventBus
	bridge *nexus.Bridge
	server *a2aserve.Server
	unsubs []func()

	run   context.Context
	stop  context.CancelFunc // ends run, and with it the server
	ended chan struct{}      // closed once the server has ended; nil before Ready
	once  sync.Once
	err   error
}

// New makes the plugin; Register it.
func New() engine.Plugin { return &Plugin{} }

// What the plugin is, for the engine.
func (*Plugin) ID() string             { return ID }
func (*Plugin) Name() string           { return "A2A server (a2aserve)" }
func (*Plugin) Version() string        { return "1.0.0" }
func (*Plugin) Dependencies() []string { return nil }

// Requires asks for who stops turns: without it CancelTask only settles the task.
func (*Plugin) Requires() []engine.Requirement {
	return []engine.Requirement{{Capability: "control.cancel"}}
}

func (*Plugin) Capabilities() []engine.Capability { return nil }

// Emissions are what the server tells the agent, and what mends it after a cancellation.
func (*Plugin) Emissions() []string {
	return []string{"before:io.input", "io.input", "hitl.responded", "hitl.cancel", "cancel.request", "cancel.resume", "agent.turn.end"}
}

// Subscriptions are the handlers, most of them before every plugin that goes on with the
// turn while it handles an event.
func (p *Plugin) Subscriptions() []engine.EventSubscription {
	list := []engine.EventSubscription{{EventType: "before:llm.request", Priority: first}, {EventType: "core.shutdown", Priority: last}}
	for name := range heard {
		list = append(list, engine.EventSubscription{EventType: name, Priority: priority(name)})
	}
	return list
}

// first is before all others: a request that is to be vetoed must not be counted,
// recorded or answered by anybody.
const first = -100

// last is after all others that hear of the shutdown. The handler waits: once it has
// returned, the engine lets nobody emit until all turns have ended, and a turn that is
// still going, or waits for an answer, could not.
const last = 1000

// priority of the handler of an event. The start of a turn is told once control.cancel
// (10) knows it, because from then on the client may cancel it.
func priority(name string) int {
	if name == "agent.turn.start" {
		return 15
	}
	return 0
}

// Init opens the store and the listener, so that mistakes in the configuration end the
// boot, and subscribes. Requests wait until Ready.
func (p *Plugin) Init(ctx engine.PluginContext) error {
	if ctx.Session == nil {
		return errors.New(ID + " needs a session, since its tasks belong to one")
	}
	p.log, p.bus = ctx.Logger, ctx.Bus
	text, err := configuration(ctx)
	if err != nil {
		return err
	}
	bus := a2aserve.NewBus(ctx.Logger)
	p.server, err = a2aserve.NewFromYAML(context.Background(), "plugins."+ID, text, a2aserve.Options{
		Log: ctx.Logger,
		Driver: a2aserve.OnBus(bus, a2aserve.Agent{
			// The session's first caller claims it, and the claim is stored under its
			// id: a recalled session is claimed still.
			SessionID: ctx.Session.ID,
			// What a gate holds back is not published by another way.
			Gated:       true,
			InputModes:  []string{"text/plain"},
			OutputModes: []string{"text/plain", "application/json"},
			Logger:      ctx.Logger,
		}),
	})
	if err != nil {
		return err
	}
	p.bridge = nexus.Connect(bus, host{p.bus}, nexus.Options{Agents: p.Agents})
	p.run, p.stop = context.WithCancel(context.Background())
	p.subscribe()
	return nil
}

// configuration is the plugin's block as the server reads it. The store lies with the
// session, and files are those of its workspace, unless the block says otherwise.
func configuration(ctx engine.PluginContext) ([]byte, error) {
	block := maps.Clone(ctx.Config)
	if block == nil {
		block = map[string]any{}
	}
	section(block, "store", "path", filepath.Join(ctx.DataDir, "a2aserve.db"))
	section(block, "artifacts", "file_base_dir", ctx.Session.FilesDir())
	text, err := json.MarshalIndent(block, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("%s: configuration: %w", ID, err)
	}
	return text, nil
}

// section sets a key where it is missing. What is no section is left for the server to
// complain about.
func section(block map[string]any, name, key, value string) {
	s, ok := block[name].(map[string]any)
	if !ok && block[name] != nil {
		return
	}
	s = maps.Clone(s)
	if s == nil {
		s = map[string]any{}
	}
	if s[key] == nil {
		s[key] = value
	}
	block[name] = s
}

func (p *Plugin) subscribe() {
	on := func(name string, priority int, h engine.HandlerFunc) {
		p.unsubs = append(p.unsubs, p.bus.Subscribe(name, p.guarded(h), engine.WithPriority(priority), engine.WithSource(ID)))
	}
	for name, read := range heard {
		on(name, priority(name), func(e engine.Event[any]) {
			if payload := read(e.Payload); payload != nil {
				p.bridge.Hear(payload)
			}
		})
	}
	on("before:llm.request", first, func(e engine.Event[any]) {
		v, ok := e.Payload.(*engine.VetoablePayload)
		if !ok {
			return
		}
		r, ok := v.Original.(*events.LLMRequest)
		if !ok {
			return
		}
		if reason, vetoed := p.bridge.Vetoes(request(*r)); vetoed {
			v.Veto = engine.VetoResult{Vetoed: true, Reason: reason}
		}
	})
	on("core.shutdown", last, func(engine.Event[any]) { p.end() })
}

// guarded keeps a panic of ours from ending the process: the engine catches those of its
// own plugins only.
func (p *Plugin) guarded(h engine.HandlerFunc) engine.HandlerFunc {
	return func(e engine.Event[any]) {
		defer func() {
			if r := recover(); r != nil {
				p.log.Error("a2a: a handler panicked", "event", e.Type, "panic", r, "stack", string(debug.Stack()))
			}
		}()
		h(e)
	}
}

// Ready serves, on a goroutine of its own.
func (p *Plugin) Ready() error {
	p.log.Info("a2a: serving", "url", p.server.URL())
	p.ended = make(chan struct{})
	go func() {
		defer close(p.ended)
		if err := p.server.Run(p.run); err != nil {
			p.err = err
			p.log.Error("a2a: the server has ended", "error", err)
		}
	}()
	return nil
}

// end ends the server and waits for it. Running turns get the configuration's
// shutdown_timeout.
func (p *Plugin) end() {
	p.stop()
	if p.ended != nil {
		<-p.ended
	}
}

// Shutdown takes the plugin off the bus. The server has ended by then, unless the plugin
// alone is taken out of an engine that goes on, or was never ready.
func (p *Plugin) Shutdown(context.Context) error {
	if p.bridge == nil {
		return nil // Init failed
	}
	p.end()
	p.once.Do(func() {
		if p.ended == nil {
			p.err = p.server.Close()
		}
		for _, unsub := range p.unsubs {
			unsub()
		}
		p.bridge.Close()
	})
	return p.err
}
