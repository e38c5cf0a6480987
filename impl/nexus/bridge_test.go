package nexus_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/nexus"
	"a2aserve/impl/turn"
)

// stage puts the turn engine in front of a Nexus double.
func stage(t *testing.T, e *engine) *drivertest.Bench {
	t.Helper()
	b := bus.New(slog.New(slog.DiscardHandler))
	d := bus.NewDriver(b, bus.Options{SessionID: "session", Gated: true})
	connect(t, e, b, nexus.Options{})
	t.Cleanup(d.Close)
	return drivertest.New(t, d, turn.Options{})
}

// answer is the text of the response artifact.
func answer(t a2a.Task) string {
	for _, a := range t.Artifacts {
		if strings.HasSuffix(a.ArtifactID, "-response") {
			return *a.Parts[0].Text
		}
	}
	return ""
}

func state(t a2a.Task) string { return strings.TrimPrefix(string(t.Status.State), "TASK_STATE_") }

func cancelTask(t *testing.T, b *drivertest.Bench, s turn.Sent) {
	t.Helper()
	rec, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID)
	if err != nil || rec.State != a2a.TaskStateCanceled {
		t.Fatalf("cancel: %s, %v", rec.State, err)
	}
}

// works says that a turn runs to its end and is answered by the model.
func works(t *testing.T, b *drivertest.Bench, text string) {
	t.Helper()
	if task := b.Do(text); state(task) != "COMPLETED" || answer(task) != "said: "+text {
		t.Fatalf("the turn ended %s with %q (%s)", state(task), answer(task), drivertest.Said(task))
	}
}

