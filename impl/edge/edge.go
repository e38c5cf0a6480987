// Package edge is what every request passes before a binding sees it: recovery, log,
// identity and the size of the body. It refuses in the caller's protocol.
package edge

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"a2aserve/impl/call"
	"a2aserve/impl/wire"
)

// Authenticator tells who a request speaks for. What it refuses with is an *a2a.Error.
type Authenticator interface {
	Authenticate(*http.Request) (call.Principal, error)
}

// DefaultMaxBody bounds request bodies where nothing else is said, in bytes.
const DefaultMaxBody = 4 << 20

// Options configure the edge.
type Options struct {
	Auth    Authenticator                    // nil: everybody is call.Anonymous
	Public  func(*http.Request) bool         // passes without credentials: the Agent Card (A2A §8.2)
	Binding func(*http.Request) wire.Binding // whose error shape a path gets; nil: REST
	MaxBody int64                            // bytes; 0 means DefaultMaxBody
	Log     *slog.Logger                     // nil: slog.Default()
	Guard

	// Observe is told of a request before anything of it is judged; the context that it
	// returns is the request's. The function is called once the answer is out. Nil: nobody
	// is told.
	Observe func(*http.Request, *call.Call) (context.Context, func(Answer))
}

// Handler puts the edge before next.
func Handler(o Options, next http.Handler) http.Handler {
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Binding == nil {
		o.Binding = func(*http.Request) wire.Binding { return wire.REST }
	}
	o.Guard = o.withDefaults()
	return &edge{o, wire.Errors{Log: o.Log}, next}
}

type edge struct {
	Options
	errors wire.Errors
	next   http.Handler
}

func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call.Call{Principal: call.Anonymous, RequestID: requestID()}
	r = r.WithContext(call.With(r.Context(), c))
	c.Client = e.Address(r)
	rec := &recorder{ResponseWriter: w, began: time.Now(), done: func(Answer) {}}
	if e.Observe != nil {
		var ctx context.Context
		ctx, rec.done = e.Observe(r, c)
		r = r.WithContext(ctx)
	}
	wire.Mark(rec.Header())
	rec.Header()["X-Request-Id"] = []string{c.RequestID}
	e.harden(rec.Header(), r)
	defer func() { e.finish(rec, r, c, recover()) }()
	if e.CORS.answer(rec.Header(), r) {
		rec.WriteHeader(http.StatusNoContent)
		return
	}
	if err := e.admit(rec, r, c); err != nil {
		e.errors.Write(rec, r, e.Binding(r), nil, err)
		return
	}
	z := &zipper{ResponseWriter: rec, req: r}
	defer z.done()
	e.next.ServeHTTP(z, r)
}

// admit decides whether the request may go on. Identity comes first: a caller without
// one learns nothing else, and none of its body is read (A2A §7.4, §13.1).
func (e *edge) admit(w *recorder, r *http.Request, c *call.Call) error {
	public := e.Public != nil && e.Public(r)
	if !public {
		if err := e.checkAddress(c.Client); err != nil {
			return err
		}
	}
	if e.Auth != nil && !public {
		p, err := e.Auth.Authenticate(r)
		if err != nil {
			return err
		}
		c.Principal = p
		if err := e.PerPrincipal.check(p.ID, "caller"); err != nil {
			return err
		}
	}
	if !public {
		leave, err := e.Gate.enter(e.MaxConcurrent)
		if err != nil {
			return err
		}
		w.leave = leave
	}
	return e.body(w, r)
}

// finish answers for a handler that panicked, and tells how the request ended.
func (e *edge) finish(w *recorder, r *http.Request, c *call.Call, panicked any) {
	defer w.depart()
	abort := panicked == http.ErrAbortHandler
	if panicked != nil && !abort {
		err := fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())
		if abort = w.status != 0; abort {
			// A response is under way; breaking it off is the only honest end.
			e.Log.ErrorContext(r.Context(), "request failed", "request", c.RequestID, "error", err)
		} else {
			e.errors.Write(w, r, e.Binding(r), nil, err)
		}
	}
	a := Answer{Binding: e.Binding(r), Status: w.status, Bytes: w.bytes, Took: time.Since(w.began), Aborted: abort}
	// What is broken off on a client's leaving is the client's doing.
	if c.Failure == call.Left || a.Status == 0 && r.Context().Err() != nil {
		a.Status = call.LeftStatus
	}
	a.Outcome = outcome(c, a)
	e.record(r, c, a)
	w.done(a)
	if abort {
		panic(http.ErrAbortHandler)
	}
}

// recorder remembers what was answered. Flushing and deadlines go to the writer below
// by way of http.ResponseController.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	leave  func() // out of the gate; nil: not in it
	began  time.Time
	done   func(Answer)
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
		if w.Header().Get("Content-Type") == "text/event-stream" {
			w.depart() // streams have a bound of their own
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// depart gives back the place among the requests being served.
func (w *recorder) depart() {
	if w.leave != nil {
		w.leave()
		w.leave = nil
	}
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}
