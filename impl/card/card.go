// Package card makes the Agent Card (A2A §4.4, §8) and serves it. A person writes what
// the agent is; what the server does is derived from what is wired, so that card and
// behaviour cannot disagree.
package card

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/gen/config"
	"a2aserve/gen/op"
	"a2aserve/impl/decode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Options is what a card is made of. Exactly one of Card and File is needed.
type Options struct {
	Card *config.Card // from the configuration
	File string       // path of a JSON Agent Card

	BaseURL     string // without a slash at its end
	JSONRPCPath string
	RESTPrefix  string
	Wired       func(*op.Operation) bool // nil: all operations
	Bearer      bool                     // bearer tokens are asked for
	Private     bool                     // the card is for authenticated callers, who stand before it
	InputModes  []string                 // media types of the driver's agent
	OutputModes []string
	Extensions  []a2a.AgentExtension // that may be activated

	// Refuse answers a request that cannot be answered with the card; nil: plain text.
	Refuse func(http.ResponseWriter, *http.Request, *a2a.Error)
}

// InvalidError says what keeps a card from being served. Each line names where it is.
type InvalidError struct{ Problems []string }

// Error has one line for each problem.
func (e *InvalidError) Error() string { return strings.Join(e.Problems, "\n") }

// Card is an Agent Card in the bytes that are served. It does not change.
type Card struct {
	name    string
	json    []byte
	etag    string
	private bool
	refuse  func(http.ResponseWriter, *http.Request, *a2a.Error)
}

// New makes the card and holds it against the schema. The error is an *InvalidError.
func New(o Options) (*Card, error) {
	source := "card"
	o.InputModes, o.OutputModes = orText(o.InputModes), orText(o.OutputModes)
	var c a2a.AgentCard
	if o.File != "" {
		source = o.File
		doc, err := readFile(o)
		if err != nil {
			return nil, err
		}
		if err := decode.Decode(decode.Input{Def: "AgentCard", JSON: doc}, &c); err != nil {
			return nil, invalid(source, err)
		}
	} else {
		c = configured(o)
	}
	derive(&c, o)
	doc, err := json.Marshal(c, json.Deterministic(true))
	if err != nil {
		return nil, &InvalidError{[]string{source + ": " + err.Error()}}
	}
	problems := uniqueSkills(source, c.Skills)
	for _, v := range decode.Validate("AgentCard", doc) {
		problems = append(problems, fmt.Sprintf("%s: %s: %s", source, v.Field, v.Description))
	}
	if len(problems) > 0 {
		return nil, &InvalidError{problems}
	}
	if o.Refuse == nil {
		o.Refuse = func(w http.ResponseWriter, _ *http.Request, e *a2a.Error) { http.Error(w, e.Text(), e.Type.HTTP) }
	}
	// The tag depends on the content alone, so that it is the same after a restart and
	// on every replica (A2A §8.6.1).
	sum := sha256.Sum256(doc)
	return &Card{name: c.Name, json: doc, etag: `"` + hex.EncodeToString(sum[:16]) + `"`, private: o.Private, refuse: o.Refuse}, nil
}

// Name is what the agent is called.
func (c *Card) Name() string { return c.name }

// JSON is the card as it is served. It must not be altered.
func (c *Card) JSON() []byte { return c.json }

// ETag is the strong entity tag of the card, the same wherever the card is.
func (c *Card) ETag() string { return c.etag }

