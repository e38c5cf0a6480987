package light

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"
	"a2aserve/impl/store"
	"a2aserve/impl/turn"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, o Options) *Light {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

// traced is a Light whose spans can be looked at.
func traced(t testing.TB) (*Light, *tracetest.SpanRecorder) {
	l, rec := open(t, Options{}), tracetest.NewSpanRecorder()
	l.traces = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(rec))
	l.tracer, l.tracing = l.traces.Tracer(scope), true
	return l, rec
}

// While nobody wants to know anything the layers have no hooks to call.
func TestOff(t *testing.T) {
	for name, l := range map[string]*Light{"nothing asked for": open(t, Options{}), "none at all": nil} {
		if s := l.Store(); l.Edge() != nil || l.Binding() != nil || l.Turns() != nil || s.Committed != nil || s.Evicted != nil {
			t.Errorf("%s: there are hooks", name)
		}
	}
}

// Which signals leave the process is said by the environment, and by nothing else.
func TestWanted(t *testing.T) {
	for _, v := range []struct {
		env             string
		traces, metrics bool
	}{
		{"", false, false},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", true, true},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c", true, false},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://c", false, true},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_METRICS_EXPORTER=none", true, false},
		{"OTEL_TRACES_EXPORTER=console", true, false},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_SDK_DISABLED=TRUE", false, false},
	} {
		t.Run(v.env, func(t *testing.T) {
			for pair := range strings.FieldsSeq(v.env) {
				name, value, _ := strings.Cut(pair, "=")
				t.Setenv(name, value)
			}
			if a, b := wanted("TRACES"), wanted("METRICS"); a != v.traces || b != v.metrics {
				t.Errorf("traces %t, metrics %t", a, b)
			}
		})
	}
}

// A store that fails keeps traffic away, and gets another chance once in a while: nothing
// else would prove that it has recovered.
func TestReadinessFollowsTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, Options{Metrics: true})
		look := func() string {
			w := httptest.NewRecorder()
			l.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
			if (w.Code == 200) != (w.Body.String() == "ready\n") || w.Code != 200 && w.Code != 503 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			return strings.TrimSpace(w.Body.String())
		}
		if got := look(); got != "starting" {
			t.Errorf("before there is an engine: %s", got)
		}
		var stats turn.Stats
		l.Watch(func() turn.Stats { return stats }, func() store.Stats { return store.Stats{} })
		const failing = "the task store does not accept changes"
		for _, step := range []struct {
			do   func()
			want string
		}{
			{func() {}, "ready"},
			{func() { l.Store().Committed(1, 1, errors.New("disk full")) }, failing},
			{func() { l.Store().Committed(1, 1, nil) }, "ready"},
			{func() { l.Store().Committed(1, 1, errors.New("disk full")) }, failing},
			{func() { time.Sleep(doubt) }, "ready"},
			{func() { stats.Failing = 1 }, failing},
			{func() { stats = turn.Stats{Draining: true} }, "draining"},
		} {
			step.do()
			if got := look(); got != step.want {
				t.Errorf("got %s, want %s", got, step.want)
			}
		}
	})
}

// An agent that names no calls, never returns or invents results makes no span that stays
// open, and none without bound.
func TestToolsOfAnUnrulyAgent(t *testing.T) {
	l, rec := traced(t)
	_, _, w := l.Turns().Begin(t.Context(), t.Context(), turn.Input{TaskID: "t"})
	w.ToolInvoked("", "one")
	w.ToolInvoked("", "two")
	w.ToolReturned("", true)
	w.ToolReturned("invented", false)
	if ended := rec.Ended(); len(ended) != 1 || ended[0].Name() != "execute_tool one" || ended[0].Status().Description == "" {
		t.Errorf("got %v", ended)
	}
	for range 2 * maxTools {
		w.ToolInvoked("same", strings.Repeat("x", 2*maxText))
	}
	w.Over(a2a.TaskStateFailed)
	w.ToolInvoked("late", "late")
	w.ToolReturned("late", false)
	if a, b := len(rec.Started()), len(rec.Ended()); a != b || a != 2+maxTools {
		t.Errorf("%d spans were started and %d ended", a, b)
	}
	for _, s := range rec.Ended() {
		if len(s.Name()) > maxText+20 {
			t.Errorf("a name of %d bytes", len(s.Name()))
		}
	}
}

// A task that could not be stored has a span that says so, and is no turn that ended.
func TestTurnThatWasNone(t *testing.T) {
	l, rec := traced(t)
	_, _, w := l.Turns().Begin(t.Context(), t.Context(), turn.Input{})
	w.Over("")
	if s := rec.Ended(); len(s) != 1 || s[0].Status().Description != "the task could not be stored" {
		t.Errorf("got %v", s)
	}
}

// Each line tells which request and which trace it belongs to, once.
func TestLogger(t *testing.T) {
	var out bytes.Buffer
	log := NewLogger(NewLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))))
	ctx := call.With(context.Background(), &call.Call{RequestID: "r1"})
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	log.Info("plain")
	log.InfoContext(ctx, "request")
	log.With("a", 1).InfoContext(trace.ContextWithSpanContext(ctx, span), "both")
	log.InfoContext(ctx, "own", "request", "r2")
	want := `level=INFO msg=plain
level=INFO msg=request request=r1
level=INFO msg=both a=1 request=r1 trace_id=01000000000000000000000000000000 span_id=0200000000000000
level=INFO msg=own request=r2
`
	if out.String() != want {
		t.Errorf("got\n%s", &out)
	}
}

// An exporter that fails for every batch does not fill the log.
func TestFailingExporterIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := open(t, Options{Log: slog.New(slog.NewTextHandler(&out, nil))})
		for range 90 {
			l.unsent(errors.New("no route to host"))
			time.Sleep(time.Second)
		}
		if n := strings.Count(out.String(), "no route to host"); n != 2 {
			t.Errorf("%d lines in 90 s:\n%s", n, &out)
		}
	})
}
