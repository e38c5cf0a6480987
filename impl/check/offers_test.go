package check

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"a2aserve/conformance/certs"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
)

// verdicts holds results against "pass", "fail" and so on, on both bindings where there are two.
func verdicts(t *testing.T, r *Report, want Verdict, ids ...string) {
	t.Helper()
	for _, id := range ids {
		n := 0
		for _, one := range r.Results {
			if one.ID == id {
				n++
				if one.Verdict != want {
					t.Errorf("%s %s: %s %s, want %s", id, one.Binding, one.Verdict, one.Reason, want)
				}
			}
		}
		if n == 0 {
			t.Errorf("%s was not tried", id)
		}
	}
}

func TestOverTLS(t *testing.T) {
	t.Parallel()
	ca := certs.NewAuthority(t, "authority")
	cert, key := ca.Server("server").Write(t, t.TempDir())
	url := "https" + strings.TrimPrefix(ours(t, strict+fmt.Sprintf("tls: {cert_file: %q, key_file: %q}\n", cert, key)), "http")
	if _, err := Run(t.Context(), Options{URL: url, ReadOnly: true}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without its authority: %v", err)
	}
	r := run(t, Options{URL: url, TLS: &tls.Config{RootCAs: ca.Pool}, Only: []string{"tls", "stream", "subscribe"}})
	verdicts(t, r, Pass, "tls.old", "tls.modern", "tls.hsts", "stream.shape", "subscribe.several")
	verdicts(t, r, NotApplicable, "tls.used")
	if !r.OK() {
		compare(t, r, nil)
	}
}

func TestExtendedCard(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "extended.json")
	if err := os.WriteFile(path, []byte(`{"name":"More","description":"More of it.","version":"1.0.0","skills":[{"id":"a","name":"A","description":"A.","tags":["a"]}],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	url := ours(t, strict+tokens+"extended_card_file: "+path+"\n")
	r := run(t, Options{URL: url, Token: "alice-token", ReadOnly: true})
	verdicts(t, r, Pass, "extended-card.private", "extended-card.card", "auth.absent", "auth.wrong", "auth.status", "auth.challenge", "auth.own-code", "auth.first", "auth.stream")
	verdicts(t, r, NotApplicable, "extended-card.not-offered")
	verdicts(t, r, Skip, "isolation.get", "send.answer")
}

// refusesLoopback stands for a server that looks at webhooks before it takes them.
type refusesLoopback struct{ push.ConfigStore }

func (s refusesLoopback) Save(ctx context.Context, id sdk.TaskID, c *sdk.PushConfig) (*sdk.PushConfig, error) {
	if strings.Contains(c.URL, "169.254.") {
		return nil, sdk.ErrInvalidParams
	}
	return s.ConfigStore.Save(ctx, id, c)
}

func TestPushConfigurations(t *testing.T) {
	t.Parallel()
	for want, store := range map[Verdict]push.ConfigStore{Fail: push.NewInMemoryStore(), Pass: refusesLoopback{push.NewInMemoryStore()}} {
		url := sdkServer(t, scripted{}, a2asrv.WithPushNotifications(store, push.NewHTTPPushSender(nil)))
		r := run(t, Options{URL: url, Token: "alice-token", Only: []string{"push", "rpc"}})
		verdicts(t, r, NotApplicable, "push.not-offered")
		verdicts(t, r, want, "push.private-address")
		if one := find(t, r, "push.life", REST); one.Verdict != Pass {
			t.Errorf("push.life: %s %s", one.Verdict, one.Reason)
		}
		// Deletions are confirmed with neither a result nor an error there.
		if one := find(t, r, "rpc.envelope", JSONRPC); one.Verdict != Fail || one.Reason != "an answer has not exactly one of result and error" {
			t.Errorf("rpc.envelope: %s %s", one.Verdict, one.Reason)
		}
	}
}

// A required extension is declared in every request, but for the one that must be refused.
func TestRequiredExtension(t *testing.T) {
	t.Parallel()
	upstream := ours(t, strict)
	for _, enforced := range []bool{true, false} {
		b := broken{
			answer: func(r *http.Request, _ []byte, _ http.Header, _ *int, body []byte) []byte {
				if strings.HasSuffix(r.URL.Path, ".json") {
					body = bytes.Replace(body, []byte(`"extensions":[`), []byte(`"extensions":[{"uri":"https://example.com/ext/v1","required":true},`), 1)
				}
				return body
			},
			instead: func(w http.ResponseWriter, r *http.Request, asked []byte) bool {
				if !enforced || r.Method != http.MethodPost || !is(r, asked, "SendMessage") || strings.Contains(r.Header.Get("A2A-Extensions"), "https://example.com/ext/v1") {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				info := `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"EXTENSION_SUPPORT_REQUIRED","domain":"a2a-protocol.org"}]`
				if r.URL.Path == "/a2a" {
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32008,"message":"An extension is required","data":%s}}`, encode(object(parse(asked))["id"]), info)
				} else {
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprintf(w, `{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"An extension is required","details":%s}}`, info)
				}
				return true
			},
		}
		o := Options{URL: serve(t, upstream, b)}
		if !enforced {
			o.Only = []string{"extension"}
		}
		r := run(t, o)
		verdicts(t, r, map[bool]Verdict{true: Pass, false: Fail}[enforced], "extension.required")
		if enforced && !r.OK() {
			compare(t, r, nil)
		}
	}
}

