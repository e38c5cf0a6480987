package bus_test

import (
	"log/slog"
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

// stage is a bus with an engine in front of it; the agent is made of handlers.
func stage(t *testing.T, o bus.Options, agent func(*bus.Bus), eo turn.Options) (*drivertest.Bench, *bus.Bus) {
	t.Helper()
	b := bus.New(slog.New(slog.DiscardHandler))
	if agent != nil {
		agent(b) // an agent that subscribes first is not heard in reverse
	}
	d := bus.NewDriver(b, o)
	t.Cleanup(d.Close)
	return drivertest.New(t, d, eo), b
}

func say(turnID, text string) event.Output {
	return event.Output{TurnID: turnID, Role: "assistant", Content: text}
}

func emit(b *bus.Bus, es ...event.Event) {
	for _, e := range es {
		_ = b.Emit(e)
	}
}

// TestNestedTurn: the whole turn runs inside the emission of its input.
func TestNestedTurn(t *testing.T) {
	b, _ := stage(t, bus.Options{SessionID: "s"}, func(b *bus.Bus) {
		bus.On(b, func(in event.Input) { emit(b, event.TurnStart{TurnID: "t"}) })
		bus.On(b, func(event.TurnStart) { emit(b, event.LLMRequest{TurnID: "t"}) }, bus.WithPriority(50))
		bus.On(b, func(event.LLMRequest) {
			emit(b, event.ToolResult{TurnID: "t", CallID: "c", Output: "tool"}, say("t", "hello"), event.TurnEnd{TurnID: "t"})
		})
	}, turn.Options{})
	for range 3 {
		task := b.Do("go")
		if task.Status.State != a2a.TaskStateCompleted || len(task.Artifacts) != 2 || *task.Artifacts[1].Parts[0].Text != "hello" {
			t.Fatalf("%s, %+v", task.Status.State, task.Artifacts)
		}
	}
}

// TestAgentOnItsOwnGoroutine: the handler returns at once and the turn goes on.
func TestAgentOnItsOwnGoroutine(t *testing.T) {
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	b, _ := stage(t, bus.Options{}, func(b *bus.Bus) {
		bus.On(b, func(in event.Input) {
			wg.Go(func() {
				emit(b, event.TurnStart{TurnID: in.TaskID, TaskID: in.TaskID})
				time.Sleep(time.Millisecond)
				emit(b, say(in.TaskID, in.Text), event.TurnEnd{TurnID: in.TaskID})
			})
		})
	}, turn.Options{})
	var all sync.WaitGroup
	for _, text := range []string{"one", "two", "three", "four"} {
		all.Go(func() {
			s, err := b.Engine.Send(t.Context(), drivertest.Text(text))
			if err != nil {
				t.Error(err)
				return
			}
			rec, err := s.Run.Await(t.Context(), s.From)
			if err != nil || drivertest.Answered(b.Decode(rec)) != text {
				t.Errorf("%s: %s, %v", text, rec.State, err)
			}
		})
	}
	all.Wait()
}

func TestVetoedInput(t *testing.T) {
	performed := false
	b, _ := stage(t, bus.Options{}, func(b *bus.Bus) {
		b.Before("io.input", func(p *bus.Proposal) { p.Veto("not today") })
		bus.On(b, func(event.Input) { performed = true })
	}, turn.Options{})
	task := b.Do("go")
	if task.Status.State != a2a.TaskStateRejected || drivertest.Said(task) != "not today" || performed {
		t.Errorf("%s %q, performed %t", task.Status.State, drivertest.Said(task), performed)
	}
}

func TestNobodyListens(t *testing.T) {
	b, _ := stage(t, bus.Options{}, nil, turn.Options{})
	if task := b.Do("go"); task.Status.State != a2a.TaskStateFailed {
		t.Error(task.Status.State)
	}
}

// TestPanickingHandlers: one that only watches does no harm; the agent's own fails the
// turn, and the next one works.
func TestPanickingHandlers(t *testing.T) {
	b, _ := stage(t, bus.Options{SessionID: "s"}, func(b *bus.Bus) {
		b.SubscribeAll(func(event.Event) { panic("watcher") })
		bus.On(b, func(in event.Input) {
			emit(b, event.TurnStart{TurnID: in.TaskID})
			if in.Text == "panic" {
				panic("agent")
			}
			emit(b, say(in.TaskID, "fine"), event.TurnEnd{TurnID: in.TaskID})
		})
	}, turn.Options{})
	for _, text := range []string{"go", "panic", "go"} {
		task := b.Do(text)
		if want := text == "go"; (task.Status.State == a2a.TaskStateCompleted) != want {
			t.Errorf("%s: %s %q", text, task.Status.State, drivertest.Said(task))
		}
	}
}

// TestStrays: events of turns that are not the server's change nothing.
func TestStrays(t *testing.T) {
	b, _ := stage(t, bus.Options{}, func(b *bus.Bus) {
		bus.On(b, func(in event.Input) {
			emit(b,
				event.TurnStart{TurnID: "x", TaskID: "somebody else's"}, say("x", "stray"), event.TurnEnd{TurnID: "x"},
				event.TurnStart{TurnID: in.TaskID, TaskID: in.TaskID},
				say("x", "stray"), event.CoreError{TurnID: "x", Fatal: true}, event.HITLResponded{RequestID: "unknown"},
				event.CancelComplete{TurnID: "x"}, event.TurnEnd{TurnID: "x"},
				say(in.TaskID, in.Text), event.TurnEnd{TurnID: in.TaskID})
		})
	}, turn.Options{})
	s, u := b.Send(drivertest.Text("one")), b.Send(drivertest.Text("two"))
	if one, two := b.Await(s), b.Await(u); drivertest.Answered(one) != "one" || drivertest.Answered(two) != "two" {
		t.Errorf("%q, %q", drivertest.Answered(one), drivertest.Answered(two))
	}
}

// TestAnsweredOnTheBus: somebody else's answer resumes the task, too.
func TestAnsweredOnTheBus(t *testing.T) {
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	answers := make(chan string, 1)
	b, onBus := stage(t, bus.Options{SessionID: "s"}, func(b *bus.Bus) {
		bus.On(b, func(e event.HITLResponded) { answers <- e.FreeText })
		bus.On(b, func(in event.Input) {
			emit(b, event.TurnStart{TurnID: "t"}, event.HITLRequested{TurnID: "t", RequestID: "q", Prompt: "?"})
			emit(b, say("t", "told "+<-answers), event.TurnEnd{TurnID: "t"})
		})
	}, turn.Options{})
	s := b.Send(drivertest.Text("go"))
	b.Await(s)
	emit(onBus, event.HITLResponded{RequestID: "q", FreeText: "from elsewhere"})
	var states []string
	for _, f := range b.Frames(s) {
		if f.StatusUpdate != nil {
			states = append(states, strings.TrimPrefix(string(f.StatusUpdate.Status.State), "TASK_STATE_"))
		}
	}
	if want := []string{"WORKING", "INPUT_REQUIRED", "WORKING", "COMPLETED"}; !slices.Equal(states, want) {
		t.Errorf("%q", states)
	}
	if got := drivertest.Answered(b.Decode(b.Journal.Task(s.Record.ID))); got != "told from elsewhere" {
		t.Errorf("%q", got)
	}
}

// TestToldInOrder: what the agent is told on a cancellation, and nothing before it
// knows the turn.
func TestToldInOrder(t *testing.T) {
	var mu sync.Mutex // guards told
	var told []string
	b, _ := stage(t, bus.Options{SessionID: "s"}, func(b *bus.Bus) {
		stop := make(chan struct{}, 1)
		b.SubscribeAll(func(e event.Event) {
			switch e.EventType() {
			case "io.input", "hitl.cancel", "cancel.request", "shutdown":
				mu.Lock()
				told = append(told, e.EventType())
				mu.Unlock()
			}
		})
		bus.On(b, func(event.CancelRequest) { stop <- struct{}{} })
		bus.On(b, func(in event.Input) {
			emit(b, event.TurnStart{TurnID: in.TaskID}, event.HITLRequested{TurnID: in.TaskID, RequestID: "q", Prompt: "?"})
			<-stop
			emit(b, event.CancelComplete{TurnID: in.TaskID}, event.TurnEnd{TurnID: in.TaskID})
		})
	}, turn.Options{})
	s := b.Send(drivertest.Text("go"))
	b.Await(s)
	if _, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID); err != nil {
		t.Fatal(err)
	}
	s = b.Send(drivertest.Text("go")) // begins only after the first has returned
	b.Await(s)
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"io.input", "hitl.cancel", "cancel.request", "io.input"}; !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
}

