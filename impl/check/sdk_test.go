package check

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// scripted is an agent on the official SDK that plays the demo agent's contracts.
type scripted struct{}

func (scripted) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		said := ""
		for _, p := range x.Message.Parts {
			said += p.Text()
		}
		word, rest, _ := strings.Cut(said, " ")
		agent := func(s string) *sdk.Message { return sdk.NewMessage(sdk.MessageRoleAgent, sdk.NewTextPart(s)) }
		if word == "direct" {
			yield(agent(rest), nil)
			return
		}
		ok := x.StoredTask != nil || yield(sdk.NewSubmittedTask(x, x.Message), nil)
		status := func(s sdk.TaskState, m *sdk.Message) { ok = ok && yield(sdk.NewStatusUpdateEvent(x, s, m), nil) }
		status(sdk.TaskStateWorking, nil)
		switch word {
		case "slow":
			var ms int
			fmt.Sscan(rest, &ms)
			select {
			case <-time.After(time.Duration(ms) * time.Millisecond):
			case <-ctx.Done():
				return
			}
		case "chunks":
			first := sdk.NewArtifactEvent(x, sdk.NewTextPart("1"))
			ok = ok && yield(first, nil)
			for _, s := range []string{"2", "3", "4"} {
				time.Sleep(120 * time.Millisecond)
				ok = ok && yield(sdk.NewArtifactUpdateEvent(x, first.Artifact.ID, sdk.NewTextPart(s)), nil)
			}
		case "artifacts":
			for i := range 3 {
				ok = ok && yield(sdk.NewArtifactEvent(x, sdk.NewTextPart(fmt.Sprint(i))), nil)
			}
		case "ask":
			status(sdk.TaskStateInputRequired, agent(rest))
			return
		case "auth":
			status(sdk.TaskStateAuthRequired, agent("log in"))
			return
		case "fail":
			status(sdk.TaskStateFailed, agent(rest))
			return
		case "reject":
			status(sdk.TaskStateRejected, agent(rest))
			return
		default:
			ok = ok && yield(sdk.NewArtifactEvent(x, sdk.NewTextPart(rest)), nil)
		}
		status(sdk.TaskStateCompleted, nil)
	}
}

func (scripted) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		yield(sdk.NewStatusUpdateEvent(x, sdk.TaskStateCanceled, nil), nil)
	}
}

// hello is what the SDK's own example does.
type hello struct{}

func (hello) Execute(context.Context, *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		yield(sdk.NewMessage(sdk.MessageRoleAgent, sdk.NewTextPart("Hello, world!")), nil)
	}
}

func (hello) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(func(sdk.Event, error) bool) {}
}

// callers knows the tokens alice and bob, as the SDK has its users authenticate.
type callers struct {
	a2asrv.PassthroughCallInterceptor
}

func (callers) Before(ctx context.Context, call *a2asrv.CallContext, _ *a2asrv.Request) (context.Context, any, error) {
	values, _ := call.ServiceParams().Get("authorization")
	for _, v := range values {
		if name, ok := strings.CutPrefix(v, "Bearer "); ok && (name == "alice-token" || name == "bob-token") {
			call.User = a2asrv.NewAuthenticatedUser(name, nil)
		}
	}
	return ctx, nil, nil
}

// sdkServer serves an agent with the SDK as its examples do, on both bindings.
func sdkServer(t *testing.T, agent a2asrv.AgentExecutor, more ...a2asrv.RequestHandlerOption) string {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	card := &sdk.AgentCard{
		Name: "SDK agent", Description: "An agent on the official Go SDK.", Version: "1.0.0",
		SupportedInterfaces: []*sdk.AgentInterface{
			sdk.NewAgentInterface(s.URL+"/invoke", sdk.TransportProtocolJSONRPC),
			sdk.NewAgentInterface(s.URL+"/rest", sdk.TransportProtocolHTTPJSON),
		},
		DefaultInputModes: []string{"text"}, DefaultOutputModes: []string{"text"},
		Capabilities: sdk.AgentCapabilities{Streaming: true, PushNotifications: len(more) > 0},
		Skills:       []sdk.AgentSkill{{ID: "scripted", Name: "Scripted", Description: "Does as it is told.", Tags: []string{"test"}}},
	}
	more = append(more, a2asrv.WithCallInterceptors(callers{}), a2asrv.WithLogger(slog.New(slog.DiscardHandler)))
	handler := a2asrv.NewHandler(agent, more...)
	mux.Handle("/invoke", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	return s.URL
}

// What the SDK's server is known for, each seen on the wire by hand. A release that mends
// something makes this test fail, and one that breaks something too.
var sdkFaults = map[string]string{
	"card.head": "agent", "cache.max-age": "agent", "cache.etag": "agent", "cors.credentials": "agent",
	"version.unsupported": "both", "version.absent": "both", "version.stream": "both", "version.parameter": REST,
	"error.unknown-subscribe": REST, "error.enum": "both", "error.role": "both", "error.history-length": "both",
	"rpc.request": JSONRPC, "rpc.invalid-params": JSONRPC, "rpc.absent-params": JSONRPC, "rpc.notification": JSONRPC, "rpc.get": JSONRPC,
	"rest.answer-type": REST, "rest.query-all": REST,
	"send.finished": "both", "send.media-type": "both", "send.history-length": "both",
	"subscribe.finished": "both", "list.empty": "both", "extended-card.not-offered": "both",
	"isolation.subscribe": "both", "wire.schema": "both",
}

func TestTheOfficialSDK(t *testing.T) {
	t.Parallel()
	r := run(t, Options{URL: sdkServer(t, scripted{}), Token: "alice-token", SecondToken: "bob-token", Timeout: 2 * time.Second})
	var want []string
	for id, where := range sdkFaults {
		switch where {
		case "both":
			want = append(want, id+" "+JSONRPC, id+" "+REST)
		case "agent":
			want = append(want, id)
		default:
			want = append(want, id+" "+where)
		}
	}
	compare(t, r, want)
	for id, reason := range map[string]string{
		"list.empty":          "tasks is null",
		"version.unsupported": "A2A-Version: 99.0: got",
		"subscribe.finished":  "TASK_NOT_FOUND",
		"isolation.subscribe": "sees the task's events",
	} {
		if one := find(t, r, id, JSONRPC); !strings.Contains(one.Reason, reason) {
			t.Errorf("%s: %s", id, one.Reason)
		}
	}
}

// The SDK's own example never makes a task: what needs one is skipped, not failed.
func TestTheSDKsExample(t *testing.T) {
	t.Parallel()
	r := run(t, Options{URL: sdkServer(t, hello{})})
	for _, one := range r.Results {
		for _, group := range []string{"stream.", "subscribe.", "cancel.", "get.", "turn.", "push.", "wire."} {
			if strings.HasPrefix(one.ID, group) && one.Verdict == Fail {
				t.Errorf("%s %s: %s", one.ID, one.Binding, one.Reason)
			}
		}
	}
	for _, id := range []string{"send.direct", "stream.message"} {
		if one := find(t, r, id, JSONRPC); one.Verdict != Pass {
			t.Errorf("%s: %s %s", id, one.Verdict, one.Reason)
		}
	}
	if one := find(t, r, "list.served", REST); one.Verdict != Fail || !strings.Contains(one.Reason, "does not ask") {
		t.Errorf("list.served: %s %s", one.Verdict, one.Reason)
	}
	if one := find(t, r, "get.same", REST); one.Verdict != Skip || !strings.Contains(one.Reason, `"echo hello" was answered with a direct message; a scenario file`) {
		t.Errorf("get.same: %s %s", one.Verdict, one.Reason)
	}
}
