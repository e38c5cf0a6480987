package turn

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/gen/op"

	"github.com/go-json-experiment/json/jsontext"
)

// unbatched sends each event when the one before it is published, so that a test sees
// the frames of each.
func unbatched(es ...event.Event) func(context.Context, Input, *Line) error {
	return func(_ context.Context, _ Input, l *Line) error {
		for _, e := range es {
			if !l.Emit(e) {
				return nil
			}
			for settled := false; !settled; {
				l.in.mu.Lock()
				settled = len(l.in.items) == 0
				l.in.mu.Unlock()
				runtime.Gosched()
			}
		}
		return nil
	}
}

func artifactEvent(id, content string, more, last bool) event.Artifact {
	return event.Artifact{TurnID: "t", Append: more, LastChunk: last,
		Artifact: a2a.Artifact{ArtifactID: id, Parts: []a2a.Part{{Text: &content}}}}
}

// TestMapping: what a turn's events come to. The frames after WORKING are named.
func TestMapping(t *testing.T) {
	for _, c := range []struct {
		name   string
		gated  bool
		late   bool // the turn begins among the events
		modes  []string
		events []event.Event
		want   []string
	}{
		{name: "no answer", events: []event.Event{end}, want: []string{"COMPLETED"}},
		{name: "pointers", events: []event.Event{&event.Output{TurnID: "t", Role: "assistant", Content: "x"}, &end},
			want: []string{"artifact. x", "COMPLETED"}},
		{name: "only the assistant answers", events: []event.Event{
			event.Output{TurnID: "t", Role: "system", Content: "notice"},
			event.Output{TurnID: "t", Role: "tool", Content: "notice"},
			event.LLMResponse{TurnID: "t", Content: "ungated"}, end}, want: []string{"COMPLETED"}},
		{name: "the model's last words where nothing passed a gate", events: []event.Event{
			event.LLMResponse{TurnID: "t", Content: "first", ToolCalls: []event.ToolCall{{ID: "1"}}},
			event.LLMResponse{TurnID: "t", Content: "last"}, end}, want: []string{"artifact. last", "COMPLETED"}},
		{name: "never the model's words where there are gates", gated: true, events: []event.Event{
			event.LLMResponse{TurnID: "t", Content: "last"}, end}, want: []string{"COMPLETED"}},
		{name: "another turn's events", events: []event.Event{
			event.Output{TurnID: "u", Role: "assistant", Content: "stray"},
			event.OutputDelta{TurnID: "u", Text: "stray"},
			event.CoreError{TurnID: "u", Fatal: true}, event.CancelComplete{TurnID: "u"},
			event.TurnStart{TurnID: "u"}, event.TurnEnd{TurnID: "u"}, event.TurnEnd{},
			output("x"), end}, want: []string{"artifact. x", "COMPLETED"}},
		{name: "pieces", events: []event.Event{delta("Hel"), delta("lo"), end},
			want: []string{"artifact Hel", "artifact+ lo", "artifact+. ", "COMPLETED"}},
		{name: "pieces, then the same whole", events: []event.Event{delta("Hel"), delta("lo"), output("Hello"), end},
			want: []string{"artifact Hel", "artifact+ lo", "artifact+. ", "COMPLETED"}},
		{name: "pieces, then a longer whole", events: []event.Event{delta("Hel"), output("Hello"), end},
			want: []string{"artifact Hel", "artifact+. lo", "COMPLETED"}},
		{name: "pieces, then another text", events: []event.Event{delta("Hel"), output("Bye"), end},
			want: []string{"artifact Hel", "artifact. Bye", "COMPLETED"}},
		{name: "two answers", events: []event.Event{output("one"), delta("tw"), output("two"), end},
			want: []string{"artifact. one", "artifact tw", "artifact+. o", "COMPLETED"}},
		{name: "a character in two pieces", events: []event.Event{delta("a\xc3"), delta("\xa4b\xff"), end},
			want: []string{"artifact a", "artifact+ äb\uFFFD", "artifact+. ", "COMPLETED"}},
		{name: "a document", events: []event.Event{output("```json\n{\"a\": 1}\n```"), end},
			want: []string{"artifact. ```json\n{\"a\": 1}\n``` {\"a\":1}", "COMPLETED"}},
		{name: "a document in pieces", events: []event.Event{delta(`[1,`), delta(`2]`), end},
			want: []string{"artifact [1,", "artifact+ 2]", "artifact+. [1,2]", "COMPLETED"}},
		{name: "a document where only text is accepted", modes: []string{"text/*"}, events: []event.Event{output(`{"a":1}`), end},
			want: []string{`artifact. {"a":1}`, "COMPLETED"}},
		{name: "a scalar is no document", events: []event.Event{output(`17`), end}, want: []string{"artifact. 17", "COMPLETED"}},
		{name: "a tool", events: []event.Event{event.ToolResult{TurnID: "t", CallID: "c", Name: "clock", Output: "noon",
			Structured: jsontext.Value(`{"h":12}`)}, end}, want: []string{`artifact. noon {"h":12}`, "COMPLETED"}},
		{name: "a tool where only text is accepted", modes: []string{"text/plain"}, events: []event.Event{
			event.ToolResult{TurnID: "t", CallID: "c", Name: "clock", Output: "noon", Structured: jsontext.Value(`{"h":12}`)}, end},
			want: []string{"artifact. noon", "COMPLETED"}},
		{name: "an artifact in chunks (LR-13)", events: []event.Event{
			artifactEvent("a", "Hel", true, false), artifactEvent("a", "lo", true, true),
			artifactEvent("a", "after", true, false), artifactEvent("a", "new", false, true), end},
			want: []string{"artifact Hel", "artifact+. lo", "artifact+ after", "artifact. new", "COMPLETED"}},
		{name: "an earlier turn's last words before this one begins", late: true, events: []event.Event{
			event.CancelComplete{TurnID: "old"}, event.CoreError{TurnID: "old", RetriesExhausted: true}, event.CoreError{TurnID: "old"},
			event.TurnEnd{TurnID: "old"}, event.Output{TurnID: "old", Role: "assistant", Content: "stray"}, start, output("x"), end},
			want: []string{"WORKING", "artifact. x", "COMPLETED"}},
		{name: "rejected", events: []event.Event{event.TurnRejected{TurnID: "t", Reason: "no"}}, want: []string{"REJECTED"}},
		{name: "fatal", events: []event.Event{event.CoreError{Fatal: true, Retryable: true}}, want: []string{"FAILED"}},
		{name: "retries used up", events: []event.Event{event.CoreError{TurnID: "t", Retryable: true, RetriesExhausted: true}}, want: []string{"FAILED"}},
		{name: "nobody retries", events: []event.Event{event.CoreError{TurnID: "t"}}, want: []string{"FAILED"}},
		{name: "errors to go on from", events: []event.Event{event.CoreError{TurnID: "t", Retryable: true}, event.CoreError{}, end},
			want: []string{"COMPLETED"}},
		{name: "cancelled elsewhere", events: []event.Event{event.Output{TurnID: "t", Role: "system", Content: "Cancelled"},
			event.CancelComplete{TurnID: "t"}, end}, want: []string{"CANCELED"}},
		{name: "returned without an end", events: []event.Event{output("x")}, want: []string{"artifact. x", "FAILED"}},
		{name: "telemetry", events: []event.Event{event.ThinkingStep{TurnID: "t"}, event.ToolInvoke{TurnID: "t"},
			event.SubagentStarted{TurnID: "t"}, event.SubagentIteration{TurnID: "t"}, event.SubagentComplete{TurnID: "t"}, end},
			want: []string{"COMPLETED"}},
		{name: "asked and answered elsewhere", events: []event.Event{
			event.HITLRequested{TurnID: "t", RequestID: "q", Prompt: "?"}, event.HITLResponded{RequestID: "q"}, end},
			want: []string{"INPUT_REQUIRED", "WORKING", "COMPLETED"}},
		{name: "two questions", events: []event.Event{
			event.HITLRequested{TurnID: "t", RequestID: "p", Prompt: "?"}, event.HITLRequested{TurnID: "t", RequestID: "q", Prompt: "?"},
			event.HITLResponded{RequestID: "q"}, event.HITLCancel{RequestID: "p"}, end},
			want: []string{"INPUT_REQUIRED", "INPUT_REQUIRED", "INPUT_REQUIRED", "WORKING", "COMPLETED"}},
		{name: "a question outlasts other work", events: []event.Event{
			event.HITLRequested{TurnID: "t", RequestID: "q", Prompt: "?"}, output("x"), end},
			want: []string{"INPUT_REQUIRED", "artifact. x", "COMPLETED"}},
		{name: "a further round means authorised", events: []event.Event{
			event.AuthRequired{TurnID: "t", RequestID: "q", Prompt: "?"}, start, end}, want: []string{"AUTH_REQUIRED", "WORKING", "COMPLETED"}},
		{name: "an error to go on from means authorised", events: []event.Event{
			event.AuthRequired{TurnID: "t", RequestID: "q", Prompt: "?"}, event.CoreError{TurnID: "t", Retryable: true}, end},
			want: []string{"AUTH_REQUIRED", "WORKING", "COMPLETED"}},
		{name: "a question does not mean authorised", events: []event.Event{
			event.AuthRequired{TurnID: "t", RequestID: "q", Prompt: "?"}, event.HITLRequested{TurnID: "t", RequestID: "r", Prompt: "?"},
			event.HITLResponded{RequestID: "r"}, event.ThinkingStep{TurnID: "t"}, end},
			want: []string{"AUTH_REQUIRED", "INPUT_REQUIRED", "AUTH_REQUIRED", "WORKING", "COMPLETED"}},
		{name: "going on means authorised", events: []event.Event{
			event.AuthRequired{TurnID: "t", RequestID: "q", Prompt: "?"}, event.ThinkingStep{TurnID: "t"}, end},
			want: []string{"AUTH_REQUIRED", "WORKING", "COMPLETED"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := newMemory()
			events, before := c.events, 1
			if !c.late {
				events, before = append([]event.Event{start}, events...), 2
			}
			e := engine(t, Options{Journal: j, Driver: &script{
				agent: Agent{Gated: c.gated}, turn: unbatched(events...)}})
			in := ask("go")
			in.AcceptedOutputModes = c.modes
			s := send(t, e, in)
			frames := all(s.Run.Follow())
			got := words(t, frames)
			if len(got) < before || !slices.Equal(got[before:], c.want) {
				t.Errorf("frames %q, want %q at the end", got, c.want)
			}
			agree(t, frames, j.get(s.Record.ID))
		})
	}
}

