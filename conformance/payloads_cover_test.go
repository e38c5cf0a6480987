package conformance

import (
	"bytes"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/validate"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
)

// form is a schema of the embedded document, as far as the coverage depends on it. It is read
// here once more, so that what the validator overlooks in the schema is missed.
type form struct {
	Ref        string           `json:"$ref"`
	Type       any              `json:"type"`
	Properties map[string]*form `json:"properties"`
	Required   []string         `json:"required"`
	Items      *form            `json:"items"`
	Values     *form            `json:"additionalProperties"`
	Enum       []string         `json:"enum"`
	MinLength  int              `json:"minLength"`
	MinItems   int              `json:"minItems"`
	Minimum    *float64         `json:"minimum"`
	Maximum    *float64         `json:"maximum"`
	Pattern    string           `json:"pattern"`
	Encoding   string           `json:"contentEncoding"`
	Proto      string           `json:"x-proto-name"`
	OneOf      *struct {
		Members []string `json:"members"`
	} `json:"x-oneof"`
}

var forms = func() map[string]*form {
	var doc struct {
		Defs map[string]*form `json:"$defs"`
	}
	if err := json.Unmarshal(a2a.Schema, &doc); err != nil {
		panic(err)
	}
	return doc.Defs
}()

func (f *form) def() string { return strings.TrimPrefix(f.Ref, "#/$defs/") }

// piece is a payload of a definition: a document, or what a JSON-RPC envelope holds.
type piece struct {
	def      string
	text     []byte
	valid    bool
	from     validate.Sender
	findings []validate.Finding // with pointers within the payload
	whole    bool               // not in an envelope
}

// pieces cuts the text into documents as the results say, and takes them out of their envelopes.
func (p *payload) pieces(t *testing.T, got []validate.Result) (all []piece) {
	t.Helper()
	texts := p.documents()
	got = slices.DeleteFunc(slices.Clone(got), func(r validate.Result) bool { return r.Type == "stream" })
	if len(texts) != len(got) {
		if p.valid || len(got) != 1 || got[0].Type != "" { // what is not read cannot be cut either
			t.Errorf("%s: %d documents with %d results", p.name, len(texts), len(got))
		}
		return nil
	}
	for i, r := range got {
		x, member := piece{def: r.Type, text: texts[i], valid: r.Valid, from: r.From, whole: true}, ""
		if method, ok := strings.CutPrefix(r.Type, "JSON-RPC request: "); ok {
			x.def, member = op.ByName(method).Request, "params"
		} else if def, ok := strings.CutPrefix(r.Type, "JSON-RPC response: "); ok {
			x.def, member = def, "result"
		} else if strings.HasPrefix(r.Type, "JSON-RPC") || r.Type == "" || texts[i] == nil {
			continue
		}
		prefix := ""
		if strings.HasPrefix(p.text, "[") && path.Ext(p.name) == ".json" {
			prefix = "/" + strconv.Itoa(i)
		}
		if member != "" {
			var envelope map[string]jsontext.Value
			if err := json.Unmarshal(x.text, &envelope); err != nil || envelope[member] == nil {
				continue
			}
			x.text, x.whole, x.valid, prefix = envelope[member], false, true, prefix+"/"+member
		}
		for _, f := range r.Findings {
			if rest, in := strings.CutPrefix(f.Pointer, prefix); in && (rest == "" || rest[0] == '/') {
				f.Pointer = rest
				x.findings = append(x.findings, f)
				x.valid = x.valid && f.Level != validate.Error
			}
		}
		all = append(all, x)
	}
	return all
}

