package binding

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"a2aserve/gen/op"
	"a2aserve/impl/call"
	"a2aserve/impl/sse"
	"a2aserve/impl/wire"
)

// writeSize is how much is handed to the connection at once, so that a slow client is
// judged by its progress and not by the size of the answer.
const writeSize = 64 << 10

// output writes to one client and gives each write its own deadline. The deadline is taken
// back afterwards, because HTTP/2 enforces it on an idle stream too, and HTTP/1.1 on the
// connection's next response.
type output struct {
	w     http.ResponseWriter
	ctl   *http.ResponseController
	limit time.Duration
}

func (h *Handler) output(w http.ResponseWriter) output {
	return output{w, http.NewResponseController(w), h.WriteTimeout}
}

// send writes piece by piece. An error means that the client has left or does not read;
// there is nobody to tell.
func (o output) send(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), writeSize)]
		o.ctl.SetWriteDeadline(time.Now().Add(o.limit))
		if _, err := o.w.Write(piece); err != nil {
			return err
		}
		b = b[len(piece):]
	}
	return nil
}

// flush hands what has been written to the network, and makes the connection quiet again.
func (o output) flush() error {
	o.ctl.SetWriteDeadline(time.Now().Add(o.limit))
	err := o.ctl.Flush()
	o.ctl.SetWriteDeadline(time.Time{})
	return err
}

// around is what a document is wrapped in: nothing on REST, a response on JSON-RPC.
func (w reply) around() (before, after []byte) {
	if w.binding == wire.REST {
		return nil, nil
	}
	before = append(append([]byte(`{"jsonrpc":"2.0","id":`), w.id...), `,"result":`...)
	return before, []byte("}")
}

// write answers with one document. A client that has left is told nothing.
func (h *Handler) write(w reply, doc []byte) {
	before, after := w.around()
	header := w.Header()
	header.Set("Content-Type", wire.JSON)
	if w.binding == wire.REST {
		header.Set("Content-Type", wire.MediaType(w.req))
	}
	header.Set("Content-Length", strconv.Itoa(len(before)+len(doc)+len(after)))
	header.Set("X-Content-Type-Options", "nosniff")
	out := h.output(w.ResponseWriter)
	// One write for the usual answer; a large one is not copied just to be wrapped.
	if len(doc) < writeSize {
		doc, before, after = append(append(before, doc...), after...), nil, nil
	}
	for _, b := range [][]byte{before, doc, after} {
		if out.send(b) != nil {
			return
		}
	}
	out.flush()
}

// follow is the sole writer of its response. It ends with the frame that says so, or when
// the client has left, which ends nothing else (A2A §3.1.2). Last-Event-ID is ignored: a
// subscription opens with the snapshot (A2A §3.1.6).
func (h *Handler) follow(w reply, st *op.Stream) {
	if st.Close != nil {
		defer st.Close()
	}
	header := w.Header()
	// What is activated is said in the answer that it has an effect on.
	if active := call.From(w.req.Context()).Extensions; len(active) > 0 {
		header.Set(wire.ExtensionsHeader, strings.Join(active, ", "))
	}
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	out := h.output(w.ResponseWriter)
	before, after := w.around()

	var batch []byte
	if st.First != nil {
		batch = sse.AppendEvent(batch, st.At, before, st.First, after)
	}
	quiet := time.NewTimer(h.KeepAlive)
	defer quiet.Stop()
	gone := w.req.Context().Done()
	last := false
	for at := st.At; ; {
		if out.send(batch) != nil || out.flush() != nil || last {
			return
		}
		if batch = batch[:0]; cap(batch) > writeSize {
			batch = nil // one large batch must not cost each idle subscriber its memory
		}
		quiet.Reset(h.KeepAlive)
		// Waiting: for frames, for the next comment, or for the client to leave.
		frames, more := st.From(at)
		for len(frames) == 0 {
			select {
			case <-gone:
				return
			case <-quiet.C:
				if out.send([]byte(sse.Comment)) != nil || out.flush() != nil {
					return
				}
				quiet.Reset(h.KeepAlive)
			case <-more:
				frames, more = st.From(at)
			}
		}
		// A reader that lags behind gets what it has missed in few large writes.
		for _, f := range frames {
			at++
			if f.JSON != nil {
				batch = sse.AppendEvent(batch, at, before, f.JSON, after)
			}
			if last = f.Last; last || len(batch) >= writeSize {
				break
			}
		}
	}
}
