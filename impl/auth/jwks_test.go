package auth

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func TestTokens(t *testing.T) {
	c := newClock()
	rs, ec, other := webKey("rs", rsaKey()), webKey("ec", ecKey()), otherKey()
	p := newIdentityProvider(t, rs, ec,
		webKey("pinned", rsaKey(), func(k *jose.JSONWebKey) { k.Algorithm = "RS256" }),
		webKey("enc", rsaKey(), func(k *jose.JSONWebKey) { k.Use = "enc" }))
	v := newTestJWKS(t, c, JWKSOptions{URL: p.URL + "/keys", Algorithms: []string{"RS256", "PS256", "ES256", "ES384"}, ClockSkew: time.Minute})
	now := c.now()
	with := func(change map[string]any) string { return sign(t, jose.RS256, rsaKey(), "rs", good(now, change)) }
	header := func(name, value string) func(*jose.SignerOptions) {
		return func(o *jose.SignerOptions) { o.WithHeader(jose.HeaderKey(name), value) }
	}
	pub, err := x509.MarshalPKIXPublicKey(&rsaKey().PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pub})
	valid := with(nil)
	parts := strings.Split(valid, ".")
	claimsOf := fmt.Sprintf(`{"iss":%q,"aud":"a2a","sub":"alice","exp":%d`, testIssuer, now.Add(time.Hour).Unix())
	for name, test := range map[string]struct{ token, want string }{
		"RS256":                     {valid, "alice"},
		"PS256":                     {sign(t, jose.PS256, rsaKey(), "rs", good(now, nil)), "alice"},
		"ES256":                     {sign(t, jose.ES256, ecKey(), "ec", good(now, nil)), "alice"},
		"none":                      {"", "none"},
		"opaque":                    {"tok-a", "invalid"},
		"algorithm not configured":  {sign(t, jose.RS512, rsaKey(), "rs", good(now, nil)), "invalid"},
		"alg none":                  {unsigned(`{"alg":"none","kid":"rs"}`, claimsOf+"}", ""), "invalid"},
		"alg None":                  {unsigned(`{"alg":"None"}`, claimsOf+"}", ""), "invalid"},
		"public key as HMAC secret": {sign(t, jose.HS256, public, "rs", good(now, nil)), "invalid"},
		"another key":               {sign(t, jose.RS256, other, "rs", good(now, nil)), "invalid"},
		"unknown key":               {sign(t, jose.RS256, other, "new", good(now, nil)), "invalid"},
		"no key id, several keys":   {sign(t, jose.RS256, rsaKey(), "", good(now, nil)), "invalid"},
		"key of another algorithm":  {sign(t, jose.PS256, rsaKey(), "pinned", good(now, nil)), "invalid"},
		"key of another type":       {sign(t, jose.RS256, rsaKey(), "ec", good(now, nil)), "invalid"},
		"encryption key":            {sign(t, jose.RS256, rsaKey(), "enc", good(now, nil)), "invalid"},
		"key in the token":          {sign(t, jose.RS256, other, "rs", good(now, nil), func(o *jose.SignerOptions) { o.EmbedJWK = true }), "invalid"},
		"critical header":           {sign(t, jose.RS256, rsaKey(), "rs", good(now, nil), header("crit", "x")), "invalid"},
		"large header":              {sign(t, jose.RS256, rsaKey(), "rs", good(now, nil), header("x", strings.Repeat("x", 4096))), "invalid"},
		"long key id":               {sign(t, jose.RS256, rsaKey(), strings.Repeat("k", 300), good(now, nil)), "invalid"},
		"cut signature":             {valid[:len(valid)-8], "invalid"},
		"altered claims":            {strings.Join([]string{parts[0], unsignedPart(claimsOf + `,"admin":true}`), parts[2]}, "."), "invalid"},
		"padded":                    {valid + "=", "invalid"},
		"four parts":                {valid + ".x", "invalid"},
		"claims no object":          {sign(t, jose.RS256, rsaKey(), "rs", `["x"]`), "invalid"},
		"a claim twice":             {sign(t, jose.RS256, rsaKey(), "rs", claimsOf+`,"sub":"bob"}`), "invalid"},
		"another issuer":            {with(map[string]any{"iss": testIssuer + "/"}), "invalid"},
		"no issuer":                 {with(map[string]any{"iss": nil}), "invalid"},
		"another audience":          {with(map[string]any{"aud": "billing"}), "invalid"},
		"several audiences":         {with(map[string]any{"aud": []string{"billing", "other"}}), "alice"},
		"no audience":               {with(map[string]any{"aud": nil}), "invalid"},
		"expired":                   {with(map[string]any{"exp": now.Add(-61 * time.Second).Unix()}), "invalid"},
		"expired within the skew":   {with(map[string]any{"exp": now.Add(-30 * time.Second).Unix()}), "alice"},
		"no expiry":                 {with(map[string]any{"exp": nil}), "invalid"},
		"expiry as text":            {with(map[string]any{"exp": "tomorrow"}), "invalid"},
		"expiry beyond all times":   {with(map[string]any{"exp": 1e300}), "invalid"},
		"not yet":                   {with(map[string]any{"nbf": now.Add(2 * time.Minute).Unix()}), "invalid"},
		"almost":                    {with(map[string]any{"nbf": now.Add(30 * time.Second).Unix()}), "alice"},
		"no principal":              {with(map[string]any{"sub": nil}), "invalid"},
		"empty principal":           {with(map[string]any{"sub": ""}), "invalid"},
		"control character":         {with(map[string]any{"sub": "\x01anonymous"}), "invalid"},
		"long principal":            {with(map[string]any{"sub": strings.Repeat("a", 257)}), "invalid"},
		"list as principal":         {with(map[string]any{"sub": []string{"alice"}}), "invalid"},
		"true as principal":         {with(map[string]any{"sub": true}), "invalid"},
		"number as principal":       {with(map[string]any{"sub": 12345678901}), "12345678901"},
		"bad tenant":                {with(map[string]any{"org": map[string]any{}}), "invalid"},
		"bad scopes":                {with(map[string]any{"scope": 7}), "invalid"},
		"no tenant, no scopes":      {with(map[string]any{"org": nil, "scope": nil}), "alice"},
	} {
		got := outcome(v.Authenticate(bearer(test.token)))
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	who, err := v.Authenticate(bearer(with(map[string]any{"scope": []string{"read", "tasks:send"}})))
	if err != nil || who.Tenant != "acme" || !slices.Equal(who.Scopes, []string{"read", "tasks:send"}) {
		t.Errorf("%+v %v", who, err)
	}
	if who, _ = v.Authenticate(bearer(valid)); !slices.Equal(who.Scopes, []string{"read", "send"}) {
		t.Errorf("%+v", who)
	}
}

