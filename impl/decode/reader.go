package decode

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json/jsontext"
)

// reader copies one document in one pass: in goes what a client wrote, out come the
// canonical bytes and the tree that the schema looks at. Free-form values are left
// out of the tree, since nothing in the schema constrains them.
type reader struct {
	in    *jsontext.Decoder
	out   *jsontext.Encoder
	buf   bytes.Buffer
	path  []byte // of the value being read
	bad   []a2a.Violation
	depth int  // nesting limit
	deep  bool // the document exceeds it somewhere
	level int  // nesting here
}

func newReader(doc []byte, depth int, deep bool) *reader {
	r := &reader{depth: depth, deep: deep}
	r.buf.Grow(len(doc))
	// Duplicates are looked for here and not by the parser: it knows nothing of
	// second spellings, and would report a syntax error.
	// It reads a bytes.Buffer in place, and anything else in small pieces that it copies.
	r.in = jsontext.NewDecoder(bytes.NewBuffer(doc), jsontext.AllowDuplicateNames(true))
	r.out = jsontext.NewEncoder(&r.buf, jsontext.AllowDuplicateNames(true))
	return r
}

// canonical is what has been written. The encoder ends each value with a line break.
func (r *reader) canonical() []byte { return bytes.TrimRight(r.buf.Bytes(), "\n") }

// document reads the one value of the input. Its error is a JSONParseError.
func (r *reader) document(s *shape) (any, error) {
	tree, err := r.value(s)
	if err == nil {
		if _, err = r.in.ReadToken(); err == io.EOF {
			return tree, nil
		} else if err == nil {
			err = errors.New("more than one value")
		}
	}
	at := r.in.InputOffset()
	if se, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = se.ByteOffset
	}
	return nil, a2a.JSONParseError.Errorf("%s: not JSON at byte %d", a2a.JSONParseError.Message, at).Because(err)
}

// fail notes a violation at the current path. Reading goes on, so that one answer tells
// all there is to mend.
func (r *reader) fail(format string, args ...any) {
	if len(r.bad) < MaxViolations {
		r.bad = append(r.bad, a2a.Violation{Field: clip(string(r.path), maxPath), Description: fmt.Sprintf(format, args...)})
	}
}

// value copies one value of shape s. Where the kind does not fit, the tree gets an empty
// value of the kind that is there, and the schema says what it should have been.
func (r *reader) value(s *shape) (any, error) {
	k := r.in.PeekKind()
	switch {
	case s.kind == kindAny:
		return true, r.free(true)
	case s.kind == kindStruct && k == '{':
		return object{}, r.free(true)
	case s.kind == kindObject && k == '{', s.kind == kindMap && k == '{':
		return r.object(s)
	case s.kind == kindArray && k == '[':
		return r.array(s)
	case k == '{':
		return object{}, errors.Join(r.free(false), r.out.WriteValue(jsontext.Value("{}")))
	case k == '[':
		return []any{}, errors.Join(r.free(false), r.out.WriteValue(jsontext.Value("[]")))
	}
	t, err := r.in.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case '"':
		return r.text(s, t)
	case '0':
		return r.number(s, t)
	case 't', 'f':
		return t.Bool(), r.out.WriteToken(t)
	}
	return nil, r.out.WriteToken(t)
}

// object copies the members that the schema knows, under their canonical names. A null is
// an absence (ProtoJSON), except for a Value, of which it is a value (A2A §4.1.6).
func (r *reader) object(s *shape) (any, error) {
	if err := r.enter(jsontext.BeginObject); err != nil {
		return nil, err
	}
	members := object{}
	var others map[string]struct{} // names seen that are not in members: unknown ones and nulls
	at := len(r.path)
	for r.in.PeekKind() != '}' {
		t, err := r.in.ReadToken()
		if err != nil {
			return nil, err
		}
		name := t.String()
		p, known := property{name, s.elem}, s.kind == kindMap
		if s.kind == kindObject {
			if p, known = s.props[name]; !known {
				p.name = name
			}
		}
		r.member(p.name)
		_, twice := members[p.name]
		if _, other := others[p.name]; twice || other {
			r.fail("is set twice")
			known = false
		}
		if !known || r.in.PeekKind() == 'n' && p.kind != kindAny {
			if others == nil {
				others = map[string]struct{}{}
			}
			others[p.name] = struct{}{}
			err = r.free(false)
		} else if err = r.out.WriteToken(jsontext.String(p.name)); err == nil {
			members[p.name], err = r.value(p.shape)
		}
		r.path = r.path[:at]
		if err != nil {
			return nil, err
		}
	}
	return members, r.leave(jsontext.EndObject)
}

