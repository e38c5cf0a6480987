package agui_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/driver/agui"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

// bench is an engine before an agent that plays every run with play.
func bench(t *testing.T, play func(*stream), o turn.Options, change func(*agui.Options)) (*drivertest.Bench, *agent) {
	a := newAgent(t, play)
	return drivertest.New(t, a.driver(t, change), o), a
}

func TestRequest(t *testing.T) {
	b, a := bench(t, nil, turn.Options{}, func(o *agui.Options) { o.Token = "s3cret" })
	in := drivertest.Text("echo hello")
	in.ContextID, in.TraceParent = "my-context", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for range 2 {
		if task := b.Await(b.Send(in)); drivertest.Answered(task) != "hello" {
			t.Fatalf("%s %q", task.Status.State, drivertest.Answered(task))
		}
	}
	in.Principal = "bob"
	b.Await(b.Send(in))
	runs := a.asked()
	if runs[0].ThreadID != runs[1].ThreadID || runs[0].RunID == runs[1].RunID || runs[0].ThreadID == runs[2].ThreadID {
		t.Errorf("threads and runs: %+v", runs)
	}
	if th := runs[0].ThreadID; strings.Contains(th, "alice") || strings.Contains(th, "my-context") || len(th) != 32 {
		t.Errorf("the thread tells who asks: %q", th)
	}
	if m := runs[0].Messages; len(m) != 1 || m[0].Role != "user" || m[0].Content != "echo hello" || runs[0].Resume != nil {
		t.Errorf("%+v", runs[0])
	}
	if h := a.heads[0]; h.Get("Authorization") != "Bearer s3cret" || h.Get("Accept") != "text/event-stream" || h.Get("Traceparent") == "" {
		t.Errorf("%v", h)
	}
}

// A single session belongs to whoever comes first, and is the same after a restart.
func TestSingleSession(t *testing.T) {
	a := newAgent(t, nil)
	single := func(o *agui.Options) { o.PerContext = false }
	d := a.driver(t, single)
	if id := d.Agent().SessionID; id == "" || id != a.driver(t, single).Agent().SessionID {
		t.Errorf("session %q", id)
	}
	b := drivertest.New(t, d, turn.Options{})
	s := b.Send(drivertest.Text("echo one"))
	b.Await(s)
	if got := a.asked()[0].ThreadID; got != d.Agent().SessionID {
		t.Errorf("thread %q", got)
	}
	other := drivertest.Text("echo two")
	other.Principal, other.ContextID = "bob", "another"
	if _, err := b.Engine.Send(t.Context(), other); err == nil || !strings.Contains(err.Error(), "one conversation") {
		t.Errorf("another caller: %v", err)
	}
}

// Pieces are one answer; what another role says is none; the last message counts.
func TestAnswerInPieces(t *testing.T) {
	b, _ := bench(t, func(s *stream) {
		s.start()
		s.say("system", "cancel notice")
		s.say("assistant", "Let me ", "see.")
		s.send("TOOL_CALL_START", "toolCallId", "c1", "toolCallName", "search")
		s.send("TOOL_CALL_ARGS", "toolCallId", "c1", "delta", `{"q":`)
		s.send("TOOL_CALL_ARGS", "toolCallId", "c1", "delta", `"x"}`)
		s.send("TOOL_CALL_END", "toolCallId", "c1")
		s.send("TOOL_CALL_RESULT", "messageId", "r1", "toolCallId", "c1", "content", "found it")
		s.say("tool", "not an answer")
		s.say("assistant", "It is ", "here.")
		s.finish()
	}, turn.Options{}, nil)
	task := b.Do("find")
	var texts []string
	for _, a := range task.Artifacts {
		texts = append(texts, *a.Parts[0].Text)
	}
	if !slices.Equal(texts, []string{"It is here.", "found it"}) || task.Status.State != a2a.TaskStateCompleted {
		t.Errorf("%s %q", task.Status.State, texts)
	}
	b, _ = bench(t, func(s *stream) {
		s.start()
		s.send("TEXT_MESSAGE_CHUNK", "messageId", "a", "role", "assistant", "delta", "by ")
		s.send("TEXT_MESSAGE_CHUNK", "delta", "chunks")
		s.finish()
	}, turn.Options{}, nil)
	if got := drivertest.Answered(b.Do("x")); got != "by chunks" {
		t.Errorf("%q", got)
	}
}

