package card

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/impl/decode"

	"github.com/go-json-experiment/json"
)

// Level says how much a finding matters.
type Level string

// The levels. Only errors make a card invalid.
const (
	Error  Level = "error"  // the specification does not allow it
	Advice Level = "advice" // it is allowed, but some clients will fail over it
	Note   Level = "note"   // it does no harm
)

// Finding is something to be said of a card.
type Finding struct {
	Level   Level  `json:"level"`
	Pointer string `json:"pointer"` // JSON pointer (RFC 6901); empty for the whole
	Text    string `json:"text"`    // what is expected
}

// Check holds a card, anybody's, against the schema, and says what else may keep clients
// from using it. Errors come first.
func Check(doc []byte) []Finding {
	c := checker{}
	var tree any
	_ = json.Unmarshal(doc, &tree) // what is no JSON is reported below
	for _, v := range decode.Validate("AgentCard", doc) {
		c.add(Error, pointer(tree, v.Field), "%s", v.Description)
	}
	members, _ := tree.(map[string]any)
	if members == nil {
		return c.found
	}
	c.leftovers(members)
	// Only what follows the schema has a meaning that could be judged.
	if canon, err := decode.Canonical(decode.Input{Def: "AgentCard", JSON: doc}); err == nil {
		var card a2a.AgentCard
		if err := json.Unmarshal(canon, &card); err == nil {
			c.interfaces(card.SupportedInterfaces)
			c.skills(card)
			c.security(card)
		}
	}
	order := []Level{Error, Advice, Note}
	slices.SortStableFunc(c.found, func(a, b Finding) int { return slices.Index(order, a.Level) - slices.Index(order, b.Level) })
	return c.found
}

type checker struct{ found []Finding }

func (c *checker) add(l Level, pointer, format string, args ...any) {
	c.found = append(c.found, Finding{l, pointer, fmt.Sprintf(format, args...)})
}

// leftovers are members that 1.0 does not know (A2A App. A.2.2); clients skip them.
func (c *checker) leftovers(members map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if text, old := old[name]; old {
			c.add(Note, "/"+name, "of version 0.3, harmless; 1.0 has %s", text)
		}
	}
	if caps, ok := members["capabilities"].(map[string]any); ok && caps["stateTransitionHistory"] != nil {
		c.add(Note, "/capabilities/stateTransitionHistory", "of version 0.3, harmless; 1.0 has nothing in its place")
	}
	c.spelling(members, "")
	for _, list := range []string{"skills", "supportedInterfaces"} {
		elements, _ := members[list].([]any)
		for i, e := range elements {
			if m, ok := e.(map[string]any); ok {
				c.spelling(m, "/"+list+"/"+strconv.Itoa(i))
			}
		}
	}
}

// old are the members of a 0.3 card, with what has taken their place.
var old = map[string]string{
	"url": "supportedInterfaces", "protocolVersion": "supportedInterfaces", "preferredTransport": "the order of supportedInterfaces",
	"additionalInterfaces": "supportedInterfaces", "security": "securityRequirements",
	"supportsAuthenticatedExtendedCard": "capabilities.extendedAgentCard",
}

// spelling finds the proto's own names, which ProtoJSON reads and other readers do not.
func (c *checker) spelling(members map[string]any, at string) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if strings.Contains(name, "_") {
			c.add(Advice, at+"/"+escape(name), "JSON names are written in camelCase (A2A §5.5); many clients read no other")
		}
	}
}

var majorMinor = regexp.MustCompile(`^\d+\.\d+$`)

func (c *checker) interfaces(all []a2a.AgentInterface) {
	current := false
	for i, x := range all {
		at := "/supportedInterfaces/" + strconv.Itoa(i)
		current = current || strings.HasPrefix(x.ProtocolVersion, "1.")
		if !majorMinor.MatchString(x.ProtocolVersion) {
			c.add(Advice, at+"/protocolVersion", "major and minor number are expected, such as \"1.0\" (A2A §3.6)")
		}
		if text := address(x.URL); text != "" {
			c.add(Advice, at+"/url", "%s", text)
		}
	}
	if !current {
		c.add(Advice, "/supportedInterfaces", "no interface speaks version 1.0")
	}
}

// address says what is wrong with a URL for a client that is not on the same machine.
func address(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme == "" {
		return "an absolute URL is expected"
	}
	ip, err := netip.ParseAddr(u.Hostname())
	isIP, loopback := err == nil, u.Hostname() == "localhost" || err == nil && ip.Unmap().IsLoopback()
	switch {
	case isIP && ip.Unmap().IsUnspecified():
		return "stands for every interface of a machine: no client can call it (A2A §8.3.1)"
	case u.Port() == "0":
		return "port 0 is none that a client could call"
	case loopback:
		return "reaches clients on the same machine only"
	case u.Scheme == "http":
		return "https is expected (A2A §7.1): credentials and tasks travel in the clear"
	}
	return ""
}

func (c *checker) skills(card a2a.AgentCard) {
	first := map[string]int{}
	for i, s := range card.Skills {
		at := "/skills/" + strconv.Itoa(i)
		if j, twice := first[s.ID]; twice {
			c.add(Advice, at+"/id", "%q is also the id of skills[%d]: clients tell skills by it", s.ID, j)
		} else {
			first[s.ID] = i
		}
		if s.InputModes != nil && len(s.InputModes) == 0 {
			c.add(Advice, at+"/inputModes", "empty: leave it out where the defaults hold")
		}
		if s.OutputModes != nil && len(s.OutputModes) == 0 {
			c.add(Advice, at+"/outputModes", "empty: leave it out where the defaults hold")
		}
	}
}

// security finds schemes that are asked for and not described.
func (c *checker) security(card a2a.AgentCard) {
	known := func(at string, all []a2a.SecurityRequirement) {
		for i, r := range all {
			for _, name := range slices.Sorted(maps.Keys(r.Schemes)) {
				if _, ok := card.SecuritySchemes[name]; !ok {
					c.add(Advice, at+"/securityRequirements/"+strconv.Itoa(i)+"/schemes/"+escape(name), "no such scheme in securitySchemes: a client cannot know how to authenticate")
				}
			}
		}
	}
	known("", card.SecurityRequirements)
	for i, s := range card.Skills {
		known("/skills/"+strconv.Itoa(i), s.SecurityRequirements)
	}
}

var escape = strings.NewReplacer("~", "~0", "/", "~1").Replace

// pointer turns a field's path (skills[0].id) into a JSON pointer. The document tells where
// a name ends, since names may have dots in them.
func pointer(tree any, path string) string {
	var b strings.Builder
	for path != "" {
		path = strings.TrimPrefix(path, ".")
		step := ""
		switch t := tree.(type) {
		case map[string]any:
			for name := range t {
				if rest, ok := strings.CutPrefix(path, name); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') && len(name) > len(step) {
					step = name
				}
			}
			if step != "" {
				b.WriteString("/" + escape(step))
				tree, path = t[step], path[len(step):]
			}
		case []any:
			end := strings.IndexByte(path, ']')
			if i, err := strconv.Atoi(path[min(1, len(path)):max(end, 1)]); err == nil && path[0] == '[' && i < len(t) {
				step = path[:end+1]
				b.WriteString("/" + strconv.Itoa(i))
				tree, path = t[i], path[end+1:]
			}
		}
		if step == "" { // a member that is missing: what is left is its name
			return b.String() + "/" + escape(path)
		}
	}
	return b.String()
}
