package conformance

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/conformance/vector"
	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/impl/app"
	"a2aserve/impl/driver/bus"
)

// stage is a plain agent on a bus: its handlers play turns whose id is the task's.
type stage struct {
	bus *bus.Bus

	mu   sync.Mutex // guards what follows
	told []event.Event
	wait map[string]chan event.Event // of a question or a task
}

// serveAgent runs a server in front of an agent that plays each turn within the emission
// of its input.
func serveAgent(t testing.TB, yaml string, o bus.Options, play func(*stage, event.Input)) (*vector.Target, *stage) {
	t.Helper()
	return serveAgentOn(t, filepath.Join(t.TempDir(), "tasks.db"), yaml, o, play)
}

func serveAgentOn(t testing.TB, db, yaml string, o bus.Options, play func(*stage, event.Input)) (*vector.Target, *stage) {
	t.Helper()
	target, s, stop := startAgent(t, db, yaml, o, play)
	t.Cleanup(stop)
	return target, s
}

func startAgent(t testing.TB, db, yaml string, o bus.Options, play func(*stage, event.Input)) (*vector.Target, *stage, func()) {
	t.Helper()
	s := &stage{bus: bus.New(quiet()), wait: map[string]chan event.Event{}}
	bus.On(s.bus, func(in event.Input) { play(s, in) })
	bus.On(s.bus, func(e event.HITLResponded) { s.tell(e.RequestID, e) })
	bus.On(s.bus, func(e event.HITLCancel) { s.tell(e.RequestID, e) })
	bus.On(s.bus, func(e event.CancelRequest) { s.tell(e.TaskID, e) })
	target, stop := startWith(t, db, yaml, app.Options{Log: quiet(), Driver: bus.NewDriver(s.bus, o)})
	return target, s, stop
}

func (s *stage) emit(es ...event.Event) {
	for _, e := range es {
		_ = s.bus.Emit(e)
	}
}

// tell hands what the agent is told to the part of it that waits for it.
func (s *stage) tell(id string, e event.Event) {
	s.mu.Lock()
	s.told = append(s.told, e)
	s.mu.Unlock()
	s.ear(id) <- e
}

// ear is where the agent hears of a question or a task.
func (s *stage) ear(id string) chan event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wait[id] == nil {
		s.wait[id] = make(chan event.Event, 8)
	}
	return s.wait[id]
}

// types are the events that the agent was told, in order.
func (s *stage) types() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.told {
		out = append(out, e.EventType())
	}
	return out
}

func begin(in event.Input) event.Event { return event.TurnStart{TurnID: in.TaskID, TaskID: in.TaskID} }
func finish(in event.Input) event.Event {
	return event.TurnEnd{TurnID: in.TaskID}
}

func assistant(in event.Input, text string) event.Event {
	return event.Output{TurnID: in.TaskID, Role: "assistant", Content: text}
}

// LR-13: no chunk of an agent's artifact vanishes: one that continues nothing begins it,
// a replacement replaces, one after the last still continues; streamed and stored agree,
// and no artifact id is there twice.
func TestChunksOfAnAgent(t *testing.T) {
	target, _ := serveAgent(t, tokens, bus.Options{}, func(s *stage, in event.Input) {
		chunk := func(id, text string, more, last bool) event.Event {
			return event.Artifact{TurnID: in.TaskID, Append: more, LastChunk: last, Artifact: a2a.Artifact{ArtifactID: id, Parts: []a2a.Part{{Text: &text}}}}
		}
		s.emit(begin(in), chunk("unseen", "begun by a chunk", true, false))
		for i, c := range []string{"Hel", "lo, ", "wor", "ld", "!"} {
			s.emit(chunk("hello", c, i > 0, i == 4))
		}
		s.emit(chunk("replaced", "old", false, false), chunk("replaced", "new", false, true))
		s.emit(chunk("hello", " Late.", true, false), finish(in))
	})
	want := map[string]string{"unseen": "begun by a chunk", "hello": "Hello, world! Late.", "replaced": "new"}
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say("go"))
		if err != nil {
			t.Fatal(err)
		}
		frames, state, err := ends(s)
		if err != nil || state != "TASK_STATE_COMPLETED" {
			t.Fatal(state, err)
		}
		streamed := map[string]string{}
		for _, f := range frames {
			if u := f.ArtifactUpdate; u != nil {
				if !u.Append {
					streamed[u.Artifact.ID] = ""
				}
				streamed[u.Artifact.ID] += u.Artifact.Parts[0].Text
			}
		}
		stored := map[string]string{}
		for _, a := range get(t, target, b, frames[0].Task.ID).Artifacts {
			if _, twice := stored[a.ID]; twice || len(a.Parts) != 1 {
				t.Errorf("artifact %s: there twice is %t, %d parts", a.ID, twice, len(a.Parts))
			}
			stored[a.ID] = a.Parts[0].Text
		}
		for id, text := range want {
			if streamed[id] != text || stored[id] != text {
				t.Errorf("%s: streamed %q, stored %q", id, streamed[id], stored[id])
			}
		}
	})
}

