package turn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/gen/op"

	"github.com/go-json-experiment/json"
)

// memory is a Journal that keeps tasks as a store would, and refuses what a store would.
type memory struct {
	mu      sync.Mutex
	tasks   map[string]Record
	seqs    map[string]int
	claims  map[string]Change
	appends int
	failAt  map[int]bool // which Append fails, counted from 1
	lieAt   int          // this Append stores and says that it has not
	down    bool         // all fail
}

var errDisk = errors.New("disk full")

func newMemory() *memory {
	return &memory{tasks: map[string]Record{}, seqs: map[string]int{}, claims: map[string]Change{}, failAt: map[int]bool{}}
}

func (m *memory) Append(changes []Change) (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.appends++
	if m.down || m.failAt[m.appends] {
		return errDisk
	}
	if m.lieAt == m.appends { // stored, and reported as failed
		defer func() { err = errDisk }()
	}
	if len(changes) == 0 {
		panic("empty write")
	}
	r, seen := m.tasks[changes[0].Task]
	r.Artifacts, r.History = slices.Clone(r.Artifacts), slices.Clone(r.History)
	for _, c := range changes {
		if c.Task != changes[0].Task || c.Principal == "" || c.Context == "" {
			panic(fmt.Sprintf("bad change %+v", c))
		}
		if c.Kind != TaskCreated {
			k := fmt.Sprint(c.Task, c.Kind)
			if c.Seq < m.seqs[k] {
				panic(fmt.Sprintf("seq goes back: %+v", c))
			}
			m.seqs[k] = c.Seq + 1
		}
		switch c.Kind {
		case TaskCreated:
			if seen {
				panic("task created twice")
			}
			if by, ok := m.claims[c.Session]; ok && (by.Principal != c.Principal || by.Context != c.Context) {
				return ErrBound
			}
			if c.Session != "" {
				m.claims[c.Session] = c
			}
			r = Record{ID: c.Task, ContextID: c.Context, State: c.State, Status: c.Doc}
		case StatusChanged:
			if r.State.Terminal() {
				return ErrEnded
			}
			if !r.State.CanBecome(c.State) {
				panic(fmt.Sprintf("%s after %s", c.State, r.State))
			}
			r.State, r.Status = c.State, c.Doc
		case MessageAdded:
			r.History = append(r.History, c.Doc)
		case ArtifactAdded:
			if r.State.Terminal() {
				panic("artifact after the end")
			}
			r.Artifacts = append(r.Artifacts, ArtifactDoc{ID: c.ArtifactID, Append: c.Append, JSON: c.Doc})
		}
		seen = true
	}
	m.tasks[r.ID] = r
	return nil
}

func (m *memory) Begin(w *Write) { w.Done <- m.Append(w.Take()) }

func (m *memory) Bound(principal, session, context string) (string, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.claims[session]
	if !ok {
		return context, true, nil
	}
	if c.Principal != principal {
		return "", false, nil
	}
	return c.Context, true, nil
}

func (m *memory) get(id string) Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tasks[id]
}

func (m *memory) setDown(down bool) { m.mu.Lock(); m.down = down; m.mu.Unlock() }

// script is a Driver made of functions.
type script struct {
	agent Agent
	admit func(Input) (*a2a.Message, error)
	turn  func(ctx context.Context, in Input, l *Line) error
}

func (s *script) Agent() Agent { return s.agent }

func (s *script) Admit(_ context.Context, in Input) (*a2a.Message, error) {
	if s.admit == nil {
		return nil, nil
	}
	return s.admit(in)
}

func (s *script) Turn(ctx context.Context, in Input, l *Line) error { return s.turn(ctx, in, l) }

// says emits events and stops when nobody listens any more.
func says(l *Line, es ...event.Event) bool {
	for _, e := range es {
		if !l.Emit(e) {
			return false
		}
	}
	return true
}

// plays is a turn that emits events and returns.
func plays(es ...event.Event) func(context.Context, Input, *Line) error {
	return func(_ context.Context, _ Input, l *Line) error {
		says(l, es...)
		return nil
	}
}

var (
	start = event.TurnStart{TurnID: "t"}
	end   = event.TurnEnd{TurnID: "t"}
)

func output(text string) event.Output {
	return event.Output{TurnID: "t", Role: "assistant", Content: text}
}

func delta(text string) event.OutputDelta { return event.OutputDelta{TurnID: "t", Text: text} }

// engine makes an engine that the test drains at its end.
func engine(t testing.TB, o Options) *Engine {
	t.Helper()
	if o.Journal == nil {
		o.Journal = newMemory()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	e := New(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := e.Drain(ctx); err != nil {
			t.Error(err)
		}
	})
	return e
}

func ask(text string) Input {
	return Input{Principal: "alice", Message: a2a.Message{MessageID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{{Text: &text}}}}
}

func askIn(context, text string) Input {
	in := ask(text)
	in.ContextID = context
	return in
}

func replyTo(s Sent, text string) Input {
	in := ask(text)
	in.TaskID = s.Record.ID
	return in
}

func send(t testing.TB, e *Engine, in Input) Sent {
	t.Helper()
	s, err := e.Send(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func await(t testing.TB, s Sent) Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rec, err := s.Await(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// task decodes a record.
func task(t testing.TB, r Record) a2a.Task {
	t.Helper()
	doc, err := r.JSON(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	var out a2a.Task
	if err := json.Unmarshal(doc, &out, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	return out
}

// debugLog writes everything that is logged to w.
func debugLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// all reads a stream to its end.
func all(s *op.Stream) []op.Frame {
	var out []op.Frame
	if s.First != nil {
		out = append(out, op.Frame{JSON: s.First})
	}
	for i := s.At; ; {
		frames, wake := s.From(i)
		for _, f := range frames {
			out = append(out, f)
			if f.Last {
				return out
			}
		}
		if i += len(frames); len(frames) == 0 {
			<-wake
		}
	}
}

func decoded(t testing.TB, f op.Frame) a2a.StreamResponse {
	t.Helper()
	var out a2a.StreamResponse
	if err := json.Unmarshal(f.JSON, &out, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v in %s", err, f.JSON)
	}
	return out
}

// words says what frames are, briefly.
func words(t testing.TB, frames []op.Frame) []string {
	t.Helper()
	var out []string
	for _, f := range frames {
		if f.JSON == nil {
			out = append(out, "end")
			continue
		}
		r := decoded(t, f)
		switch {
		case r.Task != nil:
			out = append(out, "task "+short(r.Task.Status.State))
		case r.StatusUpdate != nil:
			out = append(out, short(r.StatusUpdate.Status.State))
		case r.ArtifactUpdate != nil:
			w := "artifact"
			if r.ArtifactUpdate.Append {
				w += "+"
			}
			if r.ArtifactUpdate.LastChunk {
				w += "."
			}
			for _, p := range r.ArtifactUpdate.Artifact.Parts {
				switch {
				case p.Text != nil:
					w += " " + *p.Text
				case p.Data != nil:
					w += " " + string(p.Data)
				default:
					w += " " + string(p.Raw)
				}
			}
			out = append(out, w)
		}
	}
	return out
}

func short(s a2a.TaskState) string { return string(s[len("TASK_STATE_"):]) }

func detail(err error) string {
	if e, ok := errors.AsType[*a2a.Error](err); ok {
		return e.Type.Name + " " + e.Metadata["detail"]
	}
	return fmt.Sprint(err)
}

func text(p []a2a.Part) string {
	if len(p) == 0 || p[0].Text == nil {
		return ""
	}
	return *p[0].Text
}
