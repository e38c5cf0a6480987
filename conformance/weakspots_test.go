package conformance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"a2aserve/conformance/vector"
	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"
)

// The tests of this file show on a whole server that it does not have the weak spots that
// WEAKSPOTS.md lists, where no vector and no test of another kind shows it.

// Weak spots 1 and 3: after a cancellation the next turn of the same conversation works,
// and what the agent still says of the cancelled one goes nowhere.
func TestTheTurnAfterACancellation(t *testing.T) {
	target, _ := serveAgent(t, tokens, bus.Options{SessionID: "session"}, func(s *stage, in event.Input) {
		s.emit(begin(in))
		if in.Text == "long" {
			<-s.ear(in.TaskID)
			s.emit(event.Output{TurnID: in.TaskID, Role: "system", Content: "Cancelled"}, event.CancelComplete{TurnID: in.TaskID}, finish(in))
			s.emit(assistant(in, "late"), event.CoreError{TurnID: in.TaskID, Fatal: true})
			return
		}
		s.emit(assistant(in, "the answer"), finish(in))
	})
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		for range 20 {
			long := send(t, target, b, say("long", "", now))
			if _, err := target.Call(t.Context(), b, "CancelTask", "alice", `{"id":"`+long.ID+`"}`); err != nil {
				t.Fatal(err)
			}
			next := send(t, target, b, say("next"))
			if next.Status.State != "TASK_STATE_COMPLETED" || next.text() != "the answer" || next.ContextID != long.ContextID {
				t.Fatalf("the next turn: %+v", next)
			}
			if got := get(t, target, b, long.ID); got.Status.State != "TASK_STATE_CANCELED" || len(got.Artifacts) != 0 {
				t.Errorf("the cancelled one: %+v", got)
			}
		}
	})
}

// Weak spot 2: an error that nobody retries ends the task although it is not called fatal,
// and an agent that falls silent, its model call vetoed, does not hold its slot for ever.
func TestAnAgentThatGivesUpQuietly(t *testing.T) {
	target, _ := serveAgent(t, tokens+"tasks: {silence_timeout: 100ms}\nagent: {driver: demo, cancel_grace: 100ms}\n", bus.Options{}, func(s *stage, in event.Input) {
		s.emit(begin(in), event.LLMRequest{TurnID: in.TaskID})
		if in.Text == "refused" {
			s.emit(event.CoreError{TurnID: in.TaskID, Source: "provider", Message: "400 from the model"})
		}
		// And nothing more: neither an end of the turn nor an answer to cancel.request.
	})
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		for _, text := range []string{"refused", "vetoed"} {
			for range 2 { // the slot comes back
				got := send(t, target, b, say(text, `"contextId":"quiet-`+string(b)+`"`))
				if got.Status.State != "TASK_STATE_FAILED" {
					t.Errorf("%s: %+v", text, got.Status)
				}
			}
		}
	})
}

// Weak spot 3: a turn that the stopping server interrupts is FAILED when it is read again,
// never completed with a notice as its answer.
func TestStoppedMidTurn(t *testing.T) {
	db := filepath.Join(t.TempDir(), "tasks.db")
	play := func(s *stage, in event.Input) {
		s.emit(begin(in))
		<-s.ear(in.TaskID)
		s.emit(event.Output{TurnID: in.TaskID, Role: "system", Content: "Cancelled by the system"}, event.CancelComplete{TurnID: in.TaskID}, finish(in))
	}
	target, _, stop := startAgent(t, db, tokens+"shutdown_timeout: 50ms\n", bus.Options{}, play)
	id := send(t, target, vector.REST, say("go", "", now)).ID
	stop()
	target, _ = serveAgentOn(t, db, tokens, bus.Options{}, play)
	if got := get(t, target, vector.REST, id); got.Status.State != "TASK_STATE_FAILED" || got.text() != "" {
		t.Errorf("%+v", got)
	}
}

