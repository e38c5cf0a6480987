// Package ops says what the operations mean, one file an operation. Bindings bring
// typed requests and take encoded replies; the engine runs tasks; the store keeps them.
package ops

import (
	"context"
	"errors"
	"slices"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
	"a2aserve/impl/card"
	"a2aserve/impl/store"
	"a2aserve/impl/turn"
)

// Options is what the operations stand on. Engine and Store are required.
type Options struct {
	Engine *turn.Engine
	Store  *store.Store
	// StrictTerminalSubscribe refuses to subscribe to a finished task (A2A §3.1.6)
	// where the default gives its snapshot.
	StrictTerminalSubscribe bool
	// MaxMessageBytes bounds one message, encoded. 0: no bound but the body's.
	MaxMessageBytes int
	// ExtendedCard is for authenticated callers. Nil: there is none.
	ExtendedCard *card.Card
}

// service implements every operation for the principal of the call.
type service struct{ Options }

// New returns the operations. A revision of the specification that adds one stops
// compiling here.
func New(o Options) op.Service { return &service{o} }

// checkTenant refuses tenants: none is served (decision 23).
func checkTenant(tenant string) error {
	if tenant == "" {
		return nil
	}
	return invalid("tenant", "no tenant is served here; leave it out")
}

func invalid(field, why string) *a2a.Error {
	return &a2a.Error{Type: a2a.InvalidParamsError, Violations: []a2a.Violation{{Field: field, Description: why}}}
}

func notFound(id string) *a2a.Error {
	return (&a2a.Error{Type: a2a.TaskNotFoundError}).With("taskId", id)
}

// stored reads a task that is not live. A foreign task and an unknown one give the
// same answer, from the same statement.
func (s *service) stored(ctx context.Context, id string) (turn.Record, error) {
	rec, err := s.Store.For(call.From(ctx).Principal.ID).Get(ctx, id)
	if said, ok := errors.AsType[*a2a.Error](err); ok && said.Type == a2a.TaskNotFoundError {
		return rec, notFound(id)
	}
	return rec, err
}

// task reads a task, live or finished, as it was last told to anybody.
func (s *service) task(ctx context.Context, id string) (turn.Record, error) {
	if run := s.Engine.Live(call.From(ctx).Principal.ID, id); run != nil {
		rec, _ := run.Snapshot()
		return rec, nil
	}
	return s.stored(ctx, id)
}

// telemetry reports whether the request activated the telemetry extension (A2A §3.2.6).
func telemetry(ctx context.Context) bool {
	return slices.Contains(call.From(ctx).Extensions, turn.TelemetryURI)
}

// encode gives a task's JSON, with as much of its history as was asked for.
func encode(rec turn.Record, history *int32) ([]byte, error) {
	b, err := rec.JSON(history, true)
	if err != nil {
		return nil, a2a.InternalError.Errorf("The task could not be encoded").Because(err)
	}
	return b, nil
}

func wrapTask(task []byte) []byte {
	b := append(make([]byte, 0, len(task)+len(`{"task":}`)), `{"task":`...)
	return append(append(b, task...), '}')
}
