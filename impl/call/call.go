// Package call says who calls and what was negotiated. It imports nothing of the
// house, so that every layer may ask.
package call

import "context"

// Principal is who a request speaks for. Only ID is ever compared.
type Principal struct {
	ID     string   // never empty; validators refuse control characters in it
	Tenant string   // as the identity provider names it; not A2A's tenant
	Scopes []string // what the credential allows
}

// Anonymous is everybody's principal where no identity is configured. No validator
// can produce it, because its ID holds a control character.
var Anonymous = Principal{ID: "\x01anonymous"}

// Call is one request's identity and what it negotiated.
type Call struct {
	Principal  Principal
	RequestID  string   // for logs; sent as X-Request-Id
	Operation  string   // the binding fills it in once it knows; for logs
	Version    string   // protocol version the request is processed as
	Extensions []string // URIs of requested extensions that are supported, in order, once each (A2A §3.2.6)
}

type key struct{}

// With returns a context that carries c. Later layers fill in what they learn.
func With(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// From returns the call of ctx. It panics where the edge has been left out, since
// going on would mean acting for nobody.
func From(ctx context.Context) *Call {
	return ctx.Value(key{}).(*Call)
}
