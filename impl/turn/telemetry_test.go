package turn

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/agentevents"
	"a2aserve/gen/event"
	"a2aserve/gen/op"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

func thought(text string) event.ThinkingStep {
	return event.ThinkingStep{TurnID: "t", Step: 1, Content: text, Source: "planner"}
}

// watching is a message whose sender wants telemetry.
func watching(in Input) Input {
	in.Telemetry = true
	return in
}

// payload returns the telemetry of a frame and the state that it came with, or nil.
func payload(t testing.TB, f op.Frame) (*agentevents.AgentEvent, a2a.TaskState) {
	t.Helper()
	if f.JSON == nil {
		return nil, ""
	}
	u := decoded(t, f).StatusUpdate
	if u == nil || u.Metadata == nil {
		return nil, ""
	}
	var meta map[string]jsontext.Value
	if err := json.Unmarshal(u.Metadata, &meta); err != nil || len(meta) != 1 {
		t.Fatalf("%v in %s", err, u.Metadata)
	}
	var p agentevents.AgentEvent
	if err := json.Unmarshal(meta[TelemetryURI], &p, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v in %s", err, u.Metadata)
	}
	var v any
	if err := stdjson.Unmarshal(meta[TelemetryURI], &v); err != nil {
		t.Fatal(err)
	}
	if err := telemetrySchema().Validate(v); err != nil {
		t.Errorf("%v in %s", err, meta[TelemetryURI])
	}
	return &p, u.Status.State
}

var telemetrySchema = sync.OnceValue(func() *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	for id, doc := range map[string][]byte{"a2aserve:///spec/a2a.schema.json": a2a.Schema, agentevents.SchemaID: agentevents.Schema} {
		if err := c.AddResource(id, bytes.NewReader(doc)); err != nil {
			panic(err)
		}
	}
	return c.MustCompile(agentevents.SchemaID)
})

// split tells the telemetry of a stream from the rest.
func split(t testing.TB, frames []op.Frame) (notes []agentevents.AgentEvent, rest []op.Frame) {
	t.Helper()
	for _, f := range frames {
		if p, _ := payload(t, f); p != nil {
			notes = append(notes, *p)
		} else {
			rest = append(rest, f)
		}
	}
	return notes, rest
}

func sameBytes(a, b op.Frame) bool { return bytes.Equal(a.JSON, b.JSON) && a.Last == b.Last }

