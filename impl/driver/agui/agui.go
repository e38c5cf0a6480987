// Package agui reaches an agent that speaks AG-UI over HTTP. A turn is a run: a POST whose
// reply is a stream of events. A question ends its run, and the answer begins another.
package agui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/turn"
)

// Options of the driver.
type Options struct {
	URL          string        // where runs are posted
	Token        string        // bearer token; empty: none is sent
	PerContext   bool          // each caller's context is a thread; otherwise the agent has one conversation
	StartTimeout time.Duration // from a request to its first event; 0: 30 s
	MaxEvent     int           // bytes of one event; 0: 1 MiB
	Control      *Control      // nil: turns are stopped by closing the connection
	// CancelTimeout is how long a run may take to end once its turn is to stop, and each
	// run that leaves the agent in order after it; 0: 10 s.
	CancelTimeout time.Duration
	Logger        *slog.Logger // nil: slog.Default()
}

// Driver is a client of one AG-UI agent. Close it in the end.
type Driver struct {
	o       Options
	client  *http.Client
	session string // of an agent with one conversation: its thread too
	link    *link  // set by Listen, before the first turn; nil: there is none
}

// New returns a driver. Nothing is asked of the agent before the first turn.
func New(o Options) *Driver {
	if o.StartTimeout <= 0 {
		o.StartTimeout = 30 * time.Second
	}
	if o.MaxEvent <= 0 {
		o.MaxEvent = 1 << 20
	}
	if o.CancelTimeout <= 0 {
		o.CancelTimeout = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	d := &Driver{o: o, client: newClient()}
	if !o.PerContext {
		// The same agent is the same session after a restart: it remembers its caller.
		d.session = "agui-" + digest(o.URL)
	}
	return d
}

// Close ends the control link and gives up idle connections. Turns must have returned.
func (d *Driver) Close() {
	d.link.close()
	d.client.CloseIdleConnections()
}

// Agent says that only text goes in: AG-UI's messages carry nothing else for sure.
func (d *Driver) Agent() turn.Agent {
	return turn.Agent{
		InputModes:  []string{"text/plain"},
		OutputModes: []string{"text/plain", "application/json"},
		SessionID:   d.session,
	}
}

// Admit leaves every message to a turn.
func (d *Driver) Admit(context.Context, turn.Input) (*a2a.Message, error) { return nil, nil }

// thread is the same for every turn of a caller's context, also after a restart, and tells
// the agent neither of them.
func (d *Driver) thread(in turn.Input) string {
	if d.session != "" {
		return d.session
	}
	// With its length first, no two callers' contexts look alike.
	return digest(strconv.Itoa(len(in.Principal)), in.Principal, in.ContextID)
}

// digest is 32 hexadecimal digits.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
