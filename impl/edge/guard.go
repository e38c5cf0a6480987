package edge

import (
	"net/http"
	"net/netip"
	"strconv"
	"time"
)

// Guard bounds what callers may do, whoever they are. The zero value bounds nothing.
type Guard struct {
	CORS *CORS // nil: no page of another origin may call

	// The public paths are not counted by any of these.
	PerAddress    *Rate                          // counted before authentication
	PerPrincipal  *Rate                          // counted after it, of callers that are authenticated
	Address       func(*http.Request) netip.Addr // where a request comes from; nil: the peer
	MaxConcurrent int                            // requests at once, streams aside; 0 sets no bound
	Gate          *Gate                          // counts them; nil: one of its own

	HSTS time.Duration // what browsers are told over TLS (RFC 6797); 0: nothing
}

func (g Guard) withDefaults() Guard {
	if g.Address == nil {
		g.Address = Forwarded{}.Client
	}
	if g.Gate == nil {
		g.Gate = &Gate{}
	}
	return g
}

// checkAddress counts a request that nobody has authenticated yet. A connection without an
// address, such as a Unix socket, is local and not counted.
func (g *Guard) checkAddress(from netip.Addr) error {
	if !from.IsValid() {
		return nil
	}
	return g.PerAddress.check(network(from), "address")
}

// Shared by all answers, as those of wire.Mark are, and for the same reason.
var noSources, noReferrer, noStore = []string{"default-src 'none'"}, []string{"no-referrer"}, []string{"no-store"}

// harden sets what every answer says. Handlers that know better replace it: the Agent
// Card may be cached, and streams say what they are.
func (g *Guard) harden(h http.Header, r *http.Request) {
	h["Content-Security-Policy"] = noSources
	h["Referrer-Policy"] = noReferrer
	h["Cache-Control"] = noStore
	if g.HSTS > 0 && r.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age="+strconv.FormatInt(int64(g.HSTS/time.Second), 10))
	}
}
