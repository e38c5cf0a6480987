package auth

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"
)

// What of a client certificate names the principal.
const (
	CommonName = "common_name" // of the subject
	Subject    = "subject"     // all of it, in the form of RFC 2253
	URI        = "uri"         // the one URI among the alternative names, as SPIFFE has it
)

var (
	errNoCertificate = errors.New("no client certificate")
	errCrossOrigin   = errors.New("a page of another origin uses the certificate of its visitor's browser")
)

// MTLS knows callers by the client certificate of their connection, which the TLS side has
// verified against its authorities.
type MTLS struct {
	from string
	site *http.CrossOriginProtection
}

// NewMTLS takes the principal from CommonName (also for an empty string), Subject or URI.
func NewMTLS(from string) (*MTLS, error) {
	if from == "" {
		from = CommonName
	}
	if !slices.Contains([]string{CommonName, Subject, URI}, from) {
		return nil, fmt.Errorf("mtls: a certificate has no %q", from)
	}
	return &MTLS{from, http.NewCrossOriginProtection()}, nil
}

// Authenticate takes a certificate only where a chain to an authority has been found.
func (m *MTLS) Authenticate(r *http.Request) (call.Principal, error) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return call.Principal{}, refuse(NoCredential, errNoCertificate)
	}
	// A browser presents certificates by itself, so a page could act for its visitor.
	if m.site.Check(r) != nil {
		return call.Principal{}, refuse(NoCredential, errCrossOrigin)
	}
	p := call.Principal{ID: m.name(r.TLS.VerifiedChains[0][0])}
	if err := CheckPrincipal(p); err != nil {
		return call.Principal{}, refuse(Invalid, fmt.Errorf("%s of the client certificate: %w", m.from, err))
	}
	return p, nil
}

// name is empty where the certificate has none, or more than one that it could be.
func (m *MTLS) name(c *x509.Certificate) string {
	switch m.from {
	case Subject:
		return c.Subject.String()
	case URI:
		if len(c.URIs) != 1 {
			return ""
		}
		return c.URIs[0].String()
	}
	return c.Subject.CommonName
}

// Type is the validator's in the configuration.
func (m *MTLS) Type() string { return "mtls" }

// Scheme is mutual TLS (A2A §4.5).
func (m *MTLS) Scheme() (string, a2a.SecurityScheme) {
	return "mtls", a2a.SecurityScheme{MTLSSecurityScheme: &a2a.MutualTLSSecurityScheme{}}
}

// Close has nothing to end.
func (m *MTLS) Close() {}
