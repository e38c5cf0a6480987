package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
)

// discover finds an issuer's key set: in its OpenID configuration, or in the metadata of
// an authorization server (RFC 8414 §3).
func (p *provider) discover(ctx context.Context, issuer string) (string, error) {
	addresses, err := metadata(issuer)
	if err != nil {
		return "", err
	}
	var last error
	for _, address := range addresses {
		status, body, err := p.get(ctx, address)
		if err != nil {
			return "", err
		}
		if status != 200 {
			last = fmt.Errorf("%s is answered with status %d", address, status)
			continue
		}
		keys, err := readMetadata(body, issuer)
		if err == nil {
			return keys, nil
		}
		last = fmt.Errorf("%s: %w", address, err)
	}
	return "", last
}

// readMetadata gives the address of the key set. A document of another issuer would let
// that one sign (RFC 8414 §3.3).
func readMetadata(body []byte, issuer string) (string, error) {
	var doc struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return "", errors.New("no JSON document of a provider")
	}
	if doc.Issuer != issuer {
		return "", errors.New("it names another issuer than the one configured")
	}
	if err := CheckURL(doc.Keys); err != nil {
		return "", fmt.Errorf("jwks_uri %w", err)
	}
	return doc.Keys, nil
}

// metadata is where an issuer may describe itself. OpenID Connect adds its path at the
// end of the issuer's, RFC 8414 puts its own before.
func metadata(issuer string) ([]string, error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	origin := u.Scheme + "://" + u.Host
	return []string{
		origin + path + "/.well-known/openid-configuration",
		origin + "/.well-known/oauth-authorization-server" + path,
	}, nil
}
