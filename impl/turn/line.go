package turn

import (
	"context"
	"sync"

	"a2aserve/gen/event"
)

// Line is a running turn's connection between its owner and its driver.
type Line struct {
	in  *queue
	out *outbox
}

// Emit hands one event of the agent to the turn's owner. It waits for room, which slows
// the agent down and nobody else, and returns false once the task has ended: nothing
// that follows is published. It may be called from several goroutines.
func (l *Line) Emit(e event.Event) bool { return l.in.emit(e) }

// Next returns the next event for the agent: hitl.responded, hitl.cancel or
// cancel.request. It returns false once nothing more will come, or ctx has ended.
// One goroutine may call it at a time.
func (l *Line) Next(ctx context.Context) (event.Event, bool) { return l.out.next(ctx) }

// Over is closed once the task has ended, which may be before the turn returns.
func (l *Line) Over() <-chan struct{} { return l.out.ended }

// outbox holds what the agent is still to be told. It never blocks the owner: each
// entry answers a question or ends the turn, so there are few.
type outbox struct {
	wake  chan struct{} // holds a token while there may be items
	ended chan struct{} // closed by close

	mu     sync.Mutex // guards what follows
	items  []event.Event
	closed bool
}

func (o *outbox) init() {
	o.wake = make(chan struct{}, 1)
	o.ended = make(chan struct{})
}

func (o *outbox) add(es ...event.Event) {
	o.mu.Lock()
	o.items = append(o.items, es...)
	o.mu.Unlock()
	o.signal()
}

// close adds the last entries, and lets next return false once all have been read. Whoever
// reads one of the last finds the task over: an agent whose question is retracted because
// its task has ended can be kept from going on with it.
func (o *outbox) close(last ...event.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.items = append(o.items, last...)
	if !o.closed {
		o.closed = true
		close(o.ended)
	}
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// next waits for an entry, and gives what is there even after ctx has ended.
func (o *outbox) next(ctx context.Context) (event.Event, bool) {
	for {
		o.mu.Lock()
		if len(o.items) > 0 {
			e := o.items[0]
			o.items = o.items[1:]
			o.mu.Unlock()
			return e, true
		}
		closed := o.closed
		o.mu.Unlock()
		if closed {
			return nil, false
		}
		select {
		case <-o.wake:
		case <-ctx.Done():
			return nil, false
		}
	}
}
