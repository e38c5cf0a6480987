// Package stdio runs a Nexus engine as the agent of a server in another process: one
// conversation, over standard input and output.
package stdio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/driver/child/agent"
	"a2aserve/impl/nexus"
)

// Engine is a Nexus engine that has been booted.
type Engine struct {
	Bridge  *nexus.Bridge
	Session string // Nexus's name of it
	Files   string // its folder of files
	Stop    func(context.Context) error
}

// Options say how an engine comes to be.
type Options struct {
	// Boot boots an engine whose bridge is on b. Recall is the Nexus session that it
	// resumes; empty: a new one. ErrNoSession says that there is none of that name.
	Boot func(ctx context.Context, recall string, b *bus.Bus) (*Engine, error)
	// Sessions is where it is remembered which Nexus session belongs to which of the
	// server's, a small file each. It must not lie where agents can write.
	Sessions string
	// Sources, see nexus.Apart; nil: nexus.DefaultSources.
	Sources map[string]string
	Logger  *slog.Logger // must not write to the output
}

// ErrNoSession says that a session to be recalled does not exist any more.
var ErrNoSession = errors.New("there is no such session")

// grace is how long the end of a session may take. The server ends a process that takes
// longer than agent.child.stop_grace, 5 seconds by default.
const grace = 4 * time.Second

// Run serves the conversation that the server names, until it closes its end or ctx ends.
// An engine is booted before the server is answered, so that a broken configuration is
// told at once; where the server only asks what the agent can do, none is.
func Run(ctx context.Context, in io.ReadCloser, out io.Writer, o Options) error {
	if o.Sources == nil {
		o.Sources = nexus.DefaultSources
	}
	apart := nexus.Apart{Sources: o.Sources, Logger: o.Logger}
	stop := context.AfterFunc(ctx, func() { _ = in.Close() })
	defer stop()
	// The session's folder is known once the engine is, before the agent says anything.
	edit := func(e event.Event) event.Event { return apart.Edit(e) }
	conn, hello, err := agent.Accept(in, out, agent.Options{Edit: edit, Logger: o.Logger})
	if err != nil {
		return err
	}
	b := bus.New(o.Logger)
	if hello.SessionID == "" {
		if err := conn.Greet(abilities); err != nil {
			return err
		}
		return conn.Run(b)
	}
	eng, err := boot(ctx, o, hello.SessionID, b)
	if err != nil {
		return err
	}
	apart.Files = eng.Files
	b.Before("io.input", oneContext(hello.ContextID))
	if err = conn.Greet(abilities); err == nil {
		err = conn.Run(b)
	}
	if ctx.Err() != nil {
		err = nil // told to end
	}
	return errors.Join(err, end(eng, conn))
}

// abilities are those of every Nexus agent.
var abilities = agent.Hello{
	InputModes:  []string{"text/plain"},
	OutputModes: []string{"text/plain", "application/json"},
	Cancel:      true,
	Questions:   true,
	Resume:      true, // of the Nexus session, which a crash may have cost
}

// oneContext keeps conversations apart: a Nexus engine has one memory.
func oneContext(id string) func(*bus.Proposal) {
	return func(p *bus.Proposal) {
		if in, ok := p.Event.(event.Input); ok && in.ContextID != id {
			p.Veto("The agent holds another conversation: it must run with sessions: per_context")
		}
	}
}

// boot resumes the session's engine, or begins one.
func boot(ctx context.Context, o Options, session string, b *bus.Bus) (*Engine, error) {
	recall, err := recalled(o.Sessions, session)
	if err != nil {
		return nil, err
	}
	eng, err := o.Boot(ctx, recall, b)
	if errors.Is(err, ErrNoSession) && recall != "" {
		o.Logger.Warn("the conversation begins anew: its session is gone", "session", recall)
		eng, err = o.Boot(ctx, "", b)
	}
	if err != nil {
		return nil, err
	}
	if eng.Session == recall {
		return eng, nil
	}
	if err := remember(o.Sessions, session, eng.Session); err != nil {
		return nil, errors.Join(fmt.Errorf("remembering the session: %w", err), end(eng, nil))
	}
	return eng, nil
}

// end has the agent give up what it does, and stops the engine. A tool that does not
// return is left to the end of the process.
func end(eng *Engine, conn *agent.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	calm := make(chan struct{})
	go func() {
		defer close(calm)
		if conn != nil {
			conn.Wait()
		}
	}()
	eng.Bridge.Abandon()
	eng.Bridge.Close() // an input that waits for its turn waits no more
	select {           // an engine that stops hears nothing any more, not even that tools have ended
	case <-calm:
	case <-time.After(grace / 2):
	}
	err := eng.Stop(ctx)
	select {
	case <-calm:
	case <-ctx.Done():
		err = errors.Join(err, errors.New("the agent's turn did not end in time"))
	}
	return err
}
