package auth

import (
	"errors"
	"slices"
	"strings"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"
)

// Kind says why a caller is refused.
type Kind uint8

// The kinds, a later one outweighing the ones before: a caller whose token is at fault
// for one validator may be known to another that cannot be asked right now.
const (
	NoCredential Kind = iota
	Invalid
	Unavailable
	Scope
)

// retryAfter is when to try again with a provider that could not be asked.
const retryAfter = 5 * time.Second

const realm = `Bearer realm="a2aserve"`

// Refusal is why a validator does not know a caller.
type Refusal struct {
	Kind   Kind
	Scopes []string // of Scope: what is needed
	Cause  error    // for the log; it must not repeat the credentials
}

func refuse(k Kind, cause error) error { return &Refusal{Kind: k, Cause: cause} }

// Error is for logs.
func (r *Refusal) Error() string { return "not authenticated: " + r.Cause.Error() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

// Challenge is the WWW-Authenticate header of the answer (RFC 6750 §3), empty where
// another credential would not help.
func (r *Refusal) Challenge() string {
	switch r.Kind {
	case NoCredential:
		return realm
	case Invalid:
		return realm + `, error="invalid_token"`
	case Scope:
		return realm + `, error="insufficient_scope", scope="` + strings.Join(r.Scopes, " ") + `"`
	}
	return ""
}

// answer is the error that is sent. It carries the challenge in its cause.
func (r *Refusal) answer() *a2a.Error {
	switch r.Kind {
	case Scope:
		need := strings.Join(r.Scopes, " ")
		return a2a.PermissionDeniedError.Errorf("The credentials do not allow this; required scope: %s", need).With("scope", need).Because(r)
	case Unavailable:
		e := a2a.UnavailableError.Errorf("The credentials cannot be checked at the moment").Because(r)
		e.RetryAfter = retryAfter
		return e
	}
	return (&a2a.Error{Type: a2a.UnauthenticatedError}).Because(r)
}

// Scopes are what a caller must hold for each kind of access that an operation needs.
// Access without an entry needs none.
type Scopes map[string][]string

var errScope = errors.New("a required scope is missing")

// Permit refuses a principal that lacks one of the scopes. The error is an *a2a.Error.
func (s Scopes) Permit(p call.Principal, access string) error {
	for _, need := range s[access] {
		if !slices.Contains(p.Scopes, need) {
			return (&Refusal{Scope, s[access], errScope}).answer()
		}
	}
	return nil
}
