// Package app puts a server together from its configuration, runs it and drains it. The
// command, the end-to-end tests and embedders all build the same App.
package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"a2aserve/gen/op"
	"a2aserve/impl/config"
	"a2aserve/impl/edge"
	"a2aserve/impl/light"
	"a2aserve/impl/store"
	"a2aserve/impl/turn"
)

// Options are what a configuration file cannot say.
type Options struct {
	Driver   turn.Driver  // nil: the configuration's agent.driver; closed in the end if it has a Close method
	Unwired  []string     // operations that are not offered, by name
	Listener net.Listener // nil: one is opened on the configuration's bind
	Log      *slog.Logger // nil: slog.Default()

	// ExtendedCard has the Agent Card declare an extended one, also while none is configured
	// (extended_card_file): asking for it is then answered with
	// ExtendedAgentCardNotConfiguredError (A2A §3.3.4).
	ExtendedCard bool

	// Reload reads the configuration again; nil: it stays as it is. See App.Reload.
	Reload func() (*config.Config, error)
}

// App is a server that is ready to run. New makes it; Run or Close ends it.
type App struct {
	cfg      *config.Config
	log      *slog.Logger
	wired    func(*op.Operation) bool
	store    *store.Store
	engine   *turn.Engine
	driver   turn.Driver
	drive    func(context.Context) error // opens what the driver listens on
	undrive  func()                      // ends the driver
	listener net.Listener
	server   *http.Server
	light    *light.Light
	admin    *admin
	current  atomic.Pointer[generation] // what requests enter; replaced under reloading
	counters counters                   // what generations hand on
	reload   func() (*config.Config, error)
	probe    probe
	asRead   map[string][sha256.Size]byte // the configuration's files, for watch

	extendedWired bool // Options.ExtendedCard

	reloading sync.Mutex // one reload at a time, and none once the server stops
	stopping  bool       // guarded by reloading

	closed   sync.Once
	closeErr error
}

// New opens the store, settles what a last run left behind, and listens; requests wait
// until Run. An error that the configuration is to blame for is a config.Errors or a
// *card.InvalidError, and then nothing has been opened or made.
func New(ctx context.Context, cfg *config.Config, o Options) (_ *App, err error) {
	a := &App{cfg: cfg, log: o.Log, listener: o.Listener, reload: o.Reload, probe: newProbe(), extendedWired: o.ExtendedCard}
	a.asRead = fingerprints(absolute(cfg.Files)) // opening the store may take long
	if a.log == nil {
		a.log = slog.Default()
	}
	if a.wired, err = wiring(o.Unwired); err != nil {
		return nil, err
	}
	a.useDriver(o.Driver)
	defer func() {
		if err != nil {
			a.abandon()
		}
	}()
	if err := a.openLight(ctx); err != nil {
		return nil, err
	}
	// A card that cannot be served is told before anything is opened.
	if err := (&generation{App: a, cfg: cfg}).useCards("http://localhost"); err != nil {
		return nil, err
	}
	// Orphans are settled before the listener opens, so that no client ever sees a task
	// that will never move (decision 26).
	if err := a.openStore(ctx); err != nil {
		return nil, err
	}
	if err := a.drive(ctx); err != nil {
		return nil, err
	}
	a.engine = turn.New(a.engineOptions())
	if a.listener == nil {
		if a.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", cfg.Bind); err != nil {
			return nil, fmt.Errorf("cannot listen: %w", err)
		}
	}
	if err := a.openAdmin(ctx); err != nil {
		return nil, err
	}
	// Only now is the address known: the port may have been 0.
	g, err := a.newGeneration(cfg)
	if err != nil {
		return nil, err
	}
	a.current.Store(g)
	a.server = edge.Server(http.HandlerFunc(a.serve), a.connectionLimits(), a.log)
	if cfg.TLS != nil {
		edge.Secure(a.server, a.tlsFor)
	}
	g.warn()
	return a, nil
}

// optional are the capabilities that this server does not offer yet, whoever asks.
var optional = []string{"pushNotifications"}

// wiring says which operations are offered, all but the ones named.
func wiring(unwired []string) (func(*op.Operation) bool, error) {
	for _, name := range unwired {
		if op.ByName(name) == nil {
			return nil, fmt.Errorf("unwired: %q is no operation of the protocol", name)
		}
	}
	return func(o *op.Operation) bool {
		return !slices.Contains(unwired, o.Name) && !slices.Contains(optional, o.Capability)
	}, nil
}

