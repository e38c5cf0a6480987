package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
)

var errTooLong = errors.New("a line is longer than agent.child.max_line_bytes")

// line reads the next line, of which no more than the bound is ever held.
func (s *session) line() ([]byte, error) {
	var text []byte
	for {
		piece, err := s.lines.ReadSlice('\n')
		if len(text)+len(piece) > s.d.opts.MaxLineBytes {
			return nil, errTooLong
		}
		text = append(text, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, err
		}
	}
}

// run reads what the agent says until its output ends, and sees its process off. It goes
// on reading after the end of the session: a process on its way out may have more to say.
func (s *session) run() {
	term := make(chan struct{})
	s.p.wg.Go(func() { s.closeDown(term) })
	s.p.endWith(context.Background(), term)
	for {
		text, err := s.line()
		if errors.Is(err, errTooLong) {
			s.p.log.Error("the agent's session ends", "error", err)
			s.end(fmt.Sprintf("The agent sent a line of more than %d bytes", s.d.opts.MaxLineBytes))
			continue
		}
		if err != nil {
			break
		}
		s.take(text)
	}
	select { // most likely the process has ended; how, is worth a moment
	case <-s.p.exited:
		s.end(outcome(s.p.err))
	case <-time.After(min(time.Second, s.p.grace)):
		s.end("The agent closed its output")
	}
	if n := s.strays.dropped; n > 0 {
		s.p.log.Warn("lines of the agent that are not of the protocol were left out of the log", "lines", n)
	}
	<-s.p.exited
	s.p.close()
	s.drv.Close()
	s.d.mu.Lock()
	for key, other := range s.d.sessions {
		if other == s {
			delete(s.d.sessions, key)
		}
	}
	s.d.mu.Unlock()
	close(s.gone)
}

// closeDown begins the end of a process that is to end: it sees its input closed, and
// only if that does not move it, term.
func (s *session) closeDown(term chan<- struct{}) {
	select {
	case <-s.p.exited:
		return
	case <-s.stop:
	}
	_ = s.p.stdin.Close()
	grace := time.NewTimer(s.p.grace)
	defer grace.Stop()
	select {
	case <-s.p.exited:
	case <-grace.C:
		close(term)
	}
}

// take has one line take effect. A stray print is logged and no more; an event that cannot
// be read is missing from its turn, which can then not be trusted.
func (s *session) take(text []byte) {
	var e envelope
	if strings.TrimSpace(string(text)) == "" {
		return
	}
	if err := json.Unmarshal(text, &e); err != nil {
		s.stray("the agent wrote a line that is not of the protocol", "line", text)
		return
	}
	row := event.Named(e.Type)
	if row == nil || row.Sender == event.Server && e.Type != "hitl.responded" && e.Type != "hitl.cancel" {
		s.stray("the agent sent an event that is not an agent's", "type", []byte(e.Type))
		return
	}
	ev := row.New()
	if err := json.Unmarshal(e.Payload, ev); err != nil {
		s.p.log.Error("the agent sent an event that cannot be read", "type", e.Type, "error", err)
		s.end("The agent sent an event that cannot be read: " + e.Type)
		return
	}
	_ = s.bus.Emit(ev) // the bus logs what goes wrong
}

// stray logs what an agent should not have written, within bounds: it may write nothing else.
func (s *session) stray(msg, key string, text []byte) {
	if s.strays.take() {
		s.p.log.Warn(msg, key, excerpt(text))
	}
}

// excerpt is the beginning of what the agent wrote, for the log.
func excerpt(b []byte) string { return trimmed(b[:min(len(b), 200)]) }
