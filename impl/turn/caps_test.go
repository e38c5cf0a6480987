package turn

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json/jsontext"
)

// answerIn is the answer's artifact in chunks that the agent makes itself.
func answerIn(in Input, chunks ...string) []event.Event {
	var es []event.Event
	for i, c := range chunks {
		es = append(es, artifactEvent(in.TaskID+"-response", c, i > 0, i == len(chunks)-1))
	}
	return es
}

// TestAnswerBytes: a long answer is cut between characters, however it comes, and whoever
// followed it and whoever reads it see the same cut.
func TestAnswerBytes(t *testing.T) {
	const whole = "ääääääää" // 16 bytes
	one := whole
	for name, play := range map[string]func(in Input) []event.Event{
		"at once":          func(Input) []event.Event { return []event.Event{output(whole)} },
		"in pieces":        func(Input) []event.Event { return []event.Event{delta("äää\xc3"), delta("\xa4ä"), delta("äää")} },
		"pieces and whole": func(Input) []event.Event { return []event.Event{delta("ääää"), delta("ää"), output(whole)} },
		"the model's":      func(Input) []event.Event { return []event.Event{event.LLMResponse{TurnID: "t", Content: whole}} },
		"in parts": func(Input) []event.Event {
			return []event.Event{event.Output{TurnID: "t", Role: "assistant", Parts: []a2a.Part{{Text: &one}}}}
		},
		"in the agent's chunks":           func(in Input) []event.Event { return answerIn(in, "äää", "äää", "ää") },
		"in the agent's chunks, unclosed": func(in Input) []event.Event { return answerIn(in, "äää", "äää", "ää", "")[:3] },
	} {
		t.Run(name, func(t *testing.T) {
			j := newMemory()
			e := engine(t, Options{Journal: j, Artifacts: Artifacts{MaxAnswerBytes: 11, MaxTaskBytes: 1}, Driver: &script{
				turn: func(ctx context.Context, in Input, l *Line) error {
					return unbatched(append(append([]event.Event{start}, play(in)...), end)...)(ctx, in, l)
				}}})
			s := send(t, e, ask("go"))
			frames := all(s.Run.Follow())
			done := task(t, j.get(s.Record.ID))
			if len(done.Artifacts) != 1 || done.Status.State != a2a.TaskStateCompleted {
				t.Fatalf("%s, %+v", done.Status.State, done.Artifacts)
			}
			a := done.Artifacts[0]
			got := joined(a.Parts)
			kept, note, cut := strings.Cut(strings.ReplaceAll(got, "\n", ""), "[truncated: ")
			if !cut || note != "10 of 16 bytes shown]" || kept != "äääää" || !utf8.ValidString(got) {
				t.Errorf("%q", got)
			}
			if !strings.Contains(string(a.Metadata), `"nexus.artifact.truncated":true`) {
				t.Errorf("metadata %s", a.Metadata)
			}
			agree(t, frames, j.get(s.Record.ID))
		})
	}
}

// TestLargePartsOfAnAnswer are left out whole, and the note counts them.
func TestLargePartsOfAnAnswer(t *testing.T) {
	small := "small"
	e := engine(t, Options{Artifacts: Artifacts{MaxAnswerBytes: 20}, Driver: &script{turn: plays(start, event.Output{TurnID: "t",
		Role: "assistant", Parts: []a2a.Part{{Text: &small}, {Raw: make([]byte, 30), MediaType: "image/png"}, {Text: &small}}}, end)}})
	a := task(t, await(t, send(t, e, ask("go")))).Artifacts
	if len(a) != 1 || len(a[0].Parts) != 2 || joined(a[0].Parts) != "small[truncated: 5 of 40 bytes shown]" {
		t.Errorf("%+v", a)
	}
}

