package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"

	"a2aserve/gen/a2a"
	"a2aserve/impl/sse"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// ErrInterrupted is how a stream ends that stops before its task does. It says nothing of
// the task: GetTask or SubscribeToTask does.
var ErrInterrupted = errors.New("client: the stream ended before the task did")

// Frame is one event of a stream.
type Frame struct {
	a2a.StreamResponse
	Raw []byte // as it came, out of its envelope
}

// SendStreamingMessage sends a message and yields what becomes of it. The stream ends after
// a terminal state or a direct message; any other end yields an error, ErrInterrupted where
// the connection was merely closed.
func (c *Client) SendStreamingMessage(ctx context.Context, r *a2a.SendMessageRequest) iter.Seq2[Frame, error] {
	return c.stream(ctx, "SendStreamingMessage", r)
}

// SubscribeToTask follows a task: first as it stands, then what becomes of it.
func (c *Client) SubscribeToTask(ctx context.Context, r *a2a.SubscribeToTaskRequest) iter.Seq2[Frame, error] {
	return c.stream(ctx, "SubscribeToTask", r)
}

func (c *Client) stream(ctx context.Context, name string, request any) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		resp, err := c.do(ctx, operation(name), request)
		if err != nil {
			yield(Frame{}, err)
			return
		}
		defer resp.Body.Close()
		if t, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); t != "text/event-stream" || resp.StatusCode != http.StatusOK {
			yield(Frame{}, c.noStream(resp, t))
			return
		}
		c.wire.response(resp, nil)
		in := sse.NewReader(c.wire.lines(resp.Body), c.o.MaxBytes)
		for {
			f, err := c.next(in, resp)
			if !yield(f, err) || err != nil || f.last() {
				return
			}
		}
	}
}

// noStream says why a response is not the stream that was asked for.
func (c *Client) noStream(resp *http.Response, mediaType string) error {
	body, err := c.readAll(resp)
	if err != nil {
		return err
	}
	if _, err := c.result(resp, body); err != nil {
		return err
	}
	return fmt.Errorf("client: the agent answered with %q in place of a stream: %s", mediaType, excerpt(body))
}

// next reads one event. What the end of the connection cut off counts where it is whole.
func (c *Client) next(in *sse.Reader, resp *http.Response) (Frame, error) {
	e, err := in.Next()
	switch {
	case errors.Is(err, sse.ErrTooLong):
		return Frame{}, fmt.Errorf("client: %w", err)
	case errors.Is(err, io.EOF):
		return Frame{}, ErrInterrupted
	case err != nil:
		return Frame{}, fmt.Errorf("%w: %w", ErrInterrupted, err)
	}
	f := Frame{Raw: e.Data}
	if c.iface.ProtocolBinding == JSONRPC {
		f.Raw, err = unwrap(resp, e.Data)
	}
	if err == nil {
		err = json.Unmarshal(f.Raw, &f.StreamResponse)
	}
	if _, refused := errors.AsType[*RemoteError](err); err != nil && !refused {
		if e.Cut {
			return Frame{}, ErrInterrupted
		}
		err = fmt.Errorf("client: the agent sent an event that is no StreamResponse: %w", err)
	}
	return f, err
}

// Single is the one frame of a response that is no stream.
func Single(task *a2a.Task, message *a2a.Message) (Frame, error) {
	f := Frame{StreamResponse: a2a.StreamResponse{Task: task, Message: message}}
	var err error
	f.Raw, err = json.Marshal(f.StreamResponse, json.Deterministic(true))
	return f, err
}

// last reports whether nothing can follow (A2A §3.1.2).
func (f *Frame) last() bool {
	return f.Message != nil || f.State().Terminal()
}

// State is the state that the frame tells of, or "".
func (f *Frame) State() a2a.TaskState {
	switch {
	case f.Task != nil:
		return f.Task.Status.State
	case f.StatusUpdate != nil:
		return f.StatusUpdate.Status.State
	}
	return ""
}

// TaskID is the task that the frame is about, or "".
func (f *Frame) TaskID() string {
	switch {
	case f.Task != nil:
		return f.Task.ID
	case f.StatusUpdate != nil:
		return f.StatusUpdate.TaskID
	case f.ArtifactUpdate != nil:
		return f.ArtifactUpdate.TaskID
	}
	return ""
}

// Recovered asks what became of a task whose stream was interrupted: it is followed again
// where it is still at work, and read where it is not. What it yields begins with the task
// as it stands.
func (c *Client) Recovered(ctx context.Context, taskID string) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		task, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: taskID})
		if err != nil {
			yield(Frame{}, err)
			return
		}
		if !task.Status.State.Terminal() {
			for f, err := range c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: taskID}) {
				refused, _ := errors.AsType[*RemoteError](err)
				if refused != nil && refused.Type == a2a.UnsupportedOperationError {
					break // it has ended since (A2A §3.1.6), or streams are not offered
				}
				if !yield(f, err) || err != nil || f.last() {
					return
				}
			}
			if task, err = c.GetTask(ctx, &a2a.GetTaskRequest{ID: taskID}); err != nil {
				yield(Frame{}, err)
				return
			}
		}
		yield(Single(task, nil))
	}
}

// Text is a message of one text part.
func Text(text string) a2a.Message {
	return a2a.Message{MessageID: uuid.NewString(), Role: a2a.RoleUser, Parts: []a2a.Part{{Text: &text}}}
}
