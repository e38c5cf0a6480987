package config

import (
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	gen "a2aserve/gen/config"
)

// Validator is one way to know a caller, with the credentials that it needs.
type Validator struct {
	gen.Validator            // its own credentials are empty
	Identities    []Identity // of a static one
	Secret        Secret     // client_secret of an introspecting one
}

// Identity is a bearer token and the caller that presents it.
type Identity struct {
	Token     Secret
	Principal string
	Tenant    string
	Scopes    []string
}

// BearerPrincipal is the caller that bearer_token and bearer_token_env stand for.
const BearerPrincipal = "bearer_token"

// Authenticated says whether callers must identify themselves.
func (c Config) Authenticated() bool { return len(c.Validators) > 0 || c.ClientCertificates() }

// MaxFailures is auth.max_failures_per_minute, also where there is no section auth.
func (c Config) MaxFailures() int {
	if c.Auth != nil {
		return c.Auth.MaxFailuresPerMinute
	}
	n, _ := lookup(schemaDoc, "/$defs/Auth/properties/max_failures_per_minute/default").(float64)
	return int(n)
}

// RequiredScopes are auth.required_scopes by class of operations.
func (c Config) RequiredScopes() map[string][]string {
	if c.Auth == nil || c.Auth.RequiredScopes == nil {
		return nil
	}
	s := c.Auth.RequiredScopes
	return map[string][]string{"read": s.Read, "send": s.Send, "cancel": s.Cancel}
}

// Networks are the trusted_proxy_cidrs of a proxy_headers validator.
func (v Validator) Networks() (out []netip.Prefix) {
	for _, s := range v.TrustedProxyCIDRs {
		if p, err := netip.ParsePrefix(s); err == nil { // the schema lets nothing else through
			out = append(out, p)
		}
	}
	return out
}

// takeValidators moves the validators into c, and the credentials out of what may be
// printed.
func (c *Config) takeValidators(found []Validator) {
	c.BearerToken, c.BearerTokenEnv, c.Validators = "", "", found
	if c.Auth == nil {
		return
	}
	for i := range c.Auth.Validators {
		v := &c.Auth.Validators[i]
		v.ClientSecret = ""
		for j := range v.Tokens {
			v.Tokens[j].Token = ""
		}
		found[i].Validator = *v
	}
}

func (d *document) validators() []any {
	list, _ := lookup(d.root, "/auth/validators").([]any)
	return list
}

// prepareValidators gives each validator the defaults of its type, and notes keys that
// belong to another one. What a type has is in the schema, under x-types, x-required and
// x-default: one section for all types keeps the errors plain.
func (d *document) prepareValidators() {
	section, _ := lookup(schemaDoc, "/$defs/Validator").(map[string]any)
	for i, v := range d.validators() {
		m, _ := v.(map[string]any)
		kind, _ := m["type"].(string)
		if !slices.Contains(texts(lookup(section, "/properties/type/enum")), kind) {
			continue // the schema will say so
		}
		if name, ok := m["audience"].(string); ok {
			m["audience"] = []any{name}
		}
		for _, key := range properties(section) {
			at, _ := property(section, key)
			ptr := "/auth/validators/" + strconv.Itoa(i) + "/" + key
			_, set := m[key]
			types := texts(at["x-types"])
			switch def := lookup(at, "/x-default/"+kind); {
			case set && types != nil && !slices.Contains(types, kind):
				d.problem(ptr, "belongs to validators of type %s, and this one is %s", strings.Join(types, " or "), kind)
			case !set && slices.Contains(texts(at["x-required"]), kind):
				d.problem(ptr, "required for type %s, but missing. %v", kind, at["description"])
			case !set && def != nil:
				m[key] = def
			}
		}
	}
}

