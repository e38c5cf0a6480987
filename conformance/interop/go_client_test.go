package interop

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// transports are the bindings by the names that the card gives them.
var transports = []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON}

// eachTransport runs a test over both bindings, each against a server of its own.
func eachTransport(t *testing.T, yaml string, f func(t *testing.T, origin string, over a2a.TransportProtocol)) {
	for _, over := range transports {
		t.Run(string(over), func(t *testing.T) {
			t.Parallel()
			f(t, serve(t, yaml), over)
		})
	}
}

// resolve gets the card as a client finds it: at the well-known path.
func resolve(t testing.TB, origin string) *a2a.AgentCard {
	t.Helper()
	resolver := &agentcard.Resolver{CardParser: parseCard}
	card, err := resolver.Resolve(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	return card
}

// parseCard reads cards whose agent asks for credentials, which the client itself cannot: it
// expects the scopes of a requirement bare, where the protocol has them in an object. It is
// what docs/clients.md advises.
func parseCard(body []byte) (*a2a.AgentCard, error) {
	var card map[string]any
	if err := json.Unmarshal(body, &card); err != nil {
		return nil, err
	}
	requirements, _ := card["securityRequirements"].([]any)
	for _, r := range requirements {
		schemes := r.(map[string]any)["schemes"].(map[string]any)
		for name, scopes := range schemes {
			schemes[name] = scopes.(map[string]any)["list"]
		}
	}
	body, err := json.Marshal(card)
	if err != nil {
		return nil, err
	}
	return agentcard.DefaultCardParser(body)
}

// client is the official client, as it makes itself from the card.
func client(t testing.TB, origin string, over a2a.TransportProtocol, more ...a2aclient.FactoryOption) *a2aclient.Client {
	t.Helper()
	options := append([]a2aclient.FactoryOption{
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{over}}),
	}, more...)
	c, err := a2aclient.NewFromCard(t.Context(), resolve(t, origin), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Destroy() })
	return c
}

// say is a message of the user's with this text.
func say(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
}

// in puts a message into the conversation of what came before.
func in(req *a2a.SendMessageRequest, before a2a.TaskInfoProvider) *a2a.SendMessageRequest {
	req.Message.TaskID, req.Message.ContextID = before.TaskInfo().TaskID, before.TaskInfo().ContextID
	return req
}

func now(req *a2a.SendMessageRequest) *a2a.SendMessageRequest {
	req.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	return req
}

