package turn

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
)

// asks is a turn that asks its questions, then answers with what it was told of each.
func asks(qs ...event.Event) func(context.Context, Input, *Line) error {
	return func(ctx context.Context, _ Input, l *Line) error {
		says(l, start)
		says(l, qs...)
		told := ""
		for range qs {
			e, ok := l.Next(ctx)
			r, isAnswer := e.(event.HITLResponded)
			if !ok || !isAnswer {
				return nil
			}
			told += r.RequestID + "=" + r.ChoiceID + "/" + r.FreeText + ";"
		}
		says(l, output(told), end)
		return nil
	}
}

func question1(id string, mode string, choices ...event.Choice) event.HITLRequested {
	return event.HITLRequested{TurnID: "t", RequestID: id, Prompt: id + "?", Mode: mode, Choices: choices}
}

func TestAnswers(t *testing.T) {
	colours := []event.Choice{{ID: "r", Label: "Red"}, {ID: "b", Label: " Blue "}}
	for _, c := range []struct {
		question event.Event
		answer   string
		told     string
	}{
		{question1("q", ""), "whatever", "q=/whatever;"},
		{question1("q", "both", colours...), "green", "q=/green;"},
		{question1("q", "both", colours...), "\t bLUE ", "q=b/;"},
		{question1("q", "choices", colours...), " R", "q=r/;"},
		{event.AuthRequired{TurnID: "t", RequestID: "q", Prompt: "log in"}, "done", "q=/done;"},
	} {
		j := newMemory()
		e := engine(t, Options{Journal: j, Driver: &script{turn: asks(c.question)}})
		s := send(t, e, ask("go"))
		parked := await(t, s)
		if !parked.State.Interrupted() {
			t.Fatalf("%s", parked.State)
		}
		got, err := e.Answer(t.Context(), replyTo(s, c.answer))
		if err != nil {
			t.Fatal(err)
		}
		if got.Record.State != a2a.TaskStateWorking {
			t.Errorf("accepted as %s", got.Record.State)
		}
		done := task(t, await(t, got))
		if text(done.Artifacts[0].Parts) != c.told {
			t.Errorf("told %q, want %q", text(done.Artifacts[0].Parts), c.told)
		}
		var history []string
		for _, m := range done.History {
			history = append(history, string(m.Role)+" "+text(m.Parts))
			if m.TaskID != done.ID || m.ContextID != done.ContextID || m.MessageID == "" {
				t.Errorf("ids of %+v", m)
			}
		}
		if len(history) != 3 || history[0] != "ROLE_USER go" || !strings.HasPrefix(history[1], "ROLE_AGENT") || history[2] != "ROLE_USER "+c.answer {
			t.Errorf("history %q", history)
		}
	}
}

// TestTheQuestionIsInTheStatus: HI-07.
func TestTheQuestionIsInTheStatus(t *testing.T) {
	e := engine(t, Options{Driver: &script{turn: asks(question1("q", "choices", event.Choice{ID: "r", Label: "Red"}, event.Choice{ID: "b"}))}})
	parked := task(t, await(t, send(t, e, ask("go"))))
	m := parked.Status.Message
	if m == nil || m.Role != a2a.RoleAgent || m.MessageID == "" || text(m.Parts) != "q?\n- r: Red\n- b" || len(parked.Artifacts) != 0 {
		t.Errorf("%+v, %d artifacts", m, len(parked.Artifacts))
	}
	if got := string(m.Metadata); got != `{"nexus.hitl.requestId":"q","nexus.hitl.mode":"choices","nexus.hitl.choices":[{"id":"r","label":"Red"},{"id":"b"}]}` {
		t.Error(got)
	}
}

