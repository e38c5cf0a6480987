package bus_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

// host is a program with an agent, made of plugins that know each other by events only. A
// turn is one stack of emissions: input, model, tools, model, output, end. Tools run side by
// side, a question blocks its tool, and a cancellation comes from whatever goroutine.
type host struct {
	*bus.Bus
	mu      sync.Mutex // guards what follows
	turns   int
	prompt  string
	stop    chan struct{} // closed by a cancellation
	answers map[string]chan event.HITLResponded
	late    []string // what the last subscriber saw, in its order
}

// newHost subscribes the plugins, the agent itself behind the others.
func newHost(b *bus.Bus) *host {
	h := &host{Bus: b, answers: map[string]chan event.HITLResponded{}}
	bus.On(b, h.input, bus.WithPriority(50))
	bus.On(b, h.answered, bus.WithPriority(50))
	bus.On(b, h.model)
	bus.On(b, h.tool)
	bus.On(b, func(e event.HITLCancel) { // whoever asked hears that nobody will answer
		emit(b, event.HITLResponded{RequestID: e.RequestID, Cancelled: true})
	})
	bus.On(b, h.responded)
	bus.On(b, func(event.CancelRequest) {
		h.mu.Lock()
		defer h.mu.Unlock()
		select {
		case <-h.stop:
		default:
			close(h.stop)
		}
	})
	b.SubscribeAll(func(e event.Event) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.late = append(h.late, e.EventType())
	}, bus.WithPriority(100))
	return h
}

func (h *host) turn() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Sprint("turn ", h.turns)
}

func (h *host) input(in event.Input) {
	h.mu.Lock()
	h.turns++
	h.prompt, h.stop = in.Text, make(chan struct{})
	h.mu.Unlock()
	emit(h.Bus, event.TurnStart{TurnID: h.turn()}, event.LLMRequest{TurnID: h.turn()})
}

// model calls as many tools as it is asked for, then says so.
func (h *host) model(event.LLMRequest) {
	h.mu.Lock()
	prompt := h.prompt
	h.prompt = "done"
	h.mu.Unlock()
	name, count, _ := strings.Cut(prompt, " ")
	r := event.LLMResponse{TurnID: h.turn(), Content: prompt}
	var n int
	if _, err := fmt.Sscan(count, &n); err == nil {
		for i := range n {
			r.ToolCalls = append(r.ToolCalls, event.ToolCall{ID: fmt.Sprintf("%s-%d", name, i), Name: name})
		}
	}
	emit(h.Bus, r)
}

// answered runs the tools and asks again, or ends the turn.
func (h *host) answered(r event.LLMResponse) {
	if len(r.ToolCalls) == 0 {
		emit(h.Bus, say(r.TurnID, r.Content), event.TurnEnd{TurnID: r.TurnID})
		return
	}
	var tools sync.WaitGroup
	for _, c := range r.ToolCalls {
		tools.Go(func() { emit(h.Bus, event.ToolInvoke{TurnID: r.TurnID, CallID: c.ID, Name: c.Name}) })
	}
	tools.Wait()
	select {
	case <-h.stop: // written before this turn's first event
		emit(h.Bus, event.Output{TurnID: r.TurnID, Role: "system", Content: "Cancelled."},
			event.CancelComplete{TurnID: r.TurnID}, event.TurnEnd{TurnID: r.TurnID})
	default:
		emit(h.Bus, event.LLMRequest{TurnID: r.TurnID})
	}
}

func (h *host) tool(c event.ToolInvoke) {
	r := event.ToolResult{TurnID: c.TurnID, CallID: c.CallID, Name: c.Name, Output: "result of " + c.CallID}
	if c.Name == "ask" {
		id, answer := c.TurnID+c.CallID, make(chan event.HITLResponded, 4)
		h.mu.Lock()
		h.answers[id] = answer
		h.mu.Unlock()
		emit(h.Bus, event.HITLRequested{TurnID: c.TurnID, RequestID: id, Prompt: c.CallID + "?"})
		select {
		case a := <-answer:
			r.Output = "told " + a.FreeText
		case <-h.stop:
			r.Error = "stopped"
		}
	}
	if c.Name == "work" {
		<-h.stop
	}
	emit(h.Bus, r)
}

