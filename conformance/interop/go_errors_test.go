package interop

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2aext"
)

const telemetry = "https://github.com/frankbardon/nexus/a2a/extensions/agent-events/v1"

// errSilent is a stream that ended without an event or an error.
var errSilent = errors.New("the stream ended without a word")

// refusedBy returns what a stream is refused with: before anything came.
func refusedBy(events func(func(a2a.Event, error) bool)) error {
	for e, err := range events {
		if e != nil {
			return errors.New("an event came: the stream was accepted")
		}
		return err
	}
	return errSilent
}

// headers are service parameters that overrule the client's own.
type headers struct {
	a2aclient.PassthroughInterceptor
	set a2aclient.ServiceParams
}

func (h headers) Before(ctx context.Context, req *a2aclient.Request) (context.Context, any, error) {
	for k, v := range h.set {
		delete(req.ServiceParams, strings.ToLower(k))
		req.ServiceParams[k] = v
	}
	return ctx, nil, nil
}

func TestGoClientTellsErrorsApart(t *testing.T) {
	t.Parallel()
	eachTransport(t, "strict_terminal_subscribe: true\n", func(t *testing.T, origin string, over a2a.TransportProtocol) {
		c := client(t, origin, over)
		done := send(t, c, say("echo done"))
		busy := send(t, c, now(say("slow 600000 done")))
		// Of a client made from an address the card is not known, so that it asks.
		var bare *a2aclient.Client
		for _, i := range resolve(t, origin).SupportedInterfaces {
			if i.ProtocolBinding == over {
				var err error
				if bare, err = a2aclient.NewFromEndpoints(t.Context(), []*a2a.AgentInterface{i}); err != nil {
					t.Fatal(err)
				}
			}
		}
		other := client(t, origin, over, a2aclient.WithCallInterceptors(headers{set: a2aclient.ServiceParams{a2a.SvcParamVersion: {"7.0"}}}))
		ctx, missing := t.Context(), a2a.TaskID("no-such-task")
		minus := -1
		odd := &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, &a2a.Part{Content: a2a.Raw("x"), MediaType: "video/mp4"})}
		push := &a2a.PushConfig{TaskID: busy.ID, ID: "p", URL: "https://example.com/hook"}
		for _, try := range []struct {
			what    string
			err     func() error
			want    error
			streams bool
		}{
			{"get", func() error { _, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: missing}); return err }, a2a.ErrTaskNotFound, false},
			{"cancel", func() error { _, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: missing}); return err }, a2a.ErrTaskNotFound, false},
			{"subscribe", func() error { return refusedBy(c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: missing})) }, a2a.ErrTaskNotFound, true},
			{"send to no task", func() error {
				req := say("x")
				req.Message.TaskID = missing
				_, err := c.SendMessage(ctx, req)
				return err
			}, a2a.ErrTaskNotFound, false},
			{"stream to no task", func() error {
				req := say("x")
				req.Message.TaskID = missing
				return refusedBy(c.SendStreamingMessage(ctx, req))
			}, a2a.ErrTaskNotFound, true},
			{"cancel what is done", func() error { _, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: done.ID}); return err }, a2a.ErrTaskNotCancelable, false},
			{"send to what is done", func() error { _, err := c.SendMessage(ctx, in(say("x"), done)); return err }, a2a.ErrUnsupportedOperation, false},
			{"stream to what is done", func() error { return refusedBy(c.SendStreamingMessage(ctx, in(say("x"), done))) }, a2a.ErrUnsupportedOperation, true},
			{"subscribe to what is done, strictly", func() error { return refusedBy(c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: done.ID})) }, a2a.ErrUnsupportedOperation, true},
			{"send to what works", func() error { _, err := c.SendMessage(ctx, in(say("x"), busy)); return err }, a2a.ErrUnsupportedOperation, false},
			{"send a film", func() error { _, err := c.SendMessage(ctx, odd); return err }, a2a.ErrUnsupportedContentType, false},
			{"stream a film", func() error { return refusedBy(c.SendStreamingMessage(ctx, odd)) }, a2a.ErrUnsupportedContentType, true},
			{"create push", func() error { _, err := c.CreateTaskPushConfig(ctx, push); return err }, a2a.ErrPushNotificationNotSupported, false},
			{"get push", func() error {
				_, err := c.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: busy.ID, ID: "p"})
				return err
			}, a2a.ErrPushNotificationNotSupported, false},
			{"list push", func() error {
				_, err := c.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: busy.ID})
				return err
			}, a2a.ErrPushNotificationNotSupported, false},
			{"delete push", func() error {
				return c.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: busy.ID, ID: "p"})
			}, a2a.ErrPushNotificationNotSupported, false},
			{"send with push", func() error {
				req := say("echo x")
				req.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{URL: "https://example.com/hook"}}
				_, err := c.SendMessage(ctx, req)
				return err
			}, a2a.ErrPushNotificationNotSupported, false},
			{"extended card, by the card", func() error { _, err := c.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{}); return err }, a2a.ErrExtendedCardNotConfigured, false},
			{"extended card, by the server", func() error { _, err := bare.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{}); return err }, a2a.ErrUnsupportedOperation, false},
			{"another version", func() error { _, err := other.GetTask(ctx, &a2a.GetTaskRequest{ID: done.ID}); return err }, a2a.ErrVersionNotSupported, false},
			{"stream of another version", func() error { return refusedBy(other.SendStreamingMessage(ctx, say("x"))) }, a2a.ErrVersionNotSupported, true},
			{"negative history", func() error {
				_, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: done.ID, HistoryLength: &minus})
				return err
			}, a2a.ErrInvalidParams, false},
			{"a message without parts", func() error {
				_, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: &a2a.Message{ID: "m", Role: a2a.MessageRoleUser}})
				return err
			}, a2a.ErrInvalidParams, false},
		} {
			err := try.err()
			// Two gaps of the client, for docs/clients.md: it knows no reasons outside the
			// protocol's domain on HTTP+JSON, and takes an error that answers the opening of a
			// stream over JSON-RPC for an empty stream.
			if over == a2a.TransportProtocolHTTPJSON && try.want == a2a.ErrInvalidParams {
				try.want = a2a.ErrInternalError
			}
			if over == a2a.TransportProtocolJSONRPC && try.streams {
				try.want = errSilent
			}
			if !errors.Is(err, try.want) {
				t.Errorf("%s: %v (%T), want %v", try.what, err, err, try.want)
			}
		}
	})
}

