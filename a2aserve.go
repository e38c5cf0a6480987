// Package a2aserve puts an agent of a Go program behind the Agent2Agent protocol 1.0.
//
// The agent lives on a Bus: it subscribes to io.input and emits what it does, in the
// vocabulary of package gen/event. New makes a server of a Config and the agent's
// driver; Run serves until its context ends. docs/embedding.md has a complete program.
//
//	b := a2aserve.NewBus(nil)
//	a2aserve.On(b, func(in event.Input) {
//		b.Emit(event.TurnStart{TurnID: in.TaskID, TaskID: in.TaskID})
//		b.Emit(event.Output{TurnID: in.TaskID, Role: "assistant", Content: "You said: " + in.Text})
//		b.Emit(event.TurnEnd{TurnID: in.TaskID})
//	})
//	cfg := a2aserve.DefaultConfig()
//	cfg.Card = &a2aserve.Card{Name: …, Description: …, Version: …, Skills: …}
//	err := a2aserve.Run(ctx, cfg, a2aserve.Options{Driver: a2aserve.OnBus(b, a2aserve.Agent{})})
package a2aserve

import (
	"context"
	"log/slog"

	settings "a2aserve/gen/config"
	"a2aserve/gen/event"
	"a2aserve/impl/app"
	"a2aserve/impl/config"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/turn"
)

// Configuration. The keys, their units, bounds and defaults are those of a configuration
// file; spec/config.schema.json describes them.
type (
	// Config configures a server. Begin with DefaultConfig: zero means zero, not the
	// default. Store.Path says where tasks are kept.
	Config = settings.Config
	// Card is what the Agent Card says of the agent.
	Card = settings.Card
	// Skill is one ability in the card.
	Skill = settings.Skill
	// Provider is who offers the agent.
	Provider = settings.Provider
	// ConfigErrors are all the mistakes of a configuration.
	ConfigErrors = config.Errors
)

// The server.
type (
	// Options are what a Config cannot say: the agent's driver, the operations that are
	// not offered, a listener, a log. Agent Card and refusals follow Options.Unwired.
	Options = app.Options
	// Server is a server that is ready to run; end it with Run or Close.
	Server = app.App
	// Driver is the way to an agent. The server closes one that has a Close method.
	Driver = turn.Driver
)

// The bus inside the process, and the agent on it.
type (
	// Bus carries events between the server and the agent, synchronously.
	Bus = bus.Bus
	// Proposal is a message on its way to the agent, which a handler given to Bus.Before
	// may veto.
	Proposal = bus.Proposal
	// HandlerOption changes how a handler is subscribed: WithPriority.
	HandlerOption = bus.Option
	// Agent says what the agent on a bus reads and writes. An agent that has one
	// conversation only names it as SessionID: the first caller's context claims it.
	Agent = bus.Options
)

// DefaultConfig is the configuration of a server that was given none. Its card is the
// demo agent's and wants replacing.
func DefaultConfig() Config {
	c, err := config.Default()
	if err != nil {
		panic("a2aserve: built-in configuration: " + err.Error())
	}
	return c.Config
}

// New makes a server of a configuration in code: it opens the store and listens.
// Mistakes in cfg are returned together as ConfigErrors, before anything is opened.
func New(ctx context.Context, cfg Config, o Options) (*Server, error) {
	c, err := config.Check(cfg)
	if err != nil {
		return nil, err
	}
	return app.New(ctx, c, o)
}

// NewFromFile is New with a configuration file, which is read again when it changes
// (reload.watch) and when Reload is called.
func NewFromFile(ctx context.Context, path string, o Options) (*Server, error) {
	c, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	if o.Reload == nil {
		o.Reload = func() (*config.Config, error) { return config.Load(path) }
	}
	return app.New(ctx, c, o)
}

// NewFromYAML is New with the text of a configuration file, which JSON is too; name
// stands for it in errors. A program that hands over its own driver need not name one
// under agent.driver.
func NewFromYAML(ctx context.Context, name string, text []byte, o Options) (*Server, error) {
	var overrides []config.Override
	if o.Driver != nil { // the schema wants a name; the driver in Options is used
		overrides = append(overrides, config.Override{Key: "agent.driver", Value: "demo", From: name})
	}
	c, err := config.Parse(name, text, overrides...)
	if err != nil {
		return nil, err
	}
	return app.New(ctx, c, o)
}

// Run makes a server and serves until ctx ends; then it drains, for at most
// shutdown_timeout.
func Run(ctx context.Context, cfg Config, o Options) error {
	s, err := New(ctx, cfg, o)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// NewBus returns a bus. A nil logger means slog.Default().
func NewBus(log *slog.Logger) *Bus { return bus.New(log) }

// OnBus returns the driver of the agent on b.
func OnBus(b *Bus, a Agent) Driver { return bus.NewDriver(b, a) }

// On has h called for every event of type E on b, until the returned function is called.
func On[E event.Event](b *Bus, h func(E), opts ...HandlerOption) (unsubscribe func()) {
	return bus.On(b, h, opts...)
}

// WithPriority makes a handler run before those with a higher number; 0 otherwise.
func WithPriority(p int) HandlerOption { return bus.WithPriority(p) }
