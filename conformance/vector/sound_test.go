package vector

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Each rule finds what it is for, and nothing in what is right.
func TestSound(t *testing.T) {
	const good = `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.006Z"},` +
		`"history":[{"role":"ROLE_USER","parts":[{"data":null,"metadata":{"my_key":null,"kind":"x"}}]}]}}`
	if err := soundFrame([]byte(good), false); err != nil {
		t.Error(err)
	}
	for name, change := range map[string][2]string{
		"a state of 0.3":      {"TASK_STATE_WORKING", "working"},
		"an unspecified one":  {"TASK_STATE_WORKING", "TASK_STATE_UNSPECIFIED"},
		"a number":            {`"TASK_STATE_WORKING"`, "2"},
		"a role of 0.3":       {"ROLE_USER", "user"},
		"an offset":           {"006Z", "006+05:30"},
		"no milliseconds":     {".006Z", "Z"},
		"an empty id":         {`"contextId":"c"`, `"contextId":""`},
		"a kind":              {`"id":"t"`, `"id":"t","kind":"task"`},
		"the proto's name":    {`"contextId"`, `"context_id"`},
		"a null":              {`"history":[`, `"artifacts":null,"history":[`},
		"two arms":            {`{"task":{`, `{"message":{},"task":{`},
		"an arm of 0.3":       {`{"task":{`, `{"status-update":{`},
		"the bare task":       {`{"task":{"id"`, `{"id"`},
		"cut":                 {`}}`, `}`},
		"a final of 0.3":      {`"status":{`, `"final":true,"status":{`},
		"no object":           {good, `7`},
		"null as the message": {good, `{"message":null}`},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if err := soundFrame([]byte(bad), false); bad == good || err == nil {
			t.Errorf("%s passes: %s", name, bad)
		}
	}
	for body, ok := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{"id":"t"}}`:                               true,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"data":[{"@type":"x"}]}}`: true,
		`{"jsonrpc":"2.0","id":1,"result":{},"error":null}`:                          false,
		`{"jsonrpc":"2.0","id":1,"result":null}`:                                     false,
		`{"jsonrpc":"2.0","id":1,"error":{},"result":{}}`:                            false,
		`{"jsonrpc":"2.0","id":1}`:                                                   false,
		`{"jsonrpc":"2.0","result":{}}`:                                              false,
		`{"id":1,"result":{}}`:                                                       false,
		`[]`:                                                                         false,
	} {
		v, err := parse([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unwrapped(v); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// asks is a server whose streams wait until their task is read.
func asks(t *testing.T) *Target {
	read := make(chan bool, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/tasks/t" {
			w.Header().Set("Content-Type", "application/a2a+json")
			_, _ = io.WriteString(w, `{"id":"t"}`)
			read <- true
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"task\":{\"id\":\"t\"}}\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-read:
			_, _ = io.WriteString(w, "data: {\"message\":{}}\n\n")
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	return &Target{Origin: s.URL, RPC: "/rpc", Client: s.Client()}
}

// A vector that opens a stream sees it as it comes, and fails where it is other than said.
func TestOpenStreams(t *testing.T) {
	const open = "-- open one SendStreamingMessage --\n{}\n-- frames --\n{\"task\":{\"id\":\"$bind task\"}}\n"
	const get = "-- call GetTask --\n{\"id\":\"${task}\"}\n-- want --\n{\"id\":\"t\"}\n"
	for name, v := range map[string]struct {
		text string
		ok   bool
	}{
		"as it comes":   {open + get + "-- read one --\n-- frames --\n{\"message\":{}}\n", true},
		"any rest":      {open + get + "-- read one --\n-- frames --\n...\n", true},
		"too few":       {open + get + "-- read one --\n-- frames --\n\n", false},
		"too many":      {open + get + "-- read one --\n-- frames --\n{\"message\":{}}\n{\"message\":{}}\n", false},
		"left":          {open + "-- leave one --\n", true},
		"never opened":  {open + "-- leave one --\n-- read one --\n-- frames --\n...\n", false},
		"opened twice":  {open + open, false},
		"another frame": {strings.ReplaceAll(open, "task", "message"), false},
	} {
		parsed, err := Parse(name, []byte("Prose.\n"+v.text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := parsed.Run(t.Context(), REST, asks(t)); (err == nil) != v.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, head := range []string{"open", "open x Nothing", "read", "read x y", "leave", "http GET", "call Nothing"} {
		if _, err := Parse("x", []byte("Prose.\n-- "+head+" --\n-- frames --\n...\n")); err == nil {
			t.Errorf("%q is read", head)
		}
	}
}
