package turn

import (
	"errors"
	"time"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
)

// lost ends a run whose changes could not be stored (decision 31): nothing of them is
// published, whoever waits gets an error, and the agent is stopped. The task stays
// readable as it was last stored until its FAILED is, which is tried until it succeeds.
func (r *Run) lost(b *batch, cause error) {
	r.e.Logger.Error("a change could not be stored; the task fails", "task", r.in.TaskID, "error", cause)
	r.e.mu.Lock()
	r.e.failing++
	r.e.changed()
	r.e.mu.Unlock()
	r.e.release(r)
	r.task.statuses = b.statuses // in case the write took effect after all
	r.log.abandon()
	r.seen.Over(a2a.TaskStateFailed)
	stop := &batch{r: r}
	stop.stopAgent("the task could not be stored")
	r.out.close(stop.tells...)
	err := storeError(cause)
	for _, answer := range b.replies {
		answer(err)
	}
	for _, it := range r.q.close() {
		refuseWith(it, err)
	}
	r.e.wg.Add(1)
	go func() {
		defer r.e.wg.Done()
		r.settleLate()
	}()
}

// refuseWith answers a request that nobody will decide any more.
func refuseWith(it any, err error) {
	switch it := it.(type) {
	case cancelAsk:
		it.reply <- reply{err: err}
	case answerAsk:
		it.reply <- reply{err: err}
	}
}

// The pauses between attempts double from the first to the last.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// settleLate stores the task's FAILED as soon as the store takes it. If the engine stops
// first, the next opening of the store settles the task.
func (r *Run) settleLate() {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		select {
		case <-time.After(wait):
		case <-r.e.ctx.Done():
			return
		}
		b := &batch{r: r, taskState: r.task}
		b.status(a2a.TaskStateFailed, r.say("A change of the task could not be stored"))
		// ErrEnded: a write that was reported as failed took effect after all.
		if err := r.e.Journal.Append(b.changes); err != nil && !errors.Is(err, ErrEnded) {
			r.e.Logger.Warn("the store still does not accept changes", "task", r.in.TaskID, "error", err)
			continue
		}
		r.e.mu.Lock()
		r.e.failing--
		r.e.mu.Unlock()
		r.e.retire(r)
		return
	}
}

// OrphanStatus is the status of a task that was found unfinished when the store was
// opened (decision 26): FAILED, saying why, at the given time.
func OrphanStatus(taskID, contextID string, at time.Time) []byte {
	text := "The agent stopped while this task was running"
	doc, err := json.Marshal(&a2a.TaskStatus{
		State: a2a.TaskStateFailed,
		Message: &a2a.Message{
			MessageID: newID(), TaskID: taskID, ContextID: contextID,
			Role: a2a.RoleAgent, Parts: []a2a.Part{{Text: &text}},
		},
		Timestamp: a2a.Timestamp{Time: at},
	})
	if err != nil {
		panic(err) // ids from the store are valid UTF-8
	}
	return doc
}
