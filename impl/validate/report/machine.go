package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"a2aserve/impl/validate"

	"github.com/go-json-experiment/json"
)

// lines writes JSON lines: an object for each document, one for what could not be read, and
// the summary at the end.
type lines struct{ *writer }

func (l *lines) Begin(string) {}
func (l *lines) End()         {}

// object writes one line.
func (l *lines) object(v any) {
	b, err := json.Marshal(v)
	if l.err == nil {
		l.err = err
	}
	l.write(append(b, '\n'))
}

func (l *lines) Result(r validate.Result) { l.object(r) }

func (l *lines) Unreadable(file string, err error) {
	l.object(struct {
		File  string `json:"file"`
		Error string `json:"error"`
	}{file, err.Error()})
}

func (l *lines) Close(s Summary) error {
	l.object(struct {
		Summary Summary `json:"summary"`
	}{s})
	return l.err
}

// sarif writes SARIF 2.1.0. The results stream; the rules, which results refer to by their
// index, are known beforehand.
type sarif struct {
	*writer
	index   map[string]int
	results int
	notes   []any // what could not be read, up to maxNotes
	failed  bool
}

// maxNotes bounds the notifications, which can only be written at the end.
const maxNotes = 1000

type m = map[string]any

func newSARIF(w *writer) *sarif {
	s := &sarif{writer: w, index: map[string]int{}}
	var rules []m
	for i, r := range validate.Rules {
		s.index[r.ID] = i
		level := string(r.Server)
		if r.Server == validate.Off {
			level = "none"
		}
		about := m{"section": r.Section}
		if r.Section == "" {
			about = m{"section": "that of the definition"}
		}
		rules = append(rules, m{"id": r.ID, "shortDescription": m{"text": r.Text},
			"defaultConfiguration": m{"level": level}, "properties": about})
	}
	driver, err := json.Marshal(m{"driver": m{"name": "a2aserve validate", "rules": rules}}, json.Deterministic(true))
	s.err = err
	s.printf(`{"$schema":"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json","version":"2.1.0","runs":[{"tool":%s,"columnKind":"unicodeCodePoints","results":[`, driver)
	return s
}

func (s *sarif) Begin(string) {}
func (s *sarif) End()         {}

// location is a file; SARIF wants a URI reference.
func location(file string) m {
	return m{"artifactLocation": m{"uri": (&url.URL{Path: filepath.ToSlash(file)}).String()}}
}

func (s *sarif) Result(r validate.Result) {
	for _, x := range r.Findings {
		where := location(r.File)
		where["region"] = m{"startLine": x.Line, "startColumn": x.Column}
		text := fmt.Sprintf("%s (%s)", sentence(x), section(x))
		if x.Hint != "" {
			text += ". " + x.Hint
		}
		b, err := json.Marshal(m{"ruleId": x.Rule, "ruleIndex": s.index[x.Rule], "level": x.Level, "message": m{"text": text},
			"locations": []m{{"physicalLocation": where, "logicalLocations": []m{{"fullyQualifiedName": x.Pointer, "kind": "member"}}}}},
			json.Deterministic(true))
		if s.err == nil {
			s.err = err
		}
		if s.results++; s.results > 1 {
			s.printf(",")
		}
		s.printf("\n%s", b)
	}
}

// Unreadable is no result: nothing is known about the document.
func (s *sarif) Unreadable(file string, err error) {
	s.failed = true
	if len(s.notes) < maxNotes {
		s.notes = append(s.notes, m{"level": "error", "message": m{"text": reason(err)}, "locations": []m{{"physicalLocation": location(file)}}})
	}
}

func (s *sarif) Close(Summary) error {
	invocation := m{"executionSuccessful": !s.failed}
	if s.failed {
		invocation["toolExecutionNotifications"] = s.notes
	}
	b, err := json.Marshal([]m{invocation}, json.Deterministic(true))
	if s.err == nil {
		s.err = err
	}
	s.printf("\n],\"invocations\":%s}]}\n", b)
	return s.err
}

// junit writes a suite for each file and a case for each document. A suite says how many
// cases it has before they come, so it is kept until its file ends: up to maxCases, beyond
// which valid documents share a case and failures are only counted.
type junit struct {
	*writer
	file                   string
	cases                  bytes.Buffer
	tests, failures, fault int
	valid, failed          int // beyond maxCases
}

// maxCases bounds the cases of one suite.
const maxCases = 1000

func newJUnit(w *writer) *junit {
	w.printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"a2aserve validate\">\n")
	return &junit{writer: w}
}

func (j *junit) Begin(file string) {
	*j = junit{writer: j.writer, file: file}
}

// Result fails a case for errors; warnings stand in its output.
func (j *junit) Result(r validate.Result) {
	switch {
	case j.tests < maxCases:
	case r.Valid:
		j.valid++
		return
	default:
		j.failed++
		return
	}
	kind := r.Type
	if kind == "" {
		kind = "document"
	}
	var errs, all []string
	for _, x := range r.Findings {
		line := fmt.Sprintf("%s:%d:%d: %s: %s [%s, %s]", r.File, x.Line, x.Column, x.Level, sentence(x), x.Rule, section(x))
		if x.Hint != "" {
			line += "\n    " + x.Hint
		}
		if all = append(all, line); x.Level == validate.Error {
			errs = append(errs, sentence(x))
		}
	}
	body := ""
	switch {
	case !r.Valid:
		body = element("failure", "message", strings.Join(errs[:min(1, len(errs))], ""), strings.Join(all, "\n"))
		j.failures++
	case len(all) > 0:
		body = element("system-out", "", "", strings.Join(all, "\n"))
	}
	j.add(fmt.Sprintf("%d: %s, line %d", r.Number, kind, r.Line), body)
}

func (j *junit) add(name, body string) {
	j.tests++
	fmt.Fprintf(&j.cases, "    <testcase name=\"%s\" classname=\"%s\" file=\"%s\">%s</testcase>\n", escaped(name), escaped(j.file), escaped(j.file), body)
}

func (j *junit) Unreadable(file string, err error) {
	j.fault++
	if j.fault <= maxCases {
		j.add(fmt.Sprintf("reading %d", j.fault), element("error", "message", reason(err), ""))
	}
}

func (j *junit) End() {
	if j.valid > 0 {
		j.add(fmt.Sprintf("%d more documents", j.valid), "")
	}
	if j.failed > 0 {
		j.failures++
		j.add("more invalid documents", element("failure", "message", fmt.Sprintf("%d more documents are invalid", j.failed), ""))
	}
	j.printf("  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"%d\">\n%s  </testsuite>\n", escaped(j.file), j.tests, j.failures, min(j.fault, maxCases), j.cases.Bytes())
}

func (j *junit) Close(Summary) error {
	j.printf("</testsuites>\n")
	return j.err
}

func element(name, attribute, value, text string) string {
	if attribute != "" {
		attribute = fmt.Sprintf(" %s=\"%s\"", attribute, escaped(value))
	}
	return fmt.Sprintf("<%s%s>%s</%s>", name, attribute, escaped(text), name)
}

// escaped replaces what XML cannot hold, control characters among them.
func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
