package child

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/impl/turn"
)

// JSON is an agent that speaks the event vocabulary, a JSON document a line, on its
// standard input and output. docs/agent-protocol.md says how.
type JSON struct {
	opts Options

	probe sync.Once
	agent turn.Agent // what the agent said of itself when it was first started

	mu       sync.Mutex // guards what follows
	sessions map[string]*session
	closed   bool
	wg       sync.WaitGroup // of every session's process
}

var _ turn.Driver = (*JSON)(nil)

// NewJSON returns the driver. Close ends its processes.
func NewJSON(o Options) *JSON {
	o.fill()
	return &JSON{opts: o, sessions: map[string]*session{}}
}

// Agent is what the agent says of itself. It is started once to be asked; one that cannot
// be is taken to read and write plain text, and every turn then says why it fails.
func (d *JSON) Agent() turn.Agent {
	d.probe.Do(func() {
		d.agent = turn.Agent{InputModes: []string{"text/plain"}, OutputModes: []string{"text/plain"}, MaxSessions: DefaultMaxSessions}
		s, err := d.open(context.Background(), "", turn.Input{})
		if err != nil {
			d.opts.Logger.Error("the agent cannot be asked what it can do", "error", err)
			return
		}
		if m := s.hello.InputModes; len(m) > 0 {
			d.agent.InputModes = m
		}
		if m := s.hello.OutputModes; len(m) > 0 {
			d.agent.OutputModes = m
		}
		s.endIdle()
	})
	return d.agent
}

// Admit answers nothing without a task.
func (*JSON) Admit(context.Context, turn.Input) (*a2a.Message, error) { return nil, nil }

// Turn runs a turn in the process of its session, which is started where there is none.
func (d *JSON) Turn(ctx context.Context, in turn.Input, line *turn.Line) error {
	s, err := d.acquire(ctx, in, line)
	if err != nil {
		return err
	}
	defer d.release(s, in.TaskID)
	stop := context.AfterFunc(ctx, func() { s.end("The agent was given up") })
	defer stop()
	return s.drv.Turn(ctx, in, line)
}

// key names the session of an input. It is the same after a restart, and does not show
// whose it is.
func (d *JSON) key(in turn.Input) string {
	if d.opts.Single {
		return "single"
	}
	sum := sha256.Sum256([]byte(in.Principal + "\x00" + in.ContextID))
	return hex.EncodeToString(sum[:16])
}

// acquire finds or starts the process of a turn, and adds the turn to it. Turns of one
// session that start at once wait for one start.
func (d *JSON) acquire(ctx context.Context, in turn.Input, line *turn.Line) (*session, error) {
	key := d.key(in)
	for {
		d.mu.Lock()
		if d.closed {
			d.mu.Unlock()
			return nil, errors.New("child: the driver is closed")
		}
		s := d.sessions[key]
		if s == nil {
			s = &session{starting: make(chan struct{})}
			d.sessions[key] = s
			d.mu.Unlock()
			opened, err := d.open(ctx, key, in)
			d.mu.Lock()
			if err != nil {
				delete(d.sessions, key)
			} else {
				d.sessions[key] = opened
			}
			close(s.starting)
			closed := d.closed
			d.mu.Unlock()
			if closed && err == nil { // Close has not seen it
				opened.end("The server stopped")
			}
			if err != nil {
				return nil, fmt.Errorf("child: %w", err)
			}
			continue
		}
		d.mu.Unlock()
		switch {
		case s.starting != nil:
			select {
			case <-s.starting:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		case s.join(in.TaskID, line):
			return s, nil
		default: // it has ended
			<-s.gone
		}
	}
}

// release takes a turn out of its session, which is idle from its last one on.
func (d *JSON) release(s *session, taskID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.turns, taskID)
	if len(s.turns) == 0 && d.opts.IdleTimeout > 0 && !s.ended {
		s.idle = time.AfterFunc(d.opts.IdleTimeout, s.endIdle)
	}
}

// Close ends every process, and returns when all are gone.
func (d *JSON) Close() {
	d.mu.Lock()
	d.closed = true
	for _, s := range d.sessions {
		if s.starting == nil {
			_ = s.send(event.Shutdown{Reason: "the server stops"})
			s.end("The server stopped")
		}
	}
	d.mu.Unlock()
	d.wg.Wait()
}
