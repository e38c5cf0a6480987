// Package child is the turn.Driver for agents in processes of their own: any command.
//
// A process runs in a process group of its own. Nothing of the group outlives the process,
// and no process outlives the turn that it was started for.
package child

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/turn"
)

// Options say what is run, and how.
type Options struct {
	Command string   // looked for in PATH where it has no slash; no shell is involved
	Args    []string // {prompt} in one becomes the message's text
	Dir     string   // "": the server's
	// Env and EnvPass, names of the server's variables, are all the process gets besides
	// PATH: what is in the server's environment is none of the agent's business.
	Env       map[string]string
	EnvPass   []string
	StopGrace time.Duration // between SIGTERM and SIGKILL; 0: 5 seconds
	Logger    *slog.Logger  // nil: slog.Default()

	// What follows is for JSON only.
	Single       bool          // one process for all contexts, instead of one each
	MaxSessions  int           // processes side by side; 0: DefaultMaxSessions
	IdleTimeout  time.Duration // a process without turns ends after it; 0: never
	StartTimeout time.Duration // for the greeting, and for each line to be read; 0: 30 seconds
	MaxLineBytes int           // of what the agent sends; 0: 8 MiB
}

// DefaultMaxSessions bounds the processes side by side: each costs more than a goroutine.
const DefaultMaxSessions = 64

const (
	defaultStopGrace    = 5 * time.Second
	defaultStartTimeout = 30 * time.Second
	defaultMaxLineBytes = 8 << 20
)

// fill puts defaults in place of zero values.
func (o *Options) fill() {
	if o.StopGrace <= 0 {
		o.StopGrace = defaultStopGrace
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = defaultStartTimeout
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = DefaultMaxSessions
	}
	if o.MaxLineBytes <= 0 {
		o.MaxLineBytes = defaultMaxLineBytes
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// Text is an agent that reads the message on standard input or as an argument, writes its
// answer to standard output, and exits: a process a turn.
type Text struct{ opts Options }

var _ turn.Driver = (*Text)(nil)

// NewText returns the driver of a command-line tool. No process runs between turns, so
// there is nothing to close.
func NewText(o Options) *Text {
	o.fill()
	return &Text{o}
}

// Agent reads and writes plain text.
func (*Text) Agent() turn.Agent {
	return turn.Agent{InputModes: []string{"text/plain"}, OutputModes: []string{"text/plain"}, MaxSessions: DefaultMaxSessions}
}

// Admit answers nothing without a task.
func (*Text) Admit(context.Context, turn.Input) (*a2a.Message, error) { return nil, nil }

// environment is what the process gets: PATH, then what is passed, then what is written,
// which wins. It is never nil, since that would mean the server's own.
func (o *Options) environment() []string {
	env := []string{}
	for _, name := range append([]string{"PATH"}, o.EnvPass...) {
		if _, ours := o.Env[name]; ours {
			continue
		}
		if v, ok := os.LookupEnv(name); ok && !slices.Contains(env, name+"="+v) {
			env = append(env, name+"="+v)
		}
	}
	for name, v := range o.Env {
		env = append(env, name+"="+v)
	}
	return env
}
