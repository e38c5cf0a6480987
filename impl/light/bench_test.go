package light

import (
	"strconv"
	"sync/atomic"
	"testing"

	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// BenchmarkTurn shows what a turn with a tool call costs without metrics and traces, and
// with them.
func BenchmarkTurn(b *testing.B) {
	numbers := open(b, Options{Metrics: true})
	spans := open(b, Options{})
	spans.traces = sdktrace.NewTracerProvider() // exports nowhere
	spans.tracer, spans.tracing = spans.traces.Tracer(scope), true
	for _, v := range []struct {
		name string
		turn.Observer
	}{{"off", open(b, Options{}).Turns()}, {"metrics", numbers.Turns()}, {"traces", spans.Turns()}} {
		b.Run(v.name, func(b *testing.B) {
			agent := bus.New(nil)
			bus.On(agent, func(in event.Input) {
				for _, e := range []event.Event{
					event.TurnStart{TurnID: in.TaskID, TaskID: in.TaskID},
					event.ToolInvoke{TurnID: in.TaskID, CallID: "1", Name: "clock"},
					event.ToolResult{TurnID: in.TaskID, CallID: "1", Name: "clock", Output: "noon"},
					event.Output{TurnID: in.TaskID, Role: "assistant", Content: in.Text},
					event.TurnEnd{TurnID: in.TaskID},
				} {
					_ = agent.Emit(e)
				}
			})
			d := bus.NewDriver(agent, bus.Options{})
			defer d.Close()
			bench := drivertest.New(b, d, turn.Options{Observe: v.Observer})
			var n atomic.Int64
			b.ReportAllocs()
			for b.Loop() {
				in := drivertest.Text("go")
				in.ContextID = strconv.FormatInt(n.Add(1), 10)
				bench.Await(bench.Send(in))
			}
		})
	}
}
