package drivertest

import (
	"strings"
	"testing"

	"a2aserve/gen/a2a"
)

// questionParts are how an agent asks, and hears the answer.
func questionParts() []part {
	return []part{
		{name: "question/choice", test: choice},
		{name: "question/free", test: free},
		{name: "question/again", test: again},
		{name: "authorisation", test: authorisation},
	}
}

// choice: a wrong answer leaves the task parked, a right one resumes the same turn.
func choice(t *testing.T, b *Bench) {
	s := b.Send(in("c", "ask colour? [red|blue]"))
	if task := b.Await(s); task.Status.State != a2a.TaskStateInputRequired || !strings.HasPrefix(Said(task), "colour?") {
		t.Fatalf("%s %q", task.Status.State, Said(task))
	}
	wrong := Text("green")
	wrong.TaskID = s.Record.ID
	if _, err := b.Engine.Answer(t.Context(), wrong); err == nil {
		t.Error("takes an answer that is no choice")
	}
	if task := b.Await(b.Answer(s, " Blue")); Answered(task) != "You said: blue" || len(task.History) != 3 {
		t.Errorf("%s %q, %d messages", task.Status.State, Answered(task), len(task.History))
	}
	b.next(t)
}

// free: an answer in the person's own words arrives as it was given.
func free(t *testing.T, b *Bench) {
	s := b.Send(in("c", "ask what is it?"))
	b.Await(s)
	const words = "something \"quoted\",\nüber two lines"
	if task := b.Await(b.Answer(s, words)); Answered(task) != "You said: "+words {
		t.Errorf("%s %q", task.Status.State, Answered(task))
	}
	b.next(t)
}

// again: a turn may ask as often as it likes.
func again(t *testing.T, b *Bench) {
	s := b.Send(in("c", "ask first?"))
	b.Await(s)
	for _, more := range []string{"second?", "third?"} {
		s = b.Answer(s, "ask "+more)
		if task := b.Await(s); task.Status.State != a2a.TaskStateInputRequired || !strings.HasPrefix(Said(task), more) {
			t.Fatalf("%s %q in place of %q", task.Status.State, Said(task), more)
		}
	}
	if task := b.Await(b.Answer(s, "enough")); Answered(task) != "You said: enough" || len(task.History) != 7 {
		t.Errorf("%s %q, %d messages", task.Status.State, Answered(task), len(task.History))
	}
	b.next(t)
}

// authorisation: any message says that it has been given.
func authorisation(t *testing.T, b *Bench) {
	s := b.Send(in("c", "auth"))
	if task := b.Await(s); task.Status.State != a2a.TaskStateAuthRequired || Said(task) == "" {
		t.Fatalf("%s %q", task.Status.State, Said(task))
	}
	if task := b.Await(b.Answer(s, "done")); task.Status.State != a2a.TaskStateCompleted {
		t.Errorf("%s %q", task.Status.State, Said(task))
	}
	b.next(t)
}
