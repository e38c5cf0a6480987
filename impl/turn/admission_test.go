package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"a2aserve/gen/a2a"
)

// holds is a turn that works until its task is over.
func holds(_ context.Context, _ Input, l *Line) error {
	says(l, start)
	<-l.Over()
	return nil
}

func TestSlots(t *testing.T) {
	e := engine(t, Options{Driver: &script{agent: Agent{MaxSessions: 3}, turn: holds}})
	first := send(t, e, askIn("c", "go"))
	_, err := e.Send(t.Context(), askIn("c", "go"))
	if detail(err) != "UnsupportedOperationError TASK_ALREADY_IN_FLIGHT" {
		t.Error(err)
	}
	bob := askIn("c", "go")
	bob.Principal = "bob"
	send(t, e, bob) // the same id, another's context
	send(t, e, ask("go"))
	if _, err := e.Send(t.Context(), ask("go")); detail(err) != "UnsupportedOperationError AGENT_BUSY" {
		t.Error(err)
	}
	if _, err := e.Send(t.Context(), askIn("c", "go")); detail(err) != "UnsupportedOperationError TASK_ALREADY_IN_FLIGHT" {
		t.Errorf("the context is judged first: %v", err)
	}
	if _, err := e.Cancel(t.Context(), "alice", first.Record.ID); err != nil {
		t.Fatal(err)
	}
	send(t, e, ask("go"))
}

func TestOneSession(t *testing.T) {
	j := newMemory()
	e := engine(t, Options{Journal: j, Driver: &script{agent: Agent{SessionID: "session"}, turn: plays(start, output("x"), end)}})
	s := send(t, e, ask("go"))
	if s.Record.ContextID != "session" {
		t.Errorf("context %q", s.Record.ContextID)
	}
	await(t, s)
	await(t, send(t, e, askIn("session", "go")))
	_, err := e.Send(t.Context(), askIn("other", "go"))
	if detail(err) != "UnsupportedOperationError CONTEXT_NOT_SERVED" || !strings.Contains(err.Error(), `"session"`) {
		t.Error(err)
	}
	bob := askIn("session", "go")
	bob.Principal = "bob"
	_, err = e.Send(t.Context(), bob)
	if detail(err) != "UnsupportedOperationError CONTEXT_NOT_SERVED" || strings.Contains(err.Error(), "session") {
		t.Error(err)
	}
}

// TestRefusedMessagesClaimNothing, whatever refuses them; nor does an answer without a task.
func TestRefusedMessagesClaimNothing(t *testing.T) {
	j := newMemory()
	e := engine(t, Options{Journal: j, Driver: &script{
		agent: Agent{SessionID: "session", InputModes: []string{"text/plain"}, OutputModes: []string{"text/plain"}},
		turn:  plays(start, output("x"), end),
		admit: func(in Input) (*a2a.Message, error) {
			switch text := messageText(in.Message); text {
			case "direct":
				return &a2a.Message{Parts: []a2a.Part{{Text: &text}}}, nil
			case "broken":
				return nil, errors.New("broken")
			}
			return nil, nil
		},
	}})
	foreign := func(text string) Input {
		in := askIn("bob's", text)
		in.Principal = "bob"
		return in
	}
	image := foreign("go")
	image.Message.Parts[0] = a2a.Part{Raw: []byte("x"), MediaType: "image/png"}
	modes := foreign("go")
	modes.AcceptedOutputModes = []string{"image/png"}
	for what, in := range map[string]Input{"a part": image, "output modes": modes, "the agent": foreign("broken")} {
		if _, err := e.Send(t.Context(), in); err == nil {
			t.Errorf("%s: not refused", what)
		}
	}
	if s, err := e.Send(t.Context(), foreign("direct")); err != nil || s.Message == nil {
		t.Error("no direct answer:", err)
	}
	j.failAt[j.appends+1] = true
	if _, err := e.Send(t.Context(), foreign("go")); err == nil {
		t.Error("stored on a failing disk")
	}
	if len(j.claims) != 0 {
		t.Errorf("claims: %v", j.claims)
	}
	await(t, send(t, e, askIn("mine", "go"))) // bob has left nothing behind
}

// TestFirstMessagesAtOnce: of many first messages one claims the session, and all others
// hear for good that it is taken.
func TestFirstMessagesAtOnce(t *testing.T) {
	for range 20 {
		e := engine(t, Options{Driver: &script{agent: Agent{SessionID: "session"}, turn: plays(start, output("x"), end)}})
		errs := make(chan error, 16)
		for i := range cap(errs) {
			go func() {
				in := askIn(fmt.Sprint("context ", i), "go")
				in.Principal = fmt.Sprint("principal ", i)
				_, err := e.Send(t.Context(), in)
				errs <- err
			}()
		}
		served := 0
		for range cap(errs) {
			switch err := <-errs; {
			case err == nil:
				served++
			case detail(err) != "UnsupportedOperationError CONTEXT_NOT_SERVED":
				t.Error(err)
			}
		}
		if served != 1 {
			t.Errorf("%d were served", served)
		}
	}
}

