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

// errOver ends a turn whose task has ended: there is nobody to tell.
var errOver = errors.New("the task has ended")

// Turn plays one turn: a run, and another after each question. AG-UI has no way to cancel,
// so a turn that is to stop closes the connection, which is all that an agent hears.
func (d *Driver) Turn(ctx context.Context, in turn.Input, line *turn.Line) error {
	ctx, cancel := context.WithCancel(ctx)
	told := make(chan event.HITLResponded)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer cancel()
		listen(ctx, line, told)
	}()
	defer func() { cancel(); <-heard }()

	t := &run{d: d, line: line, task: in.TaskID, turnID: in.TaskID, log: d.o.Logger.With("task", in.TaskID)}
	body := &wire.RunAgentInput{ThreadID: d.thread(in), State: empty, ForwardedProps: empty}
	body.Messages = []wire.Message{{ID: in.Message.MessageID, Role: "user", Content: text(in.Message)}}
	for n := 1; ; n++ {
		body.RunID = in.TaskID
		if n > 1 {
			body.RunID = fmt.Sprintf("%s-%d", in.TaskID, n)
		}
		open, err := t.play(ctx, body, in.TraceParent)
		switch {
		case ctx.Err() != nil || errors.Is(err, errOver):
			return nil
		case err != nil || len(open) == 0:
			return err
		}
		if body.Resume = answers(ctx, open, told); body.Resume == nil {
			return nil
		}
		body.Messages = nil
	}
}

var empty = a2a.Value(`{}`)

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
func answers(ctx context.Context, open []string, told <-chan event.HITLResponded) []wire.Resume {
	out := make([]wire.Resume, 0, len(open))
	for len(out) < len(open) {
		select {
		case <-ctx.Done():
			return nil
		case e := <-told:
			if !slices.Contains(open, e.RequestID) {
				continue
			}
			r := wire.Resume{InterruptID: e.RequestID, Status: "cancelled"}
			if !e.Cancelled {
				r.Status = "resolved"
				r.Payload, _ = json.Marshal(wire.Answer{ChoiceID: e.ChoiceID, FreeText: e.FreeText}) // strings only
			}
			out = append(out, r)
		}
	}
	return out
}

// play posts a run and reads it to its end. It returns the questions that the run has
// ended with; without any, and without an error, the turn is over.
func (t *run) play(ctx context.Context, body *wire.RunAgentInput, traceparent string) ([]string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slow := time.AfterFunc(t.d.o.StartTimeout, func() { cancel(errSlow) })
	defer slow.Stop()
	stream, err := t.d.post(ctx, body, traceparent)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	t.begin()
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
		if e == nil {
			continue
		}
		if err := t.take(e); err != nil || t.over {
			return t.open, err
		}
	}
}

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