// documents are the JSON texts in the payload's text.
func (p *payload) documents() (all [][]byte) {
	text := []byte(p.text)
	switch path.Ext(p.name) {
	case ".jsonl":
		return slices.Collect(bytes.Lines(bytes.TrimSpace(text)))
	case ".sse":
		for event := range strings.SplitSeq(p.text, "\n\n") {
			var data []string
			for line := range strings.Lines(event) {
				if d, ok := strings.CutPrefix(line, "data:"); ok {
					data = append(data, d)
				}
			}
			if data != nil {
				all = append(all, []byte(strings.Join(data, "")))
			}
		}
		return all
	case ".yaml", ".yml":
		for _, doc := range regexp.MustCompile(`(?m)^---$`).Split(p.text, -1) {
			if strings.TrimSpace(doc) == "" {
				continue
			}
			js, err := yaml.YAMLToJSON([]byte(doc))
			if err != nil { // a key is there twice
				js = nil
			}
			all = append(all, js)
		}
		return all
	}
	if bytes.HasPrefix(text, []byte("[")) {
		var elements []jsontext.Value
		if err := json.Unmarshal(text, &elements, jsontext.AllowDuplicateNames(true)); err == nil {
			for _, e := range elements {
				all = append(all, e)
			}
			return all
		}
	}
	in := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	for {
		v, err := in.ReadValue()
		if err != nil {
			break
		}
		all = append(all, bytes.Clone(v))
	}
	if len(all) == 0 { // no JSON, but a document for all that
		all = append(all, text)
	}
	return all
}

// coverage is what the corpus has shown.
type coverage map[string]bool

// spot is a place in a document.
type spot struct {
	def    string // the definition that the value is of, or is a plain member of
	member string // Definition.member, with [] for an element; "" for a document
}

// see notes what a valid document has, and what the findings of another one are about.
func (c coverage) see(x piece) {
	if x.whole {
		c["a document of type "+x.def+" that is "+map[bool]string{true: "valid", false: "invalid"}[x.valid]] = true
	}
	var v any
	if forms[x.def] == nil || json.Unmarshal(x.text, &v, jsontext.AllowDuplicateNames(true)) != nil {
		return
	}
	spots := map[string]spot{}
	c.walk(&form{Ref: "#/$defs/" + x.def}, spot{}, v, "", x.valid, spots)
	for _, f := range x.findings {
		at, exact := spots[f.Pointer]
		for up := f.Pointer; up != "" && !exact; at, exact = spots[up] {
			up = up[:strings.LastIndexByte(up, '/')]
		}
		if _, there := spots[f.Pointer]; !there && f.Rule == "required" {
			at.member = at.def + "." + path.Base(f.Pointer)
		}
		c["something invalid of "+at.def] = c["something invalid of "+at.def] || f.Level == validate.Error
		switch f.Rule {
		case "required", "empty", "type", "range", "pattern", "base64":
			c[f.Rule+": "+at.member] = true
		default:
			c[f.Rule+": "+at.def] = true
		}
	}
}

// walk goes along the schema. Values that are not of their kind are left alone.
func (c coverage) walk(f *form, at spot, v any, pointer string, valid bool, spots map[string]spot) {
	if f.Ref != "" {
		at.def = f.def()
		f = forms[at.def]
	}
	spots[pointer] = at
	if valid {
		c["something valid of "+at.def] = true
		c["valid: "+at.member] = true
	}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			to := pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
			if f.Values != nil {
				c.walk(f.Values, spot{at.def, at.member + "[]"}, inner, to, valid, spots)
			}
			for member, p := range f.Properties {
				if (member == name || p.Proto == name) && (inner != nil || p.def() == "Value") {
					c.walk(p, spot{at.def, at.def + "." + member}, inner, to, valid, spots)
				}
			}
		}
	case []any:
		for i, inner := range v {
			if f.Items != nil {
				c.walk(f.Items, spot{at.def, at.member + "[]"}, inner, pointer+"/"+strconv.Itoa(i), valid, spots)
			}
		}
	case string:
		if valid && f.Enum != nil {
			c["valid: "+v] = true
		}
	}
}