// TestTheContextComesFirst: a wrong context is told as such although a task is running.
func TestTheContextComesFirst(t *testing.T) {
	e := engine(t, Options{Driver: &script{agent: Agent{SessionID: "session"}, turn: holds}})
	s := send(t, e, askIn("mine", "go"))
	if s.Record.ContextID != "mine" {
		t.Errorf("context %q", s.Record.ContextID)
	}
	if _, err := e.Send(t.Context(), askIn("other", "go")); detail(err) != "UnsupportedOperationError CONTEXT_NOT_SERVED" {
		t.Error(err)
	}
	if _, err := e.Send(t.Context(), askIn("mine", "go")); detail(err) != "UnsupportedOperationError TASK_ALREADY_IN_FLIGHT" {
		t.Error(err)
	}
}

func TestModes(t *testing.T) {
	j := newMemory()
	e := engine(t, Options{Journal: j, Driver: &script{
		agent: Agent{InputModes: []string{"text/plain", "image/*"}, OutputModes: []string{"text/plain"}},
		turn:  plays(start, end),
	}})
	for _, c := range []struct {
		part     a2a.Part
		accepted []string
		ok       bool
	}{
		{a2a.Part{Text: new(string)}, nil, true},
		{a2a.Part{Text: new(string), MediaType: "Text/Plain; charset=utf-8"}, nil, true},
		{a2a.Part{Text: new(string), MediaType: "text/markdown"}, nil, true},
		{a2a.Part{Text: new(string), MediaType: "application/xml"}, nil, false},
		{a2a.Part{Raw: []byte("x"), MediaType: "image/png"}, nil, true},
		{a2a.Part{Raw: []byte("x")}, nil, false},
		{a2a.Part{Data: a2a.Value("{}")}, nil, false},
		{a2a.Part{Text: new(string)}, []string{"text/plain"}, true},
		{a2a.Part{Text: new(string)}, []string{"image/png", "text/*"}, true},
		{a2a.Part{Text: new(string)}, []string{"*/*"}, true},
		{a2a.Part{Text: new(string)}, []string{"image/png", "application/json"}, false},
	} {
		in := ask("")
		in.Message.Parts = []a2a.Part{c.part}
		in.AcceptedOutputModes = c.accepted
		s, err := e.Send(t.Context(), in)
		if (err == nil) != c.ok || err != nil && detail(err) != "ContentTypeNotSupportedError " {
			t.Errorf("%+v, %q: %v", c.part, c.accepted, err)
		}
		if err == nil {
			await(t, s)
		}
	}
	if len(j.tasks) != 7 {
		t.Errorf("%d tasks: a refusal left something behind", len(j.tasks))
	}
}

func TestAdmit(t *testing.T) {
	words := "hello"
	for name, c := range map[string]struct {
		admit func(Input) (*a2a.Message, error)
		want  string
	}{
		"answers":         {func(Input) (*a2a.Message, error) { return &a2a.Message{Parts: []a2a.Part{{Text: &words}}}, nil }, "<nil>"},
		"answers nothing": {func(Input) (*a2a.Message, error) { return &a2a.Message{}, nil }, "InvalidAgentResponseError "},
		"fails":           {func(Input) (*a2a.Message, error) { return nil, errors.New("secret") }, "InternalError "},
		"refuses":         {func(Input) (*a2a.Message, error) { return nil, a2a.UnavailableError.Errorf("later") }, "UnavailableError "},
		"panics":          {func(Input) (*a2a.Message, error) { panic("secret") }, "InternalError "},
	} {
		j := newMemory()
		e := engine(t, Options{Journal: j, Driver: &script{admit: c.admit, turn: plays(start, end)}})
		s, err := e.Send(t.Context(), ask("go"))
		if detail(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if said, ok := errors.AsType[*a2a.Error](err); ok && strings.Contains(said.Text(), "secret") {
			t.Errorf("%s: sends %q", name, said.Text())
		}
		if err == nil && (s.Message.Role != a2a.RoleAgent || s.Message.MessageID == "" || s.Message.ContextID != "" || s.Run != nil) {
			t.Errorf("%s: %+v", name, s.Message)
		}
		if j.appends != 0 {
			t.Errorf("%s: something was stored", name)
		}
	}
}

// TestSendAgainAtOnce: whoever reads the terminal frame finds the slot free, 1,000 times.
func TestSendAgainAtOnce(t *testing.T) {
	e := engine(t, Options{Driver: &script{turn: plays(start, output("x"), end)}})
	s := send(t, e, askIn("c", "go"))
	for i := range 1000 {
		frames := all(s.Run.Follow())
		next, err := e.Send(t.Context(), askIn("c", "go"))
		if err != nil {
			t.Fatalf("after turn %d (%q): %v", i, words(t, frames), err)
		}
		s = next
	}
	await(t, s)
}

func TestManyContexts(t *testing.T) {
	j := newMemory()
	e := engine(t, Options{Journal: j, Driver: &script{turn: plays(start, delta("a"), delta("b"), output("abc"), end)}})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for range 30 {
				s, err := e.Send(context.Background(), askIn(fmt.Sprint(i), "go"))
				if err != nil {
					t.Error(err)
					return
				}
				rec, err := s.Run.Await(context.Background(), s.From)
				if err != nil || rec.State != a2a.TaskStateCompleted {
					t.Errorf("%s, %v", rec.State, err)
				}
			}
		})
	}
	wg.Wait()
	if len(j.tasks) != 64*30 {
		t.Errorf("%d tasks", len(j.tasks))
	}
}
