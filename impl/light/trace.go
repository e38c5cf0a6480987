package light

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
	"a2aserve/impl/edge"
	"a2aserve/impl/turn"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// maxText bounds, in bytes, each attribute that somebody else has written.
const maxText = 256

// text is such an attribute: bounded, and in UTF-8, without which a whole batch of spans
// could not be encoded.
func text(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxText)], "\uFFFD")
}

// Edge is the edge's hook: a server span for each request, below the caller's if it names
// one (W3C Trace Context), and the metrics of requests. Nil while both are off.
func (l *Light) Edge() func(*http.Request, *call.Call) (context.Context, func(edge.Answer)) {
	if !l.on() {
		return nil
	}
	return func(r *http.Request, c *call.Call) (context.Context, func(edge.Answer)) {
		ctx, span := r.Context(), trace.Span(nil)
		if l.tracing {
			ctx, span = l.request(r, c)
		}
		return ctx, func(a edge.Answer) {
			if l.metrics != nil {
				l.metrics.answered(r, c, a)
			}
			if span != nil {
				l.answered(span, r, c, a)
			}
		}
	}
}

func (l *Light) request(r *http.Request, c *call.Call) (context.Context, trace.Span) {
	ctx := l.context.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	verb := method(r)
	attrs := []attribute.KeyValue{
		verb, semconv.URLScheme(scheme), semconv.URLPath(text(r.URL.Path)),
		semconv.NetworkProtocolVersion(strings.TrimPrefix(r.Proto, "HTTP/")),
		attribute.String("a2a.request.id", c.RequestID),
	}
	if c.Client.IsValid() {
		attrs = append(attrs, semconv.ClientAddress(c.Client.String()))
	}
	if agent := r.UserAgent(); agent != "" {
		attrs = append(attrs, semconv.UserAgentOriginal(text(agent)))
	}
	return l.tracer.Start(ctx, spanName(verb, ""), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs...))
}

// spanName is the method and the route, which are few, and never the path.
func spanName(verb attribute.KeyValue, route string) string {
	name := verb.Value.AsString()
	if name == "_OTHER" {
		name = "HTTP"
	}
	return strings.TrimSuffix(name+" "+route, " ")
}

func (l *Light) answered(span trace.Span, r *http.Request, c *call.Call, a edge.Answer) {
	if c.Route != "" {
		span.SetName(spanName(method(r), c.Route))
		span.SetAttributes(semconv.HTTPRoute(c.Route))
	}
	span.SetAttributes(semconv.HTTPResponseStatusCode(a.Status))
	if a.Status >= 500 || a.Aborted {
		span.SetAttributes(semconv.ErrorTypeKey.String(a.Outcome))
		span.SetStatus(codes.Error, a.Outcome)
	}
	span.End()
}

// Binding is the bindings' hook: a span for each operation that has been understood, and
// the count of streams. Nil while both are off.
func (l *Light) Binding() func(context.Context, *op.Operation) (context.Context, func()) {
	if !l.on() {
		return nil
	}
	return func(ctx context.Context, o *op.Operation) (context.Context, func()) {
		if o.Streaming {
			l.streams.Add(1)
		}
		ctx, span := l.tracer.Start(ctx, o.Name)
		return ctx, func() {
			if o.Streaming {
				l.streams.Add(-1)
			}
			if c := call.Find(ctx); c != nil && span.IsRecording() {
				ofTask(span, c)
			}
			span.End()
		}
	}
}

func ofTask(span trace.Span, c *call.Call) {
	if c.Task != "" {
		span.SetAttributes(attribute.String("a2a.task.id", text(c.Task)))
	}
	if c.Failure != "" {
		span.SetAttributes(semconv.ErrorTypeKey.String(c.Failure))
	}
	if c.Status >= 500 {
		span.SetStatus(codes.Error, c.Failure)
	}
}

// Turns is the engine's hook; nil while metrics and traces are off.
func (l *Light) Turns() turn.Observer {
	if !l.on() {
		return nil
	}
	return observer{l}
}

type observer struct{ l *Light }

// Begin makes the turn's span a child of the operation that brought the task. It outlives
// that, as a turn outlives its client.
func (o observer) Begin(request, running context.Context, in turn.Input) (context.Context, string, turn.Observation) {
	w := &observation{l: o.l, began: time.Now()}
	if !o.l.tracing {
		return running, "", w
	}
	_, w.span = o.l.tracer.Start(request, "invoke_agent", trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("gen_ai.conversation.id", text(in.ContextID)),
		attribute.String("a2a.task.id", in.TaskID)))
	w.ctx = trace.ContextWithSpan(baggage.ContextWithBaggage(running, baggage.FromContext(request)), w.span)
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(w.ctx, carrier)
	return w.ctx, carrier.Get("traceparent"), w
}

// observation follows one turn.
type observation struct {
	l     *Light
	began time.Time
	ctx   context.Context
	span  trace.Span // nil: not traced

	mu    sync.Mutex // guards what follows
	tools map[string][]trace.Span
	open  int // in tools
	over  bool
}

// maxTools bounds the spans of tools that are open at once in a turn: an agent may never
// report a result.
const maxTools = 256

func (w *observation) Status(s a2a.TaskState) {
	if w.span != nil {
		w.span.AddEvent("a2a.task.state", trace.WithAttributes(attribute.String("a2a.task.state", word(s))))
	}
}

func (w *observation) Answered(request context.Context) {
	if w.span != nil {
		w.span.AddLink(trace.LinkFromContext(request))
	}
}

func (w *observation) ToolInvoked(callID, name string) {
	if w.span == nil || !w.span.IsRecording() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.open == maxTools {
		return
	}
	name = text(name)
	_, span := w.l.tracer.Start(w.ctx, strings.TrimSpace("execute_tool "+name), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", name),
		attribute.String("gen_ai.tool.call.id", text(callID))))
	if w.tools == nil {
		w.tools = map[string][]trace.Span{}
	}
	w.tools[callID] = append(w.tools[callID], span)
	w.open++
}

// ToolReturned ends the oldest open call of this id: without ids, results are taken to
// come in the order of their calls.
func (w *observation) ToolReturned(callID string, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	open := w.tools[callID]
	if len(open) == 0 {
		return
	}
	if failed {
		open[0].SetStatus(codes.Error, "the tool failed")
	}
	open[0].End()
	w.open--
	if w.tools[callID] = open[1:]; len(open) == 1 {
		delete(w.tools, callID)
	}
}

func (w *observation) Over(s a2a.TaskState) {
	if w.l.metrics != nil && s != "" {
		w.l.metrics.ended(s, time.Since(w.began))
	}
	if w.span == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	for _, open := range w.tools {
		for _, span := range open {
			span.AddEvent("the turn ended without a result")
			span.End()
		}
	}
	w.tools = nil
	if s == "" {
		w.span.SetStatus(codes.Error, "the task could not be stored")
	} else {
		w.span.SetAttributes(attribute.String("a2a.task.state", word(s)))
	}
	if s == a2a.TaskStateFailed {
		w.span.SetStatus(codes.Error, "the task failed")
	}
	w.span.End()
}
