package check

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

var transportChecks = []*Check{
	{ID: "tls.used", Level: Must, Section: "7.1", Title: "Everything but the machine itself is reached over https", run: tlsUsed},
	{ID: "tls.old", Level: Should, Section: "13.4", Title: "TLS 1.1 and older are refused", Needs: []Need{Secure}, run: tlsOld},
	{ID: "tls.modern", Level: Should, Section: "7.1", Title: "TLS 1.3 is spoken", Needs: []Need{Secure}, run: tlsModern},
	{ID: "tls.hsts", Level: Should, Section: "13.4", Title: "Browsers are told to stay with https", Needs: []Need{Secure}, run: tlsHSTS},
	{ID: "cors.credentials", Level: May, Section: "Fetch §3.3", Title: "Scripts of unknown origins may not use a user's credentials", run: corsCredentials},
	{ID: "cors.preflight", Level: May, Section: "Fetch §3.3", Title: "A preflight from an unknown origin is answered without harm", Each: true, run: corsPreflight},
}

// The machine itself is exempt: there is no wire to listen on.
func tlsUsed(t *trial) {
	all := []string{t.cardURL}
	for _, one := range t.card.Interfaces {
		all = append(all, one.URL)
	}
	remote := false
	for _, raw := range all {
		u, err := url.Parse(raw)
		if err != nil {
			continue
		}
		if _, local := loopback(u.Hostname()); !local {
			remote = true
			if u.Scheme == "http" {
				t.mistake("%s is reached without encryption", t.redact(raw))
			}
		}
	}
	if !remote {
		t.na("it runs on this machine")
	}
}

func (t *trial) address() string { return net.JoinHostPort(t.base.Hostname(), port(t.base)) }

// The certificate does not matter here, since the handshake is not to get that far.
func tlsOld(t *trial) {
	if err := t.handshake(t.address(), tls.VersionTLS11); err == nil {
		t.fail("a handshake with TLS 1.1 succeeded")
	}
}

// The client prefers the newest version, so what it got is the best of the server's.
func tlsModern(t *trial) {
	cfg := &tls.Config{}
	if t.options.TLS != nil {
		cfg = t.options.TLS.Clone()
	}
	d := tls.Dialer{Config: cfg}
	c, err := d.DialContext(t.ctx, "tcp", t.address())
	if err != nil {
		t.fail("no handshake: %s", err)
	}
	defer c.Close()
	if v := c.(*tls.Conn).ConnectionState().Version; v < tls.VersionTLS13 {
		t.fail("the connection is %s", tls.VersionName(v))
	}
}

// Only browsers heed it, but they keep it for every later visit.
func tlsHSTS(t *trial) {
	t.show(t.cardSeen)
	if t.cardSeen.header.Get("Strict-Transport-Security") == "" {
		t.fail("there is no Strict-Transport-Security")
	}
}

// Giving back whatever origin asks, with credentials, lets any page act for its visitor.
func corsCredentials(t *trial) {
	x := t.fetch(http.MethodGet, "Origin", stranger)
	if x.header.Get("Access-Control-Allow-Credentials") == "true" && x.header.Get("Access-Control-Allow-Origin") == stranger {
		t.mistake("the card lets %s read it with a user's credentials", stranger)
	}
	for _, f := range t.faces {
		p := f.preflight()
		if p.header.Get("Access-Control-Allow-Credentials") == "true" && p.header.Get("Access-Control-Allow-Origin") == stranger {
			t.mistake("%s lets %s call it with a user's credentials", f.Name(), stranger)
		}
	}
}

// preflight asks as a browser does before a script sends a message.
func (f *face) preflight() *Exchange {
	u := f.url
	if f.binding == REST {
		u += "/message:send"
	}
	h := f.headers(anonymous)
	h.Set("Origin", stranger)
	h.Set("Access-Control-Request-Method", http.MethodPost)
	h.Set("Access-Control-Request-Headers", "a2a-version,authorization,content-type")
	return f.note(f.do(ask{method: http.MethodOptions, url: u, header: h, on: f}))
}

// A server that lets nobody in says so by saying nothing.
func corsPreflight(t *trial) {
	x := t.on.preflight()
	switch {
	case x.Status == 0:
		t.fail("no answer: %s", x.Error)
	case x.Status >= 500:
		t.fail("it answers %d", x.Status)
	}
	if v := x.header.Get("Access-Control-Allow-Origin"); v != "" {
		t.note("Access-Control-Allow-Origin is %q", v)
		allowed := strings.ToLower(x.header.Get("Access-Control-Allow-Headers"))
		if allowed != "*" && !slices.Contains(strings.FieldsFunc(allowed, func(r rune) bool { return r == ',' || r == ' ' }), "a2a-version") {
			t.fail("other origins are let in, but they may not send A2A-Version, which every client has to")
		}
	}
}
