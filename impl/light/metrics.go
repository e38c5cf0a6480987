package light

import (
	"cmp"
	"context"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"
	"a2aserve/impl/edge"
	"a2aserve/impl/store"
	"a2aserve/impl/turn"
	"a2aserve/impl/wire"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// instruments are what is counted as it happens. What merely is, such as the turns in
// flight, is looked at when somebody asks. docs/observability.md says what each means.
type instruments struct {
	duration     metric.Float64Histogram // of requests
	requests     metric.Int64Counter
	refusals     metric.Int64Counter
	limited      metric.Int64Counter
	turns        metric.Int64Counter
	turnDuration metric.Float64Histogram
	commit       metric.Float64Histogram
	commitFailed metric.Int64Counter
	group        metric.Int64Histogram
	evicted      metric.Int64Counter
}

// maker makes instruments and keeps the first error, which only a wrong name can cause.
type maker struct {
	metric.Meter
	err error
}

func (m *maker) counter(name, unit, what string) metric.Int64Counter {
	c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
	m.err = cmp.Or(m.err, err)
	return c
}

func (m *maker) seconds(name, what string, bounds ...float64) metric.Float64Histogram {
	h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(bounds...))
	m.err = cmp.Or(m.err, err)
	return h
}

func (m *maker) gauge(name, unit, what string) metric.Int64ObservableGauge {
	g, err := m.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(what))
	m.err = cmp.Or(m.err, err)
	return g
}

func (l *Light) instruments(meter metric.Meter) (*instruments, error) {
	m := &maker{Meter: meter}
	i := &instruments{
		duration: m.seconds("http.server.request.duration", "Duration of HTTP requests; of a stream, until its end.",
			0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10),
		requests: m.counter("a2aserve.requests", "{request}", "Requests by operation, binding and how they ended."),
		refusals: m.counter("a2aserve.auth.refusals", "{request}", "Requests refused for who sent them: not authenticated, or not permitted."),
		limited:  m.counter("a2aserve.rate_limited", "{request}", "Requests refused because their sender sends too many."),
		turns:    m.counter("a2aserve.turns", "{turn}", "Turns by the state that they ended in."),
		turnDuration: m.seconds("a2aserve.turn.duration", "Duration of turns by the state that they ended in, waiting for people included.",
			0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600),
		commit: m.seconds("a2aserve.journal.commit.duration", "Duration of the groups of writes that share a commit.",
			0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5),
		commitFailed: m.counter("a2aserve.journal.commit.failures", "{commit}", "Groups of writes of which nothing was stored."),
		evicted:      m.counter("a2aserve.tasks.evicted", "{task}", "Finished tasks that retention removed."),
	}
	var err error
	i.group, err = meter.Int64Histogram("a2aserve.journal.group.size", metric.WithUnit("{write}"),
		metric.WithDescription("Writes that shared a commit."), metric.WithExplicitBucketBoundaries(1, 2, 4, 8, 16, 32, 64, 128, 256))
	m.err = cmp.Or(m.err, err)
	l.gauges(m)
	i.zero()
	return i, m.err
}

// zero makes the counters that alerts rest on exist before anything has happened: a rate
// over a counter that appears with its first count misses that count.
func (i *instruments) zero() {
	ctx := context.Background()
	for _, s := range []a2a.TaskState{a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled, a2a.TaskStateRejected} {
		i.turns.Add(ctx, 0, state(s))
	}
	for _, e := range []*a2a.ErrorType{a2a.UnauthenticatedError, a2a.PermissionDeniedError} {
		i.refusals.Add(ctx, 0, metric.WithAttributes(attribute.String("code", e.Reason)))
	}
	i.limited.Add(ctx, 0)
	i.commitFailed.Add(ctx, 0)
	i.evicted.Add(ctx, 0)
}

