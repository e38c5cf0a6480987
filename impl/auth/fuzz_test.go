package auth

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// A token that can be read names an accepted algorithm and nothing that is not understood;
// without a key none is believed. Who its claims name can be a principal.
func FuzzToken(f *testing.F) {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	for _, s := range []string{"", "a.b.c", part(`{"alg":"none"}`) + "." + part(`{"sub":"x"}`) + ".", part(`{"alg":"RS256","kid":"k"}`) + "." + part(`{"sub":"x","aud":["a"],"exp":1e9,"scope":"a b"}`) + "." + part("sig"),
		part(`{"alg":"RS256","alg":"none"}`) + "." + part(`{"sub":1}`) + "." + part("s"), part(`{"alg":"ES256","crit":["b64"],"b64":false}`) + ".e30.AA"} {
		f.Add(s)
	}
	allowed := []jose.SignatureAlgorithm{jose.RS256, jose.ES256}
	f.Fuzz(func(t *testing.T, raw string) {
		token, err := readJWT(raw, allowed)
		if err != nil {
			return
		}
		if token.algorithm != jose.RS256 && token.algorithm != jose.ES256 || strings.Count(raw, ".") != 2 || len(token.kid) > maxKeyID {
			t.Fatalf("%q is read as %+v", raw, token)
		}
		if err := token.verify(nil); err == nil {
			t.Fatalf("%q is believed without a key", raw)
		}
		token.claims.audience([]string{"a"})
		if at, err := token.claims.time("exp"); err == nil && at.Year() > 9999 {
			t.Fatalf("%q expires in %s", raw, at)
		}
		p, err := token.claims.principal(Claims{Principal: "sub", Tenant: "tid", Scopes: "scope"})
		if err == nil && CheckPrincipal(p) != nil {
			t.Fatalf("%q names %+v", raw, p)
		}
	})
}

// A provider's key set gives public keys of accepted sizes or an error.
func FuzzKeys(f *testing.F) {
	for _, s := range []string{`{"keys":[]}`, `{}`, `[]`, `{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},7,{"kty":"oct","k":"AA"}]}`, `{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		keys, err := readKeys(doc)
		if err != nil && keys != nil {
			t.Fatalf("%q: %v and %v", doc, keys, err)
		}
		for _, k := range keys {
			if !k.IsPublic() || !k.Valid() {
				t.Fatalf("%q gives %+v", doc, k)
			}
		}
	})
}
