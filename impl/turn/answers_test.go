package turn

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
)

// awaitHistory waits until the task has n messages.
func awaitHistory(s Sent, n int) {
	for rec, _ := s.Run.Snapshot(); len(rec.History) < n; rec, _ = s.Run.Snapshot() {
		time.Sleep(time.Millisecond)
	}
}

// TestWhichChoice: an option as written wins over one in another case, ids over labels.
func TestWhichChoice(t *testing.T) {
	choices := []event.Choice{{ID: "a", Label: "B"}, {ID: "A", Label: "c"}, {ID: " b ", Label: "a"}}
	for said, want := range map[string]string{"a": "a", " A ": "A", "b": " b ", "B": " b ", "C": "A", "d": "", " ": ""} {
		q := question{choices: choices}
		if id, ok := q.choice(said); id != want || ok != (want != "") {
			t.Errorf("%q is taken as %q", said, id)
		}
	}
}

// TestTwoQuestionsInEitherOrder: each of two open questions can be answered first, and a
// blocking answer to one returns at once with the other.
func TestTwoQuestionsInEitherOrder(t *testing.T) {
	for _, order := range [][]string{{"p", "q"}, {"q", "p"}} {
		e := engine(t, Options{Driver: &script{turn: asks(question1("p", ""), question1("q", "choices", event.Choice{ID: "x"}))}})
		s := send(t, e, ask("go"))
		awaitHistory(s, 3)
		for i, id := range order {
			in := replyTo(s, "x")
			in.Message.Metadata = a2a.Struct(`{"nexus.hitl.requestId":"` + id + `"}`)
			got, err := e.Answer(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			rec := task(t, await(t, got))
			if i == 0 && (rec.Status.State != a2a.TaskStateInputRequired || text(rec.Status.Message.Parts)[:2] != order[1]+"?") {
				t.Errorf("%q: after the first answer %+v", order, rec.Status)
			}
			if i == 1 && (rec.Status.State != a2a.TaskStateCompleted || len(rec.History) != 5) {
				t.Errorf("%q: in the end %s with %d messages", order, rec.Status.State, len(rec.History))
			}
		}
	}
}

// TestAnAnswerToAClosedQuestion does not become one to another.
func TestAnAnswerToAClosedQuestion(t *testing.T) {
	e := engine(t, Options{Driver: &script{turn: asks(question1("p", ""), question1("q", ""))}})
	s := send(t, e, ask("go"))
	awaitHistory(s, 3)
	in := replyTo(s, "one")
	in.Message.Metadata = a2a.Struct(`{"nexus.hitl.requestId":"p"}`)
	if _, err := e.Answer(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Answer(t.Context(), in); detail(err) != "UnsupportedOperationError TASK_NOT_AWAITING_INPUT" {
		t.Error(err)
	}
	if rec, _ := s.Run.Snapshot(); rec.State != a2a.TaskStateInputRequired || len(rec.History) != 4 {
		t.Errorf("%s with %d messages", rec.State, len(rec.History))
	}
}

// TestAnAnsweredTaskComesOnce: whoever opens with the task as answered and reads on finds
// everything once, also where the answer is stored together with what the agent says
// besides.
func TestAnAnsweredTaskComesOnce(t *testing.T) {
	e := engine(t, Options{Journal: slowStore{newMemory()}, Driver: &script{turn: func(ctx context.Context, _ Input, l *Line) error {
		says(l, start, question1("q", ""))
		told := make(chan event.Event, 1)
		go func() {
			ev, _ := l.Next(ctx)
			told <- ev
		}()
		for { // another part of the agent goes on meanwhile
			l.Emit(delta("piece "))
			select {
			case <-told:
				says(l, delta("end"), end)
				return nil
			case <-time.After(50 * time.Microsecond):
			}
		}
	}}})
	for range 30 {
		s := send(t, e, ask("go"))
		awaitHistory(s, 2)
		got, err := e.Answer(t.Context(), replyTo(s, "x"))
		if err != nil {
			t.Fatal(err)
		}
		opening := task(t, got.Record)
		if opening.Status.State != a2a.TaskStateWorking || len(opening.History) != 3 {
			t.Errorf("opens with %s and %d messages", opening.Status.State, len(opening.History))
		}
		seen := ""
		if len(opening.Artifacts) > 0 {
			seen = joined(opening.Artifacts[0].Parts)
		}
		frames := s.Run.Follow()
		frames.At = got.From
		for _, f := range all(frames) {
			if r := decoded(t, f); r.ArtifactUpdate != nil {
				seen += joined(r.ArtifactUpdate.Artifact.Parts)
			}
		}
		rec, _ := s.Run.Snapshot()
		if whole := joined(task(t, rec).Artifacts[0].Parts); seen != whole {
			t.Errorf("%d bytes seen of %d", len(seen), len(whole))
		}
	}
}

// TestAQuestionIsRetractedOnceItsTaskIsOver: weak spot 29. An agent that waits for an
// answer learns of the end before it is let go, so that it need not ask its model again.
func TestAQuestionIsRetractedOnceItsTaskIsOver(t *testing.T) {
	over := make(chan bool, 1)
	e := engine(t, Options{Driver: &script{turn: func(ctx context.Context, _ Input, l *Line) error {
		says(l, start, question1("q", ""))
		if ev, ok := l.Next(ctx); ok && ev.EventType() == "hitl.cancel" {
			select {
			case <-l.Over():
				over <- true
			default:
				over <- false
			}
		}
		return nil
	}}})
	for range 200 {
		s := send(t, e, ask("go"))
		await(t, s)
		if _, err := e.Cancel(t.Context(), "alice", s.Record.ID); err != nil {
			t.Fatal(err)
		}
		if !<-over {
			t.Fatal("the question was retracted while the task went on")
		}
	}
}

// TestAnsweredElsewhere: an answer on the bus resumes the task; the same answer sent to
// the server comes too late then.
func TestAnsweredElsewhere(t *testing.T) {
	goOn := make(chan struct{})
	e := engine(t, Options{Driver: &script{turn: func(_ context.Context, _ Input, l *Line) error {
		says(l, start, question1("q", ""))
		<-goOn
		says(l, event.HITLResponded{RequestID: "q", FreeText: "blue"})
		<-goOn
		says(l, output("blue"), end)
		return nil
	}}})
	s := send(t, e, ask("go"))
	await(t, s)
	goOn <- struct{}{}
	for rec, _ := s.Run.Snapshot(); rec.State != a2a.TaskStateWorking; rec, _ = s.Run.Snapshot() {
		time.Sleep(time.Millisecond)
	}
	if _, err := e.Answer(t.Context(), replyTo(s, "red")); detail(err) != "UnsupportedOperationError TASK_NOT_AWAITING_INPUT" {
		t.Error(err)
	}
	goOn <- struct{}{}
	w := words(t, all(s.Run.Follow()))
	if want := []string{"INPUT_REQUIRED", "WORKING", "artifact. blue", "COMPLETED"}; !slices.Equal(w[2:], want) {
		t.Errorf("%q", w)
	}
}

// TestLogsHoldNoAnswers: HI-05. People send credentials where they are asked to log in.
func TestLogsHoldNoAnswers(t *testing.T) {
	var log strings.Builder
	j := newMemory()
	e := engine(t, Options{Journal: j, Logger: debugLog(&log), Driver: &script{
		turn: asks(event.AuthRequired{TurnID: "t", RequestID: "q", Prompt: "log in"})}})
	s := send(t, e, ask("hunter1"))
	await(t, s)
	j.setDown(true)
	if _, err := e.Answer(t.Context(), replyTo(s, "hunter2")); err == nil {
		t.Error("stored nowhere, and accepted")
	}
	j.setDown(false)
	for e.Live("alice", s.Record.ID) != nil {
		time.Sleep(time.Millisecond)
	}
	if strings.Contains(log.String(), "hunter") || log.Len() == 0 {
		t.Error(log.String())
	}
}
