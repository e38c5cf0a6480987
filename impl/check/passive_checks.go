package check

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/impl/validate"
)

// These judge every answer that the other checks have got.
var passiveChecks = []*Check{
	{ID: "wire.json", Level: Must, Section: "5.5", Title: "Answers are JSON, without a member twice", Each: true, late: true, run: wireRules("json", "duplicate")},
	{ID: "wire.schema", Level: Must, Section: "4", Title: "Answers have the members that their definitions ask for, in their types", Each: true, late: true,
		run: wireRules("type", "required", "empty", "oneof.none", "oneof.many", "enum", "enum.unspecified", "enum.undefined", "range", "pattern", "base64")},
	{ID: "wire.names", Level: Must, Section: "5.5", Title: "Names are in camelCase, enum values by name, numbers without quotation marks", Each: true, late: true,
		run: wireRules("name.snake", "enum.number", "integer.form", "base64.form")},
	{ID: "wire.null-arrays", Level: Must, Section: "5.5", Title: "No array is null", Each: true, late: true, run: wireRules("null.array")},
	{ID: "wire.nulls", Level: Should, Section: "5.5", Title: "Members without a value are left out", Each: true, late: true, run: wireRules("null")},
	{ID: "wire.timestamps", Level: Must, Section: "5.6.1", Title: "Times are in ISO 8601, in UTC, and end in Z", Each: true, late: true, run: wireRules("timestamp", "timestamp.offset")},
	{ID: "wire.old-members", Level: Must, Section: "A.2.1", Title: "Nothing of version 0.3 is left", Each: true, late: true, run: wireRules("v03")},
	{ID: "wire.case", Level: Should, Section: "5.5", Title: "No name is written in another case", Each: true, late: true, run: wireRules("name.case")},
	{ID: "rpc.envelope", Level: Must, Section: "9.3", Title: "Each answer is a JSON-RPC 2.0 response, with the id of its request", Each: true, late: true, Needs: []Need{OnlyRPC}, run: rpcEnvelope},
	{ID: "rpc.media-type", Level: Must, Section: "9.1", Title: "Answers are of type application/json", Each: true, late: true, Needs: []Need{OnlyRPC}, run: rpcMediaType},
	{ID: "rest.media-type", Level: Should, Section: "11.1", Title: "Answers, errors too, are of a JSON type", Each: true, late: true, Needs: []Need{OnlyREST}, run: restMediaType},
	{ID: "stream.envelope", Level: Must, Section: "9.4.2", Title: "Each event has the envelope of its binding", Each: true, late: true, Needs: []Need{Streams}, run: streamEnvelope},
	{ID: "error.shape", Level: Must, Section: "3.3.2", Title: "Errors have a code, a message, and details that name their type", Each: true, late: true, run: errorShape},
	{ID: "error.info", Level: Must, Section: "11.6", Title: "A2A's own errors have a google.rpc.ErrorInfo", Each: true, late: true, Needs: []Need{OnlyREST}, run: errorInfo},
	{ID: "error.info-rpc", Level: Should, Section: "9.5", Title: "A2A's own errors have a google.rpc.ErrorInfo", Each: true, late: true, Needs: []Need{OnlyRPC}, run: errorInfo},
	{ID: "error.internal", Level: Should, Section: "3.3.2", Title: "No request made the server fail", Each: true, late: true, run: errorInternal},
}

// finding is one thing that is wrong with a document.
type finding struct {
	rule, pointer, expected, section string
	bad                              bool
}

// judge holds a document of the server's against a definition.
func judge(def string, doc []byte) (out []finding) {
	v, err := validate.New(validate.Options{Type: def, From: validate.Server})
	if err != nil {
		panic("check: " + err.Error()) // the operation table names no others
	}
	for _, f := range v.Document(doc).Findings {
		out = append(out, finding{f.Rule, f.Pointer, f.Expected, f.Section, f.Level == validate.Error})
	}
	return out
}

// document is a part of an answer that a definition is about.
type document struct {
	text  []byte
	where string // which event; "" for an answer that is whole
}

