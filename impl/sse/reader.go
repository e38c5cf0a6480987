package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// DefaultMax bounds one event where nothing else is said, in bytes.
const DefaultMax = 16 << 20

// ErrTooLong is returned for a line, or an event, beyond the reader's bound.
var ErrTooLong = errors.New("sse: event too long")

// Event is one record of a stream.
type Event struct {
	ID    string        // the last id seen, also on an earlier event
	Type  string        // "message" unless the stream says otherwise
	Data  []byte        // lines joined by \n
	Retry time.Duration // zero: not said

	Places []Place // where each line of the data begins

	// Cut reports that the stream ended within the record. The standard drops such
	// an event; whoever can tell that the data is whole may use it.
	Cut bool
}

// Place is a line of the stream and a column in it, in bytes, both from 1.
type Place struct{ Line, Column int }

// Reader takes a stream apart. It is not safe for concurrent use.
type Reader struct {
	in      *bufio.Reader
	max     int
	started bool
	afterCR bool
	id      string
	line    []byte
	number  int // of that line
	done    error
}

// NewReader reads events of up to max bytes from r; 0 means DefaultMax.
func NewReader(r io.Reader, max int) *Reader {
	if max <= 0 {
		max = DefaultMax
	}
	return &Reader{in: bufio.NewReader(r), max: max}
}

// Next returns the next event that carries data. The end of the stream is io.EOF; an
// event that it cut off comes before it.
func (r *Reader) Next() (Event, error) {
	e := Event{Type: "message"}
	var data []byte
	hasData := false
	for r.done == nil {
		line, err := r.readLine()
		if errors.Is(err, ErrTooLong) {
			r.done = err
			return Event{}, err
		}
		r.done = err
		if err == nil && len(line) == 0 {
			if hasData {
				e.ID, e.Data = r.id, data
				return e, nil
			}
			e = Event{Type: "message"}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		place := Place{r.number, len(line) - len(value) + 1}
		switch string(field) {
		case "data":
			if hasData {
				data = append(data, '\n')
			}
			if data = append(data, value...); len(data) > r.max {
				r.done = fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.max)
				return Event{}, r.done
			}
			e.Places = append(e.Places, place)
			hasData = true
		case "event":
			if len(value) > 0 {
				e.Type = string(value)
			}
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				r.id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.Retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
	// The end came within an event; whether it is whole only its reader can tell.
	if hasData {
		e.ID, e.Data, e.Cut = r.id, data, true
		return e, nil
	}
	return Event{}, r.done
}

// readLine returns a line without its end: CR, LF or both. With an error it returns what
// there is of the last line. It never waits for a byte after a CR, since a live stream
// may have nothing more to say for minutes.
func (r *Reader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	r.number++
	if !r.started {
		r.started = true
		if b, _ := r.in.Peek(3); string(b) == "\ufeff" {
			r.in.Discard(3)
		}
	}
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			return r.line, err
		}
		if r.afterCR && c == '\n' {
			r.afterCR = false
			continue
		}
		r.afterCR = c == '\r'
		if c == '\n' || c == '\r' {
			return r.line, nil
		}
		if len(r.line) == r.max {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", ErrTooLong, r.max)
		}
		r.line = append(r.line, c)
	}
}
