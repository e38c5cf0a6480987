package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"
)

var (
	errNoCredentials = errors.New("no bearer credentials")
	errTwice         = errors.New("more than one Authorization header")
	errNotAccepted   = errors.New("the token is not accepted")
	errBadToken      = errors.New("must be visible ASCII without spaces")
)

// maxToken bounds a bearer token, in bytes.
const maxToken = 16 << 10

// Bearer takes the token out of the one Authorization header (RFC 6750 §2.1) and looks
// nowhere else: a token in a query ends up in logs, and one in a cookie is sent without
// the user's knowing. Its errors are *Refusal.
func Bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) > 1 {
		return "", refuse(Invalid, errTwice)
	}
	if len(values) == 0 {
		return "", refuse(NoCredential, errNoCredentials)
	}
	scheme, token := strings.Trim(values[0], " \t"), ""
	if i := strings.IndexAny(scheme, " \t"); i >= 0 {
		scheme, token = scheme[:i], strings.Trim(scheme[i:], " \t")
	}
	if !strings.EqualFold(scheme, "Bearer") {
		return "", refuse(NoCredential, errNoCredentials)
	}
	if len(token) > maxToken || !sendable(token) {
		return "", refuse(Invalid, errNotAccepted)
	}
	return token, nil
}

// sendable says whether a token can stand in a header.
func sendable(token string) bool {
	return token != "" && !strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' })
}

// bearerScheme is how the card names validators that take any bearer token.
func bearerScheme() (string, a2a.SecurityScheme) {
	return "bearer", a2a.SecurityScheme{HTTPAuthSecurityScheme: &a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
}

// Token is one shared secret and whom it stands for.
type Token struct {
	Secret    string
	Principal call.Principal
}

// Static accepts a fixed set of bearer tokens.
type Static struct {
	tokens []digest
}

type digest struct {
	sum       [sha256.Size]byte
	principal call.Principal
}

// NewStatic refuses tokens that could not be sent, tokens given twice, and principals
// whose id could be mistaken for another's. Its errors never show a token.
func NewStatic(tokens []Token) (*Static, error) {
	if len(tokens) == 0 {
		return nil, errors.New("static: no tokens")
	}
	s := &Static{}
	for i, t := range tokens {
		if !sendable(t.Secret) {
			return nil, fmt.Errorf("static: token %d: %w", i+1, errBadToken)
		}
		if err := CheckPrincipal(t.Principal); err != nil {
			return nil, fmt.Errorf("static: token %d: %w", i+1, err)
		}
		d := digest{sha256.Sum256([]byte(t.Secret)), t.Principal}
		if slices.ContainsFunc(s.tokens, func(o digest) bool { return o.sum == d.sum }) {
			return nil, fmt.Errorf("static: token %d is there twice", i+1)
		}
		s.tokens = append(s.tokens, d)
	}
	return s, nil
}

// Authenticate compares the bearer token with all tokens.
func (s *Static) Authenticate(r *http.Request) (call.Principal, error) {
	token, err := Bearer(r)
	if err != nil {
		return call.Principal{}, err
	}
	// Digests make all comparisons equally long; every token is compared, so that
	// the time taken tells nothing of which one came close.
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range s.tokens {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], s.tokens[i].sum[:]), i, found)
	}
	if found < 0 {
		return call.Principal{}, refuse(Invalid, errNotAccepted)
	}
	return s.tokens[found].principal, nil
}

// Type is "static".
func (s *Static) Type() string { return "static" }

// Scheme is HTTP's Bearer.
func (s *Static) Scheme() (string, a2a.SecurityScheme) { return bearerScheme() }

// Close does nothing.
func (s *Static) Close() {}
