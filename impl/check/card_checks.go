package check

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

var cardChecks = []*Check{
	{ID: "card.well-known", Level: Must, Section: "8.2", Title: "The Agent Card is served at the well-known address of its host", run: cardWellKnown},
	{ID: "card.schema", Level: Must, Section: "4.4.1", Title: "The card has all that an AgentCard must have, in its form", run: cardSchema},
	{ID: "card.media-type", Level: Should, Section: "14.3", Title: "The card is served as JSON", run: cardMediaType},
	{ID: "card.interfaces", Level: Must, Section: "8.3.1", Title: "Each interface has an absolute address that a client can call", run: cardInterfaces},
	{ID: "card.reachable", Level: Must, Section: "8.3.1", Title: "Each interface answers at its address", Each: true, run: cardReachable},
	{ID: "card.current", Level: Must, Section: "5.2", Title: "An interface of protocol version 1.0 is declared", run: cardCurrent},
	{ID: "card.version-form", Level: Should, Section: "3.6", Title: "Protocol versions are written as major and minor number", run: cardVersionForm},
	{ID: "card.any-version", Level: Should, Section: "8.2", Title: "The card is read whatever version a client asks for", run: cardAnyVersion},
	{ID: "card.schemes", Level: Should, Section: "7.3", Title: "Each required security scheme is described", run: cardSchemes},
	{ID: "card.skills", Level: Should, Section: "4.4.5", Title: "Skills have different ids", run: cardSkills},
	{ID: "card.signature", Level: Must, Section: "8.4.2", Title: "Signatures name their algorithm and key", run: cardSignature},
	{ID: "card.head", Level: May, Section: "RFC 9110 §9.3.2", Title: "HEAD on the card answers as GET does, without a body", run: cardHead},
	{ID: "card.cors", Level: May, Section: "Fetch §3.3", Title: "Scripts of other origins can read the card", run: cardCORS},
}

// fetch reads the card once more, changed in some way.
func (t *trial) fetch(method string, headers ...string) *Exchange {
	a := ask{method: method, url: t.cardURL, header: t.headers(anonymous), def: "AgentCard"}
	for _, line := range t.cardSeen.Header {
		if strings.HasPrefix(line, "Authorization") { // it was not public
			a.header = t.headers(caller)
		}
	}
	for i := 0; i+1 < len(headers); i += 2 {
		a.header.Set(headers[i], headers[i+1])
	}
	x := t.session.note(t.do(a))
	if x.Status == 0 {
		t.fail("no answer: %s", x.Error)
	}
	return x
}

// The address that was given may lead to the card elsewhere; clients only look here.
func cardWellKnown(t *trial) {
	u := *t.base
	u.Path, u.RawQuery = wellKnown, ""
	if u.String() == t.cardURL {
		t.show(t.cardSeen)
		return // found there
	}
	x := t.session.note(t.do(ask{method: http.MethodGet, url: u.String(), header: t.headers(anonymous), def: "AgentCard"}))
	if x.Status != http.StatusOK {
		t.fail("%s answers %d", t.redact(u.String()), x.Status)
	}
}

// Warnings of the validator, such as members of version 0.3, do no harm.
func cardSchema(t *trial) {
	t.show(t.cardSeen)
	for _, f := range judge("AgentCard", t.cardSeen.body) {
		if f.bad {
			t.mistake("%s", f)
		}
	}
}

// Browsers and proxies act on the type before anybody parses the card.
func cardMediaType(t *trial) {
	t.show(t.cardSeen)
	if m := t.cardSeen.mediaType(); m != "application/json" && !strings.HasSuffix(m, "+json") {
		t.fail("its Content-Type is %q", m)
	}
}

