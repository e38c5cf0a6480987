package turn

import (
	"context"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"

	"github.com/go-json-experiment/json"
)

// Run is a live task.
type Run struct {
	e        *Engine
	in       Input
	key      slotKey
	log      frameLog
	q        queue
	out      outbox
	ctx      context.Context // of the turn
	cancel   context.CancelFunc
	made     chan struct{} // closed once the task is stored, or could not be
	over     chan struct{} // closed once the end is decided: the slot is free
	returned chan struct{} // closed once the driver's Turn has returned, or will not be called
	stuck    chan struct{} // closed when Turn has not returned long after its context ended
	seen     Observation   // who is told of this run; never nil

	// The owner goroutine alone touches what follows, and create before it starts.
	task      taskState // as journalled and published
	logBytes  int       // of the frames decided
	mapping   mapping
	questions []question // open, oldest first
	modes     []string   // accepted output modes
	heard     time.Time  // when the agent last said something; zero: its turn has not begun
	told      int64      // telemetry payloads so far
	parkAtEnd bool       // draining: a question fails the task at once
}

// taskState is what one journal write moves on as a whole.
type taskState struct {
	rec                           Record
	at                            time.Time // of the status
	statuses, messages, artifacts int       // next Seq of each kind
}

// newRun makes a run that nobody else knows yet. An agent with one session has one slot,
// whoever asks and in whatever context.
func newRun(e *Engine, in Input) *Run {
	r := &Run{
		e: e, in: in,
		key:      slotKey{in.Principal, in.ContextID},
		made:     make(chan struct{}),
		over:     make(chan struct{}),
		returned: make(chan struct{}),
		stuck:    make(chan struct{}),
		modes:    in.AcceptedOutputModes,
		seen:     unseen{},
	}
	if e.agent.SessionID != "" {
		r.key = slotKey{}
	}
	r.q.init()
	r.out.init()
	r.mapping.init(in.TaskID)
	r.ctx, r.cancel = context.WithCancel(e.ctx)
	return r
}

// Input is what the task was made of, ids included. It must not be altered.
func (r *Run) Input() Input { return r.in }

// create journals the task as SUBMITTED with its first message, and publishes it.
func (r *Run) create() (Record, error) {
	b := &batch{r: r, taskState: taskState{rec: Record{ID: r.in.TaskID, ContextID: r.in.ContextID}}}
	if err := b.created(); err != nil {
		return Record{}, err
	}
	if err := r.e.Journal.Append(b.changes); err != nil {
		return Record{}, err
	}
	r.task = b.taskState
	r.log.init(r.task.rec)
	// The first frame is the task itself, with the message that began it (A2A §3.1.2).
	task, err := r.task.rec.JSON(nil, true)
	if err != nil {
		return Record{}, err
	}
	frame := op.Frame{JSON: taskFrame(task)}
	r.logBytes = len(frame.JSON)
	r.log.publish(r.task.rec, []op.Frame{frame}, nil, false)
	return r.task.rec, nil
}

// created adds the changes of a new task.
func (b *batch) created() error {
	msg, err := json.Marshal(&b.r.in.Message)
	if err != nil {
		return a2a.InternalError.Errorf("The message could not be stored").Because(err)
	}
	b.stamp()
	b.rec.State = a2a.TaskStateSubmitted
	status, err := statusDoc(b.rec.State, nil, b.at)
	if err != nil {
		return a2a.InternalError.Errorf("The task could not be stored").Because(err)
	}
	b.rec.Status = status
	b.change(Change{Kind: TaskCreated, State: b.rec.State, At: b.at, Doc: status, Session: b.r.e.agent.SessionID})
	b.statuses++ // the creation is the task's status number 0
	b.addHistory(msg)
	return nil
}

// Snapshot returns the task and the index of the frame that follows it.
func (r *Run) Snapshot() (Record, int) { return r.log.snapshot() }

// Follow returns the frames of a new task from the first, which is the task itself.
func (r *Run) Follow() *op.Stream { return &op.Stream{From: r.log.From} }

// Join returns a stream that opens with the task as it stands and follows from there:
// nothing is missed and nothing comes twice (A2A §3.1.6).
func (r *Run) Join() (*op.Stream, error) {
	rec, at := r.log.snapshot()
	task, err := rec.JSON(nil, true)
	if err != nil {
		return nil, a2a.InternalError.Errorf("The task could not be encoded").Because(err)
	}
	return &op.Stream{First: taskFrame(task), At: at, From: r.log.From}, nil
}

// Watch is Join for a reader that activated TelemetryURI. Telemetry from before is not
// repeated.
func (r *Run) Watch() (*op.Stream, error) {
	w := r.log.watch()
	rec, at := r.log.snapshot()
	task, err := rec.JSON(nil, true)
	if err != nil {
		w.close()
		return nil, a2a.InternalError.Errorf("The task could not be encoded").Because(err)
	}
	return w.stream(taskFrame(task), at), nil
}

// Await returns the task once it is interrupted or terminal, looking at frames from
// index from on. It returns InternalError when the task's changes could not be stored,
// and ctx's error when ctx ends first; the turn goes on then.
func (r *Run) Await(ctx context.Context, from int) (Record, error) {
	// The log is read rather than the record watched: a task that was interrupted and went
	// on again before this goroutine ran has still been interrupted.
	for i := from; ; {
		frames, wake := r.log.From(i)
		for _, f := range frames {
			if !f.Stops && f.JSON != nil {
				continue
			}
			rec, _ := r.log.snapshot()
			if !f.Stops && !rec.State.Terminal() {
				return rec, a2a.InternalError.Errorf("The task could not be stored")
			}
			return rec, nil
		}
		if i += len(frames); len(frames) > 0 {
			continue
		}
		select {
		case <-wake:
		case <-ctx.Done():
			rec, _ := r.log.snapshot()
			return rec, ctx.Err()
		}
	}
}

// Await is the run's for whoever sent a message: it returns at once when the message left
// the task waiting for another one.
func (s Sent) Await(ctx context.Context) (Record, error) {
	if s.Record.State.Interrupted() {
		return s.Record, nil
	}
	return s.Run.Await(ctx, s.From)
}

// Requests of the server to a run's owner.
type (
	cancelAsk struct{ reply chan<- reply }
	answerAsk struct {
		ctx   context.Context // its call's, for the observer alone
		msg   a2a.Message
		modes []string
		reply chan<- reply
	}
	turnBegun    struct{}
	turnReturned struct {
		err    error
		reason string // safe to send
	}
	drainAsk struct{}                // fail if parked, now or later
	stopAsk  struct{ reason string } // fail
)

// reply answers a cancelAsk or an answerAsk, once its changes are journalled.
type reply struct {
	rec  Record
	from int
	err  error
}