// A card that names only one binding, or none that is tried, gets the checks that are left.
func TestOtherInterfaces(t *testing.T) {
	t.Parallel()
	upstream := ours(t, strict)
	renamed := func(from, to string) string {
		b := broken{answer: func(r *http.Request, _ []byte, _ http.Header, _ *int, body []byte) []byte {
			if strings.HasSuffix(r.URL.Path, ".json") {
				body = regexp.MustCompile(from).ReplaceAll(body, []byte(to))
			}
			return body
		}}
		return serve(t, upstream, b)
	}
	r := run(t, Options{URL: renamed(`"protocolBinding":"JSONRPC"`, `"protocolBinding":"GRPC"`), Only: []string{"card", "send", "equal"}})
	verdicts(t, r, NotApplicable, "equal.task", "equal.errors")
	verdicts(t, r, Pass, "send.answer", "card.interfaces", "card.current")
	if !r.OK() || len(r.Interfaces) != 2 || r.Interfaces[1].Tried || !strings.HasPrefix(r.Interfaces[1].Name, "GRPC 1.0 at http") {
		t.Errorf("%+v", r.Interfaces)
	}
	r = run(t, Options{URL: renamed(`http://[^/]*/a2a/v1`, `http://127.0.0.1:1/a2a/v1`)})
	if one := find(t, r, "card.reachable", REST); one.Verdict != Fail || find(t, r, "card.reachable", JSONRPC).Verdict != Pass || r.Summary.Must.Failed != 1 {
		compare(t, r, []string{"card.reachable HTTP+JSON"})
	}
	r = run(t, Options{URL: renamed(`"protocolVersion":"1.0"`, `"protocolVersion":"0.3"`)})
	verdicts(t, r, Fail, "card.current")
	if len(r.Results) > 40 {
		t.Errorf("%d results without an interface", len(r.Results))
	}
}

// A redirection is not followed: it would take the credentials along.
func TestRedirectionsAreNotFollowed(t *testing.T) {
	t.Parallel()
	caught := make(chan string, 1000)
	b := broken{instead: func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		if strings.HasPrefix(r.URL.Path, "/elsewhere") {
			caught <- r.Header.Get("Authorization")
			return true
		}
		if strings.HasSuffix(r.URL.Path, ".json") {
			return false
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		return true
	}}
	r := run(t, Options{URL: serve(t, ours(t, strict+tokens), b), Token: "alice-token", ReadOnly: true})
	if len(caught) > 0 || r.OK() {
		t.Errorf("%d requests went elsewhere; %+v", len(caught), r.Summary)
	}
}
