// Package report writes the results of a validation for people and for the tools that run it:
// text, JSON lines, SARIF, JUnit and the annotations of GitHub Actions. All of them are
// written while files are read, so that no number of results has to be kept.
package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"a2aserve/impl/validate"
)

// Formats are what New takes.
var Formats = []string{"text", "json", "sarif", "junit", "github"}

// Reporter takes the results file by file. Close writes what is still missing and returns
// the first error in writing; it does not close the writer.
type Reporter interface {
	Begin(file string)
	Result(validate.Result)
	Unreadable(file string, err error)
	End()
	Close(Summary) error
}

// Summary is what was found in all files.
type Summary struct {
	Files      int `json:"files"`
	Documents  int `json:"documents"`
	Invalid    int `json:"invalid"`    // documents
	Warnings   int `json:"warnings"`   // findings
	Unreadable int `json:"unreadable"` // files, or documents in them
}

// Options are about text.
type Options struct {
	Colour bool
	Quiet  bool // findings only
}

// New returns the reporter of a format.
func New(format string, w io.Writer, o Options) (Reporter, error) {
	out := &writer{w: w}
	switch format {
	case "text":
		return &text{writer: out, Options: o}, nil
	case "json":
		return &lines{writer: out}, nil
	case "sarif":
		return newSARIF(out), nil
	case "junit":
		return newJUnit(out), nil
	case "github":
		return &github{writer: out}, nil
	}
	return nil, fmt.Errorf("unknown format %q: one of %s is expected", format, strings.Join(Formats, ", "))
}

// Add counts a result.
func (s *Summary) Add(r validate.Result) {
	s.Documents++
	if !r.Valid {
		s.Invalid++
	}
	for _, x := range r.Findings {
		if x.Level == validate.Warning {
			s.Warnings++
		}
	}
}

// String is the summary as a sentence.
func (s Summary) String() string {
	out := fmt.Sprintf("%s in %s: ", count(s.Documents, "document"), count(s.Files, "file"))
	if s.Invalid == 0 {
		out += "all valid"
	} else {
		out += fmt.Sprintf("%d invalid", s.Invalid)
	}
	if s.Warnings > 0 {
		out += ", " + count(s.Warnings, "warning")
	}
	if s.Unreadable > 0 {
		out += fmt.Sprintf(", %d could not be read", s.Unreadable)
	}
	return out
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// writer keeps the first error.
type writer struct {
	w   io.Writer
	err error
}

func (w *writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.w, format, args...)
	}
}

func (w *writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

// section is where a rule comes from, in words.
func section(x validate.Finding) string {
	if x.Section == "ours" {
		return "our reading"
	}
	return "A2A §" + x.Section
}

// sentence is a finding without its place.
func sentence(x validate.Finding) string {
	s := "expected " + x.Expected
	if x.Pointer != "" {
		s = x.Pointer + ": " + s
	}
	return s
}

// printable keeps control characters of a document from the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// text is for people.
type text struct {
	*writer
	Options
	file    string
	types   map[string]int
	by      string
	invalid int
	total   int
}

func (t *text) Begin(file string) {
	t.file, t.types, t.by, t.invalid, t.total = file, map[string]int{}, "", 0, 0
}

func (t *text) colour(code, s string) string {
	if !t.Colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

var colours = map[validate.Level]string{validate.Error: "31", validate.Warning: "33"}

func (t *text) Result(r validate.Result) {
	t.total++
	kind := r.Type
	if kind == "" {
		kind = "not recognised"
	}
	t.types[kind]++
	t.by = r.By
	if !r.Valid {
		t.invalid++
	}
	for _, x := range r.Findings {
		t.printf("%s:%d:%d: %s: %s [%s, %s]\n", printable(r.File), x.Line, x.Column, t.colour(colours[x.Level], string(x.Level)), printable(sentence(x)), x.Rule, section(x))
		if x.Hint != "" {
			t.printf("    %s\n", t.colour("2", printable(x.Hint)))
		}
	}
	if r.More > 0 {
		t.printf("%s:%d:%d: and %d more findings in this document\n", printable(r.File), r.Line, r.Column, r.More)
	}
}

func (t *text) Unreadable(file string, err error) {
	t.printf("%s: %s: %s\n", printable(file), t.colour("31", "could not be read"), printable(err.Error()))
}

// End says what the documents were taken for: who reads a file as something else than its
// author gets the wrong findings.
func (t *text) End() {
	if t.Quiet || t.total == 0 {
		return
	}
	outcome := t.colour("32", "valid")
	if t.invalid > 0 {
		outcome = t.colour("31", "invalid")
	}
	if t.total == 1 {
		for kind := range t.types {
			if t.by != "" {
				kind += " (" + t.by + ")"
			}
			t.printf("%s: %s: %s\n", printable(t.file), printable(kind), outcome)
		}
		return
	}
	if t.invalid > 0 {
		outcome = t.colour("31", fmt.Sprintf("%d invalid", t.invalid))
	}
	var kinds []string
	for kind, n := range t.types {
		kinds = append(kinds, fmt.Sprintf("%d %s", n, kind))
	}
	slices.Sort(kinds)
	t.printf("%s: %s: %s\n", printable(t.file), strings.Join(kinds, ", "), outcome)
}

func (t *text) Close(s Summary) error {
	if !t.Quiet && (s.Files != 1 || s.Documents > 1) {
		t.printf("%s\n", s)
	}
	return t.err
}

// github writes workflow commands, which show up beside the lines of a change.
type github struct{ *writer }

var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace
)

func (g *github) Begin(string) {}
func (g *github) End()         {}

func (g *github) Result(r validate.Result) {
	for _, x := range r.Findings {
		s := fmt.Sprintf("%s (%s)", sentence(x), section(x))
		if x.Hint != "" {
			s += "\n" + x.Hint
		}
		g.printf("::%s file=%s,line=%d,col=%d,title=%s::%s\n", x.Level, escapeProperty(r.File), x.Line, x.Column, escapeProperty("A2A "+x.Rule), escapeData(s))
	}
}

func (g *github) Unreadable(file string, err error) {
	g.printf("::error file=%s,title=A2A::%s\n", escapeProperty(file), escapeData(reason(err)))
}

func (g *github) Close(s Summary) error {
	g.printf("%s\n", s)
	return g.err
}

// reason is an error in one line.
func reason(err error) string {
	return "could not be read: " + strings.Join(strings.Fields(errors.Join(err).Error()), " ")
}
