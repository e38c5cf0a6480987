package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

const (
	// maxGroup bounds the jobs that share a commit, and so what a failing disk takes along.
	maxGroup = 256
	// defaultMaxLog bounds the write-ahead log, in bytes, where readers overlap without a
	// pause and SQLite never gets to begin it anew.
	defaultMaxLog = 16 << 20
)

// job is a piece of work for the writer: all of it is stored, or none.
type job struct {
	do   func(context.Context, *handle) error
	done chan error
}

// writer owns the one connection that writes.
type writer struct {
	h       *handle
	queue   chan job
	stopped chan struct{}
	told    func(jobs int, took time.Duration, evicted int64, err error) // of each group

	// Jobs and the writer's goroutine alone use what follows.
	memory   memory
	evicting int64 // tasks evicted by the group under way
	wary     int   // groups whose jobs still get a savepoint each
	maxLog   int64 // bytes
	trimAt   int64 // size of the log at which it is emptied next

	mu     sync.RWMutex // held for reading while a job is queued: guards closed, and with it the queue
	closed bool
}

func startWriter(h *handle, told func(jobs int, took time.Duration, evicted int64, err error)) *writer {
	w := &writer{h: h, told: told, queue: make(chan job, maxGroup), stopped: make(chan struct{}), maxLog: defaultMaxLog, trimAt: defaultMaxLog}
	go w.run()
	return w
}

// submit queues a job and waits until it is committed or has failed.
func (w *writer) submit(do func(context.Context, *handle) error) error {
	j := job{do, make(chan error, 1)}
	w.enqueue(j)
	return <-j.done
}

// enqueue queues a job; its channel has room for the outcome.
func (w *writer) enqueue(j job) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		j.done <- ErrClosed
		return
	}
	w.queue <- j
}

// stop ends the writer after what is queued and returns its connection.
func (w *writer) stop() *handle {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.stopped
	return w.h
}

// run commits in groups: what has queued up during one commit shares the next. It never
// waits for a group to fill, so that a lone writer is as fast as its disk.
func (w *writer) run() {
	defer close(w.stopped)
	group := make([]job, 0, maxGroup)
	for first := range w.queue {
		group = w.gather(append(group[:0], first))
		began := time.Now()
		errs, err := w.commit(group)
		w.told(len(group), time.Since(began), w.evicting, err)
		w.evicting = 0
		for i, j := range group {
			j.done <- errors.Join(err, errs[i])
		}
		clear(group)
		w.trimLog()
	}
}

// gather adds what is queued. Where there was company already, those who have just been
// answered are let on first, as long as that brings more: they are about to write again,
// and a group's cost is mostly its own. Nobody is waited for who is not ready to run.
func (w *writer) gather(group []job) []job {
	for {
		before := len(group)
		for len(group) < maxGroup {
			j, ok := w.queued()
			if !ok {
				break
			}
			group = append(group, j)
		}
		if len(group) == maxGroup || len(group) == before || len(group) == 1 {
			return group
		}
		runtime.Gosched()
	}
}

// queued takes a job where one is there.
func (w *writer) queued() (j job, ok bool) {
	select {
	case j, ok = <-w.queue:
		return j, ok
	default:
		return j, false
	}
}

// trimLog empties a log that has outgrown its bound. Those waiting have their answers; a
// failure leaves all in the log, where it is as safe, and is tried again after more growth,
// with more patience for slow readers.
func (w *writer) trimLog() {
	size := logSize(w.h.path)
	if size < w.trimAt {
		return
	}
	w.trimAt = size + w.maxLog
	patience := min(100*size/w.maxLog, busyTimeout)
	if done, err := w.h.emptyLog(context.Background(), patience); done && err == nil {
		w.trimAt = w.maxLog
	}
}

// waryFor is how many groups go by savepoints after one with a job that failed.
const waryFor = 16

// commit runs a group in one transaction. Savepoints that keep a job's failure from the
// others cost a fifth of the writer's time, and failures are rare: a group with one is done
// again by savepoints, and so are the next groups. errs are the jobs' own errors; err is the
// group's, and then nothing of it is stored.
func (w *writer) commit(group []job) (errs []error, err error) {
	errs = make([]error, len(group))
	if w.wary == 0 {
		ok, err := w.transact(group, errs, w.plain)
		if ok || err != nil {
			return errs, err
		}
		w.wary = waryFor
		clear(errs)
	}
	w.wary--
	_, err = w.transact(group, errs, w.attempt)
	return errs, err
}

// transact runs the jobs by try. It is not ok where try stopped at a job, or err is the group's.
func (w *writer) transact(group []job, errs []error, try func(job) (own error, goOn bool, err error)) (ok bool, err error) {
	if err = w.h.step(w.h.begin); err != nil {
		return false, fmt.Errorf("store: begin: %w", err)
	}
	ok = true
	for i, j := range group {
		if errs[i], ok, err = try(j); err != nil || !ok {
			break
		}
	}
	if err == nil && ok {
		if err = w.h.step(w.h.commit); err == nil {
			return true, nil
		}
	}
	// SQLite may have rolled back already (a full disk, say); then this fails, which is fine.
	_ = w.h.step(w.h.rollback)
	w.memory.forget()
	w.evicting = 0
	if err != nil {
		err = fmt.Errorf("store: commit: %w", err)
	}
	return false, err
}

// plain runs one job and stops at its failure, whatever that is of.
func (w *writer) plain(j job) (own error, goOn bool, group error) {
	own = j.do(context.Background(), w.h)
	return own, own == nil, nil
}

// attempt runs one job under a savepoint. A failure that cannot be confined to the job is
// the group's.
func (w *writer) attempt(j job) (own error, goOn bool, group error) {
	if err := w.h.step(w.h.savepoint); err != nil {
		return nil, false, err
	}
	before := w.evicting
	// No request's context: SQLite rolls the whole transaction back when a write is interrupted.
	own = j.do(context.Background(), w.h)
	if own != nil {
		w.evicting = before
		w.memory.forget()
		if err := w.h.step(w.h.undo); err != nil {
			return own, false, err
		}
	}
	return own, true, w.h.step(w.h.release)
}
