package validate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"a2aserve/impl/decode"

	"github.com/go-json-experiment/json/jsontext"
)

// walker holds one document against a node, in one pass over its text.
type walker struct {
	text   []byte
	in     *jsontext.Decoder
	path   []byte // JSON pointer of the value being read
	from   Sender
	report func(p problem)
	data   *node // what readers keep the value in, where that is free data; else nil
}

// problem is a finding before its place and level are known.
type problem struct {
	rule     string
	offset   int // in the document's text
	pointer  string
	expected string
	section  string // "": the rule's own
	hint     string
}

func newWalker(text []byte, from Sender, report func(problem)) *walker {
	// Duplicates are looked for here and not by the parser: it knows nothing of second spellings.
	in := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	return &walker{text: text, in: in, from: from, report: report}
}

// fail reports a breach of a rule by what begins at offset.
func (w *walker) fail(rule string, offset int, section, format string, args ...any) {
	w.report(problem{rule: rule, offset: offset, pointer: string(w.path), section: section, expected: fmt.Sprintf(format, args...)})
}

// syntax reports text that is not JSON: after it nothing can be said.
func (w *walker) syntax(err error) {
	at, text := int(w.in.InputOffset()), "JSON"
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = int(e.ByteOffset)
		text += ": " + e.Err.Error()
	}
	w.report(problem{rule: "json", offset: min(at, len(w.text)), expected: text})
}

// start is where the next value begins.
func (w *walker) start() int {
	i := int(w.in.InputOffset())
	for i < len(w.text) && strings.IndexByte(" \t\r\n,:", w.text[i]) >= 0 {
		i++
	}
	return i
}

// document reads the one value of the text.
func (w *walker) document(n *node) {
	if depth := decode.Nesting(w.text); depth > decode.ParserDepth {
		w.report(problem{rule: "json", expected: fmt.Sprintf("at most %d levels of nesting", decode.ParserDepth)})
		return
	} else if depth > decode.DefaultDepth {
		w.report(problem{rule: "depth", expected: fmt.Sprintf("at most %d levels of nesting", decode.DefaultDepth)})
	}
	err := w.value(n, n.section())
	if err == io.EOF { // inside a value the end is an unexpected one
		w.report(problem{rule: "json", offset: len(w.text), expected: "a JSON value; there is none"})
		return
	}
	if err == nil {
		at := w.start()
		if _, err = w.in.ReadToken(); err == nil {
			w.report(problem{rule: "json", offset: at, expected: "one value, and nothing after it"})
			return
		}
	}
	if err != io.EOF {
		w.syntax(err)
	}
}

// section is the one about what n is part of. An envelope's is that of JSON-RPC.
func (n *node) section() string { return cmp.Or(sections[n.def], "9.3") }

// value reads one value and holds it against n. Its error is the parser's.
func (w *walker) value(n *node, section string) error {
	at, k := w.start(), w.in.PeekKind()
	switch {
	case n.kind == kindAny, n.kind == kindStruct && k == '{':
		return w.free(n)
	case n.kind == kindMap && k == '{', n.kind == kindObject && k == '{':
		return w.object(n, at)
	case n.kind == kindArray && k == '[':
		return w.array(n, section, at)
	case k == '{', k == '[':
		w.mismatch(n, k, at, section)
		return w.free(nil)
	}
	t, err := w.in.ReadToken()
	if err == nil {
		w.scalar(n, t, at, section)
	}
	return err
}

// mismatch reports a value of the wrong kind.
func (w *walker) mismatch(n *node, k jsontext.Kind, at int, section string) {
	w.report(problem{rule: "type", offset: at, pointer: string(w.path), section: section,
		expected: wanted[n.kind] + ", not " + kindNames[k], hint: mismatchHint(n, k)})
}

// wanted and kindNames are kinds as a sentence has them.
var wanted = map[kind]string{
	kindStruct: "an object", kindObject: "an object", kindMap: "an object", kindArray: "an array", kindEnum: "a string",
	kindBytes: "a string in base64", kindTime: "a string with a time", kindInt: "a whole number of 32 bits", kindBool: "true or false",
	kindString: "a string", kindID: "a string, a whole number or null",
}

var kindNames = map[jsontext.Kind]string{'{': "an object", '[': "an array", '"': "a string", '0': "a number", 't': "true", 'f': "false", 'n': "null"}

// object reads the members. A null is an absence (ProtoJSON), except for a Value, of which
// it is a value (A2A §4.1.6).
func (w *walker) object(n *node, at int) error {
	if _, err := w.in.ReadToken(); err != nil {
		return err
	}
	seen, set, nulls := map[string]bool{}, map[string]bool{}, map[string]int{}
	length := len(w.path)
	for w.in.PeekKind() != '}' {
		place := w.start()
		t, err := w.in.ReadToken()
		if err != nil {
			return err
		}
		name := t.String()
		w.path = appendStep(w.path[:length], name)
		m := n.member(name)
		key := name
		if m != nil {
			key = m.name
		}
		switch twice := seen[key]; {
		case twice:
			w.fail("duplicate", place, "", "one %q: it is there already", key)
			err = w.free(nil)
		case m == nil && n.open:
			err = w.free(nil)
		case m == nil:
			w.unknown(n, name, place)
			err = w.free(nil)
		case w.in.PeekKind() == 'n' && m.null:
			err = w.free(nil)
		case w.in.PeekKind() == 'n' && m.kind != kindAny && m.kind != kindID && n.kind != kindMap:
			nulls[key] = place
			err = w.free(nil)
		default:
			if m.name != name {
				w.fail("name.snake", place, "", "%q", m.name)
			}
			set[key] = true
			err = w.value(m.node, m.section)
		}
		seen[key] = true
		if err != nil {
			return err
		}
	}
	w.path = w.path[:length]
	if _, err := w.in.ReadToken(); err != nil {
		return err
	}
	w.complete(n, at, set, nulls)
	return nil
}

