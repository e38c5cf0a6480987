package child

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/turn"
)

// JSON is an agent that speaks the event vocabulary, a JSON document a line, on its
// standard input and output. docs/agent-protocol.md says how.
type JSON struct {
	opts Options

	probe sync.Once
	agent turn.Agent // what the agent said of itself when it was first started

	mu       sync.Mutex // guards what follows; taken before a session's
	sessions map[string]*session
	past     *recent[bool] // sessions that have had a process
	closed   bool
	wg       sync.WaitGroup // of every session
}

var _ turn.Driver = (*JSON)(nil)

// pastSessions bounds how many sessions are remembered to have had a process. One that is
// forgotten is started as if it were new.
const pastSessions = 1 << 14

// errOver says that nobody waits for the turn any more.
var errOver = errors.New("child: the task is over")

// NewJSON returns the driver. Close ends its processes.
func NewJSON(o Options) *JSON {
	o.fill()
	return &JSON{opts: o, sessions: map[string]*session{}, past: newRecent[bool](pastSessions)}
}

// Agent is what the agent says of itself. It is started once to be asked; one that cannot
// be is taken to read and write plain text, and every turn then says why it fails.
func (d *JSON) Agent() turn.Agent {
	d.probe.Do(func() {
		d.agent = turn.Agent{InputModes: []string{"text/plain"}, OutputModes: []string{"text/plain"}, MaxSessions: d.opts.MaxSessions}
		d.mu.Lock()
		if d.closed {
			d.mu.Unlock()
			return
		}
		s := d.begin("", "")
		d.mu.Unlock()
		<-s.ready
		if s.err != nil {
			d.opts.Logger.Error("the agent cannot be asked what it can do", "error", s.err)
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
	if errors.Is(err, errOver) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.release(s, in.TaskID)
	select {
	case <-s.ready:
	case <-ctx.Done(): // the process goes on starting, for the next turn
		return nil
	case <-line.Over():
		return nil
	}
	if s.err != nil {
		return s.err
	}
	var watch sync.WaitGroup
	defer watch.Wait()
	done := make(chan struct{})
	defer close(done)
	watch.Go(func() { s.watch(ctx, in.TaskID, done) })
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

// acquire adds the turn to its session, which it begins where there is none. A turn begins
// one at most: what becomes of that one is what becomes of the turn.
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
			if s = d.crowd(); s == nil {
				contextID := in.ContextID
				if d.opts.Single { // it has more than this one
					contextID = ""
				}
				s = d.begin(key, contextID)
			}
		}
		joined := s.key == key && s.join(in.TaskID, line)
		d.mu.Unlock()
		if joined {
			return s, nil
		}
		select { // it has ended, or makes room
		case <-s.gone:
		case <-ctx.Done():
			return nil, errOver
		case <-line.Over():
			return nil, errOver
		}
	}
}

// crowd is nil while another process may be started, and otherwise the session that has to
// go first: the one that has been idle longest. Engines run a bounded number of turns, so
// where all are at work, these are no more than may be. d.mu is held.
func (d *JSON) crowd() *session {
	if len(d.sessions) < d.opts.MaxSessions {
		return nil
	}
	var idle, ending *session
	var since time.Time
	stay := 0
	for _, s := range d.sessions {
		s.mu.Lock()
		if s.ended {
			ending = s
		} else {
			stay++
		}
		if !s.ended && len(s.turns) == 0 && (idle == nil || s.since.Before(since)) {
			idle, since = s, s.since
		}
		s.mu.Unlock()
	}
	if idle == nil || stay < d.opts.MaxSessions { // one more need not go
		return ending
	}
	idle.log.Info("the agent's session ends to make room for another")
	idle.endIdle()
	return idle
}

// release takes a turn out of its session, which is idle from its last one on.
func (d *JSON) release(s *session, taskID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(taskID)
	if len(s.turns) > 0 || s.ended {
		return
	}
	s.since = time.Now()
	if d.opts.IdleTimeout > 0 {
		s.idle = time.AfterFunc(d.opts.IdleTimeout, s.endIdle)
	}
}

// Close tells every process that the server stops, and returns when all are gone: after
// twice StopGrace at the latest.
func (d *JSON) Close() {
	d.mu.Lock()
	d.closed = true
	for _, s := range slices.Collect(maps.Values(d.sessions)) {
		d.wg.Go(s.shutdown) // none waits for the turns of another
	}
	d.mu.Unlock()
	d.wg.Wait()
}
