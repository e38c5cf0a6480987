package turn

import (
	"sync"
	"sync/atomic"

	"a2aserve/gen/op"
)

// The newest telemetry of a run is kept for readers that lag behind, at most so many
// frames and bytes of it. One that lags further misses the oldest, as gaps in the
// sequence tell it: frames of the log it never misses.
const (
	ringFrames = 1024
	ringBytes  = 2 << 20
)

// note is a telemetry frame and its place: before the log's frame of this index. In a
// batch the index counts from the batch's first frame.
type note struct {
	at   int
	json []byte
}

// ring keeps the telemetry of a run while somebody watches. The lock of its frame log
// guards it, but for watchers, which the owner reads without.
type ring struct {
	watchers atomic.Int32
	notes    []note // the newest, oldest first
	bytes    int    // of notes
	next     int    // how many notes there have been
	wake     chan struct{}
}

// add takes what a batch has to tell; base is the index of the batch's first frame.
func (r *ring) add(base int, notes []note) {
	if len(notes) == 0 || r.watchers.Load() == 0 {
		return
	}
	for _, n := range notes {
		n.at += base
		r.notes = append(r.notes, n)
		r.bytes += len(n.json)
	}
	r.next += len(notes)
	drop := 0
	for drop < len(r.notes)-1 && (len(r.notes)-drop > ringFrames || r.bytes > ringBytes) {
		r.bytes -= len(r.notes[drop].json)
		drop++
	}
	clear(r.notes[:drop]) // or their bytes would stay until the slice moves
	r.notes = r.notes[drop:]
}

// since returns what is still there from note number i on.
func (r *ring) since(i int) []note {
	first := r.next - len(r.notes)
	return r.notes[max(0, i-first):]
}

// signal wakes the watchers that wait.
func (r *ring) signal() {
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

// waiting is closed by the next signal. Runs that nobody watches never make one.
func (r *ring) waiting() <-chan struct{} {
	if r.wake == nil {
		r.wake = make(chan struct{})
	}
	return r.wake
}

// tell publishes telemetry that no frame goes with. Only watchers wake.
func (l *frameLog) tell(notes []note) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes.add(len(l.frames), notes)
	l.notes.signal()
}

// watcher is one reader that gets telemetry too, in its place between the frames. It
// counts what it hands out, so that its numbers rise without gaps.
type watcher struct {
	log     *frameLog
	left    sync.Once
	note    int        // number of the next telemetry frame
	from    int        // telemetry that comes before this frame of the log is not for it
	frame   int        // index of the log's next frame
	taken   int        // number of pending's first
	pending []op.Frame // handed out, and not known to be taken
}

// watch makes a watcher for what is told from now on. It has to be closed.
func (l *frameLog) watch() *watcher {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes.watchers.Add(1)
	return &watcher{log: l, note: l.notes.next}
}

// stream starts at a frame of the log.
func (w *watcher) stream(first []byte, at int) *op.Stream {
	w.from, w.frame, w.taken = at, at, at
	return &op.Stream{First: first, At: at, From: w.next, Close: w.close}
}

// close gives the watcher up. Without any the run makes and keeps no telemetry.
func (w *watcher) close() {
	w.left.Do(func() {
		w.log.mu.Lock()
		defer w.log.mu.Unlock()
		if w.log.notes.watchers.Add(-1) == 0 {
			w.log.notes.notes, w.log.notes.bytes = nil, 0
		}
	})
}

// next is From of the watcher's stream: what comes before i has been taken.
func (w *watcher) next(i int) ([]op.Frame, <-chan struct{}) {
	w.pending = w.pending[min(i-w.taken, len(w.pending)):]
	w.taken = i
	if len(w.pending) > 0 {
		return w.pending, nil
	}
	var wake <-chan struct{}
	w.pending, wake = w.log.merged(w)
	return w.pending, wake
}

// merged moves a watcher past what is there, and returns it in order.
func (l *frameLog) merged(w *watcher) ([]op.Frame, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	frames, notes := l.frames[w.frame:], l.notes.since(w.note)
	out := make([]op.Frame, 0, len(frames)+len(notes))
	for _, n := range notes {
		if n.at < w.from {
			continue
		}
		before := n.at - w.frame
		out = append(append(out, frames[:before]...), op.Frame{JSON: n.json})
		frames, w.frame = frames[before:], n.at
	}
	out = append(out, frames...)
	w.frame, w.note = len(l.frames), l.notes.next
	switch {
	case len(out) > 0:
		return out, nil
	case l.ended:
		return ending, nil
	}
	return nil, l.notes.waiting()
}