// Each step of a turn is told, in its place and with the state of the task; whoever did
// not ask sees the very bytes that everybody saw before.
func TestTelemetry(t *testing.T) {
	j := newMemory()
	e := engine(t, Options{Journal: j, Driver: &script{turn: plays(
		event.ThinkingStep{TurnID: "other", Content: "not this turn"}, start, thought("hm"),
		event.ToolInvoke{TurnID: "t", CallID: "c", Name: "clock", Arguments: a2a.Value(`{"zone":"utc"}`)},
		event.ToolResult{TurnID: "t", CallID: "c", Name: "clock", Output: "noon"},
		event.SubagentStarted{TurnID: "t", SubagentID: "s", Task: "look"},
		event.SubagentIteration{TurnID: "t", SubagentID: "s", Iteration: 2, Content: "looking"},
		event.SubagentComplete{TurnID: "t", SubagentID: "s", Result: "seen"},
		event.SubagentComplete{TurnID: "t", SubagentID: "s2", Error: "lost"},
		event.LLMResponse{TurnID: "t", Content: "x", Model: "m", Usage: &event.Usage{InputTokens: 1, OutputTokens: 2, CachedInputTokens: 3, ReasoningTokens: 4, TotalTokens: 5}},
		event.LLMResponse{TurnID: "t", Content: "it counts nothing"},
		output("it is noon"), end, thought("too late"),
	)}})
	s := send(t, e, watching(ask("go")))
	frames := all(s.Follow())
	var got []string
	for _, f := range frames {
		p, state := payload(t, f)
		if p == nil {
			got = append(got, words(t, []op.Frame{f})...)
			continue
		}
		if p.TaskID != s.Record.ID || p.ContextID != s.Record.ContextID || p.Timestamp.IsZero() {
			t.Errorf("%+v", p)
		}
		doc, err := json.Marshal(&struct {
			Thinking   *agentevents.Thinking   `json:"thinking,omitzero"`
			ToolCall   *agentevents.ToolCall   `json:"toolCall,omitzero"`
			ToolResult *agentevents.ToolResult `json:"toolResult,omitzero"`
			Subagent   *agentevents.Subagent   `json:"subagent,omitzero"`
			Usage      *agentevents.Usage      `json:"usage,omitzero"`
		}{p.Thinking, p.ToolCall, p.ToolResult, p.Subagent, p.Usage})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d %s %s%s %s", p.Sequence, short(state), p.Kind, p.Source, doc))
	}
	want := []string{
		"task SUBMITTED",
		"WORKING",
		`1 WORKING thinkingplanner {"thinking":{"step":1,"content":"hm"}}`,
		`2 WORKING tool_call {"toolCall":{"callId":"c","name":"clock","arguments":{"zone":"utc"}}}`,
		`3 WORKING tool_result {"toolResult":{"callId":"c","name":"clock","output":"noon"}}`,
		"artifact. noon",
		`4 WORKING subagent {"subagent":{"subagentId":"s","phase":"started","detail":"look"}}`,
		`5 WORKING subagent {"subagent":{"subagentId":"s","phase":"iteration","iteration":2,"detail":"looking"}}`,
		`6 WORKING subagent {"subagent":{"subagentId":"s","phase":"complete","detail":"seen"}}`,
		`7 WORKING subagent {"subagent":{"subagentId":"s2","phase":"failed","error":"lost"}}`,
		`8 WORKING usage {"usage":{"model":"m","inputTokens":1,"outputTokens":2,"cachedInputTokens":3,"reasoningTokens":4,"totalTokens":5}}`,
		"artifact. it is noon",
		"COMPLETED",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	_, rest := split(t, frames)
	if plain := all(s.Run.Follow()); !slices.EqualFunc(rest, plain, sameBytes) {
		t.Errorf("others see %q", words(t, plain))
	}
	for what, rec := range map[string]Record{"stored": j.get(s.Record.ID), "live": s.Run.log.rec} {
		doc, err := rec.JSON(nil, true)
		if err != nil || strings.Contains(string(doc), TelemetryURI) || strings.Contains(string(doc), `"hm"`) {
			t.Errorf("%s: %s %v", what, doc, err)
		}
	}
}

// Without anybody who asked, nothing is made, kept or counted.
func TestTelemetryThatNobodyAskedFor(t *testing.T) {
	e := engine(t, Options{Driver: &script{turn: plays(start, thought("hm"), output("x"), end)}})
	s := send(t, e, ask("go"))
	if notes, _ := split(t, all(s.Follow())); notes != nil || s.Run.told != 0 || s.Run.log.notes.next != 0 {
		t.Errorf("%+v", notes)
	}
	b := &batch{r: s.Run}
	think, invoke := thought("hm"), event.ToolInvoke{TurnID: "t", CallID: "c", Name: "n", Arguments: a2a.Value(`{}`)}
	if n := testing.AllocsPerRun(100, func() {
		b.telemetryThinking(think)
		b.telemetryToolInvoke(invoke)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// News of a parked task does not read as if it worked; and the stream of an answer has
// the telemetry that follows the answer.
func TestTelemetryWhileParked(t *testing.T) {
	thinkOn := make(chan struct{})
	e := engine(t, Options{Driver: &script{turn: func(ctx context.Context, _ Input, l *Line) error {
		says(l, start, event.HITLRequested{TurnID: "t", RequestID: "q", Prompt: "Which?"})
		<-thinkOn
		says(l, thought("waiting"))
		if told, ok := l.Next(ctx); !ok || told.EventType() != "hitl.responded" {
			t.Errorf("told %+v", told)
		}
		says(l, thought("going on"), output("x"), end)
		return nil
	}}})
	s := send(t, e, watching(ask("go")))
	stream := s.Follow()
	await(t, s)
	close(thinkOn)
	at, waiting := 0, false
	for !waiting {
		frames, wake := stream.From(at)
		if len(frames) == 0 {
			<-wake
			continue
		}
		at++
		if p, state := payload(t, frames[0]); p != nil {
			waiting = true
			if u := decoded(t, frames[0]).StatusUpdate; state != a2a.TaskStateInputRequired || text(u.Status.Message.Parts) != "Which?" {
				t.Errorf("%s", frames[0].JSON)
			}
		}
	}
	if rec, _ := s.Run.Snapshot(); rec.State != a2a.TaskStateInputRequired {
		t.Errorf("the task is %s", rec.State)
	}
	answered, err := e.Answer(t.Context(), watching(replyTo(s, "this")))
	if err != nil {
		t.Fatal(err)
	}
	notes, rest := split(t, all(answered.Follow()))
	if len(notes) != 1 || notes[0].Sequence != 2 || notes[0].Thinking.Content != "going on" || !slices.Equal(words(t, rest), []string{"artifact. x", "COMPLETED"}) {
		t.Errorf("%+v among %q", notes, words(t, rest))
	}
	stream.At = at
	if notes, _ := split(t, all(stream)); len(notes) != 1 {
		t.Errorf("the first stream goes on with %+v", notes)
	}
}

// Who joins late gets what follows, and when the last watcher leaves nothing more is made.
func TestWatchingMidTurn(t *testing.T) {
	step, done := make(chan event.Event), make(chan bool)
	e := engine(t, Options{Driver: &script{turn: func(ctx context.Context, _ Input, l *Line) error {
		for ev := range step {
			l.Emit(ev)
			done <- true
		}
		return nil
	}}})
	s := send(t, e, watching(ask("go")))
	first := s.Follow()
	emit := func(es ...event.Event) {
		for _, ev := range es {
			step <- ev
			<-done
		}
	}
	reads := func(st *op.Stream, until string) {
		t.Helper()
		for {
			frames, wake := st.From(st.At)
			if len(frames) == 0 {
				<-wake
				continue
			}
			st.At++
			if p, _ := payload(t, frames[0]); p != nil && p.Thinking.Content == until {
				return
			}
		}
	}
	emit(start, thought("early"))
	reads(first, "early")
	late, err := s.Run.Watch()
	if err != nil {
		t.Fatal(err)
	}
	if r := decoded(t, op.Frame{JSON: late.First}); r.Task == nil || r.Task.Status.State != a2a.TaskStateWorking {
		t.Errorf("%s", late.First)
	}
	emit(thought("for both"))
	reads(first, "for both")
	first.Close()
	first.Close() // twice is once
	emit(thought("for one"))
	reads(late, "for both")
	reads(late, "for one")
	late.Close()
	emit(thought("for nobody"), output("x"), end)
	close(step)
	await(t, s)
	if s.Run.log.notes.next != 3 || s.Run.log.notes.notes != nil {
		t.Errorf("%d notes, %d kept", s.Run.log.notes.next, len(s.Run.log.notes.notes))
	}
}

// A watcher that lags behind misses the oldest telemetry, in number or in bytes, and no
// frame of the task.
func TestTelemetryIsBounded(t *testing.T) {
	for _, c := range []struct {
		steps, size, kept int
	}{{3000, 10, ringFrames}, {400, maxTelemetry, 120}} {
		e := engine(t, Options{Driver: &script{turn: func(_ context.Context, _ Input, l *Line) error {
			says(l, start)
			for i := range c.steps {
				says(l, thought(strings.Repeat("x", c.size)))
				if i%100 == 0 {
					says(l, artifactEvent("a", "piece ", i > 0, false))
				}
			}
			says(l, end)
			return nil
		}}})
		s := send(t, e, watching(ask("go")))
		stream := s.Follow()
		await(t, s)
		notes, rest := split(t, all(stream))
		if n := len(notes); n < c.kept || n > ringFrames || notes[n-1].Sequence != int64(c.steps) {
			t.Errorf("%d notes, the last is %+v", n, notes[n-1])
		}
		for i := range notes[1:] {
			if notes[i+1].Sequence != notes[i].Sequence+1 {
				t.Errorf("%d after %d", notes[i+1].Sequence, notes[i].Sequence)
			}
		}
		if plain := all(s.Run.Follow()); !slices.EqualFunc(rest, plain, sameBytes) {
			t.Errorf("%d frames of %d", len(rest), len(plain))
		}
		if n := s.Run.log.notes.bytes; n > ringBytes {
			t.Errorf("%d bytes are kept", n)
		}
	}
}

// Long texts are cut and say so; what is not JSON fails nothing.
func TestTelemetryIsCut(t *testing.T) {
	long := strings.Repeat("é", 50_000)
	e := engine(t, Options{Artifacts: Artifacts{MaxToolOutputBytes: 1001}, Driver: &script{turn: plays(
		start, thought(long), thought("\xff"),
		event.ToolInvoke{TurnID: "t", CallID: "c", Name: "n", Arguments: a2a.Value(`"` + long + `"`)},
		event.ToolInvoke{TurnID: "t", CallID: "c", Name: "n", Arguments: a2a.Value(`{`)},
		event.ToolResult{TurnID: "t", CallID: "c", Name: "n", Error: long},
		output("x"), end,
	)}})
	s := send(t, e, watching(ask("go")))
	notes, rest := split(t, all(s.Follow()))
	if w := words(t, rest); w[len(w)-1] != "COMPLETED" || len(notes) != 5 {
		t.Fatalf("%d notes, %q", len(notes), w[len(w)-1])
	}
	const cut = "\n[truncated: 1000 of 100000 bytes shown]"
	for i, got := range []string{notes[0].Thinking.Content, notes[4].ToolResult.Error} {
		if !strings.HasSuffix(got, "é"+cut) || len(got) != 1000+len(cut) {
			t.Errorf("%d: %d bytes, end in %q", i, len(got), got[len(got)-50:])
		}
	}
	if got := notes[1].Thinking.Content; got != "\uFFFD" {
		t.Errorf("%q", got)
	}
	if a, b := string(notes[2].ToolCall.Arguments), string(notes[3].ToolCall.Arguments); a != `"[left out: arguments of 100002 bytes]"` || b != `"[left out: arguments that are not JSON]"` {
		t.Errorf("%s, %s", a, b)
	}
}

// What a write takes down with it is not told either, and the stream ends as others do.
func TestTelemetryOfALostChange(t *testing.T) {
	j := newMemory()
	j.failAt[3] = true // the creation, WORKING, and then this
	e := engine(t, Options{Journal: j, Driver: &script{turn: func(ctx context.Context, in Input, l *Line) error {
		return unbatched(start, thought("kept"), output("lost"), end)(ctx, in, l)
	}}})
	s := send(t, e, watching(ask("go")))
	frames := all(s.Follow())
	if notes, rest := split(t, frames); len(notes) != 1 || !slices.Equal(words(t, rest), []string{"task SUBMITTED", "WORKING", "end"}) {
		t.Errorf("%+v in %q", notes, words(t, rest))
	}
}
