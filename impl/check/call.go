package check

import (
	"bytes"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
)

// current is the version that requests ask for.
const current = "1.0"

// reply is the answer to an operation, on either binding.
type reply struct {
	*Exchange
	result any      // decoded; nil with an error
	err    *refusal // nil: it was accepted
}

// refusal is an error as the binding has it.
type refusal struct {
	code     int // JSON-RPC's, or the HTTP status
	reason   string
	message  string
	details  []any
	streamed bool // it came within an SSE stream
	raw      obj  // nil: it has not the shape of an error of the binding
	broken   string
}

func (e *refusal) String() string {
	switch {
	case e == nil:
		return "no error"
	case e.raw == nil:
		return e.broken
	case e.reason != "":
		return fmt.Sprintf("%d %s (%.120s)", e.code, e.reason, e.message)
	}
	return fmt.Sprintf("%d (%.120s)", e.code, e.message)
}

// how changes a request before it is sent.
type how func(*shape)

type shape struct {
	as      who
	version string // "": no header
	header  http.Header
	query   url.Values
	verb    string

	unjudged, beyond bool
}

func as(w who) how                { return func(s *shape) { s.as = w } }
func version(v string) how        { return func(s *shape) { s.version = v } }
func with(name, value string) how { return func(s *shape) { s.header.Set(name, value) } }
func verb(v string) how           { return func(s *shape) { s.verb = v } }
func query(name, value string) how {
	return func(s *shape) { s.query.Set(name, value) }
}

// shape applies the changes to the request that the agent's card asks for.
func (f *face) shape(o *op.Operation, hows []how) *shape {
	s := &shape{version: current, header: http.Header{}, query: url.Values{}, verb: o.Verb}
	if need := f.card.required(); len(need) > 0 {
		s.header.Set("A2A-Extensions", strings.Join(need, ","))
	}
	if o.Name == "SubscribeToTask" {
		s.verb = f.subscribeVerb()
	}
	for _, h := range hows {
		h(s)
	}
	return s
}

// request makes the request of an operation. Parameters are those of the operation's
// request message; a tenant of the interface is among them (A2A §8.3.2).
func (f *face) request(name string, params obj, s *shape) ask {
	o := op.ByName(name)
	a := ask{header: f.headers(s.as), def: o.Response, on: f}
	if s.unjudged {
		a.def = ""
	}
	for k, v := range s.header {
		a.header[k] = v
	}
	if s.version != "" {
		a.header.Set("A2A-Version", s.version)
	}
	params = maps.Clone(params)
	if params == nil {
		params = obj{}
	}
	if _, said := params["tenant"]; f.tenant != "" && !said {
		params["tenant"] = f.tenant
	}
	if o.Streaming {
		a.header.Set("Accept", "text/event-stream, application/json")
	} else {
		a.header.Set("Accept", "application/json, application/a2a+json")
	}
	if f.binding == JSONRPC {
		a.method, a.url, a.id = http.MethodPost, f.url, encodeString(newID())
		a.header.Set("Content-Type", "application/json")
		a.body = []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, a.id, name, encode(params)))
	} else {
		a.method = s.verb
		path := o.Path
		for k, v := range params {
			if strings.Contains(path, "{"+k+"}") {
				path = strings.Replace(path, "{"+k+"}", url.PathEscape(text(v)), 1)
				delete(params, k)
			}
		}
		a.url = f.url + path
		switch {
		case o.Body:
			a.header.Set("Content-Type", "application/a2a+json")
			a.body = encode(params)
		default:
			for k, v := range params {
				s.query.Set(k, scalar(v))
			}
		}
	}
	if len(s.query) > 0 {
		a.url += "?" + s.query.Encode()
	}
	return a
}

func encodeString(s string) string { return string(encode(s)) }

// scalar writes a value as a query has it (A2A §11.5).
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return string(encode(v))
}

// call does an operation that answers once.
func (f *face) call(name string, params obj, hows ...how) *reply {
	return f.answer(f.note(f.do(f.request(name, params, f.shape(op.ByName(name), hows)))))
}

// raw sends bytes to a JSON-RPC interface, or to a path of an HTTP+JSON one.
func (f *face) raw(method, path string, body string, hows ...how) *reply {
	s := f.shape(&op.Operation{}, hows)
	a := ask{method: method, url: f.url + path, header: f.headers(s.as), on: f}
	a.header.Set("A2A-Version", s.version)
	if body != "" {
		a.body = []byte(body)
		a.header.Set("Content-Type", "application/json")
	}
	for k, v := range s.header {
		a.header[k] = v
	}
	if len(s.query) > 0 {
		a.url += "?" + s.query.Encode()
	}
	x := f.do(a)
	x.beyond = s.beyond
	return f.answer(f.note(x))
}

// note keeps an exchange for the checks that judge all of them.
func (s *session) note(x *Exchange) *Exchange {
	s.seen = append(s.seen, x)
	return x
}

// answer reads what came back.
func (f *face) answer(x *Exchange) *reply {
	r := &reply{Exchange: x}
	r.result, r.err = f.read1(x, x.body)
	f.remember(r.result)
	return r
}

