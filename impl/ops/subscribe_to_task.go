package ops

import (
	"context"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
)

// SubscribeToTask opens with the task as it stands and follows it to its end. A
// finished task is its snapshot alone, or refused to the letter (A2A §3.1.6, decision 3).
func (s *service) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) (*op.Stream, error) {
	if err := checkTenant(req.Tenant); err != nil {
		return nil, err
	}
	call.From(ctx).Task = req.ID
	if run := s.Engine.Live(call.From(ctx).Principal.ID, req.ID); run != nil {
		if rec, _ := run.Snapshot(); !rec.State.Terminal() {
			if telemetry(ctx) {
				return run.Watch()
			}
			return run.Join()
		}
	}
	rec, err := s.task(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	if s.StrictTerminalSubscribe && rec.State.Terminal() {
		return nil, a2a.UnsupportedOperationError.Errorf("The task has ended; there is nothing to follow").With("detail", "TASK_ALREADY_TERMINAL")
	}
	task, err := encode(rec, nil)
	if err != nil {
		return nil, err
	}
	return ended(wrapTask(task)), nil
}
