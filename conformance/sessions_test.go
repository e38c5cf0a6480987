package conformance

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"a2aserve/conformance/vector"
	"a2aserve/impl/app"
	"a2aserve/impl/driver/drivertest/plain"
)

// oneSession serves an agent with one conversation, on a store that may have a past.
func oneSession(t *testing.T, db, session string) (*vector.Target, func()) {
	t.Helper()
	return startWith(t, db, tokens, app.Options{Log: quiet(), Driver: plain.New(plain.Options{Session: session, Nested: true, Logger: quiet()})})
}

// unserved sends a message that must be refused for its context, and returns the refusal.
func unserved(t *testing.T, target *vector.Target, b vector.Binding, user, params string) *vector.Refusal {
	t.Helper()
	_, err := target.Call(t.Context(), b, "SendMessage", user, params)
	r := refused(t, err)
	if r.Reason != "UNSUPPORTED_OPERATION" || r.Detail != "CONTEXT_NOT_SERVED" {
		t.Errorf("%s: refused with %s", user, r.Body)
	}
	return r
}

// Decision 17: who names no context gets the agent's session as one, and claims it; a
// restart with the same session changes nothing, a fresh session frees the agent.
func TestSessionIsTheContext(t *testing.T) {
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		db := filepath.Join(t.TempDir(), "tasks.db")
		for start, session := range []string{"s1", "s1", "s2"} {
			target, stop := oneSession(t, db, session)
			owner, other := "alice", "bob"
			if session == "s2" {
				owner, other = other, owner
			}
			r, err := parseAs[sent](target.Call(t.Context(), b, "SendMessage", owner, say("echo hi")))
			if err != nil || r.Task.ContextID != session || r.Task.text() != "hi" {
				t.Errorf("start %d: %+v, %v", start, r.Task, err)
			}
			for _, context := range []string{"", `"contextId":"` + session + `"`, `"contextId":"x"`} {
				if r := unserved(t, target, b, other, say("echo hi", context)); strings.Contains(string(r.Body), `"`+session) || strings.Contains(string(r.Body), owner) {
					t.Errorf("start %d: a stranger is told %s", start, r.Body)
				}
			}
			if r := unserved(t, target, b, owner, say("echo hi", `"contextId":"x"`)); !strings.Contains(string(r.Body), session) {
				t.Errorf("start %d: the owner is not told which context is served: %s", start, r.Body)
			}
			stop()
		}
	})
}

// Decision 16: the context is judged before the slot. That it is not served is for good,
// that a turn is running passes.
func TestContextIsJudgedBeforeTheSlot(t *testing.T) {
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		target, stop := oneSession(t, filepath.Join(t.TempDir(), "tasks.db"), "s1")
		defer stop()
		parked := send(t, target, b, say("ask Colour?", `"contextId":"mine"`))
		unserved(t, target, b, "alice", say("echo hi", `"contextId":"x"`))
		unserved(t, target, b, "alice", say("echo hi")) // the session's own name is not the bound one
		unserved(t, target, b, "bob", say("echo hi", `"contextId":"mine"`))
		_, err := target.Call(t.Context(), b, "SendMessage", "alice", say("echo hi", `"contextId":"mine"`))
		if r := refused(t, err); r.Detail != "TASK_ALREADY_IN_FLIGHT" {
			t.Errorf("a second turn: %s", r.Body)
		}
		if got := send(t, target, b, say("blue", `"taskId":"`+parked.ID+`"`)); got.text() != "You said: blue" {
			t.Errorf("%+v", got)
		}
	})
}

// A request that is refused, for whatever reason, leaves no binding behind.
func TestRefusedRequestsBindNothing(t *testing.T) {
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		target, stop := oneSession(t, filepath.Join(t.TempDir(), "tasks.db"), "s1")
		defer stop()
		video := `{"message":{"messageId":"m","role":"ROLE_USER","contextId":"bobs","parts":[{"raw":"aGk=","mediaType":"video/mp4"}]}}`
		for what, params := range map[string]string{
			"a part":       video,
			"output modes": say("echo hi", `"contextId":"bobs"`, `"configuration":{"acceptedOutputModes":["audio/ogg"]}`),
			"push":         say("echo hi", `"contextId":"bobs"`, `"configuration":{"taskPushNotificationConfig":{"url":"https://example.com"}}`),
			"a tenant":     say("echo hi", `"contextId":"bobs"`, `"tenant":"t"`),
			"a task":       say("echo hi", `"contextId":"bobs","taskId":"none"`),
		} {
			if _, err := target.Call(t.Context(), b, "SendMessage", "bob", params); err == nil {
				t.Errorf("%s: not refused", what)
			}
		}
		if got := send(t, target, b, say("echo hi", `"contextId":"mine"`)); got.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("%+v", got.Status)
		}
		unserved(t, target, b, "bob", say("echo hi", `"contextId":"bobs"`))
	})
}

// Of many first messages at once, one claims the agent, and all others hear that it is
// taken: none of them that it is only busy.
func TestFirstMessagesRace(t *testing.T) {
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		for range 5 {
			target, stop := oneSession(t, filepath.Join(t.TempDir(), "tasks.db"), "s1")
			var mu sync.Mutex // guards served
			served := map[string]bool{}
			var all sync.WaitGroup
			for i := range 16 {
				user, context := []string{"alice", "bob"}[i%2], fmt.Sprintf("context-%d", i)
				all.Go(func() {
					_, err := target.Call(t.Context(), b, "SendMessage", user, say("slow 5 hi", `"contextId":"`+context+`"`))
					if err == nil {
						mu.Lock()
						defer mu.Unlock()
						served[context] = true
						return
					}
					if r, ok := err.(*vector.Refusal); !ok || r.Detail != "CONTEXT_NOT_SERVED" {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if len(served) != 1 {
				t.Errorf("%v were served", served)
			}
			stop()
		}
	})
}

// A client that reads nothing of what it began still holds the conversation.
func TestAbandonedTurnKeepsTheClaim(t *testing.T) {
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		target, stop := oneSession(t, filepath.Join(t.TempDir(), "tasks.db"), "s1")
		defer stop()
		ctx, leave := context.WithCancel(t.Context())
		s, err := target.Open(ctx, b, "SendStreamingMessage", "alice", say("slow 20 hi"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Next(); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		leave()
		s.Close()
		unserved(t, target, b, "bob", say("echo hi"))
	})
}