func TestRefusedAnswers(t *testing.T) {
	e := engine(t, Options{Driver: &script{turn: func(ctx context.Context, in Input, l *Line) error {
		if text(in.Message.Parts) == "work" {
			says(l, start)
			<-l.Over()
			return nil
		}
		return asks(question1("q", "choices", event.Choice{ID: "a"}, event.Choice{ID: "b"}))(ctx, in, l)
	}}})
	working := send(t, e, ask("work"))
	if _, err := e.Answer(t.Context(), replyTo(working, "x")); detail(err) != "UnsupportedOperationError TASK_NOT_AWAITING_INPUT" {
		t.Error(err)
	}
	s := send(t, e, ask("go"))
	parked := await(t, s)
	if _, err := e.Answer(t.Context(), replyTo(s, "c")); detail(err) != "InvalidParamsError " || !strings.Contains(err.Error(), "a, b") {
		t.Error(err)
	}
	other := replyTo(s, "a")
	other.ContextID = "another"
	if _, err := e.Answer(t.Context(), other); detail(err) != "UnsupportedOperationError TASK_CONTEXT_MISMATCH" {
		t.Error(err)
	}
	bob := replyTo(s, "a")
	bob.Principal = "bob"
	if _, err := e.Answer(t.Context(), bob); err != ErrNotLive {
		t.Error(err)
	}
	if now, _ := s.Run.Snapshot(); string(now.Status) != string(parked.Status) || len(now.History) != 2 {
		t.Errorf("the refused answers changed the task: %s", now.Status)
	}
	got, err := e.Answer(t.Context(), replyTo(s, "A"))
	if err != nil {
		t.Fatal(err)
	}
	await(t, got)
	// The end is told before the run is gone, so it may be the run that refuses.
	if _, err := e.Answer(t.Context(), replyTo(s, "a")); err != ErrNotLive && detail(err) != "UnsupportedOperationError TASK_ALREADY_TERMINAL" {
		t.Errorf("after the end: %v", err)
	}
}

func TestTwoQuestionsAreBothAnswerable(t *testing.T) {
	e := engine(t, Options{Driver: &script{turn: asks(
		question1("p", "both", event.Choice{ID: "yes"}), question1("q", ""))}})
	s := send(t, e, ask("go"))
	for rec, _ := s.Run.Snapshot(); len(rec.History) < 3; rec, _ = s.Run.Snapshot() {
		time.Sleep(time.Millisecond)
	}
	first, err := e.Answer(t.Context(), replyTo(s, "Yes")) // a choice of the older one
	if err != nil {
		t.Fatal(err)
	}
	if parked := task(t, await(t, first)); parked.Status.State != a2a.TaskStateInputRequired || text(parked.Status.Message.Parts) != "q?" {
		t.Errorf("%+v", parked.Status)
	}
	second, err := e.Answer(t.Context(), replyTo(s, "because"))
	if err != nil {
		t.Fatal(err)
	}
	done := task(t, await(t, second))
	if got := text(done.Artifacts[0].Parts); got != "p=yes/;q=/because;" {
		t.Errorf("told %q", got)
	}
	if len(done.History) != 5 {
		t.Errorf("%d messages", len(done.History))
	}
}

func TestAnAnswerCanNameItsQuestion(t *testing.T) {
	e := engine(t, Options{Driver: &script{turn: asks(question1("p", ""), question1("q", ""))}})
	s := send(t, e, ask("go"))
	for rec, _ := s.Run.Snapshot(); len(rec.History) < 3; rec, _ = s.Run.Snapshot() {
		time.Sleep(time.Millisecond)
	}
	in := replyTo(s, "one")
	in.Message.Metadata = a2a.Struct(`{"nexus.hitl.requestId":"p"}`)
	if _, err := e.Answer(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	got, err := e.Answer(t.Context(), replyTo(s, "two"))
	if err != nil {
		t.Fatal(err)
	}
	if told := text(task(t, await(t, got)).Artifacts[0].Parts); told != "p=/one;q=/two;" {
		t.Errorf("told %q", told)
	}
}

// TestOneOfTwoAnswersWins, many times.
func TestOneOfTwoAnswersWins(t *testing.T) {
	e := engine(t, Options{Driver: &script{turn: asks(question1("q", ""))}})
	for range 500 {
		s := send(t, e, ask("go"))
		await(t, s)
		var errs [2]error
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = e.Answer(context.Background(), replyTo(s, "x")) })
		}
		wg.Wait()
		lost := errs[0]
		if lost == nil {
			lost = errs[1]
		}
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%v and %v", errs[0], errs[1])
		}
		// The loser may find the task at work, just over, or already left to the store.
		if d := detail(lost); d != "UnsupportedOperationError TASK_NOT_AWAITING_INPUT" &&
			d != "UnsupportedOperationError TASK_ALREADY_TERMINAL" && lost != ErrNotLive {
			t.Fatal(lost)
		}
		if done := task(t, await(t, Sent{Run: s.Run, From: 3})); len(done.History) != 3 {
			t.Fatalf("%d messages", len(done.History))
		}
	}
}

