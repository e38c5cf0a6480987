// Package card makes the Agent Card (A2A §4.4, §8) and serves it. A person writes what
// the agent is; what the server does is derived from what is wired, so that card and
// behaviour cannot disagree.
package card

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"a2aserve/gen/a2a"
	"a2aserve/gen/config"
	"a2aserve/gen/op"
	"a2aserve/impl/decode"

	"github.com/go-json-experiment/json"
)

// Options is what a card is made of. Exactly one of Card and File is needed.
type Options struct {
	Card *config.Card // from the configuration
	File string       // path of a JSON Agent Card

	BaseURL     string // without a slash at its end
	JSONRPCPath string
	RESTPrefix  string
	Wired       func(*op.Operation) bool // nil: all operations
	Private     bool                     // the card is for authenticated callers, who stand before it
	InputModes  []string                 // media types of the driver's agent
	OutputModes []string
	Extensions  []a2a.AgentExtension // that may be activated

	// Schemes are the ways to authenticate that are enforced, by name, and Requirements
	// which of them a caller needs; any one entry suffices (A2A §4.5). Without both,
	// nobody is asked, or only in ways that a client can do nothing about.
	Schemes      map[string]a2a.SecurityScheme
	Requirements []a2a.SecurityRequirement

	// Base says at which address the caller of a request knows the server, "" where it is
	// BaseURL, and Vary which headers that depends on. Nil: the card has one address.
	Base func(*http.Request) string
	Vary string

	// Refuse answers a request that cannot be answered with the card; nil: plain text.
	Refuse func(http.ResponseWriter, *http.Request, *a2a.Error)
}

// InvalidError says what keeps a card from being served. Each line names where it is.
type InvalidError struct{ Problems []string }

// Error has one line for each problem.
func (e *InvalidError) Error() string { return strings.Join(e.Problems, "\n") }

// Card is an Agent Card, rendered for each address that clients know the server by.
type Card struct {
	options  Options
	content  a2a.AgentCard // all but what depends on the address
	signed   []byte        // what the signatures in the file cover, canonical; nil: there are none
	first    *Rendering    // at BaseURL
	warnings []string

	mu     sync.Mutex // guards others
	others map[string]*Rendering
}

// Rendering is a card in the bytes that are served. It does not change.
type Rendering struct {
	JSON []byte
	ETag string // strong, of the content alone: the same after a restart and on every replica (A2A §8.6.1)
}

// New makes the card and holds it against the schema. The error is an *InvalidError.
func New(o Options) (*Card, error) {
	o.InputModes, o.OutputModes = orText(o.InputModes), orText(o.OutputModes)
	if o.Refuse == nil {
		o.Refuse = func(w http.ResponseWriter, _ *http.Request, e *a2a.Error) { http.Error(w, e.Text(), e.Type.HTTP) }
	}
	c := &Card{options: o, others: map[string]*Rendering{}}
	source := "card"
	if o.File != "" {
		source = o.File
		if err := c.readFile(); err != nil {
			return nil, err
		}
	} else {
		c.content = configured(o.Card)
	}
	c.derive()
	signed := c.content.Signatures
	var err error
	if c.first, err = c.render(o.BaseURL); err != nil {
		return nil, &InvalidError{[]string{source + ": " + err.Error()}}
	}
	problems := uniqueSkills(source, c.content.Skills)
	for _, v := range decode.Validate("AgentCard", c.first.JSON) {
		problems = append(problems, fmt.Sprintf("%s: %s: %s", source, v.Field, v.Description))
	}
	if len(problems) > 0 {
		return nil, &InvalidError{problems}
	}
	if len(signed) > 0 && !covers(c.signed, c.first.JSON) {
		c.warnings = append(c.warnings, source+": signatures: left out, since they do not cover what is derived from the server; sign the card as \"a2aserve card\" prints it")
	}
	return c, nil
}

// Name is what the agent is called.
func (c *Card) Name() string { return c.content.Name }

// JSON is the card as it is served at the base address. It must not be altered.
func (c *Card) JSON() []byte { return c.first.JSON }

// ETag is the strong entity tag of the card at the base address.
func (c *Card) ETag() string { return c.first.ETag }

// Warnings says what of the source is not served as its author may expect.
func (c *Card) Warnings() []string { return c.warnings }

// maxRenderings bounds the renderings that are kept. Proxies that let any host name
// through would otherwise let callers fill the memory.
const maxRenderings = 64