// What goes on within a turn reaches those who follow its telemetry.
func TestTelemetry(t *testing.T) {
	b, _ := bench(t, func(s *stream) {
		s.start()
		s.send("REASONING_START", "messageId", "r")
		s.send("REASONING_MESSAGE_CONTENT", "messageId", "r", "delta", "I th")
		s.send("REASONING_MESSAGE_CONTENT", "messageId", "r", "delta", "ink")
		s.send("REASONING_END", "messageId", "r")
		s.send("CUSTOM", "name", "subagent.started", "value", map[string]any{"SpawnID": "s1", "Task": "dig"})
		s.send("CUSTOM", "name", "subagent.iteration", "value", map[string]any{"SpawnID": "s1", "Iteration": 1, "Content": "digging"})
		s.send("CUSTOM", "name", "subagent.complete", "value", map[string]any{"SpawnID": "s1", "Result": "gold"})
		s.send("CUSTOM", "name", "subagent.started", "value", "garbage")
		s.send("CUSTOM", "name", "code.exec.stdout", "value", map[string]any{"Line": "x"})
		s.send("TOOL_CALL_START", "toolCallId", "c1", "toolCallName", "search")
		s.send("TOOL_CALL_ARGS", "toolCallId", "c1", "delta", `not JSON`)
		s.send("TOOL_CALL_END", "toolCallId", "c1")
		s.say("assistant", "done")
		s.finish()
	}, turn.Options{}, nil)
	in := drivertest.Text("x")
	in.Telemetry = true
	var all strings.Builder
	frames := b.Send(in).Follow()
	for i, last := frames.At, false; !last; {
		some, wake := frames.From(i)
		for _, f := range some {
			all.Write(f.JSON)
			last = f.Last
		}
		if i += len(some); len(some) == 0 {
			<-wake
		}
	}
	for _, want := range []string{`"content":"I think"`, `"started"`, `"dig"`, `"iteration"`, `"gold"`, `"search"`, `not JSON`} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no %s in %s", want, all.String())
		}
	}
}

// Ends of a run: each with what its client reads.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		play  func(*stream)
		state a2a.TaskState
		said  string
	}{
		"run error":       {func(s *stream) { s.start(); s.send("RUN_ERROR", "message", "model\nbroke s3cret") }, a2a.TaskStateFailed, "model broke [redacted]"},
		"busy":            {func(s *stream) { s.send("RUN_STARTED"); s.send("RUN_ERROR", "message", "a run is active") }, a2a.TaskStateFailed, "a run is active"},
		"error at once":   {func(s *stream) { s.send("RUN_ERROR") }, a2a.TaskStateFailed, "The agent failed"},
		"no end":          {func(s *stream) { s.start(); s.say("assistant", "half") }, a2a.TaskStateFailed, "ended before its run did"},
		"nothing":         {func(s *stream) { s.raw("") }, a2a.TaskStateFailed, "ended before its run did"},
		"connection lost": {func(s *stream) { s.start(); panic(http.ErrAbortHandler) }, a2a.TaskStateFailed, "connection to the agent broke"},
		"cut off":         {func(s *stream) { s.start(); s.raw(`data: {"type":"RUN_FIN`) }, a2a.TaskStateFailed, "ended before its run did"},
		"whole at the end": {func(s *stream) {
			s.start()
			s.say("assistant", "all")
			s.raw(`data: {"type":"RUN_FINISHED"}`)
		}, a2a.TaskStateCompleted, ""},
		"message left open": {func(s *stream) {
			s.start()
			s.send("TEXT_MESSAGE_CONTENT", "messageId", "m", "delta", "all")
			s.finish()
		}, a2a.TaskStateCompleted, ""},
		"unknown types":   {func(s *stream) { s.start(); s.send("BRAND_NEW", "x", 1); s.say("assistant", "all"); s.finish() }, a2a.TaskStateCompleted, ""},
		"no JSON":         {func(s *stream) { s.start(); s.raw("data: <html>\n\n") }, a2a.TaskStateFailed, "no AG-UI event"},
		"no type":         {func(s *stream) { s.start(); s.raw("data: {}\n\n") }, a2a.TaskStateFailed, "no AG-UI event"},
		"wrong member":    {func(s *stream) { s.start(); s.raw("data: {\"type\":\"RUN_ERROR\",\"message\":{}}\n\n") }, a2a.TaskStateFailed, "not valid"},
		"bad bytes":       {func(s *stream) { s.start(); s.raw("data: \xff\xfe\n\n") }, a2a.TaskStateFailed, "no AG-UI event"},
		"too long":        {func(s *stream) { s.start(); s.raw("data: " + strings.Repeat("x", 5000)) }, a2a.TaskStateFailed, "more than 4096 bytes"},
		"empty question":  {func(s *stream) { s.start(); s.send("RUN_FINISHED", "outcome", "interrupt") }, a2a.TaskStateFailed, "cannot be read"},
		"comments":        {func(s *stream) { s.raw(": hi\n\n"); s.start(); s.say("assistant", "all"); s.finish() }, a2a.TaskStateCompleted, ""},
		"no start":        {func(s *stream) { s.say("assistant", "all"); s.finish() }, a2a.TaskStateCompleted, ""},
		"end but no turn": {func(s *stream) { s.send("RUN_FINISHED") }, a2a.TaskStateFailed, "without an answer"},
		"end and usage":   {func(s *stream) { s.send("RUN_FINISHED", "usage", []any{map[string]any{"model": "m"}}) }, a2a.TaskStateFailed, "without an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := bench(t, func(s *stream) {
				if s.text() == "next" {
					s.a.play(s)
					return
				}
				c.play(s)
			}, turn.Options{}, func(o *agui.Options) { o.Token, o.MaxEvent = "s3cret", 4096 })
			in := drivertest.Text("go")
			in.ContextID = "c"
			task := b.Await(b.Send(in))
			if task.Status.State != c.state || !strings.Contains(drivertest.Said(task), c.said) {
				t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
			}
			if c.state == a2a.TaskStateCompleted && drivertest.Answered(task) != "all" {
				t.Errorf("%q", drivertest.Answered(task))
			}
			next := drivertest.Text("next")
			next.ContextID = "c"
			if task := b.Await(b.Send(next)); drivertest.Answered(task) != "next" {
				t.Errorf("the next turn: %s %q", task.Status.State, drivertest.Said(task))
			}
		})
	}
}

