// Package demo is a scripted agent on the in-process bus. The first word of a message
// says what it does; the guides, the tests and the benchmarks use it in place of a real
// one. It also plays the parts that the two public conformance suites expect.
package demo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"strings"
	"sync"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/turn"
)

// Options of the demo agent.
type Options struct {
	FileBaseDir string // where `file` writes; empty: it fails
	MaxSessions int    // turns side by side; 0: turn.DefaultMaxSessions
	Logger      *slog.Logger
}

// Driver is the demo agent with its bus.
type Driver struct {
	*bus.Driver
	Bus *bus.Bus
}

// New returns a demo agent. Close it in the end.
func New(o Options) *Driver {
	b := bus.New(o.Logger)
	a := &agent{opts: o, bus: b, stage: map[string]*act{}}
	b.Before("io.input", a.judge)
	bus.On(b, a.perform)
	bus.On(b, a.cancelled)
	bus.On(b, a.answered)
	bus.On(b, a.retracted)
	return &Driver{Bus: b, Driver: bus.NewDriver(b, bus.Options{
		InputModes:  []string{"text/*", "application/json", "image/*", "application/octet-stream"},
		OutputModes: []string{"text/plain", "application/json", "image/*", "application/octet-stream"},
		MaxSessions: o.MaxSessions,
		Admit:       admit,
		Logger:      o.Logger,
	})}
}

// agent is the only actor on the bus. Its handlers run on whatever goroutine emits.
type agent struct {
	opts Options
	bus  *bus.Bus

	mu    sync.Mutex // guards stage
	stage map[string]*act
}

// act is one turn being played.
type act struct {
	*agent
	in        event.Input
	turn      string
	cancelled chan struct{} // closed when the turn is to stop
	once      sync.Once
	answers   chan *event.HITLResponded
	asked     int
	over      bool // the act has ended the turn itself
}

// admit answers without a task where the message asks for it.
func admit(_ context.Context, in turn.Input) (*a2a.Message, error) {
	text := bus.Input(in).Text
	word, rest := first(text)
	switch {
	case word == "tck-message-response", strings.HasPrefix(in.Message.MessageID, "tck-message-response"):
		text = "Direct message response"
	case word == "direct":
		text = rest
	default:
		return nil, nil
	}
	return &a2a.Message{Parts: []a2a.Part{{Text: &text}}}, nil
}

// judge vetoes what asks to be rejected.
func (a *agent) judge(p *bus.Proposal) {
	in, ok := p.Event.(event.Input)
	if !ok {
		return
	}
	switch name, rest := script(in); name {
	case "reject":
		if rest == "" {
			rest = "Rejected as asked"
		}
		p.Veto(rest)
	case "tck-reject-task":
		p.Veto("rejected")
	}
}

// perform plays a whole turn inside the emission of its input.
func (a *agent) perform(in event.Input) {
	p := &act{
		agent: a, in: in, turn: "turn_" + randomHex(),
		cancelled: make(chan struct{}), answers: make(chan *event.HITLResponded, 16),
	}
	a.mu.Lock()
	a.stage[in.TaskID] = p
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.stage, in.TaskID)
		a.mu.Unlock()
	}()
	// From here on the act can be found: the driver tells the agent nothing before it.
	p.emit(event.TurnStart{TurnID: p.turn, TaskID: in.TaskID})
	name, rest := script(in)
	scripts[name](p, rest)
	if p.stopped() {
		p.emit(event.CancelComplete{TurnID: p.turn})
	}
	if !p.over {
		p.emit(event.TurnEnd{TurnID: p.turn})
	}
}

// act finds the turn of a task that is being played.
func (a *agent) act(taskID string) *act {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stage[taskID]
}

// cancelled lets the turn stop at the next place where it looks.
func (a *agent) cancelled(e event.CancelRequest) {
	if p := a.act(e.TaskID); p != nil {
		p.once.Do(func() { close(p.cancelled) })
	}
}

// answered hands an answer to the act that waits for it. Question ids begin with the
// task's, so that an answer finds its act whoever gives it.
func (a *agent) answered(e event.HITLResponded) {
	taskID, _, _ := strings.Cut(e.RequestID, "/")
	if p := a.act(taskID); p != nil {
		select {
		case p.answers <- &e:
		case <-p.cancelled:
		}
	}
}

// retracted ends the wait of an act whose question was taken back.
func (a *agent) retracted(e event.HITLCancel) {
	a.answered(event.HITLResponded{RequestID: e.RequestID, Cancelled: true, CancelReason: e.Reason})
}

// emit puts an event on the bus. The bus logs handlers that panic, and of those the
// agent has none.
func (p *act) emit(e event.Event) { _ = p.bus.Emit(e) }

// say gives an answer.
func (p *act) say(text string) {
	p.emit(event.Output{TurnID: p.turn, Role: "assistant", Content: text})
}

// stopped reports whether the turn is to stop.
func (p *act) stopped() bool {
	select {
	case <-p.cancelled:
		return true
	default:
		return false
	}
}

// sleep waits, and reports whether the turn goes on.
func (p *act) sleep(d time.Duration) bool {
	if d <= 0 {
		return !p.stopped()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.cancelled:
		return false
	}
}

// hear waits for the answer to an open question.
func (p *act) hear() (event.HITLResponded, bool) {
	select {
	case r := <-p.answers:
		return *r, !r.Cancelled
	case <-p.cancelled:
		return event.HITLResponded{}, false
	}
}

// first splits off the first word of a text.
func first(text string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.TrimLeft(text, " \t\r\n"), " ")
	if w, more, ok := strings.Cut(word, "\n"); ok {
		return w, more + " " + rest
	}
	return word, rest
}

func randomHex() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return hex.EncodeToString(b[:])
}
