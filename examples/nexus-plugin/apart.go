package nexusplugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"a2aserve"
	"a2aserve/impl/nexus"
	"a2aserve/impl/nexus/stdio"

	"github.com/frankbardon/nexus/pkg/engine"
)

// Apart is the plugin for an engine whose server is another process. It has the same ID
// and ignores the block of that name, which is the server's.
type Apart struct {
	tap
	connect *a2aserve.Bus
	options nexus.Options
	session *engine.SessionWorkspace
}

// Name is the plugin's, for the engine.
func (*Apart) Name() string { return "A2A agent (a2aserve)" }

// Subscriptions are the handlers, for the engine.
func (*Apart) Subscriptions() []engine.EventSubscription { return subscriptions() }

// Init subscribes.
func (p *Apart) Init(ctx engine.PluginContext) error {
	if ctx.Session == nil {
		return errors.New(ID + " needs a session, since its conversation is one")
	}
	p.session = ctx.Session
	p.open(ctx, p.connect, p.options)
	return nil
}

// Ready does nothing: who booted the engine says when it is.
func (*Apart) Ready() error { return nil }

// Shutdown takes the plugin off the bus.
func (p *Apart) Shutdown(context.Context) error {
	if p.bridge != nil {
		p.close()
	}
	return nil
}

// Bridge is what it takes to boot an engine whose server is another process.
type Bridge struct {
	Config   string                       // the engine's configuration file
	Register func(*engine.PluginRegistry) // has the registry know the plugins
	Agents   []string                     // see Plugin
}

// Boot boots an engine with the plugin in it, whether the configuration names it or not.
// Recall is the session that it resumes, with this configuration and not with the one that
// the session began with; empty: a new one.
func (br Bridge) Boot(ctx context.Context, recall string, b *a2aserve.Bus) (*stdio.Engine, error) {
	eng, err := engine.New(br.Config)
	if err != nil {
		return nil, err
	}
	if recall != "" {
		if _, err := os.Stat(filepath.Join(engine.ExpandPath(eng.Config.Core.Sessions.Root), recall)); os.IsNotExist(err) {
			return nil, fmt.Errorf("%s: %w", recall, stdio.ErrNoSession)
		}
	}
	if !eng.Config.Core.Logging.BootstrapStderr {
		eng.Logging.AddLogSink(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	eng.RecallSessionID = recall
	br.Register(eng.Registry)
	p := &Apart{connect: b, options: nexus.Options{Agents: br.Agents, Recalled: recall != ""}}
	eng.Registry.Register(ID, func() engine.Plugin { return p })
	if !slices.Contains(eng.Config.Plugins.Active, ID) {
		eng.Config.Plugins.Active = append(eng.Config.Plugins.Active, ID)
	}
	// The engine ends with the server's conversation, not with this call.
	if err := eng.Boot(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	return &stdio.Engine{Bridge: p.bridge, Session: p.session.ID, Files: p.session.FilesDir(), Stop: eng.Stop}, nil
}
