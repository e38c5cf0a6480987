package app_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/event"
	"a2aserve/impl/app"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/turn"

	"go.opentelemetry.io/otel/baggage"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector receives OTLP over HTTP, as a real one would.
type collector struct {
	*httptest.Server
	mu      sync.Mutex // guards what follows
	spans   []*spanpb.Span
	service string
	metrics map[string]bool
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{metrics: map[string]bool{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = c.take(r.URL.Path, body)
		}
		if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
	}))
	t.Cleanup(c.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	return c
}

func (c *collector) take(path string, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch path {
	case "/v1/traces":
		var m tracespb.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			return err
		}
		for _, r := range m.ResourceSpans {
			for _, a := range r.Resource.Attributes {
				if a.Key == "service.name" {
					c.service = a.Value.GetStringValue()
				}
			}
			for _, s := range r.ScopeSpans {
				c.spans = append(c.spans, s.Spans...)
			}
		}
	case "/v1/metrics":
		var m metricspb.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			return err
		}
		for _, r := range m.ResourceMetrics {
			for _, s := range r.ScopeMetrics {
				for _, one := range s.Metrics {
					c.metrics[one.Name] = true
				}
			}
		}
	default:
		return fmt.Errorf("%s is nothing that is exported", path)
	}
	return nil
}

// path is the names of a span and of those above it, the innermost first, and the parent of
// the outermost.
func (c *collector) path(s *spanpb.Span) (names []string, parent string) {
	for {
		names = append(names, s.Name)
		i := slices.IndexFunc(c.spans, func(p *spanpb.Span) bool { return bytes.Equal(p.SpanId, s.ParentSpanId) })
		if i < 0 {
			return names, fmt.Sprintf("%x", s.ParentSpanId)
		}
		if !bytes.Equal(c.spans[i].TraceId, s.TraceId) {
			return append(names, "in another trace"), ""
		}
		s = c.spans[i]
	}
}

