package demo

import (
	"log/slog"
	"strings"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func bench(t *testing.T, o turn.Options) *drivertest.Bench {
	t.Helper()
	dir := t.TempDir()
	d := New(Options{FileBaseDir: dir, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(d.Close)
	if o.Artifacts.MaxFileBytes == 0 {
		o.Artifacts = turn.DefaultArtifacts()
	}
	o.Artifacts.FileBaseDir = dir
	return drivertest.New(t, d, o)
}

func TestCommands(t *testing.T) {
	completed, failed := a2a.TaskStateCompleted, a2a.TaskStateFailed
	for _, c := range []struct {
		send      string
		state     a2a.TaskState
		answer    string // of the first artifact
		artifacts int
		said      string // in the status message
	}{
		{send: "hello there", state: completed, answer: "hello there", artifacts: 1},
		{send: "echo hello", state: completed, answer: "hello", artifacts: 1},
		{send: "slow 1 waited", state: completed, answer: "waited", artifacts: 1},
		{send: "slow soon", state: completed, answer: "usage: slow N [TEXT], N milliseconds (N from 0 to 3600000)", artifacts: 1},
		{send: "chunks 3", state: completed, answer: "123", artifacts: 1},
		{send: "chunks 3 0 x", state: completed, answer: "1x2x3x", artifacts: 1},
		{send: "artifacts 5", state: completed, answer: "content of artifact 1", artifacts: 5},
		{send: `json {"a":[1,2]}`, state: completed, answer: `{"a":[1,2]}`, artifacts: 1},
		{send: "tool clock noon", state: completed, answer: "noon", artifacts: 2},
		{send: "bigtool 10", state: completed, answer: "xxxxxxxxxx", artifacts: 2},
		{send: "file notes/a.txt some text", state: completed, answer: "written", artifacts: 3},
		{send: "file ../a.txt some text", state: completed, artifacts: 2},
		{send: "think 3", state: completed, answer: "thought 3 times", artifacts: 1},
		{send: "ask colour?", state: a2a.TaskStateInputRequired, said: "colour?"},
		{send: "ask colour? [red|blue]", state: a2a.TaskStateInputRequired, said: "colour?\n- red\n- blue"},
		{send: "auth", state: a2a.TaskStateAuthRequired, said: "Please authorise this agent, then send any message"},
		{send: "fail so be it", state: failed, said: "so be it"},
		{send: "error-once fine", state: completed, answer: "fine", artifacts: 1},
		{send: "reject not this", state: a2a.TaskStateRejected, said: "not this"},
		{send: "panic-after 1", state: failed, said: "The agent could not be run"},
		{send: "rogue", state: completed, answer: "the answer", artifacts: 1},
		{send: "tck-complete-task hi", state: completed, answer: "Hello from TCK", artifacts: 1},
		{send: "tck-artifact-file x", state: completed, artifacts: 1},
		{send: "tck-artifact-data x", state: completed, artifacts: 1},
		{send: "tck-stream-chunked x", state: completed, answer: "chunk-1 chunk-2", artifacts: 1},
		{send: "tck-multi-turn x", state: a2a.TaskStateInputRequired},
		{send: "tck-reject-task x", state: a2a.TaskStateRejected, said: "rejected"},
		{send: "tck-task-failure x", state: failed, said: "Failed as the suite asks"},
	} {
		t.Run(c.send, func(t *testing.T) {
			t.Parallel()
			b := bench(t, turn.Options{})
			task := b.Do(c.send)
			if task.Status.State != c.state || len(task.Artifacts) != c.artifacts {
				t.Errorf("%s with %d artifacts, want %s with %d", task.Status.State, len(task.Artifacts), c.state, c.artifacts)
			}
			if got := drivertest.Answered(task); c.answer != "" && got != c.answer {
				t.Errorf("answered %q, want %q", got, c.answer)
			}
			if got := drivertest.Said(task); got != c.said {
				t.Errorf("said %q, want %q", got, c.said)
			}
		})
	}
}

func TestDirectAnswersMakeNoTask(t *testing.T) {
	b := bench(t, turn.Options{})
	for send, want := range map[string]string{
		"direct good day":            "good day",
		"tck-message-response hello": "Direct message response",
	} {
		s := b.Send(drivertest.Text(send))
		if s.Run != nil || s.Message == nil || *s.Message.Parts[0].Text != want {
			t.Errorf("%s: %+v", send, s)
			continue
		}
		if m := s.Message; m.Role != a2a.RoleAgent || m.MessageID == "" || m.TaskID != "" || m.ContextID != "" {
			t.Errorf("%s: %+v", send, m)
		}
	}
}

func TestAskAgain(t *testing.T) {
	b := bench(t, turn.Options{})
	s := b.Send(drivertest.Text("ask first?"))
	b.Await(s)
	s = b.Answer(s, "ask second? [Yes|No]")
	if task := b.Await(s); drivertest.Said(task) != "second?\n- Yes\n- No" {
		t.Fatalf("asked %q", drivertest.Said(task))
	}
	task := b.Await(b.Answer(s, " yes "))
	if got := drivertest.Answered(task); got != "You said: Yes" {
		t.Errorf("answered %q", got)
	}
	if len(task.History) != 5 {
		t.Errorf("%d messages in the history", len(task.History))
	}
}

func TestTheSuitesConversation(t *testing.T) {
	b := bench(t, turn.Options{})
	s := b.Send(drivertest.Text("tck-multi-turn start"))
	b.Await(s)
	s = b.Answer(s, "more")
	if task := b.Await(s); task.Status.State != a2a.TaskStateInputRequired {
		t.Fatalf("%s after the second message", task.Status.State)
	}
	task := b.Await(b.Answer(s, "done"))
	if task.Status.State != a2a.TaskStateCompleted || len(task.History) != 3 {
		t.Errorf("%s with %d messages", task.Status.State, len(task.History))
	}
}

func TestPartsByMessageID(t *testing.T) {
	b := bench(t, turn.Options{})
	in := drivertest.Text("anything")
	in.Message.MessageID = "tck-artifact-file-url-17"
	task := b.Await(b.Send(in))
	if p := task.Artifacts[0].Parts[0]; p.URL == nil || *p.URL != "https://example.com/output.txt" {
		t.Errorf("%+v", p)
	}
}

func TestMediaTypes(t *testing.T) {
	b := bench(t, turn.Options{})
	for mediaType, ok := range map[string]bool{
		"": true, "text/plain; charset=utf-8": true, "image/png": true, "application/json": true,
		"application/octet-stream": true, "video/mp4": false, "application/pdf": false,
	} {
		in := drivertest.Text("echo x")
		in.Message.Parts = append(in.Message.Parts, a2a.Part{Raw: []byte{1}, MediaType: mediaType})
		if _, err := b.Engine.Send(t.Context(), in); (err == nil) != ok {
			t.Errorf("%q: %v", mediaType, err)
		}
	}
	in := drivertest.Text("echo x")
	in.Message.Parts[0].Metadata = a2a.Struct(`{"contentType":"application/x-unknown"}`)
	if _, err := b.Engine.Send(t.Context(), in); err == nil || !strings.Contains(err.Error(), "ContentTypeNotSupportedError") {
		t.Errorf("named in metadata: %v", err)
	}
}

func TestEchoGivesPartsBack(t *testing.T) {
	b := bench(t, turn.Options{})
	in := drivertest.Text("echo this")
	in.Message.Parts = append(in.Message.Parts,
		a2a.Part{Data: a2a.Value(`{"big":9007199254740993}`)}, a2a.Part{Data: a2a.Value(`null`)},
		a2a.Part{Raw: []byte("bytes"), Filename: "a.bin", MediaType: "application/octet-stream"})
	parts := b.Await(b.Send(in)).Artifacts[0].Parts
	if len(parts) != 4 || *parts[0].Text != "this" || string(parts[1].Data) != `{"big":9007199254740993}` ||
		string(parts[2].Data) != "null" || string(parts[3].Raw) != "bytes" {
		t.Errorf("%+v", parts)
	}
}

func TestFloodIsWhole(t *testing.T) {
	b := bench(t, turn.Options{})
	if got := len(drivertest.Answered(b.Do("flood 2000"))); got != 2000<<10 {
		t.Errorf("%d bytes", got)
	}
	b = bench(t, turn.Options{Artifacts: turn.Artifacts{MaxFileBytes: 1, MaxAnswerBytes: 10_000}})
	// No more than is borne of an agent that goes on and on: more is failed somewhere on the way.
	if got := drivertest.Answered(b.Do("flood 80")); !strings.HasSuffix(got, "\n[truncated: 10000 of 81920 bytes shown]") || len(got) > 10_100 {
		t.Errorf("%d bytes, ends %q", len(got), got[len(got)-60:])
	}
}
