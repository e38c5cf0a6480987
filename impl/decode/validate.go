package decode

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// timestamp is what the specification allows of ISO 8601 (A2A §5.6.1).
var timestamp = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$`)

// compiled holds a checker for each definition. Compiling takes some 30 ms, once, and waits
// for the first document that its rule leaves in doubt.
var compiled = sync.OnceValue(compile)

func compile() map[string]*jsonschema.Schema {
	defs := object{}
	for name, d := range definitions {
		d := d.(object)
		if d["x-oneof"] != nil { // replaces oneOf, whose errors nobody understands
			d = cloneWithout(d, "oneOf")
		}
		defs[name] = d
	}
	text, err := json.Marshal(object{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": a2a.SchemaID, "$defs": defs})
	if err != nil {
		panic("decode: the embedded schema: " + err.Error())
	}
	c := jsonschema.NewCompiler()
	// Draft 2020-12 makes formats annotations unless they are asked for.
	c.AssertFormat = true
	c.RegisterExtension("x-oneof", oneofMeta, oneofCompiler{})
	if err := c.AddResource(a2a.SchemaID, bytes.NewReader(text)); err != nil {
		panic("decode: the embedded schema: " + err.Error())
	}
	all := make(map[string]*jsonschema.Schema, len(defs))
	for name := range defs {
		all[name] = c.MustCompile(a2a.SchemaID + refPrefix + name)
	}
	return all
}

// cloneWithout leaves the shared definition as it is: shapes and messages refer to it.
func cloneWithout(d object, key string) object {
	out := make(object, len(d))
	for k, v := range d {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// validate reports what the schema finds wrong with a tree, in our own words.
func validate(def string, tree any) []a2a.Violation {
	if rules[def].accepts(tree) {
		return nil
	}
	err := compiled()[def].Validate(tree)
	if err == nil {
		return nil
	}
	root, ok := err.(*jsonschema.ValidationError)
	if !ok {
		// A loop in the schema, or a tree of values that are not JSON: our mistake.
		return []a2a.Violation{{Description: "cannot be validated"}}
	}
	var bad []a2a.Violation
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			bad = append(bad, explain(e, tree)...)
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(root)
	return bad
}

// explain says what one failed keyword asked for. The validator's own messages are about
// schemas, and their wording is not ours to promise; so the keyword's value is looked up
// in the schema.
func explain(e *jsonschema.ValidationError, tree any) []a2a.Violation {
	_, pointer, _ := strings.Cut(e.AbsoluteKeywordLocation, "#")
	keyword := pointer[strings.LastIndexByte(pointer, '/')+1:]
	field := fieldOf(e.InstanceLocation)
	want := resolve(object{"$defs": definitions}, pointer)
	say := func(format string, args ...any) []a2a.Violation {
		return []a2a.Violation{{Field: field, Description: fmt.Sprintf(format, args...)}}
	}
	switch keyword {
	case "required":
		return missing(e, want, tree)
	case "x-oneof":
		return say("%s", e.Message)
	case "type":
		return say("must be %s", kindNames[fmt.Sprint(want)])
	case "enum":
		var names []string
		for _, v := range want.([]any) {
			names = append(names, fmt.Sprint(v))
		}
		return say("must be one of %s", strings.Join(names, ", "))
	case "minimum":
		return say("must be at least %s", number(want))
	case "maximum":
		return say("must be at most %s", number(want))
	case "minLength", "minItems", "minProperties":
		if number(want) == "1" {
			return say("must not be empty")
		}
		return say("must have at least %s %s", number(want), unit[keyword])
	case "maxLength", "maxItems", "maxProperties":
		return say("must have at most %s %s", number(want), unit[keyword])
	}
	return say("has the wrong form")
}

// kindNames are the schema's types as a sentence has them.
var kindNames = map[string]string{
	"string": "a string", "object": "an object", "array": "an array",
	"integer": "a whole number", "number": "a number", "boolean": "true or false", "null": "null",
}

// unit is what a length counts.
var unit = map[string]string{
	"minLength": "characters", "maxLength": "characters", "minItems": "elements",
	"maxItems": "elements", "minProperties": "members", "maxProperties": "members",
}

// number writes a bound without an exponent.
func number(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// missing names the absent members; the validator only names their parent.
func missing(e *jsonschema.ValidationError, want, tree any) []a2a.Violation {
	members, _ := resolve(tree, e.InstanceLocation).(object)
	var bad []a2a.Violation
	names, _ := want.([]any)
	for _, name := range names {
		if _, ok := members[name.(string)]; !ok {
			bad = append(bad, a2a.Violation{
				Field:       strings.TrimPrefix(fieldOf(e.InstanceLocation)+"."+name.(string), "."),
				Description: "is required",
			})
		}
	}
	return bad
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// steps takes a JSON pointer apart; the validator escapes it for use in a URL.
func steps(pointer string) []string {
	list := strings.Split(pointer, "/")[1:]
	for i, step := range list {
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		list[i] = unescape.Replace(step)
	}
	return list
}

// resolve follows a JSON pointer.
func resolve(v any, pointer string) any {
	for _, step := range steps(pointer) {
		switch t := v.(type) {
		case object:
			v = t[step]
		case []any:
			i, err := strconv.Atoi(step)
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

// fieldOf writes a JSON pointer as the path that a client reads: message.parts[0].text.
func fieldOf(pointer string) string {
	var r reader
	for _, step := range steps(pointer) {
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && strconv.Itoa(i) == step {
			r.index(i)
			continue
		}
		r.member(step)
	}
	return string(r.path)
}

// oneofMeta is the schema of the keyword itself; the compiler checks ours against it.
var oneofMeta = jsonschema.MustCompileString("a2aserve:///spec/x-oneof.json", // without a scheme it would depend on the working folder
	`{"properties":{"x-oneof":{"type":"object","required":["members"],"properties":{"members":{"type":"array","items":{"type":"string"}}}}}}`)

// oneofCompiler reads the keyword x-oneof, which the generator writes next to each oneOf.
type oneofCompiler struct{}

func (oneofCompiler) Compile(_ jsonschema.CompilerContext, m map[string]any) (jsonschema.ExtSchema, error) {
	x, ok := m["x-oneof"].(object)
	if !ok {
		return nil, nil
	}
	var o oneof
	for _, v := range x["members"].([]any) {
		o = append(o, v.(string))
	}
	return o, nil
}

// oneof is the rule of a proto oneof that must be set: exactly one of these members.
type oneof []string

func (o oneof) Validate(ctx jsonschema.ValidationContext, v any) error {
	members, ok := v.(object)
	if !ok {
		return nil
	}
	got := slices.DeleteFunc(slices.Clone(o), func(name string) bool { _, set := members[name]; return !set })
	switch len(got) {
	case 0:
		return ctx.Error("x-oneof", "exactly one of %s must be set", strings.Join(o, ", "))
	case 1:
		return nil
	}
	return ctx.Error("x-oneof", "only one of %s may be set, not %s", strings.Join(o, ", "), strings.Join(got, " and "))
}
