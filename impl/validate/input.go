package validate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"a2aserve/impl/sse"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrTooLarge is the error for a document beyond Options.MaxDocument.
var ErrTooLarge = errors.New("document too large")

// sniffed is how much of a file is looked at to tell its form, in bytes.
const sniffed = 64 << 10

// read validates all documents of the file.
func (f *file) read(r io.Reader) {
	in := &source{in: bufio.NewReaderSize(r, sniffed), max: f.v.options.MaxDocument, line: 1, column: 1}
	in.skipHeaders()
	form := f.v.options.Input
	if form == "" {
		form = in.form(f.name)
	}
	switch form {
	case SSE:
		f.events(in)
	case YAML:
		f.yaml(in)
	case Lines:
		f.lines(in)
	default:
		f.values(in)
	}
	if in.err != nil && in.err != io.EOF && !f.stopped {
		f.fail(in.err)
	}
	if f.number == 0 && in.err == io.EOF && !f.stopped {
		f.fault(in, "a document; there is none")
	}
	if f.stream != nil && in.err == io.EOF && !f.stopped {
		f.end(in)
	}
}

// give hands on a result, and reports whether another one is wanted.
func (f *file) give(d document) bool {
	f.stopped = f.stopped || !f.yield(f.judge(d), nil)
	return !f.stopped
}

// fail hands on what could not be read.
func (f *file) fail(err error) bool {
	f.stopped = f.stopped || !f.yield(Result{File: f.name}, err)
	return !f.stopped
}

// fault hands on a result for what is no document.
func (f *file) fault(in *source, expected string) bool {
	return f.finding(problem{rule: "json", expected: expected}, newTextPlaces(nil, in.line, in.column), "")
}

func (f *file) finding(p problem, at places, kind string) bool {
	f.number++
	r := Result{File: f.name, Number: f.number, Type: kind, From: Server}
	r.Line, r.Column = at.at(0)
	c := collector{strict: f.v.options.Strict, allowed: f.v.allowed, from: Server}
	c.add(p)
	c.finish(&r, document{at: at})
	f.stopped = f.stopped || !f.yield(r, nil)
	return !f.stopped
}

// source is a file that is being read; it knows its place.
type source struct {
	in           *bufio.Reader
	max          int
	line, column int // of the next byte
	err          error
	buf          []byte
}

// peek is the next byte, or 0 at the end.
func (s *source) peek() byte {
	b, err := s.in.Peek(1)
	if err != nil {
		s.err = err
		return 0
	}
	return b[0]
}

// next takes a byte.
func (s *source) next() byte {
	b, err := s.in.ReadByte()
	switch {
	case err != nil:
		s.err = err
		return 0
	case b == '\n':
		s.line, s.column = s.line+1, 1
	case b&0xC0 != 0x80: // no continuation of a character
		s.column++
	}
	return b
}

// skip takes what belongs to the set.
func (s *source) skip(set string) {
	for s.err == nil && strings.IndexByte(set, s.peek()) >= 0 && s.err == nil {
		s.next()
	}
}

// skipLine takes the rest of a line.
func (s *source) skipLine() {
	for s.err == nil && s.next() != '\n' {
	}
}

const blank = " \t\r\n"

// skipHeaders takes a byte order mark, and the headers of a response as curl -i prints them.
func (s *source) skipHeaders() {
	if b, _ := s.in.Peek(3); string(b) == "\ufeff" {
		s.in.Discard(3)
	}
	for {
		if b, _ := s.in.Peek(5); string(b) != "HTTP/" {
			return
		}
		for s.err == nil && s.column == 1 && s.peek() != '\r' && s.peek() != '\n' {
			s.skipLine()
		}
		s.skip("\r")
		s.skip("\n")
	}
}

var (
	eventLine = regexp.MustCompile(`(?m)^data:`)
	yamlLine  = regexp.MustCompile(`^(---|#|%YAML|["'\w@-]+:(\s|$))`)
)

// form tells how documents stand in a file, by the ending of its name and its first bytes.
func (s *source) form(name string) Input {
	ending := strings.ToLower(path.Ext(name))
	switch ending {
	case ".yaml", ".yml":
		return YAML
	case ".jsonl", ".ndjson":
		return Lines
	case ".sse":
		return SSE
	}
	head, _ := s.in.Peek(sniffed)
	body := bytes.TrimLeft(head, blank)
	switch {
	case len(body) > 0 && body[0] == '{' && severalLines(body):
		return Lines
	case len(body) > 0 && (body[0] == '{' || body[0] == '['):
		return JSON
	case eventLine.Match(head):
		return SSE
	case ending != ".json" && yamlLine.Match(body):
		return YAML
	}
	return JSON
}

