package drivertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve/gen/a2a"
)

// turnParts are what an agent says, and how it gets to the client.
func turnParts() []part {
	return []part{
		{name: "answers", test: answers},
		{name: "order", test: order},
		{name: "chunks", test: chunks},
		{name: "flood", test: flood},
		{name: "several artifacts", test: severalArtifacts},
		{name: "document", test: document},
		{name: "parts", test: parts},
		{name: "tool", test: tool},
		{name: "tool error", test: toolError},
		{name: "file", test: file},
		{name: "reasoning", test: reasoning},
		{name: "usage", test: usage},
		{name: "client leaves", test: clientLeaves},
	}
}

// answers: one conversation, turn after turn.
func answers(t *testing.T, b *Bench) {
	for range 5 {
		task := b.Await(b.Send(in("c", "echo hello")))
		if task.Status.State != a2a.TaskStateCompleted || Answered(task) != "hello" {
			t.Fatalf("%s %q %q", task.Status.State, Answered(task), Said(task))
		}
	}
}

// order: what is said in pieces comes in their order, and whole.
func order(t *testing.T, b *Bench) {
	var text, want strings.Builder
	for _, f := range b.Frames(b.Send(Text("chunks 500 0 ,"))) {
		if f.ArtifactUpdate != nil {
			text.WriteString(*f.ArtifactUpdate.Artifact.Parts[0].Text)
		}
	}
	for i := 1; i <= 500; i++ {
		fmt.Fprintf(&want, "%d,", i)
	}
	if text.String() != want.String() {
		t.Errorf("%q", text.String())
	}
}

// chunks arrive as such: the first begins, the last says so.
func chunks(t *testing.T, b *Bench) {
	var text strings.Builder
	n := 0
	for _, f := range b.Frames(b.Send(Text("chunks 5"))) {
		if u := f.ArtifactUpdate; u != nil {
			if n++; u.Append != (n > 1) || u.LastChunk != (n == 5) {
				t.Errorf("chunk %d: append %t, last %t", n, u.Append, u.LastChunk)
			}
			text.WriteString(*u.Artifact.Parts[0].Text)
		}
	}
	if text.String() != "12345" {
		t.Errorf("%q", text.String())
	}
}

// flood: an agent that outruns the server loses nothing.
func flood(t *testing.T, b *Bench) {
	if got := len(Answered(b.Do("flood 1000"))); got != 1000<<10 {
		t.Errorf("%d bytes", got)
	}
}

func severalArtifacts(t *testing.T, b *Bench) {
	task := b.Do("artifacts 3")
	ids := map[string]bool{}
	for _, a := range task.Artifacts {
		ids[a.ArtifactID] = true
	}
	if len(ids) != 3 || task.Status.State != a2a.TaskStateCompleted {
		t.Errorf("%s, %v", task.Status.State, ids)
	}
}

// document: an answer that is one is not altered.
func document(t *testing.T, b *Bench) {
	const doc = `{"a": [1, 2.50, 9007199254740993], "b": "<ü>"}`
	if got := Answered(b.Do("json " + doc)); got != doc {
		t.Errorf("%q", got)
	}
}

// parts: what is not text reaches the agent and comes back as it was.
func parts(t *testing.T, b *Bench) {
	i := Text("echo this")
	i.Message.Parts = append(i.Message.Parts,
		a2a.Part{Data: a2a.Value(`{"big":9007199254740993}`)}, a2a.Part{Data: a2a.Value(`null`)},
		a2a.Part{Raw: []byte("b\x00\xff"), Filename: "a.bin", MediaType: "application/octet-stream"})
	task := b.Await(b.Send(i))
	if len(task.Artifacts) != 1 || len(task.Artifacts[0].Parts) != 4 {
		t.Fatalf("%s %q: %+v", task.Status.State, Said(task), task.Artifacts)
	}
	p := task.Artifacts[0].Parts
	if *p[0].Text != "this" || string(p[1].Data) != `{"big":9007199254740993}` || string(p[2].Data) != "null" ||
		string(p[3].Raw) != "b\x00\xff" || p[3].Filename != "a.bin" {
		t.Errorf("%+v", p)
	}
}

// tool: a result is an artifact of its own, beside the answer.
func tool(t *testing.T, b *Bench) {
	task := b.Do("tool clock noon")
	var result, answer bool
	for _, a := range task.Artifacts {
		if a.Parts[0].Text == nil {
			continue
		}
		switch text := *a.Parts[0].Text; {
		case a.Name == "clock" && text == "noon":
			result = true
		case strings.Contains(text, "clock said: noon"):
			answer = true
		}
	}
	if task.Status.State != a2a.TaskStateCompleted || !result || !answer || len(task.Artifacts) != 2 {
		t.Errorf("%s: %+v", task.Status.State, task.Artifacts)
	}
}

// toolError: that a tool failed can be told, and nothing lies where it must not.
func toolError(t *testing.T, b *Bench) {
	task := b.Do("file ../outside.txt text")
	if len(task.Artifacts) == 0 || !strings.Contains(string(task.Artifacts[0].Metadata), `"nexus.tool.failed":true`) {
		t.Errorf("%s: %+v", task.Status.State, task.Artifacts)
	}
	if _, err := os.Stat(filepath.Join(b.Engine.Artifacts.FileBaseDir, "..", "outside.txt")); err == nil {
		t.Error("the agent has written outside of its folder")
	}
}

// file: what a tool reports to have written is published.
func file(t *testing.T, b *Bench) {
	task := b.Do("file notes/a.txt some text")
	for _, a := range task.Artifacts {
		for _, p := range a.Parts {
			if string(p.Raw) == "some text" || p.Filename != "" && p.Text != nil && *p.Text == "some text" {
				return
			}
		}
	}
	t.Errorf("%s: %+v", task.Status.State, task.Artifacts)
}

// watched sends a message of somebody who follows its telemetry, and returns the frames.
func (b *Bench) watched(text string) string {
	b.T.Helper()
	i := Text(text)
	i.Telemetry = true
	s := b.Send(i)
	var all strings.Builder
	stream := s.Follow()
	defer stream.Close()
	for i := stream.At; ; {
		frames, wake := stream.From(i)
		for _, f := range frames {
			all.Write(f.JSON)
			if f.Last {
				return all.String()
			}
		}
		if i += len(frames); len(frames) == 0 {
			<-wake
		}
	}
}

func reasoning(t *testing.T, b *Bench) {
	got := b.watched("think 3")
	for _, want := range []string{"step 1", "step 2", "step 3"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

func usage(t *testing.T, b *Bench) {
	if got := b.watched("think 3"); !strings.Contains(got, `"outputTokens":30`) {
		t.Error(got)
	}
}

// clientLeaves: a turn does not depend on the request that began it.
func clientLeaves(t *testing.T, b *Bench) {
	ctx, leave := context.WithCancel(t.Context())
	s, err := b.Engine.Send(ctx, Text("slow 20 hello"))
	if err != nil {
		t.Fatal(err)
	}
	leave()
	if task := b.Await(s); Answered(task) != "hello" {
		t.Errorf("%s %q", task.Status.State, Answered(task))
	}
}
