package edge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"a2aserve/impl/call"
	"a2aserve/impl/wire"
)

// Answer is what became of a request, beside what its call says.
type Answer struct {
	Binding wire.Binding
	Status  int   // as it was sent; call.LeftStatus where nobody waited for it
	Bytes   int64 // of the body
	Took    time.Duration
	Aborted bool   // broken off by a fault of ours
	Outcome string // OK, the call's Failure, or ABORTED
}

// Bounds of what a caller wrote and a log repeats, in bytes.
const (
	maxLoggedPath = 256
	maxLoggedTask = 64
)

// record writes what is logged of every request. Query, headers and body stay out of it,
// since people put tokens into all of them.
func (e *edge) record(r *http.Request, c *call.Call, a Answer) {
	level := slog.LevelInfo
	if a.Status >= 500 || c.Status >= 500 {
		level = slog.LevelWarn
	}
	ctx := context.WithoutCancel(r.Context())
	if e.Log.Enabled(ctx, level) {
		attrs := append(who(c), slog.String("method", r.Method), slog.String("path", bounded(r.URL.Path, maxLoggedPath)),
			slog.Int("status", a.Status), slog.Int64("bytes", a.Bytes),
			slog.Float64("duration_ms", float64(a.Took)/float64(time.Millisecond)),
			slog.String("outcome", a.Outcome))
		if c.Version != "" {
			attrs = append(attrs, slog.String("version", c.Version))
		}
		// The caller's own id is repeated beside ours and never in its place: it could
		// otherwise put its lines among another's.
		if id := r.Header.Get("X-Request-Id"); callersID.MatchString(id) {
			attrs = append(attrs, slog.String("caller_request", id))
		}
		e.Log.LogAttrs(ctx, level, "request", attrs...)
	}
	e.audit(ctx, c)
}

var callersID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)

// audit writes down who was refused, and who cancelled what, or tried to. It is
// written whatever level is logged: a quiet log must not lose it.
func (e *edge) audit(ctx context.Context, c *call.Call) {
	refused := c.Status == http.StatusUnauthorized || c.Status == http.StatusForbidden ||
		c.Status == http.StatusTooManyRequests || c.Failure == "TASK_NOT_FOUND"
	if !refused && c.Operation != "CancelTask" {
		return
	}
	attrs := append([]slog.Attr{slog.Bool("audit", true)}, who(c)...)
	if c.Failure == "" {
		attrs = append(attrs, slog.String("outcome", "done"))
	} else {
		attrs = append(attrs, slog.String("outcome", "refused"), slog.String("reason", c.Failure))
	}
	rec := slog.NewRecord(time.Now(), slog.LevelInfo, "audit", 0)
	rec.AddAttrs(attrs...)
	_ = e.Log.Handler().Handle(ctx, rec) // a log that cannot be written stops nobody
}

// who are the attributes that say who asked for what. An anonymous caller has no principal.
func who(c *call.Call) []slog.Attr {
	attrs := append(make([]slog.Attr, 0, 16), slog.String("request", c.RequestID))
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	if c.Principal.ID != call.Anonymous.ID {
		add("principal", c.Principal.ID)
		add("tenant", c.Principal.Tenant)
	}
	add("operation", c.Operation)
	add("task", bounded(c.Task, maxLoggedTask))
	if c.Client.IsValid() {
		add("address", c.Client.String())
	}
	return attrs
}

// outcome is one word for how a request ended.
func outcome(c *call.Call, a Answer) string {
	switch {
	case a.Aborted:
		return "ABORTED"
	case c.Failure != "":
		return c.Failure
	case a.Status == call.LeftStatus:
		return call.Left
	}
	return "OK"
}

func bounded(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// requestID is made here and never taken from the request.
func requestID() string {
	var b [12]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