func (c *collector) named(name string) *spanpb.Span {
	i := slices.IndexFunc(c.spans, func(s *spanpb.Span) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return c.spans[i]
}

// tooled is an agent that calls a tool, and tells which trace it was told of.
type tooled struct {
	turn.Driver
	heard chan string
}

func newTooled(t *testing.T) tooled {
	b := bus.New(slog.New(slog.DiscardHandler))
	d := tooled{bus.NewDriver(b, bus.Options{}), make(chan string, 2)}
	bus.On(b, func(in event.Input) {
		d.heard <- in.Traceparent
		for _, e := range []event.Event{
			event.TurnStart{TurnID: in.TaskID, TaskID: in.TaskID},
			event.ToolInvoke{TurnID: in.TaskID, CallID: "1", Name: "clock"},
			event.ToolResult{TurnID: in.TaskID, CallID: "1", Name: "clock", Output: in.Text},
			event.ToolInvoke{TurnID: in.TaskID, CallID: "2", Name: "never\xff"},
			event.Output{TurnID: in.TaskID, Role: "assistant", Content: in.Text},
			event.TurnEnd{TurnID: in.TaskID},
		} {
			if err := b.Emit(e); err != nil {
				t.Error(err)
			}
		}
	})
	return d
}

func (d tooled) Turn(ctx context.Context, in turn.Input, line *turn.Line) error {
	d.heard <- baggage.FromContext(ctx).String()
	return d.Driver.Turn(ctx, in, line)
}

// A streamed turn with a tool call is one unbroken tree, from the caller's span if it names
// one, to the tool.
func TestTrace(t *testing.T) {
	const callers = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	send := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"the secret"}]}}`
	for name, v := range map[string]struct{ path, body, root string }{
		"REST":     {"/a2a/v1/message:stream?key=the%20secret", send, "POST /a2a/v1/message:stream"},
		"JSON-RPC": {"/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":` + send + `}`, "POST /a2a"},
	} {
		for _, parent := range []string{"", callers} {
			t.Run(name+" "+parent, func(t *testing.T) {
				c := collect(t)
				d := newTooled(t)
				a, stop := start(t, configuration(t, ""), app.Options{Driver: d})
				header := []string{"Authorization", "Bearer the-secret", "Baggage", "tenant=blue", "User-Agent", "test\xff"}
				if parent != "" {
					header = append(header, "Traceparent", parent)
				}
				if resp, body := do(t, "POST", a.URL()+v.path, v.body, header...); resp.StatusCode != 200 || !strings.Contains(body, "TASK_STATE_COMPLETED") {
					t.Fatalf("%d %s", resp.StatusCode, body)
				}
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				c.mu.Lock()
				defer c.mu.Unlock()
				tool := c.named("execute_tool clock")
				if tool == nil {
					t.Fatalf("no tool among %v", c.spans)
				}
				names, above := c.path(tool)
				if want := []string{"execute_tool clock", "invoke_agent", "SendStreamingMessage", v.root}; !slices.Equal(names, want) {
					t.Errorf("got %q", names)
				}
				if parent == "" && above != "" || parent != "" && (above != "b7ad6b7169203331" || fmt.Sprintf("%x", tool.TraceId) != "0af7651916cd43dd8448eb211c80319c") {
					t.Errorf("the root's parent is %q, of trace %x", above, tool.TraceId)
				}
				if got := <-d.heard; got != "tenant=blue" {
					t.Errorf("the driver got baggage %q", got)
				}
				if got := <-d.heard; got != fmt.Sprintf("00-%x-%x-01", tool.TraceId, c.named("invoke_agent").SpanId) {
					t.Errorf("the agent was told %q", got)
				}
				if lost := c.named("execute_tool never\uFFFD"); lost == nil || len(lost.Events) != 1 {
					t.Errorf("the tool that never returned: %v", lost)
				}
				for _, s := range c.spans {
					if text := s.String(); strings.Contains(text, "secret") {
						t.Errorf("a span says what is nobody's business: %s", text)
					}
				}
				if c.service != "a2aserve" || !c.metrics["a2aserve.turns"] || !c.metrics["http.server.request.duration"] {
					t.Errorf("service %q, metrics %v", c.service, c.metrics)
				}
			})
		}
	}
}

// An answer to a question is a request of its own, and the turn's span links to it.
func TestTraceOfAnAnswer(t *testing.T) {
	c := collect(t)
	a, stop := start(t, configuration(t, ""), app.Options{})
	_, body := do(t, "POST", a.URL()+"/a2a/v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"ask which?"}]}}`)
	_, id, _ := strings.Cut(body, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if resp, body := do(t, "POST", a.URL()+"/a2a/v1/message:send", `{"message":{"messageId":"m2","taskId":"`+id+`","role":"ROLE_USER","parts":[{"text":"that"}]}}`); resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	agent := c.named("invoke_agent")
	if agent == nil || len(agent.Links) != 1 || bytes.Equal(agent.Links[0].TraceId, agent.TraceId) {
		t.Errorf("got %v", agent)
	}
}

// A collector that is down costs neither the start nor an answer.
func TestCollectorDown(t *testing.T) {
	c := collect(t)
	c.Close()
	a, stop := start(t, configuration(t, "shutdown_timeout: 50ms\n"), app.Options{})
	if resp, body := do(t, "POST", a.URL()+"/a2a/v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo hi"}]}}`); resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Where the environment makes no sense nothing is started; switched off, it does not matter.
func TestEnvironment(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "carrier pigeon")
	if _, err := app.New(t.Context(), configuration(t, ""), app.Options{Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "OTEL_TRACES_EXPORTER") {
		t.Errorf("got %v", err)
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	_, stop := start(t, configuration(t, ""), app.Options{})
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// eventually looks until it holds: what is counted once an answer is out may come after
// whoever reads the answer looks.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// lines splits what has been logged.
func lines(s string) (out []string) {
	for sc := bufio.NewScanner(strings.NewReader(s)); sc.Scan(); {
		out = append(out, sc.Text())
	}
	return out
}
