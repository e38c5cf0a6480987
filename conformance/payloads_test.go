package conformance

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"a2aserve/impl/validate"

	"github.com/rogpeppe/go-internal/txtar"
)

// The corpus of payloads, testdata/payloads, holds documents of the protocol, good and bad,
// each with what a validator has to find. A file begins with prose; then come documents:
//
//	-- valid NAME[.EXT][, TYPE][, OPTION…] --
//	-- invalid NAME[.EXT][, TYPE][, OPTION…] --
//
// EXT is that of the file that the document stands in (json, jsonl, sse, yaml), json if there
// is none. TYPE is what it has to be recognised as: a definition of the schema, or a JSON-RPC
// envelope with what is in it. Options are how it is read:
//
//	given           the type is not recognised but given; given TYPE for several documents
//	client, server  who sends it, where that is not as usual for the type
//	method NAME     the operation that a JSON-RPC response answers
//	stream          the documents are the frames of one stream
//	strict          unknown members and every warning are errors
//	allow RULE      a rule that is not reported
//
// What has to be found follows, one finding a line; there must be no others. A valid document
// may have warnings, and no section where there are none.
//
//	-- findings --
//	[LINE[:COLUMN]] LEVEL RULE POINTER SECTION [(part of the hint)]
//
// The pointer of the whole document is written as a dot. Where a file holds several documents
// or a stream, a line [TYPE] stands before the findings of each, and the heading has no type.

// payload is one entry of the corpus.
type payload struct {
	file, name string // of the corpus's file, and of the file that the text is read from
	valid      bool
	options    validate.Options
	text       string
	want       []outcome
}

// outcome is what is wanted for one document.
type outcome struct {
	kind     string
	findings []wanted
}

// wanted is a finding: what must be there, and what must be so if it is said at all.
type wanted struct {
	key          string // level, rule, pointer and section
	line, column string
	hint         string
}

var findingLine = regexp.MustCompile(`^(?:(\d+)(?::(\d+))? )?((?:error|warning) \S+ (?:\.|/\S*) \S+)(?: \((.+)\))?$`)

// loadPayloads reads the corpus.
func loadPayloads(t *testing.T) (all []*payload) {
	t.Helper()
	files, err := filepath.Glob("testdata/payloads/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		list, err := parsePayloads(strings.TrimSuffix(filepath.Base(f), ".txtar"), data)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, p := range list {
			if seen[p.name] {
				t.Errorf("%s: a second %s", f, p.name)
			}
			seen[p.name] = true
		}
		all = append(all, list...)
	}
	return all
}

func parsePayloads(file string, data []byte) (all []*payload, err error) {
	a := txtar.Parse(data)
	if len(strings.TrimSpace(string(a.Comment))) < 40 {
		return nil, fmt.Errorf("no prose at the head")
	}
	for _, s := range a.Files {
		if s.Name != "findings" {
			p, err := parseHeading(s.Name)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", s.Name, err)
			}
			p.file, p.text = file, string(s.Data)
			all = append(all, p)
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("findings without a document")
		}
		for line := range strings.Lines(string(s.Data)) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			if err := all[len(all)-1].expect(line); err != nil {
				return nil, fmt.Errorf("%s: %w", all[len(all)-1].name, err)
			}
		}
	}
	for _, p := range all {
		wrong := slices.ContainsFunc(p.want, func(o outcome) bool {
			return slices.ContainsFunc(o.findings, func(w wanted) bool { return strings.HasPrefix(w.key, "error ") })
		})
		if len(p.want) == 0 || wrong == p.valid {
			return nil, fmt.Errorf("%s: valid %v, and of %v", p.name, p.valid, p.want)
		}
	}
	return all, nil
}

func parseHeading(heading string) (*payload, error) {
	words := strings.Split(heading, ", ")
	verdict, name, ok := strings.Cut(words[0], " ")
	if !ok || verdict != "valid" && verdict != "invalid" {
		return nil, fmt.Errorf("valid NAME or invalid NAME is expected")
	}
	p := &payload{name: name, valid: verdict == "valid"}
	if path.Ext(name) == "" {
		p.name += ".json"
	}
	for i, word := range words[1:] {
		switch option, arg, _ := strings.Cut(word, " "); {
		case option == "given" && arg != "": // of several documents
			p.options.Type = arg
		case word == "given" && len(p.want) > 0:
			p.options.Type = p.want[0].kind
		case word == "client", word == "server":
			p.options.From = validate.Sender(word)
		case option == "method":
			p.options.Method = arg
		case word == "stream":
			p.options.Stream = true
		case word == "strict":
			p.options.Strict = true
		case option == "allow":
			p.options.Allow = append(p.options.Allow, arg)
		case i == 0:
			p.want = []outcome{{kind: word}}
		default:
			return nil, fmt.Errorf("no option %q", word)
		}
	}
	return p, nil
}

// expect takes a line of the findings.
func (p *payload) expect(line string) error {
	if kind, ok := strings.CutPrefix(line, "["); ok {
		p.want = append(p.want, outcome{kind: strings.TrimSuffix(kind, "]")})
		return nil
	}
	m := findingLine.FindStringSubmatch(line)
	if m == nil || len(p.want) == 0 {
		return fmt.Errorf("%q is no finding of a document", line)
	}
	last := &p.want[len(p.want)-1]
	last.findings = append(last.findings, wanted{key: m[3], line: m[1], column: m[2], hint: m[4]})
	return nil
}

