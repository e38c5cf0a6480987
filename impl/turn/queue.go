package turn

import (
	"sync"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
)

// The agent's events that wait for the owner are bounded in number and in bytes, though
// one event of any size fits an empty queue. What the server itself asks of the owner
// always finds room.
const (
	queueRoom  = 256
	queueBytes = 4 << 20
)

// queue brings events and requests to a run's owner, in order.
type queue struct {
	wake chan struct{} // holds a token while there may be items

	mu     sync.Mutex    // guards what follows
	items  []any         // event.Event from the agent, or a request of this package
	agent  int           // how many of items are the agent's
	bytes  int           // what those hold, roughly
	room   chan struct{} // closed, and replaced, when items are taken
	closed bool
}

func (q *queue) init() {
	q.wake = make(chan struct{}, 1)
	q.room = make(chan struct{})
}

// emit adds an agent's event, waiting for room. It reports whether the run will see it.
func (q *queue) emit(e event.Event) bool {
	size := weight(e)
	for {
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			return false
		}
		if q.agent < queueRoom && (q.agent == 0 || q.bytes+size <= queueBytes) {
			q.agent++
			q.bytes += size
			q.items = append(q.items, e)
			q.mu.Unlock()
			q.signal()
			return true
		}
		room := q.room
		q.mu.Unlock()
		<-room
	}
}

// put adds a request of the server. It reports whether the owner will answer it.
func (q *queue) put(request any) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	q.items = append(q.items, request)
	q.mu.Unlock()
	q.signal()
	return true
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take removes all items and lets waiting emitters in.
func (q *queue) take() []any {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items, q.agent, q.bytes = nil, 0, 0
	close(q.room)
	q.room = make(chan struct{})
	return items
}

// close ends the queue, lets waiting emitters go, and returns what nobody will take.
func (q *queue) close() []any {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	if !q.closed {
		q.closed = true
		close(q.room)
	}
	q.items = nil
	return items
}

// weight is roughly how many bytes an event holds, of the kinds that can be large.
func weight(e event.Event) int {
	switch e := e.(type) {
	case event.OutputDelta:
		return len(e.Text)
	case event.Output:
		return len(e.Content) + partBytes(e.Parts)
	case event.LLMResponse:
		return len(e.Content)
	case event.ToolResult:
		return len(e.Output) + len(e.Error) + len(e.Structured)
	case event.Artifact:
		return partBytes(e.Artifact.Parts)
	case event.ThinkingStep:
		return len(e.Content)
	case event.ToolInvoke:
		return len(e.Arguments)
	}
	return 0
}

func partBytes(parts []a2a.Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Raw) + len(p.Data) + len(p.Metadata) + len(p.Filename)
		if p.Text != nil {
			n += len(*p.Text)
		}
		if p.URL != nil {
			n += len(*p.URL)
		}
	}
	return n
}
