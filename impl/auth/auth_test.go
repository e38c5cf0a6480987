package auth

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func who(id string) call.Principal { return call.Principal{ID: id} }

func TestNewStaticRefuses(t *testing.T) {
	good := who("a")
	for name, list := range map[string][]Token{
		"nothing": {}, "empty token": {{"", good}}, "a space": {{"a secret", good}}, "not ASCII": {{"sécret", good}}, "a line break": {{"secret\n", good}},
		"no principal": {{"secret", call.Principal{}}}, "anonymous": {{"secret", call.Anonymous}}, "control": {{"secret", who("a\u0085")}},
		"bad UTF-8": {{"secret", who("a\xff")}}, "twice": {{"secret", good}, {"secret", who("b")}},
	} {
		if _, err := NewStatic(list); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "sécret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBearer(t *testing.T) {
	for value, want := range map[string]string{
		"Bearer t": "t", "bearer t": "t", "BEARER\tt": "t", "  Bearer   t  ": "t", "Bearer t=": "t=",
		"Bearer": "invalid", "Bearer ": "invalid", "Bearer a b": "invalid", "Bearer a,b": "a,b", "Bearer \u00e9": "invalid",
		"Basic dDp0": "none", "t": "none", "": "none", "BearerToken t": "none", "Bearer " + strings.Repeat("x", maxToken+1): "invalid",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", value)
		token, err := Bearer(r)
		if err != nil {
			token = outcome(call.Principal{}, err)
		}
		if token != want {
			t.Errorf("%.30q: %q, want %q", value, token, want)
		}
	}
}

func TestProxyHeaders(t *testing.T) {
	v, err := NewProxy(ProxyOptions{Trusted: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")},
		Principal: "X-User", Tenant: "X-Org", Scopes: "X-Scopes"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		peer   string
		header []string
		want   string
	}{
		"trusted":              {"10.1.2.3:7", []string{"X-User", "alice"}, "alice"},
		"IPv6":                 {"[fd00::1%eth0]:7", []string{"X-User", "alice"}, "alice"},
		"IPv4 in IPv6":         {"[::ffff:10.1.2.3]:7", []string{"X-User", "alice"}, "alice"},
		"untrusted":            {"10.2.0.1:7", []string{"X-User", "alice"}, "none"},
		"forwarded for":        {"192.0.2.1:7", []string{"X-User", "alice", "X-Forwarded-For", "10.1.2.3"}, "none"},
		"no header":            {"10.1.2.3:7", nil, "invalid"},
		"empty":                {"10.1.2.3:7", []string{"X-User", ""}, "invalid"},
		"twice":                {"10.1.2.3:7", []string{"X-User", "alice", "X-User", "alice"}, "invalid"},
		"tenant twice":         {"10.1.2.3:7", []string{"X-User", "alice", "X-Org", "a", "X-Org", "b"}, "invalid"},
		"scopes twice":         {"10.1.2.3:7", []string{"X-User", "alice", "X-Scopes", "a", "X-Scopes", "b"}, "invalid"},
		"no address":           {"@", []string{"X-User", "alice"}, "none"},
		"bearer token instead": {"10.1.2.3:7", []string{"Authorization", "Bearer x"}, "invalid"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = test.peer
		for i := 0; i < len(test.header); i += 2 {
			r.Header.Add(test.header[i], test.header[i+1])
		}
		if got := outcome(v.Authenticate(r)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "10.1.2.3:7"
	r.Header.Set("X-User", "alice")
	r.Header.Set("X-Org", "acme")
	r.Header.Set("X-Scopes", "read, send cancel,")
	if p, err := v.Authenticate(r); err != nil || p.Tenant != "acme" || !slices.Equal(p.Scopes, []string{"read", "send", "cancel"}) {
		t.Errorf("%+v %v", p, err)
	}
	for _, o := range []ProxyOptions{{Principal: "X-User"}, {Trusted: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}, Principal: "X-User"},
		{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}} {
		if _, err := NewProxy(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// fixed is a validator with one answer.
type fixed struct {
	p   call.Principal
	err error
}

func (f fixed) Authenticate(*http.Request) (call.Principal, error) { return f.p, f.err }
func (f fixed) Type() string                                       { return "fixed" }
func (f fixed) Scheme() (string, a2a.SecurityScheme)               { return "", a2a.SecurityScheme{} }
func (f fixed) Close()                                             {}

func TestChain(t *testing.T) {
	because := errors.New("why")
	none, invalid, down := fixed{err: refuse(NoCredential, because)}, fixed{err: refuse(Invalid, because)}, fixed{err: refuse(Unavailable, because)}
	scope := fixed{err: &Refusal{Scope, []string{"a", "b"}, because}}
	alice, bob := fixed{p: who("alice")}, fixed{p: who("bob")}
	for i, test := range []struct {
		chain     []Validator
		who       string
		status    int
		challenge string
	}{
		{[]Validator{alice, bob}, "alice", 0, ""},
		{[]Validator{none, invalid, down, bob, alice}, "bob", 0, ""},
		{[]Validator{none, none}, "", 401, `Bearer realm="a2aserve"`},
		{[]Validator{none, invalid, none}, "", 401, `Bearer realm="a2aserve", error="invalid_token"`},
		{[]Validator{invalid, down, none}, "", 503, ""},
		{[]Validator{scope, down, invalid}, "", 403, `Bearer realm="a2aserve", error="insufficient_scope", scope="a b"`},
		{[]Validator{fixed{p: call.Anonymous}}, "", 401, `Bearer realm="a2aserve", error="invalid_token"`},
		{[]Validator{fixed{}}, "", 401, `Bearer realm="a2aserve", error="invalid_token"`},
		{[]Validator{fixed{err: because}}, "", 401, `Bearer realm="a2aserve", error="invalid_token"`},
	} {
		c, err := New(Options{Validators: test.chain})
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Authenticate(bearer("x"))
		if p.ID != test.who || (err == nil) != (test.who != "") {
			t.Errorf("%d: %v %v", i, p, err)
		}
		if err == nil {
			continue
		}
		e, _ := errors.AsType[*a2a.Error](err)
		r, _ := errors.AsType[*Refusal](err)
		if e == nil || r == nil || e.Type.HTTP != test.status || r.Challenge() != test.challenge || (e.RetryAfter > 0) != (test.status == 503) {
			t.Errorf("%d: %v", i, err)
		}
		if len(test.chain) > 1 && (!strings.Contains(err.Error(), "fixed: ") || !strings.Contains(err.Error(), "fixed#2: ")) {
			t.Errorf("%d: the log does not say who refused: %v", i, err)
		}
	}
	if _, err := New(Options{}); err == nil {
		t.Error("an empty chain would let nobody in")
	}
}

func TestPermit(t *testing.T) {
	s := Scopes{"send": {"tasks:send", "beta"}, "read": nil}
	for _, test := range []struct {
		has    []string
		access string
		ok     bool
	}{
		{nil, "read", true}, {nil, "cancel", true}, {nil, "send", false}, {[]string{"beta"}, "send", false},
		{[]string{"tasks"}, "send", false}, {[]string{"beta", "x", "tasks:send"}, "send", true},
	} {
		err := s.Permit(call.Principal{ID: "a", Scopes: test.has}, test.access)
		if (err == nil) != test.ok {
			t.Errorf("%v: %v", test, err)
		}
		if e, _ := errors.AsType[*a2a.Error](err); !test.ok && (e == nil || e.Type != a2a.PermissionDeniedError || e.Metadata["scope"] != "tasks:send beta") {
			t.Errorf("%v: %v", test, err)
		}
	}
}

func TestSecurityFollowsTheChain(t *testing.T) {
	static, _ := NewStatic([]Token{{"t", who("a")}})
	proxy, _ := NewProxy(ProxyOptions{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Principal: "X-User"})
	c := newClock()
	one := newTestJWKS(t, c, JWKSOptions{})
	two := newTestJWKS(t, c, JWKSOptions{Issuer: "https://two.example.com"})
	asks := newTestIntrospect(t, c, IntrospectOptions{URL: "https://id.example.com/i"})
	for want, list := range map[string][]Validator{
		"": {proxy}, "bearer": {proxy, static, asks, static}, "jwt bearer": {one, asks}, "jwt jwt-2": {one, two, one}, "bearer jwt": {asks, proxy, one},
	} {
		chain, err := New(Options{Validators: list})
		if err != nil {
			t.Fatal(err)
		}
		schemes, requirements := chain.Security()
		var names []string
		for _, r := range requirements {
			for name := range r.Schemes {
				names = append(names, name)
				if schemes[name].HTTPAuthSecurityScheme == nil || schemes[name].HTTPAuthSecurityScheme.Scheme != "Bearer" {
					t.Errorf("%s: %+v", name, schemes[name])
				}
			}
		}
		if strings.Join(names, " ") != want || len(schemes) != len(names) {
			t.Errorf("%v, want %s", names, want)
		}
	}
	if _, s := one.Scheme(); s.HTTPAuthSecurityScheme.BearerFormat != "JWT" || !strings.Contains(s.HTTPAuthSecurityScheme.Description, testIssuer) {
		t.Errorf("%+v", s.HTTPAuthSecurityScheme)
	}
}

func TestFailuresSlowAnAddressDown(t *testing.T) {
	static, _ := NewStatic([]Token{{"good", who("alice")}})
	proxy, _ := NewProxy(ProxyOptions{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Principal: "X-User"})
	chain, err := New(Options{Validators: []Validator{static, proxy}, MaxFailures: 6, Proxies: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}})
	if err != nil {
		t.Fatal(err)
	}
	c := newClock()
	chain.failures.now = c.now
	try := func(from, client, token string) (status int, wait time.Duration) {
		r := bearer(token)
		r.RemoteAddr = from
		if client != "" {
			r = r.WithContext(call.With(r.Context(), &call.Call{Client: netip.MustParseAddr(client)}))
		}
		_, err := chain.Authenticate(r)
		if err == nil {
			return 200, 0
		}
		e, _ := errors.AsType[*a2a.Error](err)
		return e.Type.HTTP, e.RetryAfter
	}
	expect := func(what, from, client, token string, want int) {
		t.Helper()
		if got, _ := try(from, client, token); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	for range 6 {
		expect("at first", "192.0.2.1:1", "", "bad", 401)
	}
	status, wait := try("192.0.2.1:2", "", "bad")
	if status != 429 || wait <= 0 || wait > 10*time.Second {
		t.Errorf("the seventh: %d, retry after %v", status, wait)
	}
	expect("a good token meanwhile", "192.0.2.1:3", "", "good", 429)
	expect("another address", "192.0.2.2:1", "", "good", 200)
	c.advance(wait)
	expect("a good token later", "192.0.2.1:3", "", "good", 200)
	expect("one more bad one", "192.0.2.1:3", "", "bad", 401)
	expect("and another", "192.0.2.1:3", "", "bad", 429)
	for i := range 20 {
		expect("no token", "192.0.2.3:1", "", "", 401)
		expect("this machine", "127.0.0.1:1", "", "bad", 401)
		expect("a proxy that vouches", "10.0.0.1:1", "", "bad", 401)
		expect("a proxy that says nothing", "203.0.113.9:1", "", "bad", 401)
		expect("many behind a proxy", "127.0.0.1:1", fmt.Sprintf("198.51.100.%d", i), "bad", 401)
	}
	for i := range 8 { // a host has a whole /64 of IPv6
		expect("IPv6", fmt.Sprintf("[2001:db8:0:1::%d]:1", i+1), "", "bad", map[bool]int{true: 401, false: 429}[i < 6])
	}
	expect("another network", "[2001:db8:0:2::1]:1", "", "good", 200)
}

func TestFailuresAreBounded(t *testing.T) {
	f := newFailures(10)
	c := newClock()
	f.now = c.now
	for i := range maxAddresses + 1000 {
		f.note(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
	}
	if n := len(f.table); n > maxAddresses {
		t.Errorf("%d addresses are remembered", n)
	}
	newFailures(0).note(netip.MustParseAddr("192.0.2.1"))
}