// member is the member of that name, or nil. In a map each name is one.
func (n *node) member(name string) *member {
	if n.kind == kindMap {
		return &member{name: name, section: n.elem.section(), node: n.elem}
	}
	return n.members[name]
}

// complete reports what an object lacks, and what it has too much of.
func (w *walker) complete(n *node, at int, set map[string]bool, nulls map[string]int) {
	length := len(w.path)
	for _, name := range n.required {
		if set[name] {
			continue
		}
		p := problem{rule: "required", offset: at, pointer: string(appendStep(w.path[:length], name)), expected: strconv.Quote(name) + " of " + n.def}
		if place, null := nulls[name]; null {
			p.offset, p.hint = place, nullHint(n.members[name])
			delete(nulls, name)
		}
		if p.hint == "" {
			p.hint = missingHint(n.def, name)
		}
		w.report(p)
	}
	for name, place := range nulls {
		rule := "null"
		if k := n.members[name].kind; k == kindArray || k == kindMap {
			rule = "null.array"
		}
		w.report(problem{rule: rule, offset: place, pointer: string(appendStep(w.path[:length], name)),
			expected: "no null for " + strconv.Quote(name), hint: nullHint(n.members[name])})
	}
	w.path = w.path[:length]
	if n.oneof == nil {
		return
	}
	got := slices.DeleteFunc(slices.Clone(n.oneof), func(name string) bool { return !set[name] })
	switch {
	case len(got) == 0:
		w.report(problem{rule: "oneof.none", offset: at, pointer: string(w.path), section: n.section(),
			expected: "one of " + strings.Join(n.oneof, ", "), hint: oneofHint(n.def)})
	case len(got) > 1:
		w.fail("oneof.many", at, n.section(), "only one of %s, not %s", strings.Join(n.oneof, ", "), strings.Join(got, " and "))
	}
}

// array reads the elements. A null among them is none: it is of the wrong kind.
func (w *walker) array(n *node, section string, at int) error {
	if _, err := w.in.ReadToken(); err != nil {
		return err
	}
	length, i := len(w.path), 0
	inner := section
	if n.elem.kind != kindString { // a list of strings belongs to the definition that has it
		inner = n.elem.section()
	}
	for ; w.in.PeekKind() != ']'; i++ {
		w.path = strconv.AppendInt(append(w.path[:length], '/'), int64(i), 10)
		if err := w.value(n.elem, inner); err != nil {
			return err
		}
	}
	w.path = w.path[:length]
	if i == 0 && n.nonEmpty {
		w.fail("empty", at, "", "at least one element")
	}
	_, err := w.in.ReadToken()
	return err
}

// free reads a value that nothing is said about. Duplicates are wrong there too, since two
// readers might see different things. n is the Struct or Value that it is; nil if it is
// skipped by readers.
func (w *walker) free(n *node) error {
	at := w.start()
	v, err := w.in.ReadValue()
	if n != nil && n.def == "" { // nothing is known of its readers
		n = nil
	}
	if err != nil || v.IsValid() && (n == nil || !anyBeyond(v)) {
		return err
	}
	// The parser has accepted it, so a name is there twice, or a number is too big.
	inner := newWalker(v, w.from, func(p problem) {
		p.offset, p.pointer = p.offset+at, string(w.path)+p.pointer
		w.report(p)
	})
	inner.data = n
	return inner.anything()
}

// anything reads one value only to find duplicates in it, and numbers that get lost.
func (w *walker) anything() error {
	at := w.start()
	t, err := w.in.ReadToken()
	if err != nil {
		return err
	}
	length := len(w.path)
	switch t.Kind() {
	case '{':
		seen := map[string]bool{}
		for w.in.PeekKind() != '}' && err == nil {
			at := w.start()
			if t, err = w.in.ReadToken(); err != nil {
				return err
			}
			name := t.String()
			w.path = appendStep(w.path[:length], name)
			if seen[name] {
				w.fail("duplicate", at, "", "one %q: it is there already", name)
			}
			seen[name] = true
			err = w.anything()
		}
	case '[':
		for i := 0; w.in.PeekKind() != ']' && err == nil; i++ {
			w.path = strconv.AppendInt(append(w.path[:length], '/'), int64(i), 10)
			err = w.anything()
		}
	case '0':
		if w.data != nil && beyond(t.String()) {
			w.fail("number", at, w.data.section(), "a number that a double holds, up to about 1.8e308")
		}
		return nil
	default:
		return nil
	}
	w.path = w.path[:length]
	if err == nil {
		_, err = w.in.ReadToken()
	}
	return err
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// appendStep extends a JSON pointer by a name.
func appendStep(path []byte, name string) []byte {
	return append(append(path, '/'), escape.Replace(name)...)
}
