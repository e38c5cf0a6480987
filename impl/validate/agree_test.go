package validate

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"a2aserve/impl/decode"

	_ "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// sample makes a valid value of n, with all members for as long as depth allows.
func sample(n *node, depth int) any {
	switch n.kind {
	case kindObject:
		o := object{}
		for _, name := range slices.Sorted(maps.Keys(n.members)) {
			m := n.members[name]
			switch {
			case m.name != name, len(n.oneof) > 0 && slices.Contains(n.oneof, name) && slices.ContainsFunc(n.oneof, func(x string) bool { return o[x] != nil }):
			case depth > 0 || slices.Contains(n.required, name) || slices.Contains(n.oneof, name):
				o[name] = sample(m.node, depth-1)
			}
		}
		return o
	case kindMap:
		return object{"key": sample(n.elem, depth-1)}
	case kindArray:
		return []any{sample(n.elem, depth-1)}
	case kindEnum:
		return n.enum[0]
	case kindBytes:
		return "AAEC"
	case kindTime:
		return "2026-01-02T03:04:05.678Z"
	case kindInt:
		return 7
	case kindBool:
		return true
	case kindString:
		if n.pattern != nil {
			return "header"
		}
		return "text"
	}
	return object{"a": 1}
}

// others are what takes the place of each value in turn.
var others = []string{`null`, `""`, `"text"`, `"ROLE_USER"`, `"TASK_STATE_WORKING"`, `"TASK_STATE_UNSPECIFIED"`, `"completed"`, `0`, `1`, `7`, `99`, `-1`, `1.0`, `1e1`,
	`1.5`, `3000000000`, `"5"`, `"5.0"`, `" 5"`, `true`, `"true"`, `[]`, `[null]`, `["a"]`, `{}`, `{"a":null}`, `"AA"`, `"A-_="`, `"A+_="`, `"A*"`, `"AAEC\n"`, `"A"`, `"AA="`, `"="`, `"-+-_"`, `"AAE=\n"`,
	`"AA\nEC"`,
	`"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05+00:00"`, `"2026-01-02T03:04:05.1234567890Z"`, `"2026-01-02T03:04:05,5Z"`, `"2026-01-02 03:04:05Z"`, `"2026-13-02T03:04:05Z"`, `"0000-01-01T00:00:00Z"`}

// variants are the sample of a definition with one thing changed, down to some levels.
func variants(v any, levels int, give func(any)) {
	if levels < 0 {
		return
	}
	switch v := v.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			old := v[name]
			replace(old, levels, func(x any) { v[name] = x; give(nil) })
			delete(v, name)
			give(nil)
			snake := strings.ToLower(strings.NewReplacer("Id", "_id", "Type", "_type", "Url", "_url", "Modes", "_modes", "Update", "_update").Replace(name))
			for _, other := range []string{"futureMember", "kind", snake, strings.ToUpper(name)} {
				v[other] = old
				give(nil)
				if other != name {
					delete(v, other)
				}
			}
			v[name] = old
		}
	case []any:
		for i, old := range v {
			replace(old, levels, func(x any) { v[i] = x; give(nil) })
			v[i] = old
		}
	}
}

func replace(old any, levels int, set func(any)) {
	for _, text := range others {
		var x any
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			panic(err)
		}
		if f, ok := x.(float64); ok && strings.ContainsAny(text, ".e") && f == float64(int(f)) {
			x = raw(text)
		}
		set(x)
	}
	set(old)
	variants(old, levels-1, func(any) { set(old) })
}

// raw keeps a number as it is written.
type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// everyVariant calls f with the variants of all definitions of the schema.
func everyVariant(t *testing.T, f func(t *testing.T, def string, doc []byte)) {
	for _, def := range Types() {
		if messageType(def) == nil {
			continue
		}
		t.Run(def, func(t *testing.T) {
			v := sample(definitions[def], 2)
			give := func(any) {
				doc, err := json.Marshal(v, json.Deterministic(true))
				if err != nil {
					t.Fatal(err)
				}
				f(t, def, doc)
			}
			give(nil)
			variants(v, 1, give)
			for _, arm := range definitions[def].oneof { // the sample has the first only
				o := sample(definitions[def], 1).(object)
				for _, other := range definitions[def].oneof {
					delete(o, other)
				}
				o[arm] = sample(definitions[def].members[arm].node, 0)
				v = o
				replace(o[arm], 1, func(x any) { o[arm] = x; give(nil) })
			}
		})
	}
}

func messageType(def string) protoreflect.MessageType {
	m, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName("lf.a2a.v1." + def))
	if err != nil {
		return nil
	}
	return m
}

// What is valid from a client is just what the server reads, and the other way round.
func TestValidityIsWhatTheServerReads(t *testing.T) {
	n := 0
	everyVariant(t, func(t *testing.T, def string, doc []byte) {
		n++
		v, err := New(Options{Type: def, From: Client})
		if err != nil {
			t.Fatal(err)
		}
		r, bad := v.Document(doc), decode.Validate(def, doc)
		if r.Valid != (len(bad) == 0) && !nullInMap(r) {
			t.Errorf("%s: valid %v, but reading says %v; found %v", doc, r.Valid, bad, r.Findings)
		}
	})
	if t.Logf("%d documents", n); n < 5000 {
		t.Errorf("only %d documents were tried", n)
	}
}