// severalLines reports whether the first two lines are whole objects.
func severalLines(body []byte) bool {
	for range 2 {
		line, rest, _ := bytes.Cut(body, []byte{'\n'})
		if !bytes.HasPrefix(line, []byte{'{'}) || !jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true)) {
			return false
		}
		body = bytes.TrimLeft(rest, blank)
	}
	return true
}

// lines validates JSON lines.
func (f *file) lines(in *source) {
	for in.err == nil {
		in.skip(blank)
		if in.err != nil {
			return
		}
		line, column := in.line, in.column
		in.buf = in.buf[:0]
		for in.err == nil && in.peek() != '\n' && in.err == nil {
			in.keep(in.next())
		}
		if !f.document(in, line, column, "", nil) {
			return
		}
	}
}

// keep holds a byte of the current document, up to the bound and one more.
func (s *source) keep(b byte) {
	if len(s.buf) <= s.max {
		s.buf = append(s.buf, b)
	}
}

// document validates what has been kept.
func (f *file) document(in *source, line, column int, prefix string, faults []problem) bool {
	if in.err != nil && in.err != io.EOF {
		return false // what there is of it proves nothing
	}
	if len(in.buf) > in.max {
		return f.fail(tooLarge(line, in.max))
	}
	return f.give(document{text: in.buf, at: newTextPlaces(in.buf, line, column), prefix: prefix, faults: faults})
}

func tooLarge(line, limit int) error {
	return fmt.Errorf("line %d: %w: more than %d bytes", line, ErrTooLarge, limit)
}

// values validates values that follow each other, and the elements of arrays one by one.
func (f *file) values(in *source) {
	for in.skip(blank); in.err == nil; in.skip(blank) {
		ok := false
		switch c := in.peek(); {
		case c == '[':
			ok = f.array(in)
		case strings.IndexByte(`{"-0123456789tfn`, c) >= 0:
			line, column := in.line, in.column
			in.value()
			ok = f.document(in, line, column, "", nil)
		default:
			ok = f.fault(in, "JSON")
			in.skipLine()
		}
		if !ok {
			return
		}
	}
}

// array validates the elements of an array at the top.
func (f *file) array(in *source) bool {
	in.next()
	in.skip(blank)
	for i := 0; ; i++ {
		switch c := in.peek(); {
		case in.err == io.EOF:
			return f.fault(in, "a ] at the end of the array")
		case in.err != nil:
			return false
		case c == ']':
			in.next()
			return true
		case c == ',', c == '}', c == ':':
			ok := f.fault(in, "an element of the array")
			in.next()
			in.skip(blank)
			if !ok {
				return false
			}
			continue
		}
		line, column := in.line, in.column
		in.value()
		if !f.document(in, line, column, fmt.Sprintf("/%d", i), nil) {
			return false
		}
		if in.skip(blank); in.peek() == ',' {
			in.next()
			if in.skip(blank); in.peek() != ']' {
				continue
			}
		} else if c := in.peek(); in.err != nil || c == ']' {
			continue
		}
		if !f.fault(in, "a comma, and an element after it, or a ]") {
			return false
		}
	}
}

// value keeps one value: up to the bracket that closes it, or to where a scalar ends.
func (s *source) value() {
	s.buf = s.buf[:0]
	depth, quoted := 0, false
	for s.err == nil {
		c := s.peek()
		if s.err != nil || depth == 0 && !quoted && len(s.buf) > 0 && strings.IndexByte(blank+",]}:[{\"", c) >= 0 {
			return
		}
		s.keep(s.next())
		switch {
		case quoted && c == '\\':
			if s.peek(); s.err == nil {
				s.keep(s.next())
			}
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		}
		if depth == 0 && !quoted && strings.IndexByte("\"}]", c) >= 0 {
			return
		}
	}
}

// events validates the frames of a captured stream.
func (f *file) events(in *source) {
	if f.stream == nil {
		f.stream = &stream{}
	}
	r := sse.NewReader(in.in, in.max)
	for {
		e, err := r.Next()
		if errors.Is(err, sse.ErrTooLong) {
			err = fmt.Errorf("%w: %w", ErrTooLarge, err)
		}
		if in.err = err; err != nil {
			return
		}
		at := eventPlaces{e.Data, e.Places}
		for i := range at.lines { // headers may have been skipped
			at.lines[i].Line += in.line - 1
		}
		last := at.lines[len(at.lines)-1]
		in.column = 1
		f.stream.line = last.Line
		var faults []problem
		if e.Cut {
			faults = append(faults, problem{rule: "sse.cut", offset: len(e.Data), expected: "an empty line after the event", hint: "readers drop an event that is cut off"})
		}
		if e.Type != "message" {
			faults = append(faults, problem{rule: "sse.event", expected: "no event name", hint: "readers that listen to messages do not see \"" + e.Type + "\""})
		}
		if !f.give(document{text: e.Data, at: at, faults: faults}) {
			return
		}
	}
}
