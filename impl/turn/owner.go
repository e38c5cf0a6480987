package turn

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
)

// own is the run's owner: it takes what is queued, decides, journals and publishes,
// until the task is over; then it sees the turn off.
func (r *Run) own() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if d, ok := r.deadline(); ok {
			timer.Reset(max(0, time.Until(d)))
		} else {
			timer.Stop()
		}
		select {
		case <-r.q.wake:
		case <-timer.C:
		}
		if r.step(r.q.take()) {
			break
		}
	}
	r.seeOff()
}

// step lets items have their effect, and whatever comes up while that is written. It
// reports whether the run is over.
func (r *Run) step(items []any) bool {
	for b := r.decide(items, r.task, 0); b != nil; {
		if len(b.changes) == 0 {
			r.log.tell(b.notes)
			r.answer(b)
			return false
		}
		next, err := r.write(b)
		if err != nil {
			b.absorb(next)
			r.lost(b, err)
			return true
		}
		r.publish(b)
		if b.end {
			return true
		}
		b = next
	}
	return false
}

// decide turns items into a batch, from the task as it will be after ahead frames that are
// not published yet.
func (r *Run) decide(items []any, task taskState, ahead int) *batch {
	b := &batch{r: r, taskState: task, ahead: ahead} // appends beyond what readers hold, never into it
	for _, it := range items {
		b.next(it)
	}
	b.expire(time.Now())
	b.settle()
	r.logBytes += b.bytes()
	// Before the write, not after it: readers of the store may see the end as soon as it is
	// there and send again; the next task's rows queue up behind it.
	if b.end {
		r.e.release(r)
	}
	return b
}

// write journals a batch, which takes along what comes up before the journal begins with
// it. What came up too late for that is next.
func (r *Run) write(b *batch) (next *batch, err error) {
	w := NewWrite(b.changes)
	r.e.Journal.Begin(w)
	for room := queueBytes; !b.end && room > 0 && w.Open(); {
		select {
		case err := <-w.Done:
			return nil, err
		case <-r.q.wake:
		}
		more := r.decide(r.q.take(), b.taskState, b.ahead+len(b.frames))
		if !w.Add(more.changes) {
			return more, <-w.Done
		}
		room -= more.bytes()
		b.absorb(more)
	}
	return nil, <-w.Done
}

// publish tells readers, the agent and clients of a batch that is journalled.
func (r *Run) publish(b *batch) {
	r.task = b.taskState
	r.report(b) // before readers know: whoever counts after the last frame counts this one
	r.log.publish(b.rec, b.frames, b.notes, b.end)
	// The agent is told only what is stored. An answer that were lost with the server
	// would otherwise have been acted upon.
	if b.end {
		r.e.retire(r)
		r.out.close(b.tells...)
	}
	r.answer(b)
	if b.end {
		for _, it := range r.q.close() {
			refuseLate(it)
		}
	}
}

// answer replies to those whose requests are in a batch, and tells the agent of it.
func (r *Run) answer(b *batch) {
	if !b.end {
		r.out.add(b.tells...)
	}
	for _, answer := range b.replies {
		answer(nil)
	}
}

