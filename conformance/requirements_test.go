package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"a2aserve/conformance/vector"
	"a2aserve/gen/a2a"
	"a2aserve/impl/app"
	"a2aserve/impl/card"
	"a2aserve/impl/decode"
	"a2aserve/impl/driver/drivertest/plain"
	"a2aserve/impl/turn"

	"github.com/go-json-experiment/json"
)

// The tests of this file are about statements of the specification that requirements.yaml
// lists and no other test shows.

// What one binding has made, both read, to the byte; it follows the schema, and no member
// has an underscore in its name (A2A §4, §5.1, §5.5).
func TestBindingsAgree(t *testing.T) {
	target := serve(t, tokens)
	const context = `"contextId":"both"`
	texts := []string{"echo hi", `json {"a_b":1}`, "tool clock noon", "file a.txt hello", "artifacts 2", "fail", "reject", "auth"}
	ids := map[string]bool{}
	for i, text := range texts {
		ids[send(t, target, bindings[i%2], say(text, context+`,"metadata":{"m_n":1}`)).ID] = true
	}
	reads := map[string]string{`{` + context + `,"includeArtifacts":true}`: "ListTasks", `{` + context + `,"pageSize":3,"historyLength":1}`: "ListTasks"}
	for id := range ids {
		reads[`{"id":"`+id+`"}`] = "GetTask"
	}
	defs := map[string]string{"GetTask": "Task", "ListTasks": "ListTasksResponse"}
	for params, op := range reads {
		var answers []string
		for _, b := range bindings {
			doc, err := target.Call(t.Context(), b, op, "alice", params)
			if err != nil {
				t.Fatal(err)
			}
			if bad := decode.Validate(defs[op], doc); len(bad) > 0 {
				t.Errorf("%s %s: %v in %s", op, params, bad, doc)
			}
			var v any
			if err := json.Unmarshal(doc, &v); err != nil {
				t.Fatal(err)
			}
			if name := underscored(v); name != "" {
				t.Errorf("%s: member %s in %s", op, name, doc)
			}
			answers = append(answers, string(doc))
		}
		if answers[0] != answers[1] {
			t.Errorf("%s %s: the bindings answer\n%s\n%s", op, params, answers[0], answers[1])
		}
	}
}

// underscored finds a member whose name is no camelCase. What callers and agents have put
// into data and metadata is theirs.
func underscored(v any) string {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			if strings.Contains(name, "_") {
				return name
			}
			if name == "data" || name == "metadata" {
				continue
			}
			if bad := underscored(x); bad != "" {
				return bad
			}
		}
	case []any:
		for _, x := range v {
			if bad := underscored(x); bad != "" {
				return bad
			}
		}
	}
	return ""
}

// No two tasks, contexts or messages of the server's have one id, however many are made at
// once, and no two artifacts of a task do (A2A §3.4.2, §4.1.7).
func TestIdentifiersAreNew(t *testing.T) {
	target := serve(t, tokens)
	var mu sync.Mutex // guards seen
	seen := map[string]int{}
	var senders sync.WaitGroup
	for i := range 16 {
		senders.Go(func() {
			for range 10 {
				r, err := parseAs[sent](target.Call(t.Context(), bindings[i%2], "SendMessage", []string{"alice", "bob"}[i/2%2], say("artifacts 5")))
				if err != nil {
					t.Error(err)
					return
				}
				own := map[string]bool{}
				for _, a := range r.Task.Artifacts {
					own[a.ID] = true
				}
				if len(own) != len(r.Task.Artifacts) || len(own) < 5 || own[""] {
					t.Errorf("artifacts %v", own)
				}
				mu.Lock()
				seen["task "+r.Task.ID]++
				seen["context "+r.Task.ContextID]++
				mu.Unlock()
			}
		})
	}
	senders.Wait()
	if len(seen) != 2*160 || seen["task "] != 0 || seen["context "] != 0 {
		t.Errorf("%d ids where 320 were made", len(seen))
	}
}

// hasty is an agent that answers at once, with nothing.
type hasty struct{ turn.Driver }

func (hasty) Admit(context.Context, turn.Input) (*a2a.Message, error) { return &a2a.Message{}, nil }

