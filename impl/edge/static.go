package edge

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"a2aserve/impl/call"
)

// Authenticator tells who a request speaks for. An *Unauthenticated error becomes a 401
// with its challenge, an *a2a.Error what it is, and anything else an internal error.
type Authenticator interface {
	Authenticate(*http.Request) (call.Principal, error)
}

// Unauthenticated says that a request carries no credentials, or none that are valid.
type Unauthenticated struct {
	Challenge string // the WWW-Authenticate header
	Cause     error  // for the log; it must not repeat the credentials
}

func (e *Unauthenticated) Error() string { return "not authenticated: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *Unauthenticated) Unwrap() error { return e.Cause }

const challenge = `Bearer realm="a2aserve"`

var (
	errNoCredentials  = errors.New("no bearer credentials")
	errTwice          = errors.New("more than one Authorization header")
	errNotAccepted    = errors.New("the token is not accepted")
	errBadToken       = errors.New("must be visible ASCII without spaces")
	errBadPrincipalID = errors.New("must not be empty nor hold control characters")
)

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
		if t.Secret == "" || strings.ContainsFunc(t.Secret, func(c rune) bool { return c <= ' ' || c > '~' }) {
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

// CheckPrincipal refuses ids that no validator may produce: the anonymous principal's has
// a control character, so that nobody can claim it.
func CheckPrincipal(p call.Principal) error {
	if p.ID == "" || !utf8.ValidString(p.ID) || strings.ContainsFunc(p.ID, unicode.IsControl) {
		return fmt.Errorf("principal id %w", errBadPrincipalID)
	}
	return nil
}

// Authenticate reads the Authorization header and nothing else: a token in a query ends
// up in logs, and one in a cookie is sent without the user's knowing.
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
		return call.Principal{}, invalid(errNotAccepted)
	}
	return s.tokens[found].principal, nil
}

// Bearer takes the token out of the one Authorization header (RFC 6750 §2.1). Its errors
// are *Unauthenticated.
func Bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) > 1 {
		return "", invalid(errTwice)
	}
	if len(values) == 0 {
		return "", &Unauthenticated{challenge, errNoCredentials}
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(values[0]), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", &Unauthenticated{challenge, errNoCredentials}
	}
	return strings.TrimSpace(token), nil
}

// invalid tells the client that the token is at fault (RFC 6750 §3.1), as opposed to
// there being none.
func invalid(cause error) error {
	return &Unauthenticated{challenge + `, error="invalid_token"`, cause}
}
