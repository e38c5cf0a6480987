package conformance

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/conformance/vector"
	"a2aserve/gen/event"
	"a2aserve/impl/app"
	"a2aserve/impl/driver/bus"

	"github.com/go-json-experiment/json"
)

// logBook is a log that can be read while it is written.
type logBook struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// HI-05: what people send where they are asked to authorise something is in no log, at
// whatever level, nor are the callers' own credentials; a follow-up needs the latter.
func TestCredentialsAreNotLogged(t *testing.T) {
	var log logBook
	db := filepath.Join(t.TempDir(), "tasks.db")
	target, stop := startWith(t, db, tokens+"log: {level: debug}\n", app.Options{
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))})
	defer stop()
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		parked := send(t, target, b, say("auth"))
		if parked.Status.State != "TASK_STATE_AUTH_REQUIRED" {
			t.Fatalf("%+v", parked.Status)
		}
		answer := say("password hunter2", `"taskId":"`+parked.ID+`","metadata":{"pin":"hunter3"}`)
		for user, status := range map[string]int{"nobody": 401, "bob": 404} {
			_, err := target.Call(t.Context(), b, "SendMessage", user, answer)
			if r := refused(t, err); r.HTTP != status && r.Reason != "TASK_NOT_FOUND" {
				t.Errorf("%s: %+v", user, r)
			}
		}
		if got := send(t, target, b, answer); got.Status.State != "TASK_STATE_COMPLETED" || strings.Contains(got.text(), "hunter") {
			t.Errorf("%+v", got)
		}
		_, err := target.Call(t.Context(), b, "SendMessage", "alice", answer) // too late
		refused(t, err)
		_, err = target.Call(t.Context(), b, "SendMessage", "alice", strings.Replace(answer, `"ROLE_USER"`, `"hunter4"`, 1)) // not valid
		refused(t, err)
	})
	stop()
	if s := log.String(); s == "" || strings.Contains(s, "hunter") || strings.Contains(s, "tok-a") || strings.Contains(s, "tok-b") {
		t.Errorf("the log: %s", s)
	}
}

// SS-06, HI-07: the last frame before a pause is the status with the question; the task
// says the same to whoever reads or lists it, and no artifact stands in for it.
func TestTheLastFrameBeforeAPause(t *testing.T) {
	target := serve(t, tokens+"limits: {keep_alive: 10ms}\n")
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		for text, state := range map[string]string{"ask Colour?": "TASK_STATE_INPUT_REQUIRED", "auth": "TASK_STATE_AUTH_REQUIRED"} {
			context := fmt.Sprintf(`"contextId":"pause-%s-%s"`, b, state)
			s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say(text, context))
			if err != nil {
				t.Fatal(err)
			}
			var last []byte
			for !bytes.Contains(last, []byte(`"state":"`+state)) {
				if last, err = s.Next(); err != nil {
					t.Fatal(err)
				}
			}
			if err := vector.Match(`{"$only":true,"statusUpdate":{"taskId":"$bind id","status":{"state":"`+state+`","message":{"role":"ROLE_AGENT","messageId":"$bind question","taskId":"$bind id","parts":[{"text":"$string"}]}}}}`, last, vector.Vars{}); err != nil {
				t.Error(err)
			}
			question := string(last[bytes.Index(last, []byte(`"message":`)):bytes.Index(last, []byte(`"timestamp"`))])
			id := list(t, target, b, `{`+context+`}`).Tasks[0].ID
			for op, params := range map[string]string{"GetTask": `{"id":"` + id + `"}`, "ListTasks": `{` + context + `,"includeArtifacts":true}`} {
				doc, err := target.Call(t.Context(), b, op, "alice", params)
				if err != nil || !bytes.Contains(doc, []byte(question)) || bytes.Contains(doc, []byte(`"artifacts"`)) {
					t.Errorf("%s does not show %s: %s %v", op, question, doc, err)
				}
			}
			send(t, target, b, say("go on", `"taskId":"`+id+`"`))
			if _, state, err := ends(s); err != nil || state != "TASK_STATE_COMPLETED" {
				t.Errorf("ends as %q, %v", state, err)
			}
		}
	})
}

// ids collects every taskId and contextId below v.
func ids(v any, found map[string][]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if s, ok := x.(string); ok && (k == "taskId" || k == "contextId") {
				found[k] = append(found[k], s)
			}
			ids(x, found)
		}
	case []any:
		for _, x := range v {
			ids(x, found)
		}
	}
}

// SS-15: every update carries both ids, and everything that carries one carries the
// task's; none is ever empty.
func TestIDsOnEverything(t *testing.T) {
	target := serve(t, tokens)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		for _, text := range []string{"chunks 3", "ask Colour?", "tool grep x", "fail", "reject"} {
			s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say(text))
			if err != nil {
				t.Fatal(err)
			}
			var docs [][]byte
			id, context := "", ""
			for {
				raw, err := s.Next()
				if err != nil {
					break // the end of the stream
				}
				docs = append(docs, raw)
				if f, _ := parseAs[frame](raw, nil); f.Task != nil {
					id, context = f.Task.ID, f.Task.ContextID
				}
				if bytes.Contains(raw, []byte("INPUT_REQUIRED")) {
					send(t, target, b, say("blue", `"taskId":"`+id+`"`))
				}
			}
			s.Close()
			whole, err := target.Call(t.Context(), b, "GetTask", "alice", `{"id":"`+id+`"}`)
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range append(docs, whole) {
				var v any
				if err := json.Unmarshal(doc, &v); err != nil {
					t.Fatal(err)
				}
				found := map[string][]string{}
				ids(v, found)
				update := bytes.Contains(doc, []byte(`Update":{`))
				for name, want := range map[string]string{"taskId": id, "contextId": context} {
					if update && len(found[name]) == 0 {
						t.Errorf("%s: no %s in %s", text, name, doc)
					}
					for _, got := range found[name] {
						if got != want {
							t.Errorf("%s: %s %q, want %q in %s", text, name, got, want, doc)
						}
					}
				}
			}
		}
	})
}

// A question that nobody answers fails its task for everybody: the store, the waiting
// stream and the agent, whose wait ends (tasks.input_timeout).
func TestAbandonedQuestions(t *testing.T) {
	let := make(chan string, 2)
	target, _ := serveAgent(t, tokens+"tasks: {input_timeout: 50ms}\n", bus.Options{}, func(s *stage, in event.Input) {
		s.emit(begin(in), event.HITLRequested{TurnID: in.TaskID, RequestID: in.TaskID + "?", Prompt: "Colour?"})
		e := <-s.ear(in.TaskID + "?")
		let <- e.EventType()
	})
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say("go"))
		if err != nil {
			t.Fatal(err)
		}
		frames, state, err := ends(s)
		if err != nil || state != "TASK_STATE_FAILED" {
			t.Fatal(state, err)
		}
		if got := get(t, target, b, frames[0].Task.ID); got.Status.State != state || len(got.History) != 2 {
			t.Errorf("%+v", got)
		}
		select {
		case e := <-let:
			if e != "hitl.cancel" {
				t.Errorf("the agent was let go by %s", e)
			}
		case <-time.After(10 * time.Second):
			t.Error("the agent still waits")
		}
	})
}
