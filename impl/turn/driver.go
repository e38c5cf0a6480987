package turn

import (
	"context"

	"a2aserve/gen/a2a"
)

// Input is a user's message on its way to the agent, with the ids of its task.
type Input struct {
	Principal           string
	TaskID, ContextID   string
	Message             a2a.Message
	AcceptedOutputModes []string
	Metadata            a2a.Struct // of the request
	Telemetry           bool       // the sender follows the task and activated TelemetryURI
	TraceParent         string     // the turn's span as a W3C traceparent header; empty: none. The engine sets it
}

// Agent is what a driver says of its agent. It does not change while the driver is in use.
type Agent struct {
	InputModes  []string // media types; wildcards count
	OutputModes []string
	SessionID   string // not empty: the agent has this one session
	MaxSessions int    // turns side by side; 0 means DefaultMaxSessions
	// Gated says that all answers pass the agent's output gates as io.output. A final
	// llm.response is then never published in its place.
	Gated bool
}

// DefaultMaxSessions bounds the turns that run side by side where a driver names no bound.
const DefaultMaxSessions = 1000

// Driver is one agent transport behind the engine.
type Driver interface {
	Agent() Agent

	// Admit may answer a message before any task exists; nothing is stored then.
	// A nil message with a nil error means: make a task.
	Admit(ctx context.Context, in Input) (*a2a.Message, error)

	// Turn runs one turn and returns once the agent is done with it, also after a
	// cancellation. The driver emits what the agent says on the line and reads
	// from it what the agent is to be told. ctx ends when the engine gives the
	// turn up; the driver then stops the agent as well as it can and returns.
	// An error means that the agent could not be run; its text is logged, not sent.
	Turn(ctx context.Context, in Input, line *Line) error
}
