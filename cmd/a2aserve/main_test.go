package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// TestMain lets the test binary stand in for the command.
func TestMain(m *testing.M) {
	if os.Getenv("A2ASERVE_TEST_COMMAND") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), exe, args...)
	// A binary with the race detector would sleep a second at each exit.
	c.Env = append(os.Environ(), "A2ASERVE_TEST_COMMAND=1", "GORACE=atexit_sleep_ms=0")
	c.Dir = t.TempDir()
	return c
}

// server is a serve process that has said where it listens.
type server struct {
	cmd    *exec.Cmd
	banner string
	rest   io.Reader // of its standard output
	logs   *logs
}

func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{cmd: command(t, append([]string{"serve"}, args...)...), logs: &logs{}}
	s.cmd.Stderr = s.logs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	s.rest = lines
	for !strings.Contains(s.banner, "    -d '") {
		line, err := lines.ReadString('\n')
		if err != nil {
			_ = s.cmd.Wait()
			t.Fatalf("no banner: %v\n%s%s", err, s.banner, s.logs)
		}
		s.banner += line
	}
	return s
}

// field is a value of the banner's table.
func (s *server) field(t *testing.T, name string) string {
	t.Helper()
	for line := range strings.Lines(s.banner) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok {
			return strings.TrimSpace(v)
		}
	}
	t.Fatalf("no %s in the banner:\n%s", name, s.banner)
	return ""
}

func (s *server) stop(t *testing.T) int {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, s.rest)
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

func call(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// Without a configuration, what the banner says is what is served; a stop is clean and
// the tasks are there after it.
func TestServeWithoutConfiguration(t *testing.T) {
	db := filepath.Join(t.TempDir(), "deep", "tasks.db")
	s := startServer(t, "--bind", "127.0.0.1:0", "--db", db)
	if status, body := call(t, "GET", s.field(t, "Agent Card"), ""); status != 200 || !strings.Contains(body, s.field(t, "JSON-RPC")) || strings.Contains(body, ":0/") {
		t.Errorf("card: %d %s", status, body)
	}
	if got := s.field(t, "Tasks kept in"); got != db {
		t.Errorf("the banner says %s", got)
	}
	if got := s.field(t, "Authentication"); !strings.HasPrefix(got, "off") {
		t.Errorf("the banner says %s", got)
	}
	// The curl line of the banner, taken apart.
	_, data, _ := strings.Cut(s.banner, "-d '")
	data, _, _ = strings.Cut(data, "'")
	status, body := call(t, "POST", s.field(t, "HTTP+JSON")+"/message:send", data)
	var sent struct {
		Task struct {
			ID     string
			Status struct{ State string }
		}
	}
	if err := json.Unmarshal([]byte(body), &sent, json.MatchCaseInsensitiveNames(true)); err != nil || status != 200 || sent.Task.Status.State != "TASK_STATE_COMPLETED" {
		t.Fatalf("send: %v %d %s", err, status, body)
	}
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.logs)
	}

	s = startServer(t, "--bind", "127.0.0.1:0", "--db", db, "--json-logs")
	if status, body := call(t, "GET", s.field(t, "HTTP+JSON")+"/tasks/"+sent.Task.ID, ""); status != 200 || !strings.Contains(body, "TASK_STATE_COMPLETED") {
		t.Errorf("after a restart: %d %s", status, body)
	}
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(s.logs.String(), `"msg":"stopped"`) {
		t.Errorf("logs: %s", s.logs)
	}
}

func TestServeWithConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a2aserve.yaml")
	write(t, file, `bind: 127.0.0.1:0
bearer_token: s3cret
store: {path: "`+filepath.Join(dir, "tasks.db")+`"}
log: {level: debug}
agent: {driver: demo}
card:
  name: Configured agent
  description: Does as configured.
  version: "1.0.0"
  skills: [{id: a, name: A, description: A}]
`)
	s := startServer(t, "--config", file)
	if !strings.Contains(s.banner, "Configured agent") || s.field(t, "Authentication") != "bearer token" || !strings.Contains(s.banner, "Authorization: Bearer") {
		t.Errorf("banner:\n%s", s.banner)
	}
	if status, body := call(t, "GET", s.field(t, "HTTP+JSON")+"/tasks", ""); status != 401 {
		t.Errorf("without a token: %d %s", status, body)
	}
	if status, body := call(t, "GET", s.field(t, "Agent Card"), ""); status != 200 || !strings.Contains(body, `"scheme":"Bearer"`) {
		t.Errorf("card: %d %s", status, body)
	}
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.logs)
	}
	if strings.Contains(s.logs.String()+s.banner, "s3cret") {
		t.Errorf("the token is shown:\n%s%s", s.banner, s.logs)
	}
}