// TestInputOfATurn carries what the message had.
func TestInputOfATurn(t *testing.T) {
	one, two := "one", "two"
	got := bus.Input(turn.Input{TaskID: "t", ContextID: "c", AcceptedOutputModes: []string{"text/plain"}, Message: a2a.Message{
		MessageID: "m", ReferenceTaskIDs: []string{"r"}, Metadata: a2a.Struct(`{"k":1}`),
		Parts: []a2a.Part{{Text: &one}, {Raw: []byte("x")}, {Text: &two}},
	}})
	if got.TaskID != "t" || got.ContextID != "c" || got.MessageID != "m" || got.Text != "one\ntwo" || len(got.Parts) != 3 ||
		string(got.Metadata) != `{"k":1}` || got.ReferenceTaskIDs[0] != "r" || got.AcceptedOutputModes[0] != "text/plain" {
		t.Errorf("%+v", got)
	}
}

// TestGuards: the first veto counts, a guard that panics vetoes, and the agent is not asked.
func TestGuards(t *testing.T) {
	var mu sync.Mutex // guards seen
	var seen []string
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, s)
	}
	b, _ := stage(t, bus.Options{SessionID: "s"}, func(b *bus.Bus) {
		b.Before("io.input", func(p *bus.Proposal) { note("last"); p.Veto("second thoughts") }, bus.WithPriority(9))
		b.Before("io.input", func(p *bus.Proposal) {
			note("first")
			switch p.Event.(event.Input).Text {
			case "panic":
				panic("guard")
			case "veto":
				p.Veto("no")
			}
		})
		bus.On(b, func(event.Input) { note("agent") })
	}, turn.Options{})
	for _, text := range []string{"panic", "veto", "neither"} {
		if task := b.Do(text); task.Status.State != a2a.TaskStateRejected || drivertest.Said(task) == "" {
			t.Errorf("%s: %s %q", text, task.Status.State, drivertest.Said(task))
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"first", "first", "first", "last"}; !slices.Equal(seen, want) {
		t.Errorf("%q", seen)
	}
}

