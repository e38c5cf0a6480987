package turn

import (
	"context"

	"a2aserve/gen/a2a"
)

// Cancel ends a live task as CANCELED and returns it (A2A §3.1.5). The owner decides, so
// that a cancellation racing a completion has one outcome that everybody sees. Errors:
// ErrNotLive when the store must say what the task is; TaskNotCancelableError when it
// ended first; InternalError when the end could not be stored.
func (e *Engine) Cancel(ctx context.Context, principal, id string) (Record, error) {
	r := e.Live(principal, id)
	if r == nil {
		return Record{}, ErrNotLive
	}
	got := make(chan reply, 1)
	rep, err := r.ask(ctx, cancelAsk{got}, got)
	return rep.rec, err
}

// cancel settles the task first, so that nothing the agent does on being stopped is
// published; the agent is told after that is journalled.
func (b *batch) cancel(c cancelAsk) {
	b.flush()
	b.status(a2a.TaskStateCanceled, b.r.say("Cancelled at the client's request"))
	b.stopAgent("cancelled by the client")
	b.replies = append(b.replies, func(err error) {
		c.reply <- reply{rec: b.rec, err: err}
	})
}
