// Package agent is the agent's side of the protocol that package child speaks with its
// processes: it puts an agent that lives on a bus behind standard input and output.
// docs/agent-protocol.md describes the protocol.
package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Version is that of the protocol.
const Version = 1

// Greeting is what the server says first. One without a SessionID only asks what the agent
// can do.
type Greeting struct {
	Protocol  int    `json:"protocol"`
	SessionID string `json:"sessionId"` // the same when a process is started again
	ContextID string `json:"contextId"` // empty where the process is for all contexts
	Restart   bool   `json:"restart"`   // the server has run a process of the session before; false: it may not know
}

// Hello is what the agent answers.
type Hello struct {
	Protocol    int      `json:"protocol"`
	InputModes  []string `json:"inputModes,omitzero"`  // media types; nil: text/plain
	OutputModes []string `json:"outputModes,omitzero"` // media types; nil: text/plain
	Cancel      bool     `json:"cancel"`               // it obeys cancel.request
	Questions   bool     `json:"questions"`            // it asks; a question of one that does not say so fails the turn
	Resume      bool     `json:"resume"`               // a new process goes on with its session's conversation
}

// Options change how a Conn speaks. The zero value is ready.
type Options struct {
	// MaxLineBytes bounds what is sent; 0: 8 MiB, the server's default for
	// agent.child.max_line_bytes. The server ends an agent that sends more.
	MaxLineBytes int
	// Edit has the last word on what the agent says; nil, or a nil event, leaves it out.
	Edit   func(event.Event) event.Event
	Logger *slog.Logger // nil: slog.Default(); must not write to the connection
}

const defaultMaxLineBytes = 8 << 20

// Conn is a connection to a server.
type Conn struct {
	opts Options
	in   *bufio.Reader
	bus  *bus.Bus
	off  func() // takes the connection off the bus

	mu  sync.Mutex // guards what follows
	out io.Writer
	err error // of the first write that failed
	// turns are those of the tasks whose input is being handled.
	turns map[string]string

	handlers sync.WaitGroup
}

type envelope struct {
	Type    string         `json:"type"`
	Payload jsontext.Value `json:"payload"`
}

// Accept reads the server's greeting. Answer it with Greet.
func Accept(in io.Reader, out io.Writer, o Options) (*Conn, Greeting, error) {
	if o.MaxLineBytes <= 0 {
		o.MaxLineBytes = defaultMaxLineBytes
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	c := &Conn{opts: o, in: bufio.NewReader(in), out: out, turns: map[string]string{}}
	var g Greeting
	e, err := c.next()
	switch {
	case err != nil:
		return nil, g, fmt.Errorf("the server's greeting: %w", err)
	case e.Type != "server.hello":
		return nil, g, fmt.Errorf("the server begins with %q, not with server.hello", e.Type)
	}
	if err := json.Unmarshal(e.Payload, &g); err != nil {
		return nil, g, fmt.Errorf("the server's greeting: %w", err)
	}
	if g.Protocol != Version {
		return nil, g, fmt.Errorf("the server speaks version %d of the protocol, this agent %d", g.Protocol, Version)
	}
	return c, g, nil
}

// Greet answers the greeting, once the agent is ready for input.
func (c *Conn) Greet(h Hello) error {
	h.Protocol = Version
	line, err := encode("agent.hello", h)
	if err != nil {
		return err
	}
	return c.write(line)
}

// Run passes on what the server says to the bus and what the agent says to the server,
// until the server closes its end; then the agent hears a shutdown, and Run returns nil.
// Inputs are emitted on goroutines of their own, which Wait waits for. Call it once.
func (c *Conn) Run(b *bus.Bus) error {
	c.bus = b
	c.off = b.SubscribeAll(c.hear, bus.WithPriority(listenFirst))
	defer func() { _ = b.Emit(&event.Shutdown{Reason: "the server has gone"}) }() // panics are logged by the bus
	for {
		e, err := c.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		row := event.Named(e.Type)
		if row == nil || row.Sender != event.Server {
			c.opts.Logger.Warn("the server sent an event that is not a server's", "type", e.Type)
			continue
		}
		ev := row.New()
		if err := json.Unmarshal(e.Payload, ev); err != nil {
			return fmt.Errorf("the server's %s: %w", e.Type, err)
		}
		if in, ok := ev.(*event.Input); ok {
			c.handlers.Go(func() { c.input(in) })
			continue
		}
		c.tell(ev)
	}
}

// Wait waits until all inputs have been handled. What the agent says after that is lost.
func (c *Conn) Wait() {
	c.handlers.Wait()
	if c.off != nil {
		c.off()
	}
}

// listenFirst has the server told before the agent's handlers go on with the turn inside
// an emission: it would see events in reverse otherwise.
const listenFirst = -1 << 20

// next reads a line. It may be as long as the server likes, who bounds what it takes from
// its clients.
func (c *Conn) next() (envelope, error) {
	var e envelope
	text, err := c.in.ReadBytes('\n')
	if err != nil {
		return e, err // half a line is nothing
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, fmt.Errorf("a line that is not of the protocol: %w", err)
	}
	return e, nil
}

// input gives the agent a message, which may last as long as its turn does.
func (c *Conn) input(in *event.Input) {
	if reason, vetoed := c.bus.Propose(*in); vetoed {
		c.say(event.TurnRejected{TaskID: in.TaskID, Reason: reason})
		return
	}
	c.mu.Lock()
	c.turns[in.TaskID] = ""
	c.mu.Unlock()
	err := c.bus.Emit(*in)
	c.mu.Lock()
	turn := c.turns[in.TaskID]
	delete(c.turns, in.TaskID)
	c.mu.Unlock()
	if err == nil {
		return
	}
	// A handler panicked, and nobody else will say that the turn is over.
	if turn == "" {
		turn = in.TaskID
		c.say(event.TurnStart{TurnID: turn, TaskID: in.TaskID})
	}
	c.say(event.CoreError{TurnID: turn, Message: "The agent failed", Fatal: true})
	c.say(event.TurnEnd{TurnID: turn})
}

// patience is how long the agent may take over one thing that it is told before it is told
// the next beside it: an agent may run the rest of its turn inside the emission of an
// answer, and must still hear that it is to stop.
const patience = 50 * time.Millisecond

func (c *Conn) tell(e event.Event) {
	returned := make(chan struct{})
	c.handlers.Go(func() {
		defer close(returned)
		_ = c.bus.Emit(e) // panics are logged by the bus
	})
	impatient := time.NewTimer(patience)
	defer impatient.Stop()
	select {
	case <-returned:
	case <-impatient.C:
	}
}

// hear passes on what the agent says. A question may be answered, or taken back, from the
// agent's side as well; what came from the server comes by here too, but as a pointer.
func (c *Conn) hear(e event.Event) {
	row := event.Named(e.EventType())
	if row == nil {
		return
	}
	theirs := reflect.TypeOf(e).Kind() == reflect.Pointer
	if row.Sender == event.Server && (theirs || e.EventType() != "hitl.responded" && e.EventType() != "hitl.cancel") {
		return
	}
	e = row.Value(e)
	if s, ok := e.(event.TurnStart); ok {
		c.mu.Lock()
		if _, ok := c.turns[s.TaskID]; ok {
			c.turns[s.TaskID] = s.TurnID
		}
		c.mu.Unlock()
	}
	if c.opts.Edit != nil {
		if e = c.opts.Edit(e); e == nil {
			return
		}
	}
	c.say(e)
}
