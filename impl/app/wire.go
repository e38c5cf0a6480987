package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/binding"
	"a2aserve/impl/card"
	"a2aserve/impl/config"
	"a2aserve/impl/driver/child"
	"a2aserve/impl/driver/demo"
	"a2aserve/impl/edge"
	"a2aserve/impl/ops"
	"a2aserve/impl/turn"
	"a2aserve/impl/wire"
)

// This file maps the configuration to the options of the layers: each of them has its
// own, so that none depends on how a server is configured.

// cardOptions are what the card is made of, at an address.
func (g *generation) cardOptions(base string) card.Options {
	agent := g.driver.Agent()
	schemes, requirements := g.security()
	return card.Options{
		Card: g.cfg.Card, File: g.cfg.CardFile,
		BaseURL: base, JSONRPCPath: g.cfg.JSONRPCPath, RESTPrefix: g.cfg.RESTPrefix,
		Wired: g.offered, Schemes: schemes, Requirements: requirements, Private: g.cfg.CardRequiresAuth,
		InputModes: agent.InputModes, OutputModes: agent.OutputModes, Extensions: g.extensions(),
		Refuse: func(w http.ResponseWriter, r *http.Request, e *a2a.Error) {
			wire.Errors{Log: g.log}.Write(w, r, wire.REST, nil, e)
		},
	}
}

// extensions are what the card declares and the bindings activate. Telemetry travels on
// streams only, so without them there is none.
func (a *App) extensions() []a2a.AgentExtension {
	for i := range op.Table {
		if o := &op.Table[i]; o.Streaming && !a.wired(o) {
			return nil
		}
	}
	return []a2a.AgentExtension{{
		URI:         turn.TelemetryURI,
		Description: "What the agent does within a turn (reasoning, tool calls, subagents, token counts), in the metadata of status updates on streams that ask for it",
	}}
}

// extensionURIs are the names of the extensions.
func (a *App) extensionURIs() (uris []string) {
	for _, x := range a.extensions() {
		uris = append(uris, x.URI)
	}
	return uris
}

// engineOptions bound the turns. "0s" and 0 switch a bound off in both vocabularies.
func (a *App) engineOptions() turn.Options {
	t, f := a.cfg.Tasks, a.cfg.Artifacts
	return turn.Options{
		Driver: a.driver, Journal: a.store, Logger: a.log,
		InputTimeout: config.Span(t.InputTimeout), SilenceTimeout: config.Span(t.SilenceTimeout),
		CancelGrace: config.Span(a.cfg.Agent.CancelGrace),
		MaxLogBytes: a.cfg.Limits.MaxLogBytes,
		Observe:     a.light.Turns(),
		Artifacts: turn.Artifacts{
			MaxFileBytes: f.MaxFileBytes, MaxToolOutputBytes: f.MaxToolOutputBytes,
			MaxTaskBytes: f.MaxTaskBytes, MaxAnswerBytes: f.MaxAnswerBytes,
			FileBaseDir: f.FileBaseDir, FileSources: f.FileSources,
		},
	}
}

// connectionLimits have no write time-out: a stream may live for days, so whoever writes
// bounds each write.
func (a *App) connectionLimits() edge.Limits {
	l := a.cfg.Limits
	return edge.Limits{
		ReadHeader: config.Span(l.ReadHeaderTimeout), ReadBody: config.Span(l.BodyTimeout), Idle: config.Span(l.IdleTimeout),
		HeaderBytes: l.MaxHeaderBytes, Streams: l.H2MaxConcurrentStreams,
	}
}

// Logger writes logs to w as the configuration asks.
func Logger(cfg *config.Config, w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelInfo // the schema knows no other names
	}
	o := &slog.HandlerOptions{Level: level}
	if asText(cfg.Log.Format, w) {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// newHandler is the edge with the bindings and the card behind it.
func (g *generation) newHandler() (http.Handler, error) {
	l := g.cfg.Limits
	b := binding.New(binding.Options{
		Service: ops.New(ops.Options{
			Engine: g.engine, Store: g.store,
			StrictTerminalSubscribe: g.cfg.StrictTerminalSubscribe,
			MaxMessageBytes:         g.cfg.Tasks.MaxMessageBytes,
			ExtendedCard:            g.extended,
		}),
		Wired:         g.offered,
		Permit:        g.permit,
		StrictVersion: g.cfg.StrictVersionHeader,
		Extensions:    g.extensionURIs(),
		JSONRPCPath:   g.cfg.JSONRPCPath, RESTPrefix: g.cfg.RESTPrefix,
		Routes:    map[string]http.Handler{card.Path: g.card},
		KeepAlive: config.Span(l.KeepAlive), WriteTimeout: config.Span(l.WriteTimeout),
		MaxDepth: l.MaxDepth, MaxStreams: l.MaxStreams, MaxEach: l.MaxStreamsPerPrincipal, Streams: &g.counters.streams,
		Log: g.log, Observe: g.light.Binding(),
	})
	return edge.Handler(edge.Options{
		Auth:    g.authenticator(),
		Public:  g.public,
		Binding: b.Binding,
		MaxBody: int64(l.MaxBodyBytes),
		Log:     g.log,
		Observe: g.light.Edge(),
		Guard:   g.guard(),
	}, g.named(b)), nil
}

// public paths need no credentials: the card is how a client learns which to get (A2A
// §8.2), and whoever looks for it under an older name should hear that it is not there.
func (g *generation) public(r *http.Request) bool {
	if r.URL.Path == card.Path {
		return !g.cfg.CardRequiresAuth
	}
	return strings.HasPrefix(r.URL.Path, "/.well-known/")
}

// useDriver takes the embedder's driver, or the one that the configuration names.
func (a *App) useDriver(d turn.Driver) {
	if d == nil {
		d = a.configuredDriver()
	}
	a.driver, a.undrive, a.drive = d, func() {}, func(context.Context) error { return nil }
	if l, ok := d.(interface{ Listen(context.Context) error }); ok {
		a.drive = l.Listen
	}
	if c, ok := d.(interface{ Close() }); ok {
		a.undrive = c.Close
	}
	if n := a.cfg.Agent.MaxSessions; n > 0 {
		a.driver = bounded{d, n}
	}
}

// configuredDriver is the one that agent.driver names.
func (a *App) configuredDriver() turn.Driver {
	if c := a.cfg.Agent.AGUI; c != nil {
		return a.aguiDriver(c)
	}
	c := a.cfg.Agent.Child
	if a.cfg.Agent.Driver != "child" || c == nil { // a configuration that was checked has the command
		return demo.New(demo.Options{FileBaseDir: a.cfg.Artifacts.FileBaseDir, Logger: a.log})
	}
	o := child.Options{
		Command: c.Command, Args: c.Args, Dir: c.Dir, Env: c.Env, EnvPass: c.EnvPass,
		StopGrace: config.Span(c.StopGrace), Logger: a.log,
		Single: c.Sessions == "single", MaxSessions: a.cfg.Agent.MaxSessions, IdleTimeout: config.Span(c.IdleTimeout),
		StartTimeout: config.Span(c.StartTimeout), MaxLineBytes: c.MaxLineBytes,
	}
	if c.Protocol == "json" {
		return child.NewJSON(o)
	}
	return child.NewText(o)
}

// bounded is a driver whose agent gets fewer sessions than it could take.
type bounded struct {
	turn.Driver
	sessions int
}

// Agent is the driver's, with the bound.
func (b bounded) Agent() turn.Agent {
	agent := b.Driver.Agent()
	agent.MaxSessions = b.sessions
	return agent
}
