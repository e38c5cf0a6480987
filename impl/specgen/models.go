package specgen

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Models says how a JSON Schema file becomes a package of Go types.
type Models struct {
	// Schema is the file, relative to the root; its $defs become types.
	Schema  string
	Package string
	// Out is the Go file, relative to the root. A copy of the schema goes beside it,
	// because go:embed cannot reach up into spec/.
	Out string
	// Doc is the package comment, without "Package name".
	Doc string
}

// GenerateModels writes the Go types of a schema, and beside them a copy of the
// schema for validation at run time. Definitions with x-type become events.
//
// A property is a value unless it says "x-go-type-skip-optional-pointer": false;
// an inline enum is a string; a $ref into a2a.schema.json is a type of gen/a2a.
// A root with properties becomes a type too, named by the root's x-go-name.
func GenerateModels(ctx context.Context, o Options, m Models) error {
	src, err := os.ReadFile(filepath.Join(o.Root, m.Schema))
	if err != nil {
		return err
	}
	schema, err := parseDocument(src)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Schema, err)
	}
	events, err := eventsOf(schema)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Schema, err)
	}
	doc, err := modelsDocument(schema)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Schema, err)
	}
	header := fmt.Sprintf("%s (sha256:%x)", m.Schema, sha256.Sum256(src))
	types, err := codegen{Package: m.Package, Doc: m.Doc, Header: header, Parts: []string{"models"}}.run(ctx, o.Tools, doc)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Schema, err)
	}
	dir := filepath.Dir(m.Out)
	files := map[string][]byte{m.Out: types, filepath.Join(dir, filepath.Base(m.Schema)): src}
	in := runtimeInput{Header: header, Package: m.Package, File: filepath.Base(m.Schema), ID: filepath.Base(m.Schema), Events: events}
	if id, ok := schema["$id"].(string); ok {
		in.ID = id
	}
	if files[filepath.Join(dir, "schema.gen.go")], err = render("schema.go.tmpl", in); err != nil {
		return err
	}
	if len(events) > 0 {
		if files[filepath.Join(dir, "registry.gen.go")], err = render("registry.go.tmpl", in); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeFile(o.out(), name, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// runtimeInput is what the templates of a schema package get.
type runtimeInput struct {
	Header, Package, File, ID string
	Events                    []eventType
}

// eventType is one event of the vocabulary.
type eventType struct {
	// Go is the struct's name, Type the name on the wire.
	Go, Type string
	// Sender is agent or server.
	Sender string
	// Turn reports whether the event has a turnId.
	Turn bool
}

// eventsOf lists the definitions that are events, by their names on the wire.
func eventsOf(schema object) ([]eventType, error) {
	defs, _ := schema["$defs"].(object)
	var out []eventType
	for name, v := range defs {
		d := v.(object)
		typ, ok := d["x-type"].(string)
		if !ok {
			continue
		}
		e := eventType{Go: goName(name), Type: typ}
		if e.Sender, _ = d["x-sender"].(string); e.Sender != "agent" && e.Sender != "server" {
			return nil, fmt.Errorf("%s: x-sender must be agent or server", name)
		}
		props, _ := d["properties"].(object)
		_, e.Turn = props["turnId"]
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b eventType) int { return strings.Compare(a.Type, b.Type) })
	for i := 1; i < len(out); i++ {
		if out[i].Type == out[i-1].Type {
			return nil, fmt.Errorf("%s and %s have the same x-type", out[i-1].Go, out[i].Go)
		}
	}
	return out, nil
}

// modelsDocument wraps a schema's definitions into the OpenAPI document that oapi-codegen reads.
func modelsDocument(schema object) (object, error) {
	comps := object{}
	defs, _ := schema["$defs"].(object)
	for name, d := range defs {
		comps[goName(name)] = clone(d.(object))
	}
	// The root itself is a type only where it describes one.
	if _, ok := schema["properties"]; ok {
		name, ok := schema["x-go-name"].(string)
		if !ok {
			return nil, fmt.Errorf("the root has properties but no x-go-name")
		}
		root := object{}
		for _, k := range []string{"type", "description", "properties", "required"} {
			if v, ok := schema[k]; ok {
				root[k] = cloneValue(v)
			}
		}
		comps[name] = root
	}
	for _, name := range slices.Sorted(maps.Keys(comps)) {
		if err := modelType(name, comps[name].(object), comps); err != nil {
			return nil, err
		}
	}
	return object{
		"openapi": "3.1.0", "info": object{"title": "models", "version": "1"}, "paths": object{},
		"components": object{"schemas": comps},
	}, nil
}

// modelType reduces a definition to what decides the Go type. Rules about values are
// the validator's concern, and oapi-codegen would make unions and constants of them.
func modelType(name string, d object, comps object) error {
	for _, k := range []string{"oneOf", "anyOf", "allOf", "if", "then", "else", "not", "dependentRequired", "$comment"} {
		delete(d, k)
	}
	required, _ := d["required"].([]any)
	props, _ := d["properties"].(object)
	for k, v := range props {
		p := v.(object)
		typeExtensions(p, slices.Contains(required, any(k)), false)
		if _, ok := p["x-go-name"]; !ok {
			p["x-go-name"] = goName(k)
		}
	}
	var bad error
	walk(props, func(o object) {
		for _, k := range []string{"oneOf", "anyOf", "allOf", "if", "then", "else", "not", "default", "const"} {
			if _, isProperty := o[k].(object); !isProperty || k == "not" {
				delete(o, k)
			}
		}
		if _, ok := o["enum"].([]any); ok {
			delete(o, "enum")
		}
		r, ok := o["$ref"].(string)
		switch {
		case !ok:
		case strings.HasPrefix(r, "#/$defs/"):
			o["$ref"] = "#/components/schemas/" + goName(lastOf(r))
			if comps[goName(lastOf(r))] == nil {
				bad = fmt.Errorf("%s: no definition %s", name, r)
			}
		// The protocol's own types come with gen/a2a.
		case strings.Contains(r, "a2a.schema.json#/$defs/"):
			delete(o, "$ref")
			o["type"] = "object"
			o["x-go-type"] = "a2a." + goName(lastOf(r))
			o["x-go-type-import"] = object{"path": "a2aserve/gen/a2a"}
		default:
			bad = fmt.Errorf("%s: cannot follow %s", name, r)
		}
	})
	return bad
}
