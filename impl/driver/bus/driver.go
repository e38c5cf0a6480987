package bus

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/impl/turn"
)

// Options says what agent is on the bus.
type Options struct {
	InputModes  []string // media types it reads; nil: text/plain
	OutputModes []string // media types it writes; nil: text/plain
	// SessionID names the agent's only session. Empty: it holds a conversation per
	// context, side by side, and names the task in agent.turn.start.
	SessionID   string
	MaxSessions int  // turns side by side; 0: turn.DefaultMaxSessions
	Gated       bool // only io.output is ever the answer
	// Nested says that a turn is over when the handlers of its io.input have returned. One
	// that has not said so by then fails at once, and not when it has been silent for long.
	Nested bool
	// Admit may answer a message without a task; nil: never.
	Admit  func(context.Context, turn.Input) (*a2a.Message, error)
	Logger *slog.Logger
}

// Driver runs turns on a bus. It emits io.input from its own goroutine, and its handler
// never blocks except for room in the queue of the turn that the event belongs to.
type Driver struct {
	bus  *Bus
	opts Options
	stop func()

	mu     sync.Mutex // guards what follows
	byTask map[string]*active
	byTurn map[string]*active
	byAsk  map[string]*active // by the id of an open question
}

var _ turn.Driver = (*Driver)(nil)

// active is a turn that has been given to the agent and has not returned.
type active struct {
	taskID, turnID string
	begun          bool // agent.turn.start has come
	failed         bool // an error has come that ends a turn
	line           *turn.Line
	started        chan struct{} // closed once the agent has begun, or its handlers have returned
	startOnce      sync.Once
	ended          chan struct{} // closed once the agent has said that the turn is over
	asks           []string
}

func (t *active) start() { t.startOnce.Do(func() { close(t.started) }) }

// listenFirst is the driver's priority: an agent's handlers recurse into the rest of
// the turn, so whoever is called after them sees events in reverse.
const listenFirst = -1 << 20

// NewDriver returns a driver for the agent on b. Close it to take it off the bus.
func NewDriver(b *Bus, o Options) *Driver {
	if o.InputModes == nil {
		o.InputModes = []string{"text/plain"}
	}
	if o.OutputModes == nil {
		o.OutputModes = []string{"text/plain"}
	}
	if o.Logger == nil {
		o.Logger = b.log
	}
	d := &Driver{bus: b, opts: o, byTask: map[string]*active{}, byTurn: map[string]*active{}, byAsk: map[string]*active{}}
	d.stop = b.SubscribeAll(d.hear, WithPriority(listenFirst))
	return d
}

// Close tells the agent that the server stops, and takes the driver off the bus.
func (d *Driver) Close() {
	_ = d.bus.Emit(event.Shutdown{Reason: "the server stops"}) // panics are logged by the bus
	d.stop()
}

// Agent is what the options say.
func (d *Driver) Agent() turn.Agent {
	return turn.Agent{
		InputModes: d.opts.InputModes, OutputModes: d.opts.OutputModes,
		SessionID: d.opts.SessionID, MaxSessions: d.opts.MaxSessions, Gated: d.opts.Gated,
	}
}

// Admit answers without a task where the options have a function for it.
func (d *Driver) Admit(ctx context.Context, in turn.Input) (*a2a.Message, error) {
	if d.opts.Admit == nil {
		return nil, nil
	}
	return d.opts.Admit(ctx, in)
}

// Turn runs a turn: io.input on this goroutine, and what the agent is told meanwhile on
// another. It returns when the emission has returned and the agent has ended the turn.
func (d *Driver) Turn(ctx context.Context, in turn.Input, line *turn.Line) error {
	if d.bus.listeners("io.input") < 2 { // this driver is one
		return errors.New("bus: no agent listens for io.input")
	}
	t := &active{taskID: in.TaskID, line: line, started: make(chan struct{}), ended: make(chan struct{})}
	d.add(t)
	defer d.remove(t)
	// The agent may be told to stop after ctx has ended, so this does not end with it.
	telling, told := context.WithCancel(context.WithoutCancel(ctx))
	var tells sync.WaitGroup
	tells.Go(func() {
		select {
		case <-t.started:
		case <-ctx.Done(): // given up before the agent has begun: it is told all the same
		case <-telling.Done():
		}
		d.tell(telling, t)
	})
	defer tells.Wait()
	defer told()

	input := Input(in)
	if reason, vetoed := d.bus.Propose(input); vetoed {
		line.Emit(event.TurnRejected{Reason: reason})
		return nil
	}
	if isOver(line) { // the agent need not know
		return nil
	}
	err := d.bus.Emit(input)
	t.start()
	select {
	case <-t.ended:
		return nil
	default:
	}
	if err != nil || d.opts.Nested {
		return err
	}
	d.awaitEnd(ctx, t)
	return nil
}

// awaitEnd waits for an agent that works on after its handler has returned.
func (d *Driver) awaitEnd(ctx context.Context, t *active) {
	select {
	case <-t.ended:
		return
	case <-ctx.Done():
		return
	case <-t.line.Over():
	}
	d.mu.Lock()
	more := t.begun && !t.failed
	d.mu.Unlock()
	if !more { // nothing is to be expected of it any more
		return
	}
	select {
	case <-t.ended:
	case <-ctx.Done():
	}
}

func isOver(line *turn.Line) bool {
	select {
	case <-line.Over():
		return true
	default:
		return false
	}
}

// patience is how long the agent's handlers may take over one thing they are told before
// they are told the next beside it: an agent may run the rest of its turn inside the
// emission of an answer, and must still hear that it is to stop.
const patience = 50 * time.Millisecond

// tell passes on what the agent is to be told. It begins once the agent knows the turn: a
// cancel.request that came before io.input would find nothing to cancel.
func (d *Driver) tell(ctx context.Context, t *active) {
	var emissions sync.WaitGroup
	defer emissions.Wait()
	before := make(chan struct{})
	close(before)
	for {
		e, ok := t.line.Next(ctx)
		if !ok {
			return
		}
		impatient := time.NewTimer(patience)
		select {
		case <-before:
		case <-impatient.C:
		}
		impatient.Stop()
		returned := make(chan struct{})
		emissions.Go(func() {
			defer close(returned)
			_ = d.bus.Emit(e) // panics are logged by the bus
		})
		before = returned
	}
}

// Input is the io.input of a turn.
func Input(in turn.Input) event.Input {
	var texts []string
	for _, p := range in.Message.Parts {
		if p.Text != nil {
			texts = append(texts, *p.Text)
		}
	}
	return event.Input{
		TaskID: in.TaskID, ContextID: in.ContextID, MessageID: in.Message.MessageID,
		Text: strings.Join(texts, "\n"), Parts: in.Message.Parts, Metadata: in.Message.Metadata,
		ReferenceTaskIDs: in.Message.ReferenceTaskIDs, AcceptedOutputModes: in.AcceptedOutputModes,
		Traceparent: in.TraceParent,
	}
}