// The wedge of a failed model call: its error comes as what the assistant says, and the
// run never ends. The task does, and the connection with it.
func TestRunThatNeverEnds(t *testing.T) {
	gone := make(chan struct{})
	b, _ := bench(t, func(s *stream) {
		s.start()
		s.say("assistant", "[provider] HTTP 400")
		<-s.r.Context().Done()
		close(gone)
	}, turn.Options{SilenceTimeout: 100 * time.Millisecond}, nil)
	if task := b.Do("x"); task.Status.State != a2a.TaskStateFailed || !strings.Contains(drivertest.Said(task), "silent") {
		t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
	}
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Error("the run is still open")
	}
}

// Bytes may come split anywhere.
func TestSplitAnywhere(t *testing.T) {
	b, _ := bench(t, func(s *stream) {
		all := "data: {\"type\":\"RUN_STARTED\"}\r\n\r\ndata: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"Größe 😀\"}\n\ndata: {\"type\":\"RUN_FINISHED\"}\n\n"
		for i := range len(all) {
			s.raw(all[i : i+1])
		}
	}, turn.Options{}, nil)
	if task := b.Do("x"); drivertest.Answered(task) != "Größe 😀" {
		t.Errorf("%s %q", task.Status.State, drivertest.Answered(task))
	}
}

// A question ends its run; the answer begins another, of the same thread.
func TestQuestions(t *testing.T) {
	b, a := bench(t, nil, turn.Options{}, nil)
	s := b.Send(drivertest.Text("ask colour? [red|blue]"))
	b.Await(s)
	if task := b.Await(b.Answer(s, "Blue")); drivertest.Answered(task) != "You said: blue" {
		t.Errorf("%s %q", task.Status.State, drivertest.Answered(task))
	}
	runs := a.asked()
	if len(runs) != 2 || runs[0].ThreadID != runs[1].ThreadID || runs[0].RunID == runs[1].RunID || len(runs[1].Messages) != 0 ||
		len(runs[1].Resume) != 1 || string(runs[1].Resume[0].Payload) != `{"choiceId":"blue"}` {
		t.Errorf("%+v", runs)
	}
	// The agent may have forgotten the question.
	s = b.Send(drivertest.Text("ask anything?"))
	b.Await(s)
	a.mu.Lock()
	clear(a.parked)
	a.mu.Unlock()
	if task := b.Await(b.Answer(s, "yes")); task.Status.State != a2a.TaskStateFailed || drivertest.Said(task) != "no such interrupt" {
		t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
	}
}