// TestEmittingInsideAnEmission: a handler may answer an event with events of its kind.
func TestEmittingInsideAnEmission(t *testing.T) {
	b, _ := stage(t, bus.Options{SessionID: "s"}, func(b *bus.Bus) {
		bus.On(b, func(e event.ToolResult) {
			if e.CallID != "xxxxx" {
				emit(b, event.ToolResult{TurnID: e.TurnID, CallID: e.CallID + "x", Output: "o"})
			}
		})
		bus.On(b, func(in event.Input) {
			emit(b, event.TurnStart{TurnID: "t"}, &event.ToolResult{TurnID: "t", CallID: "x", Output: "o"}, say("t", "done"), event.TurnEnd{TurnID: "t"})
		})
	}, turn.Options{})
	task := b.Do("go")
	var ids []string
	for _, a := range task.Artifacts {
		ids = append(ids, strings.TrimPrefix(a.ArtifactID, task.ID+"-tool-"))
	}
	if want := []string{"x", "xx", "xxx", "xxxx", "xxxxx", task.ID + "-response"}; !slices.Equal(ids, want) {
		t.Errorf("%q", ids)
	}
}

// TestQuestionTakenBack: the agent no longer needs an answer, and the task works again.
func TestQuestionTakenBack(t *testing.T) {
	b, _ := stage(t, bus.Options{SessionID: "s"}, func(b *bus.Bus) {
		bus.On(b, func(in event.Input) {
			emit(b, event.TurnStart{TurnID: "t"}, event.HITLRequested{TurnID: "t", RequestID: "q", Prompt: "?"},
				event.HITLCancel{RequestID: "q", Reason: "found it"}, say("t", "found"), event.TurnEnd{TurnID: "t"})
		})
	}, turn.Options{})
	s := b.Send(drivertest.Text("go"))
	var states []string
	for _, f := range b.Frames(s) {
		if f.StatusUpdate != nil {
			states = append(states, strings.TrimPrefix(string(f.StatusUpdate.Status.State), "TASK_STATE_"))
		}
	}
	if want := []string{"WORKING", "INPUT_REQUIRED", "WORKING", "COMPLETED"}; !slices.Equal(states, want) {
		t.Errorf("%q", states)
	}
}
