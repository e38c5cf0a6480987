// Package bus is an event bus inside the process, and the turn.Driver for an agent on it.
//
// The bus is synchronous: Emit calls the handlers one after another on the goroutine of
// whoever emits, depth first, and returns when all have returned. A whole turn may thus
// run nested inside the emission of its io.input. Several goroutines may emit at once.
package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"a2aserve/gen/event"
)

// Bus carries events between handlers. Make one with New.
type Bus struct {
	log  *slog.Logger
	mu   sync.Mutex // serialises changes of subs
	subs atomic.Pointer[[]*subscription]
}

type subscription struct {
	eventType string // "": all
	before    bool   // a guard, called by Propose
	priority  int
	order     int
	handle    func(event.Event)
	judge     func(*Proposal)
	gone      atomic.Bool
}

// New returns a bus. A nil logger means slog.Default().
func New(log *slog.Logger) *Bus {
	if log == nil {
		log = slog.Default()
	}
	b := &Bus{log: log}
	b.subs.Store(&[]*subscription{})
	return b
}

// Option changes how a handler is subscribed.
type Option func(*subscription)

// WithPriority makes a handler run before those with a higher number and after those
// with a lower one. Handlers have priority 0 otherwise; equals run in the order of
// their subscription.
func WithPriority(p int) Option { return func(s *subscription) { s.priority = p } }

// Subscribe has h called for every event of a type, until the returned function is
// called. An emission that is under way may still reach h after that.
func (b *Bus) Subscribe(eventType string, h func(event.Event), opts ...Option) (unsubscribe func()) {
	return b.add(&subscription{eventType: eventType, handle: h}, opts)
}

// SubscribeAll has h called for every event.
func (b *Bus) SubscribeAll(h func(event.Event), opts ...Option) (unsubscribe func()) {
	return b.add(&subscription{handle: h}, opts)
}

// On is Subscribe for one Go type of event. Events emitted as pointers are seen too.
func On[E event.Event](b *Bus, h func(E), opts ...Option) (unsubscribe func()) {
	var zero E
	return b.Subscribe(zero.EventType(), func(e event.Event) {
		switch e := any(e).(type) {
		case E:
			h(e)
		case *E:
			h(*e)
		}
	}, opts...)
}

// Proposal is an event that has not been emitted yet and can be prevented.
type Proposal struct {
	Event  event.Event
	vetoed bool
	reason string
}

// Veto prevents the event. The reason is told to the client.
func (p *Proposal) Veto(reason string) { p.vetoed, p.reason = true, reason }

// Before has h judge every event of a type before it is emitted.
func (b *Bus) Before(eventType string, h func(*Proposal), opts ...Option) (unsubscribe func()) {
	return b.add(&subscription{eventType: eventType, before: true, judge: h}, opts)
}

// add replaces the list by one that has s in its place. Emissions under way keep theirs.
func (b *Bus) add(s *subscription, opts []Option) func() {
	for _, o := range opts {
		o(s)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	old := *b.subs.Load()
	s.order = 0
	if n := len(old); n > 0 {
		s.order = slices.MaxFunc(old, func(a, c *subscription) int { return a.order - c.order }).order + 1
	}
	list := append(slices.Clone(old), s)
	slices.SortStableFunc(list, func(a, c *subscription) int {
		if a.priority != c.priority {
			return a.priority - c.priority
		}
		return a.order - c.order
	})
	b.subs.Store(&list)
	return func() { b.remove(s) }
}

func (b *Bus) remove(s *subscription) {
	s.gone.Store(true)
	b.mu.Lock()
	defer b.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(*b.subs.Load()), func(x *subscription) bool { return x == s })
	b.subs.Store(&list)
}

// listeners counts the handlers of a type.
func (b *Bus) listeners(eventType string) int {
	n := 0
	for _, s := range *b.subs.Load() {
		if !s.before && (s.eventType == "" || s.eventType == eventType) {
			n++
		}
	}
	return n
}

// Emit calls the handlers of e. A handler that panics does not keep the others from
// being called; the panics are logged, and those of handlers of this type of event are
// returned as one error.
func (b *Bus) Emit(e event.Event) error {
	var errs []error
	for _, s := range *b.subs.Load() {
		if s.before || s.gone.Load() || (s.eventType != "" && s.eventType != e.EventType()) {
			continue
		}
		if err := b.call(e, func() { s.handle(e) }); err != nil && s.eventType != "" {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Propose asks the guards of e whether it may be emitted. The first veto counts, and a
// guard that panics vetoes.
func (b *Bus) Propose(e event.Event) (reason string, vetoed bool) {
	p := &Proposal{Event: e}
	for _, s := range *b.subs.Load() {
		if !s.before || s.gone.Load() || s.eventType != e.EventType() {
			continue
		}
		if err := b.call(e, func() { s.judge(p) }); err != nil {
			return "The message could not be examined", true
		}
		if p.vetoed {
			return p.reason, true
		}
	}
	return "", false
}

// call runs a handler and turns its panic into an error.
func (b *Bus) call(e event.Event, f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			b.log.Error("a handler panicked", "event", e.EventType(), "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("a handler of %s panicked: %v", e.EventType(), p)
		}
	}()
	f()
	return nil
}
