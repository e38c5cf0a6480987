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
	if err := e.settled(ctx, finished); err == nil {
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

// settled waits for the goroutines while ctx lasts. Those that only wait for the store
// to recover are not worth waiting for.
func (e *Engine) settled(ctx context.Context, finished <-chan struct{}) error {
	e.mu.Lock()
	failing := e.failing
	e.mu.Unlock()
	if failing > 0 {
		return errors.New("the store is failing")
	}
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

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
