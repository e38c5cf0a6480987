// Package binding turns HTTP into operations and back: JSON-RPC, HTTP+JSON, and event
// streams on both. It knows the protocol's bytes and none of its task rules.
package binding

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
	"a2aserve/impl/decode"
	"a2aserve/impl/wire"
)

// Options configure the bindings. Zero values mean the defaults.
type Options struct {
	Service op.Service

	// Wired says which operations are offered; nil means all. The others answer
	// their refusal before anything else of the request is looked at.
	Wired func(*op.Operation) bool

	// Permit says whether the caller may do this; nil means everybody may. It is asked
	// before the request is looked at, so that it says the same whatever that names.
	Permit func(context.Context, *op.Operation) error

	StrictVersion bool     // a request without A2A-Version is one of 0.3 (A2A §3.6.2); otherwise of 1.0
	Extensions    []string // URIs of the extensions that streams may activate

	JSONRPCPath string                  // "/a2a", also served with a slash at the end
	RESTPrefix  string                  // "/a2a/v1"
	Routes      map[string]http.Handler // further exact paths: the Agent Card

	KeepAlive    time.Duration // silence before a comment is sent on a stream: 15 s
	WriteTimeout time.Duration // for each write to a client: 30 s
	MaxDepth     int           // nesting of a request: decode.DefaultDepth
	MaxStreams   int           // open streams in all; 0 sets no bound
	MaxEach      int           // open streams of one authenticated caller; 0 sets no bound
	Streams      *Streams      // counts them; nil: its own

	Log *slog.Logger // slog.Default()

	// Observe is told of an operation before it is carried out; the context that it returns
	// is the operation's. What it returns besides is called once the answer is out, which
	// for a stream is its end. Nil: nobody is told.
	Observe func(context.Context, *op.Operation) (ctx context.Context, done func())
}

// Handler serves both bindings. It expects the edge before it, since it asks
// call.From who calls.
type Handler struct {
	Options
	errors wire.Errors
	routes routes
	rest   http.Handler // the generated server
}

// New makes a handler. It starts nothing, so there is nothing to stop: a stream ends with
// its log or with its connection.
func New(o Options) *Handler {
	o.JSONRPCPath = strings.TrimSuffix(cmp.Or(o.JSONRPCPath, "/a2a"), "/")
	o.RESTPrefix = strings.TrimSuffix(cmp.Or(o.RESTPrefix, "/a2a/v1"), "/")
	o.KeepAlive = cmp.Or(o.KeepAlive, 15*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	o.MaxDepth = cmp.Or(o.MaxDepth, decode.DefaultDepth)
	o.Log = cmp.Or(o.Log, slog.Default())
	o.Streams = cmp.Or(o.Streams, &Streams{})
	h := &Handler{Options: o, errors: wire.Errors{Log: o.Log}, routes: newRoutes(op.Table)}
	h.rest = h.generated()
	return h
}

// Binding tells which binding a request is for, so that the edge refuses in its shape.
func (h *Handler) Binding(r *http.Request) wire.Binding {
	if p := r.URL.Path; p == h.JSONRPCPath || p == h.JSONRPCPath+"/" {
		return wire.JSONRPC
	}
	return wire.REST
}

// ServeHTTP compares paths as they are. A ServeMux would clean them, and redirect a task id
// with an encoded slash or dots to another task.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wire.Mark(w.Header())
	if route, ok := h.Routes[r.URL.Path]; ok {
		call.From(r.Context()).Route = r.URL.Path
		route.ServeHTTP(w, r)
		return
	}
	serve := h.serveREST
	if h.Binding(r) == wire.JSONRPC {
		serve = h.serveJSONRPC
	}
	if stream := serve(w, r); stream != nil {
		h.follow(stream)
	}
}

// reply is one request's way to its answer.
type reply struct {
	http.ResponseWriter
	req     *http.Request
	binding wire.Binding
	id      []byte // of a JSON-RPC request, as it came
}

// Unwrap leads http.ResponseController to the connection: a deadline that is set through a
// reply would fail unnoticed otherwise.
func (w reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// fail answers with an error in the shape of the request's binding.
func (h *Handler) fail(w reply, err error) {
	h.errors.Write(w, w.req, w.binding, w.id, err)
}

// refusal is the answer of an operation that is not offered (A2A §3.3.4).
func (h *Handler) refusal(o *op.Operation) error {
	if h.Wired == nil || h.Wired(o) {
		return nil
	}
	return &a2a.Error{Type: cmp.Or(o.Refusal, a2a.UnsupportedOperationError)}
}

// admit refuses callers that may not do this (A2A §7.5), and what nobody may.
func (h *Handler) admit(r *http.Request, o *op.Operation) error {
	if h.Permit != nil {
		if err := h.Permit(r.Context(), o); err != nil {
			return err
		}
	}
	return h.refusal(o)
}

// decode is the same for both bindings, so that a request is judged alike however it came
// (A2A §5.1). It makes the operation's request out of a document and what the URL has said.
func (h *Handler) decode(o *op.Operation, doc []byte, fixed map[string]string, found []a2a.Violation) (any, error) {
	in := o.New()
	err := decode.Decode(decode.Input{
		Def: o.Request, JSON: doc, Fixed: fixed, Found: found, Depth: h.MaxDepth, Check: h.check,
	}, in)
	return in, err
}

// check refuses what no operation of this server takes, whatever else is wrong: a client
// that wants push, or another tenant's agent, is not helped by hearing of its typing errors.
func (h *Handler) check(members map[string]any) ([]a2a.Violation, error) {
	if c, ok := members["configuration"].(map[string]any); ok && c["taskPushNotificationConfig"] != nil {
		if err := h.refusal(op.ByName("CreateTaskPushNotificationConfig")); err != nil {
			return nil, err
		}
	}
	if t, ok := members["tenant"].(string); ok && t != "" {
		return []a2a.Violation{{Field: "tenant", Description: "must be empty: no tenants are served"}}, nil
	}
	return nil, nil
}

// answer carries an operation out and writes what comes of it. Nothing is written before
// the operation has accepted the request, so a refusal is an ordinary error response. A
// stream is returned: it has not been written yet.
func (h *Handler) answer(w reply, o *op.Operation, in any) *following {
	if o.Streaming {
		return h.open(w, o, in)
	}
	if h.Observe != nil {
		ctx, done := h.Observe(w.req.Context(), o)
		defer done()
		w.req = w.req.WithContext(ctx)
	}
	out, err := o.Call(w.req.Context(), h.Service, in)
	switch {
	case err != nil:
		h.fail(w, err)
	case len(out.JSON) > 0:
		if !keep(w, out.ETag) {
			h.write(w, out.JSON)
		}
	default: // a response without a result would be no JSON-RPC
		h.fail(w, errNoAnswer)
	}
	return nil
}

var errNoAnswer = errors.New("the operation gave no answer")

// operation tells the log what is being asked. The call is shared with the edge, which
// writes the log once the answer is out.
func operation(r *http.Request, o *op.Operation) *op.Operation {
	call.From(r.Context()).Operation = o.Name
	return o
}
