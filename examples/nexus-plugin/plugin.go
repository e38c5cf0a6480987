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
	"maps"
	"path/filepath"
	"sync"

	"a2aserve"
	"a2aserve/impl/nexus"

	"github.com/frankbardon/nexus/pkg/engine"
)

// ID is the plugin's id and the name of its configuration block.
const ID = "nexus.io.a2a"

// Plugin is the server as a Nexus plugin. What it means by an event, and what it does
// about it, is decided in package nexus; here payloads are copied.
type Plugin struct {
	// Agents are the ids of the agents of other makes that ask their model under their
	// own id; nil knows those that come with Nexus.
	Agents []string

	tap
	server *a2aserve.Server

	run   context.Context
	stop  context.CancelFunc // ends run, and with it the server
	ended chan struct{}      // closed once the server has ended; nil before Ready
	once  sync.Once
	err   error
}

// New makes the plugin; Register it.
func New() engine.Plugin { return &Plugin{} }

// Name is the plugin's, for the engine.
func (*Plugin) Name() string { return "A2A server (a2aserve)" }

// Subscriptions are the handlers, for the engine.
func (*Plugin) Subscriptions() []engine.EventSubscription {
	return append(subscriptions(), engine.EventSubscription{EventType: "core.shutdown", Priority: last})
}

// Init opens the store and the listener, so that mistakes in the configuration end the
// boot, and subscribes. Requests wait until Ready.
func (p *Plugin) Init(ctx engine.PluginContext) error {
	if ctx.Session == nil {
		return errors.New(ID + " needs a session, since its tasks belong to one")
	}
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
	p.run, p.stop = context.WithCancel(context.Background())
	p.open(ctx, bus, nexus.Options{Agents: p.Agents})
	// The handler waits: once all have returned, the engine lets nobody emit until every
	// turn has ended, and one that is still going, or waits for an answer, could not.
	p.on("core.shutdown", last, func(engine.Event[any]) { p.end() })
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
		p.close()
	})
	return p.err
}
