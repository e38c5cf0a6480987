package turn

import (
	"context"
	"errors"
	"time"
)

// Drain ends the engine. New turns are refused from now on and parked tasks fail at
// once; running ones may go on until ctx ends, then they fail too (decision 21). Drain
// returns when everything has stopped, or with an error when some turn cannot be
// stopped. It may be called more than once.
func (e *Engine) Drain(ctx context.Context) error {
	e.mu.Lock()
	e.draining = true
	e.mu.Unlock()
	e.each(drainAsk{})
	finished := make(chan struct{})
	go func() {
		e.wg.Wait()
		close(finished)
	}()
	for {
		e.mu.Lock()
		// Tasks whose end waits for the store to recover are not waited for.
		quiet := len(e.live) == e.failing && len(e.slots) == 0
		idle := e.idle
		e.mu.Unlock()
		if quiet {
			break
		}
		select {
		case <-idle:
			continue
		case <-ctx.Done():
		}
		break
	}
	e.each(stopAsk{"The server stopped while the task was running"})
	defer e.stop()
	if e.settled(finished) {
		return nil
	}
	e.stop()
	select {
	case <-finished:
		return nil
	case <-time.After(stopGrace):
		return errors.New("turn: an agent does not stop")
	}
}

// stopNotice is how long agents have to obey a cancel.request before their turns'
// contexts end.
const stopNotice = 500 * time.Millisecond

// settled gives the turns a moment to return by themselves. Goroutines that wait for
// the store to recover are not worth that: the next opening settles their tasks.
func (e *Engine) settled(finished <-chan struct{}) bool {
	e.mu.Lock()
	failing := e.failing
	e.mu.Unlock()
	if failing > 0 {
		return false
	}
	select {
	case <-finished:
		return true
	case <-time.After(stopNotice):
		return false
	}
}

// each puts a request to every run whose end is not decided. A run that is being made
// finds it when its owner starts.
func (e *Engine) each(request any) {
	e.mu.Lock()
	runs := make([]*Run, 0, len(e.slots))
	for _, r := range e.slots {
		runs = append(runs, r)
	}
	e.mu.Unlock()
	for _, r := range runs {
		r.q.put(request)
	}
}
