package check

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"a2aserve/gen/a2a"
)

// The bindings that are tried, as cards spell them.
const (
	JSONRPC = "JSONRPC"
	REST    = "HTTP+JSON"
)

// wellKnown is where a card is looked for (A2A §8.2).
const wellKnown = "/.well-known/agent-card.json"

// session is one run: what is known of the agent, and what was done to it.
type session struct {
	ctx         context.Context
	options     Options
	http        *http.Client
	extra       http.Header // of the caller's own
	secrets     *strings.Replacer
	scenario    *Scenario
	timeout     time.Duration
	maxRequests int
	count       int
	cleaning    bool

	base     *url.URL
	cardURL  string
	cardSeen *Exchange // the answer that the card came in
	card     card
	faces    []*face
	untried  []string // interfaces of other bindings or versions
	seen     []*Exchange
	started  map[string]*face // tasks of this run that may still be running
}

// face is one interface of the card that is tried.
type face struct {
	*session
	index    int
	url      string
	binding  string
	version  string
	tenant   string
	verb     string // of SubscribeToTask on HTTP+JSON, once it is known
	done     *sent  // the finished task that checks share
	doneWhy  string // why there is none
	contexts []string
	trio     []*task // of one context, for lists
	locked   bool    // it wants credentials, and none were given
	down     string  // why it does not answer at all
}

// Name tells an interface from the others in a report.
func (f *face) Name() string {
	same := 0
	for _, other := range f.faces {
		if other.binding == f.binding {
			same++
		}
	}
	if same > 1 {
		return fmt.Sprintf("%s (%d)", f.binding, f.index+1)
	}
	return f.binding
}

func newSession(ctx context.Context, o Options, base *url.URL) *session {
	s := &session{
		ctx: ctx, options: o, base: base, extra: o.Header, secrets: hider(o), scenario: o.Scenario,
		timeout: o.Timeout, maxRequests: o.MaxRequests, started: map[string]*face{},
	}
	if s.scenario == nil {
		s.scenario = DemoScenario()
	}
	if s.timeout <= 0 {
		s.timeout = defaultTimeout
	}
	if s.maxRequests <= 0 {
		s.maxRequests = defaultRequests
	}
	// A redirection would take the credentials to a place that nobody named.
	s.http = &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: o.TLS, ForceAttemptHTTP2: true,
			MaxResponseHeaderBytes: 64 << 10, MaxIdleConnsPerHost: 8, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s
}

// card is what is used of an Agent Card, read with more patience than the schema has: what
// is wrong with it is for a check to say.
type card struct {
	Name         string
	Interfaces   []a2a.AgentInterface
	Streaming    bool
	Push         bool
	Extended     bool
	Extensions   []a2a.AgentExtension
	Schemes      map[string]any
	Requirements []map[string]any
	InputModes   []string
	Signatures   []any
	Members      map[string]any
}

var errNoCard = errors.New("no Agent Card")

// discover fetches the card and picks the interfaces to try.
func (s *session) discover() error {
	u := *s.base
	if !strings.HasSuffix(u.Path, ".json") {
		u.Path = strings.TrimSuffix(u.Path, "/") + wellKnown
	}
	s.cardURL = u.String()
	x := s.do(ask{method: http.MethodGet, url: s.cardURL, header: s.headers(anonymous), def: "AgentCard"})
	if x.Status == http.StatusUnauthorized && s.options.Token != "" {
		x = s.do(ask{method: http.MethodGet, url: s.cardURL, header: s.headers(caller), def: "AgentCard"})
	}
	s.cardSeen = x
	s.seen = append(s.seen, x)
	switch {
	case x.Status == 0:
		return fmt.Errorf("%s: %s", s.cardURL, x.Error)
	case x.Status != http.StatusOK:
		return fmt.Errorf("%w at %s: it answers %d", errNoCard, s.cardURL, x.Status)
	}
	members, ok := parse(x.body).(map[string]any)
	if !ok {
		return fmt.Errorf("%w at %s: it is no JSON object", errNoCard, s.cardURL)
	}
	s.card = readCard(members)
	for i, one := range s.card.Interfaces {
		u, err := url.Parse(one.URL)
		usable := err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
		if !usable || one.ProtocolBinding != JSONRPC && one.ProtocolBinding != REST || !strings.HasPrefix(one.ProtocolVersion, "1.") && one.ProtocolVersion != "1" {
			s.untried = append(s.untried, fmt.Sprintf("%s %s at %s", one.ProtocolBinding, one.ProtocolVersion, s.redact(one.URL)))
			continue
		}
		f := &face{session: s, index: i, binding: one.ProtocolBinding, version: one.ProtocolVersion, tenant: one.Tenant, url: one.URL}
		if f.binding == REST {
			f.url = strings.TrimSuffix(f.url, "/")
		}
		s.faces = append(s.faces, f)
	}
	return nil
}