func (h *host) responded(e event.HITLResponded) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.answers[e.RequestID]; c != nil {
		c <- e
	}
}

// hosted is a stage with a host on it. The driver comes last and still hears first.
func hosted(t *testing.T, eo turn.Options) (*drivertest.Bench, *host) {
	t.Helper()
	var h *host
	b, _ := stage(t, bus.Options{SessionID: "s", Nested: true}, func(b *bus.Bus) { h = newHost(b) }, eo)
	return b, h
}

// TestHost: events from several goroutines make one task, in order, while the last
// subscriber sees the turn in reverse.
func TestHost(t *testing.T) {
	b, h := hosted(t, turn.Options{})
	for range 5 {
		task := b.Do("grep 8")
		var ids []string
		for _, a := range task.Artifacts {
			ids = append(ids, strings.TrimPrefix(a.ArtifactID, task.ID+"-"))
		}
		if last := len(ids) - 1; last != 8 || ids[last] != "response" || task.Status.State != a2a.TaskStateCompleted {
			t.Fatalf("%s with %q", task.Status.State, ids)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	late := h.late
	for range 4 { // the fifth turn may not have returned
		i := slices.Index(late, "io.input")
		if i < 0 || slices.Index(late[:i], "agent.turn.end") > slices.Index(late[:i], "llm.response") || slices.Index(late[:i], "agent.turn.end") < 0 {
			t.Fatalf("the last subscriber is not called last: %q", late)
		}
		late = late[i+1:]
	}
}

// TestHostAsks: questions that tools put at once are both answered, while the turn's
// goroutine is blocked.
func TestHostAsks(t *testing.T) {
	b, h := hosted(t, turn.Options{})
	s := b.Send(drivertest.Text("ask 2"))
	for h.open() < 2 {
		time.Sleep(time.Millisecond)
	}
	for _, answer := range []string{"first", "second"} {
		if task := b.Await(s); task.Status.State != a2a.TaskStateInputRequired && answer == "first" {
			t.Fatal(task.Status.State)
		}
		s = b.Answer(s, answer)
	}
	for task := b.Await(s); ; task = b.Await(s) {
		if task.Status.State == a2a.TaskStateInputRequired {
			continue
		}
		told := *task.Artifacts[0].Parts[0].Text + *task.Artifacts[1].Parts[0].Text
		if task.Status.State != a2a.TaskStateCompleted || len(task.History) != 5 || !strings.Contains(told, "first") || !strings.Contains(told, "second") {
			t.Errorf("%s, %d messages, %q", task.Status.State, len(task.History), told)
		}
		break
	}
}

func (h *host) open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.answers)
}

// TestHostIsCancelled, by the client or at the host, working or waiting; never is the
// host's remark about it the answer, and the next turn works.
func TestHostIsCancelled(t *testing.T) {
	b, h := hosted(t, turn.Options{CancelGrace: time.Minute})
	for _, prompt := range []string{"work 3", "ask 1"} {
		for _, elsewhere := range []bool{false, true} {
			s := b.Send(drivertest.Text(prompt))
			for rec, _ := s.Run.Snapshot(); rec.State == a2a.TaskStateSubmitted || prompt == "ask 1" && !rec.State.Interrupted(); rec, _ = s.Run.Snapshot() {
				time.Sleep(time.Millisecond)
			}
			if elsewhere {
				emit(h.Bus, event.CancelRequest{TaskID: "whatever runs"})
			} else if _, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID); err != nil {
				t.Fatal(err)
			}
			frames := b.Frames(s)
			if last := frames[len(frames)-1].StatusUpdate; last == nil || last.Status.State != a2a.TaskStateCanceled {
				t.Errorf("%s, elsewhere %t: ends with %+v", prompt, elsewhere, last)
			}
			task := b.Decode(b.Journal.Task(s.Record.ID))
			for _, a := range task.Artifacts {
				if strings.HasSuffix(a.ArtifactID, "-response") {
					t.Errorf("%s, elsewhere %t: answered %q", prompt, elsewhere, *a.Parts[0].Text)
				}
			}
			if task := b.Do("hello"); drivertest.Answered(task) != "hello" {
				t.Errorf("after %s: %s", prompt, task.Status.State)
			}
		}
	}
}