// array copies the elements. A null among them is none: the schema says what it should be.
func (r *reader) array(s *shape) (any, error) {
	if err := r.enter(jsontext.BeginArray); err != nil {
		return nil, err
	}
	list := []any{}
	at := len(r.path)
	for i := 0; r.in.PeekKind() != ']'; i++ {
		if i == MaxElements {
			r.fail("has more than %d elements", MaxElements)
		}
		r.index(i)
		var v any
		var err error
		if i < MaxElements {
			v, err = r.value(s.elem)
			list = append(list, v)
		} else {
			err = r.in.SkipValue()
		}
		r.path = r.path[:at]
		if err != nil {
			return nil, err
		}
	}
	return list, r.leave(jsontext.EndArray)
}

// enter and leave copy the bracket and keep the level. The schema's own nesting is far
// below any limit, so only free-form values are measured.
func (r *reader) enter(t jsontext.Token) error {
	if _, err := r.in.ReadToken(); err != nil {
		return err
	}
	r.level++
	return r.out.WriteToken(t)
}

func (r *reader) leave(t jsontext.Token) error {
	if _, err := r.in.ReadToken(); err != nil {
		return err
	}
	r.level--
	return r.out.WriteToken(t)
}

// Base64 reads bytes as Go's ProtoJSON reader does: in one of the two alphabets, with all of the
// padding or none. Line breaks are skipped, but count where the length tells which.
func Base64(s string) ([]byte, error) {
	encoding := base64.StdEncoding
	if strings.ContainsAny(s, "-_") {
		encoding = base64.URLEncoding
	}
	if len(s)%4 != 0 {
		encoding = encoding.WithPadding(base64.NoPadding)
	}
	return encoding.DecodeString(s)
}

// text copies a string, in the one form that its shape is written in: Go's decoder refuses
// base64url and missing padding, which the schema's pattern lets through.
func (r *reader) text(s *shape, t jsontext.Token) (any, error) {
	str := t.String()
	switch s.kind {
	case kindBytes:
		b, err := Base64(str)
		if err != nil {
			r.fail("must be base64")
		}
		// The pattern of the schema is met by now; matching megabytes against it is slow.
		str = base64.StdEncoding.EncodeToString(b)
		return str[:min(len(str), 4)], r.out.WriteToken(jsontext.String(str))
	case kindTime:
		// google.protobuf.Timestamp begins with the year 1.
		if t, err := time.Parse(time.RFC3339Nano, str); err != nil || t.Year() < 1 || !timestamp.MatchString(str) {
			r.fail("must be a time such as 2026-01-02T03:04:05.678Z, in UTC")
			str = "2000-01-01T00:00:00Z" // reported already
		}
	case kindInt:
		// ProtoJSON writes 64-bit integers as strings, and readers take any.
		if n, ok := whole(str); ok {
			return float64(n), r.out.WriteToken(jsontext.Int(n))
		}
	}
	return str, r.out.WriteToken(jsontext.String(str))
}

// number copies a number. The text of a number that is not an integer of the schema is
// never changed, so that big ones keep their digits. An enum's number becomes its name, and 1.0 becomes 1.
func (r *reader) number(s *shape, t jsontext.Token) (any, error) {
	n, isWhole := whole(t.String())
	if isWhole && s.kind == kindEnum {
		if name, ok := s.names[n]; ok {
			return name, r.out.WriteToken(jsontext.String(name))
		}
	}
	if isWhole && s.kind == kindInt {
		return float64(n), r.out.WriteToken(jsontext.Int(n))
	}
	f, err := strconv.ParseFloat(t.String(), 64)
	// The tree is for comparing with bounds; what is kept is the text.
	if err != nil { // beyond a double; the validator cannot compare infinities
		f = math.Copysign(math.MaxFloat64, f)
	}
	return f, r.out.WriteToken(t)
}

// whole reads a JSON number that is an integer, however it is written.
func whole(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, s[0] != '+'
	}
	if len(s) > 32 || strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}
