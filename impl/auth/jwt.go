package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a token's header, in bytes. Key ids are remembered, so they are short.
const (
	maxJWSHeader = 4 << 10
	maxKeyID     = 256
)

// minRSA and maxRSA bound the keys that are used, in bits: below, they can be broken;
// above, checking one signature takes too long.
const (
	minRSA = 2048
	maxRSA = 16384
)

// jwt is a token that has been read and not been verified.
type jwt struct {
	raw       string
	algorithm jose.SignatureAlgorithm
	kid       string
	claims    claims
}

var errNoJWT = errors.New("the token is no signed JWT")

// readJWT takes a token apart. The algorithm is judged before any key is looked for, so
// that no key can be talked into verifying what it was not made for (RFC 8725 §3.1).
func readJWT(raw string, allowed []jose.SignatureAlgorithm) (*jwt, error) {
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		return nil, errNoJWT
	}
	var text [3][]byte
	for i, part := range parts {
		var err error
		// Strict: one token has one spelling.
		if text[i], err = base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return nil, errNoJWT
		}
	}
	if len(text[0]) > maxJWSHeader {
		return nil, errors.New("the token's header is too large")
	}
	var header struct {
		Algorithm string         `json:"alg"`
		KeyID     string         `json:"kid"`
		Critical  jsontext.Value `json:"crit"`
		Encoding  jsontext.Value `json:"b64"`
	}
	if err := json.Unmarshal(text[0], &header); err != nil {
		return nil, errNoJWT
	}
	t := &jwt{raw: raw, algorithm: jose.SignatureAlgorithm(header.Algorithm), kid: header.KeyID}
	switch {
	case !slices.Contains(allowed, t.algorithm):
		return nil, errors.New("the token's algorithm is not accepted")
	case header.Critical != nil || header.Encoding != nil:
		return nil, errors.New("the token wants something that is not understood")
	case len(t.kid) > maxKeyID:
		return nil, errors.New("the token's key id is too long")
	}
	var err error
	t.claims, err = readClaims(text[1])
	return t, err
}

// verify wants a signature by one of the keys. Keys within the token count for nothing.
func (t *jwt) verify(keys []any) error {
	signed, err := jose.ParseSignedCompact(t.raw, []jose.SignatureAlgorithm{t.algorithm})
	if err != nil {
		return errNoJWT
	}
	for _, k := range keys {
		if _, err := signed.Verify(k); err == nil {
			return nil
		}
	}
	return errors.New("the token's signature does not match")
}

// fits says whether a key is made for an algorithm (RFC 7518 §3).
func fits(k jose.JSONWebKey, algorithm jose.SignatureAlgorithm) bool {
	if k.Algorithm != "" && k.Algorithm != string(algorithm) {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(string(algorithm), "RS") || strings.HasPrefix(string(algorithm), "PS")
	case *ecdsa.PublicKey:
		curve := map[jose.SignatureAlgorithm]elliptic.Curve{jose.ES256: elliptic.P256(), jose.ES384: elliptic.P384(), jose.ES512: elliptic.P521()}[algorithm]
		return curve != nil && key.Curve == curve
	}
	return false
}

// readKeys takes the keys of a set that can check signatures. Others are skipped: a set
// may hold what other clients of the provider need.
func readKeys(doc []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys *[]jsontext.Value `json:"keys"`
	}
	if err := json.Unmarshal(doc, &set); err != nil || set.Keys == nil {
		return nil, errors.New("the key set is no JSON object with keys")
	}
	var keys []jose.JSONWebKey
	for _, raw := range *set.Keys {
		var k jose.JSONWebKey
		if err := k.UnmarshalJSON(raw); err != nil || !k.IsPublic() || k.Use != "" && k.Use != "sig" {
			continue
		}
		if r, ok := k.Key.(*rsa.PublicKey); ok && (r.N.BitLen() < minRSA || r.N.BitLen() > maxRSA) {
			continue
		}
		keys = append(keys, k)
	}
	return keys, nil
}
