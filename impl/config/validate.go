package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// validate notes everything that the schema does not allow. The library says what is
// wrong with which value; what to say about it comes from the schema, since its own
// messages are for people who know JSON Schema.
func (d *document) validate() {
	err := validator.Validate(d.root)
	if err == nil {
		return
	}
	v, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		d.problem("", "%v", err)
		return
	}
	d.explain(v)
}

// explain goes to the leaves, since the rest only says that a leaf is wrong.
func (d *document) explain(v *jsonschema.ValidationError) {
	if len(v.Causes) > 0 {
		for _, c := range v.Causes {
			d.explain(c)
		}
		return
	}
	_, location, _ := strings.Cut(v.AbsoluteKeywordLocation, "#")
	i := strings.LastIndexByte(location, '/')
	if i < 0 {
		d.problem(v.InstanceLocation, "%s", v.Message)
		return
	}
	s, _ := lookup(schemaDoc, location[:i]).(map[string]any)
	value := lookup(d.root, v.InstanceLocation)
	switch location[i+1:] {
	case "required":
		d.missing(v.InstanceLocation, s, value)
	case "additionalProperties":
		d.unknown(v.InstanceLocation, s, value)
	default:
		d.problem(v.InstanceLocation, "expected %s, found %s", expected(s), d.found(v.InstanceLocation, s, value))
	}
}

// missing names every key that a section lacks. The library names them in one message,
// with the section's place only.
func (d *document) missing(ptr string, s map[string]any, value any) {
	m, _ := value.(map[string]any)
	for _, key := range texts(s["required"]) {
		if _, ok := m[key]; ok {
			continue
		}
		at, target := property(s, key)
		what, _ := at["description"].(string)
		if key == "agent" && ptr == "" {
			// A file without an agent is most likely one where it was forgotten.
			ptr, key = "/agent", "driver"
			at, target = property(target, key)
			what, _ = at["description"].(string)
		}
		if choices := texts(target["enum"]); len(choices) > 0 {
			what += " Allowed: " + quoted(choices) + "."
		}
		d.problem(ptr+"/"+escape(key), "required, but missing. %s", what)
	}
}

// unknown names every key that a section does not know, with the one that was most
// likely meant: the nearest in spelling, or the same name in another section.
func (d *document) unknown(ptr string, s map[string]any, value any) {
	m, _ := value.(map[string]any)
	known := properties(s)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if slices.Contains(known, key) {
			continue
		}
		hint := "known here: " + strings.Join(known, ", ")
		if k := nearest(key, known); k != "" {
			hint = fmt.Sprintf("did you mean %s?", k)
		} else if elsewhere := keysNamed(key); len(elsewhere) > 0 {
			hint = "it belongs at " + strings.Join(elsewhere, " or ")
		}
		d.problem(ptr+"/"+escape(key), "unknown key; %s", hint)
	}
}

// keysNamed are the dotted keys of the sections that know this name.
func keysNamed(name string) (out []string) {
	for _, section := range properties(rootSchema) {
		_, target := property(rootSchema, section)
		if slices.Contains(properties(target), name) {
			out = append(out, section+"."+name)
		}
	}
	return out
}

// expected says in words what a schema allows.
func expected(s map[string]any) string {
	if x, ok := s["x-expected"].(string); ok {
		return x
	}
	if choices := texts(s["enum"]); len(choices) > 0 {
		if len(choices) == 1 {
			return quoted(choices)
		}
		return "one of " + quoted(choices)
	}
	switch s["type"] {
	case "string":
		if n, ok := s["maxLength"].(float64); ok {
			return fmt.Sprintf("text of at most %v characters", n)
		}
		return "text that is not empty"
	case "boolean":
		return "true or false"
	case "integer":
		return fmt.Sprintf("a whole number from %s to %s", number(s["minimum"]), number(s["maximum"]))
	case "array":
		if n, ok := s["minItems"].(float64); ok {
			return fmt.Sprintf("a list of at least %v", n)
		}
		return "a list"
	case "object":
		if known := properties(s); len(known) > 0 {
			return "a section with keys such as " + strings.Join(known[:min(3, len(known))], ", ")
		}
		return "a section"
	}
	return "something else"
}

// found says what stands there instead, unless that is a credential: errors end up in
// logs and tickets. A number is shown as it was written, since 1.0 read as text is not 1.
func (d *document) found(ptr string, s map[string]any, value any) string {
	raw := d.at[ptr].raw
	if raw == "" {
		raw = number(value)
	}
	secret := s["writeOnly"] == true
	switch v := value.(type) {
	case nil:
		return "nothing"
	case string:
		switch {
		case v == "":
			return "empty text"
		case secret:
			return "other text (not shown)"
		case strings.Contains(v, "@"):
			v = withoutPassword(v)
		case len(v) > 80:
			v = v[:80] + "…"
		}
		return strconv.Quote(v)
	case bool:
		return fmt.Sprint(v)
	case map[string]any:
		return "a section"
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	}
	switch {
	case secret:
		return "a number (put it in quotes)"
	case s["type"] == "string" && s["x-expected"] == nil && s["enum"] == nil:
		return fmt.Sprintf("the number %s (put it in quotes)", raw)
	}
	return "the number " + raw
}

// withoutPassword hides what an address should not have held.
func withoutPassword(s string) string {
	if u, err := url.Parse(s); err == nil {
		return u.Redacted()
	}
	return s
}

// number writes bounds in full: 1e+06 is not what the operator wrote.
func number(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// texts are the strings of a list, of whatever it holds.
func texts(v any) (out []string) {
	list, _ := v.([]any)
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func quoted(list []string) string {
	q := make([]string, len(list))
	for i, s := range list {
		q[i] = strconv.Quote(s)
	}
	return strings.Join(q, ", ")
}
