package validate

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
)

type kind uint8

const (
	kindAny    kind = iota // any value, null included
	kindStruct             // an object, whatever is in it
	kindObject
	kindMap
	kindArray
	kindEnum
	kindBytes
	kindTime
	kindInt
	kindBool
	kindString
	kindID // of JSON-RPC
)

// node is what is expected in one place of a document.
type node struct {
	kind kind
	def  string // the definition that this is, or that it is part of

	members  map[string]*member // by either spelling
	required []string
	oneof    []string
	elem     *node // of an array or map

	open     bool // other members are as good: a detail has those of its @type
	nonEmpty bool
	min, max float64
	pattern  *regexp.Regexp
	enum     []string
	numbers  []int64 // of the enum's names, in their order
}

// member is one of an object's.
type member struct {
	name    string // the canonical spelling
	section string // about what is wrong with it
	null    bool   // null is a value, and reported elsewhere
	*node
}

// known are the keywords that a node is made from. A schema with another one was written by
// a generator that this package has not caught up with.
var known = []string{"$ref", "additionalProperties", "contentEncoding", "deprecated", "description", "enum", "format", "items",
	"maximum", "minItems", "minLength", "minimum", "oneOf", "pattern", "properties", "required", "type",
	"x-enum-descriptions", "x-enum-numbers", "x-oneof", "x-open", "x-proto-name"}

// extra are what the proto leaves to the bindings: errors (A2A §9.5, §11.6) and the empty answer.
const extra = `{
	"Empty": {"type": "object"},
	"JSONRPCError": {"type": "object", "required": ["code", "message"], "properties": {
		"code": {"type": "integer"}, "message": {"type": "string"},
		"data": {"type": "array", "items": {"$ref": "#/$defs/ErrorDetail"}}}},
	"HTTPError": {"type": "object", "required": ["error"], "properties": {"error": {"$ref": "#/$defs/Status"}}},
	"Status": {"type": "object", "required": ["code", "message"], "properties": {
		"code": {"type": "integer"}, "status": {"type": "string"}, "message": {"type": "string"},
		"details": {"type": "array", "items": {"$ref": "#/$defs/ErrorDetail"}}}},
	"ErrorDetail": {"type": "object", "x-open": true, "required": ["@type"], "properties": {
		"@type": {"type": "string", "minLength": 1}, "reason": {"type": "string"}, "domain": {"type": "string"}}}
}`

// definitions are read from the embedded schema once and never altered.
var definitions = load()

type object = map[string]any

// load makes the nodes in two steps, because definitions refer to each other. A schema that
// the generator would not write is a mistake in the build, so it panics.
func load() map[string]*node {
	var doc struct {
		Defs object `json:"$defs"`
	}
	if err := json.Unmarshal(a2a.Schema, &doc); err != nil {
		panic("validate: the embedded schema: " + err.Error())
	}
	if err := json.Unmarshal([]byte(extra), &doc.Defs); err != nil {
		panic("validate: the extra definitions: " + err.Error())
	}
	all := make(map[string]*node, len(doc.Defs))
	for name := range doc.Defs {
		all[name] = &node{def: name}
	}
	for name, d := range doc.Defs {
		switch n := all[name]; name {
		case "Value":
			n.kind = kindAny
		case "Struct":
			n.kind = kindStruct
		case "Timestamp":
			n.kind = kindTime
		default:
			n.describe(all, d.(object))
		}
	}
	for _, n := range all {
		for _, m := range n.members {
			if m.section == "" {
				m.section = m.place(n)
			}
		}
	}
	return all
}

// place is the section about a member: an enum has one of its own, and so has a time; what
// else is wrong with a member is about the definition that has it.
func (m *member) place(parent *node) string {
	if m.kind == kindEnum || m.kind == kindTime {
		return m.node.section()
	}
	return parent.section()
}

// describe fills n from the schema d.
func (n *node) describe(all map[string]*node, d object) {
	for keyword := range d {
		if !slices.Contains(known, keyword) {
			panic(fmt.Sprintf("validate: the embedded schema has an unknown keyword %q in %s", keyword, n.def))
		}
	}
	n.min, n.max = math.Inf(-1), math.Inf(1)
	switch {
	case d["enum"] != nil:
		n.kind = kindEnum
		n.enum = words(d["enum"])
		for _, number := range d["x-enum-numbers"].([]any) {
			n.numbers = append(n.numbers, int64(number.(float64)))
		}
	case d["type"] == "object" && d["additionalProperties"] != nil:
		n.kind, n.elem = kindMap, n.part(all, d["additionalProperties"].(object))
	case d["type"] == "object":
		n.object(all, d)
	case d["type"] == "array":
		n.kind, n.elem = kindArray, n.part(all, d["items"].(object))
		n.nonEmpty = d["minItems"] != nil
	case d["type"] == "integer":
		n.kind = kindInt
		bound(&n.min, d["minimum"])
		bound(&n.max, d["maximum"])
	case d["type"] == "boolean":
		n.kind = kindBool
	case d["contentEncoding"] == "base64":
		n.kind = kindBytes
	case d["type"] == "string":
		n.kind, n.nonEmpty = kindString, d["minLength"] != nil
		if p, ok := d["pattern"].(string); ok {
			n.pattern = regexp.MustCompile(p)
		}
	default:
		panic(fmt.Sprintf("validate: the embedded schema has a %v in %s", d["type"], n.def))
	}
}

func (n *node) object(all map[string]*node, d object) {
	n.kind, n.members, n.required, n.open = kindObject, map[string]*member{}, words(d["required"]), d["x-open"] != nil
	properties, _ := d["properties"].(object)
	for name, p := range properties {
		m := &member{name: name, section: memberSections[n.def+"."+name], node: n.part(all, p.(object))}
		n.members[name] = m
		if proto, ok := p.(object)["x-proto-name"].(string); ok {
			n.members[proto] = m
		}
	}
	if x, ok := d["x-oneof"].(object); ok {
		n.oneof = words(x["members"])
	}
}

// part is the node of a schema within a schema: that of a definition, which may still have to
// be filled in, or one of its own.
func (n *node) part(all map[string]*node, d object) *node {
	if ref, ok := d["$ref"].(string); ok {
		return all[strings.TrimPrefix(ref, "#/$defs/")]
	}
	p := &node{def: n.def}
	p.describe(all, d)
	return p
}

func words(v any) (list []string) {
	values, _ := v.([]any)
	for _, v := range values {
		list = append(list, v.(string))
	}
	return list
}

func bound(b *float64, v any) {
	if f, ok := v.(float64); ok {
		*b = f
	}
}

// Types lists what Options.Type may name: the definitions of messages, in alphabetical order.
func Types() (names []string) {
	for name, n := range definitions {
		if n.kind == kindObject {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
