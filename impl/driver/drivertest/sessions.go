package drivertest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"a2aserve/gen/a2a"
)

// sessionParts are conversations beside each other, and one after the other.
func sessionParts() []part {
	return []part{
		{name: "side by side", test: sideBySide},
		{name: "memory", test: memory},
		{name: "isolation/question", test: isolatedQuestion},
		{name: "isolation/cancel", test: isolatedCancel},
		{name: "isolation/crash", test: isolatedCrash},
	}
}

// sideBySide: conversations run at once and do not mix.
func sideBySide(t *testing.T, b *Bench) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 3 {
				words := fmt.Sprintf("turn %d of context %d", j, i)
				s, err := b.Engine.Send(context.Background(), in(fmt.Sprint(i), "slow 2 "+words))
				if err != nil {
					t.Error(err)
					return
				}
				rec, err := s.Run.Await(context.Background(), s.From)
				if err != nil || rec.State != a2a.TaskStateCompleted {
					t.Errorf("%s %s, %v", rec.State, rec.Status, err)
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

// memory: an agent remembers what was said in a context, and nothing of another.
func memory(t *testing.T, b *Bench) {
	for round := range 3 {
		for _, c := range []string{"a", "b"} {
			if got := Answered(b.Await(b.Send(in(c, "count")))); got != fmt.Sprint(round+1) {
				t.Errorf("context %s, message %d: %q", c, round+1, got)
			}
		}
	}
}

// isolatedQuestion: one context waits, the others go on; each hears its own answer.
func isolatedQuestion(t *testing.T, b *Bench) {
	one, two := b.Send(in("one", "ask one?")), b.Send(in("two", "ask two?"))
	for _, s := range []struct {
		state a2a.Task
		want  string
	}{{b.Await(one), "one?"}, {b.Await(two), "two?"}} {
		if Said(s.state) != s.want {
			t.Errorf("%q in place of %q", Said(s.state), s.want)
		}
	}
	b.next(t)
	if got := Answered(b.Await(b.Answer(two, "2"))); got != "You said: 2" {
		t.Errorf("two: %q", got)
	}
	if got := Answered(b.Await(b.Answer(one, "1"))); got != "You said: 1" {
		t.Errorf("one: %q", got)
	}
}

// isolatedCancel: cancelling one leaves the other as it was.
func isolatedCancel(t *testing.T, b *Bench) {
	one, two := b.Send(in("one", "silent")), b.Send(in("two", "slow 100 hello"))
	b.until(one, a2a.TaskStateWorking)
	b.cancel(one)
	if task := b.Await(two); Answered(task) != "hello" {
		t.Errorf("%s %q", task.Status.State, Said(task))
	}
}

// isolatedCrash: so does the end of one agent.
func isolatedCrash(t *testing.T, b *Bench) {
	two := b.Send(in("two", "slow 200 hello"))
	b.until(two, a2a.TaskStateWorking)
	b.ends("crash started", a2a.TaskStateFailed)
	if task := b.Await(two); Answered(task) != "hello" {
		t.Errorf("%s %q", task.Status.State, Said(task))
	}
}

// resting: an agent that has gone to rest between turns is there for the next, also if that
// comes while it goes.
func resting(t *testing.T, b *Bench, rest func()) {
	for i := range 3 {
		b.nextAtLast(t)
		if i < 2 {
			rest()
		}
	}
	for i := range 12 {
		words := fmt.Sprint("hello ", i)
		if task := b.Await(b.Send(in("c", "echo "+words))); Answered(task) != words {
			t.Errorf("%s %q", task.Status.State, strings.TrimSpace(Answered(task)+Said(task)))
		}
	}
}