// next lets one queued item have its effect. What comes after the end has none.
func (b *batch) next(it any) {
	if b.end {
		refuseLate(it)
		return
	}
	defer func() {
		if p := recover(); p != nil {
			b.invalid("an event that cannot be understood", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	switch it := it.(type) {
	case event.Event:
		b.r.heard = time.Now()
		b.mapEvent(it)
	case answerAsk:
		b.answer(it)
	case cancelAsk:
		b.cancel(it)
	case turnBegun:
		b.r.heard = time.Now()
	case turnReturned:
		b.returned(it)
	case drainAsk:
		b.r.parkAtEnd = true
	case stopAsk:
		b.fail("%s", it.reason)
	}
}

// refuseLate answers a request that finds the task over.
func refuseLate(it any) {
	switch it := it.(type) {
	case cancelAsk:
		it.reply <- reply{err: notCancelable()}
	case answerAsk:
		it.reply <- reply{err: refusal("TASK_ALREADY_TERMINAL", "The task has ended")}
	}
}

// notCancelable answers a cancellation that came too late (decision 14).
func notCancelable() *a2a.Error {
	return a2a.TaskNotCancelableError.Errorf("The task has already ended")
}

// returned ends a task whose turn is done without having said so.
func (b *batch) returned(t turnReturned) {
	if t.err != nil {
		b.r.e.Logger.Error("the agent could not be run", "task", b.rec.ID, "error", t.err)
	}
	b.fail("%s", t.reason)
}

// settle completes a batch: nothing streamed stays behind at its end, a task that parks
// while the server stops fails, and so does one that says more than its readers can be
// given.
func (b *batch) settle() {
	if b.end {
		return
	}
	b.publishHeld()
	if b.r.parkAtEnd && len(b.r.questions) > 0 {
		b.fail("The server stopped while the task was waiting for an answer")
		return
	}
	if b.r.logBytes+b.bytes() > b.r.e.MaxLogBytes {
		b.r.e.Logger.Error("a task outgrew limits.max_log_bytes", "task", b.rec.ID, "bytes", b.r.e.MaxLogBytes)
		b.fail("The agent said more than one task may hold (%d bytes)", b.r.e.MaxLogBytes)
	}
	b.endless()
}

// Bounds of what an agent may go on to say that nobody will see: as many times
// MaxAnswerBytes, and as many artifacts. A verbose agent comes to its end before, and one
// that would never end is found out.
const (
	maxUnseen    = 8
	maxArtifacts = 10_000
)

// endless fails the task of an agent that does not stop at what a task may hold. Its driver
// then stops the agent.
func (b *batch) endless() {
	m, limit := &b.r.mapping, b.r.e.Artifacts.MaxAnswerBytes
	s := &m.response
	switch {
	case (!s.closed || s.open) && s.dropped/maxUnseen > limit: // 0 is no bound, and nothing is dropped
		b.fail("The agent went on long after its answer was full (%d bytes)", limit)
	case m.withheld > maxArtifacts:
		b.fail("The agent went on long after the task was full (%d bytes besides its answer)", b.r.e.Artifacts.MaxTaskBytes)
	}
}

// turn waits for the previous turn of the slot to return, then runs this one.
func (r *Run) turn() {
	defer close(r.returned)
	defer r.cancel()
	if !r.mayBegin() {
		return
	}
	r.q.put(turnBegun{})
	end := r.callDriver()
	r.e.leave(r)
	r.q.put(end)
}

// callDriver runs the turn, and says how a task ends whose agent has not ended it. What
// went wrong is logged; clients read the reason.
func (r *Run) callDriver() (end turnReturned) {
	end.reason = "The agent ended the turn without an answer"
	defer func() {
		if p := recover(); p != nil {
			end = turnReturned{fmt.Errorf("panic: %v\n%s", p, debug.Stack()), "The agent failed"}
		}
	}()
	if err := r.e.Driver.Turn(r.ctx, r.in, &Line{in: &r.q, out: &r.out}); err != nil {
		if said, ok := errors.AsType[*a2a.Error](err); ok {
			return turnReturned{err, said.Text()}
		}
		return turnReturned{err, "The agent could not be run"}
	}
	return end
}

// mayBegin waits until no earlier turn of the slot is running. It returns false when
// the task has ended meanwhile, or has been failed because that turn does not stop.
func (r *Run) mayBegin() bool {
	for {
		r.e.mu.Lock()
		if r.e.slots[r.key] != r { // the end is decided: another may begin instead
			r.e.mu.Unlock()
			return false
		}
		before := r.e.chain[r.key]
		if before == nil {
			r.e.chain[r.key] = r
			r.e.mu.Unlock()
			return true
		}
		r.e.mu.Unlock()
		select {
		case <-before.returned:
		case <-r.over:
		case <-before.stuck:
			select {
			case <-before.returned: // late, but it did
			default:
				r.q.put(stopAsk{"The agent is still busy with an earlier turn that was ended"})
				<-r.over
			}
		}
	}
}

// leave ends the run's turn in its slot's chain.
func (e *Engine) leave(r *Run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.chain[r.key] == r {
		delete(e.chain, r.key)
	}
}

// seeOff gives a turn whose task is over time to return, then ends its context, and at
// last declares it stuck.
func (r *Run) seeOff() {
	grace := r.e.CancelGrace
	if r.wait(grace) {
		return
	}
	r.e.Logger.Warn("a turn does not return; its context ends", "task", r.in.TaskID, "after", grace)
	r.cancel()
	if r.wait(min(grace, stopGrace)) {
		return
	}
	r.e.Logger.Error("a turn cannot be stopped", "task", r.in.TaskID)
	close(r.stuck)
}

// stopGrace is how long a turn may take to return once its context has ended.
const stopGrace = 5 * time.Second

// wait reports whether the turn returned in time.
func (r *Run) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-r.returned:
		return true
	case <-t.C:
		return false
	}
}
