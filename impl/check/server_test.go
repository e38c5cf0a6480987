package check

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"a2aserve/impl/app"
	"a2aserve/impl/config"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ours serves the demo agent as configured, over real HTTP and a real store.
func ours(t *testing.T, yaml string) string {
	t.Helper()
	dir := t.TempDir()
	cfg, err := config.Parse("test.yaml", []byte(`
bind: 127.0.0.1:0
store: {path: "`+filepath.Join(dir, "tasks.db")+`"}
agent: {driver: demo}
card: {name: Tried agent, description: The demo agent., version: "1.0.0", skills: [{id: demo, name: Demo, description: Does as it is told., tags: [demo]}]}
artifacts: {file_base_dir: "`+dir+`"}
`+yaml))
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the server ended with: %v", err)
		}
	})
	return "http://" + a.Addr().String()
}

const (
	strict = "strict_version_header: true\nstrict_terminal_subscribe: true\n"
	tokens = `auth:
  validators:
    - {type: static, tokens: [{token: alice-token, principal: alice}, {token: bob-token, principal: bob}]}
`
)

// quick is the demo agent's scenario in less time.
func quick() *Scenario {
	s := DemoScenario()
	s.Messages[Delayed], s.Messages[Chunks] = "slow 50 done", "chunks 4 60"
	return s
}

func run(t *testing.T, o Options) *Report {
	t.Helper()
	if o.Scenario == nil {
		o.Scenario = quick()
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// compare holds the failures, "id binding", against those that there should be.
func compare(t *testing.T, r *Report, want []string) {
	t.Helper()
	for _, one := range r.Results {
		name := strings.TrimSpace(one.ID + " " + one.Binding)
		if i := slices.Index(want, name); i >= 0 {
			want = slices.Delete(want, i, i+1)
			if one.Verdict != Fail {
				t.Errorf("%s should fail: %s %s", name, one.Verdict, one.Reason)
			}
		} else if one.Verdict == Fail {
			t.Errorf("%s fails: %s", name, one.Reason)
		}
	}
	for _, name := range want {
		t.Errorf("%s was not tried", name)
	}
}

func find(t *testing.T, r *Report, id, binding string) *Result {
	t.Helper()
	i := slices.IndexFunc(r.Results, func(x *Result) bool { return x.ID == id && x.Binding == binding })
	if i < 0 {
		t.Fatalf("no result of %s on %s", id, binding)
	}
	return r.Results[i]
}

func TestOurServerStrict(t *testing.T) {
	t.Parallel()
	r := run(t, Options{URL: ours(t, strict+tokens+"cors_origins: [\"*\"]\n"), Token: "alice-token", SecondToken: "bob-token"})
	compare(t, r, nil)
	for _, one := range r.Results {
		if one.Verdict == Skip && one.Level == Must {
			t.Errorf("%s %s is skipped: %s", one.ID, one.Binding, one.Reason)
		}
	}
	if !r.OK() || r.Summary.Must.Passed < 100 {
		t.Errorf("%+v", r.Summary)
	}
}

// With its default leniency the server fails what its file of expectations says, and no more.
func TestOurServerByDefault(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../conformance/expect/default.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known, err := ReadExpectations(b)
	if err != nil {
		t.Fatal(err)
	}
	url := ours(t, "")
	r := run(t, Options{URL: url, Expect: known})
	if !r.OK() {
		compare(t, r, nil)
	}
	if r.Summary.Expected != 4 || r.Summary.Unexpected != 0 {
		t.Errorf("%+v", r.Summary)
	}
	if r = run(t, Options{URL: url}); r.Summary.Must.Failed != 4 || r.OK() {
		t.Errorf("without the expectations: %+v", r.Summary)
	}
}

// A read-only run leaves nothing behind.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	url := ours(t, strict)
	r := run(t, Options{URL: url, ReadOnly: true})
	if !r.OK() {
		compare(t, r, nil)
	}
	for _, one := range r.Results {
		for _, x := range one.Exchanges {
			if strings.Contains(x.Body, `"SendMessage"`) || strings.Contains(x.Body, `"SendStreamingMessage"`) || strings.HasSuffix(x.URL, "/message:stream") {
				t.Errorf("%s sends %s %s", one.ID, x.URL, x.Body)
			}
		}
	}
	if r.Summary.Passed < 60 {
		t.Errorf("%+v", r.Summary)
	}
	var out bytes.Buffer
	if err := r.Text(&out, false, true); err != nil || !strings.Contains(out.String(), "read-only") {
		t.Errorf("%v %s", err, out.String())
	}
}

// What a run starts is not left running, and the bound on requests holds.
func TestBounds(t *testing.T) {
	t.Parallel()
	url := ours(t, strict)
	r := run(t, Options{URL: url, MaxRequests: 120})
	if r.Requests > 120+len(r.Canceled) || !strings.Contains(r.Results[len(r.Results)-30].Reason+find(t, r, "cancel.twice", REST).Reason, "bound of 120 requests") {
		t.Errorf("%d requests, %s", r.Requests, find(t, r, "cancel.twice", REST).Reason)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	r, err := Run(ctx, Options{URL: url, Scenario: quick(), Progress: func(done, total int, one *Result) {
		n++
		if done != n || total < 200 {
			t.Errorf("%d of %d after %d", done, total, n)
		}
		if one.ID == "send.stored" {
			cancel()
		}
	}})
	if err != nil || find(t, r, "cancel.twice", REST).Verdict != Skip || n != len(r.Results) {
		t.Errorf("%v, %d results", err, n)
	}
	cancel()
}

func TestNothingToTry(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "agent.example.com", "ftp://x", "http://127.0.0.1:1", "http://user:hunter22@127.0.0.1:1", ours(t, "") + "/nothing/here.json"} {
		_, err := Run(t.Context(), Options{URL: url})
		if err == nil || !strings.Contains(err.Error(), ErrUnreachable.Error()) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// Without credentials there is the card and the refusal to try; with wrong ones, nothing.
func TestCredentialsThatAreMissing(t *testing.T) {
	t.Parallel()
	url := ours(t, strict+tokens)
	r := run(t, Options{URL: url})
	if !r.OK() {
		compare(t, r, nil)
	}
	verdicts(t, r, Pass, "auth.absent", "auth.wrong", "card.schema")
	verdicts(t, r, Skip, "send.answer", "error.unknown-task", "equal.errors")
	var out bytes.Buffer
	if err := r.Text(&out, false, false); err != nil || !strings.Contains(out.String(), " skipped: the agent wants credentials, and none were given") {
		t.Errorf("%v %s", err, out.String())
	}
	if _, err := Run(t.Context(), Options{URL: url, Token: "mallory-token"}); err == nil || !strings.Contains(err.Error(), "are refused by JSONRPC") || strings.Contains(err.Error(), "mallory") {
		t.Errorf("with a wrong token: %v", err)
	}
}
