package agent

import (
	"fmt"
	"strings"

	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// say sends an event. One that would be too long a line is cut, or fails its turn: the
// server ends an agent that sends it all the same.
func (c *Conn) say(e event.Event) {
	line, err := encode(e.EventType(), e)
	if err == nil && len(line) > c.opts.MaxLineBytes {
		c.opts.Logger.Warn("an event is too long to be sent", "type", e.EventType(), "bytes", len(line), "limit", c.opts.MaxLineBytes)
		e = shorter(e, c.opts.MaxLineBytes)
		line, err = encode(e.EventType(), e)
	}
	if err != nil {
		c.opts.Logger.Error("an event cannot be sent", "type", e.EventType(), "error", err)
		e = event.CoreError{TurnID: e.Turn(), Message: "The agent said what cannot be sent: " + e.EventType(), Fatal: true}
		if line, err = encode(e.EventType(), e); err != nil {
			return
		}
	}
	_ = c.write(line) // the server is gone: Run is told by the other end
}

// shorter is an event with the text of it that fits. A character takes six bytes at most
// in a JSON string.
func shorter(e event.Event, limit int) event.Event {
	fits := limit / 8
	cut := func(s string) string {
		if len(s) <= fits {
			return s
		}
		return strings.ToValidUTF8(s[:fits], "") + fmt.Sprintf("\n[cut: %d of %d bytes]", fits, len(s))
	}
	switch e := e.(type) {
	case event.ToolResult:
		e.Output, e.Error = cut(e.Output), cut(e.Error)
		if e.Structured != nil {
			e.Structured = nil
			e.Output += "\n[structured output left out: it is too long]"
		}
		return e
	case event.ToolInvoke:
		e.Arguments = nil
		return e
	case event.LLMResponse:
		e.Content, e.ToolCalls = cut(e.Content), nil
		return e
	case event.ThinkingStep:
		e.Content = cut(e.Content)
		return e
	}
	return event.CoreError{TurnID: e.Turn(), Fatal: true, Message: fmt.Sprintf("The agent sent %s of more than %d bytes", e.EventType(), limit)}
}

func encode(name string, payload any) ([]byte, error) {
	// What a tool printed need not be UTF-8.
	doc, err := json.Marshal(payload, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(envelope{name, doc})
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// write sends one line. After the first failure nothing is sent any more: half a line
// may be out.
func (c *Conn) write(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		_, c.err = c.out.Write(line)
	}
	return c.err
}