// calm runs a test in which synctest.Wait says that nothing moves any more.
func calm(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// TestDoubleWedges: without the repair the double behaves as the real agent does, so
// that the tests below prove something.
func TestDoubleWedges(t *testing.T) {
	e := newEngine(t)
	ended := 0
	e.on("agent.turn.end", 90, func(any) { ended++ })
	e.model = func(e *engine, said string) nexus.LLMResponse {
		if said == "stop" {
			e.Emit(nexus.CancelRequest{})
		}
		return nexus.LLMResponse{Content: said}
	}
	e.Emit(nexus.Input{Content: "one"})
	e.Emit(nexus.Input{Content: "stop"})
	if ended != 2 {
		t.Fatalf("%d turns ended, want 2", ended)
	}
	if e.Emit(nexus.Input{Content: "two"}); ended != 2 {
		t.Fatal("the turn after a cancellation ends by itself: the double is not like the agent")
	}
}

func TestTurns(t *testing.T) {
	for _, apart := range []bool{false, true} {
		e := newEngine(t)
		e.apart = apart
		b := stage(t, e)
		for range 3 {
			works(t, b, "hello")
		}
	}
}

// TestTurnAfterCancellation: the wedge, in each place where a turn can be.
func TestTurnAfterCancellation(t *testing.T) {
	stuck := func(e *engine, entered chan<- struct{}, leave <-chan struct{}) func(*engine, string) nexus.LLMResponse {
		return func(_ *engine, said string) nexus.LLMResponse {
			if said == "stuck" {
				entered <- struct{}{}
				<-leave
				return nexus.LLMResponse{ToolCalls: []nexus.ToolCall{{ID: "1", Name: "dangerous"}}}
			}
			return nexus.LLMResponse{Content: "said: " + said}
		}
	}
	for _, apart := range []bool{false, true} {
		calm(t, map[bool]string{false: "nested", true: "apart"}[apart], func(t *testing.T) {
			e := newEngine(t)
			e.apart = apart
			entered, leave := make(chan struct{}), make(chan struct{})
			e.model = stuck(e, entered, leave)
			b := stage(t, e)
			for range 3 {
				s := b.Send(drivertest.Text("stuck"))
				<-entered
				mended := e.count("cancel.resume")
				cancelTask(t, b, s)
				asked := e.asked.Load()
				next := b.Send(drivertest.Text("next"))
				synctest.Wait()
				if e.count("cancel.resume") != mended {
					t.Error("mended while the model owes an answer")
				}
				leave <- struct{}{}
				if task := b.Await(next); state(task) != "COMPLETED" || answer(task) != "said: next" {
					t.Fatalf("the turn ended %s with %q (%s)", state(task), answer(task), drivertest.Said(task))
				}
				works(t, b, "and next")
				if n := e.asked.Load() - asked; n != 2 {
					t.Errorf("the model was asked %d times for two turns", n)
				}
			}
			if n := e.count("tool.invoke"); n != 0 {
				t.Errorf("%d tool calls of cancelled turns were carried out", n)
			}
		})
	}
}

// TestCancelWhileAsking: letting the agent out of its question does not make it ask its
// model once more.
func TestCancelWhileAsking(t *testing.T) {
	e := newEngine(t)
	e.model = func(_ *engine, said string) nexus.LLMResponse {
		if said == "ask" {
			return nexus.LLMResponse{ToolCalls: []nexus.ToolCall{{ID: "1", Name: "ask_user"}}}
		}
		return nexus.LLMResponse{Content: "said: " + said}
	}
	b := stage(t, e)
	for range 3 {
		s := b.Send(drivertest.Text("ask"))
		if task := b.Await(s); state(task) != "INPUT_REQUIRED" {
			t.Fatal(state(task))
		}
		asked := e.asked.Load()
		cancelTask(t, b, s)
		works(t, b, "next")
		if n := e.asked.Load() - asked; n != 1 {
			t.Errorf("the model was asked %d times for one turn", n)
		}
	}
}

// TestCancelBeforeAsking: a question that comes just after the cancellation holds nothing up.
func TestCancelBeforeAsking(t *testing.T) {
	e := newEngine(t)
	e.model = func(_ *engine, said string) nexus.LLMResponse {
		if said == "ask" {
			return nexus.LLMResponse{ToolCalls: []nexus.ToolCall{{ID: "1", Name: "ask_user"}}}
		}
		return nexus.LLMResponse{Content: "said: " + said}
	}
	entered, leave := make(chan struct{}), make(chan struct{})
	e.on("tool.invoke", 0, func(any) {
		entered <- struct{}{}
		<-leave
	})
	b := stage(t, e)
	for range 3 {
		s := b.Send(drivertest.Text("ask"))
		<-entered
		cancelTask(t, b, s)
		leave <- struct{}{}
		works(t, b, "next")
	}
}

func TestQuestions(t *testing.T) {
	e := newEngine(t)
	asked := false
	e.model = func(_ *engine, said string) nexus.LLMResponse {
		if asked = !asked; asked {
			return nexus.LLMResponse{ToolCalls: []nexus.ToolCall{{ID: "1", Name: "ask_user"}}}
		}
		return nexus.LLMResponse{Content: "thanks"}
	}
	b := stage(t, e)
	for _, c := range []struct {
		say  string // "": answered elsewhere
		want string
	}{{" green ", "g"}, {"none of these", "none of these"}, {"", "elsewhere"}} {
		s := b.Send(drivertest.Text("ask"))
		parked := b.Await(s)
		if state(parked) != "INPUT_REQUIRED" || !strings.Contains(drivertest.Said(parked), "Which?") {
			t.Fatalf("%s %q", state(parked), drivertest.Said(parked))
		}
		before := e.count("hitl.responded")
		if c.say != "" {
			b.Answer(s, c.say)
		} else {
			e.Emit(nexus.HITLResponded{RequestID: "hitl-" + e.current + "-1", FreeText: c.want})
		}
		frames := b.Frames(s)
		if last := frames[len(frames)-1].StatusUpdate; last == nil || last.Status.State != a2a.TaskStateCompleted {
			t.Fatalf("ended with %+v", frames[len(frames)-1])
		}
		task := b.Decode(b.Journal.Task(s.Record.ID))
		if answer(task) != "thanks" || *task.Artifacts[0].Parts[0].Text != c.want {
			t.Errorf("%q: the tool was told %q, the answer is %q", c.say, *task.Artifacts[0].Parts[0].Text, answer(task))
		}
		if n := e.count("hitl.responded") - before; n != 1 {
			t.Errorf("%d answers on the bus, want 1", n)
		}
	}
}

// TestCancelledElsewhere: somebody at another transport stops the turn, or one of their
// own. The task is cancelled, and the next turn works in both cases.
func TestCancelledElsewhere(t *testing.T) { synctest.Test(t, testCancelledElsewhere) }

func testCancelledElsewhere(t *testing.T) {
	e := newEngine(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	e.model = func(_ *engine, said string) nexus.LLMResponse {
		if said == "stuck" {
			entered <- struct{}{}
			<-leave
		}
		return nexus.LLMResponse{Content: "said: " + said}
	}
	b := stage(t, e)
	s := b.Send(drivertest.Text("stuck"))
	<-entered
	e.Emit(nexus.CancelRequest{Source: "tui"})
	leave <- struct{}{}
	if task := b.Await(s); state(task) != "CANCELED" || answer(task) != "" {
		t.Fatalf("%s %q", state(task), answer(task))
	}
	works(t, b, "next")

	theirs := func() {
		e.wg.Go(func() { e.Emit(nexus.Input{Content: "stuck"}) })
		<-entered
		e.Emit(nexus.CancelRequest{Source: "tui"})
		leave <- struct{}{}
		e.wg.Wait()
		synctest.Wait()
	}
	theirs()
	if n := e.count("cancel.resume"); n != 1 {
		t.Errorf("a turn of somebody else's was resumed for them: %d", n)
	}
	works(t, b, "after theirs")

	// They resume it themselves: their turn goes on, and there is nothing to mend.
	theirs()
	ended := e.count("agent.turn.end")
	e.said = "theirs"
	e.Emit(nexus.CancelResume{TurnID: e.current})
	if n := e.count("agent.turn.end") - ended; n != 1 {
		t.Errorf("their resumed turn ended %d times", n)
	}
	before := e.count("cancel.resume")
	works(t, b, "after they resumed")
	if n := e.count("cancel.resume") - before; n != 0 {
		t.Errorf("mended %d times, though nothing was broken", n)
	}
}

// TestLateTool: a tool of a cancelled turn that finishes after the repair starts no
// request to the model.
func TestLateTool(t *testing.T) { synctest.Test(t, testLateTool) }

func testLateTool(t *testing.T) {
	e := newEngine(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	e.model = func(_ *engine, said string) nexus.LLMResponse {
		if said == "tools" {
			return nexus.LLMResponse{ToolCalls: []nexus.ToolCall{{ID: "1", Name: "a"}, {ID: "2", Name: "b"}}}
		}
		return nexus.LLMResponse{Content: "said: " + said}
	}
	e.tool = func(*engine, nexus.ToolInvoke) nexus.ToolResult {
		entered <- struct{}{}
		<-leave
		return nexus.ToolResult{Output: "late"}
	}
	b := stage(t, e)
	s := b.Send(drivertest.Text("tools"))
	<-entered
	<-entered
	cancelTask(t, b, s)
	synctest.Wait()
	if n := e.count("cancel.resume"); n != 1 {
		t.Fatalf("mended %d times before the next input", n)
	}
	close(leave)
	e.wg.Wait()
	if n := e.asked.Load(); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	works(t, b, "next")
}

// TestDroppedRequest: a provider that drops what it was asked when the turn is stopped keeps
// nobody waiting, whoever stops it.
func TestDroppedRequest(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e := newEngine(t)
			entered, leave := make(chan struct{}), make(chan struct{})
			e.on("cancel.active", 5, func(any) { leave <- struct{}{} })
			e.model = func(_ *engine, said string) nexus.LLMResponse {
				if said == "stuck" {
					entered <- struct{}{}
					<-leave
					return nexus.LLMResponse{Model: aborted}
				}
				return nexus.LLMResponse{Content: "said: " + said}
			}
			b := stage(t, e)
			for range 3 {
				s := b.Send(drivertest.Text("stuck"))
				<-entered
				if elsewhere {
					e.Emit(nexus.CancelRequest{Source: "tui"})
					b.Await(s)
				} else {
					cancelTask(t, b, s)
				}
				begun := time.Now() // of the bubble's clock, which moves when all wait
				works(t, b, "next")
				if waited := time.Since(begun); waited >= nexus.DefaultPatience {
					t.Errorf("elsewhere %t: the next turn waited %s", elsewhere, waited)
				}
			}
		})
	}
}

