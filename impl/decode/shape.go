package decode

import (
	"fmt"
	"strings"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
)

type kind uint8

const (
	kindAny    kind = iota // Value: copied as it is, null is a value
	kindStruct             // Struct: an object, copied as it is
	kindObject
	kindMap
	kindArray
	kindEnum
	kindBytes
	kindTime
	kindInt
	kindBool
	kindString
)

// shape is what reading needs to know of one place in the schema.
type shape struct {
	kind  kind
	props map[string]property // of an object, by either spelling
	elem  *shape              // of an array or map
	names map[int64]string    // of an enum
}

// property is a member of an object; both of its spellings lead to the same one, so that
// a duplicate is seen whichever way it is written.
type property struct {
	name string // the canonical spelling
	*shape
}

const refPrefix = "#/$defs/"

// shapes and definitions are read from the embedded schema once and never altered.
var definitions, shapes = load()

type object = map[string]any

// load makes the shapes in two steps, because definitions refer to each other.
func load() (object, map[string]*shape) {
	var doc struct {
		Defs object `json:"$defs"`
	}
	if err := json.Unmarshal(a2a.Schema, &doc); err != nil {
		panic("decode: the embedded schema: " + err.Error())
	}
	all := make(map[string]*shape, len(doc.Defs))
	for name := range doc.Defs {
		all[name] = &shape{}
	}
	for name, d := range doc.Defs {
		switch name {
		case "Value":
			all[name].kind = kindAny
		case "Struct":
			all[name].kind = kindStruct
		case "Timestamp":
			all[name].kind = kindTime
		default:
			all[name].describe(all, name, d.(object))
		}
	}
	return doc.Defs, all
}

// describe fills s from the schema d. A schema that the generator would not write
// is a mistake in the build, so it panics.
func (s *shape) describe(all map[string]*shape, at string, d object) {
	switch {
	case d["enum"] != nil:
		s.kind, s.names = kindEnum, enumNames(at, d)
	case d["type"] == "object" && d["properties"] != nil:
		s.kind, s.props = kindObject, map[string]property{}
		for name, v := range d["properties"].(object) {
			p := property{name, part(all, at+"."+name, v.(object))}
			s.props[name] = p
			if proto, ok := v.(object)["x-proto-name"].(string); ok {
				s.props[proto] = p
			}
		}
	case d["type"] == "object":
		s.kind = kindObject // no members of its own, or a map
		if elem, ok := d["additionalProperties"].(object); ok {
			s.kind, s.elem = kindMap, part(all, at+".*", elem)
		}
	case d["type"] == "array":
		s.kind, s.elem = kindArray, part(all, at+"[]", d["items"].(object))
	case d["type"] == "integer":
		s.kind = kindInt
	case d["type"] == "boolean":
		s.kind = kindBool
	case d["contentEncoding"] == "base64":
		s.kind = kindBytes
	case d["type"] == "string":
		s.kind = kindString
	default:
		panic(fmt.Sprintf("decode: the embedded schema has a %v at %s", d["type"], at))
	}
}

// part is the shape of a schema within a schema: a reference to a definition, whose shape
// may still have to be filled in, or one of its own.
func part(all map[string]*shape, at string, d object) *shape {
	if ref, ok := d["$ref"].(string); ok {
		return all[strings.TrimPrefix(ref, refPrefix)]
	}
	s := &shape{}
	s.describe(all, at, d)
	return s
}

// enumNames maps the numbers of the proto to the names. Old clients and proto libraries send
// numbers; UNSPECIFIED has no name here, so its number is refused as its name is.
func enumNames(at string, d object) map[int64]string {
	names := map[int64]string{}
	numbers, _ := d["x-enum-numbers"].([]any)
	for i, v := range d["enum"].([]any) {
		if i >= len(numbers) {
			panic("decode: the embedded schema has no number for " + at + "." + v.(string))
		}
		names[int64(numbers[i].(float64))] = v.(string)
	}
	return names
}

// Kind is the kind of a query parameter. A query has no types of its own, so whoever reads
// one has to know what it is meant to be.
type Kind uint8

// The kinds of query parameters; anything else cannot travel in a query.
const (
	None Kind = iota
	Text
	Integer
	Boolean
)

// Parameter tells a member of def by either of its spellings: the canonical name and
// how it is written in a query (A2A §11.5). None means that def has no such member.
func Parameter(def, name string) (string, Kind) {
	p, ok := shapes[def].props[name]
	if !ok {
		return "", None
	}
	switch p.kind {
	case kindInt:
		return p.name, Integer
	case kindBool:
		return p.name, Boolean
	case kindString, kindEnum, kindTime, kindBytes:
		return p.name, Text
	}
	return "", None
}
