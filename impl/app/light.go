package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"a2aserve/impl/config"
	"a2aserve/impl/light"

	"github.com/mattn/go-isatty"
)

// asText says whether entries are for people.
func asText(format string, w io.Writer) bool {
	if format != "auto" {
		return format == "text"
	}
	f, ok := w.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(f.Fd())
}

// openLight comes first, since every part gets its hooks as it is made.
func (a *App) openLight(ctx context.Context) (err error) {
	a.log = light.NewLogger(a.log)
	a.light, err = light.Open(ctx, light.Options{Log: a.log, Metrics: a.cfg.Admin.Bind != ""})
	return err
}

// admin is the operators' listener. A nil one is not there.
type admin struct {
	listener net.Listener
	server   *http.Server
}

// openAdmin listens where metrics and health are served, if anywhere.
func (a *App) openAdmin(ctx context.Context) error {
	a.light.Watch(a.engine.Stats, a.store.Stats)
	bind := a.cfg.Admin.Bind
	if bind == "" {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", bind)
	if err != nil {
		return fmt.Errorf("admin.bind: cannot listen: %w", err)
	}
	a.admin = &admin{l, &http.Server{
		Handler:           a.light.Handler(),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}}
	// The configuration was judged by what is written; this is what a name has come to.
	if !a.cfg.Admin.AllowRemote && !config.Loopback(l.Addr().String()) {
		return fmt.Errorf("admin.bind: %s is %s, which other machines reach: set admin.allow_remote if they may", bind, l.Addr())
	}
	a.log.Info("metrics and health are served", "address", l.Addr().String())
	return nil
}

// AdminAddr is where metrics and health are served; nil: nowhere.
func (a *App) AdminAddr() net.Addr {
	if a.admin == nil {
		return nil
	}
	return a.admin.listener.Addr()
}

// serve answers until close; whoever starts it waits for it.
func (d *admin) serve(log *slog.Logger) {
	if d == nil {
		return
	}
	if err := d.server.Serve(d.listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		log.Error("metrics and health are not served any more", "error", err)
	}
}

// closeLight is the last of all: until then the drain can be watched, and what the other
// parts said in the end is still sent. A collector that is down costs lastWords at most.
func (a *App) closeLight() {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if d := a.admin; d != nil {
		if err := d.server.Shutdown(ctx); err != nil {
			_ = d.server.Close() // a scrape that takes so long is not waited for
		}
		_ = d.listener.Close() // of a server that was never run
	}
	if a.light != nil {
		_ = a.light.Close(ctx)
	}
}
