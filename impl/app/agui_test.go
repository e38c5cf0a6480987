package app_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"a2aserve/impl/app"
	"a2aserve/impl/config"
	"a2aserve/impl/turn"

	"github.com/coder/websocket"
)

// agui is an AG-UI agent that asks before it answers.
func agui(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(events ...string) {
			for _, e := range events {
				fmt.Fprintf(w, "data: {\"type\":%s}\n\n", e)
			}
		}
		say(`"RUN_STARTED"`, `"REASONING_MESSAGE_CONTENT","delta":"hm"`, `"REASONING_END"`)
		switch text := string(body); {
		case strings.Contains(text, `"resume"`):
			say(`"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"It is "`, `"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"`+after(text, `"choiceId":"`)+`."`, `"TEXT_MESSAGE_END","messageId":"m"`, `"RUN_FINISHED"`)
		case strings.Contains(text, "break"):
			say(`"RUN_ERROR","message":"out of order"`)
		default:
			say(`"RUN_FINISHED","outcome":"interrupt","result":{"interruptId":"i","prompt":"Which?","mode":"choices","choices":[{"id":"red"},{"id":"blue"}]}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// after is what follows mark in text, up to the next quote.
func after(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// A whole server before an AG-UI agent: over both bindings, blocking and streamed.
func TestAGUI(t *testing.T) {
	t.Setenv("AGUI_APP_TOKEN", "s3cret")
	text := strings.Replace(agent, "{driver: demo}", "{driver: agui, agui: {url: '"+agui(t).URL+"', token_env: AGUI_APP_TOKEN, sessions: per_context}}", 1)
	cfg, err := config.Parse("test.yaml", []byte(text+"store: {path: '"+t.TempDir()+"/x.db'}\nbind: 127.0.0.1:0\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Check(cfg, app.Options{}); err != nil {
		t.Error(err)
	}
	a, _ := start(t, cfg, app.Options{})
	message := func(task, text string) string {
		if task != "" {
			task = `"taskId":"` + task + `",`
		}
		return `{"message":{` + task + `"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + text + `"}]}}`
	}
	for name, call := range map[string]func(stream bool, params string) string{
		"REST": func(stream bool, params string) string {
			_, body := do(t, "POST", a.URL()+"/a2a/v1/message:"+map[bool]string{true: "stream", false: "send"}[stream], params, "A2A-Version", "1.0", "A2A-Extensions", turn.TelemetryURI)
			return body
		},
		"JSON-RPC": func(stream bool, params string) string {
			method := map[bool]string{true: "SendStreamingMessage", false: "SendMessage"}[stream]
			_, body := do(t, "POST", a.URL()+"/a2a", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, "A2A-Version", "1.0", "A2A-Extensions", turn.TelemetryURI)
			return body
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := call(false, message("", "paint"))
			if !strings.Contains(asked, "TASK_STATE_INPUT_REQUIRED") || !strings.Contains(asked, "Which?") {
				t.Fatal(asked)
			}
			if body := call(false, message(after(asked, `"id":"`), "Blue")); !strings.Contains(body, "TASK_STATE_COMPLETED") || !strings.Contains(body, "It is blue.") {
				t.Error(body)
			}
			if body := call(true, message("", "break")); !strings.Contains(body, "TASK_STATE_FAILED") || !strings.Contains(body, "out of order") || !strings.Contains(body, `"content":"hm"`) {
				t.Error(body)
			}
		})
	}
}

// The whole way of a cancellation over a control link, which a check of the same
// configuration leaves alone.
func TestAGUIControl(t *testing.T) {
	t.Setenv("AGUI_APP_SECRET", "s3cret")
	begun, stopped := make(chan struct{}), make(chan struct{})
	said := make(chan string, 16)
	nexus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := after(string(body), `"content":"`)
		said <- text
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"type\":\"RUN_STARTED\"}\n\ndata: {\"type\":\"STEP_STARTED\"}\n\n")
		if text == "work" {
			_ = http.NewResponseController(w).Flush()
			close(begun)
			select {
			case <-stopped:
			case <-r.Context().Done():
				t.Error("the connection was closed")
			}
		}
		fmt.Fprint(w, "data: {\"type\":\"RUN_FINISHED\"}\n\n")
	}))
	defer nexus.Close()
	text := strings.Replace(agent, "{driver: demo}", "{driver: agui, agui: {url: '"+nexus.URL+"', control: {bind: '127.0.0.1:0', secret_env: AGUI_APP_SECRET}}}", 1)
	cfg, err := config.Parse("test.yaml", []byte(text+"store: {path: '"+t.TempDir()+"/x.db'}\nbind: 127.0.0.1:0\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Check(cfg, app.Options{Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Error(err)
	}
	log := newLogged()
	a, _ := start(t, cfg, app.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	_, addr, _ := strings.Cut(log.waitFor(t, "waiting for the agent's control link"), "address=")
	conn, _, err := websocket.Dial(t.Context(), "ws://"+strings.TrimSpace(addr)+"/control", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"version":1,"lease_id":"a2aserve","signal":"register","secret":"s3cret"}`)); err != nil {
		t.Fatal(err)
	}
	log.waitFor(t, "control link is open")
	send := func(verb, body string) string {
		_, got := do(t, "POST", a.URL()+"/a2a/v1/"+verb, body, "A2A-Version", "1.0")
		return got
	}
	task := after(send("message:send", `{"message":{"messageId":"m","role":"ROLE_USER","contextId":"c","parts":[{"text":"work"}]},"configuration":{"returnImmediately":true}}`), `"id":"`)
	<-begun
	if got := send("tasks/"+task+":cancel", "{}"); !strings.Contains(got, "TASK_STATE_CANCELED") {
		t.Error(got)
	}
	if _, frame, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(frame), `"signal":"io"`) || !strings.Contains(string(frame), `"type":"cancel"`) {
		t.Errorf("%v %s", err, frame)
	}
	close(stopped)
	if got := send("message:send", `{"message":{"messageId":"m2","role":"ROLE_USER","contextId":"c","parts":[{"text":"next"}]}}`); !strings.Contains(got, "TASK_STATE_COMPLETED") {
		t.Error(got)
	}
	if got := []string{<-said, <-said, <-said}; !slices.Equal(got, []string{"work", "/resume", "next"}) {
		t.Errorf("%q", got)
	}
}