// gauges look at the engine and the store, once for every reading.
func (l *Light) gauges(m *maker) {
	inFlight := m.gauge("a2aserve.turns.in_flight", "{turn}", "Turns that have not ended, parked ones included.")
	parked := m.gauge("a2aserve.turns.parked", "{turn}", "Turns that wait for an answer or an authorisation.")
	queued := m.gauge("a2aserve.run_queue.length", "{event}", "Events and requests that wait for the owners of their runs.")
	failing := m.gauge("a2aserve.tasks.failing", "{task}", "Tasks whose last change the store has not taken yet.")
	streams := m.gauge("a2aserve.subscribers", "{stream}", "Streams that are open.")
	writes := m.gauge("a2aserve.journal.queue.length", "{write}", "Writes that wait for the journal.")
	size := m.gauge("a2aserve.store.size", "By", "Size of the database and its write-ahead log.")
	build := m.gauge("a2aserve.build_info", "", "Always 1; the labels say what was built.")
	b := built()
	built := metric.WithAttributes(attribute.String("version", b.version), attribute.String("revision", b.revision), attribute.String("goversion", runtime.Version()))
	_, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if stats := l.engine.Load(); stats != nil {
			s := (*stats)()
			o.ObserveInt64(inFlight, int64(s.InFlight))
			o.ObserveInt64(parked, int64(s.Parked))
			o.ObserveInt64(queued, int64(s.Queued))
			o.ObserveInt64(failing, int64(s.Failing))
		}
		if stats := l.store.Load(); stats != nil {
			s := (*stats)()
			o.ObserveInt64(writes, int64(s.Queued))
			o.ObserveInt64(size, s.Bytes)
		}
		o.ObserveInt64(streams, l.streams.Load())
		o.ObserveInt64(build, 1, built)
		return nil
	}, inFlight, parked, queued, failing, streams, writes, size, build)
	m.err = cmp.Or(m.err, err)
}

// methods are the verbs that a label may hold; what else a caller makes up is one more.
var methods = map[string]attribute.KeyValue{}

func init() {
	for _, m := range []string{"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE", "QUERY"} {
		methods[m] = semconv.HTTPRequestMethodKey.String(m)
	}
}

func method(r *http.Request) attribute.KeyValue {
	if m, ok := methods[r.Method]; ok {
		return m
	}
	return semconv.HTTPRequestMethodOther
}

// answered counts a request. All labels come from tables of ours: neither a path nor an
// id, nor anything else that a caller chooses.
func (i *instruments) answered(r *http.Request, c *call.Call, a edge.Answer) {
	ctx := context.Background() // the request's may have ended, and carries nothing that is wanted here
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	attrs := []attribute.KeyValue{method(r), semconv.URLScheme(scheme), semconv.HTTPResponseStatusCode(a.Status)}
	if c.Route != "" {
		attrs = append(attrs, semconv.HTTPRoute(c.Route))
	}
	if a.Status >= 500 {
		attrs = append(attrs, semconv.ErrorTypeKey.String(a.Outcome))
	}
	i.duration.Record(ctx, a.Took.Seconds(), metric.WithAttributes(attrs...))
	i.requests.Add(ctx, 1, metric.WithAttributes(attribute.String("operation", cmp.Or(c.Operation, "none")),
		attribute.String("binding", binding(a.Binding)), attribute.String("code", a.Outcome)))
	switch c.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		i.refusals.Add(ctx, 1, metric.WithAttributes(attribute.String("code", c.Failure)))
	case http.StatusTooManyRequests:
		i.limited.Add(ctx, 1)
	}
}

func binding(b wire.Binding) string {
	if b == wire.JSONRPC {
		return "jsonrpc"
	}
	return "rest"
}

// state is a final state as a label.
func state(s a2a.TaskState) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String("state", word(s)))
}

// word is a state without its prefix, in small letters.
func word(s a2a.TaskState) string {
	return strings.ToLower(strings.TrimPrefix(string(s), "TASK_STATE_"))
}

func (i *instruments) ended(s a2a.TaskState, took time.Duration) {
	i.turns.Add(context.Background(), 1, state(s))
	i.turnDuration.Record(context.Background(), took.Seconds(), state(s))
}

// Store is the store's hook.
func (l *Light) Store() store.Observer {
	if !l.on() || l.metrics == nil {
		return store.Observer{}
	}
	i := l.metrics
	ctx := context.Background()
	return store.Observer{
		Committed: func(writes int, took time.Duration, err error) {
			i.commit.Record(ctx, took.Seconds())
			i.group.Record(ctx, int64(writes))
			if err == nil {
				l.broken.Store(0)
				return
			}
			i.commitFailed.Add(ctx, 1)
			l.broken.Store(time.Now().UnixNano())
		},
		Evicted: func(n int64) { i.evicted.Add(ctx, n) },
	}
}

type build struct{ version, revision string }

// built is what the Go tool has put into the binary.
func built() build {
	b := build{"unknown", "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.version = cmp.Or(info.Main.Version, b.version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.revision = s.Value
			}
		}
	}
	return b
}

var _ turn.Observer = observer{}
