package ops

import (
	"context"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"

	"github.com/go-json-experiment/json"
)

// SendStreamingMessage is SendMessage whose caller follows the task: the stream opens
// with the Task, or is one direct Message (A2A §3.1.2).
func (s *service) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) (*op.Stream, error) {
	sent, err := s.send(ctx, req, true)
	if err != nil {
		return nil, err
	}
	if sent.Message != nil {
		frame, err := json.Marshal(&a2a.StreamResponse{Message: sent.Message})
		if err != nil {
			return nil, a2a.InternalError.Errorf("The answer could not be encoded").Because(err)
		}
		return ended(frame), nil
	}
	stream := sent.Follow()
	if req.Message.TaskID == "" {
		return stream, nil
	}
	task, err := encode(sent.Record, nil)
	if err != nil {
		return nil, err
	}
	stream.First = wrapTask(task)
	return stream, nil
}

// ended is a stream of one frame.
func ended(frame []byte) *op.Stream {
	return &op.Stream{First: frame, From: func(int) ([]op.Frame, <-chan struct{}) {
		return []op.Frame{{Last: true}}, nil
	}}
}
