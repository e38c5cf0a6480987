package conformance

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"a2aserve/conformance/vector"
)

// never is an id that no task has.
const never = "01890000-0000-7000-8000-000000000000"

// asks are requests about a task: ID is its id, CTX its context. An operation with more
// than one way to name a task is there for each.
var asks = []struct{ name, op, params string }{
	{"GetTask", "GetTask", `{"id":"ID"}`},
	{"GetTask with history", "GetTask", `{"id":"ID","historyLength":1}`},
	{"SubscribeToTask", "SubscribeToTask", `{"id":"ID"}`},
	{"SendMessage to it", "SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","taskId":"ID","parts":[{"text":"blue"}]}}`},
	{"SendMessage to it, in its context", "SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","taskId":"ID","contextId":"CTX","parts":[{"text":"blue"}]}}`},
	{"SendMessage that refers to it", "SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","referenceTaskIds":["ID"],"parts":[{"text":"direct blue"}]}}`},
	{"SendStreamingMessage to it", "SendStreamingMessage", `{"message":{"messageId":"m","role":"ROLE_USER","taskId":"ID","parts":[{"text":"blue"}]}}`},
	{"CreateTaskPushNotificationConfig", "CreateTaskPushNotificationConfig", `{"taskId":"ID","url":"https://example.com/"}`},
	{"GetTaskPushNotificationConfig", "GetTaskPushNotificationConfig", `{"taskId":"ID","id":"c"}`},
	{"ListTaskPushNotificationConfigs", "ListTaskPushNotificationConfigs", `{"taskId":"ID"}`},
	{"DeleteTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig", `{"taskId":"ID","id":"c"}`},
	{"GetExtendedAgentCard", "GetExtendedAgentCard", `{}`},
	{"CancelTask", "CancelTask", `{"id":"ID"}`}, // last, since it ends the task of who may
}

// tasksIn are how a task comes to stand where it is asked for.
var tasksIn = map[string]string{
	"live":     say("silent", "", now),
	"parked":   say("ask Colour?"),
	"finished": say("echo done"),
}

// For whoever is not its owner, a task differs in nothing from one that never was: bytes
// and headers are the same once the id that was asked for is replaced. Every operation,
// in every state of the task, for another principal and for nobody, on both bindings; and
// the owner finds the task as it was.
func TestForeignAndUnknownAreTheSameBytes(t *testing.T) {
	target := serve(t, tokens)
	target.Tokens["mallory"] = "tok-guessed"
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		for _, state := range slices.Sorted(maps.Keys(tasksIn)) {
			t.Run(state, func(t *testing.T) {
				theirs := send(t, target, b, tasksIn[state])
				for theirs.Status.State == "TASK_STATE_SUBMITTED" { // a live one is about to be WORKING
					theirs = get(t, target, b, theirs.ID)
				}
				before := describe(t, target, b, theirs)
				for _, who := range []string{"bob", "mallory", "nobody"} {
					for _, a := range asks {
						params := strings.ReplaceAll(a.params, "CTX", theirs.ContextID)
						foreign, unknown := answerTo(t, target, b, a.op, who, params, theirs.ID), answerTo(t, target, b, a.op, who, params, never)
						if foreign != unknown {
							t.Errorf("%s as %s: not theirs\n%s\nnever was\n%s", a.name, who, foreign, unknown)
						}
						if who != "bob" && !strings.HasPrefix(foreign, "401") {
							t.Errorf("%s as %s: got %s", a.name, who, foreign)
						}
					}
				}
				if after := describe(t, target, b, theirs); after != before {
					t.Errorf("the owner finds\n%s\nand had\n%s", after, before)
				}
				asOwner(t, target, b, theirs)
			})
		}
	})
}

// asOwner shows that the answers above are not simply everybody's.
func asOwner(t *testing.T, target *vector.Target, b vector.Binding, theirs task) {
	t.Helper()
	for _, a := range asks {
		if strings.Contains(a.op, "Push") || a.op == "GetExtendedAgentCard" || strings.Contains(a.name, "refers") {
			continue // nothing of the task shows in these
		}
		params := strings.NewReplacer("CTX", theirs.ContextID, "ID", theirs.ID).Replace(a.params)
		if strings.HasPrefix(a.op, "Su") || strings.HasPrefix(a.op, "SendS") {
			s, err := target.Open(t.Context(), b, a.op, "alice", params)
			if err == nil {
				var first []byte
				first, err = s.Next()
				s.Close()
				if err == nil && !strings.Contains(string(first), theirs.ID) {
					t.Errorf("%s as its owner: %s", a.name, first)
				}
			}
			if err != nil && refused(t, err).Reason == "TASK_NOT_FOUND" {
				t.Errorf("%s as its owner: %v", a.name, err)
			}
			continue
		}
		_, err := target.Call(t.Context(), b, a.op, "alice", params)
		if err != nil && refused(t, err).Reason == "TASK_NOT_FOUND" {
			t.Errorf("%s as its owner: %v", a.name, err)
		}
	}
}

// A list filtered by another's context is the list of a context that never was.
func TestForeignContextIsAnUnknownOne(t *testing.T) {
	target := serve(t, tokens)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		theirs := send(t, target, b, say("ask Colour?"))
		for _, who := range []string{"bob", "nobody"} {
			foreign, unknown := answerTo(t, target, b, "ListTasks", who, `{"contextId":"ID"}`, theirs.ContextID), answerTo(t, target, b, "ListTasks", who, `{"contextId":"ID"}`, never)
			if foreign != unknown {
				t.Errorf("as %s:\n%s\nagainst\n%s", who, foreign, unknown)
			}
		}
	})
}

var (
	stamp   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	made    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	varying = []string{"Date", "X-Request-Id"}
)

// answerTo is the whole answer to a request about an id, without what differs from one
// request to the next whatever it asks.
func answerTo(t *testing.T, target *vector.Target, b vector.Binding, op, who, params, id string) string {
	t.Helper()
	res, body, err := target.Exchange(t.Context(), b, op, who, strings.ReplaceAll(params, "ID", id))
	if err != nil {
		t.Fatal(err)
	}
	text := stamp.ReplaceAllString(strings.ReplaceAll(string(body), id, "ID"), "TIME")
	if res.StatusCode == http.StatusOK && strings.Contains(params, "direct") {
		text = made.ReplaceAllString(text, "NEW") // the answer's own ids
	}
	head := res.Header.Clone()
	for _, name := range varying {
		head.Del(name)
	}
	return fmt.Sprintf("%d %s %v\n%s", res.StatusCode, res.Proto, head, text)
}

// describe is the task as its owner reads it.
func describe(t *testing.T, target *vector.Target, b vector.Binding, of task) string {
	t.Helper()
	body, err := target.Call(t.Context(), b, "GetTask", "alice", `{"id":"`+of.ID+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