// TestEndless: an agent that goes on long after the bounds is stopped, and what it said up
// to them stays. What comes at once is only cut.
func TestEndless(t *testing.T) {
	chunk := func(in Input, i int) event.Event {
		return artifactEvent(in.TaskID+"-response", "0123456789", i > 0, false)
	}
	for name, next := range map[string]func(in Input, i int) event.Event{
		"answer":             func(Input, int) event.Event { return delta("0123456789") },
		"agent's own chunks": chunk,
		"artifacts":          func(_ Input, i int) event.Event { return artifactEvent(fmt.Sprint("a", i), "0123456789", false, true) },
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan event.Event, 4)
			e := engine(t, Options{Artifacts: Artifacts{MaxAnswerBytes: 20, MaxTaskBytes: 20}, Driver: &script{
				turn: func(ctx context.Context, in Input, l *Line) error {
					for i, on := 0, says(l, start); on; i++ {
						on = says(l, next(in, i))
					}
					for {
						ev, ok := l.Next(ctx)
						if !ok {
							return nil
						}
						told <- ev
					}
				}}})
			done := task(t, await(t, send(t, e, ask("go"))))
			if done.Status.State != a2a.TaskStateFailed || !strings.Contains(text(done.Status.Message.Parts), "went on long after") {
				t.Errorf("%s", done.Status.State)
			}
			var note string
			for _, p := range done.Artifacts[len(done.Artifacts)-1].Parts {
				note += *p.Text
			}
			if len(done.Artifacts) > 3 || !strings.Contains(note, "[truncated: 20 of ") && !strings.Contains(note, "[left out: ") {
				t.Errorf("%d artifacts, the last %q", len(done.Artifacts), note)
			}
			if ev := <-told; ev.EventType() != "cancel.request" {
				t.Errorf("the agent is told %s", ev.EventType())
			}
		})
	}
	large := strings.Repeat("x", 1000)
	e := engine(t, Options{Artifacts: Artifacts{MaxAnswerBytes: 20}, Driver: &script{turn: unbatched(start, output(large), end)}})
	if done := task(t, await(t, send(t, e, ask("go")))); done.Status.State != a2a.TaskStateCompleted {
		t.Errorf("at once: %s", done.Status.State)
	}
}

// TestEndlessErrors: an agent that reports errors and goes on does not fill the log.
func TestEndlessErrors(t *testing.T) {
	var log bytes.Buffer
	es := []event.Event{start}
	for range 1000 {
		es = append(es, event.CoreError{TurnID: "t", Message: strings.Repeat("x", 10<<10), Retryable: true})
	}
	e := engine(t, Options{Logger: debugLog(&log), Driver: &script{turn: plays(append(es, end)...)}})
	if done := task(t, await(t, send(t, e, ask("go")))); done.Status.State != a2a.TaskStateCompleted {
		t.Error(done.Status.State)
	}
	if n := strings.Count(log.String(), "reports an error"); n != maxErrors || log.Len() > 1<<20 || !strings.Contains(log.String(), "reports more errors") {
		t.Errorf("%d errors, %d bytes of log", n, log.Len())
	}
}

// TestAFirstChunkWithoutRoom is told of at the end, and what follows it is left out too.
func TestAFirstChunkWithoutRoom(t *testing.T) {
	small := "small"
	for _, last := range []bool{true, false} {
		e := engine(t, Options{Artifacts: Artifacts{MaxAnswerBytes: 20}, Driver: &script{turn: func(ctx context.Context, in Input, l *Line) error {
			chunk := event.Artifact{TurnID: "t", Artifact: a2a.Artifact{ArtifactID: in.TaskID + "-response", Parts: []a2a.Part{{Raw: make([]byte, 30)}}}}
			next := event.Artifact{TurnID: "t", Append: true, LastChunk: last, Artifact: a2a.Artifact{ArtifactID: in.TaskID + "-response", Parts: []a2a.Part{{Text: &small}}}}
			return plays(start, chunk, next, end)(ctx, in, l)
		}}})
		s := send(t, e, ask("go"))
		w := words(t, all(s.Run.Follow()))
		if want := []string{"artifact. [truncated: 0 of 35 bytes shown]", "COMPLETED"}; !slices.Equal(w[2:], want) {
			t.Errorf("%q", w)
		}
	}
}

