// Package light makes a running server visible: metrics, traces, health, and what log
// lines say beside their words. Every layer tells it through hooks of its own, which are
// nil while nobody wants to know; no layer knows it.
package light

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"a2aserve/impl/store"
	"a2aserve/impl/turn"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	bridge "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// scope names the instrumentation.
const scope = "a2aserve"

// Options say what is wanted. What goes over OTLP is said by the standard environment
// variables of OpenTelemetry.
type Options struct {
	Log     *slog.Logger
	Metrics bool // serve them to Prometheus, see Handler
}

// Light is what is on. Whoever opens one closes it.
type Light struct {
	log      *slog.Logger
	registry *prometheus.Registry // nil: no /metrics
	metrics  *instruments         // nil: off
	meters   *metric.MeterProvider
	tracing  bool
	traces   *sdktrace.TracerProvider // nil: off
	tracer   trace.Tracer
	context  propagation.TextMapPropagator

	engine  atomic.Pointer[func() turn.Stats]
	store   atomic.Pointer[func() store.Stats]
	streams atomic.Int64 // open now
	broken  atomic.Int64 // when a group of writes last failed, in Unix nanoseconds; 0: the last one did not
	told    atomic.Int64 // when a failing exporter was last logged, in Unix nanoseconds
}

// Open switches on what is asked for. Nothing is sent yet, so a collector that is down
// does not keep the server from starting; an environment variable that means nothing does.
func Open(ctx context.Context, o Options) (_ *Light, err error) {
	l := &Light{
		log: o.Log, tracer: noop.NewTracerProvider().Tracer(scope),
		context: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	}
	defer func() {
		if err != nil {
			_ = l.Close(ctx)
		}
	}()
	spans, numbers := wanted("TRACES"), wanted("METRICS")
	if !spans && !numbers && !o.Metrics {
		return l, nil
	}
	about, err := describe(ctx)
	if err != nil {
		return nil, err
	}
	if spans || numbers {
		// Exporters report in the background, and only to this.
		otel.SetErrorHandler(otel.ErrorHandlerFunc(l.unsent))
	}
	if spans {
		if err := l.openTraces(ctx, about); err != nil {
			return nil, err
		}
	}
	if numbers || o.Metrics {
		if err := l.openMetrics(ctx, about, numbers, o.Metrics); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// wanted says whether the environment asks for a signal over OTLP. The SDK's own default
// would be a collector on this machine; sending where nobody has said so is not wanted.
func wanted(signal string) bool {
	if strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_SDK_DISABLED")), "true") {
		return false
	}
	switch exporter := os.Getenv("OTEL_" + signal + "_EXPORTER"); exporter {
	case "none":
		return false
	case "":
		return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
	}
	return true
}

// describe is who the signals come from. The environment has the last word.
func describe(ctx context.Context) (*resource.Resource, error) {
	b := built()
	r, err := resource.New(ctx,
		resource.WithSchemaURL(semconv.SchemaURL),
		resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("a2aserve"), semconv.ServiceVersion(b.version)),
		resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrSchemaURLConflict) {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return r, nil
}

func (l *Light) openTraces(ctx context.Context, about *resource.Resource) error {
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return fmt.Errorf("traces cannot be exported as OTEL_TRACES_EXPORTER and OTEL_EXPORTER_OTLP_* say: %w", err)
	}
	// The sampler and the batches follow the environment by themselves.
	l.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	l.tracer, l.tracing = l.traces.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)), true
	return nil
}

// openMetrics feeds both readers from the same instruments, so that they agree.
func (l *Light) openMetrics(ctx context.Context, about *resource.Resource, send, serve bool) error {
	options := []metric.Option{metric.WithResource(about)}
	if send {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return fmt.Errorf("metrics cannot be exported as OTEL_METRICS_EXPORTER and OTEL_EXPORTER_OTLP_* say: %w", err)
		}
		options = append(options, metric.WithReader(reader))
	}
	if serve {
		l.registry = prometheus.NewRegistry()
		l.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		reader, err := bridge.New(bridge.WithRegisterer(l.registry), bridge.WithoutScopeInfo(), bridge.WithoutTargetInfo())
		if err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		options = append(options, metric.WithReader(reader))
	}
	l.meters = metric.NewMeterProvider(options...)
	var err error
	l.metrics, err = l.instruments(l.meters.Meter(scope))
	return err
}

// Watch says where to look when somebody asks how things stand: at the engine and the
// store, which are made after the Light that they tell.
func (l *Light) Watch(engine func() turn.Stats, tasks func() store.Stats) {
	l.engine.Store(&engine)
	l.store.Store(&tasks)
}

// on says whether anybody wants to know anything. A nil Light is one that is off.
func (l *Light) on() bool { return l != nil && (l.tracing || l.metrics != nil) }

// unsent logs that an exporter fails, once a minute: it may fail for every batch.
func (l *Light) unsent(err error) {
	now, last := time.Now().UnixNano(), l.told.Load()
	if now-last >= int64(time.Minute) && l.told.CompareAndSwap(last, now) {
		l.log.Warn("telemetry could not be exported; further failures of this minute are not logged", "error", err)
	}
}

// Close sends what has not been sent yet, until ctx ends.
func (l *Light) Close(ctx context.Context) error {
	var errs []error
	if l.traces != nil {
		errs = append(errs, l.traces.Shutdown(ctx))
	}
	if l.meters != nil {
		errs = append(errs, l.meters.Shutdown(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		l.log.Warn("the last telemetry could not be exported", "error", err)
	}
	return nil
}
