package ops

import (
	"context"
	"errors"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
	"a2aserve/impl/turn"
)

// CancelTask settles a live task at CANCELED and then tells the agent; a finished one
// is refused with nothing written (A2A §3.1.5, decision 14).
func (s *service) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (op.Encoded[a2a.Task], error) {
	var none op.Encoded[a2a.Task]
	if err := checkTenant(req.Tenant); err != nil {
		return none, err
	}
	call.From(ctx).Task = req.ID
	rec, err := s.Engine.Cancel(ctx, call.From(ctx).Principal.ID, req.ID)
	if errors.Is(err, turn.ErrNotLive) {
		if _, err = s.stored(ctx, req.ID); err == nil {
			err = (&a2a.Error{Type: a2a.TaskNotCancelableError}).With("taskId", req.ID)
		}
	}
	if err != nil {
		return none, err
	}
	task, err := encode(rec, nil)
	if err != nil {
		return none, err
	}
	return op.JSON[a2a.Task](task), nil
}
