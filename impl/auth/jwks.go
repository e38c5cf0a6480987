package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"

	"github.com/go-jose/go-jose/v4"
)

// Algorithms are the signatures that a JWKS validator may accept. None and HMAC are not
// among them: with either, whoever can read the public keys could sign.
var Algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512,
}

// Bounds and defaults of a JWKS validator.
const (
	MaxClockSkew       = 5 * time.Minute
	DefaultKeysTTL     = 10 * time.Minute
	DefaultNegativeTTL = time.Minute
)

// JWKSOptions configure a JWKS validator. Durations of zero mean the defaults, but for
// ClockSkew, where it means none.
type JWKSOptions struct {
	Issuer      string   // compared with the claim iss
	URL         string   // of the key set; empty: discovered from the issuer
	Audience    []string // a token is for one of them
	Algorithms  []string // default RS256
	Claims      Claims
	ClockSkew   time.Duration // up to MaxClockSkew
	CacheTTL    time.Duration // age at which keys are fetched again
	NegativeTTL time.Duration // how long an unknown key stays unknown
	HTTPTimeout time.Duration
	Log         *slog.Logger
}

// JWKS accepts JSON Web Tokens that a provider has signed, with the keys it publishes.
type JWKS struct {
	o          JWKSOptions
	algorithms []jose.SignatureAlgorithm
	keys       *keySet
	now        func() time.Time
}

// NewJWKS fetches nothing: keys are fetched once the first token is there.
func NewJWKS(o JWKSOptions) (*JWKS, error) {
	v := &JWKS{o: o, now: time.Now}
	switch {
	case o.Issuer == "":
		return nil, errors.New("jwks: no issuer")
	case len(o.Audience) == 0 || slices.Contains(o.Audience, ""):
		return nil, errors.New("jwks: no audience")
	case o.Claims.Principal == "":
		return nil, errors.New("jwks: no principal claim")
	case o.ClockSkew < 0 || o.ClockSkew > MaxClockSkew:
		return nil, fmt.Errorf("jwks: the clock skew must be from 0 to %v", MaxClockSkew)
	}
	if len(o.Algorithms) == 0 {
		v.algorithms = []jose.SignatureAlgorithm{jose.RS256}
	}
	for _, name := range o.Algorithms {
		if !slices.Contains(Algorithms, jose.SignatureAlgorithm(name)) {
			return nil, fmt.Errorf("jwks: algorithm %q is not accepted", name)
		}
		v.algorithms = append(v.algorithms, jose.SignatureAlgorithm(name))
	}
	address := o.URL
	if address == "" {
		if address = o.Issuer; strings.Contains(address, "?") {
			return nil, errors.New("jwks: an issuer with a query cannot be discovered from")
		}
	}
	if err := CheckURL(address); err != nil {
		return nil, fmt.Errorf("jwks: the address of the provider %w", err)
	}
	v.keys = newKeySet(o)
	return v, nil
}

// Authenticate checks the bearer token, cheap things first: a key is looked for only for
// a token that would be good with a signature, so that others cost the provider nothing.
func (v *JWKS) Authenticate(r *http.Request) (call.Principal, error) {
	raw, err := Bearer(r)
	if err != nil {
		return call.Principal{}, err
	}
	t, err := readJWT(raw, v.algorithms)
	if err == nil {
		err = v.checkClaims(t.claims)
	}
	var p call.Principal
	if err == nil {
		p, err = t.claims.principal(v.o.Claims)
	}
	if err != nil {
		return call.Principal{}, refuse(Invalid, err)
	}
	keys, err := v.keys.find(r.Context(), t.kid, t.algorithm)
	if err != nil {
		return call.Principal{}, err
	}
	if err := t.verify(keys); err != nil {
		return call.Principal{}, refuse(Invalid, err)
	}
	return p, nil
}

// checkClaims is about when and for whom a token is (RFC 7519 §4.1).
func (v *JWKS) checkClaims(c claims) error {
	if c["iss"].Kind() != '"' || unquote(c["iss"]) != v.o.Issuer {
		return errors.New("the token is of another issuer")
	}
	if !c.audience(v.o.Audience) {
		return errors.New("the token is for another audience")
	}
	now := v.now()
	expires, err := c.time("exp")
	if err != nil {
		return err
	}
	if !now.Before(expires.Add(v.o.ClockSkew)) {
		return errors.New("the token has expired")
	}
	if c.present("nbf") {
		begins, err := c.time("nbf")
		if err != nil {
			return err
		}
		if now.Add(v.o.ClockSkew).Before(begins) {
			return errors.New("the token is not valid yet")
		}
	}
	return nil
}

// Type is "jwks".
func (v *JWKS) Type() string { return "jwks" }

// Scheme is HTTP's Bearer with a JWT. OpenID Connect's scheme would promise a discovery
// document, which an issuer with an explicit key set, or one of plain OAuth, has not.
func (v *JWKS) Scheme() (string, a2a.SecurityScheme) {
	return "jwt", a2a.SecurityScheme{HTTPAuthSecurityScheme: &a2a.HTTPAuthSecurityScheme{
		Scheme: "Bearer", BearerFormat: "JWT",
		Description: "An access token of " + v.o.Issuer + " for the audience " + strings.Join(v.o.Audience, " or "),
	}}
}

// Close ends a fetch that is under way.
func (v *JWKS) Close() { v.keys.provider.close() }
