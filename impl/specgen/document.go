package specgen

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object of a schema or of an OpenAPI document.
type object = map[string]any

// parseDocument reads a JSON object. Members of each "properties" object get an
// x-order with their place in the file, since Go maps forget it and struct
// fields should stand in the author's order.
func parseDocument(b []byte) (object, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(b))
	v, _, err := readValue(dec)
	if err != nil {
		return nil, err
	}
	doc, ok := v.(object)
	if !ok {
		return nil, fmt.Errorf("is not a JSON object")
	}
	return doc, nil
}

// readValue returns the names of an object's members beside it, in their order.
func readValue(dec *jsontext.Decoder) (v any, names []string, err error) {
	switch dec.PeekKind() {
	case '{':
		return readObject(dec)
	case '[':
		if _, err = dec.ReadToken(); err != nil {
			return nil, nil, err
		}
		list := []any{}
		for dec.PeekKind() != ']' {
			item, _, err := readValue(dec)
			if err != nil {
				return nil, nil, err
			}
			list = append(list, item)
		}
		_, err = dec.ReadToken()
		return list, nil, err
	}
	err = json.UnmarshalDecode(dec, &v)
	return v, nil, err
}

// readObject reads one object and numbers what stands in its "properties".
func readObject(dec *jsontext.Decoder) (any, []string, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, nil, err
	}
	o, names := object{}, []string(nil)
	for dec.PeekKind() != '}' {
		t, err := dec.ReadToken()
		if err != nil {
			return nil, nil, err
		}
		name := t.String()
		v, inner, err := readValue(dec)
		if err != nil {
			return nil, nil, err
		}
		if name == "properties" {
			for i, n := range inner {
				if p, ok := v.(object)[n].(object); ok {
					p["x-order"] = i + 1
				}
			}
		}
		o[name] = v
		names = append(names, name)
	}
	_, err := dec.ReadToken()
	return o, names, err
}

// encode writes a document so that equal documents are equal bytes.
func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	return append(b, '\n'), err
}

// clone copies a document deeply.
func clone(o object) object { return cloneValue(o).(object) }

// cloneValue copies objects and lists; everything else is immutable.
func cloneValue(v any) any {
	switch v := v.(type) {
	case object:
		c := make(object, len(v))
		for k, x := range v {
			c[k] = cloneValue(x)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, x := range v {
			c[i] = cloneValue(x)
		}
		return c
	}
	return v
}

// walk visits every object of a document, outermost first and otherwise in no order:
// what visit does to one object must not depend on another.
func walk(v any, visit func(object)) {
	switch v := v.(type) {
	case object:
		visit(v)
		for _, x := range v {
			walk(x, visit)
		}
	case []any:
		for _, x := range v {
			walk(x, visit)
		}
	}
}

// rewriteRefs replaces each $ref by what f makes of it.
func rewriteRefs(v any, f func(string) string) {
	walk(v, func(o object) {
		if r, ok := o["$ref"].(string); ok {
			o["$ref"] = f(r)
		}
	})
}

// lastOf is the definition that a $ref points at.
func lastOf(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// writeFile writes below dir and makes the folders it needs.
func writeFile(dir, name string, b []byte) error {
	p := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	return os.WriteFile(p, b, 0o644)
}
