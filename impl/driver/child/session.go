package child

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/turn"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// protocolVersion is the one that both sides name in their first line.
const protocolVersion = 1

// envelope is one line.
type envelope struct {
	Type    string         `json:"type"`
	Payload jsontext.Value `json:"payload"`
}

// serverHello is the first line to the agent. An agent that can resume a conversation
// finds it by the session id, which is the same after a restart.
type serverHello struct {
	Protocol  int    `json:"protocol"`
	SessionID string `json:"sessionId"`
	ContextID string `json:"contextId,omitzero"`
}

// agentHello is the agent's first line.
type agentHello struct {
	Protocol    int      `json:"protocol"`
	InputModes  []string `json:"inputModes"`
	OutputModes []string `json:"outputModes"`
	Cancel      bool     `json:"cancel"` // it obeys cancel.request; otherwise its process is ended instead
}

// session is an agent's process, with a bus of its own that stands for it: what is known
// of turns on a bus holds for it as well.
type session struct {
	starting chan struct{} // not nil: a place holder; closed once the process is there or cannot be

	d      *JSON
	p      *process
	bus    *bus.Bus
	drv    *bus.Driver
	lines  *bufio.Reader
	hello  agentHello
	strays meter         // of whoever reads the lines
	gone   chan struct{} // closed once the process is gone and out of the driver's list

	write sync.Mutex // serialises lines to the process

	mu    sync.Mutex            // guards what follows
	turns map[string]*turn.Line // by task
	idle  *time.Timer
	ended bool
	stop  chan struct{} // closed by end
}

// open starts a process and greets it.
func (d *JSON) open(ctx context.Context, key string, in turn.Input) (*session, error) {
	log := d.opts.Logger.With("session", key)
	p, err := start(&d.opts, d.opts.Args, log)
	if err != nil {
		return nil, err
	}
	s := &session{d: d, p: p, bus: bus.New(log), turns: map[string]*turn.Line{}, gone: make(chan struct{}), stop: make(chan struct{})}
	s.lines = bufio.NewReaderSize(reader{p}, chunkBytes)
	unwatch := context.AfterFunc(ctx, func() { signalGroup(p.cmd, kill) })
	late := time.AfterFunc(d.opts.StartTimeout, func() { signalGroup(p.cmd, kill) })
	err = s.greet(key, in.ContextID)
	if !late.Stop() && err != nil {
		err = fmt.Errorf("no greeting within %s: %w", d.opts.StartTimeout, err)
	}
	unwatch()
	if err != nil {
		p.close()
		return nil, err
	}
	s.bus.SubscribeAll(s.tell)
	s.drv = bus.NewDriver(s.bus, bus.Options{Logger: log})
	d.wg.Go(s.run)
	return s, nil
}

// reader is what a process writes.
type reader struct{ p *process }

func (r reader) Read(b []byte) (int, error) { return r.p.read(b) }

// greet exchanges the first lines.
func (s *session) greet(key, contextID string) error {
	if err := s.sendLine("server.hello", serverHello{protocolVersion, key, contextID}); err != nil {
		return err
	}
	for {
		text, err := s.line()
		if err != nil {
			return fmt.Errorf("the agent's greeting: %w", err)
		}
		var e envelope
		if json.Unmarshal(text, &e) != nil {
			s.stray("the agent wrote a line that is not of the protocol", "line", text)
			continue
		}
		if e.Type != "agent.hello" {
			return fmt.Errorf("the agent begins with %q, not with agent.hello", e.Type)
		}
		if err := json.Unmarshal(e.Payload, &s.hello); err != nil {
			return fmt.Errorf("the agent's greeting: %w", err)
		}
		if s.hello.Protocol != protocolVersion {
			return fmt.Errorf("the agent speaks version %d of the protocol, the server %d", s.hello.Protocol, protocolVersion)
		}
		return nil
	}
}

// tell passes on what the server says. What the agent says comes by on the same bus, but as
// pointers.
func (s *session) tell(e event.Event) {
	switch e.(type) {
	case event.CancelRequest:
		if !s.hello.Cancel {
			s.end("The agent was stopped")
			return
		}
	case event.Input, event.HITLResponded, event.HITLCancel:
	default:
		return
	}
	if err := s.send(e); err != nil {
		s.p.log.Warn("the agent takes no more input", "error", err)
		s.end("The agent takes no more input")
	}
}

func (s *session) send(e event.Event) error { return s.sendLine(e.EventType(), e) }

// sendLine writes one line. An agent that does not read it in time is as good as dead.
func (s *session) sendLine(name string, payload any) error {
	doc, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	text, err := json.Marshal(envelope{name, doc})
	if err != nil {
		return err
	}
	s.write.Lock()
	defer s.write.Unlock()
	_ = s.p.stdin.SetWriteDeadline(time.Now().Add(s.d.opts.StartTimeout))
	_, err = s.p.stdin.Write(append(text, '\n'))
	return err
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
	s.turns[taskID] = line
	return true
}

// end fails the session's turns with a reason that clients read, and has its process end.
func (s *session) end(reason string) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	turns := maps.Clone(s.turns)
	if s.idle != nil {
		s.idle.Stop()
	}
	close(s.stop)
	s.mu.Unlock()
	for task, line := range turns {
		line.Emit(event.CoreError{Source: "child", Message: reason, Fatal: true})
		// For the bus the turn is over too; the task is, and takes no notice.
		_ = s.bus.Emit(&event.TurnRejected{TaskID: task, Reason: reason})
	}
}

// endIdle ends a session that has no turns.
func (s *session) endIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.turns) == 0 && !s.ended {
		s.ended = true
		close(s.stop)
	}
}
