package agui_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	wire "a2aserve/gen/agui"
	"a2aserve/impl/driver/agui"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent is an AG-UI server that understands the commands of the drivers' suite. It frames
// its runs as the recorded one does: data lines only, a step around the turn, snapshots
// before an interrupt, which frees it for other runs.
type agent struct {
	*httptest.Server
	mu     sync.Mutex // guards what follows
	inputs []wire.RunAgentInput
	heads  []http.Header
	parked map[string]string // interrupts by id: their thread
	heard  map[string]int    // messages by thread
}

// newAgent serves, with play in place of the commands if it is not nil.
func newAgent(t *testing.T, play func(*stream)) *agent {
	a := &agent{parked: map[string]string{}, heard: map[string]int{}}
	if play == nil {
		play = a.play
	}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in wire.RunAgentInput
		if err := json.UnmarshalRead(r.Body, &in); err != nil || r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" {
			http.Error(w, "not a run", http.StatusBadRequest)
			return
		}
		a.mu.Lock()
		a.inputs, a.heads = append(a.inputs, in), append(a.heads, r.Header)
		a.mu.Unlock()
		play(&stream{a: a, w: w, r: r, in: in})
	}))
	t.Cleanup(a.Close)
	return a
}

// driver connects to the agent.
func (a *agent) driver(t *testing.T, change func(*agui.Options)) *agui.Driver {
	o := agui.Options{URL: a.URL + "/agui", PerContext: true, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	d := agui.New(o)
	t.Cleanup(d.Close)
	return d
}

func (a *agent) asked() []wire.RunAgentInput {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]wire.RunAgentInput(nil), a.inputs...)
}

// stream is one run.
type stream struct {
	a    *agent
	w    http.ResponseWriter
	r    *http.Request
	in   wire.RunAgentInput
	said int
	out  func(text string) // not nil: where it goes, in place of w
	gone <-chan struct{}   // closed when there is no sense in going on; nil: when r's client has left
}

// left is closed when nobody listens any more.
func (s *stream) left() <-chan struct{} {
	if s.gone != nil {
		return s.gone
	}
	return s.r.Context().Done()
}

// text is what the user says.
func (s *stream) text() string {
	if len(s.in.Messages) == 0 {
		return ""
	}
	return s.in.Messages[len(s.in.Messages)-1].Content
}

// raw writes bytes as they are.
func (s *stream) raw(text string) {
	if s.out != nil {
		s.out(text)
		return
	}
	s.w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(s.w, text)
	_ = http.NewResponseController(s.w).Flush()
}

// send writes one event, its members given in pairs.
func (s *stream) send(kind string, members ...any) {
	e := map[string]any{"type": kind}
	for i := 0; i+1 < len(members); i += 2 {
		e[members[i].(string)] = members[i+1]
	}
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	s.raw("data: " + string(b) + "\n\n")
}

func (s *stream) start() {
	s.send("RUN_STARTED", "threadId", s.in.ThreadID, "runId", s.in.RunID)
	s.send("STEP_STARTED", "stepName", "turn_1")
}

func (s *stream) finish() {
	s.send("STEP_FINISHED", "stepName", "turn_1")
	s.send("RUN_FINISHED", "threadId", s.in.ThreadID, "runId", s.in.RunID)
}

// say is one message in the given pieces.
func (s *stream) say(role string, pieces ...string) {
	s.said++
	id := fmt.Sprintf("msg-%d", s.said)
	s.send("TEXT_MESSAGE_START", "messageId", id, "role", role)
	for _, p := range pieces {
		s.send("TEXT_MESSAGE_CONTENT", "messageId", id, "delta", p)
	}
	s.send("TEXT_MESSAGE_END", "messageId", id)
}

// interrupt ends the run with a question.
func (s *stream) interrupt(prompt, mode string, ids ...string) (id string) {
	id = "hitl-" + s.in.RunID
	choices := []map[string]any{}
	for _, c := range ids {
		choices = append(choices, map[string]any{"id": c, "label": c, "kind": "custom"})
	}
	s.a.mu.Lock()
	s.a.parked[id] = s.in.ThreadID
	s.a.mu.Unlock()
	s.send("STATE_SNAPSHOT", "snapshot", map[string]any{"parked": true})
	s.send("MESSAGES_SNAPSHOT", "messages", []any{})
	s.send("RUN_FINISHED", "threadId", s.in.ThreadID, "runId", s.in.RunID, "outcome", "interrupt",
		"result", map[string]any{"interruptId": id, "prompt": prompt, "mode": mode, "choices": choices})
	return id
}
