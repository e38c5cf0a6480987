package app

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"a2aserve/gen/op"
	"a2aserve/impl/call"
	"a2aserve/impl/card"
	"a2aserve/impl/config"
	"a2aserve/impl/edge"
)

// useCards makes the Agent Card and, where one is configured, the extended one. Their
// errors are *card.InvalidErrors.
func (g *generation) useCards(base string) (err error) {
	// A check does not know yet which port will be free. No card ever names port 0.
	base = strings.TrimSuffix(base, ":0")
	o := g.cardOptions(base)
	if g.rendered() {
		o.Base, o.Vary = func(r *http.Request) string { return call.From(r.Context()).Base }, edge.ForwardedHeaders
	}
	if g.card, err = card.New(o); err != nil || g.cfg.ExtendedCardFile == "" {
		return err
	}
	o.Card, o.File = nil, g.cfg.ExtendedCardFile
	g.extended, err = card.New(o)
	return err
}

// warnCards says what of the cards may surprise the operator.
func (g *generation) warnCards() {
	for _, c := range []*card.Card{g.card, g.extended} {
		if c == nil {
			continue
		}
		for _, w := range c.Warnings() {
			g.log.Warn("the Agent Card is served with a change", "change", w)
		}
	}
	for _, p := range g.cfg.TrustedProxies() {
		if p.Bits() == 0 {
			g.log.Warn("ANYBODY MAY SAY WHO HE IS AND WHICH ADDRESS HE USED: proxy.trusted_cidrs holds every address", "range", p.String())
		}
	}
}

// offered says whether an operation is; the card declares what is. The extended card is,
// once there is one, or an embedder answers for it.
func (g *generation) offered(o *op.Operation) bool {
	return g.wired(o) && (o.Capability != "extendedAgentCard" || g.cfg.ExtendedCardFile != "" || g.extendedWired)
}

// rendered says whether the card names the address that its caller used. A configured
// public_url is what clients shall use, whatever a proxy calls itself.
func (g *generation) rendered() bool {
	return g.cfg.PublicURL == "" && len(g.cfg.TrustedProxies()) > 0
}

// named notes at which address the caller knows the server.
func (g *generation) named(next http.Handler) http.Handler {
	if !g.rendered() {
		return next
	}
	f := edge.Forwarded{Trusted: g.cfg.TrustedProxies()}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := g.local(r)
		if scheme, host, prefix := f.Outer(r); host != "" {
			base = scheme + "://" + host + prefix
		}
		call.From(r.Context()).Base = base
		next.ServeHTTP(w, r)
	})
}

// local is the address that a connection was made to, where the server listens on every
// interface: that stands for no address, this one is where the caller is now. Elsewhere
// it is empty, since the card has an address of its own.
func (g *generation) local(r *http.Request) string {
	if !config.Wildcard(g.listener.Addr().String()) {
		return ""
	}
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ""
	}
	ap, err := netip.ParseAddrPort(addr.String())
	if ip := ap.Addr().Unmap(); err != nil || ip.IsUnspecified() || ip.Zone() != "" {
		return ""
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()).String()
}