// nullInMap is the one difference: reading takes a null in a map for an absence, where
// ProtoJSON has no rule and its readers refuse it.
func nullInMap(r Result) bool {
	return slices.ContainsFunc(r.Findings, func(x Finding) bool { return x.Rule == "type" && strings.HasSuffix(x.Expected, "not null") })
}

// Validity is that of ProtoJSON's readers, but for the rules that say otherwise in the table.
func TestValidityIsThatOfProtoJSON(t *testing.T) {
	unknown := []string{"unknown", "name.case", "v03", "v03.card"} // ProtoJSON refuses what it does not know, unless told otherwise
	everyVariant(t, func(t *testing.T, def string, doc []byte) {
		v, err := New(Options{Type: def, Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		refused := slices.ContainsFunc(v.Document(doc).Findings, func(x Finding) bool {
			return ruleByID[x.Rule].Reader || slices.Contains(unknown, x.Rule)
		})
		err = protojson.Unmarshal(doc, proto.Message(messageType(def).New().Interface()))
		if bytes.Contains(doc, []byte("05,5Z")) {
			return // a comma is Go's own reading of fractions; ProtoJSON has a point
		}
		if refused != (err != nil) {
			t.Errorf("%s: refused %v, but ProtoJSON says %v; found %v", doc, refused, err, v.Document(doc).Findings)
		}
	})
}

// Every rule has a level somewhere, a text and a section, and every definition a section.
func TestTablesAreComplete(t *testing.T) {
	for _, r := range Rules {
		if r.Text == "" || r.Strict == Off || len(Rules) != len(ruleByID) {
			t.Errorf("rule %+v", r)
		}
	}
	for name := range definitions {
		if sections[name] == "" {
			t.Errorf("no section about %s", name)
		}
	}
	for name := range sections {
		if definitions[name] == nil {
			t.Errorf("a section about %s, which is no definition", name)
		}
	}
	for _, table := range []map[string]string{leftovers, oldCard, missing, memberSections} {
		for name := range table {
			def, member, _ := strings.Cut(name, ".")
			if def != "*" && definitions[def] == nil {
				t.Errorf("a hint about %s, which is no definition", def)
			}
			if _, has := definitions[def]; has && (definitions[def].members[member] != nil) != (fmt.Sprintf("%p", table) != fmt.Sprintf("%p", leftovers) && fmt.Sprintf("%p", table) != fmt.Sprintf("%p", oldCard)) {
				t.Errorf("a hint about %s, out of date", name)
			}
		}
	}
}

// A sample of each definition is valid and, if it has members enough, recognised.
func TestEverySampleIsValid(t *testing.T) {
	for _, def := range Types() {
		doc, err := json.Marshal(sample(definitions[def], 4), json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		v, err := New(Options{Type: def, Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		if r := v.Document(doc); !r.Valid {
			t.Errorf("%s: %s: %v", def, doc, r.Findings)
		}
	}
}

// FuzzDocument looks for text that reading and validation judge differently, or that ends
// either of them.
func FuzzDocument(f *testing.F) {
	defs := slices.DeleteFunc(Types(), func(def string) bool { return messageType(def) == nil })
	for i, def := range defs {
		doc, _ := json.Marshal(sample(definitions[def], 2))
		f.Add(uint8(i), doc)
	}
	f.Add(uint8(slices.Index(defs, "Message")), []byte(`{"messageId":"m","role":1,"parts":[{"data":{"a":1,"a":2}}],"task_id":"t","taskId":null}`))
	f.Fuzz(func(t *testing.T, i uint8, doc []byte) {
		def := defs[int(i)%len(defs)]
		v, err := New(Options{Type: def, From: Client})
		if err != nil {
			t.Fatal(err)
		}
		if sketch(doc).rpc() {
			return
		}
		r, bad := v.Document(doc), decode.Validate(def, doc)
		if r.Valid != (len(bad) == 0) && !nullInMap(r) && len(bytes.TrimSpace(doc)) > 0 {
			t.Errorf("%s: valid %v, but reading says %v; found %v", doc, r.Valid, bad, r.Findings)
		}
		for _, x := range r.Findings {
			if x.Line < 1 || x.Column < 1 {
				t.Errorf("%s: %+v has no place", doc, x)
			}
		}
	})
}

// FuzzFile looks for input that the splitting into documents does not survive.
func FuzzFile(f *testing.F) {
	for _, text := range []string{`[{"id":"t"},1,]`, "{}\n{}\n", "data: {}\n\n", "HTTP/1.1 200\r\n\r\n[", "a: &a [*a]\n---\nb: {c: !!str 1}", `{"jsonrpc":"2.0","id":1,"error":{}}`} {
		f.Add(text, "", false)
	}
	f.Fuzz(func(t *testing.T, text, name string, stream bool) {
		v, err := New(Options{Stream: stream, MaxDocument: 1000})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for r, err := range v.File(name, strings.NewReader(text)) {
			if n++; n > 2*len(text)+3 {
				t.Fatalf("%q: more results than bytes", text)
			}
			if err == nil && (r.Line < 1 || r.Column < 1 || r.Line > strings.Count(text, "\n")+strings.Count(text, "\r")+1) {
				t.Errorf("%q: %+v has no place", text, r)
			}
		}
	})
}
