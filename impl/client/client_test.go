package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"a2aserve/gen/a2a"
	"a2aserve/impl/sse"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent answers with what a test says.
func agent(t *testing.T, binding string, o Options, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	o.HTTP = s.Client()
	c, err := New(a2a.AgentInterface{URL: s.URL + "/a2a", ProtocolBinding: binding, ProtocolVersion: "1.0"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	working = `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`
	chunk   = `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"half of"}]}}}`
	done    = `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`
)

func stream(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	_, _ = io.WriteString(w, body)
}

// states are what a stream told of, and how it ended.
func states(t *testing.T, c *Client) (got []a2a.TaskState, err error) {
	for f, e := range c.SendStreamingMessage(t.Context(), &a2a.SendMessageRequest{Message: Text("x")}) {
		if e != nil {
			return got, e
		}
		got = append(got, f.State())
	}
	return got, nil
}

// TestStreamsAreReadByTheStandard is case SS-11: whatever the standard allows is read, and
// what it does not bound is bounded here.
func TestStreamsAreReadByTheStandard(t *testing.T) {
	long := `data: {"statusUpdate":{"taskId":"` + strings.Repeat("x", 4096) + `"}}` + "\n\n"
	for name, body := range map[string]string{
		"CRLF":                "data: " + working + "\r\n\r\ndata: " + done + "\r\n\r\n",
		"CR":                  "data: " + working + "\r\rdata: " + done + "\r\r",
		"no space":            "data:" + working + "\n\ndata:" + done + "\n\n",
		"comments and fields": ": hello\n\nevent: message\nid: 7\nretry: 10\ndata: " + working + "\n\n: ping\n\ndata: " + done + "\n\n",
		"byte order mark":     "\ufeffdata: " + working + "\n\ndata: " + done + "\n\n",
		"two lines":           "data: {\"task\":\ndata: {\"id\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"TASK_STATE_WORKING\"}}}\n\ndata: " + done + "\n\n",
		"no blank line last":  "data: " + working + "\n\ndata: " + done,
		"whole, cut line end": "data: " + working + "\n\ndata: " + done + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := agent(t, REST, Options{}, func(w http.ResponseWriter, _ *http.Request) { stream(w, body) })
			got, err := states(t, c)
			if err != nil || fmt.Sprint(got) != "[TASK_STATE_WORKING TASK_STATE_COMPLETED]" {
				t.Errorf("%v %v", got, err)
			}
			one := sse.NewReader(iotest.OneByteReader(strings.NewReader(body)), 0)
			for n := range 2 {
				if e, err := one.Next(); err != nil || !bytes.HasPrefix(e.Data, []byte("{")) {
					t.Errorf("byte by byte, event %d: %q %v", n, e.Data, err)
				}
			}
		})
	}
	t.Run("endless", func(t *testing.T) {
		c := agent(t, REST, Options{MaxBytes: 1024}, func(w http.ResponseWriter, _ *http.Request) { stream(w, "data: "+working+"\n\n"+long) })
		got, err := states(t, c)
		if !errors.Is(err, sse.ErrTooLong) || len(got) != 1 {
			t.Errorf("%v %v", got, err)
		}
	})
	t.Run("JSON-RPC", func(t *testing.T) {
		wrap := func(s string) string { return `data: {"jsonrpc":"2.0","id":"1","result":` + s + "}\n\n" }
		c := agent(t, JSONRPC, Options{}, func(w http.ResponseWriter, _ *http.Request) { stream(w, wrap(working)+wrap(done)) })
		if got, err := states(t, c); err != nil || len(got) != 2 {
			t.Errorf("%v %v", got, err)
		}
	})
}

// TestAnEndWithoutAnEnd is case SS-12: a stream that stops before its task is interrupted,
// never complete, and what became of the task is asked.
func TestAnEndWithoutAnEnd(t *testing.T) {
	for _, cut := range []string{"", "data: {\"statusUp", ": ping\n"} {
		for name, after := range map[string]struct {
			get       string
			subscribe []string
		}{
			"still at work": {`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`, []string{working, done}},
			"ended since":   {`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}`, nil},
		} {
			for _, binding := range []string{REST, JSONRPC} {
				t.Run(name+" after "+cut+" over "+binding, func(t *testing.T) {
					c := agent(t, binding, Options{}, broken(t, cut, after.get, after.subscribe))
					got, err := states(t, c)
					if !errors.Is(err, ErrInterrupted) || len(got) != 2 {
						t.Fatalf("%v %v", got, err)
					}
					last := a2a.TaskState("")
					for f, err := range c.Recovered(t.Context(), "t") {
						if err != nil {
							t.Fatal(err)
						}
						last = f.State()
					}
					if last != a2a.TaskStateCompleted {
						t.Errorf("recovered as %q", last)
					}
				})
			}
		}
	}
}