// HI-04, CA-01: cancelling a parked task tells the agent in order that its question is
// retracted and its turn over, and lets go what waited for the answer. The answer that
// comes later is refused, as is following the task.
func TestCancelParkedTask(t *testing.T) {
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		gone := make(chan string, 1)
		target, agent := serveAgent(t, tokens+"strict_terminal_subscribe: true\n", bus.Options{}, func(s *stage, in event.Input) {
			s.emit(begin(in), event.HITLRequested{TurnID: in.TaskID, RequestID: "q-" + in.TaskID, Prompt: "Colour?"})
			e := <-s.ear("q-" + in.TaskID)
			<-s.ear(in.TaskID)
			s.emit(assistant(in, "late"), event.CancelComplete{TurnID: in.TaskID}, finish(in))
			gone <- e.EventType()
		})
		parked := send(t, target, b, say("go"))
		got, err := parseAs[task](target.Call(t.Context(), b, "CancelTask", "alice", `{"id":"`+parked.ID+`"}`))
		if err != nil || got.Status.State != "TASK_STATE_CANCELED" {
			t.Fatal(got.Status, err)
		}
		if e := <-gone; e != "hitl.cancel" {
			t.Errorf("the agent was let go by %s", e)
		}
		if told := agent.types(); !slices.Equal(told, []string{"hitl.cancel", "cancel.request"}) {
			t.Errorf("the agent was told %q", told)
		}
		_, err = target.Call(t.Context(), b, "SendMessage", "alice", say("blue", `"taskId":"`+parked.ID+`"`))
		if r := refused(t, err); r.Reason != "UNSUPPORTED_OPERATION" || r.Detail != "TASK_ALREADY_TERMINAL" {
			t.Errorf("the answer: %+v", r)
		}
		_, err = target.Open(t.Context(), b, "SubscribeToTask", "alice", `{"id":"`+parked.ID+`"}`)
		if r := refused(t, err); r.Reason != "UNSUPPORTED_OPERATION" {
			t.Errorf("subscribing: %+v", r)
		}
		if now := get(t, target, b, parked.ID); now.Status != got.Status || len(now.History) != 2 || len(now.Artifacts) != 0 {
			t.Errorf("afterwards the task is %+v", now)
		}
	})
}

// Two open questions of one turn are both answered, each by name, whichever comes first
// (weak spot 7).
func TestTwoOpenQuestions(t *testing.T) {
	target, _ := serveAgent(t, tokens, bus.Options{}, func(s *stage, in event.Input) {
		s.emit(begin(in))
		var told [2]string
		var tools sync.WaitGroup
		for i, q := range []string{"p", "q"} { // as tools that run side by side do
			tools.Go(func() {
				s.emit(event.HITLRequested{TurnID: in.TaskID, RequestID: q + in.TaskID, Prompt: q + "?"})
				if r, ok := (<-s.ear(q + in.TaskID)).(event.HITLResponded); ok {
					told[i] = q + "=" + r.FreeText
				}
			})
		}
		tools.Wait()
		s.emit(assistant(in, strings.Join(told[:], " ")), finish(in))
	})
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		for _, order := range []string{"pq", "qp"} {
			id := send(t, target, b, say("go")).ID
			for len(get(t, target, b, id).History) < 3 { // both are asked
				time.Sleep(time.Millisecond)
			}
			for _, q := range order {
				named := fmt.Sprintf(`"taskId":%q,"metadata":{"nexus.hitl.requestId":%q}`, id, string(q)+id)
				send(t, target, b, say("to "+string(q), named))
			}
			if got := get(t, target, b, id); got.text() != "p=to p q=to q" || len(got.History) != 5 {
				t.Errorf("%s: %q, %d messages", order, got.text(), len(got.History))
			}
		}
	})
}
