package conformance

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"a2aserve/conformance/vector"
	"a2aserve/impl/app"
	"a2aserve/impl/config"

	"go.uber.org/goleak"
)

// childEnv makes the test binary a server of its own: see TestMain.
const childEnv = "A2ASERVE_CONFORMANCE_CONFIG"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := serveChild(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// serveChild serves until it is told to stop, so that tests can kill a real process.
func serveChild(path string) error {
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	a, err := app.New(ctx, cfg, app.Options{Log: quiet()})
	if err != nil {
		return err
	}
	fmt.Println(a.Addr())
	return a.Run(ctx)
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

const tokens = `
auth:
  validators:
    - type: static
      tokens:
        - {token: tok-a, principal: alice}
        - {token: tok-b, principal: bob}
`

// configFile writes a configuration with its own store.
func configFile(t testing.TB, db, yaml string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a2aserve.yaml")
	if !strings.Contains(yaml, "agent: ") {
		yaml += "agent: {driver: demo}\n"
	}
	if !strings.Contains(yaml, "artifacts: ") {
		yaml += fmt.Sprintf("artifacts: {file_base_dir: %q}\n", t.TempDir())
	}
	text := fmt.Sprintf(`
bind: 127.0.0.1:0
store: {path: %q}
card:
  name: Conformance agent
  description: The demo agent under test.
  version: 1.0.0
  skills: [{id: demo, name: Demo, description: Does as it is told., tags: [demo]}]
%s`, db, yaml)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serve runs a server inside the test, on a store of its own.
func serve(t testing.TB, yaml string, unwired ...string) *vector.Target {
	t.Helper()
	return serveOn(t, filepath.Join(t.TempDir(), "tasks.db"), yaml, unwired...)
}

func serveOn(t testing.TB, db, yaml string, unwired ...string) *vector.Target {
	t.Helper()
	target, stop := start(t, db, yaml, unwired...)
	t.Cleanup(stop)
	return target
}

// start is serveOn for tests that stop the server themselves.
func start(t testing.TB, db, yaml string, unwired ...string) (*vector.Target, func()) {
	t.Helper()
	return startWith(t, db, yaml, app.Options{Log: quiet(), Unwired: unwired})
}

// startWith is start with what a configuration cannot say.
func startWith(t testing.TB, db, yaml string, o app.Options) (*vector.Target, func()) {
	t.Helper()
	cfg, err := config.Load(configFile(t, db, yaml))
	if err != nil {
		t.Fatal(err)
	}
	return startConfigured(t, cfg, o)
}

// startConfigured is startWith for tests that read the configuration first.
func startConfigured(t testing.TB, cfg *config.Config, o app.Options) (*vector.Target, func()) {
	t.Helper()
	a, err := app.New(t.Context(), cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	target := targetAt(a.Addr().String())
	stopped := false
	return target, func() {
		if stopped {
			return
		}
		stopped = true
		target.Client.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the server ended with: %v", err)
		}
	}
}

func targetAt(addr string) *vector.Target {
	return &vector.Target{
		Origin: "http://" + addr, RPC: "/a2a", REST: "/a2a/v1",
		Tokens: map[string]string{"alice": "tok-a", "bob": "tok-b"},
		Client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}},
	}
}