// TestAStreamedAnswer opens with the task and misses nothing after it (A2A §3.1.2).
func TestAStreamedAnswer(t *testing.T) {
	e := engine(t, Options{Driver: &script{turn: asks(question1("q", ""))}})
	s := send(t, e, ask("go"))
	await(t, s)
	got, err := e.Answer(t.Context(), replyTo(s, "x"))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := got.Run.Join()
	if err != nil {
		t.Fatal(err)
	}
	w := words(t, all(stream))
	whole := []string{"task SUBMITTED", "WORKING", "INPUT_REQUIRED", "WORKING", "artifact. q=/x;", "COMPLETED"}
	if !strings.HasPrefix(w[0], "task ") || (w[len(w)-1] != "COMPLETED" && w[len(w)-1] != "end") {
		t.Errorf("%q", w)
	}
	if full := words(t, all(s.Run.Follow())); !slices.Equal(full, whole) {
		t.Errorf("%q", full)
	}
}

func TestNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []event.Event
		e := engine(t, Options{InputTimeout: 15 * time.Minute, SilenceTimeout: time.Minute,
			Driver: &script{turn: func(ctx context.Context, _ Input, l *Line) error {
				says(l, start, question1("p", ""))
				time.Sleep(10 * time.Minute)
				says(l, question1("q", ""), output("by the way")) // moves no deadline
				for {
					ev, ok := l.Next(ctx)
					if !ok {
						return nil
					}
					told = append(told, ev)
				}
			}}})
		began := time.Now()
		s := send(t, e, ask("go"))
		rec, err := s.Run.Await(t.Context(), 6) // its end
		if err != nil {
			t.Fatal(err)
		}
		done := task(t, rec)
		if d := time.Since(began); done.Status.State != a2a.TaskStateFailed || d != 15*time.Minute {
			t.Errorf("%s after %s", done.Status.State, d)
		}
		if got := text(done.Status.Message.Parts); got != "No answer came within 15m0s" {
			t.Error(got)
		}
		synctest.Wait()
		want := []string{"hitl.cancel", "hitl.cancel", "cancel.request"}
		if got := types(told); !slices.Equal(got, want) {
			t.Errorf("the agent was told %q", got)
		}
	})
}

func types(es []event.Event) []string {
	var out []string
	for _, e := range es {
		out = append(out, e.EventType())
	}
	return out
}

func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine(t, Options{SilenceTimeout: time.Hour, Driver: &script{turn: func(ctx context.Context, _ Input, l *Line) error {
			says(l, start)
			time.Sleep(50 * time.Minute)
			says(l, event.ThinkingStep{TurnID: "t"}, question1("q", ""))
			time.Sleep(5 * time.Hour) // a person may take long
			l.Next(ctx)
			l.Next(ctx)
			return nil
		}}})
		began := time.Now()
		s := send(t, e, ask("go"))
		if _, err := s.Run.Await(t.Context(), s.From); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Hour)
		got, err := e.Answer(t.Context(), replyTo(s, "x"))
		if err != nil {
			t.Fatal(err)
		}
		rec, err := s.Run.Await(t.Context(), got.From)
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); rec.State != a2a.TaskStateFailed || d != 6*time.Hour+50*time.Minute {
			t.Errorf("%s after %s", rec.State, d)
		}
	})
}
