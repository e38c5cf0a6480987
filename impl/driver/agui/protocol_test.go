package agui_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/driver/agui"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

// telemetry is all that a follower reads of a turn.
func telemetry(b *drivertest.Bench) string {
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
	return all.String()
}

// What comes in chunks is whole once something else follows, and not before.
func TestChunks(t *testing.T) {
	b, _ := bench(t, func(s *stream) {
		s.start()
		s.send("REASONING_MESSAGE_CHUNK", "messageId", "r", "delta", "I th")
		s.send("REASONING_MESSAGE_CHUNK", "delta", "ink")
		s.send("REASONING_MESSAGE_CHUNK", "messageId", "r2", "delta", "so I am")
		s.send("TOOL_CALL_CHUNK", "toolCallId", "c1", "toolCallName", "search", "delta", `{"q":`, "parentMessageId", nil)
		s.send("RAW", "event", map[string]any{}, "source", "x")
		s.send("ACTIVITY_SNAPSHOT", "messageId", "a", "activityType", "PLAN", "content", map[string]any{})
		s.send("TOOL_CALL_CHUNK", "delta", `"one"}`)
		s.send("TOOL_CALL_CHUNK", "toolCallId", "c2", "toolCallName", "fetch", "delta", `{"u":2}`)
		s.send("TEXT_MESSAGE_CHUNK", "messageId", "m1", "delta", "Let me see.")
		s.send("TOOL_CALL_RESULT", "messageId", "x", "toolCallId", "c1", "content", "found")
		s.send("TOOL_CALL_CHUNK", "delta", "of no call")
		s.send("TEXT_MESSAGE_CHUNK", "messageId", "m2", "role", "assistant", "delta", "It is ")
		s.send("TEXT_MESSAGE_CHUNK", "delta", "here.")
		s.send("TEXT_MESSAGE_CHUNK", "messageId", "m3", "role", "system", "delta", "not an answer")
		s.finish()
	}, turn.Options{}, nil)
	all := telemetry(b)
	for _, want := range []string{`"content":"I think"`, `"content":"so I am"`, `{"q":"one"}`, `"fetch"`, `{"u":2}`} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in %s", want, all)
		}
	}
	task := b.Do("x")
	if got := drivertest.Answered(task); got != "It is here." || len(task.Artifacts) != 2 {
		t.Errorf("%q %d", got, len(task.Artifacts))
	}
}

// Reasoning under its older names, and what a run has cost.
func TestThinkingAndUsage(t *testing.T) {
	var log lines
	b, _ := bench(t, func(s *stream) {
		s.start()
		s.send("THINKING_START", "title", "hm")
		s.send("THINKING_TEXT_MESSAGE_START")
		s.send("THINKING_TEXT_MESSAGE_CONTENT", "delta", "I th")
		s.send("THINKING_TEXT_MESSAGE_CONTENT", "delta", "ink")
		s.send("THINKING_TEXT_MESSAGE_END")
		s.send("THINKING_END")
		s.send("REASONING_ENCRYPTED_VALUE", "subtype", "message", "entityId", "m", "encryptedValue", "0000")
		s.say("assistant", "done")
		s.send("RUN_FINISHED", "outcome", nil, "usage", []any{
			map[string]any{"provider": "p", "model": "small", "inputTokens": 11, "outputTokens": 7, "reasoningTokens": 3, "cachedInputTokens": 2},
		})
	}, turn.Options{}, func(o *agui.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	all := telemetry(b)
	for _, want := range []string{`"content":"I think"`, `"small"`, `"inputTokens":11`, `"outputTokens":7`, `"reasoningTokens":3`, `"cachedInputTokens":2`, "TASK_STATE_COMPLETED"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in %s", want, all)
		}
	}
	if log.String() != "" {
		t.Error(log.String())
	}
}

// What changes nothing shows that the agent is alive: the task waits for longer than it
// may be silent.
func TestSignsOfLife(t *testing.T) {
	for name, say := range map[string]func(*stream){
		"states":    func(s *stream) { s.send("STATE_DELTA", "delta", []any{}) },
		"steps":     func(s *stream) { s.send("STEP_STARTED", "stepName", "x") },
		"arguments": func(s *stream) { s.send("TOOL_CALL_ARGS", "toolCallId", "c", "delta", "1") },
		"unknown":   func(s *stream) { s.send("BRAND_NEW") },
		"custom":    func(s *stream) { s.send("CUSTOM", "name", "progress") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const silence = 400 * time.Millisecond
			b, _ := bench(t, func(s *stream) {
				s.start()
				for end := time.Now().Add(2 * silence); time.Now().Before(end); {
					say(s)
					if !s.pause("20") {
						return
					}
				}
				s.say("assistant", "done")
				s.finish()
			}, turn.Options{SilenceTimeout: silence}, nil)
			if task := b.Do("x"); drivertest.Answered(task) != "done" {
				t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
			}
		})
	}
}