// Weak spot 4: what the output gates held back is published nowhere.
func TestVetoedOutputStaysInside(t *testing.T) {
	target, _ := serveAgent(t, tokens, bus.Options{Gated: true}, func(s *stage, in event.Input) {
		s.emit(begin(in), event.LLMResponse{TurnID: in.TaskID, Content: "the secret"})
		if in.Text == "notice" {
			s.emit(event.Output{TurnID: in.TaskID, Role: "system", Content: "held back: the secret"})
		}
		s.emit(finish(in))
	})
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		for _, text := range []string{"go", "notice"} {
			s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say(text))
			if err != nil {
				t.Fatal(err)
			}
			frames, err := s.All()
			if err != nil {
				t.Fatal(err)
			}
			first, err := parseAs[frame](frames[0], nil)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := target.Call(t.Context(), b, "GetTask", "alice", `{"id":"`+first.Task.ID+`"}`)
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range append(frames, stored) {
				if strings.Contains(string(doc), "secret") {
					t.Errorf("%s", doc)
				}
			}
		}
	})
}

// Weak spots 5 and 6: the one conversation of an agent with one session belongs to whoever
// began it, before and after a restart; nobody else is told anything of it.
func TestOneConversationHasOneOwner(t *testing.T) {
	db := filepath.Join(t.TempDir(), "tasks.db")
	play := func(s *stage, in event.Input) { s.emit(begin(in), assistant(in, in.Text), finish(in)) }
	for restart := range 2 {
		target, _, stop := startAgent(t, db, tokens, bus.Options{SessionID: "the-session"}, play)
		for _, b := range bindings {
			mine := send(t, target, b, say("mine", `"contextId":"my-context"`))
			if mine.Status.State != "TASK_STATE_COMPLETED" {
				t.Errorf("start %d: %+v", restart, mine.Status)
			}
			_, err := target.Call(t.Context(), b, "SendMessage", "alice", say("x", `"contextId":"another"`))
			if r := refused(t, err); r.Detail != "CONTEXT_NOT_SERVED" || !strings.Contains(string(r.Body), "my-context") {
				t.Errorf("start %d: another context: %s", restart, r.Body)
			}
			for _, context := range []string{"", `"contextId":"my-context"`, `"contextId":"another"`} {
				_, err := target.Call(t.Context(), b, "SendMessage", "bob", say("x", context))
				r := refused(t, err)
				if r.Detail != "CONTEXT_NOT_SERVED" || strings.Contains(string(r.Body), "my-context") || strings.Contains(string(r.Body), "the-session") {
					t.Errorf("start %d: bob with %q: %s", restart, context, r.Body)
				}
			}
		}
		stop()
	}
}

// Weak spot 5, many sessions: the same context id of two principals is two conversations.
func TestSameContextOfTwoPrincipals(t *testing.T) {
	target := serve(t, tokens)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		context := `"contextId":"shared-` + string(b) + `"`
		send(t, target, b, say("ask Colour?", context)) // holds alice's slot
		got, err := parseAs[sent](target.Call(t.Context(), b, "SendMessage", "bob", say("echo hi", context)))
		if err != nil || got.Task.Status.State != "TASK_STATE_COMPLETED" || len(got.Task.History) != 1 {
			t.Errorf("%+v, %v", got.Task, err)
		}
	})
}

// Weak spot 25: a stream is kept warm while the agent works, too.
func TestHeartbeatWhileWorking(t *testing.T) {
	target := serve(t, tokens+"limits: {keep_alive: 10ms}\n")
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say("slow 200 hi"))
		if err != nil {
			t.Fatal(err)
		}
		if _, state, err := ends(s); err != nil || state != "TASK_STATE_COMPLETED" || s.Comment < 3 {
			t.Errorf("%s after %d comments: %v", state, s.Comment, err)
		}
	})
}

// Weak spot 24: a reader that lags is not dropped; it gets every frame in the end.
func TestALaggingReaderGetsEverything(t *testing.T) {
	target := serve(t, tokens)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		const kib = 400
		s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say(fmt.Sprintf("flood %d", kib)))
		if err != nil {
			t.Fatal(err)
		}
		first, err := parseAs[frame](s.Next())
		if err != nil {
			t.Fatal(err)
		}
		for !get(t, target, b, first.Task.ID).terminal() { // meanwhile nobody reads the stream
			time.Sleep(5 * time.Millisecond)
		}
		frames, state, err := ends(s)
		if err != nil || state != "TASK_STATE_COMPLETED" {
			t.Fatalf("ended as %q: %v", state, err)
		}
		size := 0
		for _, f := range frames {
			if u := f.ArtifactUpdate; u != nil {
				size += len(u.Artifact.Parts[0].Text)
			}
		}
		if size != kib<<10 {
			t.Errorf("%d bytes", size)
		}
	})
}
