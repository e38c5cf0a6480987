package binding

import (
	"context"
	"io"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
)

// What a caller may not do is refused before the request is looked at, and by class.
func TestPermit(t *testing.T) {
	s := serve(t, Options{Permit: func(ctx context.Context, o *op.Operation) error {
		if call.From(ctx).Principal.ID != "alice" || o.Access == "read" {
			return nil
		}
		return a2a.PermissionDeniedError.Errorf("not you")
	}})
	for _, test := range []struct {
		verb, path, body string
		status           int
	}{
		{"POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"nonsense":7}}`, 403},
		{"POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":7}`, 403},
		{"POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}`, 200},
		{"POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"NoSuch"}`, 200},
		{"POST", "/a2a/v1/message:send", `{`, 403},
		{"POST", "/a2a/v1/message:stream", `{`, 403},
		{"POST", "/a2a/v1/tasks/t:cancel", ``, 403},
		{"GET", "/a2a/v1/tasks/t", ``, 200},
		{"GET", "/a2a/v1/tasks?pageSize=x", ``, 400},
		{"DELETE", "/a2a/v1/tasks/t/pushNotificationConfigs/c", ``, 403},
		{"GET", "/a2a/v1/tasks/t/pushNotificationConfigs/c", ``, 400},
	} {
		res := s.send(test.verb, test.path, test.body)
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != test.status {
			t.Errorf("%s %s %s: %d %s", test.verb, test.path, test.body, res.StatusCode, body)
		}
	}
	if got := s.fake.took(); got != `alice GetTask {"id":"t"}|alice GetTask {"id":"t"}` {
		t.Errorf("carried out: %s", got)
	}
}
