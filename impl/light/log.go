package light

import (
	"context"
	"log/slog"

	"a2aserve/impl/call"

	"go.opentelemetry.io/otel/trace"
)

// NewLogger returns a log that adds to each line which request it is about, and in which
// trace, as far as the context tells.
func NewLogger(log *slog.Logger) *slog.Logger {
	if _, already := log.Handler().(handler); already {
		return log
	}
	return slog.New(handler{log.Handler()})
}

type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	c, span := call.Find(ctx), trace.SpanContextFromContext(ctx)
	if c == nil && !span.IsValid() {
		return h.Handler.Handle(ctx, r)
	}
	r = r.Clone()
	if c != nil && !has(r, "request") {
		r.AddAttrs(slog.String("request", c.RequestID))
	}
	if span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func has(r slog.Record, key string) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = a.Key == key
		return !found
	})
	return found
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