func (a *App) openStore(ctx context.Context) (err error) {
	sync := store.FULL
	if a.cfg.Store.Synchronous == "NORMAL" {
		sync = store.NORMAL
	}
	a.store, err = store.Open(ctx, store.Options{
		Path:            a.cfg.Store.Path,
		Synchronous:     sync,
		TTL:             config.Span(a.cfg.Tasks.TTL),
		MaxPerContext:   a.cfg.Tasks.MaxPerContext,
		MaxPerPrincipal: a.cfg.Tasks.MaxPerPrincipal,
		MaxBytes:        int64(a.cfg.Store.MaxBytes),
		Progress:        func(line string) { a.log.Info(line) },
		Observe:         a.light.Store(),
	})
	if err != nil {
		return err
	}
	n, err := a.store.SettleOrphans(ctx, turn.OrphanStatus)
	if err != nil {
		return fmt.Errorf("store %s: cannot settle the tasks of the last run: %w", a.store.Path(), err)
	}
	if n > 0 {
		a.log.Warn("tasks that the last run left unfinished have failed", "tasks", n)
	}
	return nil
}

// warn says what an operator may not have meant. Logs are where it is seen: the banner
// is lost where a supervisor starts the server.
func (g *generation) warn() {
	g.warnCards()
	if addr := g.listener.Addr().String(); !g.cfg.Authenticated() && !config.Loopback(addr) {
		g.log.Warn("ANYBODY WHO REACHES THIS ADDRESS MAY USE THE AGENT AND READ ITS TASKS: no authentication is configured (bearer_token, auth), and the address is not a loopback one", "address", addr)
	}
}

// Addr is the address that is listened on.
func (a *App) Addr() net.Addr { return a.listener.Addr() }

// URL is the base of all addresses in the Agent Card, without a slash at its end.
func (a *App) URL() string { return a.current.Load().url() }

// Run serves until ctx ends, then drains for at most shutdown_timeout and closes
// everything. It returns nil after a clean drain.
func (a *App) Run(ctx context.Context) error {
	// Buffered, because a Serve that ends by itself is not waited for twice.
	served := make(chan error, 1)
	go func() { served <- edge.Serve(a.server, a.listener) }()
	watching, unwatch := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	if a.reload != nil && a.cfg.Config.Reload.Watch {
		watcher.Go(func() { a.watch(watching) })
	}
	watcher.Go(func() { a.checkAddresses(watching) })
	watcher.Go(func() { a.admin.serve(a.log) })
	defer watcher.Wait()
	defer unwatch()
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("serving ended: %w", err), a.Close())
	case <-ctx.Done():
	}
	a.log.Info("stopping", "timeout", a.current.Load().cfg.ShutdownTimeout)
	err := a.Close()
	<-served
	if err == nil {
		a.log.Info("stopped")
	}
	return err
}

// lastWords is how long open requests may take once their tasks have ended, at least.
const lastWords = 2 * time.Second

// Close ends the server: no new turns, running ones get the rest of shutdown_timeout,
// then open requests end and the store is closed. Reading and cancelling work until the
// turns have ended. Calling it again does nothing more.
func (a *App) Close() error {
	a.closed.Do(func() {
		a.reloading.Lock()
		a.stopping = true
		a.reloading.Unlock()
		deadline := time.Now().Add(config.Span(a.current.Load().cfg.ShutdownTimeout))
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		// Turns end first and requests second: a stream closes after its task has ended,
		// and whoever reads meanwhile is still answered. The store goes last, since
		// both write to it.
		var errs []error
		if err := a.engine.Drain(ctx); err != nil {
			errs = append(errs, fmt.Errorf("draining: %w", err))
		}
		a.undrive()
		// Turns that used up the time leave streams that still have their last frame to send.
		ctx, cancel = context.WithDeadline(context.Background(), later(deadline, time.Now().Add(lastWords)))
		defer cancel()
		if err := edge.Shutdown(ctx, a.server); err != nil {
			a.log.Warn("requests were still open and have been cut off", "error", err)
			errs = append(errs, a.server.Close())
		}
		if err := a.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
		a.current.Load().retire()
		errs = append(errs, a.store.Close())
		a.closeLight()
		a.closeErr = errors.Join(errs...)
	})
	return a.closeErr
}

// abandon gives back what a New that failed has opened, so that the next start does not
// find its own lock.
func (a *App) abandon() {
	if a.engine != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = a.engine.Drain(ctx) // nothing has run yet
	}
	a.undrive()
	if g := a.current.Load(); g != nil {
		g.retire()
	}
	if a.listener != nil {
		_ = a.listener.Close()
	}
	if a.store != nil {
		_ = a.store.Close()
	}
	a.closeLight()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