func unsignedPart(s string) string { return strings.Split(unsigned(s, "", ""), ".")[0] }

// Nothing that a token alone shows to be wrong may cost the provider a request.
func TestBadTokensAreJudgedBeforeKeysAreFetched(t *testing.T) {
	c := newClock()
	p := newIdentityProvider(t, webKey("rs", rsaKey()))
	v := newTestJWKS(t, c, JWKSOptions{URL: p.URL + "/keys"})
	for _, token := range []string{
		unsigned(`{"alg":"none"}`, `{}`, ""), sign(t, jose.ES256, ecKey(), "ec", good(c.now(), nil)),
		sign(t, jose.RS256, otherKey(), "x", good(c.now(), map[string]any{"iss": "https://evil.example.com"})),
		sign(t, jose.RS256, otherKey(), "x", good(c.now(), map[string]any{"exp": 1})),
	} {
		if got := outcome(v.Authenticate(bearer(token))); got != "invalid" {
			t.Errorf("got %s", got)
		}
	}
	if n := p.fetches.Load(); n != 0 {
		t.Errorf("%d requests to the provider", n)
	}
}

// The one key of a set needs no name; a key that can be broken is none.
func TestOneKeyNeedsNoName(t *testing.T) {
	c := newClock()
	weak := newRSA(1024)
	p := newIdentityProvider(t, webKey("rs", rsaKey()), webKey("weak", weak))
	v := newTestJWKS(t, c, JWKSOptions{URL: p.URL + "/keys"})
	if got := outcome(v.Authenticate(bearer(sign(t, jose.RS256, rsaKey(), "", good(c.now(), nil))))); got != "alice" {
		t.Errorf("without a name: %s", got)
	}
	for _, kid := range []string{"weak", ""} {
		if got := outcome(v.Authenticate(bearer(sign(t, jose.RS256, weak, kid, good(c.now(), nil))))); got != "invalid" {
			t.Errorf("weak key %q: %s", kid, got)
		}
	}
}

func TestReadKeysSkipsWhatIsNotForUs(t *testing.T) {
	doc := string(keySetOf(webKey("rs", rsaKey())))
	doc = strings.Replace(doc, `[`, `[{"kty":"oct","k":"c2VjcmV0","kid":"hmac"},{"kty":"future","kid":"x"},7,{},`, 1)
	keys, err := readKeys([]byte(doc))
	if err != nil || len(keys) != 1 || keys[0].KeyID != "rs" {
		t.Errorf("%v %v", keys, err)
	}
	for _, bad := range []string{``, `[]`, `{}`, `{"keys":7}`, `{"keys":[]} {}`, `<html>`} {
		if _, err := readKeys([]byte(bad)); err == nil {
			t.Errorf("%s is a key set", bad)
		}
	}
}

func TestNewJWKSRefuses(t *testing.T) {
	base := JWKSOptions{Issuer: testIssuer, Audience: []string{"a2a"}, Claims: testClaims}
	for name, change := range map[string]func(*JWKSOptions){
		"no issuer":      func(o *JWKSOptions) { o.Issuer = "" },
		"no audience":    func(o *JWKSOptions) { o.Audience = nil },
		"empty audience": func(o *JWKSOptions) { o.Audience = []string{""} },
		"no principal":   func(o *JWKSOptions) { o.Claims = Claims{} },
		"none":           func(o *JWKSOptions) { o.Algorithms = []string{"none"} },
		"HMAC":           func(o *JWKSOptions) { o.Algorithms = []string{"RS256", "HS256"} },
		"EdDSA":          func(o *JWKSOptions) { o.Algorithms = []string{"EdDSA"} },
		"skew":           func(o *JWKSOptions) { o.ClockSkew = 6 * time.Minute },
		"http":           func(o *JWKSOptions) { o.URL = "http://id.example.com/keys" },
		"password":       func(o *JWKSOptions) { o.URL = "https://u:p@id.example.com/keys" },
		"file":           func(o *JWKSOptions) { o.URL = "file:///keys" },
		"issuer query":   func(o *JWKSOptions) { o.Issuer = testIssuer + "?x" },
		"issuer no URL":  func(o *JWKSOptions) { o.Issuer = "kubernetes" },
	} {
		o := base
		change(&o)
		if _, err := NewJWKS(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	for _, address := range []string{"http://localhost:1/k", "http://127.0.0.1/k", "http://[::1]:7/k", "https://id.example.com/k?x=1"} {
		o := base
		o.URL = address
		v, err := NewJWKS(o)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		v.Close()
	}
}
