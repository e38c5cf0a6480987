package decode

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ParserDepth keeps us below the nesting at which the parser itself gives up. No limit
// may be set above it.
const ParserDepth = 9_000

// How much of a client's member names a violation repeats, in bytes: of one, and in all.
const (
	maxNameInPath = 100
	maxPath       = 500
)

// free reads a value that the schema says nothing about: a Struct, a Value, an unknown
// member. Duplicates are refused there too, since two readers of one request might
// see different things.
func (r *reader) free(copied bool) error {
	v, err := r.in.ReadValue()
	if err != nil {
		return err
	}
	if r.deep && r.level+Nesting(v) > r.depth {
		r.fail("%s", tooDeep(r.depth))
	}
	if !v.IsValid() { // the parser has accepted it, so a name is there twice
		if err := r.duplicates(v); err != nil {
			return err
		}
	}
	if !copied {
		return nil
	}
	return r.out.WriteValue(v)
}

// duplicates reports every name that an object within v has twice.
func (r *reader) duplicates(v jsontext.Value) error {
	outer, at := r.in, len(r.path)
	defer func() { r.in, r.path = outer, r.path[:at] }()
	r.in = newReader(v, 0, false).in
	return r.walk()
}

// walk goes through one value with r.in. Its recursion is as deep as the value, which
// ParserDepth bounds.
func (r *reader) walk() error {
	t, err := r.in.ReadToken()
	if err != nil {
		return err
	}
	at := len(r.path)
	switch t.Kind() {
	case '{':
		seen := map[string]struct{}{}
		for r.in.PeekKind() != '}' {
			if t, err = r.in.ReadToken(); err != nil {
				return err
			}
			name := t.String()
			r.member(name)
			if _, twice := seen[name]; twice {
				r.fail("is set twice")
			}
			seen[name] = struct{}{}
			err = r.walk()
			r.path = r.path[:at]
			if err != nil {
				return err
			}
		}
	case '[':
		for i := 0; r.in.PeekKind() != ']'; i++ {
			r.index(i)
			err = r.walk()
			r.path = r.path[:at]
			if err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = r.in.ReadToken()
	return err
}

// member and index extend the path of the value being read. Callers cut it back.
func (r *reader) member(name string) {
	if len(r.path) > 0 {
		r.path = append(r.path, '.')
	}
	r.path = append(r.path, clip(name, maxNameInPath)...)
}

// clip shortens a text of more than most bytes, between two characters.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

func (r *reader) index(i int) {
	r.path = append(strconv.AppendInt(append(r.path, '['), int64(i), 10), ']')
}

func tooDeep(limit int) string { return fmt.Sprintf("is nested deeper than %d levels", limit) }

// Nesting returns how many brackets enclose the innermost value of a JSON text. It
// looks at nothing else, so it may be asked before the text is parsed: the parser gives up
// at its own limit with what looks like a syntax error.
func Nesting(text []byte) int {
	level, most := 0, 0
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			level++
			most = max(most, level)
		case c == '}', c == ']':
			level--
		}
	}
	return most
}