// --strict follows the specification where the default is lenient.
func TestServeStrict(t *testing.T) {
	s := startServer(t, "--bind", "127.0.0.1:0", "--db", filepath.Join(t.TempDir(), "x.db"), "--strict")
	defer s.stop(t)
	resp, err := http.Get(s.field(t, "HTTP+JSON") + "/tasks")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 400 || !strings.Contains(string(body), "VERSION_NOT_SUPPORTED") {
		t.Errorf("without a version: %d %s", resp.StatusCode, body)
	}
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	write(t, bad, "bnd: 127.0.0.1:0\n")
	card := filepath.Join(dir, "card.json")
	write(t, card, `{"name":"N"}`)
	badCard := filepath.Join(dir, "badcard.yaml")
	write(t, badCard, "agent: {driver: demo}\ncard_file: "+card+"\n")
	other := filepath.Join(dir, "other.db")
	write(t, other, strings.Repeat("no database ", 1000))
	for _, v := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"version", []string{"version"}, 0, "protocol A2A 1.0"},
		{"help", nil, 0, "serve"},
		{"unknown command", []string{"srve"}, 2, `unknown command "srve"`},
		{"unknown flag", []string{"serve", "--prot", "1"}, 2, "unknown flag: --prot"},
		{"argument", []string{"serve", "x"}, 2, "takes flags only"},
		{"no file", []string{"serve", "--config", filepath.Join(dir, "none.yaml")}, 2, "none.yaml"},
		{"bad file", []string{"serve", "--config", bad}, 2, bad + ":1:1: bnd: unknown key; did you mean bind?"},
		{"bad card", []string{"serve", "--config", badCard}, 2, card + ": description: "},
		{"bad flag", []string{"serve", "--bind", "8091"}, 2, "--bind: bind: expected an address"},
		{"every interface", []string{"serve", "--bind", "0.0.0.0:0"}, 2, "set public_url"},
		{"foreign database", []string{"serve", "--bind", "127.0.0.1:0", "--db", other}, 1, other},
		{"address of others", []string{"serve", "--bind", "192.0.2.1:9", "--db", filepath.Join(dir, "x.db")}, 1, "cannot listen"},
	} {
		t.Run(v.name, func(t *testing.T) {
			c := command(t, v.args...)
			out, _ := c.CombinedOutput()
			if code := c.ProcessState.ExitCode(); code != v.code || !strings.Contains(string(out), v.want) {
				t.Errorf("exit code %d, want %d and %q in:\n%s", code, v.code, v.want, out)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"version", "--json"}, &out, io.Discard); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	var v version
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	if v.Version == "" || v.Protocol != "1.0" || v.Go != runtime.Version() || !strings.Contains(v.Specification, "sha256:") {
		t.Errorf("got %+v", v)
	}
}

// A second process on the same database is refused, and says why.
func TestOneProcessADatabase(t *testing.T) {
	db := filepath.Join(t.TempDir(), "x.db")
	s := startServer(t, "--bind", "127.0.0.1:0", "--db", db)
	defer s.stop(t)
	c := command(t, "serve", "--bind", "127.0.0.1:0", "--db", db)
	out, _ := c.CombinedOutput()
	if c.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "another process serves it") {
		t.Errorf("exit code %d\n%s", c.ProcessState.ExitCode(), out)
	}
}

// A running turn ends with the drain, as a task that says so, and the process stops in time.
func TestDrainEndsRunningTurns(t *testing.T) {
	dir := t.TempDir()
	file, db := filepath.Join(dir, "f.yaml"), filepath.Join(dir, "x.db")
	write(t, file, `bind: 127.0.0.1:0
shutdown_timeout: 100ms
agent: {driver: demo}
card: {name: A, description: A, version: "1", skills: [{id: a, name: A, description: A}]}
`)
	s := startServer(t, "--config", file, "--db", db)
	status, body := call(t, "POST", s.field(t, "HTTP+JSON")+"/message:send",
		`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"slow 600000 x"}]},"configuration":{"returnImmediately":true}}`)
	var sent struct {
		Task struct {
			ID string `json:"id"`
		} `json:"task"`
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil || status != 200 {
		t.Fatalf("send: %v %d %s", err, status, body)
	}
	done := make(chan int)
	go func() { done <- s.stop(t) }()
	select {
	case code := <-done:
		if code != 0 {
			t.Errorf("exit code %d\n%s", code, s.logs)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server does not stop")
	}
	s = startServer(t, "--config", file, "--db", db)
	defer s.stop(t)
	if _, body := call(t, "GET", s.field(t, "HTTP+JSON")+"/tasks/"+sent.Task.ID, ""); !strings.Contains(body, "TASK_STATE_FAILED") || !strings.Contains(body, "stopped") {
		t.Errorf("after the drain: %s", body)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(fmt.Errorf("cannot prepare: %w", err))
	}
}
