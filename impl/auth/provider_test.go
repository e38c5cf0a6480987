package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"a2aserve/impl/call"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
)

// identityProvider serves keys and answers introspections, as a test tells it to.
type identityProvider struct {
	*httptest.Server
	fetches atomic.Int64

	mu    sync.Mutex // guards what follows
	keys  []jose.JSONWebKey
	serve map[string]http.HandlerFunc // in the place of what is served otherwise
}

func newIdentityProvider(t *testing.T, keys ...jose.JSONWebKey) *identityProvider {
	p := &identityProvider{keys: keys, serve: map[string]http.HandlerFunc{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Server.Close)
	return p
}

func (p *identityProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.fetches.Add(1)
	p.mu.Lock()
	h, keys := p.serve[r.URL.Path], p.keys
	p.mu.Unlock()
	switch {
	case h != nil:
		h(w, r)
	case r.URL.Path == "/keys":
		w.Write(keySetOf(keys...))
	default:
		http.NotFound(w, r)
	}
}

func (p *identityProvider) answer(path string, h http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.serve[path] = h
}

func (p *identityProvider) rotate(keys ...jose.JSONWebKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = keys
}

// keySetOf writes the public halves.
func keySetOf(keys ...jose.JSONWebKey) []byte {
	var list []string
	for _, k := range keys {
		if pub := k.Public(); pub.Key != nil {
			k = pub
		}
		b, err := k.MarshalJSON()
		if err != nil {
			panic(err)
		}
		list = append(list, string(b))
	}
	return []byte(`{"keys":[` + strings.Join(list, ",") + `]}`)
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
}

var (
	rsaKey   = sync.OnceValue(func() *rsa.PrivateKey { return newRSA(2048) })
	otherKey = sync.OnceValue(func() *rsa.PrivateKey { return newRSA(2048) })
	ecKey    = sync.OnceValue(func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			panic(err)
		}
		return k
	})
)

func newRSA(bits int) *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return k
}

func webKey(kid string, key any, change ...func(*jose.JSONWebKey)) jose.JSONWebKey {
	k := jose.JSONWebKey{KeyID: kid, Key: key}
	for _, c := range change {
		c(&k)
	}
	return k
}

// sign makes a token; header members are added to alg and kid.
func sign(t testing.TB, algorithm jose.SignatureAlgorithm, key any, kid string, payload any, header ...func(*jose.SignerOptions)) string {
	t.Helper()
	o := &jose.SignerOptions{}
	if kid != "" {
		o.WithHeader("kid", kid)
	}
	for _, h := range header {
		h(o)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, o)
	if err != nil {
		t.Fatal(err)
	}
	text, ok := payload.(string)
	if !ok {
		b, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	signed, err := s.Sign([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// unsigned makes a token of any header, with a signature that is not one.
func unsigned(header, payload, signature string) string {
	e := base64.RawURLEncoding.EncodeToString
	return e([]byte(header)) + "." + e([]byte(payload)) + "." + e([]byte(signature))
}

const testIssuer = "https://id.example.com"

// good are the claims of a token that is accepted, with changes; nil removes one.
func good(now time.Time, change map[string]any) map[string]any {
	c := map[string]any{"iss": testIssuer, "aud": "a2a", "sub": "alice", "scope": "read send", "org": "acme", "exp": now.Add(time.Hour).Unix()}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

func bearer(token string) *http.Request {
	r := httptest.NewRequest("POST", "/a2a", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// outcome is the principal's id, or the kind of the refusal.
func outcome(p call.Principal, err error) string {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return map[Kind]string{NoCredential: "none", Invalid: "invalid", Unavailable: "unavailable", Scope: "scope"}[r.Kind]
	}
	if err != nil {
		return err.Error()
	}
	return p.ID
}

// clock is a time that only a test moves.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(time.Now().UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

var silent = slog.New(slog.DiscardHandler)

var testClaims = Claims{Principal: "sub", Tenant: "org", Scopes: "scope"}

func newTestJWKS(t testing.TB, c *clock, o JWKSOptions) *JWKS {
	t.Helper()
	if o.Issuer == "" {
		o.Issuer = testIssuer
	}
	if o.Audience == nil {
		o.Audience = []string{"a2a", "other"}
	}
	if o.Claims == (Claims{}) {
		o.Claims = testClaims
	}
	o.Log = silent
	v, err := NewJWKS(o)
	if err != nil {
		t.Fatal(err)
	}
	v.now, v.keys.now = c.now, c.now
	t.Cleanup(v.Close)
	return v
}
