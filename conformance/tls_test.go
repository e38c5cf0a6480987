package conformance

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve/conformance/certs"
	"a2aserve/conformance/vector"
)

// overTLS makes a target speak TLS, with a client certificate if there is one.
func overTLS(t *testing.T, target *vector.Target, ca *certs.Authority, from ...tls.Certificate) *vector.Target {
	t.Helper()
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool, Certificates: from}, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	out := *target
	out.Origin = "https" + strings.TrimPrefix(target.Origin, "http")
	out.Client = &http.Client{Transport: tr}
	return &out
}

func tlsKeys(t *testing.T, ca *certs.Authority, more string) string {
	t.Helper()
	cert, key := ca.Server("server").Write(t, t.TempDir())
	return fmt.Sprintf("tls: {cert_file: %q, key_file: %q%s}\n", cert, key, more)
}

// HTTPS, HTTP/2 with it, and a card that says so.
func TestServingTLS(t *testing.T) {
	ca := certs.NewAuthority(t, "authority")
	target := overTLS(t, serve(t, tokens+tlsKeys(t, ca, "")), ca)
	res, body := ask(t, target, "GET", "/.well-known/agent-card.json", "")
	if res.ProtoMajor != 2 || res.Header.Get("Strict-Transport-Security") != "max-age=31536000" || !strings.Contains(body, `"url":"`+target.Origin+`/a2a"`) {
		t.Errorf("%s %v %s", res.Proto, res.Header, body)
	}
	if strings.Contains(body, "mtls") {
		t.Errorf("client certificates are declared, but nobody asks for them: %s", body)
	}
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say("chunks 5 1"))
		if err != nil {
			t.Fatal(err)
		}
		if _, state, err := ends(s); state != "TASK_STATE_COMPLETED" {
			t.Errorf("%s %v", state, err)
		}
	})
	if res, _ := ask(t, target, "POST", target.RPC, "{}"); res.StatusCode != 401 {
		t.Errorf("without a token: %d", res.StatusCode)
	}
}

// A client certificate is one more way to be known: the subject is the caller, whoever
// has none is asked for a token, and the card declares both.
func TestCallersByCertificate(t *testing.T) {
	ca, stranger := certs.NewAuthority(t, "authority"), certs.NewAuthority(t, "another")
	server := serve(t, tokens+tlsKeys(t, ca, fmt.Sprintf(", client_ca_file: %q", ca.File)))
	open := overTLS(t, server, ca)
	alice := overTLS(t, server, ca, ca.Client(pkix.Name{CommonName: "alice", Organization: []string{"Example"}}))
	carol := overTLS(t, server, ca, ca.Client(pkix.Name{CommonName: "carol"}))

	_, card := ask(t, open, "GET", "/.well-known/agent-card.json", "")
	if !strings.Contains(card, `"mtlsSecurityScheme"`) || !strings.Contains(card, `"httpAuthSecurityScheme"`) {
		t.Errorf("the card declares %s", card)
	}
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		id := send(t, open, b, say("echo hi")).ID // alice by her token
		for user, c := range map[string]struct {
			target *vector.Target
			sees   bool
		}{"alice": {alice, true}, "carol": {carol, false}} {
			_, err := c.target.Call(t.Context(), b, "GetTask", "nobody", `{"id":"`+id+`"}`)
			if (err == nil) != c.sees {
				t.Errorf("%s by certificate: %v", user, err)
			}
		}
		if _, err := open.Call(t.Context(), b, "GetTask", "nobody", `{"id":"`+id+`"}`); refused(t, err).HTTP != 401 {
			t.Errorf("without any: %v", err)
		}
		// A token that is presented counts before the certificate.
		if _, err := alice.Call(t.Context(), b, "GetTask", "bob", `{"id":"`+id+`"}`); refused(t, err).Reason != "TASK_NOT_FOUND" {
			t.Errorf("bob's token on alice's connection: %v", err)
		}
	})
	// Pages use their visitor's certificate without asking.
	path, body := on(alice, vector.JSONRPC, say("echo hi"))
	if res, _ := ask(t, alice, "POST", path, body, "Content-Type", "application/json", "Origin", "https://evil.example.com"); res.StatusCode != 401 {
		t.Errorf("a page of another origin: %d", res.StatusCode)
	}
	if res, _ := ask(t, alice, "POST", path, "{}", "Content-Type", "application/json", "Authorization", "Bearer bad"); res.StatusCode != 200 {
		t.Errorf("a bad token beside a good certificate: %d", res.StatusCode) // as in any chain
	}
	wrong := overTLS(t, server, ca)
	own := stranger.Client(pkix.Name{CommonName: "alice"})
	wrong.Client.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }
	if _, err := wrong.Call(t.Context(), vector.REST, "ListTasks", "nobody", `{}`); err == nil {
		t.Error("a certificate of another authority is accepted")
	}
}

// What of the certificate is the caller can be chosen; a certificate that has none of it is
// no caller's.
func TestCertificateNames(t *testing.T) {
	ca := certs.NewAuthority(t, "authority")
	full := ca.Client(pkix.Name{CommonName: "alice", Organization: []string{"Example"}}, "spiffe://example.com/alice")
	db := filepath.Join(t.TempDir(), "tasks.db")
	for _, c := range []struct {
		from    string
		cert    tls.Certificate
		refused bool
	}{
		{"common_name", full, false}, {"subject", full, false}, {"uri", full, false},
		{"common_name", ca.Client(pkix.Name{Organization: []string{"Example"}}), true},
		{"uri", ca.Client(pkix.Name{CommonName: "alice"}), true},
		{"uri", ca.Client(pkix.Name{}, "spiffe://example.com/a", "spiffe://example.com/b"), true},
	} {
		server, stop := start(t, db, tlsKeys(t, ca, fmt.Sprintf(", client_ca_file: %q, client_principal: %s", ca.File, c.from)))
		target := overTLS(t, server, ca, c.cert)
		// Each name is a caller of its own: none of them sees the others' tasks.
		if c.refused {
			if _, err := target.Call(t.Context(), vector.REST, "ListTasks", "", `{}`); refused(t, err).HTTP != 401 {
				t.Errorf("%s: %v", c.from, err)
			}
		} else {
			send(t, target, vector.REST, say("echo hi"))
			if n := list(t, target, vector.REST, `{}`).Total; n != 1 {
				t.Errorf("%s sees %d tasks", c.from, n)
			}
		}
		target.Client.CloseIdleConnections()
		stop()
	}
}
