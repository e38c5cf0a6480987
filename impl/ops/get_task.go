package ops

import (
	"context"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
)

// GetTask gives a task as it stands (A2A §3.1.3).
func (s *service) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (op.Encoded[a2a.Task], error) {
	var none op.Encoded[a2a.Task]
	if err := checkTenant(req.Tenant); err != nil {
		return none, err
	}
	call.From(ctx).Task = req.ID
	rec, err := s.task(ctx, req.ID)
	if err != nil {
		return none, err
	}
	task, err := encode(rec, req.HistoryLength)
	if err != nil {
		return none, err
	}
	return op.JSON[a2a.Task](task), nil
}