// send sends and expects a task.
func send(t testing.TB, c *a2aclient.Client, req *a2a.SendMessageRequest) *a2a.Task {
	t.Helper()
	result, err := c.SendMessage(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	task, ok := result.(*a2a.Task)
	if !ok {
		t.Fatalf("a %T came, not a task", result)
	}
	return task
}

func texts(parts a2a.ContentParts) (s string) {
	for _, p := range parts {
		s += p.Text()
	}
	return s
}

// answer is the text of all artifacts of a task.
func answer(task *a2a.Task) (s string) {
	for _, a := range task.Artifacts {
		s += texts(a.Parts)
	}
	return s
}

func wantState(t testing.TB, task *a2a.Task, want a2a.TaskState) {
	t.Helper()
	if task.Status.State != want {
		t.Fatalf("the task is %s, want %s", task.Status.State, want)
	}
}

// followed is what a stream brought.
type followed struct {
	first   a2a.Event
	states  []a2a.TaskState // of the first task and of every status update
	text    string          // of all artifact updates
	updates int             // artifact updates
	last    bool            // an artifact update said that it is the last
}

// follow reads events until the stream ends or until says that it is enough.
func follow(t testing.TB, events func(func(a2a.Event, error) bool), until func(followed) bool) (f followed) {
	t.Helper()
	for e, err := range events {
		if err != nil {
			t.Fatalf("after %+v: %v", f, err)
		}
		if f.first == nil {
			f.first = e
		}
		switch e := e.(type) {
		case *a2a.Task:
			f.states = append(f.states, e.Status.State)
		case *a2a.TaskStatusUpdateEvent:
			f.states = append(f.states, e.Status.State)
		case *a2a.TaskArtifactUpdateEvent:
			f.text += texts(e.Artifact.Parts)
			f.updates++
			f.last = f.last || e.LastChunk
		}
		if until != nil && until(f) {
			return f
		}
	}
	return f
}

func (f followed) ended() a2a.TaskState {
	if len(f.states) == 0 {
		return ""
	}
	return f.states[len(f.states)-1]
}

func TestGoClientReadsTheCard(t *testing.T) {
	t.Parallel()
	if _, err := agentcard.DefaultResolver.Resolve(t.Context(), serve(t, "")); err != nil {
		t.Error(err)
	}
	origin := serve(t, tokens)
	if _, err := agentcard.DefaultResolver.Resolve(t.Context(), origin); err == nil {
		t.Error("the client reads scopes as they are now: parseCard and its place in docs/clients.md can go")
	}
	card := resolve(t, origin)
	if card.Name != "Interop agent" || !card.Capabilities.Streaming || card.Capabilities.PushNotifications || len(card.Skills) != 1 {
		t.Errorf("the card reads as %+v", card)
	}
	var served []a2a.TransportProtocol
	for _, i := range card.SupportedInterfaces {
		served = append(served, i.ProtocolBinding)
		if i.ProtocolVersion != a2a.Version || !strings.HasPrefix(i.URL, origin) {
			t.Errorf("interface %+v", i)
		}
	}
	slices.Sort(served)
	if !slices.Equal(served, []a2a.TransportProtocol{a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolJSONRPC}) {
		t.Errorf("bindings %v", served)
	}
	bearer := false
	for _, scheme := range card.SecuritySchemes {
		s, ok := scheme.(a2a.HTTPAuthSecurityScheme)
		bearer = bearer || ok && strings.EqualFold(s.Scheme, "bearer")
	}
	if !bearer || len(card.SecurityRequirements) == 0 {
		t.Errorf("schemes %+v, requirements %+v", card.SecuritySchemes, card.SecurityRequirements)
	}
}

func TestGoClientSends(t *testing.T) {
	t.Parallel()
	eachTransport(t, "", func(t *testing.T, origin string, over a2a.TransportProtocol) {
		c := client(t, origin, over)
		task := send(t, c, say("echo hello"))
		wantState(t, task, a2a.TaskStateCompleted)
		if answer(task) != "hello" || task.ContextID == "" || task.Status.Timestamp == nil || len(task.History) == 0 {
			t.Errorf("the task reads as %+v", task)
		}

		direct, err := c.SendMessage(t.Context(), say("direct hello"))
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := direct.(*a2a.Message); !ok || m.Role != a2a.MessageRoleAgent || texts(m.Parts) != "hello" {
			t.Errorf("a direct answer reads as %+v", direct)
		}

		failed := send(t, c, say("fail"))
		wantState(t, failed, a2a.TaskStateFailed)
		if failed.Status.Message == nil {
			t.Error("a failure says nothing")
		}
		wantState(t, send(t, c, say("reject")), a2a.TaskStateRejected)

		// Every kind of part survives the way there and back.
		mixed := &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser,
			a2a.NewTextPart("echo all"),
			a2a.NewDataPart(map[string]any{"n": 1.5, "null": nil, "list": []any{true}}),
			&a2a.Part{Content: a2a.Raw{0, 1, 0xff}, MediaType: "application/octet-stream", Filename: "x.bin"},
			a2a.NewFileURLPart("https://example.com/picture.png", "image/png"))}
		task = send(t, c, mixed)
		wantState(t, task, a2a.TaskStateCompleted)
		parts := task.Artifacts[0].Parts
		if len(parts) != 4 || parts[0].Text() != "all" || parts[1].Data().(map[string]any)["n"] != 1.5 ||
			!slices.Equal(parts[2].Raw(), []byte{0, 1, 0xff}) || parts[2].Filename != "x.bin" || parts[3].URL() != "https://example.com/picture.png" {
			t.Errorf("the parts came back as %+v", parts)
		}
	})
}