// At is the card for clients that know the server by another base address, without a
// slash at its end; "" means the card's own.
func (c *Card) At(base string) *Rendering {
	if base == "" || base == c.options.BaseURL {
		return c.first
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.others[base]; r != nil {
		return r
	}
	r, err := c.render(base)
	if err != nil { // an address that is no text; the other one is right for somebody at least
		return c.first
	}
	if len(c.others) == maxRenderings {
		clear(c.others)
	}
	c.others[base] = r
	return r
}

// render writes the card with its address. A signature that does not cover the outcome
// is left out: a client that checks it would refuse the card.
func (c *Card) render(base string) (*Rendering, error) {
	o, doc := c.options, c.content
	doc.SupportedInterfaces = interfaces(o, base)
	if p := doc.Provider; p != nil && p.URL == "" {
		doc.Provider = &a2a.AgentProvider{Organization: p.Organization, URL: base}
	}
	b, err := json.Marshal(doc, json.Deterministic(true))
	if err == nil && len(doc.Signatures) > 0 && !covers(c.signed, b) {
		doc.Signatures = nil
		b, err = json.Marshal(doc, json.Deterministic(true))
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return &Rendering{JSON: b, ETag: `"` + hex.EncodeToString(sum[:16]) + `"`}, nil
}

// configured is the hand-written half from the configuration.
func configured(from *config.Card) a2a.AgentCard {
	c := a2a.AgentCard{
		Name: from.Name, Description: from.Description, Version: from.Version,
		DefaultInputModes: from.DefaultInputModes, DefaultOutputModes: from.DefaultOutputModes,
	}
	if p := from.Provider; p != nil {
		c.Provider = &a2a.AgentProvider{Organization: p.Organization, URL: p.URL}
	}
	if from.DocumentationURL != "" {
		c.DocumentationURL = &from.DocumentationURL
	}
	if from.IconURL != "" {
		c.IconURL = &from.IconURL
	}
	for _, s := range from.Skills {
		skill := a2a.AgentSkill{ID: s.ID, Name: s.Name, Description: s.Description, Tags: s.Tags,
			Examples: s.Examples, InputModes: s.InputModes, OutputModes: s.OutputModes}
		if len(skill.Tags) == 0 {
			skill.Tags = []string{s.ID} // a card must have one (A2A §4.4.5)
		}
		c.Skills = append(c.Skills, skill)
	}
	return c
}

// derive sets what describes the server, whatever the card said of it. No key of the
// configuration says any of this, and a card_file cannot either.
func (c *Card) derive() {
	o, to := c.options, &c.content
	to.Capabilities = a2a.AgentCapabilities{
		Streaming:         capability("streaming", o.Wired),
		PushNotifications: capability("pushNotifications", o.Wired),
		ExtendedAgentCard: capability("extendedAgentCard", o.Wired),
		Extensions:        o.Extensions,
	}
	// A scheme that nobody enforces is worse than none (A2A §7.3, §4.5).
	to.SecuritySchemes, to.SecurityRequirements = o.Schemes, o.Requirements
	to.Skills = slices.Clone(to.Skills)
	for i := range to.Skills {
		to.Skills[i].SecurityRequirements = nil
	}
	if len(to.DefaultInputModes) == 0 {
		to.DefaultInputModes = o.InputModes
	}
	if len(to.DefaultOutputModes) == 0 {
		to.DefaultOutputModes = o.OutputModes
	}
}

// interfaces are the bindings, the preferred one first (A2A §8.3.1).
func interfaces(o Options, base string) []a2a.AgentInterface {
	return []a2a.AgentInterface{
		{URL: base + o.JSONRPCPath, ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"},
		{URL: base + o.RESTPrefix, ProtocolBinding: "HTTP+JSON", ProtocolVersion: "1.0"},
	}
}

// capability is true once all operations that it stands for are wired. False is said
// too: a client need not guess.
func capability(name string, wired func(*op.Operation) bool) *bool {
	has := true
	for i := range op.Table {
		if o := &op.Table[i]; o.Capability == name && wired != nil && !wired(o) {
			has = false
		}
	}
	return &has
}

// orText stands in for a driver that declares nothing: a card must name a media type.
func orText(modes []string) []string {
	if len(modes) == 0 {
		return []string{"text/plain"}
	}
	return modes
}

// uniqueSkills reports ids that recur: clients tell skills by them.
func uniqueSkills(source string, skills []a2a.AgentSkill) (problems []string) {
	seen := map[string]int{}
	for i, s := range skills {
		if j, twice := seen[s.ID]; twice {
			problems = append(problems, fmt.Sprintf("%s: skills[%d].id: %q is also the id of skills[%d]", source, i, s.ID, j))
			continue
		}
		seen[s.ID] = i
	}
	return problems
}
