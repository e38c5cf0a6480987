package edge

import (
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Forwarded reads what reverse proxies say of a request: Forwarded (RFC 7239) and the
// X-Forwarded headers. The peer is believed if it is trusted, and whoever it names as the
// hop before it if that one is trusted too; whatever a caller wrote to the left of those
// counts for nothing. The zero value believes nobody.
//
// A proxy that writes one family of headers passes the caller's other one through. So where
// both are there, they are believed only as far as they agree.
type Forwarded struct {
	Trusted []netip.Prefix // IPv4 ones in their plain form
}

// ForwardedHeaders are all that an answer depends on which depends on Outer, for Vary.
const ForwardedHeaders = "Forwarded, X-Forwarded-For, X-Forwarded-Host, X-Forwarded-Port, X-Forwarded-Prefix, X-Forwarded-Proto"

// Client is the address of whoever sent the request to the outermost trusted proxy. Where
// that is unknown it is the nearest hop that is known, at last the peer; it is the zero
// Addr only where the connection has no IP address.
func (f Forwarded) Client(r *http.Request) netip.Addr {
	peer := peerOf(r)
	if !f.trusts(peer) {
		return peer
	}
	standard, ok := f.standard(r.Header)
	legacy := f.legacy(r.Header)
	switch {
	case !ok || standard.there && legacy.there && standard.client != legacy.client:
		return peer
	case standard.client.IsValid():
		return standard.client
	case legacy.client.IsValid():
		return legacy.client
	}
	return peer
}

// Outer is where the client sent the request: scheme and host, the port with it where it is
// not the scheme's own, and the path prefix that a proxy took off, without a slash at its
// end. What a trusted proxy does not say is taken from the request itself. The host is
// empty where the peer is not trusted, or what it says is no address that could be used.
func (f Forwarded) Outer(r *http.Request) (scheme, host, prefix string) {
	if !f.trusts(peerOf(r)) {
		return "", "", ""
	}
	said, ok := f.standard(r.Header)
	if legacy := f.legacy(r.Header); legacy.there {
		if said.there && (said.scheme != legacy.scheme || said.host != legacy.host) {
			return "", "", ""
		}
		said = legacy
	}
	if scheme = said.scheme; scheme == "" {
		scheme = "http"
		if r.TLS != nil {
			scheme = "https"
		}
	}
	name := said.host
	if name == "" {
		name = r.Host
	}
	host, usable := authority(scheme, name, said.port)
	if !ok || !usable || scheme != "http" && scheme != "https" || !isPrefix(said.prefix) {
		return "", "", ""
	}
	return scheme, host, said.prefix
}

func (f Forwarded) trusts(a netip.Addr) bool {
	return a.IsValid() && slices.ContainsFunc(f.Trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}

// said is what one family of headers says, as far as trusted proxies wrote it.
type said struct {
	there                      bool
	client                     netip.Addr
	scheme, host, prefix, port string
}

// outermost finds the entry that the outermost trusted proxy wrote, and the client that it
// saw. Proxies append, so the way goes from the right: an entry counts if the one to
// its right names a trusted proxy.
func (f Forwarded) outermost(from []netip.Addr) (at int, client netip.Addr) {
	for at = len(from) - 1; at >= 0; at-- {
		if !from[at].IsValid() {
			return at, client // hidden or nonsense: nobody knows who wrote what is further left
		}
		client = from[at]
		if !f.trusts(client) {
			return at, client
		}
	}
	return 0, client
}

// standard reads Forwarded. A header that breaks the grammar says nothing, and is not ok.
func (f Forwarded) standard(h http.Header) (s said, ok bool) {
	lines := h.Values("Forwarded")
	if len(lines) == 0 {
		return s, true
	}
	elements, ok := parseForwarded(strings.Join(lines, ","))
	if !ok || len(elements) == 0 {
		return said{there: true}, false
	}
	from := make([]netip.Addr, len(elements))
	for i, e := range elements {
		from[i] = node(e["for"])
	}
	s.there = true
	var at int
	at, s.client = f.outermost(from)
	s.scheme, s.host = strings.ToLower(elements[at]["proto"]), strings.ToLower(elements[at]["host"])
	return s, true
}

// legacy reads the X-Forwarded headers. Each may be one value, which the proxies hand on, or
// a list with an entry for each hop.
func (f Forwarded) legacy(h http.Header) (s said) {
	list := func(name string) (out []string) {
		for _, line := range h.Values("X-Forwarded-" + name) {
			s.there = true
			for v := range strings.SplitSeq(line, ",") {
				out = append(out, strings.TrimSpace(v))
			}
		}
		return out
	}
	hops := 1
	if names := list("For"); len(names) > 0 {
		from := make([]netip.Addr, len(names))
		for i, n := range names {
			from[i] = node(n)
		}
		var at int
		at, s.client = f.outermost(from)
		hops = len(from) - at
	}
	pick := func(name string) string {
		values := list(name)
		if len(values) == 0 {
			return ""
		}
		return values[max(0, len(values)-hops)]
	}
	s.scheme, s.host = strings.ToLower(pick("Proto")), strings.ToLower(pick("Host"))
	s.port, s.prefix = pick("Port"), strings.TrimRight(pick("Prefix"), "/")
	return s
}

// peerOf is the other end of the connection.
func peerOf(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap().WithZone("")
}

// node is the address of a hop, with or without a port; the zero Addr for names that hide
// one ("unknown", "_x") and for anything else.
func node(s string) netip.Addr {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone("")
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// maxForwarded bounds what is read of a Forwarded header, in elements.
const maxForwarded = 64

// pair is a parameter at the start of what is left: name, "=", token or quoted string.
var pair = regexp.MustCompile(`^[ \t]*([!#$%&'*+.^_|~0-9A-Za-z-]+)=(?:([!#$%&'*+.^_|~0-9A-Za-z:\[\]-]+)|"((?:[^"\\\x00-\x1f]|\\[\t -~])*)")[ \t]*`)

// parseForwarded reads RFC 7239 §4, one map for each element. Colons and brackets are let
// through without quotes, since proxies leave those out. It is not ok for anything
// else, nor for a parameter that is there twice in one element.
func parseForwarded(s string) (elements []map[string]string, ok bool) {
	e := map[string]string{}
	for s != "" {
		m := pair.FindStringSubmatch(s)
		if m == nil {
			return nil, false
		}
		name, value := strings.ToLower(m[1]), m[2]+unquote.ReplaceAllString(m[3], "$1")
		if _, twice := e[name]; twice {
			return nil, false
		}
		e[name] = value
		s = s[len(m[0]):]
		if s == "" {
			break
		}
		end := s[0]
		if s = s[1:]; s == "" || end != ';' && end != ',' {
			return nil, false
		}
		if end == ',' {
			elements = append(elements, e)
			e = map[string]string{}
		}
		if len(elements) == maxForwarded {
			return nil, false
		}
	}
	return append(elements, e), true
}

var unquote = regexp.MustCompile(`\\(.)`)

var (
	hostName   = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$`)
	pathPrefix = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)
)

// isPrefix keeps dots from the start of a segment, so that ".." is none.
func isPrefix(s string) bool { return len(s) <= 256 && pathPrefix.MatchString(s) }

// authority checks a host, which may have a port, and writes it as clients do: port only
// where it is not the scheme's own. Addresses that stand for every interface and port
// 0 are none that a client could use.
func authority(scheme, s, port string) (string, bool) {
	host := s
	if h, p, err := net.SplitHostPort(s); err == nil {
		host, port = h, p
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strings.HasPrefix(port, "0") {
			return "", false
		}
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil && (ip.Unmap().IsUnspecified() || ip.Zone() != ""):
		return "", false
	case err == nil && ip.Is6():
		host = "[" + ip.String() + "]"
	case err != nil && (len(host) > 253 || !hostName.MatchString(host) || numeric(host)):
		return "", false
	}
	host = strings.ToLower(host)
	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return host, true
	}
	return host + ":" + port, true
}

// numeric says whether clients read a name as an IPv4 address in an unusual spelling, such
// as 0 for 0.0.0.0: they do where its last label is a number.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil
}
