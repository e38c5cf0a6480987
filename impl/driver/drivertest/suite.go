package drivertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/turn"
)

// Suite is what every driver must do, whatever its transport. The agent behind the
// driver understands the demo agent's commands and holds a conversation per context.
// NewDriver is called once for each test, and the driver it returns is not shared. Except
// names the parts that the transport has no means for.
func Suite(t *testing.T, newDriver func(t *testing.T) turn.Driver, except ...string) {
	for name, test := range map[string]func(*testing.T, *Bench){
		"answers":        answers,
		"chunks":         chunks,
		"questions":      questions,
		"authorisation":  authorisation,
		"cancel":         cancel,
		"failures":       failures,
		"nothing after":  nothingAfter,
		"side by side":   sideBySide,
		"flood":          flood,
		"client leaves":  clientLeaves,
		"stays in order": staysInOrder,
	} {
		if slices.Contains(except, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, New(t, newDriver(t), turn.Options{CancelGrace: 10 * time.Second}))
		})
	}
	t.Run("silence", func(t *testing.T) {
		t.Parallel()
		b := New(t, newDriver(t), turn.Options{SilenceTimeout: 50 * time.Millisecond})
		if task := b.Do("silent"); task.Status.State != a2a.TaskStateFailed {
			t.Errorf("a silent agent's task is %s", task.Status.State)
		}
	})
	t.Run("drain", func(t *testing.T) {
		t.Parallel()
		b := New(t, newDriver(t), turn.Options{})
		s := []turn.Sent{b.Send(Text("silent")), b.Send(Text("ask now?")), b.Send(Text("slow 1"))}
		b.Await(s[1])
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := b.Engine.Drain(ctx); err != nil {
			t.Error(err)
		}
		for i, want := range []a2a.TaskState{a2a.TaskStateFailed, a2a.TaskStateFailed, a2a.TaskStateCompleted} {
			if got := b.Journal.Task(s[i].Record.ID).State; got != want {
				t.Errorf("task %d is %s", i, got)
			}
		}
	})
}

// in is a message to one context.
func in(context, text string) turn.Input {
	i := Text(text)
	i.ContextID = context
	return i
}

// answers: one conversation, turn after turn.
func answers(t *testing.T, b *Bench) {
	for range 20 { // one conversation
		task := b.Await(b.Send(in("c", "echo hello")))
		if task.Status.State != a2a.TaskStateCompleted || Answered(task) != "hello" {
			t.Fatalf("%s %q", task.Status.State, Answered(task))
		}
	}
}

// chunks arrive as such: the first begins, the last says so.
func chunks(t *testing.T, b *Bench) {
	var text strings.Builder
	n := 0
	for _, f := range b.Frames(b.Send(Text("chunks 5"))) {
		if u := f.ArtifactUpdate; u != nil {
			if n++; u.Append != (n > 1) || u.LastChunk != (n == 5) {
				t.Errorf("chunk %d: append %t, last %t", n, u.Append, u.LastChunk)
			}
			text.WriteString(*u.Artifact.Parts[0].Text)
		}
	}
	if text.String() != "12345" {
		t.Errorf("%q", text.String())
	}
}

// questions: a wrong answer leaves the task parked, a right one resumes the same turn.
func questions(t *testing.T, b *Bench) {
	s := b.Send(Text("ask colour? [red|blue]"))
	if task := b.Await(s); task.Status.State != a2a.TaskStateInputRequired || !strings.HasPrefix(Said(task), "colour?") {
		t.Fatalf("%s %q", task.Status.State, Said(task))
	}
	wrong := Text("green")
	wrong.TaskID = s.Record.ID
	if _, err := b.Engine.Answer(t.Context(), wrong); err == nil {
		t.Error("takes an answer that is no choice")
	}
	if task := b.Await(b.Answer(s, " Blue")); !strings.Contains(Answered(task), "blue") || len(task.History) != 3 {
		t.Errorf("%q, %d messages", Answered(task), len(task.History))
	}
}

func authorisation(t *testing.T, b *Bench) {
	s := b.Send(Text("auth"))
	if task := b.Await(s); task.Status.State != a2a.TaskStateAuthRequired {
		t.Fatal(task.Status.State)
	}
	if task := b.Await(b.Answer(s, "done")); task.Status.State != a2a.TaskStateCompleted {
		t.Error(task.Status.State)
	}
}

