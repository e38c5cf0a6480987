// Package interop has clients that others wrote talk to the server: the official Go client
// and its command, ADK's remote agent, the official JavaScript client, and a browser. It is
// a module of its own, so that none of them becomes a dependency of the server.
package interop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bin is where TestMain builds what the tests run.
var bin string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	var err error
	if bin, err = os.MkdirTemp("", "a2aserve-interop"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(bin)
	// The server is built with the race detector, which ends a server that races with a
	// status of its own: foreign clients come with orders of events that ours do not.
	if err := build("../..", "-race", "-o", filepath.Join(bin, "a2aserve"), "./cmd/a2aserve"); err != nil {
		return 1, err
	}
	if err := build(".", "-o", filepath.Join(bin, "a2a"), "github.com/a2aproject/a2a-go/v2/cmd/a2a"); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func build(dir string, args ...string) error {
	c := exec.Command("go", append([]string{"build"}, args...)...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// need finds a program that a test runs. Without it the test is skipped, or fails where
// A2ASERVE_NO_SKIP is set: CI has everything installed and must not pass by having less.
func need(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("A2ASERVE_NO_SKIP") != "":
		t.Fatalf("%s is not installed, and A2ASERVE_NO_SKIP is set", name)
	default:
		t.Skipf("this test runs %s, which is not installed", name)
	}
	return ""
}

// tokens makes the server know alice and bob.
const tokens = `
auth:
  validators:
    - type: static
      tokens:
        - {token: tok-a, principal: alice}
        - {token: tok-b, principal: bob}
`

// extended writes a card for callers who are known, and returns its path.
func extended(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "extended.json")
	card := `{"name":"Interop agent, extended","description":"For those who are known.","version":"1.0.0",
	"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
	"skills":[{"id":"demo","name":"Demo","description":"Does as it is told.","tags":["demo"]}]}`
	if err := os.WriteFile(path, []byte(card), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serve starts the server on a store of its own and returns its origin. The server has to
// end well when the test does.
func serve(t testing.TB, yaml string) (origin string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "a2aserve.yaml")
	text := fmt.Sprintf(`
bind: 127.0.0.1:0
store: {path: %q}
shutdown_timeout: 5s
artifacts: {file_base_dir: %q}
agent: {driver: demo}
card:
  name: Interop agent
  description: The demo agent under test.
  version: 1.0.0
  skills: [{id: demo, name: Demo, description: Does as it is told., tags: [demo]}]
%s`, filepath.Join(dir, "tasks.db"), dir, yaml)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer // read only once the process has ended
	c := exec.Command(filepath.Join(bin, "a2aserve"), "serve", "--config", path)
	c.Stderr = &log
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for origin == "" && lines.Scan() {
		if _, addr, ok := strings.Cut(lines.Text(), "Listening on "); ok {
			origin = "http://" + strings.TrimSpace(addr)
		}
	}
	t.Cleanup(func() {
		c.Process.Signal(syscall.SIGTERM)
		hung := time.AfterFunc(30*time.Second, func() { c.Process.Kill() })
		defer hung.Stop()
		io.Copy(io.Discard, out)
		if err := c.Wait(); err != nil {
			t.Errorf("the server ended with %v\n%s", err, log.Bytes())
		}
	})
	if origin == "" {
		t.Fatal("the server does not say where it listens")
	}
	return origin
}