// TestModelThatNeverAnswers holds the next turn up for a while, not for ever.
func TestModelThatNeverAnswers(t *testing.T) { synctest.Test(t, testModelThatNeverAnswers) }

func testModelThatNeverAnswers(t *testing.T) {
	e := newEngine(t)
	e.apart = true
	leave := make(chan struct{})
	e.model = func(_ *engine, said string) nexus.LLMResponse {
		if said == "stuck" {
			<-leave
		}
		return nexus.LLMResponse{Content: "said: " + said}
	}
	b := stage(t, e)
	s := b.Send(drivertest.Text("stuck"))
	synctest.Wait()
	cancelTask(t, b, s)
	works(t, b, "next")
	close(leave)
}

// TestFailedRequest: an error of the agent's own request ends the task, and the agent is
// usable afterwards although it never ended the turn.
func TestFailedRequest(t *testing.T) {
	e := newEngine(t)
	failing := true
	e.model = func(e *engine, said string) nexus.LLMResponse {
		if failing {
			e.Emit(nexus.Error{Source: "nexus.llm.x", Err: "status 400", RequestMeta: meta})
			return nexus.LLMResponse{Metadata: map[string]any{"_source": "nobody"}}
		}
		return nexus.LLMResponse{Content: "said: " + said}
	}
	b := stage(t, e)
	if task := b.Do("go"); state(task) != "FAILED" || drivertest.Said(task) != "status 400" {
		t.Fatalf("%s %q", state(task), drivertest.Said(task))
	}
	failing = false
	works(t, b, "next")
}