// configured is the hand-written half from the configuration.
func configured(o Options) a2a.AgentCard {
	from := o.Card
	c := a2a.AgentCard{
		Name: from.Name, Description: from.Description, Version: from.Version,
		DefaultInputModes: from.DefaultInputModes, DefaultOutputModes: from.DefaultOutputModes,
	}
	if p := from.Provider; p != nil {
		c.Provider = &a2a.AgentProvider{Organization: p.Organization, URL: p.URL}
		if p.URL == "" {
			c.Provider.URL = o.BaseURL
		}
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

// derive sets what describes the server, whatever the card said of it.
func derive(c *a2a.AgentCard, o Options) {
	// No key of the configuration says any of this, and a card_file cannot either.
	c.SupportedInterfaces = interfaces(o)
	c.Capabilities = a2a.AgentCapabilities{
		Streaming:         capability("streaming", o.Wired),
		PushNotifications: capability("pushNotifications", o.Wired),
		ExtendedAgentCard: capability("extendedAgentCard", o.Wired),
		Extensions:        o.Extensions,
	}
	// A signature does not cover what has just been replaced.
	c.Signatures = nil
	// A scheme that nobody enforces is worse than none (A2A §7.3, §4.5).
	c.SecuritySchemes, c.SecurityRequirements = nil, nil
	for i := range c.Skills {
		c.Skills[i].SecurityRequirements = nil
	}
	if o.Bearer {
		c.SecuritySchemes = map[string]a2a.SecurityScheme{
			"bearer": {HTTPAuthSecurityScheme: &a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}},
		}
		c.SecurityRequirements = []a2a.SecurityRequirement{{Schemes: map[string]a2a.StringList{"bearer": {}}}}
	}
	if len(c.DefaultInputModes) == 0 {
		c.DefaultInputModes = o.InputModes
	}
	if len(c.DefaultOutputModes) == 0 {
		c.DefaultOutputModes = o.OutputModes
	}
}

// interfaces are the bindings, the preferred one first (A2A §8.3.1).
func interfaces(o Options) []a2a.AgentInterface {
	return []a2a.AgentInterface{
		{URL: o.BaseURL + o.JSONRPCPath, ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"},
		{URL: o.BaseURL + o.RESTPrefix, ProtocolBinding: "HTTP+JSON", ProtocolVersion: "1.0"},
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

// readFile reads a card_file and fills in what is derived, so that a file without it
// is held against the schema all the same.
func readFile(o Options) ([]byte, error) {
	b, err := os.ReadFile(o.File)
	if err != nil {
		return nil, &InvalidError{[]string{"card_file: " + err.Error()}}
	}
	var doc map[string]jsontext.Value
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, &InvalidError{[]string{syntax(o.File, b, err)}}
	}
	for _, k := range []string{"securitySchemes", "securityRequirements", "signatures"} {
		delete(doc, k)
	}
	derived := map[string]any{"supportedInterfaces": interfaces(o), "capabilities": a2a.AgentCapabilities{}}
	for name, modes := range map[string][]string{"defaultInputModes": o.InputModes, "defaultOutputModes": o.OutputModes} {
		var said []string
		if doc[name] == nil || json.Unmarshal(doc[name], &said) == nil && len(said) == 0 {
			derived[name] = modes
		}
	}
	for name, v := range derived {
		if doc[name], err = json.Marshal(v); err != nil {
			return nil, &InvalidError{[]string{o.File + ": " + err.Error()}}
		}
	}
	return json.Marshal(doc)
}

// syntax says in which line a file stops being a JSON object.
func syntax(path string, b []byte, err error) string {
	offset := int64(0)
	text := "expected a JSON object, the Agent Card"
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset, text = e.ByteOffset, "not valid JSON: "+e.Err.Error()
	}
	line := 1 + strings.Count(string(b[:min(int(offset), len(b))]), "\n")
	return fmt.Sprintf("%s:%d: %s", path, line, text)
}

// invalid turns a decoding error into one that names the file and each field.
func invalid(source string, err error) *InvalidError {
	e, ok := errors.AsType[*a2a.Error](err)
	if !ok || len(e.Violations) == 0 {
		return &InvalidError{[]string{source + ": " + err.Error()}}
	}
	var out InvalidError
	for _, v := range e.Violations {
		out.Problems = append(out.Problems, fmt.Sprintf("%s: %s: %s", source, v.Field, v.Description))
	}
	return &out
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
