// Package validate says whether JSON documents are what protocol 1.0 allows on the wire,
// and where not: file, line, column, pointer, what was expected, the section that says so,
// and for common mistakes what to do.
//
//	v, err := validate.New(validate.Options{})
//	for r, err := range v.File("capture.sse", file) {
//		// r.Type, r.Valid, r.Findings
//	}
//
// A file may hold one document, several (JSON lines or values one after the other), an
// array of them, a captured SSE stream, or YAML. One document is held in memory at a time.
//
// What a document is judged by depends on who sends it. What a server sends has to be
// canonical (A2A §5.5). What a client sends is judged as a server reads it: ProtoJSON's
// other spellings are warnings there. The rules are in [Rules], with their levels.
package validate

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"a2aserve/gen/op"
)

const (
	// DefaultMaxDocument bounds one document where nothing else is said, in bytes.
	DefaultMaxDocument = 16 << 20
	// MaxFindings bounds what one Result reports.
	MaxFindings = 100
)

// Options say what is validated and how. The zero value recognises everything by itself.
type Options struct {
	Type   string // definition of the schema, such as "Task" (see Types); "": by the shape
	Method string // operation whose JSON-RPC responses are read; "": as the file's requests say, else by the shape
	From   Sender // "": by the type

	Strict bool     // unknown members and every warning about form are errors
	Allow  []string // rules that are not reported

	Input       Input // "": by the file's name and first bytes
	Stream      bool  // the documents of a file are the frames of one stream, as SSE always is
	MaxDocument int   // bytes of one document, or of one YAML file; 0: DefaultMaxDocument
}

// Sender is whose document it is.
type Sender string

// The senders. Requests come from clients, all else from servers.
const (
	Client Sender = "client"
	Server Sender = "server"
)

// Input is how documents stand in a file.
type Input string

// The forms of input. JSON is one value or several, or an array of them; in Lines each line
// is one value, so that a broken one does not spoil those that follow.
const (
	JSON  Input = "json"
	Lines Input = "lines"
	SSE   Input = "sse"
	YAML  Input = "yaml"
)

// Result is the outcome for one document, or for a whole stream, at its end.
type Result struct {
	File   string `json:"file,omitzero"`
	Number int    `json:"number"` // of the document in its file, from 1
	Line   int    `json:"line"`   // where it begins, from 1
	Column int    `json:"column"`

	Type string `json:"type,omitzero"` // definition, "JSON-RPC request: SendMessage", "stream", …; "" if not recognised
	By   string `json:"by,omitzero"`   // what it was recognised by
	From Sender `json:"from,omitzero"`

	Valid    bool      `json:"valid"` // no finding is an error
	Findings []Finding `json:"findings,omitzero"`
	More     int       `json:"more,omitzero"` // findings beyond MaxFindings
}

// Finding is one thing that is wrong, or should be otherwise. Findings are in the order of
// the text.
type Finding struct {
	Level    Level  `json:"level"`
	Rule     string `json:"rule"` // id of the rule, see Rules
	Line     int    `json:"line"`
	Column   int    `json:"column"`        // in characters, from 1
	Pointer  string `json:"pointer"`       // JSON pointer (RFC 6901) within the document, or within the file if that is an array
	Expected string `json:"expected"`      // what was expected there
	Section  string `json:"section"`       // of the specification, or "ours"
	Hint     string `json:"hint,omitzero"` // what to do about a common mistake
}

// Validator validates files. It may be used by several goroutines.
type Validator struct {
	options Options
	allowed map[string]bool
}

// New checks the options: an unknown type, method, rule or input is an error.
func New(o Options) (*Validator, error) {
	v := &Validator{options: o, allowed: map[string]bool{}}
	if o.Type != "" && definitions[o.Type] == nil {
		return nil, fmt.Errorf("unknown type %q: one of %s is expected", o.Type, strings.Join(Types(), ", "))
	}
	if o.Method != "" && op.ByName(o.Method) == nil {
		return nil, fmt.Errorf("unknown method %q", o.Method)
	}
	if !slices.Contains([]Sender{"", Client, Server}, o.From) {
		return nil, fmt.Errorf("unknown sender %q: client or server is expected", o.From)
	}
	if !slices.Contains([]Input{"", JSON, Lines, SSE, YAML}, o.Input) {
		return nil, fmt.Errorf("unknown input %q: json, lines, sse or yaml is expected", o.Input)
	}
	for _, id := range o.Allow {
		if _, ok := ruleByID[id]; !ok {
			return nil, fmt.Errorf("unknown rule %q", id)
		}
		v.allowed[id] = true
	}
	if v.options.MaxDocument <= 0 {
		v.options.MaxDocument = DefaultMaxDocument
	}
	return v, nil
}

// File validates what r holds, one document after the other. The name is for the findings,
// and its ending tells the form of the input. An error says that something could not be
// read: a document that is too large, after which those of later lines follow, or r's own
// error, which is the last.
func (v *Validator) File(name string, r io.Reader) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		newFile(v, name, yield).read(r)
	}
}

// Document validates one JSON document.
func (v *Validator) Document(doc []byte) Result {
	return newFile(v, "", nil).judge(document{text: doc, at: newTextPlaces(doc, 1, 1)})
}
