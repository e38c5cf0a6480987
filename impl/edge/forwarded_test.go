package edge

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func forwarded(trusted ...string) Forwarded {
	var f Forwarded
	for _, t := range trusted {
		f.Trusted = append(f.Trusted, netip.MustParsePrefix(t))
	}
	return f
}

// asked is a request as it arrives, with headers in order.
func asked(peer string, header ...string) *http.Request {
	r := httptest.NewRequest("GET", "http://inner.local:8091/", nil)
	r.RemoteAddr = peer
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func TestForwardedClient(t *testing.T) {
	f := forwarded("10.0.0.0/8", "fd00::/8")
	for _, c := range []struct {
		name, peer string
		header     []string
		want       string
	}{
		{"no proxy", "192.0.2.1:1234", nil, "192.0.2.1"},
		{"a stranger says something", "192.0.2.1:1234", []string{"X-Forwarded-For", "198.51.100.7", "Forwarded", "for=198.51.100.7"}, "192.0.2.1"},
		{"a proxy says nothing", "10.0.0.1:1234", nil, "10.0.0.1"},
		{"one hop", "10.0.0.1:1234", []string{"X-Forwarded-For", "192.0.2.1"}, "192.0.2.1"},
		{"one hop, standard", "10.0.0.1:1234", []string{"Forwarded", "for=192.0.2.1;proto=https"}, "192.0.2.1"},
		{"mapped peer", "[::ffff:10.0.0.1]:1234", []string{"X-Forwarded-For", "::ffff:192.0.2.1"}, "192.0.2.1"},
		{"peer with a zone", "[fd00::1%eth0]:1234", []string{"X-Forwarded-For", "192.0.2.1"}, "192.0.2.1"},
		{"the client wrote the left", "10.0.0.1:1234", []string{"X-Forwarded-For", "198.51.100.7, 192.0.2.1"}, "192.0.2.1"},
		{"the client wrote a trusted address", "10.0.0.1:1234", []string{"X-Forwarded-For", "10.9.9.9, 192.0.2.1"}, "192.0.2.1"},
		{"in a line of its own", "10.0.0.1:1234", []string{"X-Forwarded-For", "198.51.100.7", "X-Forwarded-For", "192.0.2.1"}, "192.0.2.1"},
		{"two hops", "10.0.0.1:1234", []string{"X-Forwarded-For", "198.51.100.7, 192.0.2.1, 10.0.0.2"}, "192.0.2.1"},
		{"two hops, standard", "10.0.0.1:1234", []string{"Forwarded", "for=198.51.100.7, for=192.0.2.1;by=10.0.0.2", "Forwarded", "For=10.0.0.2"}, "192.0.2.1"},
		{"only proxies", "10.0.0.1:1234", []string{"X-Forwarded-For", "10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"ports", "10.0.0.1:1234", []string{"X-Forwarded-For", "192.0.2.1:4711"}, "192.0.2.1"},
		{"IPv6 with a port", "10.0.0.1:1234", []string{"Forwarded", `for="[2001:db8::1]:4711"`}, "2001:db8::1"},
		{"IPv6 in brackets", "10.0.0.1:1234", []string{"Forwarded", `for="[2001:db8::1]"`}, "2001:db8::1"},
		{"IPv6 bare", "10.0.0.1:1234", []string{"X-Forwarded-For", "2001:db8::1"}, "2001:db8::1"},
		{"IPv6 chain", "[fd00::1]:9", []string{"X-Forwarded-For", "2001:db8::1, fd00::2"}, "2001:db8::1"},
		{"hidden client", "10.0.0.1:1234", []string{"Forwarded", "for=192.0.2.9, for=unknown"}, "10.0.0.1"},
		{"hidden client behind two", "10.0.0.1:1234", []string{"Forwarded", "for=_secret, for=10.0.0.2"}, "10.0.0.2"},
		{"nonsense", "10.0.0.1:1234", []string{"X-Forwarded-For", "192.0.2.1, <script>"}, "10.0.0.1"},
		{"empty entry", "10.0.0.1:1234", []string{"X-Forwarded-For", "192.0.2.1,"}, "10.0.0.1"},
		{"broken grammar", "10.0.0.1:1234", []string{"Forwarded", "for=192.0.2.1;;"}, "10.0.0.1"},
		{"unclosed quote", "10.0.0.1:1234", []string{"Forwarded", `for="192.0.2.1`}, "10.0.0.1"},
		{"a comma within quotes", "10.0.0.1:1234", []string{"Forwarded", `for=192.0.2.1;x="a, for=198.51.100.7"`}, "192.0.2.1"},
		{"twice in one element", "10.0.0.1:1234", []string{"Forwarded", "for=192.0.2.1;for=198.51.100.7"}, "10.0.0.1"},
		{"empty", "10.0.0.1:1234", []string{"Forwarded", ""}, "10.0.0.1"},
		{"both alike", "10.0.0.1:1234", []string{"Forwarded", "for=192.0.2.1", "X-Forwarded-For", "192.0.2.1"}, "192.0.2.1"},
		{"the proxy writes one family, the client the other", "10.0.0.1:1234", []string{"Forwarded", "for=198.51.100.7", "X-Forwarded-For", "192.0.2.1"}, "10.0.0.1"},
		{"the client's family alone says who", "10.0.0.1:1234", []string{"Forwarded", "for=198.51.100.7", "X-Forwarded-Proto", "https"}, "10.0.0.1"},
		{"no address", "@", []string{"X-Forwarded-For", "192.0.2.1"}, "invalid IP"},
	} {
		if got := f.Client(asked(c.peer, c.header...)).String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if got := (Forwarded{}).Client(asked("127.0.0.1:1", "X-Forwarded-For", "192.0.2.1")).String(); got != "127.0.0.1" {
		t.Errorf("nobody is trusted: got %s", got)
	}
	if got := f.Client(asked("10.0.0.1:1", "Forwarded", strings.Repeat("for=10.0.0.2,", 100)+"for=10.0.0.2")).String(); got != "10.0.0.1" {
		t.Errorf("a long chain: got %s", got)
	}
}

func TestForwardedOuter(t *testing.T) {
	f := forwarded("10.0.0.0/8", "0.0.0.0/32")
	const proxy = "10.0.0.1:1234"
	for _, c := range []struct {
		name, peer string
		header     []string
		want       string // empty: nothing is believed
	}{
		{"a stranger", "192.0.2.1:1", []string{"X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "https"}, ""},
		{"a proxy says nothing", proxy, nil, "http://inner.local:8091"},
		{"host and scheme", proxy, []string{"X-Forwarded-Host", "agents.example.com", "X-Forwarded-Proto", "https"}, "https://agents.example.com"},
		{"scheme alone", proxy, []string{"X-Forwarded-Proto", "https"}, "https://inner.local:8091"},
		{"standard", proxy, []string{"Forwarded", `for=192.0.2.1;host="agents.example.com:8443";proto=HTTPS`}, "https://agents.example.com:8443"},
		{"prefix", proxy, []string{"X-Forwarded-Host", "Example.COM", "X-Forwarded-Prefix", "/agents/one/"}, "http://example.com/agents/one"},
		{"the prefix of the whole host", proxy, []string{"X-Forwarded-Host", "example.com", "X-Forwarded-Prefix", "/"}, "http://example.com"},
		{"port", proxy, []string{"X-Forwarded-Host", "example.com", "X-Forwarded-Port", "8443", "X-Forwarded-Proto", "https"}, "https://example.com:8443"},
		{"the scheme's port", proxy, []string{"X-Forwarded-Host", "example.com", "X-Forwarded-Port", "443", "X-Forwarded-Proto", "https"}, "https://example.com"},
		{"the host has a port", proxy, []string{"X-Forwarded-Host", "example.com:8443", "X-Forwarded-Port", "443"}, "http://example.com:8443"},
		{"IPv6", proxy, []string{"X-Forwarded-Host", "[2001:DB8::1]:8443"}, "http://[2001:db8::1]:8443"},
		{"IPv6 with the port beside it", proxy, []string{"X-Forwarded-Host", "[2001:db8::1]", "X-Forwarded-Port", "8443"}, "http://[2001:db8::1]:8443"},

		{"two hops append", proxy, []string{"X-Forwarded-For", "192.0.2.1, 10.0.0.2", "X-Forwarded-Proto", "https, http", "X-Forwarded-Host", "example.com, mid.local"}, "https://example.com"},
		{"the client wrote the left", proxy, []string{"X-Forwarded-For", "192.0.2.1", "X-Forwarded-Proto", "https, http", "X-Forwarded-Host", "evil.example, example.com"}, "http://example.com"},
		{"in a line of its own", proxy, []string{"X-Forwarded-Host", "evil.example", "X-Forwarded-Host", "example.com"}, "http://example.com"},
		{"two hops, one value handed on", proxy, []string{"X-Forwarded-For", "192.0.2.1, 10.0.0.2", "X-Forwarded-Host", "example.com"}, "http://example.com"},
		{"standard, two hops", proxy, []string{"Forwarded", "host=evil.example;for=1.1.1.1, for=192.0.2.1;host=example.com;proto=https, for=10.0.0.2;host=mid.local;proto=http"}, "https://example.com"},

		{"both alike", proxy, []string{"Forwarded", "host=example.com;proto=https", "X-Forwarded-Host", "example.com", "X-Forwarded-Proto", "https", "X-Forwarded-Prefix", "/a"}, "https://example.com/a"},
		{"the client wrote the other family", proxy, []string{"Forwarded", "host=evil.example;proto=https", "X-Forwarded-Proto", "https"}, ""},
		{"the client wrote a prefix", proxy, []string{"Forwarded", "host=example.com;proto=https", "X-Forwarded-Prefix", "/evil"}, ""},

		{"wildcard", proxy, []string{"X-Forwarded-Host", "0.0.0.0:8091"}, ""},
		{"wildcard in short", proxy, []string{"X-Forwarded-Host", "0:8091"}, ""},
		{"wildcard in hex", proxy, []string{"X-Forwarded-Host", "0x0"}, ""},
		{"IPv6 wildcard", proxy, []string{"X-Forwarded-Host", "[::]:8091"}, ""},
		{"mapped wildcard", proxy, []string{"X-Forwarded-Host", "[::ffff:0.0.0.0]"}, ""},
		{"port 0", proxy, []string{"X-Forwarded-Host", "example.com:0"}, ""},
		{"no number", proxy, []string{"X-Forwarded-Host", "example.com", "X-Forwarded-Port", "https"}, ""},
		{"user", proxy, []string{"X-Forwarded-Host", "user@example.com"}, ""},
		{"path", proxy, []string{"X-Forwarded-Host", "example.com/evil"}, ""},
		{"markup", proxy, []string{"X-Forwarded-Host", `example.com"><script>`}, ""},
		{"scheme", proxy, []string{"X-Forwarded-Proto", "javascript"}, ""},
		{"climbing", proxy, []string{"X-Forwarded-Prefix", "/a/../b"}, ""},
		{"prefix with a query", proxy, []string{"X-Forwarded-Prefix", "/a?b"}, ""},
		{"prefix to another host", proxy, []string{"X-Forwarded-Prefix", "//evil.example"}, ""},
		{"broken grammar", proxy, []string{"Forwarded", "host=example.com;proto"}, ""},
	} {
		scheme, host, prefix := f.Outer(asked(c.peer, c.header...))
		got := scheme + "://" + host + prefix
		if host == "" {
			got = scheme + prefix
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	r := asked(proxy)
	r.TLS = &tls.ConnectionState{}
	if scheme, _, _ := f.Outer(r); scheme != "https" {
		t.Errorf("a connection with TLS: got %q", scheme)
	}
}

func FuzzForwarded(f *testing.F) {
	f.Add("for=192.0.2.1;host=example.com", "example.com", "192.0.2.1", "/p")
	f.Add(`for="[2001:db8::1]:1", for=unknown`, "[::]:0", "a,,b", "/../")
	trust := forwarded("10.0.0.0/8")
	f.Fuzz(func(t *testing.T, standard, host, from, prefix string) {
		r := asked("10.0.0.1:1", "Forwarded", standard, "X-Forwarded-Host", host, "X-Forwarded-For", from, "X-Forwarded-Prefix", prefix)
		if !trust.Client(r).IsValid() {
			t.Error("no client at all")
		}
		if _, host, _ := trust.Outer(r); strings.ContainsAny(host, "/@\"<> \\?#") || strings.HasSuffix(host, ":0") || strings.HasPrefix(host, "0.0.0.0") || strings.HasPrefix(host, "[::]") {
			t.Errorf("host %q", host)
		}
	})
}
