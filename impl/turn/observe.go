package turn

import (
	"context"

	"a2aserve/gen/a2a"
)

// Observer is told of turns, for metrics and traces. It is called between what matters and
// must neither block nor fail. What the user or the agent said does not reach it.
type Observer interface {
	// Begin is told of a task that is about to be stored. request is the context of the
	// call that brought it. The driver gets the context that is returned, which descends
	// from turn, and in its input the traceparent.
	Begin(request, turn context.Context, in Input) (ctx context.Context, traceparent string, o Observation)
}

// Observation is told what becomes of one turn. Its methods are called from several
// goroutines; none follows Over but late ones of tools and answers.
type Observation interface {
	// Status is told of each state after SUBMITTED once it is stored, the last one too.
	Status(a2a.TaskState)
	// Answered is told of a further message that the task took; request is its call's.
	Answered(request context.Context)
	// ToolInvoked and ToolReturned are told of the agent's tools as the events come. An
	// agent may leave the call's id out, and may never report a result.
	ToolInvoked(callID, name string)
	ToolReturned(callID string, failed bool)
	// Over is told once how the task ended: FAILED also where that could not be stored,
	// and "" where the task could not even be created.
	Over(a2a.TaskState)
}

// unseen is the Observation of a run that nobody is told of.
type unseen struct{}

func (unseen) Status(a2a.TaskState)      {}
func (unseen) Answered(context.Context)  {}
func (unseen) ToolInvoked(_, _ string)   {}
func (unseen) ToolReturned(string, bool) {}
func (unseen) Over(a2a.TaskState)        {}

// observe announces the run before anybody else can know its context.
func (r *Run) observe(request context.Context) {
	if o := r.e.Observe; o != nil {
		r.ctx, r.in.TraceParent, r.seen = o.Begin(request, r.ctx, r.in)
	}
}

// report passes on the answers and states of a batch that has been stored.
func (r *Run) report(b *batch) {
	if r.e.Observe == nil {
		return
	}
	for _, request := range b.answered {
		r.seen.Answered(request)
	}
	for i := range b.changes {
		if b.changes[i].Kind == StatusChanged {
			r.seen.Status(b.changes[i].State)
		}
	}
	if b.end {
		r.seen.Over(b.rec.State)
	}
}

// Stats is what an engine holds at a moment.
type Stats struct {
	InFlight int  // tasks that have not ended, parked ones included
	Parked   int  // of them, those that wait for an answer or an authorisation
	Queued   int  // events and requests that wait for the owners of their runs
	Failing  int  // tasks whose last change the store has not taken yet
	Draining bool // new turns are refused
}

// Stats counts. It looks at every run, so it is meant for seconds and not for requests.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	s := Stats{InFlight: len(e.slots), Failing: e.failing, Draining: e.draining}
	runs := make([]*Run, 0, len(e.slots))
	for _, r := range e.slots {
		runs = append(runs, r)
	}
	e.mu.Unlock()
	for _, r := range runs {
		select {
		case <-r.made:
		default: // its log does not exist yet
			continue
		}
		if rec, _ := r.log.snapshot(); rec.State.Interrupted() {
			s.Parked++
		}
		s.Queued += r.q.length()
	}
	return s
}

// length is how many items wait.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items)
}