// An answer that is not valid, where there is no task yet that could fail, is an error of
// its own (A2A §5.4).
func TestInvalidDirectAnswer(t *testing.T) {
	d := plain.New(plain.Options{Logger: quiet()})
	target, stop := startWith(t, filepath.Join(t.TempDir(), "tasks.db"), tokens, app.Options{Log: quiet(), Driver: hasty{d}})
	t.Cleanup(d.Close)
	t.Cleanup(stop)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		for _, op := range []string{"SendMessage", "SendStreamingMessage"} {
			res, body, err := target.Exchange(t.Context(), b, op, "alice", say("hello"))
			if err != nil {
				t.Fatal(err)
			}
			status, code := 500, `"code":500`
			if b == vector.JSONRPC {
				status, code = 200, `"code":-32006`
			}
			if res.StatusCode != status || !strings.Contains(string(body), code) || !strings.Contains(string(body), `"reason":"INVALID_AGENT_RESPONSE"`) {
				t.Errorf("%s: %d %s", op, res.StatusCode, body)
			}
		}
		if p := list(t, target, b, `{}`); p.Total != 0 {
			t.Errorf("%d tasks were made", p.Total)
		}
	})
}

// The server hands on the addresses in messages and never asks there (A2A §14.1.1).
func TestFileReferencesAreNotFollowed(t *testing.T) {
	var asked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer elsewhere.Close()
	target := serve(t, tokens)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		for _, address := range []string{elsewhere.URL + "/x.png", "file:///etc/hostname", "gopher://127.0.0.1/"} {
			doc, err := target.Call(t.Context(), b, "SendMessage", "alice", fmt.Sprintf(
				`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo look"},{"url":%q,"mediaType":"image/png"}],"metadata":{"url":%[1]q}}}`, address))
			if err != nil || !strings.Contains(string(doc), `"url":"`+address) || strings.Contains(string(doc), `"raw"`) {
				t.Errorf("%s: %s %v", address, doc, err)
			}
		}
	})
	if n := asked.Load(); n != 0 {
		t.Errorf("the server asked %d times", n)
	}
}

// Neither card holds what the server knows about itself: secrets, files, addresses behind it
// (A2A §14.3).
func TestCardsHoldNoSecrets(t *testing.T) {
	dir := t.TempDir()
	target := serve(t, `
auth:
  validators:
    - {type: static, tokens: [{token: tok-a, principal: alice-the-principal}]}
    - {type: introspect, introspection_url: "https://id.example.com/introspect", principal_claim: sub, client_id: the-client, client_secret: the-secret}
admin: {bind: "127.0.0.1:0"}
`+extendedCard(t))
	_, public := fetch(t, target, card.Path)
	_, extended := fetch(t, target, target.REST+"/extendedAgentCard", "Authorization", "Bearer tok-a")
	for name, doc := range map[string]string{"public": public, "extended": extended} {
		if !strings.Contains(doc, `"securitySchemes"`) {
			t.Errorf("the %s card: %s", name, doc)
		}
		for _, secret := range []string{"tok-a", "alice-the-principal", "the-client", "the-secret", "introspect", filepath.Dir(dir), ".db", "admin"} {
			if strings.Contains(doc, secret) {
				t.Errorf("the %s card holds %s: %s", name, secret, doc)
			}
		}
	}
}

// A task that is cancelled and then purged is not there any more, for whoever cancels it
// again (A2A §3.3.1).
func TestCancelledAndPurged(t *testing.T) {
	target := serve(t, tokens+"tasks: {max_per_context: 1}\n")
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		in := `"contextId":"purged-` + string(b) + `"`
		id := send(t, target, b, say("silent", in, now)).ID
		for _, want := range []string{"", "TASK_NOT_CANCELABLE", "TASK_NOT_FOUND"} {
			if want == "TASK_NOT_FOUND" {
				send(t, target, b, say("echo next", in)) // takes its place
			}
			_, err := target.Call(t.Context(), b, "CancelTask", "alice", `{"id":"`+id+`"}`)
			if want == "" && err != nil || want != "" && refused(t, err).Reason != want {
				t.Errorf("want %q, got %v", want, err)
			}
		}
	})
}
