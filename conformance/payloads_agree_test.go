package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"a2aserve/impl/validate"

	_ "github.com/a2aproject/a2a-go/v2/a2apb/v1" // registers the protocol's messages
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// differences are the rules by which a document is invalid that a ProtoJSON reader takes, with
// what the reader makes of it.
var differences = map[string]string{
	"required":         "proto3 knows no required members: the member has its default",
	"empty":            "to proto3 an empty string or list is an absent one",
	"oneof.none":       "to proto3 a oneof may be unset",
	"enum.unspecified": "to proto3 the value 0 is one like the others",
	"enum.undefined":   "proto3's enums are open: the number is kept",
	"range":            "the descriptor has no bounds",
	"pattern":          "the descriptor has no patterns",
	"timestamp.offset": "readers take all offsets of RFC 3339",
	"list.order":       "readers do not compare members",

	"name.snake":   "readers take both spellings, writers write camelCase",
	"enum.number":  "readers take numbers, writers write names",
	"integer.form": "readers take strings, fractions of zero and exponents, writers write digits",
	"base64.form":  "readers take base64url, no padding and some line breaks, writers write the standard form",
	"null":         "readers take null for an absent member, writers leave it out",
	"null.array":   "readers take null for an absent member, writers write arrays",

	// Go's reader skips an enum's unknown names, too, where it is told to skip members.
	"enum": "readers that are told to skip what they do not know",

	"unknown":   "readers that are told to skip what they do not know",
	"name.case": "readers that are told to skip what they do not know",
	"v03":       "readers that are told to skip what they do not know",
	"v03.card":  "readers that are told to skip what they do not know",
}

// kept are the warnings about documents that are valid although a ProtoJSON reader refuses them.
var kept = map[string]string{
	"number": "free-form numbers keep their text, also where it does not fit into a double, which is all that google.protobuf.Value has",
}

// foreignTypes are not messages of the protocol: the bindings define them.
var foreignTypes = []string{"Empty", "ErrorDetail", "HTTPError", "JSONRPCError", "Status"}

// agreement is what the comparison with ProtoJSON has come to.
type agreement struct {
	rules            map[string]validate.Rule
	compared, agreed int
	explained        map[string][]string // by rule
}

// Validity is that of ProtoJSON's reader for the same document, except where the table of rules
// says otherwise. Each disagreement has its rule, each rule of the list above its disagreement.
func TestPayloadsAgreeWithProtoJSON(t *testing.T) {
	a := &agreement{rules: map[string]validate.Rule{}, explained: map[string][]string{}}
	for _, r := range validate.Rules {
		a.rules[r.ID] = r
	}
	for _, p := range loadPayloads(t) {
		got, err := p.results(p.options)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range p.pieces(t, got) {
			message, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName("lf.a2a.v1." + x.def))
			switch {
			case err == nil:
				a.compare(t, p, i, x, message, false)
				a.compare(t, p, i, x, message, true)
			case !slices.Contains(foreignTypes, x.def):
				t.Errorf("%s: %v", p.name, err)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.explained)) {
		t.Logf("%3d disagreements by %-16s (%s), such as %s", len(a.explained[id]), id, differences[id]+kept[id], a.explained[id][0])
	}
	for id := range differences {
		// What only strict validation refuses is refused by a strict reader, too.
		if len(a.explained[id]) == 0 && !(skipped(id) && a.rules[id].Server != validate.Error) {
			t.Errorf("no document is invalid because of %s alone and read by ProtoJSON", id)
		}
	}
	for id := range kept {
		if len(a.explained[id]) == 0 {
			t.Errorf("no document is valid with a warning about %s and refused by ProtoJSON", id)
		}
	}
	if t.Logf("%d comparisons, %d agreements", a.compared, a.agreed); a.compared < 600 || a.agreed < 300 {
		t.Errorf("%d comparisons, %d agreements: is the corpus read?", a.compared, a.agreed)
	}
}

// compare holds a document against a reader, one that skips what it does not know or a strict one.
func (a *agreement) compare(t *testing.T, p *payload, i int, x piece, message protoreflect.MessageType, strict bool) {
	t.Helper()
	v, err := validate.New(validate.Options{Type: x.def, From: x.from, Strict: strict})
	if err != nil {
		t.Fatal(err)
	}
	r := v.Document(x.text)
	read := protojson.UnmarshalOptions{DiscardUnknown: !strict}.Unmarshal(x.text, message.New().Interface())
	refused := func(id string) bool {
		if skipped(id) {
			return strict
		}
		return a.rules[id].Reader
	}
	where := fmt.Sprintf("%s/%s, document %d, strict %v", p.file, p.name, i+1, strict)
	if a.compared++; r.Valid == (read == nil) {
		a.agreed++
	}
	warned := slices.IndexFunc(r.Findings, func(x validate.Finding) bool { return kept[x.Rule] != "" && a.rules[x.Rule].Reader })
	switch causes := breaches(r); {
	case r.Valid && (read == nil) == (warned >= 0): // the warning says that a reader refuses it
		t.Errorf("%s is valid with %v, but ProtoJSON says %v: %s", where, r.Findings, read, x.text)
	case r.Valid && read != nil:
		id := r.Findings[warned].Rule
		a.explained[id] = append(a.explained[id], where)
	case read != nil && !slices.ContainsFunc(causes, refused):
		t.Errorf("%s is invalid because of %v, which readers take, but ProtoJSON says %v: %s", where, causes, read, x.text)
	case !r.Valid && read == nil:
		for _, id := range causes {
			if refused(id) || differences[id] == "" {
				t.Errorf("%s is invalid because of %s, but ProtoJSON reads it: %s", where, id, x.text)
			}
			a.explained[id] = append(a.explained[id], where)
		}
	}
}

// skipped tells rules about members that a reader knows nothing of.
func skipped(id string) bool {
	return strings.HasPrefix(differences[id], "readers that are told to skip")
}

// breaches are the rules that make a document invalid.
func breaches(r validate.Result) (ids []string) {
	for _, x := range r.Findings {
		if x.Level == validate.Error && !slices.Contains(ids, x.Rule) {
			ids = append(ids, x.Rule)
		}
	}
	return ids
}
