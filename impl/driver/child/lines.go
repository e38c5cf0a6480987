package child

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// envelope is one line.
type envelope struct {
	Type    string         `json:"type"`
	Payload jsontext.Value `json:"payload"`
}

var errTooLong = errors.New("a line is longer than agent.child.max_line_bytes")

// reader is what a process writes.
type reader struct{ p *process }

func (r reader) Read(b []byte) (int, error) { return r.p.read(b) }

// line reads the next line, which is valid until the one after. An unfinished last one
// counts.
func (s *session) line() ([]byte, error) { return readLine(s.lines, s.d.opts.MaxLineBytes) }

// readLine reads a line of which no more than the bound is ever held. After an error
// nothing useful can be read any more.
func readLine(r *bufio.Reader, bound int) ([]byte, error) {
	var text []byte
	for {
		piece, err := r.ReadSlice('\n')
		if len(text)+len(piece) > bound {
			return nil, errTooLong
		}
		switch {
		case err == nil && text == nil:
			return piece, nil
		case err == nil, errors.Is(err, io.EOF) && len(text)+len(piece) > 0:
			return append(text, piece...), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		text = append(text, piece...)
	}
}

// moment is how long an agent that has closed its output may take to exit: how it did is
// worth knowing.
func (s *session) moment() time.Duration { return min(time.Second, s.p.grace) }

// run has what the agent says take effect until its output or its session ends, and sees
// its process off. What it says on its way out is read and dropped, so that it need not
// wait for anybody to read it.
func (s *session) run() {
	err := s.hear()
	switch {
	case errors.Is(err, errTooLong):
		s.log.Error("the agent's session ends", "error", err)
		s.end(fmt.Sprintf("The agent sent a line of more than %d bytes", s.d.opts.MaxLineBytes))
	case err != nil:
		select {
		case <-s.p.exited:
			s.log.Info("the agent's process has ended", "how", outcome(s.p.err))
			s.end(outcome(s.p.err))
		case <-time.After(s.moment()):
			s.end("The agent closed its output")
		}
	}
	_, _ = io.Copy(io.Discard, s.lines)
	<-s.p.exited
}

// hear returns nil once the session has ended.
func (s *session) hear() error {
	for {
		text, err := s.line()
		if err != nil {
			return err
		}
		select {
		case <-s.stop:
			return nil
		default:
			s.take(text)
		}
	}
}

// parse reads a line. One that is not of the protocol is a stray print: it is logged and no
// more.
func (s *session) parse(text []byte, e *envelope) bool {
	if len(bytes.TrimSpace(text)) == 0 {
		return false
	}
	err := json.Unmarshal(text, e)
	if err != nil {
		s.stray("the agent wrote a line that is not of the protocol", "line", text)
	}
	return err == nil
}

// take has one line take effect. An event that cannot be read is missing from its turn,
// which can then not be trusted.
func (s *session) take(text []byte) {
	var e envelope
	if !s.parse(text, &e) {
		return
	}
	row := event.Named(e.Type)
	if row == nil || row.Sender == event.Server && e.Type != "hitl.responded" && e.Type != "hitl.cancel" {
		s.stray("the agent sent an event that is not an agent's", "type", []byte(e.Type))
		return
	}
	ev := row.New()
	if err := json.Unmarshal(e.Payload, ev); err != nil {
		s.log.Error("the agent sent an event that cannot be read", "type", e.Type, "error", err)
		s.end("The agent sent an event that cannot be read: " + e.Type)
		return
	}
	if s.inOrder(row.Value(ev)) {
		_ = s.bus.Emit(ev) // the bus logs what goes wrong
	}
}

// stray logs what an agent should not have written, within bounds: it may write nothing else.
func (s *session) stray(msg, key string, text []byte) {
	if s.strays.take() {
		s.log.Warn(msg, key, excerpt(text))
	}
}

// excerpt is the beginning of what the agent wrote, for the log.
func excerpt(b []byte) string { return trimmed(b[:min(len(b), 200)]) }