// TestATruncatedDocument is not passed off as one.
func TestATruncatedDocument(t *testing.T) {
	e := engine(t, Options{Artifacts: Artifacts{MaxAnswerBytes: 7}, Driver: &script{turn: plays(start, output(`{"a":1}      `), end)}})
	if a := task(t, await(t, send(t, e, ask("go")))).Artifacts[0]; len(a.Parts) != 1 || a.Parts[0].Data != nil {
		t.Errorf("%+v", a.Parts)
	}
}

// TestDocuments: which answers carry a document besides their text.
func TestDocuments(t *testing.T) {
	for said, want := range map[string]string{
		`{"a":1}`:                            `{"a":1}`,
		" \n[1, 2]\n":                        `[1,2]`,
		"```json\n{\"a\": 1}\n```":           `{"a":1}`,
		"```\r\n[1]\r\n```\n":                `[1]`,
		`{"big":9007199254740993}`:           `{"big":9007199254740993}`,
		"```json\n{}\n```\n```json\n{}\n```": "",
		"so: {\"a\":1}":                      "",
		"```json\n{\"a\":1}":                 "",
		`"text"`:                             "", `17`: "", `null`: "", `{"a":1}{"b":2}`: "", `{"a":1,"a":2}`: "", `{'a':1}`: "",
	} {
		e := engine(t, Options{Driver: &script{turn: plays(start, output(said), end)}})
		parts := task(t, await(t, send(t, e, ask("go")))).Artifacts[0].Parts
		got := ""
		if len(parts) == 2 {
			got = string(parts[1].Data)
		}
		if text(parts) != said || got != want || len(parts) > 2 || got != "" && parts[1].MediaType != "application/json" {
			t.Errorf("%q: %d parts, %q", said, len(parts), got)
		}
	}
}

// TestEveryToolResultIsThere: agents reuse call ids, and no result may hide another.
func TestEveryToolResultIsThere(t *testing.T) {
	j := newMemory()
	events := []event.Event{start}
	for i, id := range []string{"call_0", "call_0", "", "call_0-2", "call_0", "seq-0"} {
		events = append(events, event.ToolResult{TurnID: "t", CallID: id, Name: "n", Output: fmt.Sprint(i)})
	}
	e := engine(t, Options{Journal: j, Driver: &script{turn: plays(append(events, end)...)}})
	s := send(t, e, ask("go"))
	frames := all(s.Run.Follow())
	var ids, said []string
	for _, a := range task(t, j.get(s.Record.ID)).Artifacts {
		ids, said = append(ids, strings.TrimPrefix(a.ArtifactID, s.Record.ID+"-tool-")), append(said, text(a.Parts))
	}
	if want := []string{"call_0", "call_0-2", "seq-0", "call_0-2-2", "call_0-3", "seq-0-2"}; !slices.Equal(ids, want) {
		t.Errorf("ids %q", ids)
	}
	if want := []string{"0", "1", "2", "3", "4", "5"}; !slices.Equal(said, want) {
		t.Errorf("said %q", said)
	}
	agree(t, frames, j.get(s.Record.ID))
}

