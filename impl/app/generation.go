package app

import (
	"net"
	"net/http"
	"slices"
	"sync"

	"a2aserve/impl/auth"
	"a2aserve/impl/card"
	"a2aserve/impl/config"
	"a2aserve/impl/edge"
)

// generation is what one reading of the configuration makes: the edge, the bindings and
// the card. A reload makes another one; requests that are under way keep theirs, so that
// no stream is dropped. Store, engine, driver and listener are the App's and stay.
type generation struct {
	*App
	cfg     *config.Config // in the place of the App's, which is the one of the start
	auth    *auth.Chain    // nil: nobody is asked
	tls     *edge.TLS      // nil: HTTP
	card    *card.Card
	handler http.Handler
	closers []func()

	extended *card.Card // nil: there is none

	mu      sync.Mutex // guards what follows
	users   int        // requests under way
	retired bool       // no request enters any more
}

// newGeneration makes the parts that follow cfg. Their addresses follow a.listener; a check
// has none, and names the configured address.
func (a *App) newGeneration(cfg *config.Config) (_ *generation, err error) {
	g := &generation{App: a, cfg: cfg}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	if err = g.useTLS(); err != nil {
		return nil, err
	}
	if err = g.useAuth(); err != nil {
		return nil, err
	}
	if err = g.useCards(g.url()); err != nil {
		return nil, err
	}
	if g.handler, err = g.newHandler(); err != nil {
		return nil, err
	}
	return g, nil
}

// onClose has f called once no request needs the generation any more. Parts that start
// goroutines are ended by it.
func (g *generation) onClose(f func()) { g.closers = append(g.closers, f) }

func (g *generation) close() {
	for _, f := range slices.Backward(g.closers) {
		f()
	}
}

// enter reports whether a request may use the generation; it then has to leave.
func (g *generation) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired {
		return false
	}
	g.users++
	return true
}

func (g *generation) leave() {
	g.mu.Lock()
	g.users--
	last := g.retired && g.users == 0
	g.mu.Unlock()
	if last {
		g.close()
	}
}

// retire lets nobody in any more; the last one who leaves closes.
func (g *generation) retire() {
	g.mu.Lock()
	last := !g.retired && g.users == 0
	g.retired = true
	g.mu.Unlock()
	if last {
		g.close()
	}
}

// serve hands a request to the generation in use, and keeps that one for all of it.
func (a *App) serve(w http.ResponseWriter, r *http.Request) {
	g := a.current.Load()
	for !g.enter() {
		next := a.current.Load()
		if next == g { // retired and not replaced: the server has closed
			http.Error(w, "The server is shutting down", http.StatusServiceUnavailable)
			return
		}
		g = next
	}
	defer g.leave()
	if !a.probe.answered(w, r) {
		g.handler.ServeHTTP(w, r)
	}
}

// url is the base of all addresses in the Agent Card, without a slash at its end.
func (g *generation) url() string {
	if g.cfg.PublicURL != "" {
		return g.cfg.PublicURL
	}
	listened := g.cfg.Bind
	if g.listener != nil {
		listened = g.listener.Addr().String()
	}
	host, port, err := net.SplitHostPort(listened)
	if err != nil {
		return g.scheme() + "://" + listened
	}
	// A name that was configured is what clients know; the port may have been 0.
	if name, _, err := net.SplitHostPort(g.cfg.Bind); err == nil && name != "" && !config.Wildcard(g.cfg.Bind) {
		host = name
	}
	if config.Wildcard(net.JoinHostPort(host, port)) {
		host = "localhost" // a listener of an embedder's own: the one name that is not wrong
	}
	return g.scheme() + "://" + net.JoinHostPort(host, port)
}
