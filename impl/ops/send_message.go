package ops

import (
	"context"
	"errors"
	"fmt"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
	"a2aserve/impl/turn"

	"github.com/go-json-experiment/json"
)

// SendMessage starts a task, or answers one that asked; unless told otherwise it
// answers when the task pauses or ends (A2A §3.1.1, §3.2.2).
func (s *service) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (op.Encoded[a2a.SendMessageResponse], error) {
	var none op.Encoded[a2a.SendMessageResponse]
	sent, err := s.send(ctx, req, false)
	if err != nil {
		return none, err
	}
	if sent.Message != nil {
		return op.Value(&a2a.SendMessageResponse{Message: sent.Message}), nil
	}
	rec, config := sent.Record, req.Configuration
	if config == nil || !config.ReturnImmediately {
		if rec, err = sent.Await(ctx); err != nil {
			return none, err
		}
	}
	var history *int32
	if config != nil {
		history = config.HistoryLength
	}
	task, err := encode(rec, history)
	if err != nil {
		return none, err
	}
	return op.JSON[a2a.SendMessageResponse](wrapTask(task)), nil
}

// send is what the blocking and the streaming operation share: a message on its way
// to a new task or to the one that it names. Only who follows can get telemetry.
func (s *service) send(ctx context.Context, req *a2a.SendMessageRequest, follows bool) (turn.Sent, error) {
	if err := s.checkSend(req); err != nil {
		return turn.Sent{}, err
	}
	in := turn.Input{
		Principal: call.From(ctx).Principal.ID,
		ContextID: req.Message.ContextID,
		Message:   req.Message,
		Metadata:  req.Metadata,
		Telemetry: follows && telemetry(ctx),
	}
	if req.Configuration != nil {
		in.AcceptedOutputModes = req.Configuration.AcceptedOutputModes
	}
	if req.Message.TaskID == "" {
		sent, err := s.Engine.Send(ctx, in)
		call.From(ctx).Task = sent.Record.ID
		return sent, err
	}
	call.From(ctx).Task = req.Message.TaskID
	in.TaskID = req.Message.TaskID
	sent, err := s.Engine.Answer(ctx, in)
	if errors.Is(err, turn.ErrNotLive) {
		return turn.Sent{}, s.refuseContinuation(ctx, in)
	}
	return sent, err
}

func (s *service) checkSend(req *a2a.SendMessageRequest) error {
	if err := checkTenant(req.Tenant); err != nil {
		return err
	}
	if req.Configuration != nil && req.Configuration.TaskPushNotificationConfig != nil {
		return &a2a.Error{Type: a2a.PushNotificationNotSupportedError}
	}
	if s.MaxMessageBytes > 0 {
		b, err := json.Marshal(&req.Message)
		if err != nil {
			return a2a.InternalError.Errorf("The message could not be read").Because(err)
		}
		if len(b) > s.MaxMessageBytes {
			return invalid("message", fmt.Sprintf("is %d bytes long; at most %d are taken", len(b), s.MaxMessageBytes))
		}
	}
	return nil
}

// refuseContinuation says why a message cannot continue a task that is not live
// (A2A §3.1.1, §3.4.2, §3.4.3).
func (s *service) refuseContinuation(ctx context.Context, in turn.Input) error {
	rec, err := s.stored(ctx, in.TaskID)
	switch {
	case err != nil:
		return err
	case in.ContextID != "" && in.ContextID != rec.ContextID:
		return a2a.UnsupportedOperationError.Errorf("The task belongs to another context").With("detail", "TASK_CONTEXT_MISMATCH")
	case rec.State.Terminal():
		return a2a.UnsupportedOperationError.Errorf("The task has ended and takes no further message").With("detail", "TASK_ALREADY_TERMINAL")
	}
	return a2a.UnavailableError.Errorf("The task cannot be continued at the moment")
}
