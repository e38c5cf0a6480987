package check

import (
	"context"
	"errors"
	"io"
	"net/http"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/sse"
)

// frame is one event of a stream, out of its envelope.
type frame struct {
	arm  string // "task", "message", "statusUpdate", "artifactUpdate", or "" for none of them
	body obj    // what is under it
	err  *refusal
}

// state is the one that the frame brings the task to, or "".
func (f frame) state() a2a.TaskState { return a2a.TaskState(text(object(f.body["status"])["state"])) }

func (f frame) terminal() bool { return f.state().Terminal() }

// stream is an open stream. It is read by the one goroutine that there is, frame by frame,
// so that several may be open side by side.
type stream struct {
	*reply
	on     *face
	res    *http.Response
	in     *sse.Reader
	time   *timed
	frames []frame
	ended  error // io.EOF: by the server, in order
}

// How a stream was left, for the report.
const (
	endedByServer = "closed by the server"
	endedByUs     = "left by the check"
	endedBroken   = "broken off"
	endedSilent   = "given up: silent for too long"
)

// open starts a streaming operation. An answer that is no stream, or whose first frame is an
// error, is in the reply.
func (f *face) open(name string, params obj, hows ...how) *stream {
	a := f.request(name, params, f.shape(op.ByName(name), hows))
	st := &stream{on: f, time: within(f.ctx, f.timeout)}
	x, res := f.send(st.time, a)
	st.reply = &reply{Exchange: f.note(x)}
	switch {
	case res == nil:
		st.time.close()
		st.err, st.ended = &refusal{broken: x.Error}, errors.New(x.Error)
		return st
	case x.mediaType() != "text/event-stream":
		defer st.time.close()
		defer res.Body.Close()
		f.session.read(x, res)
		st.result, st.err = f.read1(x, x.body)
		if st.err == nil {
			st.err = &refusal{code: x.Status, broken: "an answer of type " + x.mediaType() + " instead of a stream"}
			f.remember(st.result)
		}
		st.ended = io.EOF
		return st
	}
	st.res, st.in = res, sse.NewReader(res.Body, maxBody)
	if first, ok := st.next(); ok && first.err != nil {
		st.err = first.err
		st.err.streamed = true
		st.close()
	}
	return st
}

// next reads one frame; false means that the stream is over, or said nothing for too long.
func (st *stream) next() (frame, bool) {
	if st.ended != nil {
		return frame{}, false
	}
	e, err := st.in.Next()
	if err == nil && e.Cut {
		err = io.ErrUnexpectedEOF
	}
	if err == nil && len(st.frames) >= maxFrames {
		err = errors.New("too many frames")
	}
	if err != nil {
		st.finish(err)
		return frame{}, false
	}
	st.time.alive()
	x := st.Exchange
	x.frames = append(x.frames, e.Data)
	if len(x.Frames) < 100 {
		x.Frames = append(x.Frames, st.on.shown(e.Data))
	}
	var fr frame
	doc := any(nil)
	if doc, fr.err = st.on.read1(x, e.Data); fr.err == nil {
		m := object(doc)
		for _, arm := range []string{"task", "message", "statusUpdate", "artifactUpdate"} {
			if b := object(m[arm]); b != nil {
				fr.arm, fr.body = arm, b
			}
		}
		st.on.remember(m)
		if e := object(m["error"]); fr.arm == "" && e != nil { // an error in the stream of HTTP+JSON
			fr.err = &refusal{code: number(e["code"]), message: text(e["message"]), details: list(e["details"]), raw: e}
			fr.err.reason = reason(fr.err.details)
		}
	}
	st.frames = append(st.frames, fr)
	return fr, true
}

func number(v any) int { n, _ := v.(float64); return int(n) }

// finish notes how the stream ended.
func (st *stream) finish(err error) {
	st.ended = err
	switch {
	case errors.Is(err, io.EOF):
		st.Ended = endedByServer
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		st.Ended = endedSilent
	default:
		st.Ended = endedBroken + ": " + st.on.redact(err.Error())
	}
	st.time.close()
	_ = st.res.Body.Close() // nothing more is wanted of it
}

// close leaves the stream, if it is still open.
func (st *stream) close() {
	if st.ended == nil {
		st.finish(errors.New(endedByUs))
		st.Ended = endedByUs
	}
}

// until reads on until a frame is what is wanted, or the stream is over.
func (st *stream) until(wanted func(frame) bool) (frame, bool) {
	for {
		fr, ok := st.next()
		if !ok || wanted(fr) {
			return fr, ok
		}
	}
}

// rest reads to the end.
func (st *stream) rest() { st.until(func(frame) bool { return false }) }

// byServer reports whether the server ended it in order.
func (st *stream) byServer() bool { return errors.Is(st.ended, io.EOF) }

// subscribeVerb is the verb of SubscribeToTask on HTTP+JSON: the proto and the prose differ
// (A2A §11.3.2), so the first that leads to the operation is taken. stream.verbs tells.
func (f *face) subscribeVerb() string {
	if f.verb == "" && f.binding == REST {
		f.verb = http.MethodGet
		for _, v := range []string{http.MethodGet, http.MethodPost} {
			st := f.open("SubscribeToTask", obj{"id": newID()}, verb(v))
			st.close()
			if st.err != nil && (st.err.streamed || st.is(a2a.TaskNotFoundError) == "") {
				f.verb = v
				break
			}
		}
	}
	return f.verb
}
