// Package decode turns bytes into a checked, typed value: the one way in for both
// bindings, and the check behind the card and the command line.
//
// It reads as ProtoJSON readers do (either spelling of a name, enum numbers, base64url,
// 1.0 for 1, "5" for 5, null for absent), ignores unknown members (A2A §5.7) and
// refuses duplicate ones wherever they stand. All violations are reported at once.
package decode

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// DefaultDepth bounds the nesting of a document where nothing else is said.
	DefaultDepth = 256
	// MaxViolations bounds what one answer reports.
	MaxViolations = 100
	// MaxElements bounds an array of the schema, so that a small body cannot
	// cause a large validation. Free-form values have no such bound.
	MaxElements = 10_000
)

// Input is what there is to decode.
type Input struct {
	Def   string            // definition of the schema
	JSON  []byte            // empty: no members
	Fixed map[string]string // members that the URL has said already; the document must agree
	Found []a2a.Violation   // what the caller has found wrong so far
	Depth int               // nesting limit; 0 means DefaultDepth

	// Check, if set, sees the members under their canonical names before they are
	// validated. Its violations are added to the others; its error ends the decoding.
	Check func(members map[string]any) ([]a2a.Violation, error)
}

// Decode reads in.JSON into the value that into points to. The error is a JSONParseError
// for bytes that are not JSON, an InvalidParamsError with the violations, or Check's.
func Decode(in Input, into any) error {
	canon, bad, err := in.canonical()
	if err != nil {
		return err
	}
	if bad = tidy(bad); len(bad) > 0 {
		return Invalid(bad)
	}
	// Duplicates have been looked for; looking again costs as much as all the rest.
	if err := json.Unmarshal(canon, into, jsontext.AllowDuplicateNames(true)); err != nil {
		// Validation lets nothing through that the types refuse; should it do so
		// all the same, say where and keep the names of types to ourselves.
		where := ""
		if se, ok := errors.AsType[*json.SemanticError](err); ok {
			where = fieldOf(string(se.JSONPointer))
		}
		return Invalid([]a2a.Violation{{Field: where, Description: "cannot be read"}}).Because(err)
	}
	return nil
}

// Canonical returns the document that Decode would unmarshal: canonical names, no nulls, no
// unknown members. Whoever stores or compares documents wants them in one spelling. Its
// errors are Decode's.
func Canonical(in Input) ([]byte, error) {
	canon, bad, err := in.canonical()
	if err == nil {
		if bad = tidy(bad); len(bad) > 0 {
			return nil, Invalid(bad)
		}
	}
	return canon, err
}

// Validate reports what is wrong with a document of the definition def, and nothing if it
// is valid. A document that is not JSON has one violation without a field.
func Validate(def string, doc []byte) []a2a.Violation {
	_, err := Canonical(Input{Def: def, JSON: doc})
	e, ok := errors.AsType[*a2a.Error](err)
	switch {
	case err == nil:
		return nil
	case ok && len(e.Violations) > 0:
		return e.Violations
	default:
		return []a2a.Violation{{Description: e.Text()}}
	}
}

// Invalid makes the error of parameters that break a rule. The message names the first
// violation, for clients that show nothing but the message; bad must not be empty.
func Invalid(bad []a2a.Violation) *a2a.Error {
	first := strings.TrimSpace(bad[0].Field + " " + bad[0].Description)
	if n := len(bad) - 1; n > 0 {
		first = fmt.Sprintf("%s (and %d more)", first, n)
	}
	e := a2a.InvalidParamsError.Errorf("%s: %s", a2a.InvalidParamsError.Message, first)
	e.Violations = bad
	return e
}

// canonical reads, merges, checks and validates, in this order: the check must see what the
// URL says too, and a refusal of the whole request comes before complaints about details.
func (in Input) canonical() ([]byte, []a2a.Violation, error) {
	bad := slices.Clone(in.Found)
	tree, canon, more, err := in.read()
	if err != nil || canon == nil {
		return nil, append(bad, more...), err
	}
	bad = append(bad, more...)
	if members, ok := tree.(object); ok {
		canon, more = merge(canon, members, in.Fixed)
		bad = append(bad, more...)
		if in.Check != nil {
			more, err := in.Check(members)
			if err != nil {
				return nil, nil, err
			}
			bad = append(bad, more...)
		}
	}
	return canon, append(bad, validate(in.Def, tree)...), nil
}

// read makes of the document the tree that is validated and the text that is unmarshalled.
// There is no text where the document is too deep to be read.
func (in Input) read() (tree any, canon []byte, bad []a2a.Violation, err error) {
	doc, s := in.JSON, shapes[in.Def]
	if len(doc) == 0 {
		if s.kind == kindObject { // the URL says all: there is nothing to read
			return object{}, []byte("{}"), nil, nil
		}
		doc = []byte("{}")
	}
	depth := cmp.Or(in.Depth, DefaultDepth)
	// Measured beforehand, so that the common, flat document costs one quick scan and
	// only a deep one is measured again, place by place, to name the field.
	deep := Nesting(doc) > depth
	if deep && Nesting(doc) > ParserDepth {
		return nil, nil, []a2a.Violation{{Description: tooDeep(depth)}}, nil
	}
	r := newReader(doc, depth, deep)
	if tree, err = r.document(s); err != nil {
		return nil, nil, nil, err
	}
	return tree, r.canonical(), r.bad, nil
}

// merge adds what the URL has said to the members. A document that contradicts it is
// refused, since a proxy may have judged the request by its path (A2A §11.3).
func merge(canon []byte, members object, fixed map[string]string) ([]byte, []a2a.Violation) {
	var bad []a2a.Violation
	names := slices.AppendSeq(make([]string, 0, 4), maps.Keys(fixed))
	slices.Sort(names)
	for _, name := range names {
		// The same value twice is harmless, and clients that always fill in the id exist.
		value := fixed[name]
		if old, said := members[name]; said {
			if old != value {
				bad = append(bad, a2a.Violation{Field: name, Description: "differs from the path"})
			}
			continue
		}
		text, err := jsontext.AppendQuote(nil, value)
		if err != nil {
			bad = append(bad, a2a.Violation{Field: name, Description: "must be UTF-8"})
			value, text = "?", []byte(`"?"`)
		}
		canon = canon[:len(canon)-1]
		if len(members) > 0 {
			canon = append(canon, ',')
		}
		canon = append(append(append(append(canon, '"'), name...), `":`...), text...)
		canon = append(canon, '}')
		members[name] = value
	}
	return canon, bad
}

// tidy sorts the violations, drops repeated ones and caps their number: a body of bad parts
// would otherwise be answered with ten times its size.
func tidy(bad []a2a.Violation) []a2a.Violation {
	slices.SortStableFunc(bad, func(a, b a2a.Violation) int {
		if c := comparePaths(a.Field, b.Field); c != 0 {
			return c
		}
		return strings.Compare(a.Description, b.Description)
	})
	bad = slices.Compact(bad)
	return bad[:min(len(bad), MaxViolations)]
}

// comparePaths orders parts[2] before parts[10]: a person reads the list from the top, and
// the validator's own order changes from run to run.
func comparePaths(a, b string) int {
	for {
		i := 0
		for i < len(a) && i < len(b) && a[i] == b[i] && a[i] != '[' {
			i++
		}
		if i == len(a) || i == len(b) || a[i] != '[' || b[i] != '[' {
			return strings.Compare(a[i:], b[i:])
		}
		a, b = a[i+1:], b[i+1:]
		if m, n := strings.IndexByte(a, ']'), strings.IndexByte(b, ']'); m != n {
			return m - n
		}
	}
}
