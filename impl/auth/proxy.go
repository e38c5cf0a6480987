package auth

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"
)

// ProxyOptions configure what a proxy says of its callers.
type ProxyOptions struct {
	Trusted   []netip.Prefix // where the proxies are
	Principal string         // header that names the caller
	Tenant    string         // header; empty: none
	Scopes    string         // header, scopes with commas or spaces between; empty: none
}

// Proxy believes the headers of a proxy that has authenticated the caller itself.
type Proxy struct{ o ProxyOptions }

// NewProxy wants to know whom to believe: an empty list would be nobody, and a network
// of length 0 everybody.
func NewProxy(o ProxyOptions) (*Proxy, error) {
	if len(o.Trusted) == 0 || o.Principal == "" {
		return nil, errors.New("proxy_headers: no trusted network or no principal header")
	}
	for i, p := range o.Trusted {
		if !p.IsValid() || p.Bits() == 0 {
			return nil, fmt.Errorf("proxy_headers: network %d trusts every address", i+1)
		}
	}
	return &Proxy{o}, nil
}

// Authenticate looks at the connection's other end only: X-Forwarded-For is as easily
// made up as the headers that it would vouch for.
func (v *Proxy) Authenticate(r *http.Request) (call.Principal, error) {
	from := peer(r)
	if !slices.ContainsFunc(v.o.Trusted, func(p netip.Prefix) bool { return p.Contains(from) }) {
		return call.Principal{}, refuse(NoCredential, errors.New("the peer is no trusted proxy"))
	}
	var p call.Principal
	var err error
	if p.ID, err = only(r, v.o.Principal, true); err != nil {
		return p, refuse(Invalid, err)
	}
	if err := CheckPrincipal(p); err != nil {
		return p, refuse(Invalid, err)
	}
	if p.Tenant, err = only(r, v.o.Tenant, false); err != nil {
		return p, refuse(Invalid, err)
	}
	scopes, err := only(r, v.o.Scopes, false)
	if err != nil {
		return p, refuse(Invalid, err)
	}
	p.Scopes = strings.FieldsFunc(scopes, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
	return p, nil
}

// only gives a header that is there once. One that is there twice is the caller's beside
// the proxy's.
func only(r *http.Request, name string, needed bool) (string, error) {
	if name == "" {
		return "", nil
	}
	switch values := r.Header.Values(name); {
	case len(values) > 1:
		return "", fmt.Errorf("the header %s is there %d times", name, len(values))
	case len(values) == 1:
		return values[0], nil
	case needed:
		return "", fmt.Errorf("the proxy has sent no header %s", name)
	}
	return "", nil
}

// Type is "proxy_headers".
func (v *Proxy) Type() string { return "proxy_headers" }

// Scheme is none: what clients send is between them and the proxy.
func (v *Proxy) Scheme() (string, a2a.SecurityScheme) { return "", a2a.SecurityScheme{} }

// Close does nothing.
func (v *Proxy) Close() {}