// agree checks that whoever followed the frames knows the same task as whoever reads it.
func agree(t testing.TB, frames []op.Frame, stored Record) {
	t.Helper()
	var ids []string
	texts := map[string]string{}
	var state a2a.TaskState
	for _, f := range frames {
		switch r := decoded(t, f); {
		case r.Task != nil:
			state = r.Task.Status.State
		case r.StatusUpdate != nil:
			state = r.StatusUpdate.Status.State
			if r.StatusUpdate.TaskID != stored.ID || r.StatusUpdate.ContextID != stored.ContextID {
				t.Errorf("ids of %s", f.JSON)
			}
		case r.ArtifactUpdate != nil:
			a := r.ArtifactUpdate.Artifact
			if r.ArtifactUpdate.TaskID != stored.ID || r.ArtifactUpdate.ContextID != stored.ContextID {
				t.Errorf("ids of %s", f.JSON)
			}
			if !slices.Contains(ids, a.ArtifactID) {
				ids = append(ids, a.ArtifactID)
			}
			if !r.ArtifactUpdate.Append {
				texts[a.ArtifactID] = ""
			}
			texts[a.ArtifactID] += joined(a.Parts)
		}
	}
	got := task(t, stored)
	if got.Status.State != state {
		t.Errorf("stored %s, streamed %s", got.Status.State, state)
	}
	if len(got.Artifacts) != len(ids) {
		t.Fatalf("%d artifacts stored, %d streamed", len(got.Artifacts), len(ids))
	}
	for i, a := range got.Artifacts {
		if a.ArtifactID != ids[i] || joined(a.Parts) != texts[a.ArtifactID] {
			t.Errorf("stored %s %q, streamed %s %q", a.ArtifactID, joined(a.Parts), ids[i], texts[ids[i]])
		}
	}
}

