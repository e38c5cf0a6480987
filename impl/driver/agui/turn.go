package agui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"a2aserve/gen/a2a"
	wire "a2aserve/gen/agui"
	"a2aserve/gen/event"
	"a2aserve/impl/sse"
	"a2aserve/impl/turn"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// errOver ends what is told of a turn whose task has ended: there is nobody to tell.
var errOver = errors.New("the task has ended")

// Turn plays one turn: a run, and another after each question. A turn that is to stop asks
// the agent over the control link. Without one it closes the connection, which is all that
// an agent then hears.
func (d *Driver) Turn(ctx context.Context, in turn.Input, line *turn.Line) error {
	listening, quit := context.WithCancel(ctx)
	stop, halt := context.WithCancel(context.WithoutCancel(ctx))
	told := make(chan event.HITLResponded)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer halt()
		listen(listening, line, told)
	}()
	defer func() { quit(); <-heard }()

	t := &run{d: d, line: line, task: in.TaskID, turnID: in.TaskID, thread: d.thread(in), trace: in.TraceParent, log: d.o.Logger.With("task", in.TaskID)}
	body := t.input()
	body.Messages = []wire.Message{{ID: in.Message.MessageID, Role: "user", Content: text(in.Message)}}
	for {
		open, err := t.play(ctx, stop, body)
		switch {
		case ctx.Err() != nil:
			return nil
		case stop.Err() != nil || errors.Is(err, errOver):
			t.settle(ctx, open)
			return nil
		case err != nil || len(open) == 0:
			return err
		}
		resume := t.answers(stop, open, told)
		if resume == nil {
			t.settle(ctx, open)
			return nil
		}
		body = t.input()
		body.Resume = resume
	}
}

var empty = a2a.Value(`{}`)

// input is the request for the turn's next run.
func (t *run) input() *wire.RunAgentInput {
	id := t.task
	if t.runs++; t.runs > 1 {
		id = fmt.Sprintf("%s-%d", t.task, t.runs)
	}
	return &wire.RunAgentInput{ThreadID: t.thread, RunID: id, State: empty, ForwardedProps: empty}
}

// listen passes answers on, and returns when the turn is to stop.
func listen(ctx context.Context, line *turn.Line, told chan<- event.HITLResponded) {
	for {
		e, ok := line.Next(ctx)
		answer, is := e.(event.HITLResponded)
		if !ok || !is { // a question is taken back only because its task has ended
			return
		}
		select {
		case told <- answer:
		case <-ctx.Done():
			return
		}
	}
}

// text is what a message says.
func text(m a2a.Message) string {
	var all []string
	for _, p := range m.Parts {
		if p.Text != nil {
			all = append(all, *p.Text)
		}
	}
	return strings.Join(all, "\n")
}

// answers waits until every question has been answered. It returns nil if the turn is to
// stop first.
func (t *run) answers(stop context.Context, open []string, told <-chan event.HITLResponded) []wire.Resume {
	out := make([]wire.Resume, 0, len(open))
	for len(out) < len(open) {
		select {
		case <-stop.Done():
			return nil
		case e := <-told:
			if !slices.Contains(open, e.RequestID) {
				continue
			}
			r := wire.Resume{InterruptID: e.RequestID, Status: "cancelled"}
			if !e.Cancelled {
				r.Status, r.Payload = "resolved", t.asked[e.RequestID].payload(e)
			}
			out = append(out, r)
		}
	}
	return out
}

// play posts a run and reads it to its end. It returns the questions that the run has
// ended with; without any, and without an error, the turn is over. Once stop ends nobody
// hears what the agent says.
func (t *run) play(ctx, stop context.Context, body *wire.RunAgentInput) ([]string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	slow := time.AfterFunc(t.d.o.StartTimeout, func() { cancel(errSlow) })
	defer slow.Stop()
	t.begin(len(body.Resume) > 0)
	halted := t.haltWith(ctx, stop, cancel)
	defer func() { cancel(nil); <-halted }()
	stream, err := t.d.post(ctx, body, t.trace)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	in := sse.NewReader(stream, t.d.o.MaxEvent)
	for {
		record, err := in.Next()
		switch {
		case errors.Is(err, sse.ErrTooLong):
			return nil, a2a.InvalidAgentResponseError.Errorf("The agent sent an event of more than %d bytes", t.d.o.MaxEvent).Because(err)
		case errors.Is(err, io.EOF):
			return nil, a2a.InvalidAgentResponseError.Errorf("The agent's stream ended before its run did")
		case err != nil:
			return nil, t.d.broken(ctx, "The connection to the agent broke", err)
		case record.Cut && !jsontext.Value(record.Data).IsValid():
			continue // its rest is missing, and the reader says why next
		}
		slow.Stop()
		e, err := t.decode(record.Data)
		if err != nil {
			return nil, err
		}
		if err = t.hear(e); t.over {
			defer time.AfterFunc(closeTimeout, func() { cancel(errStopped) }).Stop()
			_, _ = io.Copy(io.Discard, io.LimitReader(stream, maxRest))
		}
		if err != nil || t.over {
			return t.open, err
		}
	}
}

// A run's end is said before the agent is free for another; it is once the stream has
// ended too. That is waited for so long, and over so many bytes.
const (
	closeTimeout = time.Second
	maxRest      = 64 << 10
)

// decode reads one event; nil is one that this client does not know.
func (t *run) decode(data []byte) (wire.Event, error) {
	var head struct {
		Type string `json:"type"`
	}
	lenient := jsontext.AllowInvalidUTF8(true)
	if err := json.Unmarshal(data, &head, lenient); err != nil || head.Type == "" {
		return nil, a2a.InvalidAgentResponseError.Errorf("The agent sent something that is no AG-UI event").Because(
			fmt.Errorf("%w in %.200q", errors.Join(err, errNoEvent), data))
	}
	e := wire.New(head.Type)
	if e == nil {
		t.warn(head.Type, "an AG-UI event of a type that is not known")
		return nil, nil
	}
	if err := json.Unmarshal(data, e, lenient); err != nil {
		return nil, a2a.InvalidAgentResponseError.Errorf("The agent sent an AG-UI event that is not valid").Because(fmt.Errorf("%s: %w", head.Type, err))
	}
	return wire.Named(head.Type).Value(e), nil
}

var errNoEvent = errors.New("no object with a type")
