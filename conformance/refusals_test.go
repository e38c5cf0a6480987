package conformance

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve/conformance/vector"
)

// PN-02, PN-04, PN-06, PN-07: push is not offered, so a configuration is refused whatever
// it names, on its own and with a message, nothing of it is kept, and nobody is called.
func TestPushIsRefusedWhateverItNames(t *testing.T) {
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the hook was called: %s %s", r.Method, r.URL)
	}))
	defer hook.Close()
	target := serve(t, tokens)
	urls := []string{hook.URL, "http://127.0.0.1:9/", "http://localhost", "http://10.0.0.1", "http://169.254.169.254/",
		"ftp://x", "file:///etc/passwd", "http://", "https://user:pw@x", "https://example.com/hook"}
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		parked := send(t, target, b, say("ask Colour?")).ID
		refuse := func(op, user, params string) {
			t.Helper()
			_, err := target.Call(t.Context(), b, op, user, params)
			r := refused(t, err)
			if r.Reason != "PUSH_NOTIFICATION_NOT_SUPPORTED" || b == vector.JSONRPC && r.Code != -32003 || b == vector.REST && r.HTTP != 400 {
				t.Errorf("%s %s: %+v %s", op, params, r, r.Body)
			}
		}
		in := fmt.Sprintf(`"contextId":"hooked-%s"`, b)
		for _, u := range urls {
			config := fmt.Sprintf(`"url":%q,"token":"t1","authentication":{"scheme":"bearer","credentials":"s3"}`, u)
			refuse("CreateTaskPushNotificationConfig", "alice", `{"taskId":"`+parked+`",`+config+`}`)
			refuse("SendMessage", "alice", say("chunks 2", in, `"configuration":{"taskPushNotificationConfig":{`+config+`}}`))
		}
		for _, user := range []string{"alice", "bob"} {
			for _, id := range []string{parked, "nope"} {
				refuse("ListTaskPushNotificationConfigs", user, `{"taskId":"`+id+`"}`)
				refuse("GetTaskPushNotificationConfig", user, `{"taskId":"`+id+`","id":"1"}`)
				for range 2 {
					refuse("DeleteTaskPushNotificationConfig", user, `{"taskId":"`+id+`","id":"1"}`)
				}
			}
		}
		if p := list(t, target, b, `{`+in+`}`); p.Total != 0 {
			t.Errorf("%d tasks were made", p.Total)
		}
		if got := send(t, target, b, say("blue", `"taskId":"`+parked+`"`)); got.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("%+v", got)
		}
	})
	if card := publicCard(t, target); !strings.Contains(card, `"pushNotifications":false`) {
		t.Errorf("the card: %s", card)
	}
}

// VX-02, VX-07: a version that is not served is refused on every operation, with what is
// served and before anything is done; the one that is in use is echoed and logged.
func TestVersionsThatAreNotServed(t *testing.T) {
	log := &logged{}
	target, stop := startWith(t, filepath.Join(t.TempDir(), "tasks.db"), tokens, log.options())
	defer stop()
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		id := send(t, target, b, say("echo hi")).ID
		before := list(t, target, b, `{}`).Total
		for _, version := range []string{"99.0", "2.0", "0.5", "0.3", "abc", "-1.0", "1.1", "1", "1.0, 2.0"} {
			for what := range requests {
				res, body := operate(t, target, b, what, id, "Authorization", "Bearer tok-a", "A2A-Version", version)
				want, status := `"reason":"VERSION_NOT_SUPPORTED"`, 400
				if b == vector.JSONRPC {
					status = 200
				}
				if res.StatusCode != status || !strings.Contains(body, want) || !strings.Contains(body, `"supportedVersions":"1.0"`) ||
					b == vector.JSONRPC && !strings.Contains(body, `"code":-32009`) || !strings.HasSuffix(res.Header.Get("Content-Type"), "json") {
					t.Errorf("%s, %s: %d %v %s", version, what, res.StatusCode, res.Header, body)
				}
			}
		}
		if after := list(t, target, b, `{}`).Total; after != before {
			t.Errorf("%d tasks before, %d after", before, after)
		}
		res, body := operate(t, target, b, "get", id, "Authorization", "Bearer tok-a", "A2A-Version", "1.0")
		if res.StatusCode != 200 || res.Header.Get("A2A-Version") != "1.0" || !strings.Contains(body, id) {
			t.Errorf("%d %v %s", res.StatusCode, res.Header, body)
		}
	})
	stop()
	if !strings.Contains(log.String(), "version=1.0") || strings.Contains(log.String(), "version=99.0") {
		t.Error("the log does not say the version in use")
	}
}

// SS-13: 1.0 knows no cursor. Who reconnects with one gets the snapshot and what follows,
// of this task and as its owner only.
func TestLastEventIDIsNoCursor(t *testing.T) {
	target := serve(t, tokens)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		parked := send(t, target, b, say("ask Colour?")).ID
		again := *target
		var open []*vector.Stream
		for _, last := range []string{"", "5", "999999", "garbage"} {
			again.Header = http.Header{"Last-Event-Id": {last}}
			s, err := again.Open(t.Context(), b, "SubscribeToTask", "alice", `{"id":"`+parked+`"}`)
			if err != nil {
				t.Fatalf("%q: %v", last, err)
			}
			defer s.Close()
			f, err := parseAs[frame](s.Next())
			if err != nil || f.Task == nil || f.Task.ID != parked || f.Task.Status.State != "TASK_STATE_INPUT_REQUIRED" || len(f.Task.History) != 2 {
				t.Errorf("%q opens with %+v: %v", last, f, err)
			}
			open = append(open, s)
			_, err = again.Open(t.Context(), b, "SubscribeToTask", "bob", `{"id":"`+parked+`"}`)
			if r := refused(t, err); r.Reason != "TASK_NOT_FOUND" {
				t.Errorf("%q, as bob: %+v", last, r)
			}
		}
		send(t, target, b, say("blue", `"taskId":"`+parked+`"`))
		for _, s := range open {
			if frames, state, err := ends(s); err != nil || state != "TASK_STATE_COMPLETED" || len(frames) != 3 {
				t.Errorf("%d frames, ends as %s: %v", len(frames), state, err)
			}
		}
	})
}