// A run that was stopped at the agent is a cancelled task, not an answer.
func TestCancelledAtTheAgent(t *testing.T) {
	for _, outcome := range []any{"cancelled", map[string]any{"type": "cancelled"}} {
		b, _ := bench(t, func(s *stream) {
			s.start()
			s.send("RUN_FINISHED", "outcome", outcome)
		}, turn.Options{}, nil)
		if task := b.Do("x"); task.Status.State != a2a.TaskStateCanceled {
			t.Errorf("%s", task.Status.State)
		}
	}
}

// Questions as the protocol has them: how each may be answered, and what the agent gets.
func TestStandardInterrupts(t *testing.T) {
	approval := map[string]any{"type": "object", "required": []any{"approved"}, "properties": map[string]any{
		"approved": map[string]any{"type": "boolean"}, "editedArgs": map[string]any{"type": "object"},
	}}
	for name, c := range map[string]struct {
		reason                   string
		schema                   any
		answer, payload, refused string
	}{
		"words":          {"input_required", nil, "in words", `"in words"`, ""},
		"boolean":        {"x", map[string]any{"type": "boolean"}, "YES", `true`, "maybe"},
		"confirmation":   {"confirmation", nil, "no", `false`, "maybe"},
		"approval":       {"tool_call", approval, "Yes", `{"approved":true}`, ""},
		"with edits":     {"tool_call", approval, `{"approved":true,"editedArgs":{"to":"x"}}`, `{"approved":true,"editedArgs":{"to":"x"}}`, ""},
		"enumeration":    {"x", map[string]any{"enum": []any{"red", "blue", 3}}, "Blue", `"blue"`, "green"},
		"one member":     {"x", map[string]any{"type": "object", "required": []any{"name"}, "properties": map[string]any{"name": map[string]any{"type": "string"}}}, "Ada", `{"name":"Ada"}`, ""},
		"digits as text": {"x", map[string]any{"type": "string"}, "42", `"42"`, ""},
		"number":         {"x", map[string]any{"type": "number"}, "42", `42`, ""},
		"object":         {"x", map[string]any{"type": "object", "required": []any{"a", "b"}}, `{"a":1,"b":2}`, `{"a":1,"b":2}`, ""},
		"not understood": {"x", "no schema", "yes", `"yes"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b, a := bench(t, func(s *stream) {
				s.start()
				if s.in.Resume == nil {
					s.send("RUN_FINISHED", "outcome", map[string]any{"type": "interrupt", "interrupts": []any{
						map[string]any{"id": "i1", "reason": c.reason, "message": "Well?", "responseSchema": c.schema},
					}})
					return
				}
				s.say("assistant", "thanks")
				s.send("RUN_FINISHED", "outcome", map[string]any{"type": "success"})
			}, turn.Options{}, nil)
			s := b.Send(drivertest.Text("x"))
			if task := b.Await(s); task.Status.State != a2a.TaskStateInputRequired || !strings.Contains(drivertest.Said(task), "Well?") {
				t.Fatalf("%s %q", task.Status.State, drivertest.Said(task))
			}
			if c.refused != "" {
				in := drivertest.Text(c.refused)
				in.TaskID = s.Record.ID
				if _, err := b.Engine.Answer(t.Context(), in); err == nil {
					t.Errorf("%q was taken", c.refused)
				}
			}
			if task := b.Await(b.Answer(s, c.answer)); drivertest.Answered(task) != "thanks" {
				t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
			}
			if r := a.asked()[1].Resume; len(r) != 1 || r[0].InterruptID != "i1" || r[0].Status != "resolved" || string(r[0].Payload) != c.payload {
				t.Errorf("%+v", r)
			}
		})
	}
}

// strict is an agent that takes nothing on a thread with an open question but its answer,
// and asks so many times more.
func strict(times int) func(*stream) {
	open := map[string]string{}
	return func(s *stream) { // one request at a time, in these tests
		s.start()
		id, parked := open[s.in.ThreadID]
		if parked != (len(s.in.Resume) == 1 && s.in.Resume[0].InterruptID == id) {
			s.send("RUN_ERROR", "message", "a question is open")
			return
		}
		delete(open, s.in.ThreadID)
		again := parked && times > 0
		if again {
			times--
		}
		if again || s.text() == "ask" {
			open[s.in.ThreadID] = "q-" + s.in.RunID
			s.send("RUN_FINISHED", "outcome", "interrupt", "result", map[string]any{"interruptId": "q-" + s.in.RunID, "prompt": "well?"})
			return
		}
		s.say("assistant", strings.TrimPrefix(s.text(), "echo "))
		s.finish()
	}
}

// A run that says nothing but its question is heard, and its answer taken.
func TestQuestionOfARunWithoutStart(t *testing.T) {
	b, _ := bench(t, func(s *stream) {
		if s.in.Resume == nil {
			s.interrupt("Which?", "free_text")
			return
		}
		s.say("assistant", "thanks")
		s.finish()
	}, turn.Options{}, nil)
	s := b.Send(drivertest.Text("go"))
	if task := b.Await(s); task.Status.State != a2a.TaskStateInputRequired || !strings.Contains(drivertest.Said(task), "Which?") {
		t.Fatalf("%s %q", task.Status.State, drivertest.Said(task))
	}
	if task := b.Await(b.Answer(s, "this")); drivertest.Answered(task) != "thanks" {
		t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
	}
}

// The questions of a task that has ended are declined, so that the thread goes on.
func TestDeclining(t *testing.T) {
	for name, o := range map[string]turn.Options{
		"cancelled": {},
		"expired":   {InputTimeout: 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			b, a := bench(t, strict(2), o, nil)
			s := b.Send(in("ask"))
			b.Await(s)
			if name == "cancelled" {
				cancelTask(t, b, s)
			}
			eventually(t, func() bool { return b.Engine.Live("alice", s.Record.ID) == nil })
			if task := b.Await(b.Send(in("echo again"))); drivertest.Answered(task) != "again" {
				t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
			}
			runs := a.asked()
			if len(runs) != 5 || runs[1].Resume == nil || runs[1].Resume[0].Status != "cancelled" || runs[1].Resume[0].Payload != nil || len(runs[1].Messages) != 0 {
				t.Errorf("%+v", runs)
			}
			var ids []string
			for _, r := range runs {
				ids = append(ids, r.RunID)
			}
			slices.Sort(ids)
			if len(slices.Compact(ids)) != 5 {
				t.Errorf("%q", ids)
			}
		})
	}
}

// One that asks for ever is left alone, and so is one that does not come to an end.
func TestDecliningInVain(t *testing.T) {
	b, a := bench(t, strict(1000), turn.Options{}, nil)
	s := b.Send(in("ask"))
	b.Await(s)
	cancelTask(t, b, s)
	b.Await(b.Send(in("echo again")))
	if n := len(a.asked()); n < 3 || n > 8 {
		t.Errorf("%d runs", n)
	}
	gone := make(chan struct{})
	b, _ = bench(t, func(s *stream) {
		s.start()
		if s.in.Resume != nil {
			<-s.r.Context().Done()
			close(gone)
			return
		}
		s.interrupt("well?", "free_text")
	}, turn.Options{}, func(o *agui.Options) { o.CancelTimeout = 20 * time.Millisecond })
	s = b.Send(in("ask"))
	b.Await(s)
	cancelTask(t, b, s)
	<-gone
}

// A server whose certificate nobody has signed is not talked to.
func TestUnknownAuthority(t *testing.T) {
	var log lines
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the message was sent") }))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.StartTLS()
	defer s.Close()
	d := agui.New(agui.Options{URL: s.URL, Token: "s3cret", PerContext: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer d.Close()
	task := drivertest.New(t, d, turn.Options{}).Do("x")
	if task.Status.State != a2a.TaskStateFailed || !strings.Contains(drivertest.Said(task), "could not be reached") {
		t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
	}
}

// The body of a refusal is read to a bound in bytes and in time.
func TestRefusalWithoutEnd(t *testing.T) {
	for name, play := range map[string]func(*stream){
		"flood": func(s *stream) {
			s.w.WriteHeader(http.StatusInternalServerError)
			for s.r.Context().Err() == nil {
				if _, err := io.WriteString(s.w, strings.Repeat("x", 64<<10)); err != nil {
					return
				}
			}
		},
		"silence": func(s *stream) {
			s.w.WriteHeader(http.StatusInternalServerError)
			_ = http.NewResponseController(s.w).Flush()
			<-s.r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := bench(t, play, turn.Options{}, nil)
			if task := b.Do("x"); task.Status.State != a2a.TaskStateFailed || !strings.Contains(drivertest.Said(task), "refused the message") {
				t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
			}
		})
	}
}

// A run's end counts although the agent does not close the stream.
func TestStreamLeftOpen(t *testing.T) {
	b, _ := bench(t, func(s *stream) {
		s.start()
		s.say("assistant", "done")
		s.finish()
		<-s.r.Context().Done()
	}, turn.Options{}, nil)
	for range 2 {
		if task := b.Await(b.Send(in("x"))); drivertest.Answered(task) != "done" {
			t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
		}
	}
}