// read1 takes one document of the binding apart.
func (f *face) read1(x *Exchange, doc []byte) (any, *refusal) {
	if x.Status == 0 {
		return nil, &refusal{broken: x.Error}
	}
	m, isObject := parse(doc).(obj)
	bad := func(why string) *refusal { return &refusal{code: x.Status, broken: why} }
	if f.binding == JSONRPC {
		switch {
		case !isObject:
			return nil, bad(fmt.Sprintf("HTTP status %d with a body that is no JSON object", x.Status))
		case m["error"] != nil:
			e := object(m["error"])
			code, _ := e["code"].(float64)
			out := &refusal{code: int(code), message: text(e["message"]), details: list(e["data"]), raw: e}
			out.reason = reason(out.details)
			return nil, out
		case m["result"] != nil:
			return m["result"], nil
		case has(m, "result") && x.def == "Empty": // how a deletion is confirmed is left open
			return obj{}, nil
		}
		return nil, bad(fmt.Sprintf("HTTP status %d with neither a result nor an error", x.Status))
	}
	if x.Status >= 200 && x.Status < 300 {
		if !isObject && len(bytes.TrimSpace(doc)) > 0 {
			return nil, bad(fmt.Sprintf("HTTP status %d with a body that is no JSON object", x.Status))
		}
		if !isObject {
			m = obj{}
		}
		return m, nil
	}
	e, ok := m["error"].(obj)
	if !ok {
		return nil, bad(fmt.Sprintf("HTTP status %d without a google.rpc.Status body", x.Status))
	}
	out := &refusal{code: x.Status, message: text(e["message"]), details: list(e["details"]), raw: e}
	out.reason = reason(out.details)
	return nil, out
}

// reason is that of the first google.rpc.ErrorInfo.
func reason(details []any) string {
	for _, d := range details {
		if strings.HasSuffix(text(object(d)["@type"]), "google.rpc.ErrorInfo") {
			return text(object(d)["reason"])
		}
	}
	return ""
}

// is says in what way an answer is not this error, or "" if it is. On HTTP+JSON errors
// that share a status are told by their reason (A2A §11.6).
func (r *reply) is(want *a2a.ErrorType) string {
	e := r.err
	if e == nil {
		return fmt.Sprintf("it was accepted; expected %s", want.Name)
	}
	expected, shared, named := want.Code, false, false
	if r.on.binding == REST {
		own := want.Domain == a2a.TaskNotFoundError.Domain
		expected, shared, named = want.HTTP, own && want.HTTP == http.StatusBadRequest, own && e.reason != ""
	}
	switch {
	case e.raw == nil && r.on.binding == REST && e.code == expected && !shared:
		return "" // its shape is judged by error.shape
	case e.raw == nil:
		return fmt.Sprintf("%s; expected %s", e.broken, want.Name)
	case e.code != expected, shared && e.reason != want.Reason, named && e.reason != want.Reason:
		return fmt.Sprintf("got %s; expected %s: %d %s", e, want.Name, expected, want.Reason)
	case e.streamed && r.on.binding == REST:
		return fmt.Sprintf("it came within a stream, with HTTP status %d; expected %d", r.Status, expected)
	}
	return ""
}

// refused says in what way an answer is no refusal of the caller's mistake, or "".
func (r *reply) refused() string {
	switch {
	case r.err == nil:
		return "it was accepted"
	case r.on.binding == REST && (r.Status < 400 || r.Status >= 500):
		return fmt.Sprintf("got HTTP status %d; a status of 4xx is expected", r.Status)
	case r.err.raw == nil && r.on.binding == JSONRPC && !(r.Status >= 400 && r.Status < 500):
		return r.err.broken
	case r.on.binding == JSONRPC && r.err.code == a2a.InternalError.Code:
		return fmt.Sprintf("got %s: it is the caller's mistake, not the server's", r.err)
	}
	return ""
}

// invalid says in what way an answer is not one to invalid input. Which of JSON-RPC's codes
// it has is for rpc.invalid-params to judge.
func (r *reply) invalid() string {
	if r.err != nil && r.on.binding == JSONRPC {
		for _, e := range []*a2a.ErrorType{a2a.InvalidRequestError, a2a.JSONParseError} {
			if r.is(e) == "" {
				return ""
			}
		}
	}
	return r.is(a2a.InvalidParamsError)
}

// unauthenticated reports whether credentials are asked for.
func (r *reply) unauthenticated() bool {
	return r.err != nil && (r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden || r.err.reason == a2a.UnauthenticatedError.Reason)
}

// unjudged keeps an answer that gives back a mistake of our own from being held against
// the server.
func unjudged(s *shape) { s.unjudged = true }

// beyond marks a request that is about no operation.
func beyond(s *shape) { s.beyond = true }

// mediaType is the answer's, without parameters and in lower case.
func (x *Exchange) mediaType() string {
	t, _, err := mime.ParseMediaType(x.header.Get("Content-Type"))
	if err != nil {
		return x.header.Get("Content-Type")
	}
	return t
}

// remember keeps what this run has started, for the cleaning up, and forgets what ended.
func (f *face) remember(result any) {
	m, _ := result.(obj)
	id, status := text(m["id"]), object(m["status"])
	for _, arm := range []string{"task", "statusUpdate"} {
		if t := object(m[arm]); t != nil {
			id, status = text(t["id"])+text(t["taskId"]), object(t["status"])
		}
	}
	if state := a2a.TaskState(text(status["state"])); id != "" && state != "" {
		if state.Terminal() {
			delete(f.started, id)
		} else if _, known := f.started[id]; !known {
			f.started[id] = f
		}
	}
}