// documents are what an exchange brought of its definition, out of the envelopes.
func (x *Exchange) documents() (out []document) {
	if x.def == "" || x.def == "Empty" || x.on == nil {
		return nil
	}
	unwrap := func(b []byte, where string) {
		if x.on.binding == JSONRPC {
			result, ok := member(b, "result")
			if !ok || string(result) == "null" {
				return // the envelope is judged by rpc.envelope
			}
			b = result
		} else if _, isError := member(b, "error"); isError {
			return
		}
		out = append(out, document{b, where})
	}
	for i, f := range x.frames {
		unwrap(f, fmt.Sprintf("event %d: ", i+1))
	}
	if x.frames == nil && x.Status >= 200 && x.Status < 300 && !x.cut && len(x.body) > 0 && x.mediaType() != "text/event-stream" {
		unwrap(x.body, "")
	}
	return out
}

// judged keeps what is found, since several checks ask for it.
func (x *Exchange) judged() []finding {
	if x.findings == nil {
		x.findings = []finding{}
		for _, d := range x.documents() {
			for _, f := range judge(x.def, d.text) {
				f.pointer = d.where + f.pointer
				x.findings = append(x.findings, f)
			}
		}
	}
	return x.findings
}

// answers walks the exchanges of the interface, and skips the check if there are none.
func (t *trial) answers(look func(*Exchange)) {
	n := 0
	for _, x := range t.seen {
		if x.on == t.on && x.Status != 0 && x.Method != http.MethodOptions && !x.beyond {
			n++
			look(x)
		}
	}
	if n == 0 {
		t.skip("there was no answer to judge")
	}
}

// blame notes a mistake once, with the first exchange that shows it.
func (t *trial) blame(x *Exchange, format string, args ...any) {
	if m := fmt.Sprintf(format, args...); !slices.Contains(t.wrong, m) {
		t.mistake("%s", m)
		t.show(x)
	}
}

// The validator's rules stand for the sections; warnings are faults of a SHOULD.
func wireRules(rules ...string) func(*trial) {
	return func(t *trial) {
		t.answers(func(x *Exchange) {
			for _, f := range x.judged() {
				if slices.Contains(rules, f.rule) {
					t.blame(x, "%s %s", x.def, general(f))
				}
			}
		})
	}
}

// general writes a finding without the numbers in its pointer, so that the same mistake in
// a hundred places is one.
func general(f finding) string {
	steps := strings.Split(f.pointer, "/")
	for i, s := range steps {
		if s != "" && strings.Trim(s, "0123456789") == "" {
			steps[i] = "*"
		}
	}
	if _, p, isEvent := strings.Cut(steps[0], ": "); isEvent {
		steps[0] = p
	}
	f.pointer = strings.Join(steps, "/")
	return f.String()
}

// Batches and what is no JSON have checks of their own.
func rpcEnvelope(t *trial) {
	t.answers(func(x *Exchange) {
		m, ok := parse(x.body).(obj)
		if !ok || x.frames != nil || x.Method != http.MethodPost {
			return // what is no JSON, another check says
		}
		t.envelope(x, m, "an answer")
	})
}

// envelope judges one JSON-RPC response.
func (t *trial) envelope(x *Exchange, m obj, what string) {
	hasResult, hasError := has(m, "result"), has(m, "error")
	switch {
	case m["jsonrpc"] != "2.0":
		t.blame(x, "%s has jsonrpc %s", what, encode(m["jsonrpc"]))
	case hasResult == hasError:
		t.blame(x, "%s has not exactly one of result and error", what)
	case hasResult && m["result"] == nil && x.def != "Empty":
		t.blame(x, "%s has a result that is null", what)
	}
	// A server that could not read the request cannot know its id.
	if got := string(encode(m["id"])); x.id != "" && got != x.id && !(got == "null" && hasError) {
		t.blame(x, "%s has another id than its request", what)
	}
	if !has(m, "id") {
		t.blame(x, "%s has no id", what)
	}
}

// Refusals of the transport are answers too: JSON-RPC clients parse before they look.
func rpcMediaType(t *trial) {
	t.answers(func(x *Exchange) {
		if len(x.body) > 0 && x.Method == http.MethodPost && x.mediaType() != "application/json" {
			t.blame(x, "an answer of status %d is of type %q", x.Status, x.mediaType())
		}
	})
}

// A proxy's page of HTML in the place of an error is what clients fail over.
func restMediaType(t *trial) {
	t.answers(func(x *Exchange) {
		m := x.mediaType()
		if len(x.body) > 0 && m != "application/json" && !strings.HasSuffix(m, "+json") {
			t.blame(x, "an answer of status %d is of type %q", x.Status, m)
		}
	})
}

