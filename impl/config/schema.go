package config

import (
	"bytes"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	gen "a2aserve/gen/config"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// The schema in both forms: as a document, for defaults and for what to say, and
// compiled. A schema that does not load is a build mistake.
var (
	schemaDoc  = loadSchema()
	rootSchema = deref(schemaDoc)
	validator  = compileSchema()
)

func loadSchema() map[string]any {
	var doc map[string]any
	if err := json.Unmarshal(gen.Schema, &doc); err != nil {
		panic("config schema: " + err.Error())
	}
	return doc
}

// compileSchema adds what a pattern cannot say: whether a duration is in range, an
// address has a port, a URL a host. Other tools ignore these formats.
func compileSchema() *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat = true
	c.Formats = map[string]func(any) bool{
		"span":          textFormat(func(s string) bool { return span(s) >= 0 }),
		"positive-span": textFormat(func(s string) bool { return span(s) > 0 }),
		"host-port":     textFormat(isHostPort),
		"cidr":          textFormat(isCIDR),
		"provider-url":  textFormat(isProviderURL),
		"web-address":   textFormat(isWebAddress),
		"web-origin":    textFormat(isWebOrigin),
	}
	// A name without a scheme would be looked for from the working folder, which may be gone.
	const name = "a2aserve:///spec/config.schema.json"
	if err := c.AddResource(name, bytes.NewReader(gen.Schema)); err != nil {
		panic("config schema: " + err.Error())
	}
	return c.MustCompile(name)
}

// textFormat leaves other types to the schema's type keyword.
func textFormat(valid func(string) bool) func(any) bool {
	return func(v any) bool {
		s, ok := v.(string)
		return !ok || valid(s)
	}
}

// span is negative for what is no duration, such as one that does not fit.
func span(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		return -1
	}
	return d
}

// isHostPort wants the port as a number: names of services differ between machines.
func isHostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil || strings.ContainsAny(host, " /") {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// isWebAddress is about form only. A server behind a proxy may not reach its own address.
func isWebAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// deref follows a schema's $ref within the document.
func deref(s map[string]any) map[string]any {
	for {
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		s, _ = lookup(schemaDoc, strings.TrimPrefix(ref, "#")).(map[string]any)
	}
}

// lookup finds a JSON pointer's value.
func lookup(v any, ptr string) any {
	if ptr == "" {
		return v
	}
	for key := range strings.SplitSeq(ptr[1:], "/") {
		switch t := v.(type) {
		case map[string]any:
			v = t[unescape(key)]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(t) {
				return nil
			}
			v = t[i]
		default:
			return nil
		}
	}
	return v
}

// property is the schema of a key: what stands at the key, and what it refers to.
func property(s map[string]any, key string) (at, target map[string]any) {
	at, _ = lookup(s, "/properties/"+escape(key)).(map[string]any)
	if at == nil {
		return nil, nil
	}
	return at, deref(at)
}

// properties are the keys that a section knows, sorted.
func properties(s map[string]any) []string {
	m, _ := s["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

// dropEmptySections forgets sections without a value (all their keys commented out).
// Elsewhere no value is a mistake: an empty bearer_token must not open the server.
func dropEmptySections(v any, s map[string]any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	for key, value := range m {
		if at, _ := property(s, key); value == nil && at != nil {
			if d, ok := at["default"].(map[string]any); ok && len(d) == 0 {
				delete(m, key)
			}
		}
	}
}

// fill sets what was left out at every depth, where the schema has a default; value
// makes what is set of the default.
func fill(v any, s map[string]any, value func(any) any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range properties(s) {
			at, target := property(s, key)
			if _, set := v[key]; !set {
				def, ok := at["default"]
				if !ok {
					continue
				}
				v[key] = value(def)
			}
			fill(v[key], target, value)
		}
	case []any:
		if items, ok := s["items"].(map[string]any); ok {
			for _, e := range v {
				fill(e, deref(items), value)
			}
		}
	}
}

// zero is the zero value of a default's type. Sections become empty ones, which are
// filled in turn.
func zero(def any) any {
	switch def.(type) {
	case string:
		return ""
	case bool:
		return false
	case float64:
		return 0.0
	}
	return map[string]any{}
}

// clone keeps a default of the schema from being altered through a configuration.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = clone(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = clone(e)
		}
		return l
	}
	return v
}
