// Package auth tells who a request speaks for (A2A §7.4). Validators are asked in order
// and the first that knows the caller wins; what each of them refuses is merged into one
// answer, which is the same whatever the request was about.
package auth

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"
)

// Validator is one way to know a caller. Its errors are *Refusal; one that waits for
// others ends when the request's context does.
type Validator interface {
	Authenticate(*http.Request) (call.Principal, error)

	// Type is the validator's in the configuration, for logs.
	Type() string

	// Scheme is how the Agent Card names it (A2A §4.5), under a name that validators
	// with the same scheme share; empty where clients have nothing to send.
	Scheme() (name string, scheme a2a.SecurityScheme)

	// Close ends what the validator runs, and waits for it.
	Close()
}

// Options configure a chain.
type Options struct {
	Validators []Validator // at least one, in the order in which they are asked

	// MaxFailures slows an address down that presents more invalid credentials than
	// this in a minute; 0 does not. The address is the call's Client.
	MaxFailures int

	// Proxies are addresses that are not slowed, since others stand behind them. Those of
	// the validators are added.
	Proxies []netip.Prefix
}

// Chain asks its validators in order. It serves any number of requests at once.
type Chain struct {
	validators []Validator
	names      []string
	failures   *failures
	proxies    []netip.Prefix
}

// New makes a chain, which owns its validators from then on.
func New(o Options) (*Chain, error) {
	if len(o.Validators) == 0 {
		return nil, errors.New("auth: no validators")
	}
	c := &Chain{validators: o.Validators, failures: newFailures(o.MaxFailures), proxies: slices.Clone(o.Proxies)}
	count := map[string]int{}
	for _, v := range o.Validators {
		name := v.Type()
		if count[name]++; count[name] > 1 {
			name += "#" + strconv.Itoa(count[name])
		}
		c.names = append(c.names, name)
		if p, ok := v.(*Proxy); ok {
			c.proxies = append(c.proxies, p.o.Trusted...)
		}
	}
	return c, nil
}

// Authenticate gives the principal of the first validator that knows the caller. Its
// errors are *a2a.Error, safe to send. Nothing of the request's body is read.
func (c *Chain) Authenticate(r *http.Request) (call.Principal, error) {
	from := c.client(r)
	if wait := c.failures.wait(from); wait > 0 {
		return call.Principal{}, &a2a.Error{Type: a2a.TooManyRequestsError, Message: "Too many invalid credentials from this address", RetryAfter: wait}
	}
	var worst Refusal
	var causes []error
	for i, v := range c.validators {
		p, err := v.Authenticate(r)
		if err == nil {
			// A validator that names nobody must not let anybody in.
			if err = CheckPrincipal(p); err == nil {
				return p, nil
			}
		}
		refusal, ok := errors.AsType[*Refusal](err)
		if !ok {
			refusal = &Refusal{Kind: Invalid, Cause: err}
		}
		causes = append(causes, fmt.Errorf("%s: %w", c.names[i], err))
		if i == 0 || refusal.Kind > worst.Kind {
			worst = *refusal
		}
	}
	if worst.Kind == Invalid {
		c.failures.note(from)
	}
	worst.Cause = errors.Join(causes...)
	return call.Principal{}, worst.answer()
}

// Security is what the Agent Card declares: the schemes by name, and that any one of them
// will do (A2A §4.5).
func (c *Chain) Security() (map[string]a2a.SecurityScheme, []a2a.SecurityRequirement) {
	schemes := map[string]a2a.SecurityScheme{}
	var requirements []a2a.SecurityRequirement
	for _, v := range c.validators {
		base, scheme := v.Scheme()
		name := base
		for n := 2; schemes[name] != (a2a.SecurityScheme{}) && !reflect.DeepEqual(schemes[name], scheme); n++ {
			name = base + "-" + strconv.Itoa(n)
		}
		if _, there := schemes[name]; there || name == "" {
			continue
		}
		schemes[name] = scheme
		requirements = append(requirements, a2a.SecurityRequirement{Schemes: map[string]a2a.StringList{name: {}}})
	}
	if len(schemes) == 0 {
		return nil, nil // an empty map would be sent as one
	}
	return schemes, requirements
}

// Close ends the validators. Requests must have ended.
func (c *Chain) Close() {
	for _, v := range c.validators {
		v.Close()
	}
}

// client is the address that is slowed down, invalid where it stands for others too: on
// this machine, and where a proxy vouches for its callers, everybody comes from one.
func (c *Chain) client(r *http.Request) netip.Addr {
	from := peer(r)
	if known := call.Find(r.Context()); known != nil && known.Client.IsValid() {
		from = known.Client
	}
	if from.IsLoopback() || slices.ContainsFunc(c.proxies, func(p netip.Prefix) bool { return p.Contains(from) }) {
		return netip.Addr{}
	}
	return from
}

// maxPrincipal bounds an id, in characters: it is part of every row of its tasks.
const maxPrincipal = 256

// CheckPrincipal refuses ids that no validator may produce: the anonymous principal's has
// a control character, so that nobody can claim it.
func CheckPrincipal(p call.Principal) error {
	switch {
	case p.ID == "":
		return errors.New("the principal id is empty")
	case !utf8.ValidString(p.ID) || strings.ContainsFunc(p.ID, unicode.IsControl):
		return errors.New("the principal id holds control characters")
	case utf8.RuneCountInString(p.ID) > maxPrincipal:
		return fmt.Errorf("the principal id is longer than %d characters", maxPrincipal)
	}
	return nil
}
