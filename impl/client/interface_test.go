package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"a2aserve/gen/a2a"
)

// TestEveryRequestNamesVersionAndTenant: the version in a header, and the tenant of the
// interface where the card declares one, as it is written there (A2A §3.6.1, §8.3.2).
func TestEveryRequestNamesVersionAndTenant(t *testing.T) {
	var at, body string
	var head http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		at, body, head = r.URL.EscapedPath(), string(b), r.Header
		w.WriteHeader(http.StatusTeapot) // how it goes on does not matter
	}))
	defer s.Close()
	for _, binding := range []string{JSONRPC, REST} {
		for _, tenant := range []string{"", "acme", "a/b c"} {
			c, err := New(a2a.AgentInterface{URL: s.URL + "/a2a", ProtocolBinding: binding, ProtocolVersion: "1.0", Tenant: tenant}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			for name, call := range map[string]func(){
				"SendMessage": func() { _, _ = c.SendMessage(ctx, &a2a.SendMessageRequest{Message: Text("x")}) },
				"SendStreamingMessage": func() {
					for range c.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: Text("x")}) {
					}
				},
				"SubscribeToTask": func() {
					for range c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: "t"}) {
					}
				},
				"GetTask":              func() { _, _ = c.GetTask(ctx, &a2a.GetTaskRequest{ID: "t"}) },
				"ListTasks":            func() { _, _ = c.ListTasks(ctx, &a2a.ListTasksRequest{}) },
				"CancelTask":           func() { _, _ = c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: "t"}) },
				"GetExtendedAgentCard": func() { _, _ = c.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{}) },
			} {
				at, body, head = "", "", nil
				call()
				if head.Get("A2A-Version") != Version {
					t.Errorf("%s over %s: A2A-Version %q", name, binding, head.Values("A2A-Version"))
				}
				path, param := "/a2a/", `"tenant"`
				switch {
				case tenant == "":
				case binding == JSONRPC:
					path, param = "/a2a", `"tenant":"`+tenant+`"`
				default:
					path = "/a2a/" + strings.NewReplacer("/", "%2F", " ", "%20").Replace(tenant) + "/"
				}
				if !strings.HasPrefix(at+"/", path) || strings.Contains(body, param) != (tenant != "" && binding == JSONRPC) {
					t.Errorf("%s over %s for %q: %s %s", name, binding, tenant, at, body)
				}
			}
		}
	}
}
