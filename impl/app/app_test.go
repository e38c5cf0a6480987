package app_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve/impl/app"
	"a2aserve/impl/card"
	"a2aserve/impl/config"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const agent = `agent: {driver: demo}
card: {name: Test agent, description: For tests., version: "1", skills: [{id: a, name: A, description: A}]}
`

// configuration is the demo agent on a free port, with what text adds.
func configuration(t *testing.T, text string) *config.Config {
	t.Helper()
	db := filepath.Join(t.TempDir(), "x.db")
	overrides := []config.Override{{Key: "store.path", Value: db, From: "--db"}}
	if !strings.Contains(text, "bind:") {
		overrides = append(overrides, config.Override{Key: "bind", Value: "127.0.0.1:0", From: "--bind"})
	}
	cfg, err := config.Parse("test.yaml", []byte(agent+text), overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// start runs an app until stop is called, or the test ends.
func start(t *testing.T, cfg *config.Config, o app.Options) (a *app.App, stop func() error) {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a, err := app.New(t.Context(), cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	ended := false
	stop = func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return a, stop
}

func do(t *testing.T, method, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// local is where the app can be reached, whatever address it tells.
func local(t *testing.T, a *app.App) string {
	t.Helper()
	_, port, err := net.SplitHostPort(a.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return "http://127.0.0.1:" + port
}

// Case CD-01: the card and the banner never name an address that no client can reach.
func TestAddressesOfTheCard(t *testing.T) {
	for _, v := range []struct{ text, want string }{
		{"bind: 127.0.0.1:0", "http://127.0.0.1:PORT"},
		{"bind: localhost:0", "http://localhost:PORT"},
		{"bind: 0.0.0.0:0\npublic_url: https://agent.example.com/base/", "https://agent.example.com/base"},
		{"bind: \"[::]:0\"\npublic_url: https://agent.example.com", "https://agent.example.com"},
	} {
		t.Run(v.text, func(t *testing.T) {
			a, _ := start(t, configuration(t, v.text), app.Options{})
			_, port, _ := net.SplitHostPort(a.Addr().String())
			want := strings.Replace(v.want, "PORT", port, 1)
			_, body := do(t, "GET", local(t, a)+card.Path, "")
			if !strings.Contains(body, `"url":"`+want+`/a2a"`) || !strings.Contains(body, `"url":"`+want+`/a2a/v1"`) || a.URL() != want {
				t.Errorf("want %s in %s", want, body)
			}
			if banner := a.Banner(); !strings.Contains(banner, want+card.Path) || !strings.Contains(banner, want+"/a2a/v1/message:send") {
				t.Errorf("want %s in\n%s", want, banner)
			}
		})
	}
}

// Case AU-05: the card is public and says what is enforced; card_requires_auth hides it.
func TestCardAndAuthentication(t *testing.T) {
	a, _ := start(t, configuration(t, "bearer_token: s3cret\n"), app.Options{})
	resp, body := do(t, "GET", a.URL()+card.Path, "")
	if resp.StatusCode != 200 || !strings.Contains(body, `"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}`) || resp.Header.Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("got %d %v %s", resp.StatusCode, resp.Header, body)
	}
	if resp, body := do(t, "POST", a.URL()+card.Path, "{}"); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" || !strings.Contains(body, "METHOD_NOT_ALLOWED") {
		t.Errorf("wrong verb: %d %s", resp.StatusCode, body)
	}
	if resp, body := do(t, "GET", a.URL()+"/a2a/v1/tasks", ""); resp.StatusCode != 401 {
		t.Errorf("without a token: %d %s", resp.StatusCode, body)
	}
	if resp, body := do(t, "GET", a.URL()+"/a2a/v1/tasks", "", "Authorization", "Bearer s3cret"); resp.StatusCode != 200 {
		t.Errorf("with the token: %d %s", resp.StatusCode, body)
	}

	a, _ = start(t, configuration(t, "bearer_token: s3cret\ncard_requires_auth: true\n"), app.Options{})
	if resp, body := do(t, "GET", a.URL()+card.Path, ""); resp.StatusCode != 401 || strings.Contains(body, "Test agent") {
		t.Errorf("private card without a token: %d %s", resp.StatusCode, body)
	}
	if resp, _ := do(t, "GET", a.URL()+card.Path, "", "Authorization", "Bearer s3cret"); resp.StatusCode != 200 || resp.Header.Get("Cache-Control") != "private, max-age=300" {
		t.Errorf("private card with the token: %d %v", resp.StatusCode, resp.Header)
	}
}

// Configured paths, limits and strictness reach the bindings.
func TestConfigurationIsFollowed(t *testing.T) {
	a, _ := start(t, configuration(t, `jsonrpc_path: /rpc
rest_prefix: /rest
strict_version_header: true
limits: {max_body_bytes: 2048, max_depth: 16}
tasks: {max_message_bytes: 600}
`), app.Options{})
	send := func(text string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + text + `"}]}}`
	}
	v := []string{"A2A-Version", "1.0"}
	if resp, body := do(t, "POST", a.URL()+"/rest/message:send", send("echo hi"), v...); resp.StatusCode != 200 {
		t.Errorf("send: %d %s", resp.StatusCode, body)
	}
	if resp, body := do(t, "POST", a.URL()+"/rpc", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`, v...); resp.StatusCode != 200 || !strings.Contains(body, `"totalSize":1`) {
		t.Errorf("list: %d %s", resp.StatusCode, body)
	}
	if resp, _ := do(t, "POST", a.URL()+"/a2a", "{}", v...); resp.StatusCode != 404 {
		t.Errorf("the default path: %d", resp.StatusCode)
	}
	if resp, body := do(t, "GET", a.URL()+"/rest/tasks", ""); resp.StatusCode != 400 || !strings.Contains(body, "VERSION_NOT_SUPPORTED") {
		t.Errorf("without a version: %d %s", resp.StatusCode, body)
	}
	if resp, body := do(t, "POST", a.URL()+"/rest/message:send", send(strings.Repeat("x", 3000)), v...); resp.StatusCode != 413 {
		t.Errorf("large body: %d %s", resp.StatusCode, body)
	}
	if resp, body := do(t, "POST", a.URL()+"/rest/message:send", send(strings.Repeat("x", 1000)), v...); resp.StatusCode != 400 {
		t.Errorf("large message: %d %s", resp.StatusCode, body)
	}
	if resp, body := do(t, "POST", a.URL()+"/rest/message:send", `{"metadata":{"a":`+strings.Repeat("[", 20)+strings.Repeat("]", 20)+`}}`, v...); resp.StatusCode != 400 {
		t.Errorf("deep body: %d %s", resp.StatusCode, body)
	}
}

// Two callers with tokens of their own do not see each other's tasks.
func TestCallersAreApart(t *testing.T) {
	a, _ := start(t, configuration(t, `auth: {validators: [{type: static, tokens: [{token: tok-a, principal: alice}, {token: tok-b, principal: bob}]}]}
`), app.Options{})
	send := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo hi"}]}}`
	if resp, body := do(t, "POST", a.URL()+"/a2a/v1/message:send", send, "Authorization", "Bearer tok-a"); resp.StatusCode != 200 {
		t.Fatalf("send: %d %s", resp.StatusCode, body)
	}
	for token, want := range map[string]string{"tok-a": `"totalSize":1`, "tok-b": `"totalSize":0`} {
		if _, body := do(t, "GET", a.URL()+"/a2a/v1/tasks", "", "Authorization", "Bearer "+token); !strings.Contains(body, want) {
			t.Errorf("%s: want %s in %s", token, want, body)
		}
	}
}

func TestWarnsWhereAnybodyMayCall(t *testing.T) {
	for text, warned := range map[string]bool{
		"bind: 127.0.0.1:0": false,
		"bind: 0.0.0.0:0\npublic_url: https://agent.example.com":                  true,
		"bind: 0.0.0.0:0\npublic_url: https://agent.example.com\nbearer_token: x": false,
	} {
		var logs bytes.Buffer
		cfg := configuration(t, text)
		_, stop := start(t, cfg, app.Options{Log: app.Logger(cfg, &logs)})
		if err := stop(); err != nil {
			t.Error(err)
		}
		if got := strings.Contains(logs.String(), "ANYBODY"); got != warned {
			t.Errorf("%q: warned %v\n%s", text, got, &logs)
		}
	}
}

// A start that fails leaves nothing open, and one that the configuration is to blame for
// does not even make a database.
func TestFailedStartLeavesNothingBehind(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	cfg := configuration(t, "bind: "+busy.Addr().String())
	log := slog.New(slog.DiscardHandler)
	if _, err := app.New(t.Context(), cfg, app.Options{Log: log}); err == nil || !strings.Contains(err.Error(), "cannot listen") {
		t.Errorf("got %v", err)
	}
	cfg.Bind = "127.0.0.1:0"
	if _, stop := start(t, cfg, app.Options{}); stop() != nil {
		t.Error("the database is still in use")
	}

	cfg = configuration(t, "")
	cfg.Card, cfg.CardFile = nil, filepath.Join(t.TempDir(), "none.json")
	if _, err := app.New(t.Context(), cfg, app.Options{Log: log}); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(cfg.Store.Path); err == nil {
		t.Error("a database was made for a card that cannot be served")
	}
}

func TestCloseWithoutRun(t *testing.T) {
	a, err := app.New(t.Context(), configuration(t, ""), app.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Streams end with the drain, after their tasks have.
func TestDrainEndsStreams(t *testing.T) {
	a, stop := start(t, configuration(t, "shutdown_timeout: 50ms\n"), app.Options{})
	r, err := http.NewRequestWithContext(t.Context(), "POST", a.URL()+"/a2a/v1/message:stream",
		strings.NewReader(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"slow 600000 x"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 1)
	if _, err := io.ReadFull(resp.Body, first); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- stop() }()
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(rest), "TASK_STATE_FAILED") {
		t.Errorf("the stream ended with %v:\n%s", err, rest)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
