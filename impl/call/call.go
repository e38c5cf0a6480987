// Package call says who calls and what was negotiated. It imports nothing of the
// house, so that every layer may ask.
package call

import (
	"context"
	"net/netip"
)

// Principal is who a request speaks for. Only ID is ever compared.
type Principal struct {
	ID     string   // never empty; validators refuse control characters in it
	Tenant string   // as the identity provider names it; not A2A's tenant
	Scopes []string // what the credential allows
}

// Anonymous is everybody's principal where no identity is configured. No validator
// can produce it, because its ID holds a control character.
var Anonymous = Principal{ID: "\x01anonymous"}

// Call is one request's identity, what it negotiated, and what logs, metrics and traces
// say of it. Later layers fill in what they learn; one goroutine at a time uses it.
type Call struct {
	Principal  Principal
	RequestID  string   // for logs; sent as X-Request-Id
	Operation  string   // the binding fills it in once it knows; for logs
	Version    string   // protocol version the request is processed as
	Extensions []string // URIs of requested extensions that are supported, in order, once each (A2A §3.2.6)

	// Base is the address that the caller knows the server by, as far as trusted proxies
	// tell; empty where it is the Agent Card's own.
	Base string

	Client netip.Addr // who sent it, as far as trusted proxies tell; may be the zero Addr
	Route  string     // template of the path, such as /a2a/v1/tasks/{id}; empty where there is none
	Task   string     // the task that it made or names: as the client wrote it, so of any length
	// Failure is the reason of the error that it was answered with, and Status the HTTP
	// status of that error on a binding that shows it; empty and 0 for any other answer.
	Failure string
	Status  int
}

// Left is the Failure of a request whose client did not wait for the answer, and LeftStatus
// the status that stands for it, which is never sent.
const (
	Left       = "CLIENT_LEFT"
	LeftStatus = 499
)

type key struct{}

// With returns a context that carries c.
func With(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// From returns the call of ctx. It panics where the edge has been left out, since
// going on would mean acting for nobody.
func From(ctx context.Context) *Call {
	return ctx.Value(key{}).(*Call)
}

// Find is From for what also works without an edge: nil then.
func Find(ctx context.Context) *Call {
	c, _ := ctx.Value(key{}).(*Call)
	return c
}