func TestGoClientStreams(t *testing.T) {
	t.Parallel()
	eachTransport(t, "", func(t *testing.T, origin string, over a2a.TransportProtocol) {
		c := client(t, origin, over)
		f := follow(t, c.SendStreamingMessage(t.Context(), say("chunks 4 0 .")), nil)
		first, ok := f.first.(*a2a.Task)
		if !ok || first.Status.State.Terminal() {
			t.Fatalf("the stream opens with %+v", f.first)
		}
		if f.text != "1.2.3.4." || f.updates != 4 || !f.last || f.ended() != a2a.TaskStateCompleted {
			t.Errorf("the stream brought %+v", f)
		}
		got, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: first.ID})
		if err != nil || answer(got) != f.text {
			t.Errorf("the stored answer is %q, %v; the streamed one %q", answer(got), err, f.text)
		}
		f = follow(t, c.SendStreamingMessage(t.Context(), say("direct hello")), nil)
		if m, ok := f.first.(*a2a.Message); !ok || texts(m.Parts) != "hello" {
			t.Errorf("a direct answer streams as %+v", f.first)
		}
	})
}

func TestGoClientFollowsAndCancels(t *testing.T) {
	t.Parallel()
	eachTransport(t, "", func(t *testing.T, origin string, over a2a.TransportProtocol) {
		c := client(t, origin, over)
		task := send(t, c, now(say("slow 600000 done")))
		if task.Status.State.Terminal() {
			t.Fatalf("the task has ended: %+v", task)
		}
		// A client that leaves its stream ends nothing.
		subscribe := func(ctx context.Context) func(func(a2a.Event, error) bool) {
			return c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID})
		}
		f := follow(t, subscribe(t.Context()), func(f followed) bool { return true })
		if snapshot, ok := f.first.(*a2a.Task); !ok || snapshot.ID != task.ID {
			t.Fatalf("a subscription opens with %+v", f.first)
		}
		cancelled := make(chan error, 1)
		f = follow(t, subscribe(t.Context()), func(f followed) bool {
			if len(f.states) == 1 { // the subscription stands
				go func() {
					got, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
					if err == nil && got.Status.State != a2a.TaskStateCanceled {
						t.Errorf("cancelled, the task is %s", got.Status.State)
					}
					cancelled <- err
				}()
			}
			return false
		})
		if err := <-cancelled; err != nil {
			t.Fatal(err)
		}
		if f.ended() != a2a.TaskStateCanceled {
			t.Errorf("the subscription ended with %+v", f)
		}
		// The end is told to who comes too late.
		if f = follow(t, subscribe(t.Context()), nil); f.ended() != a2a.TaskStateCanceled {
			t.Errorf("a late subscription brought %+v", f)
		}
	})
}

