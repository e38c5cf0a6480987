// Package wire knows how an error looks on each binding, HTTP status included. It is
// shared by the edge, which refuses before any binding runs, and by the bindings.
package wire

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// Version is the protocol version served (A2A §3.6).
	Version = "1.0"
	// VersionHeader names the service parameter that carries it.
	VersionHeader = "A2A-Version"
	// ExtensionsHeader names requested and, on the way back, activated extensions.
	ExtensionsHeader = "A2A-Extensions"
)

// Binding is a way of writing the protocol on HTTP.
type Binding uint8

// The bindings.
const (
	REST Binding = iota
	JSONRPC
)

// Errors writes errors and logs what is not sent. The zero value is ready for use.
type Errors struct {
	Log *slog.Logger     // nil: slog.Default()
	Now func() time.Time // nil: time.Now
}

// Write answers a request with err in the shape of binding b. id is the JSON-RPC request id
// as it came, nil where it is unknown; REST has none. An error that is not an *a2a.Error
// is logged and sent as an InternalError.
func (e Errors) Write(w http.ResponseWriter, r *http.Request, b Binding, id []byte, err error) {
	known := e.classify(r.Context(), err)
	note(r.Context(), known, err)
	h := w.Header()
	if s := known.RetryAfter; s > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((s+time.Second-1)/time.Second), 10))
	}
	if c, ok := errors.AsType[challenger](err); ok && c.Challenge() != "" {
		h.Set("WWW-Authenticate", c.Challenge())
	}
	var body any
	status := known.Type.HTTP
	if b == JSONRPC {
		SetType(h, JSON)
		if id == nil {
			id = []byte("null")
		}
		body = response{"2.0", id, rpcError{known.Type.Code, known.Text(), e.details(known)}}
		// A JSON-RPC error is an answer like another; only refusals of the
		// transport show in the HTTP status.
		if !known.Type.Refusal {
			status = http.StatusOK
		}
	} else {
		SetType(h, MediaType(r))
		body = restBody{restError{known.Type.HTTP, known.Type.Status, known.Text(), e.details(known)}}
	}
	text, err := json.Marshal(body, jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true), json.Deterministic(true))
	if err != nil {
		panic("wire: " + err.Error()) // plain strings and numbers only
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	Mark(h)
	// A caller that does not read must not hold the connection. The answer leaves when the
	// handler returns, in one write, and net/http takes the deadline back then.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit))
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// challenger is a cause that asks for credentials (RFC 9110 §11.6.1): why a caller has
// not been let in is known only to who has asked for them.
type challenger interface {
	error
	Challenge() string
}

// writeLimit bounds the writing of an error.
const writeLimit = 30 * time.Second

// classify finds the error to send and logs what is held back.
func (e Errors) classify(ctx context.Context, err error) *a2a.Error {
	log := e.Log
	if log == nil {
		log = slog.Default()
	}
	known, ok := errors.AsType[*a2a.Error](err)
	if !ok {
		known = (&a2a.Error{Type: a2a.InternalError}).Because(err)
		if left(ctx, err) {
			log.DebugContext(ctx, "the caller has left", "error", err)
			return known
		}
	}
	switch {
	case known.Type.HTTP >= 500 && known.Type != a2a.UnavailableError:
		log.ErrorContext(ctx, "request failed", "error", err)
	case known.Cause != nil:
		log.DebugContext(ctx, "request refused", "error", err)
	}
	return known
}

// left says whether an operation ended because its client did not wait for it.
func left(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// note tells whoever logs and counts the request how it ends.
func note(ctx context.Context, known *a2a.Error, err error) {
	c := call.Find(ctx)
	switch {
	case c == nil:
	case known.Type == a2a.InternalError && left(ctx, err):
		c.Failure, c.Status = call.Left, call.LeftStatus
	default:
		c.Failure, c.Status = known.Type.Reason, known.Type.HTTP
	}
}

// response is a JSON-RPC response object that holds an error.
type response struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Error   rpcError       `json:"error"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    []any  `json:"data"`
}

// restBody is a google.rpc.Status as HTTP+JSON answers have it (A2A §11.6).
type restBody struct {
	Error restError `json:"error"`
}

type restError struct {
	Code    int    `json:"code"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Details []any  `json:"details"`
}

// errorInfo and badRequest are google.rpc types in their ProtoJSON form.
type errorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata"`
}

type badRequest struct {
	Type       string          `json:"@type"`
	Violations []a2a.Violation `json:"fieldViolations"`
}

// details are the same objects on both bindings (A2A §9.5, §11.6): an ErrorInfo always,
// and what is wrong with which field where that is known.
func (e Errors) details(err *a2a.Error) []any {
	now := time.Now
	if e.Now != nil {
		now = e.Now
	}
	meta := map[string]string{"timestamp": now().UTC().Format(a2a.TimestampLayout)}
	for k, v := range err.Metadata {
		meta[k] = v
	}
	list := []any{errorInfo{"type.googleapis.com/google.rpc.ErrorInfo", err.Type.Reason, err.Type.Domain, meta}}
	if len(err.Violations) > 0 {
		list = append(list, badRequest{"type.googleapis.com/google.rpc.BadRequest", err.Violations})
	}
	return list
}