func TestGoClientAuthenticates(t *testing.T) {
	t.Parallel()
	eachTransport(t, tokens, func(t *testing.T, origin string, over a2a.TransportProtocol) {
		credentials := a2aclient.NewInMemoryCredentialsStore()
		auth := a2aclient.WithCallInterceptors(&a2aclient.AuthInterceptor{Service: credentials})
		for scheme := range resolve(t, origin).SecuritySchemes {
			credentials.Set("alice", scheme, "tok-a")
			credentials.Set("bob", scheme, "tok-b")
			credentials.Set("mallory", scheme, "tok-x")
		}
		c := client(t, origin, over, auth)
		as := func(who a2aclient.SessionID) context.Context { return a2aclient.AttachSessionID(t.Context(), who) }
		result, err := c.SendMessage(as("alice"), say("echo mine"))
		if err != nil {
			t.Fatal(err)
		}
		mine := &a2a.GetTaskRequest{ID: result.TaskInfo().TaskID}
		if task, err := c.GetTask(as("alice"), mine); err != nil || answer(task) != "mine" {
			t.Errorf("alice reads %+v, %v", task, err)
		}
		if _, err := c.GetTask(as("bob"), mine); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("bob gets %v for alice's task", err)
		}
		if got, err := c.ListTasks(as("bob"), &a2a.ListTasksRequest{}); err != nil || len(got.Tasks) != 0 {
			t.Errorf("bob lists %+v, %v", got, err)
		}
		for who, ctx := range map[string]context.Context{"mallory": as("mallory"), "nobody": t.Context()} {
			for what, err := range map[string]error{
				"send":   func() error { _, err := c.SendMessage(ctx, say("echo x")); return err }(),
				"stream": refusedBy(c.SendStreamingMessage(ctx, say("echo x"))),
			} {
				// On JSON-RPC the client reports the HTTP status and reads no further; on
				// HTTP+JSON it has no word for a reason outside the protocol's domain.
				told := strings.Contains(err.Error(), "401") || errors.Is(err, a2a.ErrInternalError) && strings.Contains(err.Error(), "Credentials")
				if !told {
					t.Errorf("%s, %s: %v", who, what, err)
				}
			}
		}
	})
}

func TestGoClientGetsTheExtendedCard(t *testing.T) {
	t.Parallel()
	eachTransport(t, tokens+"extended_card_file: "+extended(t)+"\n", func(t *testing.T, origin string, over a2a.TransportProtocol) {
		c := client(t, origin, over, alice)
		// The operation has no parser to replace, unlike the resolver, which takes a path.
		if card, err := c.GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{}); err == nil || !strings.Contains(err.Error(), "SecuritySchemeScopes") {
			t.Errorf("the client reads scopes as they are now: docs/clients.md is out of date: %+v, %v", card, err)
		}
		resolver := &agentcard.Resolver{CardParser: parseCard}
		card, err := resolver.Resolve(t.Context(), origin, agentcard.WithPath("/a2a/v1/extendedAgentCard"), agentcard.WithRequestHeader("Authorization", "Bearer tok-a"))
		if err != nil || card.Name != "Interop agent, extended" {
			t.Fatalf("%+v, %v", card, err)
		}
		if err := c.UpdateCard(card); err != nil { // it has to name the interface in use
			t.Error(err)
		}
	})
}

func TestGoClientActivatesTheExtension(t *testing.T) {
	t.Parallel()
	eachTransport(t, "", func(t *testing.T, origin string, over a2a.TransportProtocol) {
		for asked, want := range map[bool]int{true: 2, false: 0} {
			var options []a2aclient.FactoryOption
			if asked {
				options = append(options, a2aclient.WithCallInterceptors(a2aext.NewActivator(telemetry, "https://example.com/unknown")))
			}
			thoughts := 0
			for e, err := range client(t, origin, over, options...).SendStreamingMessage(t.Context(), say("think 2")) {
				if err != nil {
					t.Fatal(err)
				}
				if u, ok := e.(*a2a.TaskStatusUpdateEvent); ok {
					if said, ok := u.Metadata[telemetry].(map[string]any); ok && said["kind"] == "thinking" {
						thoughts++
					}
				}
			}
			if thoughts != want {
				t.Errorf("asked %t: %d thoughts came, want %d", asked, thoughts, want)
			}
		}
	})
}
