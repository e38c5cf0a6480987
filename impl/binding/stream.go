package binding

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
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
	until time.Time // the deadline that is set
	keep  bool      // the deadline until the end: HTTP/1.1 minds it only when it writes
}

func (h *Handler) output(w http.ResponseWriter) output {
	return output{w: w, ctl: http.NewResponseController(w), limit: h.WriteTimeout}
}

// send writes piece by piece. An error means that the client has left or does not read;
// there is nobody to tell. The last deadline is that of the flush too.
func (o *output) send(b []byte) error {
	for {
		piece := b[:min(len(b), writeSize)]
		// Setting it costs as much as a tenth of the write, and a little less time harms nobody.
		if now := time.Now(); o.until.Sub(now) < o.limit-o.limit/16 {
			o.until = now.Add(o.limit)
			o.ctl.SetWriteDeadline(o.until)
		}
		if len(piece) == 0 {
			return nil
		}
		if _, err := o.w.Write(piece); err != nil {
			return err
		}
		if b = b[len(piece):]; len(b) == 0 {
			return nil
		}
	}
}

// flush hands what has been written to the network, and makes the connection quiet again.
func (o *output) flush() error {
	err := o.ctl.Flush()
	if !o.keep {
		o.quiet()
	}
	return err
}

// quiet takes the deadline back.
func (o *output) quiet() {
	o.until = time.Time{}
	o.ctl.SetWriteDeadline(o.until)
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
	typ := wire.JSON
	if w.binding == wire.REST {
		typ = wire.MediaType(w.req)
	}
	wire.SetType(header, typ)
	header.Set("Content-Length", strconv.Itoa(len(before)+len(doc)+len(after)))
	out := h.output(w.ResponseWriter)
	// One write for the usual answer; a large one is not copied just to be wrapped.
	if len(before) > 0 && len(doc) < writeSize {
		doc, before, after = append(append(before, doc...), after...), nil, nil
	}
	// What is left in a buffer leaves when the handler returns, in one piece with the headers
	// and still under the deadline. net/http takes that back then.
	for _, b := range [][]byte{before, doc, after} {
		if len(b) > 0 && out.send(b) != nil {
			return
		}
	}
}

// following is a stream that an operation has opened, and nothing else of its request: a
// stream may be silent for days, and what it holds is held for each of its readers.
type following struct {
	*op.Stream
	out           output
	before, after []byte          // around each document
	gone          <-chan struct{} // closed once the client has left
	end           func()          // called once, whatever becomes of the stream
}

// Shared by all streams, as the headers of wire.Mark are by all answers.
var eventStream, noCache, noBuffering = []string{"text/event-stream"}, []string{"no-cache"}, []string{"no"}

// open carries an operation out that answers with a stream. Nil: it was refused, and its
// caller has been told.
func (h *Handler) open(w reply, o *op.Operation, in any) *following {
	// Before the call, so that a refused sender has started no turn.
	who := call.From(w.req.Context()).Principal.ID
	if err := h.Streams.enter(who, h.MaxStreams, h.MaxEach); err != nil {
		h.fail(w, err)
		return nil
	}
	f := &following{end: func() { h.Streams.leave(who) }}
	defer func() {
		if f.Stream == nil {
			f.end()
		}
	}()
	if h.Observe != nil {
		ctx, done := h.Observe(w.req.Context(), o)
		f.end = func() { done(); h.Streams.leave(who) }
		w.req = w.req.WithContext(ctx)
	}
	out, err := o.Call(w.req.Context(), h.Service, in)
	if err == nil && out.Stream == nil {
		err = errNoAnswer
	}
	if err != nil {
		h.fail(w, err)
		return nil
	}
	header := w.Header()
	// What is activated is said in the answer that it has an effect on.
	if active := call.From(w.req.Context()).Extensions; len(active) > 0 {
		header.Set(wire.ExtensionsHeader, strings.Join(active, ", "))
	}
	header["Content-Type"], header["Cache-Control"], header["X-Accel-Buffering"] = eventStream, noCache, noBuffering
	f.before, f.after = w.around()
	f.out, f.gone = h.output(w.ResponseWriter), w.req.Context().Done()
	f.out.keep = w.req.ProtoMajor == 1
	f.Stream = out.Stream
	return f
}

// follow is the sole writer of its response. It ends with the frame that says so, or when
// the client has left, which ends nothing else (A2A §3.1.2). Last-Event-ID is ignored: a
// subscription opens with the snapshot (A2A §3.1.6). It is called from the top of the
// handler, since a goroutine that waits keeps its stack, and with it all that lies below.
func (h *Handler) follow(f *following) {
	defer f.end()
	if f.Close != nil {
		defer f.Close()
	}
	f.out.w.WriteHeader(http.StatusOK)
	at, begun := f.At, f.First != nil
	if begun && f.open() != nil {
		return
	}
	// It is not set back with each frame: it looks, when it fires, for how long it has been quiet.
	quiet, wrote := time.NewTimer(h.KeepAlive), time.Now()
	defer quiet.Stop()
	for {
		frames, more := f.From(at)
		if len(frames) > 0 || !begun {
			n, last, err := f.write(at, frames)
			if err != nil || last {
				return
			}
			at, begun, wrote = at+n, true, time.Now()
			continue
		}
		select {
		case <-f.gone:
			return
		case <-more:
		case <-quiet.C:
			left := h.KeepAlive - time.Since(wrote)
			if left <= 0 {
				if f.out.send([]byte(sse.Comment)) != nil || f.out.flush() != nil {
					return
				}
				left, wrote = h.KeepAlive, time.Now()
			}
			quiet.Reset(left)
		}
	}
}

// batches are buffers that streams borrow while they write. None is kept by one that waits.
var batches = sync.Pool{New: func() any { return new([]byte) }}

// open sends the snapshot, and lets go of it: it may be large.
func (f *following) open() error {
	_, _, err := f.write(f.At-1, []op.Frame{{JSON: f.First}})
	f.First = nil
	return err
}

// write sends the frames from index at on, or as many as are worth one write: a reader that
// lags behind gets what it has missed in few large ones. Without any it sends the headers.
// The last frame leaves when the handler returns, in one piece with the end of the response
// and still under its deadline, which net/http takes back then.
func (f *following) write(at int, frames []op.Frame) (n int, last bool, err error) {
	buf := batches.Get().(*[]byte)
	b := (*buf)[:0]
	for _, frame := range frames {
		n++
		if frame.JSON != nil {
			b = sse.AppendEvent(b, at+n, f.before, frame.JSON, f.after)
		}
		if last = frame.Last; last || len(b) >= writeSize {
			break
		}
	}
	if err = f.out.send(b); err == nil && !last {
		err = f.out.flush()
	}
	if cap(b) <= 2*writeSize {
		*buf = b
		batches.Put(buf)
	}
	return n, last, err
}