// An address that only the server itself can use is the commonest fault of cards behind
// containers and proxies.
func cardInterfaces(t *trial) {
	t.show(t.cardSeen)
	if len(t.card.Interfaces) == 0 {
		t.fail("supportedInterfaces is empty")
	}
	_, local := loopback(t.base.Hostname())
	for i, one := range t.card.Interfaces {
		u, err := url.Parse(one.URL)
		grpc := one.ProtocolBinding == "GRPC"
		switch {
		case grpc && one.URL != "":
			// The specification names no form for gRPC addresses.
		case err != nil || u.Host == "" || u.Scheme == "":
			t.mistake("supportedInterfaces[%d]: %q is no absolute URL", i, one.URL)
		default:
			ip, isLocal := loopback(u.Hostname())
			if ip.IsValid() && ip.IsUnspecified() {
				t.mistake("supportedInterfaces[%d]: %s stands for all interfaces of a machine, and no client can call it", i, u.Host)
			}
			if isLocal && !local {
				t.mistake("supportedInterfaces[%d]: %s is an address of the server's own machine", i, u.Host)
			}
		}
	}
}

// The first request of the run has told; a server that is down would fail everything else.
func cardReachable(t *trial) {
	if t.on.down != "" {
		t.fail("%s: %s", t.on.url, t.on.down)
	}
}

// loopback reports whether a host is the machine itself, and its IP address if it is one.
func loopback(host string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(host)
	ip = ip.Unmap()
	return ip, host == "localhost" || err == nil && ip.IsLoopback()
}

// Without such an interface no other check can be tried, so this one says so.
func cardCurrent(t *trial) {
	t.show(t.cardSeen)
	for _, one := range t.card.Interfaces {
		if strings.HasPrefix(one.ProtocolVersion, "1.") || one.ProtocolVersion == "1" {
			if len(t.faces) == 0 {
				t.note("its bindings are none that are tried here: %s", strings.Join(t.untried, "; "))
			}
			return
		}
	}
	t.fail("none of the %d interfaces is of version 1.0", len(t.card.Interfaces))
}

var majorMinor = regexp.MustCompile(`^\d+\.\d+$`)

// Patch numbers in a card make clients compare texts that mean the same version.
func cardVersionForm(t *trial) {
	t.show(t.cardSeen)
	for i, one := range t.card.Interfaces {
		if !majorMinor.MatchString(one.ProtocolVersion) {
			t.mistake("supportedInterfaces[%d].protocolVersion is %q", i, one.ProtocolVersion)
		}
	}
}

// A client learns from the card which versions there are, so it cannot know one before.
func cardAnyVersion(t *trial) {
	for _, v := range []string{"0.3", "1.0", "99.0"} {
		if x := t.fetch(http.MethodGet, "A2A-Version", v); x.Status != http.StatusOK {
			t.mistake("with A2A-Version: %s it answers %d", v, x.Status)
		}
	}
}

// A client that meets an unknown name cannot know how to authenticate.
func cardSchemes(t *trial) {
	t.show(t.cardSeen)
	if len(t.card.Requirements) == 0 {
		t.na("the card asks for no credentials")
	}
	for i, r := range t.card.Requirements {
		for _, name := range names(r) {
			if t.card.Schemes[name] == nil {
				t.mistake("securityRequirements[%d] names %q, which securitySchemes does not describe", i, name)
			}
		}
	}
}

// Clients tell skills by their ids.
func cardSkills(t *trial) {
	t.show(t.cardSeen)
	seen := map[string]bool{}
	for _, s := range list(t.card.Members["skills"]) {
		id := text(object(s)["id"])
		if seen[id] {
			t.mistake("two skills have the id %q", id)
		}
		seen[id] = true
	}
}

// Keys are not fetched: the place that a card names for them may be anywhere.
func cardSignature(t *trial) {
	t.show(t.cardSeen)
	if len(t.card.Signatures) == 0 {
		t.na("the card is not signed")
	}
	t.note("whether the signatures are true is not tried, since the keys are not known here")
	for i, s := range t.card.Signatures {
		b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text(object(s)["protected"]), "="))
		head := object(parse(b))
		if err != nil || head == nil {
			t.mistake("signatures[%d].protected is no base64url of a JSON object", i)
			continue
		}
		for _, name := range []string{"alg", "kid"} {
			if text(head[name]) == "" {
				t.mistake("signatures[%d].protected has no %s", i, name)
			}
		}
		if strings.EqualFold(text(head["alg"]), "none") {
			t.mistake("signatures[%d] is of algorithm none", i)
		}
	}
}