// broken is an agent whose stream is cut, on either binding; then it says what it is told to.
func broken(t *testing.T, cut, get string, subscribe []string) http.HandlerFunc {
	methods := map[string]string{"/a2a/message:stream": "SendStreamingMessage", "/a2a/tasks/t": "GetTask", "/a2a/tasks/t:subscribe": "SubscribeToTask"}
	return func(w http.ResponseWriter, r *http.Request) {
		method, wrap := methods[r.URL.Path], "%s"
		if r.URL.Path == "/a2a" {
			body, _ := io.ReadAll(r.Body)
			var call struct {
				Method string `json:"method"`
				ID     string `json:"id"`
			}
			if err := json.Unmarshal(body, &call); err != nil {
				t.Errorf("%v: %s", err, body)
			}
			method, wrap = call.Method, `{"jsonrpc":"2.0","id":"`+call.ID+`","result":%s}`
		}
		events := func(docs ...string) (out string) {
			for _, d := range docs {
				out += "data: " + fmt.Sprintf(wrap, d) + "\n\n"
			}
			return out
		}
		switch method {
		case "SendStreamingMessage":
			stream(w, events(working, chunk)+cut)
		case "GetTask":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, wrap, get)
		case "SubscribeToTask":
			stream(w, events(subscribe...))
		default:
			t.Errorf("%s %s was called", r.URL.Path, method)
		}
	}
}

// TestWhatIsRefused: an error is told with its type, whatever it is wrapped in.
func TestWhatIsRefused(t *testing.T) {
	for _, tc := range []struct{ binding, kind, body, want string }{
		{REST, "application/json", `{"error":{"code":404,"message":"gone","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND"}]}}`, "TaskNotFoundError: gone"},
		{REST, "text/html", "<h1>Bad gateway</h1>", "HTTP status 404: <h1>Bad gateway</h1>"},
		{JSONRPC, "application/json", `{"jsonrpc":"2.0","id":"1","error":{"code":-32001,"message":"gone"}}`, "TaskNotFoundError: gone"},
		{JSONRPC, "application/json", `{"jsonrpc":"2.0","id":"1","error":{"code":-32055,"message":"own"}}`, "JSON-RPC error -32055: own"},
	} {
		c := agent(t, tc.binding, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tc.kind)
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, tc.body)
		})
		if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t"}); err == nil || err.Error() != tc.want {
			t.Errorf("%v in place of %s", err, tc.want)
		}
		if _, err := states(t, c); err == nil || err.Error() != tc.want {
			t.Errorf("streamed: %v in place of %s", err, tc.want)
		}
	}
}

// TestTheCardsInterfaceIsChosen: the card's order counts, and a token stays where it was
// meant for.
func TestTheCardsInterfaceIsChosen(t *testing.T) {
	iface := func(binding, version string) a2a.AgentInterface {
		return a2a.AgentInterface{URL: "https://agent.example/" + binding, ProtocolBinding: binding, ProtocolVersion: version}
	}
	card := &a2a.AgentCard{SupportedInterfaces: []a2a.AgentInterface{iface("GRPC", "1.0"), iface(JSONRPC, "0.3"), iface(REST, "1.0"), iface(JSONRPC, "1.0")}}
	for binding, want := range map[string]string{"": REST, REST: REST, JSONRPC: JSONRPC} {
		if i, err := Select(card, binding); err != nil || i.ProtocolBinding != want || i.ProtocolVersion != "1.0" {
			t.Errorf("%q: %+v %v", binding, i, err)
		}
	}
	if _, err := Select(&a2a.AgentCard{SupportedInterfaces: card.SupportedInterfaces[:2]}, ""); err == nil || !strings.Contains(err.Error(), "GRPC 1.0, JSONRPC 0.3") {
		t.Errorf("%v", err)
	}

	var asked http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header
		_, _ = io.WriteString(w, `{"name":"n","description":"d","version":"1","supportedInterfaces":[{"url":"https://elsewhere.example/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],"capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[]}`)
	}))
	defer s.Close()
	var raw bytes.Buffer
	if _, _, err := Dial(t.Context(), s.URL, "", Options{Token: "hush", Raw: &raw}); err == nil || !strings.Contains(err.Error(), "elsewhere.example") {
		t.Errorf("a token goes elsewhere: %v", err)
	}
	if asked.Get("Authorization") != "Bearer hush" || asked.Get("A2A-Version") != "1.0" {
		t.Errorf("%v", asked)
	}
	if strings.Contains(raw.String(), "hush") || !strings.Contains(raw.String(), "GET "+s.URL) {
		t.Errorf("%s", raw.String())
	}
	if _, _, err := Dial(t.Context(), s.URL, "", Options{}); err != nil {
		t.Error(err)
	}
}

// TestRequestsOnTheWire: each operation's request is laid out as its binding wants it.
func TestRequestsOnTheWire(t *testing.T) {
	var got string
	c := agent(t, REST, Options{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintf("%s %s %s", r.Method, r.URL.RequestURI(), body)
		_, _ = io.WriteString(w, `{}`)
	})
	size, history := int32(2), int32(0)
	for _, tc := range []struct {
		call func() error
		want string
	}{
		{func() error {
			_, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "a/b c", HistoryLength: &history})
			return err
		}, "GET /a2a/tasks/a%2Fb%20c?historyLength=0 "},
		{func() error {
			_, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{PageSize: &size, Status: a2a.TaskStateWorking})
			return err
		}, "GET /a2a/tasks?pageSize=2&status=TASK_STATE_WORKING "},
		{func() error {
			_, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: "t"})
			return err
		}, "POST /a2a/tasks/t:cancel {}"},
	} {
		if err := tc.call(); err != nil || got != tc.want {
			t.Errorf("%q, %v in place of %q", got, err, tc.want)
		}
	}
	if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{}); err == nil || !strings.Contains(err.Error(), "needs id") {
		t.Errorf("a request without id: %v", err)
	}
}
