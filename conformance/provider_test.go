package conformance

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// openID is a real OpenID provider, with the client credentials of a few services. Tests
// change its keys, its tokens' claims and its temper.
type openID struct {
	*storage.Storage
	server  *httptest.Server
	issuer  string
	fetches atomic.Int64 // of the key set

	mu       sync.Mutex // guards what follows
	keys     []*rsaKey  // the first signs
	issued   map[string]issued
	audience []string
	lifetime time.Duration
	opaque   bool
	temper   func(http.ResponseWriter, *http.Request) bool // answers in the provider's place
}

type issued struct {
	subject  string
	audience []string
	scopes   []string
	expires  time.Time
}

// The services, each with its own secret, and the server that introspects.
const (
	serviceSecret = "service-secret"
	gatewayID     = "a2a gateway"
	gatewaySecret = "gate:way/secret"
)

func newOpenID(t *testing.T) *openID {
	t.Helper()
	p := &openID{issued: map[string]issued{}, audience: []string{"a2a"}, lifetime: time.Hour, keys: []*rsaKey{newKey(t)}}
	var provider http.Handler
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		temper := p.temper
		p.mu.Unlock()
		if r.URL.Path == "/keys" {
			p.fetches.Add(1)
		}
		if temper == nil || !temper(w, r) {
			provider.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(p.server.Close)
	p.issuer = p.server.URL
	p.Storage = storage.NewStorageWithClients(storage.NewUserStore(p.issuer), map[string]*storage.Client{gatewayID: storage.WebClient(gatewayID, gatewaySecret)})
	made, err := op.NewProvider(&op.Config{CryptoKey: [32]byte{1}, AuthMethodPost: true}, p, op.StaticIssuer(p.issuer), op.WithAllowInsecure())
	if err != nil {
		t.Fatal(err)
	}
	provider = made
	return p
}

// set changes the provider under its lock.
func (p *openID) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// token is what a service gets for its client credentials.
func (p *openID) token(t *testing.T, service string, scopes ...string) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {strings.Join(scopes, " ")}}
	body := p.post(t, "/oauth/token", service, serviceSecret, form)
	got, err := parseAs[struct {
		Token string `json:"access_token"`
	}](body, nil)
	if err != nil || got.Token == "" {
		t.Fatalf("no token: %v %s", err, body)
	}
	return got.Token
}

func (p *openID) revoke(t *testing.T, token string) {
	t.Helper()
	p.post(t, "/revoke", gatewayID, gatewaySecret, url.Values{"token": {token}, "token_type_hint": {"access_token"}})
}

func (p *openID) post(t *testing.T, path, user, secret string, form url.Values) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.issuer+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(user), url.QueryEscape(secret))
	res, err := p.server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%s: %d %v %s", path, res.StatusCode, err, body)
	}
	return body
}

// rotate makes the provider sign with a new key, and forget the old ones.
func (p *openID) rotate(t *testing.T) {
	k := newKey(t)
	p.set(func() { p.keys = []*rsaKey{k} })
}

// What follows is the provider's storage.

func (p *openID) SigningKey(context.Context) (op.SigningKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[0], nil
}

func (p *openID) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256}, nil
}

func (p *openID) KeySet(context.Context) (out []op.Key, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.keys {
		out = append(out, publicKey{k})
	}
	return out, nil
}

func (p *openID) ClientCredentials(_ context.Context, id, secret string) (op.Client, error) {
	if secret != serviceSecret {
		return nil, errors.New("wrong secret")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return service{storage.WebClient(id, secret), p.opaque}, nil
}

func (p *openID) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &oidc.JWTTokenRequest{Subject: id, Audience: p.audience, Scopes: scopes}, nil
}

func (p *openID) CreateAccessToken(_ context.Context, r op.TokenRequest) (string, time.Time, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, expires := uuid.NewString(), time.Now().Add(p.lifetime)
	p.issued[id] = issued{r.GetSubject(), r.GetAudience(), r.GetScopes(), expires}
	return id, expires, nil
}

func (p *openID) GetPrivateClaimsFromScopes(_ context.Context, _, _ string, scopes []string) (map[string]any, error) {
	return map[string]any{"scope": strings.Join(scopes, " ")}, nil
}

func (p *openID) SetIntrospectionFromToken(_ context.Context, out *oidc.IntrospectionResponse, id, _, _ string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	token, ok := p.issued[id]
	if !ok {
		return errors.New("not known, or revoked")
	}
	out.Subject, out.Audience, out.Scope, out.Expiration = token.subject, token.audience, token.scopes, oidc.FromTime(token.expires)
	return nil
}

func (p *openID) RevokeToken(_ context.Context, id, _, _ string) *oidc.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.issued, id)
	return nil
}

// service is a client that gets tokens for itself.
type service struct {
	*storage.Client
	opaque bool
}

func (s service) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeClientCredentials}
}

func (s service) AccessTokenType() op.AccessTokenType {
	if s.opaque {
		return op.AccessTokenTypeBearer
	}
	return op.AccessTokenTypeJWT
}

type rsaKey struct {
	id  string
	key *rsa.PrivateKey
}

func newKey(t *testing.T) *rsaKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return &rsaKey{uuid.NewString(), k}
}

func (k *rsaKey) ID() string                                  { return k.id }
func (k *rsaKey) Key() any                                    { return k.key }
func (k *rsaKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }

type publicKey struct{ *rsaKey }

func (k publicKey) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k publicKey) Use() string                        { return "sig" }
func (k publicKey) Key() any                           { return &k.key.PublicKey }

// signed is a token by one of the provider's keys, with claims of the test's choosing.
func (p *openID) signed(t *testing.T, algorithm jose.SignatureAlgorithm, key any, claims string) string {
	t.Helper()
	p.mu.Lock()
	kid, own := p.keys[0].id, p.keys[0].key
	p.mu.Unlock()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: cmp.Or[any](key, own)}, (&jose.SignerOptions{}).WithHeader("kid", kid))
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.Sign([]byte(claims))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := made.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
