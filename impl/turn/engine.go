// Package turn runs an agent's turns as tasks. Each live task, a Run, has one owner
// goroutine that alone decides what becomes of it: it takes the events of the agent and
// the requests of clients from one queue, maps them to changes, journals a batch of
// changes, and only then publishes their frames. Readers follow a frame log.
package turn

import (
	"context"
	"errors"
	"sync"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
)

// ErrNotLive is returned for a task that this engine does not run: it is finished,
// somebody else's, or does not exist. The store knows which.
var ErrNotLive = errors.New("turn: the task is not live")

// Engine runs tasks. All methods may be called at once.
type Engine struct {
	Options
	agent Agent

	ctx  context.Context // of all turns; no request's context is among its parents
	stop context.CancelFunc
	wg   sync.WaitGroup // every goroutine of the engine

	mu       sync.Mutex // guards what follows
	slots    map[slotKey]*Run
	live     map[taskKey]*Run
	chain    map[slotKey]*Run // whose turn was the last to start, while it has not returned
	idle     chan struct{}    // closed, and replaced, when a run leaves slots or live
	failing  int              // tasks whose last change waits to be stored
	draining bool
}

// slotKey is what has room for one task at a time: a principal's context, or, for an
// agent with one session, the agent (the zero key).
type slotKey struct{ principal, context string }

type taskKey struct{ principal, task string }

// New returns an engine. Whoever makes one ends it with Drain.
func New(o Options) *Engine {
	o.fill()
	e := &Engine{
		Options: o,
		agent:   o.Driver.Agent(),
		slots:   map[slotKey]*Run{},
		live:    map[taskKey]*Run{},
		chain:   map[slotKey]*Run{},
		idle:    make(chan struct{}),
	}
	if e.agent.MaxSessions <= 0 {
		e.agent.MaxSessions = DefaultMaxSessions
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

// Agent is what the driver says of its agent, with defaults filled in.
func (e *Engine) Agent() Agent { return e.agent }

// Live returns a principal's running or parked task, or nil. A task that is just being
// stored is waited for: whoever found it in the store finds it here.
func (e *Engine) Live(principal, id string) *Run {
	r := e.lookUp(principal, id)
	if r == nil {
		return nil
	}
	<-r.made
	return e.lookUp(principal, id)
}

// lookUp reads the table; the run it finds may still be on its way to the store.
func (e *Engine) lookUp(principal, id string) *Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live[taskKey{principal, id}]
}

// Sent is what became of a message: an answer given without a task, or a task.
type Sent struct {
	Message *a2a.Message // nil: there is a task
	Run     *Run
	Record  Record // the task as it stood once the message was accepted
	From    int    // index of the frame that comes after Record

	watch *watcher // of a message that asked for telemetry
}

// Follow returns what comes after Record; of a new task its first frame too, which is
// the task itself. It is called once.
func (s Sent) Follow() *op.Stream {
	if s.watch == nil {
		return &op.Stream{At: s.From, From: s.Run.log.From}
	}
	return s.watch.stream(nil, s.From)
}

// Send makes a task of a message without taskId. In.ContextID may be empty; In.TaskID
// is ignored. Refusals are of type *a2a.Error and leave nothing behind:
//
//   - ContentTypeNotSupportedError: the agent cannot read a part, or nothing that it can
//     write is accepted
//   - UnsupportedOperationError with detail CONTEXT_NOT_SERVED, TASK_ALREADY_IN_FLIGHT or
//     AGENT_BUSY, judged in this order
//   - UnavailableError: the server is stopping, or the store has failed a task and has
//     not recovered
//   - InvalidAgentResponseError: the agent's direct answer is not valid
//   - InternalError: the task could not be stored
//
// Ctx is the request's; the turn does not depend on it.
func (e *Engine) Send(ctx context.Context, in Input) (Sent, error) {
	if err := e.available(); err != nil {
		return Sent{}, err
	}
	if err := e.checkModes(in); err != nil {
		return Sent{}, err
	}
	// The context is judged before the slot: that refusal is for good, a busy slot passes.
	if in.ContextID == "" {
		in.ContextID = e.agent.SessionID
	}
	if err := e.judge(in); err != nil {
		return Sent{}, err
	}
	if m, err := e.direct(ctx, in); m != nil || err != nil {
		return Sent{Message: m}, err
	}
	// Client-made task ids are not taken (A2A §3.4.2); client-made contexts are, as they are.
	in.TaskID = e.NewID()
	if in.ContextID == "" {
		in.ContextID = e.NewID()
	}
	in.Message.TaskID, in.Message.ContextID = in.TaskID, in.ContextID
	r, err := e.admit(in)
	if err != nil {
		return Sent{}, err
	}
	r.observe(ctx)
	rec, err := r.create()
	if err != nil {
		return Sent{}, e.undo(r, err)
	}
	close(r.made)
	sent := Sent{Run: r, Record: rec}
	if in.Telemetry { // before the agent says anything
		sent.watch = r.log.watch()
	}
	r.start()
	return sent, nil
}

// start runs the owner and the turn. The engine's wait group already counts the owner.
func (r *Run) start() {
	e := r.e
	e.wg.Add(1)
	go func() {
		defer e.wg.Done()
		r.own()
	}()
	go func() {
		defer e.wg.Done()
		r.turn()
	}()
}
