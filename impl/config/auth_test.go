package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"a2aserve/impl/config"
)

func TestValidatorsGetTheDefaultsOfTheirType(t *testing.T) {
	t.Setenv("CLIENT_SECRET", "env-secret")
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("file-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := parse(t, valid+`auth:
  validators:
    - {type: jwks, issuer: "https://id.example.com", audience: a2a, principal_claim: sub}
    - {type: introspect, introspection_url: "http://127.0.0.1:9/i", client_id: a, client_secret: plain-secret, principal_claim: sub}
    - {type: introspect, introspection_url: "https://id.example.com/i", client_id: a, client_secret_env: CLIENT_SECRET, principal_claim: sub, token_type_hint: "", cache_ttl: 0s}
    - {type: introspect, introspection_url: "https://id.example.com/i", client_id: a, client_secret_file: "`+file+`", principal_claim: sub, client_auth: post}
    - {type: proxy_headers, trusted_proxy_cidrs: [10.0.0.0/8, "fd00::/8"], principal_header: X-User}
    - {type: static, tokens: [{token: static-secret, principal: alice}]}
  required_scopes: {send: ["tasks:send"]}
`)
	v := c.Validators
	if j := v[0]; !slices.Equal(j.Audience, []string{"a2a"}) || j.ClockSkew != "1m" || j.CacheTTL != "10m" || j.NegativeCacheTTL != "1m" || j.HTTPTimeout != "5s" || j.ScopesClaim != "scope" || j.TokenTypeHint != "" {
		t.Errorf("jwks: %+v", j)
	}
	if i := v[1]; i.CacheTTL != "1m" || i.NegativeCacheTTL != "30s" || i.TokenTypeHint != "access_token" || i.ClientAuth != "basic" || i.ClockSkew != "" || i.Secret.Reveal() != "plain-secret" {
		t.Errorf("introspect: %+v", i)
	}
	if v[2].Secret.Reveal() != "env-secret" || v[2].TokenTypeHint != "" || v[2].CacheTTL != "0s" || v[3].Secret.Reveal() != "file-secret" || v[3].ClientAuth != "post" {
		t.Errorf("introspect: %+v %+v", v[2], v[3])
	}
	if n := v[4].Networks(); len(n) != 2 || n[1].String() != "fd00::/8" || v[4].CacheTTL != "" {
		t.Errorf("proxy_headers: %+v", v[4])
	}
	if v[5].Identities[0].Token.Reveal() != "static-secret" || c.MaxFailures() != 60 || !slices.Equal(c.RequiredScopes()["send"], []string{"tasks:send"}) {
		t.Errorf("static: %+v, %d failures, %v", v[5], c.MaxFailures(), c.RequiredScopes())
	}
	for _, text := range []string{c.String(), fmt.Sprintf("%+v", *c), fmt.Sprintf("%#v", c.Validators), c.LogValue().String()} {
		if strings.Contains(text, "-secret") {
			t.Errorf("a credential is printed: %s", text)
		}
	}
	if c := parse(t, valid+"bearer_token: s3cret\n"); c.MaxFailures() != 60 || c.RequiredScopes() != nil {
		t.Errorf("%d %v", c.MaxFailures(), c.RequiredScopes())
	}
	if c := parse(t, valid+"auth: {max_failures_per_minute: 0, validators: [{type: static, tokens: [{token: x, principal: p}]}]}\n"); c.MaxFailures() != 0 {
		t.Errorf("%d", c.MaxFailures())
	}
}

// Each mistake is told with its key, so that nobody has to guess which validator it is.
func TestValidatorMistakes(t *testing.T) {
	const jwks = `type: jwks, issuer: "https://id.example.com", audience: a2a, principal_claim: sub`
	const asks = `type: introspect, introspection_url: "https://id.example.com/i", client_id: a, principal_claim: sub`
	for _, test := range []struct{ validator, want string }{
		{`type: jwks`, "[0].issuer: required for type jwks, but missing. "},
		{`type: jwks`, "[0].audience: required for type jwks, but missing. "},
		{`type: jwks`, "[0].principal_claim: required for type jwks, but missing. "},
		{`type: static`, "[0].tokens: required for type static, but missing. "},
		{`type: introspect`, "[0].introspection_url: required for type introspect, but missing. "},
		{`type: proxy_headers`, "[0].trusted_proxy_cidrs: required for type proxy_headers, but missing. "},
		{jwks + `, tokens: [{token: x, principal: p}]`, "[0].tokens: belongs to validators of type static, and this one is jwks"},
		{jwks + `, client_secret: hush`, "[0].client_secret: belongs to validators of type introspect, and this one is jwks"},
		{jwks + `, isuer: x`, "[0].isuer: unknown key; did you mean issuer?"},
		{jwks + `, algorithms: [none]`, `[0].algorithms[0]: expected one of "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", found "none"`},
		{jwks + `, algorithms: [RS256, HS256]`, "[0].algorithms[1]: expected one of"},
		{jwks + `, algorithms: []`, "[0].algorithms: expected a list of at least 1"},
		{jwks + `, clock_skew: 6m`, `[0].clock_skew: expected a duration from 0s to 5m, found "6m"`},
		{jwks + `, cache_ttl: 0s`, `[0].cache_ttl: expected a duration from 1s to 24h, found "0s"`},
		{jwks + `, http_timeout: 2m`, `[0].http_timeout: expected a duration from 1ms to 1m, found "2m"`},
		{jwks + `, http_timeout: 5`, "[0].http_timeout: expected a duration above zero with its unit"},
		{jwks + `, jwks_url: "http://id.example.com/keys"`, "[0].jwks_url: expected an https URL without a user (http only to a loopback address)"},
		{jwks + `, jwks_url: "https://u:hush@id.example.com/keys"`, "[0].jwks_url: expected an https URL without a user"},
		{strings.Replace(jwks, "https:", "http:", 1), `[0].issuer: "http://id.example.com" is no address to find its keys at`},
		{strings.Replace(jwks, "https://", "https://u:hush@", 1), `[0].issuer: "https://u:xxxxx@id.example.com" is no address`},
		{strings.Replace(jwks, "audience: a2a", "audience: []", 1), "[0].audience: expected a list of at least 1"},
		{asks, "[0]: expected exactly one of client_secret, client_secret_env, client_secret_file, found none"},
		{asks + `, client_secret: x, client_secret_env: X`, "[0]: expected exactly one of client_secret, client_secret_env, client_secret_file, found client_secret and client_secret_env"},
		{asks + `, client_secret_env: A2ASERVE_TEST_UNSET`, "[0].client_secret_env: the environment variable A2ASERVE_TEST_UNSET is not set"},
		{asks + `, client_secret_file: /does/not/exist`, "[0].client_secret_file: cannot read the client secret: "},
		{asks + `, client_secret: x, cache_ttl: 16m`, `[0].cache_ttl: expected a duration from 0s to 15m, found "16m"`},
		{asks + `, client_secret: x, client_auth: jwt`, `[0].client_auth: expected one of "basic", "post"`},
		{`type: proxy_headers, principal_header: X-User, trusted_proxy_cidrs: ["0.0.0.0/0"]`, `[0].trusted_proxy_cidrs[0]: "0.0.0.0/0" trusts everybody`},
		{`type: proxy_headers, principal_header: X-User, trusted_proxy_cidrs: ["10.0.0.1"]`, "[0].trusted_proxy_cidrs[0]: expected a network"},
		{`type: proxy_headers, principal_header: "X User", trusted_proxy_cidrs: ["10.0.0.0/8"]`, "[0].principal_header: expected the name of a header"},
	} {
		_, err := config.Parse("f.yaml", []byte(valid+"auth: {validators: [{"+test.validator+"}]}\n"))
		if err == nil || !strings.Contains(err.Error(), "auth.validators"+test.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s:\n%v\nwant %s", test.validator, err, test.want)
		}
	}
	_, err := config.Parse("f.yaml", []byte(valid+`auth: {required_scopes: {send: ["a b"]}, validators: [{type: static, tokens: [{token: x, principal: p}]}]}`))
	if err == nil || !strings.Contains(err.Error(), "auth.required_scopes.send[0]: expected a scope") {
		t.Errorf("got %v", err)
	}
	_, err = config.Parse("f.yaml", []byte(valid+"bearer_token: x\nauth: {validators: [{"+jwks+"}]}\n"))
	if err == nil || !strings.Contains(err.Error(), "auth: bearer_token and auth exclude each other: keep one of them") {
		t.Errorf("got %v", err)
	}
	// An issuer that is no address is one that keys are given for.
	parse(t, valid+`auth: {validators: [{type: jwks, issuer: kubernetes/serviceaccount, jwks_url: "https://id.example.com/k", audience: a2a, principal_claim: sub}]}`)
}