// checkValidators notes what the schema cannot say of validators.
func (d *document) checkValidators() {
	for i, v := range d.validators() {
		m, _ := v.(map[string]any)
		kind, _ := m["type"].(string)
		base := "/auth/validators/" + strconv.Itoa(i) + "/"
		for key := range m {
			bounds := texts(lookup(schemaDoc, "/$defs/Validator/properties/"+escape(key)+"/x-range/"+kind))
			text, _ := m[key].(string)
			if value := span(text); len(bounds) == 2 && value >= 0 && (value < span(bounds[0]) || value > span(bounds[1])) {
				d.problem(base+key, "expected a duration from %s to %s, found %q", bounds[0], bounds[1], text)
			}
		}
		if issuer := d.text(base + "issuer"); kind == "jwks" && issuer != "" && !d.has(base+"jwks_url") &&
			(!isProviderURL(issuer) || strings.Contains(issuer, "?")) {
			d.problem(base+"issuer", "%q is no address to find its keys at (https, without a user, a query and a fragment): set jwks_url", withoutPassword(issuer))
		}
		for j, cidr := range texts(m["trusted_proxy_cidrs"]) {
			if p, err := netip.ParsePrefix(cidr); err == nil && p.Bits() == 0 {
				d.problem(base+"trusted_proxy_cidrs/"+strconv.Itoa(j), "%q trusts everybody: name the proxies", cidr)
			}
		}
	}
}

// isProviderURL keeps credentials and keys off networks where others could read or
// change them.
func isProviderURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && Loopback(net.JoinHostPort(u.Hostname(), "0"))
}

// credentials reads the secrets, wherever they are kept. A source that is named but
// gives nothing is a mistake: going on without it would leave the server open.
func (d *document) credentials() (out []Validator) {
	for _, key := range []string{"/bearer_token", "/bearer_token_env"} {
		token := d.text(key)
		if token != "" && key == "/bearer_token_env" {
			token = d.fromEnv(key)
		}
		if token != "" {
			out = append(out, Validator{Validator: gen.Validator{Type: "static"}, Identities: []Identity{{Token: Secret{token}, Principal: BearerPrincipal}}})
		}
	}
	// The same token for two callers would make who calls depend on the order.
	seen := map[string]string{}
	for i, v := range d.validators() {
		base := "/auth/validators/" + strconv.Itoa(i)
		one := Validator{}
		tokens, _ := lookup(v, "/tokens").([]any)
		for j := range tokens {
			ptr := base + "/tokens/" + strconv.Itoa(j)
			key, t := d.credential(ptr, "token")
			if t == "" {
				continue
			}
			if other, twice := seen[t]; twice {
				d.problem(key, "is the same token as %s: each must differ", other)
				continue
			}
			seen[t] = keyPath(key)
			one.Identities = append(one.Identities, Identity{Token: Secret{t}, Principal: d.text(ptr + "/principal"), Tenant: d.text(ptr + "/tenant"),
				Scopes: texts(lookup(d.root, ptr+"/scopes"))})
		}
		if d.text(base+"/type") == "introspect" {
			_, t := d.credential(base, "client_secret")
			one.Secret = Secret{t}
		}
		out = append(out, one)
	}
	return out
}

// credential reads a secret that stands under name, in a variable that name_env names, or
// in a file that name_file names; it says which key gave it.
func (d *document) credential(ptr, name string) (key, secret string) {
	keys := []string{name, name + "_env", name + "_file"}
	var set []string
	for _, k := range keys {
		if d.has(ptr + "/" + k) {
			set = append(set, k)
		}
	}
	if len(set) != 1 {
		if _, ok := lookup(d.root, ptr).(map[string]any); ok {
			d.problem(ptr, "expected exactly one of %s, found %s", strings.Join(keys, ", "), orNone(strings.Join(set, " and ")))
		}
		return ptr, ""
	}
	key = ptr + "/" + set[0]
	switch set[0] {
	case keys[0]:
		return key, d.text(key)
	case keys[1]:
		return key, d.fromEnv(key)
	}
	path := d.text(key)
	if path == "" {
		return key, ""
	}
	b, err := os.ReadFile(ExpandHome(path))
	if err != nil {
		d.problem(key, "cannot read the %s: %v", strings.ReplaceAll(name, "_", " "), err)
		return key, ""
	}
	return key, d.checkToken(key, "file "+path, strings.TrimSpace(string(b)))
}