func readCard(m map[string]any) card {
	caps := object(m["capabilities"])
	c := card{
		Name: text(m["name"]), Members: m, Streaming: caps["streaming"] == true, Push: caps["pushNotifications"] == true,
		Extended: caps["extendedAgentCard"] == true, Schemes: object(m["securitySchemes"]), Signatures: list(m["signatures"]),
	}
	for _, v := range list(m["supportedInterfaces"]) {
		o := object(v)
		c.Interfaces = append(c.Interfaces, a2a.AgentInterface{
			URL: text(o["url"]), ProtocolBinding: text(o["protocolBinding"]), ProtocolVersion: text(o["protocolVersion"]), Tenant: text(o["tenant"]),
		})
	}
	for _, v := range list(caps["extensions"]) {
		o := object(v)
		c.Extensions = append(c.Extensions, a2a.AgentExtension{URI: text(o["uri"]), Required: o["required"] == true})
	}
	for _, v := range list(m["securityRequirements"]) {
		c.Requirements = append(c.Requirements, object(object(v)["schemes"]))
	}
	modes := list(m["defaultInputModes"])
	for _, v := range list(m["skills"]) {
		modes = append(modes, list(object(v)["inputModes"])...)
	}
	for _, v := range modes {
		c.InputModes = append(c.InputModes, text(v))
	}
	return c
}

// required are the extensions without which the agent does nothing.
func (c card) required() (out []string) {
	for _, e := range c.Extensions {
		if e.Required {
			out = append(out, e.URI)
		}
	}
	return out
}

var errNotAdmitted = errors.New("the credentials that were given are refused")

// admitted finds out which interfaces want credentials. Without any there is still something
// to try; with some that are refused, every check would only say so again.
func (s *session) admitted() error {
	for _, f := range s.faces {
		r := f.call("GetTask", obj{"id": newID()})
		if r.Status == 0 {
			f.down = r.Error
			continue
		}
		if f.locked = r.unauthenticated(); f.locked && (s.options.Token != "" || len(s.extra) > 0) {
			return fmt.Errorf("%w by %s: %s", errNotAdmitted, f.Name(), r.err)
		}
	}
	return nil
}

// described lists the interfaces for the report.
func (s *session) described() []Interface {
	out := []Interface{}
	for _, f := range s.faces {
		out = append(out, Interface{Name: f.Name(), URL: s.redact(f.url), Version: f.version, Tried: true})
	}
	for _, u := range s.untried {
		out = append(out, Interface{Name: u})
	}
	return out
}

// who makes a request.
type who int

const (
	caller who = iota
	another
	anonymous
	impostor
)

// headers are the ones that every request has.
func (s *session) headers(as who) http.Header {
	h := http.Header{"User-Agent": {"a2aserve-check"}}
	if as == caller || as == another {
		maps.Copy(h, s.extra)
	}
	switch {
	case as == caller && s.options.Token != "":
		h.Set("Authorization", "Bearer "+s.options.Token)
	case as == another:
		h.Set("Authorization", "Bearer "+s.options.SecondToken)
	case as == impostor:
		h.Set("Authorization", "Bearer not-a-valid-token-"+newID())
	}
	return h
}

// cleanUp cancels what is still running, whatever the bounds say.
func (s *session) cleanUp() (canceled []string) {
	s.cleaning = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 2*s.timeout)
	defer cancel()
	s.ctx = ctx
	for _, id := range slices.Sorted(maps.Keys(s.started)) {
		f := s.started[id]
		if r := f.call("CancelTask", obj{"id": id}); r.err == nil {
			canceled = append(canceled, id)
		}
	}
	return canceled
}

// handshake tries whether the server accepts an old TLS version.
func (s *session) handshake(addr string, version uint16) error {
	cfg := &tls.Config{}
	if s.options.TLS != nil {
		cfg = s.options.TLS.Clone()
	}
	cfg.MinVersion, cfg.MaxVersion = tls.VersionTLS10, version
	d := tls.Dialer{Config: cfg}
	ctx, cancel := context.WithTimeout(s.ctx, s.timeout)
	defer cancel()
	c, err := d.DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = c.Close() // it was only about the handshake
	}
	return err
}

// port is the port that a URL leads to.
func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return strconv.Itoa(443)
	}
	return strconv.Itoa(80)
}
