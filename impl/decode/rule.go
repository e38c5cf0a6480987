package decode

import (
	"math"
	"slices"
	"strings"
)

// rule tells, for one place in the schema, which values are valid for certain. The validator
// knows all of JSON Schema and explains what is wrong, which costs it more time and stack
// than the rest of reading; most documents are right. So it is asked only where a rule says
// no, which need not mean that the value is wrong.
type rule struct {
	doubt    bool     // the schema says something here that rules do not understand
	same     *rule    // as a definition has it
	kinds    []string // JSON Schema's names of types; none: any
	enum     map[string]bool
	filled   bool             // neither empty text nor an empty array or object
	props    map[string]*rule // of an object
	required []string
	oneof    oneof
	elem     *rule    // of an array, or of the members of an object that props does not name
	low      *float64 // bounds of a number, both included
	high     *float64
}

// rules are made of the definitions, as the shapes are.
var rules = loadRules()

func loadRules() map[string]*rule {
	all := make(map[string]*rule, len(definitions))
	for name := range definitions {
		all[name] = &rule{}
	}
	for name, d := range definitions {
		all[name].read(all, d)
	}
	return all
}

// read takes each keyword over, and those that say nothing of validity for nothing. A
// keyword that is new to it leaves every value in doubt, so that none is overlooked.
func (r *rule) read(all map[string]*rule, schema any) {
	d, ok := schema.(object)
	r.doubt = !ok
	for keyword, v := range d {
		switch keyword {
		case "type":
			r.kinds, ok = kinds(v)
		case "$ref":
			r.same, ok = all[strings.TrimPrefix(v.(string), refPrefix)]
		case "enum":
			r.enum = set(v)
		case "required":
			r.required = names(v)
		case "x-oneof":
			r.oneof = names(v.(object)["members"])
		case "oneOf":
			ok = d["x-oneof"] != nil // which says the same
		case "properties":
			r.props = map[string]*rule{}
			for name, v := range v.(object) {
				r.props[name] = &rule{}
				r.props[name].read(all, v)
			}
		case "items", "additionalProperties":
			ok = r.elem == nil
			r.elem = &rule{}
			r.elem.read(all, v)
		case "minLength", "minItems", "minProperties":
			r.filled, ok = true, v == 1.0
		case "minimum":
			r.low = bound(v)
		case "maximum":
			r.high = bound(v)
		case "format":
			ok = v == "int32" || v == "int64" // which bounds say
		case "pattern":
			ok = d["contentEncoding"] == "base64" // which the reader has written
		case "contentEncoding", "description", "deprecated", "x-proto-name", "x-enum-descriptions", "x-enum-numbers":
		default:
			ok = false
		}
		r.doubt = r.doubt || !ok
	}
}

func kinds(v any) (list []string, ok bool) {
	switch v := v.(type) {
	case string:
		return []string{v}, true
	case []any:
		return names(v), true
	}
	return nil, false
}

func bound(v any) *float64 {
	f := v.(float64)
	return &f
}

// names are the strings of a list in the schema.
func names(v any) (list []string) {
	for _, name := range v.([]any) {
		list = append(list, name.(string))
	}
	return list
}

func set(v any) map[string]bool {
	all := map[string]bool{}
	for _, name := range names(v) {
		all[name] = true
	}
	return all
}

// accepts reports whether a value of the reader's tree is valid for certain. False settles
// nothing.
func (r *rule) accepts(v any) bool {
	if r.doubt || r.same != nil && !r.same.accepts(v) {
		return false
	}
	switch v := v.(type) {
	case string:
		return r.is("string", v == "") && (r.enum == nil || r.enum[v])
	case object:
		return r.is("object", len(v) == 0) && r.enum == nil && r.members(v)
	case []any:
		if !r.is("array", len(v) == 0) || r.enum != nil {
			return false
		}
		for _, e := range v {
			if r.elem != nil && !r.elem.accepts(e) {
				return false
			}
		}
		return true
	case float64:
		return r.number(v)
	case bool:
		return r.is("boolean", false) && r.enum == nil
	}
	return false // a null, which few places take
}

// is compares the type, and whether there has to be something.
func (r *rule) is(kind string, empty bool) bool {
	return (r.kinds == nil || slices.Contains(r.kinds, kind)) && !(r.filled && empty)
}

func (r *rule) number(v float64) bool {
	return (r.is("number", false) || r.is("integer", false) && v == math.Trunc(v)) && r.enum == nil &&
		(r.low == nil || v >= *r.low) && (r.high == nil || v <= *r.high)
}

func (r *rule) members(v object) bool {
	for _, name := range r.required {
		if _, ok := v[name]; !ok {
			return false
		}
	}
	n := 0
	for _, name := range r.oneof {
		if _, ok := v[name]; ok {
			n++
		}
	}
	if r.oneof != nil && n != 1 {
		return false
	}
	for name, member := range v {
		of, ok := r.props[name]
		if !ok {
			of = r.elem
		}
		if of != nil && !of.accepts(member) {
			return false
		}
	}
	return true
}