// TestGates: a vetoed input rejects the task with the reason, a changed one is what the
// agent gets, and a vetoed output publishes nothing.
func TestGates(t *testing.T) {
	e := newEngine(t)
	e.on("before:io.input", 10, func(p any) {
		v := p.(*proposal)
		switch in := v.what.(*nexus.Input); in.Content {
		case "forbidden":
			v.reason, v.vetoed = "not that word", true
		case "secret":
			in.Content = "[removed]"
		}
	})
	e.on("before:io.output", 10, func(p any) {
		v := p.(*proposal)
		v.vetoed = strings.Contains(v.what.(*nexus.Output).Content, "quiet")
	})
	b := stage(t, e)
	if task := b.Do("forbidden"); state(task) != "REJECTED" || drivertest.Said(task) != "not that word" {
		t.Errorf("%s %q", state(task), drivertest.Said(task))
	}
	if task := b.Do("secret"); answer(task) != "said: [removed]" {
		t.Errorf("%q", answer(task))
	}
	if task := b.Do("quiet"); state(task) != "COMPLETED" || len(task.Artifacts) != 0 {
		t.Errorf("%s %+v", state(task), task.Artifacts)
	}
	if n := e.count("cancel.request"); n != 0 {
		t.Errorf("%d turns were asked to stop", n)
	}
	works(t, b, "next")
}

// TestPanickingAgent: the turn fails and the next one works.
func TestPanickingAgent(t *testing.T) {
	e := newEngine(t)
	panics := true
	e.on("io.input", 60, func(any) {
		if panics {
			panic("agent")
		}
	})
	e.model = func(_ *engine, said string) nexus.LLMResponse {
		if panics {
			return nexus.LLMResponse{Metadata: map[string]any{"_source": "nobody"}}
		}
		return nexus.LLMResponse{Content: "said: " + said}
	}
	b := stage(t, e)
	if task := b.Do("go"); state(task) != "FAILED" {
		t.Fatal(state(task))
	}
	panics = false
	works(t, b, "next")
}