// TestOneTruncationNote: weak spot 21. However much is left out, one note counts it, and
// no view of the task has an id twice.
func TestOneTruncationNote(t *testing.T) {
	j := newMemory()
	events := []event.Event{start, delta("the ans")}
	for i := range 50 {
		events = append(events, event.ToolResult{TurnID: "t", CallID: fmt.Sprint(i), Name: "n", Output: strings.Repeat("x", 300)})
	}
	e := engine(t, Options{Journal: j, Artifacts: Artifacts{MaxTaskBytes: 1000}, Driver: &script{turn: plays(append(events, output("the answer"), end)...)}})
	s := send(t, e, ask("go"))
	frames := all(s.Run.Follow())
	blocking, _ := s.Run.Snapshot()
	for _, rec := range []Record{j.get(s.Record.ID), blocking} {
		seen := map[string]int{}
		var note, answer a2a.Artifact
		for _, a := range task(t, rec).Artifacts {
			seen[a.ArtifactID]++
			switch a.ArtifactID {
			case rec.ID + "-artifacts-truncated":
				note = a
			case rec.ID + "-response":
				answer = a
			}
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s is there %d times", id, n)
			}
		}
		left := 50 - (len(seen) - 2)
		if left < 46 || !strings.Contains(text(note.Parts), fmt.Sprintf("[left out: %d artifacts", left)) ||
			string(note.Metadata) != fmt.Sprintf(`{"nexus.artifact.suppressedCount":%d}`, left) {
			t.Errorf("%d left out: %q, %s", left, text(note.Parts), note.Metadata)
		}
		if joined(answer.Parts) != "the answer" {
			t.Errorf("answer %q", joined(answer.Parts))
		}
	}
	agree(t, frames, j.get(s.Record.ID))
}

// TestAFailedTool: its output and its error are both there to read.
func TestAFailedTool(t *testing.T) {
	e := engine(t, Options{Driver: &script{turn: plays(start, event.ToolResult{TurnID: "t", CallID: "c", Output: "half", Error: "broke"}, end)}})
	if a := task(t, await(t, send(t, e, ask("go")))).Artifacts[0]; text(a.Parts) != "half\nbroke" || !strings.Contains(string(a.Metadata), `"nexus.tool.failed":true`) {
		t.Errorf("%q, %s", text(a.Parts), a.Metadata)
	}
}

// TestTextOnly: neither documents nor file contents where only text is accepted; what
// there would be is told.
func TestTextOnly(t *testing.T) {
	url := "https://example.com/a.png"
	e := engine(t, Options{Driver: &script{turn: plays(start,
		event.Artifact{TurnID: "t", LastChunk: true, Artifact: a2a.Artifact{ArtifactID: "a", Parts: []a2a.Part{
			{Data: jsontext.Value(`{"a":1}`)}, {Raw: []byte("abc"), Filename: "a.txt", MediaType: "text/plain"}, {URL: &url, MediaType: "image/png"},
		}}}, end)}})
	in := ask("go")
	in.AcceptedOutputModes = []string{"text/plain"}
	a := task(t, await(t, send(t, e, in))).Artifacts[0]
	want := `{"a":1}[left out: file a.txt of 3 bytes, text/plain; the request does not accept it]` +
		`[left out: a file at https://example.com/a.png, image/png; the request does not accept it]`
	if joined(a.Parts) != want {
		t.Errorf("%q", joined(a.Parts))
	}
	for _, p := range a.Parts {
		if p.Text == nil {
			t.Errorf("%+v", p)
		}
	}
}

// TestLongWords: reasons and questions of any length are told, cut where they must be.
func TestLongWords(t *testing.T) {
	long := strings.Repeat("ä", 100_000)
	for _, ev := range []event.Event{
		event.CoreError{TurnID: "t", Fatal: true, Message: long},
		event.TurnRejected{TurnID: "t", Reason: long},
		event.HITLRequested{TurnID: "t", RequestID: "q", Prompt: long},
		event.AuthRequired{TurnID: "t", RequestID: "q", Prompt: long},
	} {
		e := engine(t, Options{Driver: &script{turn: func(ctx context.Context, _ Input, l *Line) error {
			says(l, start, ev)
			l.Next(ctx)
			return nil
		}}})
		said := text(task(t, await(t, send(t, e, ask("go")))).Status.Message.Parts)
		if len(said) > maxPrompt+100 || !strings.HasSuffix(said, " of 200000 bytes shown]") || !utf8.ValidString(said) {
			t.Errorf("%T: %d bytes, ends %q", ev, len(said), said[max(0, len(said)-40):])
		}
	}
}