// cancel, as soon as the task is there and once its turn runs. The context's next turn
// works, and does not see the cancelled one's output.
func cancel(t *testing.T, b *Bench) {
	for _, what := range []string{"silent", "slow 3600000", "ask now?", "auth", "chunks 100000 1000", "ignore-cancel 50 late"} {
		for _, begun := range []bool{false, true} {
			s := b.Send(in("c", what))
			for rec, _ := s.Run.Snapshot(); begun && rec.State == a2a.TaskStateSubmitted; rec, _ = s.Run.Snapshot() {
				time.Sleep(time.Millisecond)
			}
			if rec, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID); err != nil || rec.State != a2a.TaskStateCanceled {
				t.Fatalf("%s, begun %t: %s, %v", what, begun, rec.State, err)
			}
			if task := b.Await(b.Send(in("c", "echo next"))); Answered(task) != "next" {
				t.Errorf("after %s, begun %t: %s %q", what, begun, task.Status.State, Answered(task))
			}
			if got := b.Journal.Task(s.Record.ID).State; got != a2a.TaskStateCanceled {
				t.Errorf("%s, begun %t: stored as %s", what, begun, got)
			}
		}
	}
}

// failures end the task and leave the conversation usable.
func failures(t *testing.T, b *Bench) {
	for what, want := range map[string]a2a.TaskState{
		"fail because":     a2a.TaskStateFailed,
		"reject it":        a2a.TaskStateRejected,
		"error-once hello": a2a.TaskStateCompleted,
		"panic-after 1":    a2a.TaskStateFailed,
	} {
		task := b.Await(b.Send(in("c", what)))
		if task.Status.State != want || want != a2a.TaskStateCompleted && Said(task) == "" {
			t.Errorf("%s: %s %q", what, task.Status.State, Said(task))
		}
		if task := b.Await(b.Send(in("c", "echo next"))); Answered(task) != "next" {
			t.Errorf("after %s: %s", what, task.Status.State)
		}
	}
}

// nothingAfter: an agent that goes on after its end reaches neither this task nor the next.
func nothingAfter(t *testing.T, b *Bench) {
	s := b.Send(in("c", "rogue"))
	frames := b.Frames(s)
	if last := frames[len(frames)-1].StatusUpdate; last == nil || last.Status.State != a2a.TaskStateCompleted {
		t.Errorf("ends with %+v", frames[len(frames)-1])
	}
	if task := b.Await(b.Send(in("c", "echo next"))); Answered(task) != "next" || len(task.Artifacts) != 1 {
		t.Errorf("the next turn: %s with %d artifacts", task.Status.State, len(task.Artifacts))
	}
	if stored := b.Decode(b.Journal.Task(s.Record.ID)); len(stored.Artifacts) != 1 {
		t.Errorf("%d artifacts", len(stored.Artifacts))
	}
}

// sideBySide: conversations run at once and do not mix.
func sideBySide(t *testing.T, b *Bench) {
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 5 {
				words := fmt.Sprintf("turn %d of context %d", j, i)
				s, err := b.Engine.Send(context.Background(), in(fmt.Sprint(i), "slow 2 "+words))
				if err != nil {
					t.Error(err)
					return
				}
				rec, err := s.Run.Await(context.Background(), s.From)
				if err != nil || rec.State != a2a.TaskStateCompleted {
					t.Errorf("%s, %v", rec.State, err)
					return
				}
				if got := Answered(b.Decode(rec)); got != words {
					t.Errorf("%q in place of %q", got, words)
				}
			}
		})
	}
	wg.Wait()
}

// flood: an agent that outruns the server loses nothing.
func flood(t *testing.T, b *Bench) {
	if got := len(Answered(b.Do("flood 1000"))); got != 1000<<10 {
		t.Errorf("%d bytes", got)
	}
}

// clientLeaves: a turn does not depend on the request that began it.
func clientLeaves(t *testing.T, b *Bench) {
	ctx, leave := context.WithCancel(t.Context())
	s, err := b.Engine.Send(ctx, Text("slow 20 hello"))
	if err != nil {
		t.Fatal(err)
	}
	leave()
	if task := b.Await(s); Answered(task) != "hello" {
		t.Errorf("%s %q", task.Status.State, Answered(task))
	}
}

func staysInOrder(t *testing.T, b *Bench) {
	var text strings.Builder
	for _, f := range b.Frames(b.Send(Text("chunks 500 0 ,"))) {
		if f.ArtifactUpdate != nil {
			text.WriteString(*f.ArtifactUpdate.Artifact.Parts[0].Text)
		}
	}
	var want strings.Builder
	for i := 1; i <= 500; i++ {
		fmt.Fprintf(&want, "%d,", i)
	}
	if text.String() != want.String() {
		t.Errorf("%q", text.String())
	}
}