// results validates the payload as its options say.
func (p *payload) results(o validate.Options) (all []validate.Result, err error) {
	v, err := validate.New(o)
	if err != nil {
		return nil, err
	}
	for r, err := range v.File(p.name, strings.NewReader(p.text)) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func key(x validate.Finding) string {
	return fmt.Sprintf("%s %s %s %s", x.Level, x.Rule, cmp.Or(x.Pointer, "."), x.Section)
}

// complaints says where results are not as the payload wants them.
func (p *payload) complaints(got []validate.Result) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if len(got) != len(p.want) {
		say("%d results, not %d", len(got), len(p.want))
		return all
	}
	valid := true
	for i, r := range got {
		valid = valid && r.Valid
		if r.Type != p.want[i].kind {
			say("result %d is of type %q, not %q", i+1, r.Type, p.want[i].kind)
		}
		if !slices.IsSortedFunc(r.Findings, func(a, b validate.Finding) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		}) {
			say("result %d: the findings are not in the order of the text", i+1)
		}
		// Both by their keys: the corpus need not know in which order members are judged.
		found := slices.SortedFunc(slices.Values(r.Findings), func(a, b validate.Finding) int { return cmp.Compare(key(a), key(b)) })
		want := slices.SortedFunc(slices.Values(p.want[i].findings), func(a, b wanted) int { return cmp.Compare(a.key, b.key) })
		for len(found) > 0 || len(want) > 0 {
			switch {
			case len(want) == 0 || len(found) > 0 && key(found[0]) < want[0].key:
				say("result %d: not wanted: %s, expected %s", i+1, key(found[0]), found[0].Expected)
				found = found[1:]
				continue
			case len(found) == 0 || want[0].key < key(found[0]):
				say("result %d: not found: %s", i+1, want[0].key)
				want = want[1:]
				continue
			}
			w, x := want[0], found[0]
			if w.line != "" && w.line != strconv.Itoa(x.Line) || w.column != "" && w.column != strconv.Itoa(x.Column) || x.Line < 1 || x.Column < 1 {
				say("result %d: %s is at %d:%d, not at %s:%s", i+1, w.key, x.Line, x.Column, w.line, w.column)
			}
			if !strings.Contains(x.Hint, w.hint) || x.Expected == "" {
				say("result %d: %s: the hint %q is without %q, expected is %q", i+1, w.key, x.Hint, w.hint, x.Expected)
			}
			found, want = found[1:], want[1:]
		}
	}
	if valid != p.valid {
		say("valid is %v", valid)
	}
	return all
}

// Each document of the corpus gets its verdict, with just the findings that it wants.
func TestPayloads(t *testing.T) {
	all := loadPayloads(t)
	documents := 0
	for _, p := range all {
		documents += len(p.want)
		t.Run(p.file+"/"+p.name, func(t *testing.T) {
			got, err := p.results(p.options)
			if err != nil {
				t.Fatal(err)
			}
			for _, complaint := range p.complaints(got) {
				t.Errorf("%s\nin %.600s", complaint, p.text)
			}
			if len(got) != 1 || p.options.Type != "" || !slices.Contains(validate.Types(), got[0].Type) {
				return
			}
			// Whether its type is recognised or said makes no difference.
			given := p.options
			given.Type = got[0].Type
			again, err := p.results(given)
			if err != nil {
				t.Fatal(err)
			}
			if again[0].By != "given" || p.complaints(again) != nil {
				t.Errorf("with the type given (%s): %v", again[0].By, p.complaints(again))
			}
		})
	}
	t.Logf("%d entries with %d results", len(all), documents)
	if len(all) < 150 {
		t.Errorf("only %d entries", len(all))
	}
}

// What judges the validator is judged, too: an expectation that is altered in any way is not met.
func TestPayloadsNoticeEachDifference(t *testing.T) {
	altered := 0
	for _, p := range loadPayloads(t) {
		got, err := p.results(p.options)
		if err != nil || len(got) == 0 {
			t.Fatalf("%s: %v", p.name, err)
		}
		first := &got[0]
		for _, r := range got { // there must be something to find in what is altered
			if len(r.Findings) > 0 {
				first = &r
				break
			}
		}
		i := slices.IndexFunc(got, func(r validate.Result) bool { return r.Number == first.Number })
		for name, alter := range map[string]func(r *validate.Result){
			"type":    func(r *validate.Result) { r.Type += "x" },
			"verdict": func(r *validate.Result) { r.Valid = !r.Valid && len(got) == 1 },
			"more":    func(r *validate.Result) { r.Findings = append(r.Findings, validate.Finding{Rule: "type"}) },
			"fewer":   func(r *validate.Result) { r.Findings = r.Findings[:max(len(r.Findings)-1, 0)] },
			"rule":    func(r *validate.Result) { each(r, func(x *validate.Finding) { x.Rule += "x" }) },
			"level":   func(r *validate.Result) { each(r, func(x *validate.Finding) { x.Level += "x" }) },
			"pointer": func(r *validate.Result) { each(r, func(x *validate.Finding) { x.Pointer += "/x" }) },
			"section": func(r *validate.Result) { each(r, func(x *validate.Finding) { x.Section += ".1" }) },
		} {
			if len(first.Findings) == 0 && !slices.Contains([]string{"type", "more"}, name) || name == "verdict" && len(got) > 1 {
				continue
			}
			other := slices.Clone(got)
			other[i].Findings = slices.Clone(other[i].Findings)
			alter(&other[i])
			if altered++; p.complaints(other) == nil {
				t.Errorf("%s: another %s is taken", p.name, name)
			}
		}
	}
	if altered < 1000 {
		t.Errorf("only %d alterations", altered)
	}
}

func each(r *validate.Result, f func(*validate.Finding)) {
	for i := range r.Findings {
		f(&r.Findings[i])
	}
}
