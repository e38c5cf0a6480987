package turn

import (
	"sync"

	"a2aserve/gen/op"
)

// frameLog is a run's frames. A reader is an index into it and never costs the writer
// anything: a slow one lags and catches up.
type frameLog struct {
	mu     sync.Mutex // guards what follows
	frames []op.Frame // only ever appended to
	rec    Record     // the task as it stood after the last frame
	ended  bool       // no frame will follow
	wake   chan struct{}
	notes  ring // telemetry, for the readers that asked for it
}

// ending is what a reader finds beyond the last frame of a log that has ended.
var ending = []op.Frame{{Last: true}}

func (l *frameLog) init(rec Record) {
	l.rec = rec
	l.wake = make(chan struct{})
}

// publish adds frames, the telemetry between them, and the task as it now stands, at once.
func (l *frameLog) publish(rec Record, frames []op.Frame, notes []note, ended bool) {
	l.mu.Lock()
	l.notes.add(len(l.frames), notes)
	l.frames = append(l.frames, frames...)
	l.rec = rec
	wake := l.end(ended)
	l.mu.Unlock()
	close(wake)
}

// abandon ends the log without a terminal frame.
func (l *frameLog) abandon() {
	l.mu.Lock()
	wake := l.end(true)
	l.mu.Unlock()
	close(wake)
}

// end replaces the wake-up; l.mu is held.
func (l *frameLog) end(ended bool) (wake chan struct{}) {
	l.ended = l.ended || ended
	l.notes.signal()
	wake = l.wake
	l.wake = make(chan struct{})
	return wake
}

// From returns the frames from i on. When there are none yet, the channel is closed
// once there are; when none will follow, the only frame has no JSON and is the last.
func (l *frameLog) From(i int) ([]op.Frame, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.frames)
	if i >= n {
		if l.ended {
			return ending, l.wake
		}
		return nil, l.wake
	}
	return l.frames[i:n:n], l.wake
}

// snapshot returns the task and the index of the frame that follows it.
func (l *frameLog) snapshot() (Record, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rec, len(l.frames)
}
