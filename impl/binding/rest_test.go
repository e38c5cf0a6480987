package binding

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"

	"github.com/go-json-experiment/json"
)

func TestRoutes(t *testing.T) {
	s := serve(t, Options{})
	s.fake.log = func(string) (*op.Stream, error) { return ended(), nil }
	for _, c := range []struct {
		method, path string
		want         string // what was asked, or an error's status and Allow
	}{
		{"GET", "/tasks/t", `GetTask {"id":"t"}`},
		{"HEAD", "/tasks/t", `GetTask {"id":"t"}`},
		{"GET", "/tasks/t?historyLength=0&history_length=", `400`},
		{"GET", "/tasks/t?historyLength=0&id=t&future=1", `GetTask {"id":"t","historyLength":0}`},
		{"GET", "/tasks/urn:x:1", `GetTask {"id":"urn:x:1"}`},
		{"GET", "/tasks/a%2Fb%3Acancel", `GetTask {"id":"a/b:cancel"}`},
		{"GET", "/tasks/50%25%20%C3%A9", `GetTask {"id":"50% é"}`},
		{"GET", "/tasks/%2e%2e", `GetTask {"id":".."}`},
		{"GET", "/tasks/a+b", `GetTask {"id":"a+b"}`},
		{"GET", "/tasks/message:send", `GetTask {"id":"message:send"}`},
		{"POST", "/tasks/t:cancel", `CancelTask {"id":"t"}`},
		{"POST", "/tasks/urn:x:1:cancel", `CancelTask {"id":"urn:x:1"}`},
		{"POST", "/tasks/x:cancel:cancel", `CancelTask {"id":"x:cancel"}`},
		{"POST", "/tasks/%3Acancel:cancel", `CancelTask {"id":":cancel"}`},
		{"GET", "/tasks/urn:x:1:subscribe", `SubscribeToTask {"id":"urn:x:1"}`},
		{"POST", "/tasks/t:subscribe", `SubscribeToTask {"id":"t"}`},
		{"GET", "/tasks", `ListTasks {}`},

		{"GET", "/tasks/x:cancel", `405 POST`},
		{"HEAD", "/tasks/x:subscribe", `405 GET, POST`},
		{"DELETE", "/tasks/x:subscribe", `405 GET, POST`},
		{"GET", "/message:send", `405 POST`},
		{"OPTIONS", "/message:send", `405 POST`},
		{"PUT", "/tasks/x", `405 GET, HEAD`},
		{"POST", "/tasks", `405 GET, HEAD`},
		{"POST", "/extendedAgentCard", `405 GET, HEAD`},
		{"PUT", "/tasks/x/pushNotificationConfigs", `405 GET, HEAD, POST`},
		{"PATCH", "/tasks/x/pushNotificationConfigs/c", `405 DELETE, GET, HEAD`},
		{"", "/tasks/x:y:cancel/", `404`},
		{"GET", "", `404`},
		{"GET", "/", `404`},
		{"GET", "/tasks/", `404`},
		{"GET", "//tasks/x", `404`},
		{"GET", "/tasks/x/", `404`},
		{"GET", "/Tasks/x", `404`},
		{"POST", "/tasks/:cancel", `405 GET, HEAD`}, // a task whose id is ":cancel"
		{"POST", "/message%3Asend", `404`},
		{"POST", "/message:sent", `404`},
		{"POST", "/acme/message:send", `404`},
		{"GET", "/tasks/a/b", `404`},
		{"GET", "/tasks/%FF", `400`},
	} {
		if c.method == "" {
			c.method = "POST"
		}
		status, body, header := s.do(c.method, "/a2a/v1"+c.path, "")
		took := strings.TrimPrefix(s.fake.took(), "alice ")
		if status < 400 {
			if took != c.want || status != 200 || c.method == "HEAD" && body != "" {
				t.Errorf("%s %s: %d, took %s", c.method, c.path, status, took)
			}
			continue
		}
		got := strings.TrimSpace(strconv.Itoa(status) + " " + header.Get("Allow"))
		if got != c.want || took != "" || header.Get("Content-Type") != "application/a2a+json" {
			t.Errorf("%s %s: %s, took %q, %s", c.method, c.path, got, took, body)
		}
		if c.method != "HEAD" {
			if a := parse(t, body); a.Error == nil || a.Error.Code != status || a.Error.Status == "" {
				t.Errorf("%s %s: %s", c.method, c.path, body)
			}
		}
	}
	for _, path := range []string{"/nope", "/", "/a2a/nope", "/a2b"} {
		if status, body, _ := s.do("GET", path, ""); status != 404 || !strings.Contains(body, `"reason":"ROUTE_NOT_FOUND"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// Every row of the operation table must be reachable through the generated server.
func TestEveryOperationIsServed(t *testing.T) {
	s := serve(t, Options{Wired: func(*op.Operation) bool { return true }})
	asked := make(chan string, 1)
	for i := range op.Table {
		o := &op.Table[i]
		saved := o.Call
		o.Call = func(_ context.Context, _ op.Service, in any) (op.Reply, error) {
			b, err := json.Marshal(in)
			asked <- o.Name + " " + string(b)
			return op.Reply{JSON: []byte(`{}`)}, err
		}
		defer func() { o.Call = saved }()
		for _, verb := range append([]string{o.Verb}, o.AltVerbs...) {
			body := ""
			switch {
			case strings.HasPrefix(o.Name, "Send"):
				body = message
			case o.Body && o.Name != "CancelTask":
				body = `{"url":"https://x"}`
			}
			path := strings.NewReplacer("{id}", "i:d", "{taskId}", "t:d").Replace(o.Path)
			status, answer, _ := s.do(verb, "/a2a/v1"+path, body)
			select {
			case got := <-asked:
				if !strings.HasPrefix(got, o.Name+" ") || strings.Contains(o.Path, "{id}") && !strings.Contains(got, `"id":"i:d"`) || strings.Contains(o.Path, "{taskId}") && !strings.Contains(got, `"taskId":"t:d"`) {
					t.Errorf("%s %s: %s", verb, path, got)
				}
			default:
				t.Errorf("%s %s: %d %s", verb, path, status, answer)
			}
		}
	}
}

func TestQueries(t *testing.T) {
	s := serve(t, Options{})
	for _, c := range []struct{ query, want string }{
		{"pageSize=5&includeArtifacts=true&status=TASK_STATE_WORKING&statusTimestampAfter=2026-01-02T03:04:05.678Z", `{"status":"TASK_STATE_WORKING","pageSize":5,"statusTimestampAfter":"2026-01-02T03:04:05.678Z","includeArtifacts":true}`},
		{"page_size=5&context_id=c", `{"contextId":"c","pageSize":5}`},
		{"contextId=a%26status%3Dx", `{"contextId":"a&status=x"}`},
		{"contextId=x%27+OR+%271%27%3D%271", `{"contextId":"x' OR '1'='1"}`},
		{"contextId=&pageSize=&includeArtifacts=&status=", `{}`},
		{"futureD=1&futureD=2&PageSize=0&A2A-Version=1.0", `{}`},
		{"includeArtifacts=false&historyLength=007", `{"historyLength":7,"includeArtifacts":false}`},
	} {
		status, body, _ := s.do("GET", "/a2a/v1/tasks?"+c.query, "")
		if took := s.fake.took(); status != 200 || !sameJSON(t, strings.TrimPrefix(took, "alice ListTasks "), c.want) {
			t.Errorf("%s: %d %s, took %s", c.query, status, body, took)
		}
	}
	for query, want := range map[string]string{
		"pageSize=150&historyLength=-5&status=TASK_STATE_RUNNING": "historyLength pageSize status",
		"includeArtifacts=TRUE":                                   "includeArtifacts",
		"includeArtifacts=1":                                      "includeArtifacts",
		"pageSize=abc":                                            "pageSize",
		"pageSize=1.5":                                            "pageSize",
		"pageSize=+5":                                             "pageSize", // a space and 5
		"pageSize=%2B5":                                           "pageSize",
		"pageSize=0":                                              "pageSize",
		"pageSize=-1":                                             "pageSize",
		"pageSize=101":                                            "pageSize",
		"pageSize=99999999999999999999":                           "pageSize",
		"pageSize=5&pageSize=6":                                   "pageSize",
		"pageSize=5&page_size=5":                                  "pageSize",
		"status=working":                                          "status",
		"status=TASK_STATE_UNSPECIFIED":                           "status",
		"statusTimestampAfter=2026-01-02T03:04:05%2B02:00": "statusTimestampAfter",
		"tenant=acme":      "tenant",
		"contextId=%FF":    "contextId",
		"a=%zz&pageSize=x": " pageSize",
		"a;b":              "",
	} {
		status, body, _ := s.do("GET", "/a2a/v1/tasks?"+query, "")
		a := parse(t, body)
		if status != 400 || len(a.Error.Details) != 2 {
			t.Errorf("%s: %d %s", query, status, body)
			continue
		}
		var got []string
		for _, v := range a.Error.Details[1].FieldViolations {
			got = append(got, v.Field)
		}
		if slices.Sort(got); strings.Join(got, " ") != want || s.fake.took() != "" {
			t.Errorf("%s: %q, %s", query, got, body)
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y map[string]any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	p, _ := json.Marshal(x, json.Deterministic(true))
	q, _ := json.Marshal(y, json.Deterministic(true))
	return string(p) == string(q)
}

func TestBodies(t *testing.T) {
	s := serve(t, Options{})
	for _, c := range []struct {
		name, path, body, typ string
		want                  string // what was asked, or a status
	}{
		{"no body", "/tasks/t:cancel", ``, "", `CancelTask {"id":"t"}`},
		{"no body, some type", "/tasks/t:cancel", ``, "text/plain", `CancelTask {"id":"t"}`},
		{"empty object", "/tasks/t:cancel", `{}`, "application/json", `CancelTask {"id":"t"}`},
		{"metadata", "/tasks/t:cancel", `{"metadata":{"why":"x"}}`, "application/a2a+json", `CancelTask {"id":"t","metadata":{"why":"x"}}`},
		{"same id", "/tasks/t:cancel", `{"id":"t"}`, "application/json", `CancelTask {"id":"t"}`},
		{"other id", "/tasks/t:cancel", `{"id":"other"}`, "application/json", `400`},
		{"body without type", "/tasks/t:cancel", `{}`, "", `415`},
		{"trailing junk", "/tasks/t:cancel", `{}x`, "application/json", `400`},
		{"two values", "/tasks/t:cancel", `{} {}`, "application/json", `400`},
		{"charset", "/message:send", message, "application/json; charset=utf-8", `SendMessage ` + message},
		{"case", "/message:send", message, "Application/A2A+JSON", `SendMessage ` + message},
		{"snake_case", "/message:send", `{"message":{"message_id":"m","role":1,"parts":[{"text":"hi"}]}}`, "application/json", `SendMessage ` + message},
		{"query is not the request", "/message:send?configuration=x", message, "application/json", `SendMessage ` + message},
		{"text", "/message:send", message, "text/plain", `415`},
		{"form", "/message:send", message, "application/x-www-form-urlencoded", `415`},
		{"nothing", "/message:send", ``, "application/json", `400`},
		{"a list", "/message:send", `[` + message + `]`, "application/json", `400`},
		{"malformed", "/message:send", `{"message":`, "application/json", `400`},
		{"role twice", "/message:send", `{"message":{"role":"ROLE_USER",` + message[12:], "application/json", `400`},
		{"tenant", "/message:send", `{"tenant":"acme",` + message[1:], "application/json", `400`},
		{"tenant in the query", "/message:send?tenant=acme", message, "application/json", `400`},
		{"empty tenant", "/message:send?tenant=", `{"tenant":"",` + message[1:], "application/json", `SendMessage ` + message},
		{"too large", "/message:send", strings.Repeat(" ", 1<<20) + message, "application/json", `413`},
	} {
		status, body, header := s.do("POST", "/a2a/v1"+c.path, c.body, "Content-Type", c.typ)
		took := strings.TrimPrefix(s.fake.took(), "alice ")
		if status == 200 {
			if took != c.want {
				t.Errorf("%s: took %s, want %s", c.name, took, c.want)
			}
			continue
		}
		if took != "" || c.want != strconv.Itoa(status) || header.Get("Content-Type") != "application/a2a+json" {
			t.Errorf("%s: %d %s, took %q", c.name, status, body, took)
		}
	}
}

func TestAnswersAreLabelledAsAsked(t *testing.T) {
	s := serve(t, Options{})
	for accept, want := range map[string]string{"": "application/a2a+json", "application/json": "application/json", "application/json, application/a2a+json": "application/a2a+json"} {
		for _, path := range []string{"/a2a/v1/tasks/t", "/a2a/v1/tasks?pageSize=0", "/a2a/v1/nope"} {
			if _, _, h := s.do("GET", path, "", "Accept", accept); h.Get("Content-Type") != want {
				t.Errorf("%s, Accept %q: %s", path, accept, h.Get("Content-Type"))
			}
		}
	}
}

// A caller must not be able to tell another's task from none at all.
func TestUnknownAndForeignTasksLookAlike(t *testing.T) {
	s := serve(t, Options{})
	s.fake.task = func(id string) ([]byte, error) {
		return nil, a2a.TaskNotFoundError.Errorf("Task not found").With("taskId", id)
	}
	_, one, _ := s.do("GET", "/a2a/v1/tasks/one", "")
	_, two, _ := s.do("GET", "/a2a/v1/tasks/two", "")
	blank := func(s, id string) string {
		a := parse(t, s)
		return strings.NewReplacer(id, "ID", a.Error.Details[0].Metadata["timestamp"], "TIME").Replace(s)
	}
	if blank(one, "one") != blank(two, "two") {
		t.Errorf("%s\n%s", one, two)
	}
}

func TestLargeAnswers(t *testing.T) {
	s := serve(t, Options{})
	big := `{"id":"` + strings.Repeat("x", 3*writeSize) + `"}`
	s.fake.task = func(string) ([]byte, error) { return []byte(big), nil }
	if _, body, _ := s.do("GET", "/a2a/v1/tasks/t", ""); body != big {
		t.Errorf("%d bytes", len(body))
	}
	if _, body, h := s.do("POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}`, "Accept-Encoding", "identity"); body != `{"jsonrpc":"2.0","id":1,"result":`+big+`}` || h.Get("Content-Length") == "" {
		t.Errorf("%d bytes", len(body))
	}
}

func TestFurtherRoutes(t *testing.T) {
	s := serve(t, Options{
		JSONRPCPath: "/", RESTPrefix: "/v1/",
		Routes: map[string]http.Handler{"/card": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })},
	})
	if status, _, _ := s.do("GET", "/card", ""); status != 204 {
		t.Errorf("the card: %d", status)
	}
	if _, body, _ := s.do("POST", "/", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}`); !strings.Contains(body, `"result"`) {
		t.Errorf("JSON-RPC at the root: %s", body)
	}
	if status, _, _ := s.do("GET", "/v1/tasks/t", ""); status != 200 {
		t.Errorf("REST below /v1: %d", status)
	}
}