func joined(parts []a2a.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Text != nil {
			b.WriteString(*p.Text)
		}
		b.Write(p.Data)
		b.Write(p.Raw)
	}
	return b.String()
}

// TestInvalidEvents: an agent that sends what cannot be sent on fails its task, and the
// client learns no more than what kind of thing it was (decision 30).
func TestInvalidEvents(t *testing.T) {
	two := "text"
	for name, e := range map[string]event.Event{
		"an artifact without an id":                         event.Artifact{TurnID: "t"},
		"an artifact that is not valid":                     event.Artifact{TurnID: "t", Artifact: a2a.Artifact{ArtifactID: "a"}},
		"an answer that is not valid":                       event.Output{TurnID: "t", Parts: []a2a.Part{{Text: &two, Raw: []byte("x")}}},
		"a question without an id":                          event.HITLRequested{TurnID: "t", Prompt: "?"},
		"a question of an unknown mode":                     event.HITLRequested{TurnID: "t", RequestID: "q", Mode: "guess"},
		"a question with a choice that has no id":           event.HITLRequested{TurnID: "t", RequestID: "q", Choices: []event.Choice{{ID: "a"}, {Label: "b"}}},
		"a question with choices only and no choices":       event.HITLRequested{TurnID: "t", RequestID: "q", Mode: "choices"},
		"a tool result whose structured output is not JSON": event.ToolResult{TurnID: "t", CallID: "c", Structured: jsontext.Value(`{"a"`)},
		"an event that cannot be understood":                (*event.Output)(nil),
	} {
		t.Run(name, func(t *testing.T) {
			e := engine(t, Options{Driver: &script{turn: unbatched(start, e, output("late"), end)}})
			rec := task(t, await(t, send(t, e, ask("go"))))
			if rec.Status.State != a2a.TaskStateFailed || text(rec.Status.Message.Parts) != "The agent sent "+name || len(rec.Artifacts) != 0 {
				t.Errorf("%s %q, %d artifacts", rec.Status.State, text(rec.Status.Message.Parts), len(rec.Artifacts))
			}
		})
	}
}

