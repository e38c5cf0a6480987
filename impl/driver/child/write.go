package child

import (
	"time"

	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
)

// outgoing is one thing that the agent is to read.
type outgoing struct {
	name    string
	payload any
}

// send puts something into the queue. It never waits: one agent that does not read must not
// hold up whoever tells it something. There is little to tell a turn, so the queue is short.
func (s *session) send(o outgoing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.queue = append(s.queue, o)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// tell passes on what the server says. What the agent says comes by on the same bus, but as
// pointers.
func (s *session) tell(e event.Event) {
	switch e := e.(type) {
	case event.CancelRequest:
		if s.hello.Cancel {
			break
		}
		if s.atWork(e.TaskID) {
			s.end("The agent was stopped")
		}
		return
	case event.Input, event.HITLResponded, event.HITLCancel:
	default:
		return
	}
	s.send(outgoing{e.EventType(), e})
}

// write writes what is queued, and closes the agent's input once the session has ended.
func (s *session) write() {
	defer s.p.stdin.Close()
	for {
		o, ok := s.next()
		if !ok {
			return
		}
		err := s.writeLine(o)
		if err == nil {
			continue
		}
		select {
		case <-s.p.exited: // which says more
		case <-time.After(s.moment()):
			s.log.Warn("the agent takes no more input", "error", err)
			s.end("The agent takes no more input")
		}
		return
	}
}

// next waits for something to write. It returns false when nothing more will come.
func (s *session) next() (outgoing, bool) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			o := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return o, true
		}
		ended := s.ended
		s.mu.Unlock()
		if ended {
			return outgoing{}, false
		}
		select {
		case <-s.wake:
		case <-s.stop:
		case <-s.p.exited:
			return outgoing{}, false
		}
	}
}

// writeLine writes one line. An agent that does not read it in time is as good as dead.
func (s *session) writeLine(o outgoing) error {
	doc, err := json.Marshal(o.payload)
	if err != nil {
		return err
	}
	text, err := json.Marshal(envelope{o.name, doc})
	if err != nil {
		return err
	}
	_ = s.p.stdin.SetWriteDeadline(time.Now().Add(s.d.opts.StartTimeout))
	_, err = s.p.stdin.Write(append(text, '\n'))
	return err
}

// closeDown begins the end of a process that is to end: it sees its input closed, and if
// that does not move it, or there is no time for that, term.
func (s *session) closeDown(term chan<- struct{}) {
	select {
	case <-s.p.exited:
		return
	case <-s.stop:
	}
	grace := time.NewTimer(s.p.grace)
	defer grace.Stop()
	select {
	case <-s.p.exited:
		return
	case <-s.firmly:
	case <-grace.C:
	}
	_ = s.p.stdin.Close() // whoever still writes to it gives up
	close(term)
}
