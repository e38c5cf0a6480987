package interop

import (
	"context"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/remoteagent/v2"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"
)

// alice makes a client present her token.
var alice = a2aclient.WithCallInterceptors(headers{set: a2aclient.ServiceParams{"Authorization": {"Bearer tok-a"}}})

// adk is a conversation of ADK's with the server as a remote agent.
type adk struct {
	*runner.Runner
	mode agent.StreamingMode
}

// converse begins a conversation, over the binding that is named and as alice.
func converse(t testing.TB, origin string, over a2a.TransportProtocol, mode agent.StreamingMode, more ...a2aclient.CallInterceptor) adk {
	t.Helper()
	factory := a2aclient.NewFactory(
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{over}}),
		alice, a2aclient.WithCallInterceptors(more...))
	remote, err := remoteagent.NewA2A(remoteagent.A2AConfig{
		Name: "remote", AgentCard: resolve(t, origin), ClientProvider: remoteagent.NewA2AClientProvider(factory),
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{AppName: "interop", Agent: remote, SessionService: session.InMemoryService(), AutoCreateSession: true})
	if err != nil {
		t.Fatal(err)
	}
	return adk{r, mode}
}

// heard is what came of one message.
type heard struct {
	text     string // of events that are not partial
	partial  string // of those that are
	failure  string
	complete bool
}

// say sends a message and listens until the turn is complete, as an application does: a
// question leaves the stream open (A2A §3.1.2).
func (a adk) say(t testing.TB, text string) (h heard) {
	t.Helper()
	message := genai.NewContentFromText(text, genai.RoleUser)
	for e, err := range a.Run(t.Context(), "user", "session", message, agent.RunConfig{StreamingMode: a.mode}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Content != nil {
			for _, p := range e.Content.Parts {
				if e.Partial {
					h.partial += p.Text
				} else {
					h.text += p.Text
				}
			}
		}
		h.failure += e.ErrorMessage
		if e.TurnComplete {
			h.complete = true
			break
		}
	}
	return h
}

// parked answers questions: it names the task that asked in the next message. ADK does so
// only for questions that are function calls of its own kind; without the name a message
// begins another task of the conversation (A2A §3.4.3). It is what docs/clients.md advises.
type parked struct {
	a2aclient.PassthroughInterceptor
	task a2a.TaskID // of the one conversation that the interceptor serves
}

func (p *parked) Before(ctx context.Context, req *a2aclient.Request) (context.Context, any, error) {
	if m, ok := req.Payload.(*a2a.SendMessageRequest); ok && m.Message.TaskID == "" {
		m.Message.TaskID, p.task = p.task, ""
	}
	return ctx, nil, nil
}

func (p *parked) After(_ context.Context, resp *a2aclient.Response) error {
	switch e := resp.Payload.(type) {
	case *a2a.Task:
		p.saw(e.ID, e.Status.State)
	case *a2a.TaskStatusUpdateEvent:
		p.saw(e.TaskID, e.Status.State)
	}
	return nil
}

func (p *parked) saw(id a2a.TaskID, state a2a.TaskState) {
	if state == a2a.TaskStateInputRequired {
		p.task = id
	}
}

func TestADKTalksToTheServer(t *testing.T) {
	t.Parallel()
	eachTransport(t, tokens, func(t *testing.T, origin string, over a2a.TransportProtocol) {
		for _, mode := range []agent.StreamingMode{agent.StreamingModeNone, agent.StreamingModeSSE} {
			t.Run(string(mode), func(t *testing.T) {
				a := converse(t, origin, over, mode, &parked{})
				for _, c := range []struct {
					said string
					want heard
				}{
					{"echo hello", heard{text: "hello"}},
					{"direct hello", heard{text: "hello"}},
					{"chunks 3 0 .", heard{text: "1.2.3."}},
					{"fail", heard{text: "Failed as asked", failure: "Failed as asked"}},
					{"reject", heard{text: "Rejected as asked"}},
					{"ask Which colour? [red|blue]", heard{text: "Which colour?\n- red\n- blue"}},
					{"blue", heard{text: "You said: blue"}},
					{"echo afterwards", heard{text: "afterwards"}},
				} {
					got := a.say(t, c.said)
					if mode == agent.StreamingModeSSE && strings.HasPrefix(c.said, "chunks") {
						c.want.partial = c.want.text
					}
					c.want.complete = true
					if got != c.want {
						t.Errorf("%s: heard %+v, want %+v", c.said, got, c.want)
					}
				}
			})
		}
	})
}

// An application that gives up a turn has its task cancelled: ADK asks for it.
func TestADKCancelsWhatItGivesUp(t *testing.T) {
	t.Parallel()
	eachTransport(t, tokens, func(t *testing.T, origin string, over a2a.TransportProtocol) {
		a := converse(t, origin, over, agent.StreamingModeSSE)
		message := genai.NewContentFromText("chunks 2 600000 .", genai.RoleUser)
		for e, err := range a.Run(t.Context(), "user", "session", message, agent.RunConfig{StreamingMode: a.mode}) {
			if err != nil || !e.Partial {
				t.Fatalf("%+v, %v", e, err)
			}
			break
		}
		c := client(t, origin, over, alice)
		got, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{})
		if err != nil || len(got.Tasks) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		wantState(t, got.Tasks[0], a2a.TaskStateCanceled)
	})
}
