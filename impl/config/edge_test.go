package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"a2aserve/conformance/certs"
	"a2aserve/impl/config"
)

const agentAndCard = `agent: {driver: demo}
card: {name: A, description: d, version: "1", skills: [{id: s, name: S, description: d}]}
`

func TestOriginsAsListOrText(t *testing.T) {
	want := []string{"https://a.example.com", "http://localhost:3000"}
	for _, text := range []string{
		"cors_origins: [https://a.example.com, http://localhost:3000]",
		"cors_origins: https://a.example.com, http://localhost:3000",
		"cors_origins: \"https://a.example.com,http://localhost:3000,\"",
	} {
		c, err := config.Parse("f.yaml", []byte(agentAndCard+text))
		if err != nil || !slices.Equal(c.CORSOrigins, want) {
			t.Errorf("%s: %v %v", text, c, err)
		}
	}
	if c, err := config.Parse("f.yaml", []byte(agentAndCard+"cors_origins: '*'")); err != nil || !slices.Equal(c.CORSOrigins, []string{"*"}) {
		t.Errorf("%v %v", c, err)
	}
}

func TestMistakesAtTheEdge(t *testing.T) {
	ca, dir := certs.NewAuthority(t, "authority"), t.TempDir()
	cert, key := ca.Server("one").Write(t, dir)
	_, other := ca.Server("two").Write(t, t.TempDir())
	pair := fmt.Sprintf("cert_file: %s, key_file: %s", cert, key)
	none := filepath.Join(dir, "none.pem")
	for _, c := range []struct{ text, want string }{
		{"cors_origins: [https://a.example.com/]", `cors_origins[0]: expected an origin without a path, such as "https://app.example.com", or "*", found "https://a.example.com/"`},
		{"cors_origins: a.example.com", `cors_origins[0]: expected an origin without a path`},
		{"cors_origins: 'https://*.example.com'", `cors_origins[0]: expected an origin without a path`},
		{"cors_origins: 5", `cors_origins: expected a list of origins`},
		{"limits: {rate: {per_principal: 60}}", "limits.rate.per_principal: needs bearer_token, bearer_token_env, auth or tls.client_ca_file: without one, all callers are the same"},
		{"limits: {rate: {address_burst: 5}}", "limits.rate.address_burst: has no effect without limits.rate.per_address"},
		{"bearer_token: x\nlimits: {rate: {principal_burst: 5}}", "limits.rate.principal_burst: has no effect without limits.rate.per_principal"},
		{"limits: {rate: {per_address: -1}}", "limits.rate.per_address: expected a whole number from 0"},
		{"limits: {rate: {per_adress: 5}}", "limits.rate.per_adress: unknown key; did you mean per_address?"},
		{"tls: {cert_file: " + cert + "}", "tls.key_file: required, but missing. PEM file of the private key that cert_file belongs to."},
		{"tls: {key_file: " + key + "}", "tls.cert_file: required, but missing. PEM file of the server's certificate, which key_file belongs to"},
		{"tls: {client_ca_file: " + ca.File + "}", "tls.cert_file: required, but missing"},
		{"tls: {cert_file: " + none + ", key_file: " + key + "}", "tls.cert_file: does not work with tls.key_file: open " + none},
		{"tls: {cert_file: " + cert + ", key_file: " + other + "}", "tls.cert_file: does not work with tls.key_file: "},
		{"tls: {" + pair + ", client_ca_file: " + none + "}", "tls.client_ca_file: cannot be read: open " + none},
		{"tls: {" + pair + ", client_ca_file: " + key + "}", "tls.client_ca_file: holds no certificate in PEM"},
		{"tls: {" + pair + ", min_version: 1.2}", `tls.min_version: expected "1.2" or "1.3", in quotes, found the number 1.2`},
		{"tls: {" + pair + ", min_version: \"1.1\"}", `tls.min_version: expected "1.2" or "1.3", in quotes, found "1.1"`},
		{"tls: {" + pair + ", client_principal: email}", `tls.client_principal: expected one of "common_name", "subject", "uri", found "email"`},
		{"public_url: http://agent.example.com\ntls: {" + pair + "}", `public_url: "http://agent.example.com" begins with http:, but tls.cert_file makes the server speak HTTPS only`},
	} {
		if _, err := config.Parse("f.yaml", []byte(agentAndCard+c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

// Client certificates are authentication like any other, and files are found at home.
func TestTLSKeys(t *testing.T) {
	ca, dir := certs.NewAuthority(t, "authority"), t.TempDir()
	ca.Server("one").Write(t, dir)
	b, err := os.ReadFile(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	c, err := config.Parse("f.yaml", []byte(agentAndCard+`
tls: {cert_file: ~/cert.pem, key_file: ~/key.pem, client_ca_file: ~/ca.pem}
card_requires_auth: true
limits: {rate: {per_principal: 60}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if !c.Authenticated() || !c.ClientCertificates() || c.TLS.KeyFile != filepath.Join(dir, "key.pem") || c.TLS.MinVersion != "1.2" || c.TLS.ClientPrincipal != "common_name" || config.Span(c.TLS.HSTSMaxAge).Hours() != 8760 {
		t.Errorf("%+v", c.TLS)
	}
}