func TestToolMetadata(t *testing.T) {
	e := engine(t, Options{Artifacts: Artifacts{MaxToolOutputBytes: 5}, Driver: &script{turn: plays(start,
		event.LLMRequest{TurnID: "t", SchemaName: "answer"},
		event.ToolResult{TurnID: "t", CallID: "c", Name: "shell", Error: "ääää", Structured: jsontext.Value(`{"code":1}`)},
		event.ToolResult{TurnID: "t", Name: "shell"}, output("x"), end)}})
	a := task(t, await(t, send(t, e, ask("go")))).Artifacts
	if len(a) != 3 {
		t.Fatalf("%d artifacts", len(a))
	}
	if got := text(a[0].Parts); got != "ää\n[truncated: 4 of 8 bytes shown]\n[truncated: structured output of 10 bytes left out]" || len(a[0].Parts) != 1 {
		t.Errorf("%q", got)
	}
	if got := string(a[0].Metadata); got != `{"nexus.artifact.truncated":true,"nexus.tool.callId":"c","nexus.tool.failed":true,"nexus.tool.name":"shell"}` {
		t.Error(got)
	}
	if !strings.HasSuffix(a[0].ArtifactID, "-tool-c") || !strings.HasSuffix(a[1].ArtifactID, "-tool-seq-0") {
		t.Errorf("ids %s, %s", a[0].ArtifactID, a[1].ArtifactID)
	}
	if got := string(a[2].Metadata); got != `{"nexus.output.schema":"answer"}` {
		t.Error(got)
	}
}

// TestTaskBytes: what does not fit is told, chunks leave no gap, the answer is whole.
func TestTaskBytes(t *testing.T) {
	e := engine(t, Options{Artifacts: Artifacts{MaxTaskBytes: 10}, Driver: &script{turn: plays(start,
		artifactEvent("a", "12345", false, false), artifactEvent("b", "123456", false, true),
		artifactEvent("a", "678901", true, false), artifactEvent("a", "2", true, true), artifactEvent("c", "x", false, true),
		output("a long answer"), end)}})
	s := send(t, e, ask("go"))
	frames := all(s.Run.Follow())
	got := words(t, frames)[2:]
	note := "a task may publish 10 bytes besides its answer]"
	want := []string{"artifact 12345", "artifact+. [truncated: " + note, "artifact. x", "artifact. a long answer",
		"artifact. [left out: 1 artifacts; " + note, "COMPLETED"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
