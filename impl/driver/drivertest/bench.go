// Package drivertest tries a turn.Driver behind a real engine. Every driver passes its
// suite; Bench drives one by hand.
package drivertest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/turn"

	"github.com/go-json-experiment/json"
)

// Bench is an engine around one driver, for a test.
type Bench struct {
	T       testing.TB
	Engine  *turn.Engine
	Journal *Journal

	// For the suite.
	sub  func(t *testing.T, name string, test func(*testing.T)) // a part of the part
	lags bool
}

// New makes an engine that the test drains at its end. Driver, Journal and Logger of o
// are filled in.
func New(t testing.TB, d turn.Driver, o turn.Options) *Bench {
	t.Helper()
	b := &Bench{T: t, Journal: &Journal{}}
	o.Driver, o.Journal, o.Logger = d, b.Journal, slog.New(slog.DiscardHandler)
	b.Engine = turn.New(o)
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		if err := b.Engine.Drain(now); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Text is a message of one text part.
func Text(s string) turn.Input {
	return turn.Input{Principal: "alice", Message: a2a.Message{
		MessageID: "message", Role: a2a.RoleUser, Parts: []a2a.Part{{Text: &s}},
	}}
}

// Send begins a task.
func (b *Bench) Send(in turn.Input) turn.Sent {
	b.T.Helper()
	s, err := b.Engine.Send(b.T.Context(), in)
	if err != nil {
		b.T.Fatalf("send: %v", err)
	}
	return s
}

// Answer answers the task's question.
func (b *Bench) Answer(s turn.Sent, text string) turn.Sent {
	b.T.Helper()
	in := Text(text)
	in.TaskID = s.Record.ID
	s, err := b.Engine.Answer(b.T.Context(), in)
	if err != nil {
		b.T.Fatalf("answer: %v", err)
	}
	return s
}

// Await waits until the task is interrupted or terminal. It gives up after a minute.
func (b *Bench) Await(s turn.Sent) a2a.Task {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.T.Context(), time.Minute)
	defer cancel()
	rec, err := s.Await(ctx)
	if err != nil {
		b.T.Fatalf("await: %v", err)
	}
	return b.Decode(rec)
}

// Do sends a text and awaits what becomes of it.
func (b *Bench) Do(text string) a2a.Task {
	b.T.Helper()
	return b.Await(b.Send(Text(text)))
}

// Decode reads a record.
func (b *Bench) Decode(r turn.Record) a2a.Task {
	b.T.Helper()
	doc, err := r.JSON(nil, true)
	if err != nil {
		b.T.Fatal(err)
	}
	var t a2a.Task
	if err := json.Unmarshal(doc, &t); err != nil {
		b.T.Fatalf("%v in %s", err, doc)
	}
	return t
}

// Frames follows a new task to its end.
func (b *Bench) Frames(s turn.Sent) []a2a.StreamResponse {
	b.T.Helper()
	return b.read(s.Run.Follow())
}

func (b *Bench) read(s *op.Stream) []a2a.StreamResponse {
	var out []a2a.StreamResponse
	for i := s.At; ; {
		frames, wake := s.From(i)
		for _, f := range frames {
			if f.JSON != nil {
				var r a2a.StreamResponse
				if err := json.Unmarshal(f.JSON, &r); err != nil {
					b.T.Fatalf("%v in %s", err, f.JSON)
				}
				out = append(out, r)
			}
			if f.Last {
				return out
			}
		}
		if i += len(frames); len(frames) == 0 {
			select {
			case <-wake:
			case <-time.After(time.Minute):
				b.T.Fatal("the stream does not end")
			}
		}
	}
}

// Answered is the text of a task's answer: of the first part of its first artifact.
func Answered(t a2a.Task) string {
	if len(t.Artifacts) == 0 || len(t.Artifacts[0].Parts) == 0 || t.Artifacts[0].Parts[0].Text == nil {
		return ""
	}
	return *t.Artifacts[0].Parts[0].Text
}

// Said is the text of a task's status message.
func Said(t a2a.Task) string {
	if m := t.Status.Message; m != nil && len(m.Parts) > 0 && m.Parts[0].Text != nil {
		return *m.Parts[0].Text
	}
	return ""
}