// The answer of a server that takes HEAD for GET would break the connection.
func cardHead(t *trial) {
	x := t.fetch(http.MethodHead)
	x.def = ""
	switch {
	case x.Status != http.StatusOK:
		t.fail("it answers %d", x.Status)
	case len(x.body) > 0:
		t.fail("it has a body of %d bytes", len(x.body))
	}
}

// stranger is an origin that no server lets in on purpose.
const stranger = "https://stranger.invalid"

// Whether scripts may read a card is for the operator; most agents are meant to be found.
func cardCORS(t *trial) {
	x := t.fetch(http.MethodGet, "Origin", stranger)
	if v := x.header.Get("Access-Control-Allow-Origin"); v != "*" && v != stranger {
		t.fail("Access-Control-Allow-Origin is %q: only scripts of its own origin can read the card", v)
	}
}

var cacheChecks = []*Check{
	{ID: "cache.max-age", Level: Should, Section: "8.6.1", Title: "The card says how long it may be kept", run: cacheMaxAge},
	{ID: "cache.etag", Level: Should, Section: "8.6.1", Title: "The card has an ETag", run: cacheETag},
	{ID: "cache.stable", Level: Should, Section: "8.6.1", Title: "The ETag is the same while the card is", run: cacheStable},
	{ID: "cache.conditional", Level: Should, Section: "8.6", Title: "An unchanged card is not sent again", run: cacheConditional},
}

// No-store in its place is a choice too, but not one that the section knows.
func cacheMaxAge(t *trial) {
	t.show(t.cardSeen)
	if v := t.cardSeen.header.Get("Cache-Control"); !strings.Contains(v, "max-age=") {
		t.fail("Cache-Control is %q, without max-age", v)
	}
}

// HTTP wants the quotation marks (RFC 9110 §8.8.3), and caches compare them too.
func cacheETag(t *trial) {
	t.show(t.cardSeen)
	v := t.cardSeen.header.Get("ETag")
	if v == "" {
		t.fail("there is none")
	}
	if !strings.HasSuffix(v, `"`) || !strings.HasPrefix(strings.TrimPrefix(v, "W/"), `"`) {
		t.fail("%s is not in quotation marks", v)
	}
}

func (t *trial) etag() string {
	v := t.cardSeen.header.Get("ETag")
	if v == "" {
		t.na("the card has no ETag")
	}
	return v
}

// A tag that changes by itself makes every conditional request a full one.
func cacheStable(t *trial) {
	tag := t.etag()
	x := t.fetch(http.MethodGet)
	if got := x.header.Get("ETag"); got != tag && string(x.body) == string(t.cardSeen.body) {
		t.fail("the same card had %s and then %s", tag, got)
	}
}

// A server that answers 304 to any tag would keep clients on an old card for ever.
func cacheConditional(t *trial) {
	x := t.fetch(http.MethodGet, "If-None-Match", t.etag())
	switch {
	case x.Status != http.StatusNotModified:
		t.fail("with If-None-Match it answers %d; expected 304", x.Status)
	case len(x.body) > 0:
		t.fail("304 with a body of %d bytes", len(x.body))
	}
	if x = t.fetch(http.MethodGet, "If-None-Match", `"`+newID()+`"`); x.Status != http.StatusOK {
		t.fail("with another ETag it answers %d; expected 200", x.Status)
	}
}

// String is one finding for a sentence.
func (f finding) String() string {
	where := f.pointer
	if where == "" {
		where = "the document"
	}
	s := where + ": expected " + f.expected
	if f.section != "" {
		s += fmt.Sprintf(" (%s)", section(f.section))
	}
	return s
}

// section writes a section's number as a reference.
func section(s string) string {
	if s != "" && s[0] >= '0' && s[0] <= '9' {
		return "§" + s
	}
	return s
}