// needed is what a schema says has to be tried.
func needed() (all []string) {
	for def, f := range forms {
		all = append(all, "something valid of "+def, "something invalid of "+def)
		for _, name := range f.Enum {
			all = append(all, "valid: "+name)
		}
		if f.Enum != nil {
			all = append(all, "enum: "+def, "enum.unspecified: "+def, "enum.undefined: "+def, "enum.number: "+def)
		}
		for name, p := range f.Properties {
			member := def + "." + name
			all = append(all, "valid: "+member)
			for _, inner := range []*form{p.Items, p.Values} {
				if inner != nil {
					all = append(all, "valid: "+member+"[]", "type: "+member+"[]")
				}
			}
			for need, is := range map[string]bool{
				"required": slices.Contains(f.Required, name), "empty": p.MinLength+p.MinItems > 0, "type": p.def() != "Value",
				"range": p.Minimum != nil, "pattern": p.Pattern != "" && p.Encoding == "", "base64": p.Encoding == "base64",
			} {
				if is {
					all = append(all, need+": "+member)
				}
			}
		}
		if f.OneOf != nil { // its arms are members, and one that is valid is alone
			all = append(all, "oneof.none: "+def, "oneof.many: "+def)
		}
	}
	all = append(all, "timestamp: Timestamp", "timestamp.offset: Timestamp", "duplicate: Struct", "duplicate: Value")
	for _, def := range validate.Types() {
		all = append(all, "a document of type "+def+" that is valid", "a document of type "+def+" that is invalid")
	}
	for _, o := range op.Table {
		all = append(all, "JSON-RPC request: "+o.Name+", valid", "JSON-RPC request: "+o.Name+", invalid")
		if o.Response != "Empty" {
			all = append(all, "JSON-RPC response: "+o.Response+", valid")
		}
	}
	for _, e := range a2a.ErrorTypes {
		if e.Domain == "a2a-protocol.org" {
			all = append(all, "JSON-RPC error "+e.Reason, "HTTPError "+e.Reason)
		}
	}
	for _, r := range validate.Rules {
		all = append(all, "rule "+r.ID)
	}
	return append(all, "sse valid", "sse invalid", "yaml valid", "yaml invalid", "jsonl valid", "jsonl invalid")
}

// Every definition of the schema stands in the corpus, valid and invalid, and so do all members,
// all arms of each oneof, none of them and two of them, all enum values and wrong ones, every
// required member left out, every operation and error of the protocol, and every rule.
func TestPayloadsCoverTheProtocol(t *testing.T) {
	c := coverage{}
	for _, p := range loadPayloads(t) {
		got, err := p.results(p.options)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got {
			verdict := map[bool]string{true: "valid", false: "invalid"}[r.Valid]
			c[r.Type+", "+verdict] = true
			for _, f := range r.Findings {
				c["rule "+f.Rule] = true
			}
			for _, e := range a2a.ErrorTypes {
				if r.Valid && strings.Contains(p.text, `"`+e.Reason+`"`) {
					c[r.Type+" "+e.Reason] = true
				}
			}
		}
		c[strings.TrimPrefix(path.Ext(p.name), ".")+" "+map[bool]string{true: "valid", false: "invalid"}[p.valid]] = true
		for _, x := range p.pieces(t, got) {
			c.see(x)
		}
	}
	list := needed()
	slices.Sort(list)
	for _, need := range list {
		if !c[need] {
			t.Errorf("not in the corpus: %s", need)
		}
	}
	if t.Logf("%d things to cover", len(list)); len(list) < 700 {
		t.Errorf("only %d things to cover: is the schema read?", len(list))
	}
	if unlisted := slices.DeleteFunc(slices.Sorted(maps.Keys(c)), func(k string) bool {
		return !strings.HasPrefix(k, "rule ") || slices.Contains(list, k)
	}); len(unlisted) > 0 {
		t.Errorf("not in the table of rules: %v", unlisted)
	}
}