func TestGoClientAnswersQuestions(t *testing.T) {
	t.Parallel()
	eachTransport(t, "", func(t *testing.T, origin string, over a2a.TransportProtocol) {
		c := client(t, origin, over)
		asked := send(t, c, say("ask Which colour? [red|blue]"))
		wantState(t, asked, a2a.TaskStateInputRequired)
		if asked.Status.Message == nil || !strings.Contains(texts(asked.Status.Message.Parts), "Which colour?") {
			t.Fatalf("the question reads as %+v", asked.Status)
		}
		task := send(t, c, in(say("blue"), asked))
		wantState(t, task, a2a.TaskStateCompleted)
		if task.ID != asked.ID || answer(task) != "You said: blue" {
			t.Errorf("answered, the task reads as %+v", task)
		}
		// The next task of the conversation keeps its context.
		next := say("echo again")
		next.Message.ContextID = task.ContextID
		if again := send(t, c, next); again.ContextID != task.ContextID || again.ID == task.ID {
			t.Errorf("the next task reads as %+v", again)
		}

		// On a stream the question comes while the stream stays open; the answer goes
		// over another call and the first stream follows on.
		answered := make(chan error, 1)
		f := follow(t, c.SendStreamingMessage(t.Context(), say("ask Really? [yes|no]")), func(f followed) bool {
			if f.ended() == a2a.TaskStateInputRequired {
				go func() {
					_, err := c.SendMessage(t.Context(), in(say("yes"), f.first))
					answered <- err
				}()
			}
			return false
		})
		if err := <-answered; err != nil {
			t.Fatal(err)
		}
		if f.text != "You said: yes" || f.ended() != a2a.TaskStateCompleted {
			t.Errorf("the first stream brought %+v", f)
		}

		auth := send(t, c, say("auth"))
		wantState(t, auth, a2a.TaskStateAuthRequired)
		wantState(t, send(t, c, in(say("done"), auth)), a2a.TaskStateCompleted)
	})
}

func TestGoClientLists(t *testing.T) {
	t.Parallel()
	eachTransport(t, "", func(t *testing.T, origin string, over a2a.TransportProtocol) {
		c := client(t, origin, over)
		sent := map[a2a.TaskID]bool{}
		var kept *a2a.Task
		for range 5 {
			kept = send(t, c, say("echo listed"))
			sent[kept.ID] = true
		}
		parked := send(t, c, say("ask Well?"))
		sent[parked.ID] = true
		req := &a2a.ListTasksRequest{PageSize: 2}
		for pages := 0; ; pages++ {
			page, err := c.ListTasks(t.Context(), req)
			if err != nil || len(page.Tasks) > 2 || page.TotalSize != 6 || pages > 3 {
				t.Fatalf("page %d: %+v, %v", pages, page, err)
			}
			for _, task := range page.Tasks {
				if !sent[task.ID] || len(task.Artifacts) > 0 {
					t.Errorf("listed twice, unknown or with artifacts: %+v", task)
				}
				delete(sent, task.ID)
			}
			if req.PageToken = page.NextPageToken; req.PageToken == "" {
				break
			}
		}
		if len(sent) > 0 {
			t.Errorf("never listed: %v", sent)
		}
		one := func(what string, req *a2a.ListTasksRequest, want a2a.TaskID) {
			got, err := c.ListTasks(t.Context(), req)
			if err != nil || len(got.Tasks) != 1 || got.Tasks[0].ID != want {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
		}
		one("by context", &a2a.ListTasksRequest{ContextID: kept.ContextID}, kept.ID)
		one("by state", &a2a.ListTasksRequest{Status: a2a.TaskStateInputRequired}, parked.ID)
		if got, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{ContextID: kept.ContextID, IncludeArtifacts: true}); err != nil || answer(got.Tasks[0]) != "listed" {
			t.Errorf("with artifacts: %+v, %v", got, err)
		}
		later := time.Now().Add(time.Hour)
		got, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{StatusTimestampAfter: &later})
		if over == a2a.TransportProtocolHTTPJSON {
			// The client names the filter lastUpdatedAfter here, which is no parameter of
			// A2A 1.0: see docs/clients.md.
			if err != nil || len(got.Tasks) != 6 {
				t.Errorf("the client filters by time over HTTP+JSON now: docs/clients.md is out of date: %+v, %v", got, err)
			}
		} else if err != nil || len(got.Tasks) != 0 {
			t.Errorf("by time: %+v, %v", got, err)
		}

		none := 0
		bare, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: kept.ID, HistoryLength: &none})
		if err != nil || len(bare.History) > 0 || answer(bare) != "listed" {
			t.Errorf("without history: %+v, %v", bare, err)
		}
		if got, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: kept.ID}); err != nil || len(got.History) == 0 {
			t.Errorf("with history: %+v, %v", got, err)
		}
	})
}
