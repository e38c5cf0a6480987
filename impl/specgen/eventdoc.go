package specgen

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// GenerateEventDoc writes the page about the vocabulary of a schema, as Markdown. Both
// names are relative to the root.
func GenerateEventDoc(o Options, schema, out string) error {
	src, err := os.ReadFile(filepath.Join(o.Root, schema))
	if err != nil {
		return err
	}
	page, err := eventDoc(schema, src)
	if err != nil {
		return fmt.Errorf("%s: %w", schema, err)
	}
	return writeFile(o.out(), out, page)
}

// eventPage is what the template of the page gets.
type eventPage struct {
	Schema, Description   string
	Server, Agent, Shared []eventEntry // in the order of the file
}

// eventEntry is one definition: an event, or a type that events hold.
type eventEntry struct {
	Go, Type, Description string
	Fields                []fieldEntry
}

type fieldEntry struct {
	Name, Type, Description string
	Required                bool
}

// eventDoc makes the page.
func eventDoc(name string, src []byte) ([]byte, error) {
	schema, err := parseDocument(src)
	if err != nil {
		return nil, err
	}
	if _, err := eventsOf(schema); err != nil { // what the types refuse, the page refuses
		return nil, err
	}
	order, err := definitionOrder(src)
	if err != nil {
		return nil, err
	}
	page := eventPage{Schema: name, Description: text(schema["description"])}
	for _, n := range order {
		d := schema["$defs"].(object)[n].(object)
		e := eventEntry{Go: goName(n), Type: text(d["x-type"]), Description: text(d["description"])}
		if e.Fields, err = fieldEntries(d); err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		if e.Description == "" {
			return nil, fmt.Errorf("%s: has no description", n)
		}
		switch d["x-sender"] {
		case "server":
			page.Server = append(page.Server, e)
		case "agent":
			page.Agent = append(page.Agent, e)
		default:
			page.Shared = append(page.Shared, e)
		}
	}
	return execute("events.md.tmpl", page)
}

// definitionOrder lists the definitions as they stand in the file, which the author has
// put in the order of a turn.
func definitionOrder(src []byte) ([]string, error) {
	var doc struct {
		Defs jsontext.Value `json:"$defs"`
	}
	if err := json.Unmarshal(src, &doc); err != nil {
		return nil, err
	}
	_, names, err := readValue(jsontext.NewDecoder(bytes.NewReader(doc.Defs)))
	return names, err
}

// fieldEntries are the properties of a definition, in the author's order. A field that is
// not described is a mistake in the schema.
func fieldEntries(d object) (out []fieldEntry, err error) {
	props, _ := d["properties"].(object)
	required, _ := d["required"].([]any)
	order := func(f fieldEntry) int { n, _ := props[f.Name].(object)["x-order"].(int); return n }
	for name, v := range props {
		p := v.(object)
		f := fieldEntry{Name: name, Type: spokenType(p), Description: text(p["description"]), Required: slices.Contains(required, any(name))}
		if f.Description == "" {
			return nil, fmt.Errorf("%s has no description", name)
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b fieldEntry) int { return order(a) - order(b) })
	return out, nil
}

// spokenType is how the page calls a property's type.
func spokenType(p object) string {
	if r, ok := p["$ref"].(string); ok {
		switch name := lastOf(r); {
		case name == "Value":
			return "any JSON"
		case name == "Struct":
			return "object"
		case strings.HasPrefix(r, "#"):
			return "[" + name + "](#" + strings.ToLower(name) + ")"
		default:
			return "A2A " + name
		}
	}
	if values, ok := p["enum"].([]any); ok {
		var words []string
		for _, v := range values {
			words = append(words, fmt.Sprintf("`%v`", v))
		}
		return strings.Join(words, ", ")
	}
	if items, ok := p["items"].(object); ok {
		return "list of " + spokenType(items)
	}
	return text(p["type"])
}