// Clients of one binding cannot read the other's.
func streamEnvelope(t *trial) {
	seen := false
	t.answers(func(x *Exchange) {
		for _, f := range x.frames {
			seen = true
			m := object(parse(f))
			switch {
			case m == nil:
				t.blame(x, "an event is no JSON object")
			case t.on.binding == JSONRPC:
				t.envelope(x, m, "an event")
			case m["jsonrpc"] != nil:
				t.blame(x, "an event of HTTP+JSON is wrapped in JSON-RPC")
			}
		}
	})
	if !seen {
		t.skip("there was no stream to judge")
	}
}

// errors walks the errors of the interface.
func (t *trial) errors(look func(*Exchange, *refusal)) {
	n := 0
	t.answers(func(x *Exchange) {
		doc := x.body
		if x.frames != nil {
			doc = x.frames[0]
		} else if x.mediaType() == "text/event-stream" {
			return // it had no event
		}
		if _, e := t.on.read1(x, doc); e != nil {
			n++
			look(x, e)
		}
	})
	if n == 0 {
		t.skip("there was no error to judge")
	}
}

// Only what the binding answers: a router before it does not know its errors.
func errorShape(t *trial) {
	t.errors(func(x *Exchange, e *refusal) {
		if e.raw == nil {
			// What lies before the binding may refuse whom it does not know in its own way.
			if e.code != http.StatusUnauthorized && e.code != http.StatusForbidden {
				t.blame(x, "%s", e.broken)
			}
			return
		}
		detailed := "details"
		if t.on.binding == JSONRPC {
			detailed = "data"
		}
		if _, isNumber := e.raw["code"].(float64); !isNumber {
			t.blame(x, "error.code is %s", encode(e.raw["code"]))
		} else if t.on.binding == REST && number(e.raw["code"]) != x.Status {
			t.blame(x, "error.code is %d with HTTP status %d", number(e.raw["code"]), x.Status)
		}
		if text(e.raw["message"]) == "" {
			t.blame(x, "error.message is %s", encode(e.raw["message"]))
		}
		if v, there := e.raw[detailed]; there {
			l, isList := v.([]any)
			if !isList {
				t.blame(x, "error.%s is no list: %.80s", detailed, encode(v))
			}
			for _, d := range l {
				if text(object(d)["@type"]) == "" {
					t.blame(x, "an element of error.%s has no @type: %.80s", detailed, encode(d))
				}
			}
		}
	})
}

func errorInfo(t *trial) {
	t.errors(func(x *Exchange, e *refusal) {
		if e.raw == nil {
			return
		}
		// On HTTP+JSON only the reason tells which error it is, and 404 is the one status
		// that stands for an error of A2A's wherever an operation was asked for.
		own := t.on.binding == REST && e.reason == "" && x.Status == http.StatusNotFound && strings.Contains(x.URL, "/tasks/")
		for _, known := range a2a.ErrorTypes {
			own = own || known.Domain == a2a.TaskNotFoundError.Domain && (e.reason == known.Reason || t.on.binding == JSONRPC && e.code == known.Code)
		}
		if !own {
			return
		}
		for _, d := range e.details {
			d := object(d)
			if strings.HasSuffix(text(d["@type"]), "google.rpc.ErrorInfo") {
				if text(d["domain"]) != a2a.TaskNotFoundError.Domain {
					t.blame(x, "the domain of %s is %q", e.reason, text(d["domain"]))
				}
				return
			}
		}
		t.blame(x, "error %d has none", e.code)
	})
}

// 503 is how a busy server says so.
func errorInternal(t *trial) {
	t.answers(func(x *Exchange) {
		_, e := t.on.read1(x, x.body)
		if x.Status >= 500 && x.Status != http.StatusServiceUnavailable || x.frames == nil && e != nil && e.raw != nil && e.code == a2a.InternalError.Code {
			t.blame(x, "%s %.60s: status %d, %s", x.Method, x.asked(), x.Status, e)
		}
	})
}

// asked names what a request was about.
func (x *Exchange) asked() string {
	if m := text(object(parse([]byte(x.Body)))["method"]); m != "" {
		return m
	}
	return x.URL
}
