// Package certs makes certificates for tests.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	File string // its certificate, in PEM
	Pool *x509.CertPool
}

// Pair is a certificate with its key.
type Pair struct{ Cert, Key []byte } // PEM

// NewAuthority makes an authority for the time of a test.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	a := &Authority{t: t, Pool: x509.NewCertPool(), File: filepath.Join(t.TempDir(), "ca.pem")}
	a.key = newKey(t)
	der := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, a.key, a.key)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.Pool.AddCert(a.cert)
	if err := os.WriteFile(a.File, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// Server makes a certificate for this machine's loopback addresses.
func (a *Authority) Server(name string) Pair {
	return a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// Client makes a certificate for a caller.
func (a *Authority) Client(subject pkix.Name, uris ...string) tls.Certificate {
	a.t.Helper()
	c := &x509.Certificate{Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, s := range uris {
		u, err := url.Parse(s)
		if err != nil {
			a.t.Fatal(err)
		}
		c.URIs = append(c.URIs, u)
	}
	p := a.issue(c)
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

func (a *Authority) issue(c *x509.Certificate) Pair {
	a.t.Helper()
	key := newKey(a.t)
	der := a.sign(c, a.cert, key, a.key)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return Pair{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	}
}

func (a *Authority) sign(c, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) []byte {
	a.t.Helper()
	if parent == nil {
		parent = c
	}
	c.SerialNumber, _ = rand.Int(rand.Reader, big.NewInt(1<<62))
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Write writes the pair to cert.pem and key.pem in a folder.
func (p Pair) Write(t testing.TB, dir string) (cert, key string) {
	t.Helper()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, b := range map[string][]byte{cert: p.Cert, key: p.Key} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
