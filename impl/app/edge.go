package app

import (
	"crypto/tls"
	"errors"
	"sync"

	"a2aserve/impl/binding"
	"a2aserve/impl/config"
	"a2aserve/impl/edge"
)

// counters are what a change of configuration must not forget: whoever has used up
// a bound has done so under the next generation too.
type counters struct {
	streams binding.Streams
	gate    edge.Gate

	mu                    sync.Mutex // guards what follows
	perAddress, perCaller counted
}

// counted is a rate, and what it was made of.
type counted struct {
	options edge.RateOptions
	rate    *edge.Rate
}

// with gives the rate of these options; the same one as long as they are the same.
func (c *counted) with(perMinute, burst, callers int) *edge.Rate {
	o := edge.RateOptions{PerMinute: perMinute, Burst: burst, Callers: callers}
	if c.rate == nil || c.options.PerMinute != o.PerMinute || c.options.Burst != o.Burst || c.options.Callers != o.Callers {
		c.options, c.rate = o, edge.NewRate(o)
	}
	return c.rate
}

// guard bounds the callers as the configuration asks.
func (g *generation) guard() edge.Guard {
	l, r, c := g.cfg.Limits, g.cfg.Limits.Rate, &g.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	guard := edge.Guard{
		CORS:          edge.NewCORS(g.cfg.CORSOrigins),
		PerAddress:    c.perAddress.with(r.PerAddress, r.AddressBurst, r.MaxCallers),
		PerPrincipal:  c.perCaller.with(r.PerPrincipal, r.PrincipalBurst, r.MaxCallers),
		Address:       edge.Forwarded{Trusted: g.cfg.TrustedProxies()}.Client,
		MaxConcurrent: l.MaxConcurrentRequests,
		Gate:          &c.gate,
	}
	if g.cfg.TLS != nil {
		guard.HSTS = config.Span(g.cfg.TLS.HSTSMaxAge)
	}
	return guard
}

var errTLSSwitched = errors.New("tls: cannot be switched on or off while the server runs; restart it")

// useTLS reads the certificate and its key, where HTTPS is served. What kind of server
// answers at the address was settled at the start.
func (g *generation) useTLS() (err error) {
	t := g.cfg.TLS
	if (t != nil) != (g.App.cfg.TLS != nil) {
		return errTLSSwitched
	}
	if t == nil {
		return nil
	}
	o := edge.TLSOptions{CertFile: t.CertFile, KeyFile: t.KeyFile, ClientCAFile: t.ClientCAFile, Log: g.log}
	if t.MinVersion == "1.3" {
		o.MinVersion = tls.VersionTLS13
	}
	g.tls, err = edge.NewTLS(o)
	return err
}

// tlsFor is the TLS side of a new connection.
func (a *App) tlsFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	return a.current.Load().tls.ConfigFor(hello)
}

// scheme is how the server is reached where nothing else is configured.
func (g *generation) scheme() string {
	if g.cfg.TLS != nil {
		return "https"
	}
	return "http"
}