// All questions of a run are answered in one request.
func TestSeveralQuestions(t *testing.T) {
	b, a := bench(t, func(s *stream) {
		s.start()
		if len(s.in.Resume) > 0 {
			s.say("assistant", fmt.Sprint(len(s.in.Resume), " answers"))
			s.finish()
			return
		}
		s.send("RUN_FINISHED", "outcome", map[string]any{"type": "interrupt"}, "result", []any{
			map[string]any{"interruptId": "1", "prompt": "first?"},
			map[string]any{"interruptId": "2", "prompt": "second?", "mode": "unheard-of", "choices": []any{map[string]any{"id": "a"}}},
		})
	}, turn.Options{}, nil)
	s := b.Send(drivertest.Text("x"))
	b.Await(s)
	b.Await(b.Answer(s, "a"))
	if task := b.Await(b.Answer(s, "one")); drivertest.Answered(task) != "2 answers" {
		t.Errorf("%s %q", task.Status.State, drivertest.Answered(task))
	}
	if n := len(a.asked()); n != 2 {
		t.Errorf("%d runs", n)
	}
}

// Replies that are no run.
func TestRefusals(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the message went elsewhere") }))
	defer elsewhere.Close()
	for name, c := range map[string]struct {
		play func(*stream)
		said string
	}{
		"401":        {func(s *stream) { http.Error(s.w, "hidden", http.StatusUnauthorized) }, "credentials"},
		"503":        {func(s *stream) { http.Error(s.w, "hidden", http.StatusServiceUnavailable) }, "busy"},
		"500":        {func(s *stream) { http.Error(s.w, "hidden", http.StatusInternalServerError) }, "refused the message"},
		"JSON":       {func(s *stream) { s.w.Header().Set("Content-Type", "application/json"); s.w.Write([]byte("{}")) }, "no stream of events"},
		"elsewhere":  {func(s *stream) { http.Redirect(s.w, s.r, elsewhere.URL, http.StatusTemporaryRedirect) }, "another address"},
		"by GET":     {func(s *stream) { http.Redirect(s.w, s.r, "/other", http.StatusSeeOther) }, "another address"},
		"in circles": {func(s *stream) { http.Redirect(s.w, s.r, "/agui", http.StatusTemporaryRedirect) }, "another address"},
		"slow start": {func(s *stream) { <-s.r.Context().Done() }, "did not begin within"},
		"slow event": {func(s *stream) { s.raw(": hi\n\n"); <-s.r.Context().Done() }, "did not begin within"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := bench(t, c.play, turn.Options{}, func(o *agui.Options) {
				if strings.HasPrefix(name, "slow") {
					o.StartTimeout = 50 * time.Millisecond
				}
			})
			task := b.Do("x")
			if task.Status.State != a2a.TaskStateFailed || !strings.Contains(drivertest.Said(task), c.said) || strings.Contains(drivertest.Said(task), "hidden") {
				t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
			}
		})
	}
	t.Run("same host", func(t *testing.T) {
		b, _ := bench(t, func(s *stream) {
			if s.r.URL.Path == "/agui" {
				http.Redirect(s.w, s.r, "/moved", http.StatusPermanentRedirect)
				return
			}
			s.a.play(s)
		}, turn.Options{}, nil)
		if got := drivertest.Answered(b.Do("echo moved")); got != "moved" {
			t.Errorf("%q", got)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		d := agui.New(agui.Options{URL: "http://" + l.Addr().String(), PerContext: true})
		defer d.Close()
		if task := drivertest.New(t, d, turn.Options{}).Do("x"); task.Status.State != a2a.TaskStateFailed || !strings.Contains(drivertest.Said(task), "could not be reached") {
			t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
		}
	})
}

// A run that stays unfinished cannot fill the memory; peculiarities are logged once.
func TestBounds(t *testing.T) {
	b, _ := bench(t, func(s *stream) {
		s.start()
		piece := strings.Repeat("x", 900_000)
		for i := 0; i < 100 && s.r.Context().Err() == nil; i++ {
			s.send("TOOL_CALL_START", "toolCallId", fmt.Sprint(i), "toolCallName", "t")
			s.send("TOOL_CALL_ARGS", "toolCallId", fmt.Sprint(i), "delta", piece)
		}
		<-s.r.Context().Done()
	}, turn.Options{}, nil)
	if task := b.Do("x"); task.Status.State != a2a.TaskStateFailed || !strings.Contains(drivertest.Said(task), "unfinished") {
		t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
	}
	var log lines
	b, _ = bench(t, func(s *stream) {
		s.start()
		for i := range 1000 {
			s.send("NEW_" + fmt.Sprint(i%2))
		}
		s.say("assistant", "ok")
		s.finish()
	}, turn.Options{}, func(o *agui.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	b.Do("x")
	if n := strings.Count(log.String(), "NEW_"); n != 2 {
		t.Errorf("%d lines: %s", n, log.String())
	}
}

// lines is a log that several goroutines write.
type lines struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
