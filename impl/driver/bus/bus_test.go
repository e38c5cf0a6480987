package bus

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"a2aserve/gen/event"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *Bus { return New(slog.New(slog.DiscardHandler)) }

func TestOrderOfHandlers(t *testing.T) {
	b := quiet()
	var got []string
	note := func(s string) func(event.Event) { return func(event.Event) { got = append(got, s) } }
	b.Subscribe("agent.turn.end", note("second"))
	b.Subscribe("agent.turn.end", note("last"), WithPriority(9))
	b.SubscribeAll(note("all"))
	b.Subscribe("agent.turn.end", note("first"), WithPriority(-1))
	b.Subscribe("io.output", note("another type"))
	if err := b.Emit(event.TurnEnd{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"first", "second", "all", "last"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestDepthFirst: what a handler emits is delivered before the next handler is called,
// so a later subscriber sees the events in reverse.
func TestDepthFirst(t *testing.T) {
	b := quiet()
	var late []string
	b.Subscribe("io.input", func(event.Event) { _ = b.Emit(event.TurnStart{}) })
	b.Subscribe("agent.turn.start", func(event.Event) { _ = b.Emit(event.TurnEnd{}) })
	b.SubscribeAll(func(e event.Event) { late = append(late, e.EventType()) })
	_ = b.Emit(event.Input{})
	if want := []string{"agent.turn.end", "agent.turn.start", "io.input"}; !slices.Equal(late, want) {
		t.Errorf("%q", late)
	}
}

func TestPanicsStayWhereTheyAre(t *testing.T) {
	b := quiet()
	called := false
	b.Subscribe("io.input", func(event.Event) { panic("oh") })
	b.Subscribe("io.input", func(event.Event) { called = true })
	if err := b.Emit(event.Input{}); err == nil || !strings.Contains(err.Error(), "io.input panicked: oh") || !called {
		t.Errorf("%v, the other handler called: %t", err, called)
	}
}

func TestUnsubscribe(t *testing.T) {
	b := quiet()
	n := 0
	var off func()
	off = On(b, func(event.TurnEnd) { n++; off() })
	b.Subscribe("agent.turn.end", func(event.Event) { n += 10 })
	_ = b.Emit(event.TurnEnd{})
	_ = b.Emit(&event.TurnEnd{})
	off()
	if n != 21 {
		t.Errorf("%d", n)
	}
}

func TestOnSeesPointers(t *testing.T) {
	b := quiet()
	var got []string
	On(b, func(e event.Output) { got = append(got, e.Content) })
	_ = b.Emit(event.Output{Content: "value"})
	_ = b.Emit(&event.Output{Content: "pointer"})
	if !slices.Equal(got, []string{"value", "pointer"}) {
		t.Errorf("%q", got)
	}
}

func TestVeto(t *testing.T) {
	b := quiet()
	var asked []string
	b.Before("io.input", func(p *Proposal) {
		asked = append(asked, "first")
		if p.Event.(event.Input).Text == "bad" {
			p.Veto("no")
		}
	})
	b.Before("io.input", func(p *Proposal) {
		asked = append(asked, "second")
		if p.Event.(event.Input).Text == "odd" {
			panic("oh")
		}
	})
	for text, want := range map[string]bool{"good": false, "bad": true, "odd": true} {
		if reason, vetoed := b.Propose(event.Input{Text: text}); vetoed != want || vetoed == (reason == "") {
			t.Errorf("%s: %t %q", text, vetoed, reason)
		}
	}
	asked = nil
	b.Propose(event.Input{Text: "bad"})
	if !slices.Equal(asked, []string{"first"}) {
		t.Errorf("asked %q after a veto", asked)
	}
}

func TestManyEmitters(t *testing.T) {
	b := quiet()
	var n atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				off := b.SubscribeAll(func(event.Event) { n.Add(1) })
				_ = b.Emit(event.TurnEnd{})
				off()
			}
		})
	}
	wg.Wait()
	if n.Load() < 1600 {
		t.Errorf("%d", n.Load())
	}
}
