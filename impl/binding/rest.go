package binding

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
	"a2aserve/impl/wire"
)

// serveREST is the HTTP+JSON binding (A2A §11). The generated server would bind query
// parameters one by one and stop at the first error, read media types by case and take a
// colon within an id for a verb. So the request is read here, whole, and the generated
// router only dispatches it. What it returns is the stream that is to be written.
func (h *Handler) serveREST(w http.ResponseWriter, r *http.Request) *following {
	to := reply{w, r, wire.REST, nil}
	path, below := strings.CutPrefix(r.URL.EscapedPath(), h.RESTPrefix)
	rt, fixed := h.routes.match(path)
	if !below || rt == nil {
		h.fail(to, &a2a.Error{Type: a2a.RouteNotFoundError})
		return nil
	}
	call.From(r.Context()).Route = h.RESTPrefix + rt.path
	o := rt.ops[r.Method]
	if o == nil {
		allow := strings.Join(rt.allow, ", ")
		w.Header().Set("Allow", allow)
		h.fail(to, a2a.MethodNotAllowedError.Errorf("%s is not allowed here; use %s", r.Method, allow))
		return nil
	}
	operation(r, o)
	err := h.negotiate(r)
	if err == nil {
		err = h.admit(r, o)
	}
	var in any
	if err == nil {
		in, err = h.readREST(o, r, fixed)
	}
	if err != nil {
		h.fail(to, err)
		return nil
	}
	// The generated server gets an address that only names the operation: its own
	// parsing of ids and parameters has nothing left to trip over.
	x := &read{h, to, o, in, nil}
	next := r.WithContext(context.WithValue(r.Context(), readKey{}, x))
	next.Method, next.Body = o.Verb, http.NoBody
	next.URL = rt.example
	h.rest.ServeHTTP(w, next)
	return x.stream
}

// readREST makes the operation's request from path, query and body. A cancellation needs no
// body, hence no Content-Type either; a body that is there must be labelled as JSON, since
// browsers send other types across sites without asking.
func (h *Handler) readREST(o *op.Operation, r *http.Request, fixed map[string]string) (any, error) {
	var body []byte
	if r.Method == http.MethodPost {
		var err error
		if body, err = wire.ReadBody(r); err != nil {
			return nil, err
		}
		if len(body) > 0 {
			if err := wire.CheckBody(r); err != nil {
				return nil, err
			}
		}
	}
	if o.Body || len(body) > 0 {
		var found []a2a.Violation
		if r.URL.RawQuery != "" && r.URL.Query().Get("tenant") != "" { // the one parameter that must not be overlooked
			found = []a2a.Violation{{Field: "tenant", Description: "must be empty: no tenants are served"}}
		}
		return h.decode(o, body, fixed, found)
	}
	doc, found := readQuery(o.Request, r.URL.RawQuery)
	return h.decode(o, doc, fixed, found)
}

// routes are the paths below the prefix, those with a verb (":cancel") first, since an id
// may hold colons too: GET /tasks/x:cancel is a wrong verb and not a task "x:cancel".
type routes []*route

// route is one path and what its verbs mean.
type route struct {
	path    string
	pattern []segment
	example *url.URL // a path that the generated router sends to the same place
	ops     map[string]*op.Operation
	allow   []string
}

// segment is a fixed part of a path, or a variable with what must follow it: {id}:cancel.
type segment struct {
	fixed          string
	variable, verb string // variable is empty where it is fixed
}

func newSegments(path string) (list []segment) {
	for s := range strings.SplitSeq(path, "/") {
		name, verb, isVariable := strings.Cut(strings.TrimPrefix(s, "{"), "}")
		if !isVariable {
			list = append(list, segment{fixed: s})
			continue
		}
		list = append(list, segment{variable: name, verb: verb})
	}
	return list
}

// newRoutes groups the operations by path. A second verb of an operation (A2A §11.3.2 has
// POST where the proto has GET) leads to the same row.
func newRoutes(table []op.Operation) routes {
	var all routes
	byPath := map[string]*route{}
	for i := range table {
		o := &table[i]
		rt := byPath[o.Path]
		if rt == nil {
			rt = &route{path: o.Path, pattern: newSegments(o.Path), example: &url.URL{Path: variable.Replace(o.Path)}, ops: map[string]*op.Operation{}}
			byPath[o.Path] = rt
			all = append(all, rt)
		}
		for _, verb := range append([]string{o.Verb}, o.AltVerbs...) {
			rt.ops[verb] = o
			rt.allow = append(rt.allow, verb)
		}
		// Whoever may GET a document may ask for its head; a stream has none.
		if rt.ops[http.MethodGet] == o && !o.Streaming {
			rt.ops[http.MethodHead] = o
			rt.allow = append(rt.allow, http.MethodHead)
		}
	}
	for _, rt := range all {
		slices.Sort(rt.allow)
	}
	slices.SortStableFunc(all, func(a, b *route) int { return strings.Count(b.path, ":") - strings.Count(a.path, ":") })
	return all
}

// variable takes the braces off a variable: its name will do as a value.
var variable = strings.NewReplacer("{", "", "}", "")

// match finds the route of an escaped path, and the unescaped values of its variables.
func (all routes) match(path string) (*route, map[string]string) {
	segments := strings.Split(path, "/")
	for _, rt := range all {
		if values, ok := rt.match(segments); ok {
			return rt, values
		}
	}
	return nil, nil
}

// match compares segment by segment, still escaped, so that an encoded slash or colon stays
// within its id.
func (rt *route) match(segments []string) (map[string]string, bool) {
	if len(segments) != len(rt.pattern) {
		return nil, false
	}
	for i, want := range rt.pattern {
		if want.variable == "" && segments[i] != want.fixed {
			return nil, false
		}
	}
	values := map[string]string{}
	for i, want := range rt.pattern {
		if want.variable == "" {
			continue
		}
		value, ok := strings.CutSuffix(segments[i], want.verb)
		if !ok || value == "" {
			return nil, false
		}
		plain, err := url.PathUnescape(value)
		if err != nil {
			return nil, false
		}
		values[want.variable] = plain
	}
	return values, true
}
