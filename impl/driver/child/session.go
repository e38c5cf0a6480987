package child

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/turn"
)

// session is an agent's process, with a bus of its own that stands for it: what is known
// of turns on a bus holds for it as well.
type session struct {
	d              *JSON
	key, contextID string
	restart        bool // it has had a process before
	log            *slog.Logger
	bus            *bus.Bus
	drv            *bus.Driver

	ready chan struct{} // closed once the agent has greeted, or will not
	err   error         // why it will not; to be read after ready, as what follows
	hello agentHello
	gone  chan struct{} // closed once the process is gone and out of the driver's list

	p      *process
	lines  *bufio.Reader
	strays meter         // of whoever reads the lines
	wake   chan struct{} // holds a token when there may be something to write
	stop   chan struct{} // closed when the process is to end
	firmly chan struct{} // closed when it is to end at once

	mu    sync.Mutex        // guards what follows
	turns map[string]*given // by task
	late  *recent[bool]     // turns, tasks and questions of the past; true: the server ended them
	queue []outgoing        // what the agent is still to read
	since time.Time         // when the last turn ended
	idle  *time.Timer
	ended bool
}

// pastTurns bounds how many turns are remembered, to know late events from wrong ones.
const pastTurns = 256

// begin starts a session's life. d.mu is held.
func (d *JSON) begin(key, contextID string) *session {
	log := d.opts.Logger.With("session", key)
	s := &session{
		d: d, key: key, contextID: contextID, log: log, bus: bus.New(log),
		ready: make(chan struct{}), gone: make(chan struct{}), wake: make(chan struct{}, 1),
		stop: make(chan struct{}), firmly: make(chan struct{}),
		turns: map[string]*given{}, late: newRecent[bool](pastTurns), since: time.Now(),
	}
	_, s.restart = d.past.get(key)
	s.bus.SubscribeAll(s.tell)
	s.drv = bus.NewDriver(s.bus, bus.Options{Logger: log})
	d.sessions[key] = s
	d.wg.Go(s.live)
	return s
}

// live is a session's whole life. It belongs to the driver: the turn for which it began
// may be over long before.
func (s *session) live() {
	defer s.forget()
	var err error
	if s.p, err = start(&s.d.opts, s.d.opts.Args, s.log); err != nil {
		s.fail(fmt.Errorf("child: %w", err))
		return
	}
	defer s.p.close()
	s.lines = bufio.NewReaderSize(reader{s.p}, chunkBytes)
	term := make(chan struct{})
	s.p.endWith(context.Background(), term)
	s.p.wg.Go(func() { s.closeDown(term) })
	s.p.wg.Go(s.write)
	if err := s.greet(); err != nil {
		signalGroup(s.p.cmd, kill)
		s.fail(err)
		return
	}
	close(s.ready)
	s.run()
}

// fail says that the session cannot begin.
func (s *session) fail(err error) {
	s.err = err
	s.mu.Lock()
	s.finish()
	s.mu.Unlock()
	close(s.ready)
}

// forget takes the session off the bus and out of the driver's list.
func (s *session) forget() {
	if n := s.strays.dropped; n > 0 {
		s.log.Warn("lines about what the agent sent were left out of the log", "lines", n)
	}
	s.drv.Close()
	s.d.mu.Lock()
	if s.d.sessions[s.key] == s {
		delete(s.d.sessions, s.key)
	}
	s.d.mu.Unlock()
	close(s.gone)
}

// join adds a turn. It returns false when the session has ended.
func (s *session) join(taskID string, line *turn.Line) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	s.turns[taskID] = &given{taskID: taskID, line: line}
	return true
}

// watch ends the session of a turn that is given up, or that does not even begin while
// the agent has nothing else to do: it would be silent for very long.
func (s *session) watch(ctx context.Context, taskID string, done <-chan struct{}) {
	begin := time.NewTicker(s.d.opts.StartTimeout)
	defer begin.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			s.end("The agent was given up")
			return
		case <-begin.C:
			if s.neglected(taskID) {
				s.end("The agent did not begin the turn within " + s.d.opts.StartTimeout.String())
				return
			}
		}
	}
}

// finish has the process end. It returns false where it was to end already. s.mu is held.
func (s *session) finish() bool {
	if s.ended {
		return false
	}
	s.ended = true
	if s.idle != nil {
		s.idle.Stop()
	}
	close(s.stop)
	return true
}

// end fails the session's turns with a reason that clients read, and has its process end
// at once: it did not do what it should.
func (s *session) end(reason string) { s.endTurns(reason, true) }

// shutdown ends the session because the server stops.
func (s *session) shutdown() {
	s.send(outgoing{"shutdown", event.Shutdown{Reason: "the server stops"}})
	s.endTurns("The server stopped", false)
}

func (s *session) endTurns(reason string, firm bool) {
	s.mu.Lock()
	if !s.finish() {
		s.mu.Unlock()
		return
	}
	if firm {
		s.queue = nil
		close(s.firmly)
	}
	turns := maps.Clone(s.turns)
	s.mu.Unlock()
	for task, g := range turns {
		g.line.Emit(event.CoreError{Source: "child", Message: reason, Fatal: true})
		// For the bus the turn is over too; the task is, and takes no notice.
		_ = s.bus.Emit(&event.TurnRejected{TaskID: task, Reason: reason})
	}
}

// endIdle ends a session that has no turns.
func (s *session) endIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.turns) == 0 {
		s.finish()
	}
}
