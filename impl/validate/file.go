package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// document is one JSON text, and where its bytes stand in the file.
type document struct {
	text   []byte
	at     places
	prefix string    // of the pointers, in an array
	faults []problem // what is wrong around it
}

// file is the validation of one file.
type file struct {
	v       *Validator
	name    string
	yield   func(Result, error) bool
	number  int // of the current document
	stopped bool
	calls   calls
	stream  *stream // nil if the documents are no frames
}

func newFile(v *Validator, name string, yield func(Result, error) bool) *file {
	f := &file{v: v, name: name, yield: yield}
	if v.options.Stream {
		f.stream = &stream{}
	}
	return f
}

// plan is how a document is to be read.
type plan struct {
	node *node
	kind string // as Result.Type has it
	by   string
	from Sender
	def  string // of the payload
	base string // pointer of the payload

	later []problem // found without reading; their offsets are still to be looked up
}

// plan recognises a document.
func (f *file) plan(text []byte) (p plan, o outline) {
	o = sketch(text)
	given := f.v.options.Type
	switch {
	case o.rpc():
		f.rpcPlan(o, &p)
	case given != "":
		p.def, p.by = given, "given"
	case f.stream != nil && !o.holds("error", '{'):
		p.def, p.by = "StreamResponse", "its place in a stream"
	default:
		p.def, p.by = recognise(o, nil)
		if p.def == "" {
			p.later = append(p.later, unrecognised("", p.by))
			p.by, p.node = "", anything
		}
	}
	if p.node == nil {
		p.node, p.kind, p.from = definitions[p.def], p.def, sender(p.def, o)
	}
	if p.def == "HTTPError" && o.holds("error", '{') {
		p.later = append(p.later, reasons(o["error"].value, "/error", "details", func(t *a2a.ErrorType) int { return t.HTTP })...)
	}
	if f.v.options.From != "" {
		p.from = f.v.options.From
	}
	return p, o
}

func unrecognised(pointer, candidates string) problem {
	p := problem{rule: "unrecognised", pointer: pointer, expected: "an object of the protocol", hint: "name its type with --type"}
	if candidates != "" {
		p.hint += "; it could be " + candidates
	}
	return p
}

// judge validates one document. Whatever is wrong with its place in a stream is said of it, too.
func (f *file) judge(d document) Result {
	f.number++
	p, o := f.plan(d.text)
	c := collector{strict: f.v.options.Strict, allowed: f.v.allowed, from: p.from}
	for _, fault := range d.faults {
		c.add(fault)
	}
	newWalker(d.text, p.from, c.add).document(p.node)
	if !c.broken {
		p.later = append(p.later, f.meaning(d.text, p, o)...)
		for _, later := range p.later {
			later.offset = offsetOf(d.text, later.pointer)
			c.add(later)
		}
	} else if f.stream != nil {
		f.stream.skip()
	}
	r := Result{File: f.name, Number: f.number, Type: p.kind, By: p.by, From: p.from}
	r.Line, r.Column = d.at.at(offsetOf(d.text, ""))
	c.finish(&r, d)
	return r
}

// meaning is what is wrong between the members of a document, and between documents.
func (f *file) meaning(text []byte, p plan, o outline) (found []problem) {
	payload := text
	if p.base != "" {
		payload = o[strings.TrimPrefix(p.base, "/")].value
	}
	if p.def == "ListTasksResponse" {
		found = listOrder(payload, p.base)
	}
	if f.stream != nil {
		found = append(found, f.stream.frame(payload, p, o)...)
	}
	return found
}

// listOrder finds the first task that is older than one after it (A2A §3.1.4).
func listOrder(text []byte, base string) []problem {
	var list struct {
		Tasks []struct {
			Status struct {
				Timestamp a2a.Timestamp `json:"timestamp"`
			} `json:"status"`
		} `json:"tasks"`
	}
	if json.Unmarshal(text, &list, jsontext.AllowDuplicateNames(true)) != nil {
		return nil // reported already
	}
	for i := 1; i < len(list.Tasks); i++ {
		a, b := list.Tasks[i-1].Status.Timestamp, list.Tasks[i].Status.Timestamp
		if !a.IsZero() && b.After(a.Time) {
			return []problem{{rule: "list.order", pointer: base + "/tasks/" + strconv.Itoa(i) + "/status/timestamp",
				expected: fmt.Sprintf("a time not after that of the task before it, %s", a.UTC().Format(a2a.TimestampLayout))}}
		}
	}
	return nil
}

// collector keeps what is reported at all, up to the bound.
type collector struct {
	strict   bool
	allowed  map[string]bool
	from     Sender
	problems []problem
	more     int
	invalid  bool
	broken   bool // not JSON: what else there is to say would be guesses
}

func (c *collector) add(p problem) {
	level := ruleByID[p.rule].level(c.from, c.strict)
	if p.rule == "json" {
		c.broken = true
	}
	if level == Off || c.allowed[p.rule] {
		return
	}
	c.invalid = c.invalid || level == Error
	if len(c.problems) >= MaxFindings {
		c.more++
		return
	}
	p.pointer, p.expected, p.hint = clip(p.pointer), clip(p.expected), clip(p.hint)
	c.problems = append(c.problems, p)
}

// maxText bounds what a finding repeats of the document, in bytes: a name may have megabytes.
const maxText = 2000

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// finish turns problems into findings, in the order of the text.
func (c *collector) finish(r *Result, d document) {
	slices.SortStableFunc(c.problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.pointer, b.pointer), cmp.Compare(a.rule, b.rule), cmp.Compare(a.expected, b.expected))
	})
	for _, p := range c.problems {
		rule := ruleByID[p.rule]
		x := Finding{Level: rule.level(c.from, c.strict), Rule: p.rule, Pointer: d.prefix + p.pointer,
			Expected: p.expected, Section: cmp.Or(p.section, rule.Section), Hint: p.hint}
		x.Line, x.Column = d.at.at(p.offset)
		r.Findings = append(r.Findings, x)
	}
	r.Valid, r.More = !c.invalid, c.more
}
