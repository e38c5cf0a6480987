// Package plain is an agent on the bus as a host program writes one. It understands the
// demo agent's commands and shares no code with it: what passes with both does not lean on
// how either is written. It has some of its own besides, most of them bad habits. Where the demo agent plays a turn inside the emission of its
// input, this one returns at once and goes on by itself, unless told otherwise; where the
// demo agent vetoes, this one declines.
package plain

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"
)

// Options of the agent.
type Options struct {
	Files   string // where `file` writes
	Session string // not empty: the agent has this one session
	Nested  bool   // a turn ends before the handlers of its input return
	Logger  *slog.Logger

	// Crash ends the agent in the middle of `crash`; nil: it panics.
	Crash func()
	// Garbage adds to `garbage` what a transport can be given that is no event; may be nil.
	Garbage func(kind string)
}

// Driver is the agent behind its bus.
type Driver struct {
	*bus.Driver
	Bus   *bus.Bus
	agent *agent
}

// New returns an agent. Close it in the end.
func New(o Options) *Driver {
	if o.Crash == nil {
		o.Crash = func() { panic("as told") }
	}
	if o.Garbage == nil {
		o.Garbage = func(string) {}
	}
	a := &agent{Options: o, bus: bus.New(o.Logger), turns: map[string]*turn{}, heard: map[string]int{}}
	bus.On(a.bus, a.input, bus.WithPriority(50))
	bus.On(a.bus, a.stop)
	bus.On(a.bus, a.shutdown)
	bus.On(a.bus, func(e event.HITLResponded) { a.answer(e) })
	bus.On(a.bus, func(e event.HITLCancel) { a.answer(event.HITLResponded{RequestID: e.RequestID, Cancelled: true}) })
	d := bus.NewDriver(a.bus, bus.Options{
		InputModes: inputModes, OutputModes: outputModes,
		SessionID: o.Session, Nested: o.Nested, Logger: o.Logger,
	})
	return &Driver{d, a.bus, a}
}

var (
	inputModes  = []string{"text/*", "application/json", "image/*", "application/octet-stream"}
	outputModes = []string{"text/plain", "application/json", "image/*", "application/octet-stream"}
)

// Close takes the agent off the bus and waits for its turns.
func (d *Driver) Close() {
	d.Driver.Close()
	d.agent.wg.Wait()
}

type agent struct {
	Options
	bus *bus.Bus
	wg  sync.WaitGroup // every turn on a goroutine of its own

	mu    sync.Mutex // guards what follows
	count int
	turns map[string]*turn // by task
	heard map[string]int   // messages, by context
}

// turn is one turn at work.
type turn struct {
	*agent
	in      event.Input
	id      string
	stopped chan struct{} // closed when it is to stop
	once    sync.Once
	answers chan event.HITLResponded
	asked   int
}

// input begins a turn, or declines it.
func (a *agent) input(in event.Input) {
	if word, rest := cut(in.Text); word == "reject" {
		a.emit(event.TurnRejected{TaskID: in.TaskID, Reason: "declined " + rest})
		return
	}
	a.mu.Lock()
	a.count++
	a.heard[in.ContextID]++
	t := &turn{
		agent: a, in: in, id: fmt.Sprintf("turn-%d", a.count),
		stopped: make(chan struct{}), answers: make(chan event.HITLResponded, 8),
	}
	a.turns[in.TaskID] = t
	a.mu.Unlock()
	if a.Nested {
		t.run()
		return
	}
	a.wg.Go(func() {
		// A panic here would end the whole process, and nobody but this agent knows of it.
		defer func() {
			if p := recover(); p != nil {
				t.emit(event.TurnRejected{TaskID: in.TaskID, Reason: fmt.Sprint("the agent panicked: ", p)})
			}
		}()
		t.run()
	})
}

// run is a turn from its beginning to its end.
func (t *turn) run() {
	defer func() {
		t.mu.Lock()
		delete(t.turns, t.in.TaskID)
		t.mu.Unlock()
	}()
	switch word, rest := cut(t.in.Text); {
	case word == "late":
		t.pause(rest)
	case word == "crash" && rest == "before":
		t.Crash()
	}
	start := event.TurnStart{TurnID: t.id}
	if t.Session == "" { // several turns may be waiting for their start
		start.TaskID = t.in.TaskID
	}
	t.emit(start)
	if !t.over() {
		t.work()
	}
	if t.over() {
		t.emit(event.CancelComplete{TurnID: t.id})
	}
	t.emit(event.TurnEnd{TurnID: t.id})
}

// work does what the message asks for. A host that runs turns on goroutines of its own has
// to catch their panics by itself.
func (t *turn) work() {
	defer func() {
		if p := recover(); p != nil {
			t.emit(event.CoreError{TurnID: t.id, Message: fmt.Sprint("the agent panicked: ", p), Fatal: true})
		}
	}()
	word, rest := cut(t.in.Text)
	if do, ok := commands[word]; ok {
		do(t, rest)
		return
	}
	t.echo(t.in.Text)
}

// stop ends the wait of a turn that is to stop.
func (a *agent) stop(e event.CancelRequest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.turns[e.TaskID]; t != nil {
		t.once.Do(func() { close(t.stopped) })
	}
}

func (a *agent) shutdown(event.Shutdown) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.turns {
		t.once.Do(func() { close(t.stopped) })
	}
}

// answer hands an answer to the turn that asked. An id begins with the task's.
func (a *agent) answer(e event.HITLResponded) {
	task, _, _ := strings.Cut(e.RequestID, "#")
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.turns[task]; t != nil {
		select {
		case t.answers <- e:
		default: // nobody waits for so many
		}
	}
}

// emit puts an event on the bus, which logs what goes wrong in the handlers.
func (a *agent) emit(e event.Event) { _ = a.bus.Emit(e) }

// cut splits off the first word.
func cut(text string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.TrimSpace(text), " ")
	return word, rest
}
