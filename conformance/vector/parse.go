// Package vector reads and runs wire vectors: txtar files that say what is sent to
// a server and what must come back. A vector that names an operation runs over
// both bindings; one that spells HTTP runs as it is.
//
// The head of the file is prose for the reader, then lines `key: value`:
//
//	cases:    the cases it proves
//	server:   the server it needs (default, strict, open, nostream)
//	agent:    the only agent that can play it; without it every agent must
//	bindings: jsonrpc, rest or both (the default)
//
// The sections are steps, each followed by what is expected of it:
//
//	call OPERATION [as USER]    JSON of the request
//	stream OPERATION [as USER]  JSON of the request
//	http VERB PATH [as USER]    header lines, an empty line, the body
//	open NAME OPERATION [as USER]  like stream, but read only as far as its frames go
//	read NAME                   the rest of an open stream, up to its end
//	leave NAME                  the client goes away from an open stream; expects nothing
//
//	want                        pattern of the response (see [Match])
//	error TYPE [FIELD …]        error type, and the fields that must be named
//	frames                      patterns, one a line; `...` skips any number of frames
//	response STATUS             header patterns, an empty line, pattern of the body
//
// ${name} stands for what an earlier pattern captured, {rpc}, {rest} and {card} for
// the paths of the server, ${fresh} for a new message id.
package vector

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Vector is one file.
type Vector struct {
	Name     string
	Prose    string
	Cases    []string
	Server   string
	Agent    string // empty: any
	Bindings []Binding
	Steps    []Step
}

// Binding is a protocol binding.
type Binding string

// The bindings.
const (
	JSONRPC Binding = "jsonrpc"
	REST    Binding = "rest"
)

// Step is one exchange.
type Step struct {
	Verb    string // call, stream, http, open, read, leave
	Arg     string // operation, or HTTP verb and path
	Name    string // of an open stream
	User    string
	Body    []byte
	Expects []Expect
}

// Expect is one expectation of a step.
type Expect struct {
	Kind string // want, error, frames, response
	Args []string
	Body []byte
}

// Parse reads a vector.
func Parse(name string, data []byte) (*Vector, error) {
	a := txtar.Parse(data)
	v := &Vector{Name: name, Server: "default", Bindings: []Binding{JSONRPC, REST}}
	for line := range strings.Lines(string(a.Comment)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch {
		case ok && key == "cases":
			v.Cases = strings.Fields(strings.ReplaceAll(value, ",", " "))
		case ok && key == "server":
			v.Server = value
		case ok && key == "agent":
			v.Agent = value
		case ok && key == "bindings":
			v.Bindings = nil
			for _, b := range strings.Fields(value) {
				v.Bindings = append(v.Bindings, Binding(b))
			}
		default:
			v.Prose += line
		}
	}
	if strings.TrimSpace(v.Prose) == "" {
		return nil, fmt.Errorf("%s: says nothing about what it proves", name)
	}
	for _, f := range a.Files {
		if err := v.section(f.Name, f.Data); err != nil {
			return nil, fmt.Errorf("%s: section %q: %w", name, f.Name, err)
		}
	}
	for i, s := range v.Steps {
		if len(s.Expects) == 0 && s.Verb != "leave" {
			return nil, fmt.Errorf("%s: step %d (%s %s) expects nothing, so it cannot fail", name, i+1, s.Verb, s.Arg)
		}
	}
	return v, nil
}

func (v *Vector) section(head string, body []byte) error {
	w := strings.Fields(head)
	if len(w) == 0 {
		return fmt.Errorf("no name")
	}
	switch w[0] {
	case "call", "stream", "http", "open", "read", "leave":
		return v.step(w, body)
	case "want", "error", "frames", "response":
		if len(v.Steps) == 0 {
			return fmt.Errorf("nothing was sent yet")
		}
		last := &v.Steps[len(v.Steps)-1]
		last.Expects = append(last.Expects, Expect{Kind: w[0], Args: w[1:], Body: body})
	default:
		return fmt.Errorf("unknown kind of section")
	}
	return nil
}

// step reads the head of a step, which is in w.
func (v *Vector) step(w []string, body []byte) error {
	s := Step{Verb: w[0], User: "alice", Body: bytes.TrimRight(body, "\n")}
	if n := len(w); n > 2 && w[n-2] == "as" {
		s.User, w = w[n-1], w[:n-2]
	}
	w = w[1:]
	if s.Verb == "open" || s.Verb == "read" || s.Verb == "leave" {
		if len(w) == 0 {
			return fmt.Errorf("an open stream needs a name")
		}
		s.Name, w = w[0], w[1:]
	}
	s.Arg = strings.Join(w, " ")
	_, known := routes[s.Arg]
	switch {
	case s.Verb == "http" && len(w) != 2:
		return fmt.Errorf("want: http VERB PATH")
	case (s.Verb == "read" || s.Verb == "leave") && len(w) > 0:
		return fmt.Errorf("want: %s NAME", s.Verb)
	case (s.Verb == "call" || s.Verb == "stream" || s.Verb == "open") && !known:
		return fmt.Errorf("no such operation")
	}
	v.Steps = append(v.Steps, s)
	return nil
}
