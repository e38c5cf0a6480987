package config

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
	"strings"
)

// isWebOrigin compares with what a browser would send: anything else could never match.
func isWebOrigin(s string) bool {
	if s == "*" {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && isWebAddress(s) && s == u.Scheme+"://"+u.Host && !strings.ContainsAny(u.Host, "*,")
}

// splitOrigins reads text with commas as a list, before anything looks at it.
func (d *document) splitOrigins() {
	root, _ := d.root.(map[string]any)
	text, ok := root["cors_origins"].(string)
	if !ok {
		return
	}
	list := []any{}
	for o := range strings.SplitSeq(text, ",") {
		if o = strings.TrimSpace(o); o != "" {
			list = append(list, o)
		}
	}
	root["cors_origins"] = list
}

// checkEdge notes limits that would limit nothing, and TLS files that do not work: a
// server that starts with them would refuse everybody.
func (d *document) checkEdge() {
	if d.count("/limits/rate/per_principal") > 0 && !d.authenticates() {
		d.problem("/limits/rate/per_principal", "needs bearer_token, bearer_token_env, auth or tls.client_ca_file: without one, all callers are the same")
	}
	for _, whose := range []string{"principal", "address"} {
		per, burst := "/limits/rate/per_"+whose, "/limits/rate/"+whose+"_burst"
		if d.count(burst) > 0 && d.count(per) == 0 {
			d.problem(burst, "has no effect without limits.rate.per_%s", whose)
		}
	}
	if !d.has("/tls") {
		return
	}
	if public := d.text("/public_url"); strings.HasPrefix(public, "http:") {
		d.problem("/public_url", "%q begins with http:, but tls.cert_file makes the server speak HTTPS only", public)
	}
	// A missing key of the pair has been reported by the schema.
	cert, key := d.text("/tls/cert_file"), d.text("/tls/key_file")
	if cert != "" && key != "" {
		if _, err := tls.LoadX509KeyPair(ExpandHome(cert), ExpandHome(key)); err != nil {
			d.problem("/tls/cert_file", "does not work with tls.key_file: %v", err)
		}
	}
	if ca := d.text("/tls/client_ca_file"); ca != "" {
		b, err := os.ReadFile(ExpandHome(ca))
		if err != nil {
			d.problem("/tls/client_ca_file", "cannot be read: %v", err)
		} else if !x509.NewCertPool().AppendCertsFromPEM(b) {
			d.problem("/tls/client_ca_file", "holds no certificate in PEM")
		}
	}
}

// authenticates says whether callers are told apart.
func (d *document) authenticates() bool {
	for _, key := range []string{"/bearer_token", "/bearer_token_env", "/auth", "/tls/client_ca_file"} {
		if d.has(key) {
			return true
		}
	}
	return false
}

// count is a whole number of the configuration, 0 where there is none.
func (d *document) count(ptr string) int {
	switch n := lookup(d.root, ptr).(type) {
	case float64:
		return int(n)
	case uint64:
		return int(n)
	case int64:
		return int(n)
	}
	return 0
}

// ClientCertificates says whether a client certificate names its caller.
func (c Config) ClientCertificates() bool { return c.TLS != nil && c.TLS.ClientCAFile != "" }
