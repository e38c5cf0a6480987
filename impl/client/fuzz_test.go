package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"a2aserve/gen/a2a"
)

// answers gives one answer to every request.
type answers struct {
	status int
	kind   string
	body   []byte
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {a.kind}}, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r}, nil
}

// Whatever an agent answers, a call ends with a task or an error, and a stream that does not
// get to an end says so.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"}}}`, `{"error":{"code":404,"message":"no","details":[7,{"reason":"TASK_NOT_FOUND","metadata":{}}]}}`,
		"data: {\"task\":{\"id\":\"t\",\"status\":{\"state\":\"TASK_STATE_WORKING\"}}}\n\ndata: {\"statusUpdate\":{\"status\":{\"state\":\"TASK_STATE_FAILED\"}}}\n\n", "data: {\"result\":", `{"jsonrpc":"2.0","error":{"code":-32001,"data":[{}]}}`,
	} {
		f.Add([]byte(s), uint16(200), true)
		f.Add([]byte(s), uint16(404), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, status uint16, rpc bool) {
		i := a2a.AgentInterface{URL: "http://agent.test/a2a", ProtocolBinding: REST, ProtocolVersion: "1.0"}
		if rpc {
			i.ProtocolBinding = JSONRPC
		}
		a := answers{200 + int(status)%400, "application/json", body}
		c, err := New(i, Options{HTTP: &http.Client{Transport: a}})
		if err != nil {
			t.Fatal(err)
		}
		if task, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t"}); (task == nil) == (err == nil) {
			t.Fatalf("%d %q: %v %v", a.status, body, task, err)
		}
		a.kind = "text/event-stream"
		if c, err = New(i, Options{HTTP: &http.Client{Transport: a}}); err != nil {
			t.Fatal(err)
		}
		over := false
		for frame, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "t"}) {
			if over {
				t.Fatalf("%d %q: something after the end: %+v %v", a.status, body, frame, err)
			}
			remote, _ := errors.AsType[*RemoteError](err)
			over = err != nil || frame.last()
			if remote != nil && remote.Error() == "" {
				t.Fatalf("%d %q: an error that says nothing", a.status, body)
			}
		}
		if !over {
			t.Fatalf("%d %q: the stream ended without an end, and nothing said so", a.status, body)
		}
	})
}
