package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
)

// shell runs the commands against a server as a person at a shell would.
type shell struct {
	t   *testing.T
	url string
}

func (s shell) run(stdin string, args ...string) (code int, out, info string) {
	s.t.Helper()
	c := command(s.t, args...)
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &stdout, &stderr
	_ = c.Run()
	return c.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

func served(t *testing.T) shell {
	t.Helper()
	s := startServer(t, "--bind", "127.0.0.1:0", "--db", filepath.Join(t.TempDir(), "tasks.db"))
	t.Cleanup(func() { s.stop(t) })
	return shell{t, strings.TrimSuffix(s.field(t, "Agent Card"), "/.well-known/agent-card.json")}
}

// TestSend: the answer is on standard output and nothing else is; the exit code says how it
// went. Both bindings, streamed and not.
func TestSend(t *testing.T) {
	sh := served(t)
	for _, how := range [][]string{{"--binding", "rest"}, {"--binding", "jsonrpc"}, {"--binding", "rest", "--no-stream"}, {"--binding", "jsonrpc", "--no-stream"}, nil} {
		for _, tc := range []struct {
			text, out, info string
			code            int
		}{
			{"echo hello", "hello\n", "is completed", 0},
			{"chunks 3 1 x", "1x2x3x\n", "is completed", 0},
			{"direct hi", "hi\n", "", 0},
			{"fail because", "", "is failed", 1},
			{"ask colour? [red|blue]", "", "--task", 3},
		} {
			code, out, info := sh.run("", append([]string{"send", sh.url, tc.text}, how...)...)
			if code != tc.code || out != tc.out || !strings.Contains(info, tc.info) {
				t.Errorf("%v %s: exit code %d, %q\n%s", how, tc.text, code, out, info)
			}
		}
	}
	if code, out, info := sh.run("echo from a pipe", "send", sh.url, "-"); code != 0 || out != "from a pipe\n" {
		t.Errorf("from standard input: %d %q %s", code, out, info)
	}
	if code, out, info := sh.run("blue\n", "send", sh.url, "ask colour? [red|blue]", "--interactive"); code != 0 || !strings.Contains(out, "blue") || !strings.Contains(info, "colour?") {
		t.Errorf("answered at the prompt: %d %q\n%s", code, out, info)
	}
	if code, _, info := sh.run("", "send", sh.url, "echo hello", "--raw"); code != 0 || !strings.Contains(info, "> POST ") || !strings.Contains(info, `< data: {"`) {
		t.Errorf("--raw: %d\n%s", code, info)
	}
	code, out, _ := sh.run("", "send", sh.url, "chunks 2", "--json")
	for line := range strings.Lines(out) {
		var f a2a.StreamResponse
		if err := json.Unmarshal([]byte(line), &f, json.RejectUnknownMembers(true)); err != nil {
			t.Errorf("%v in %s", err, line)
		}
	}
	if code != 0 || strings.Count(out, "\n") < 5 {
		t.Errorf("--json: %d\n%s", code, out)
	}
}

// TestTasks: what send began is listed, read, followed and cancelled.
func TestTasks(t *testing.T) {
	sh := served(t)
	begin := func(text string) string {
		t.Helper()
		code, out, info := sh.run("", "send", sh.url, text, "--no-wait", "--json")
		var f a2a.StreamResponse
		if err := json.Unmarshal([]byte(out), &f); code != 0 || err != nil || f.Task == nil {
			t.Fatalf("%d %v %s%s", code, err, out, info)
		}
		return f.Task.ID
	}
	slow := begin("slow 3600000")
	if code, out, info := sh.run("", "tasks", "cancel", sh.url, slow); code != 0 || out != "task "+slow+" is canceled\n" {
		t.Errorf("cancel: %d %q %s", code, out, info)
	}
	if code, _, info := sh.run("", "tasks", "cancel", sh.url, slow); code != 1 || !strings.Contains(info, "TaskNotCancelableError") {
		t.Errorf("cancelled twice: %d %s", code, info)
	}
	if code, out, info := sh.run("", "tasks", "subscribe", sh.url, begin("slow 300 later")); code != 0 || out != "later\n" {
		t.Errorf("subscribe: %d %q %s", code, out, info)
	}
	if code, out, info := sh.run("", "tasks", "get", sh.url, slow); code != 0 || !strings.Contains(out, `"TASK_STATE_CANCELED"`) {
		t.Errorf("get: %d %s%s", code, out, info)
	}
	if code, _, info := sh.run("", "tasks", "get", sh.url, "no-such-task", "--binding", "jsonrpc"); code != 1 || !strings.Contains(info, "TaskNotFoundError") {
		t.Errorf("get of none: %d %s", code, info)
	}
	code, out, info := sh.run("", "tasks", "list", sh.url, "--state", "canceled")
	if code != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, slow) || !strings.Contains(info, "1 in all") {
		t.Errorf("list: %d\n%s%s", code, out, info)
	}
	for range 51 { // more than a page
		body := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo"}]}}`
		if status, reply := call(t, "POST", sh.url+"/a2a/v1/message:send", body); status != 200 {
			t.Fatal(status, reply)
		}
	}
	if code, out, _ := sh.run("", "tasks", "list", sh.url, "--all", "--json"); code != 0 || strings.Count(out, "\n") != 53 {
		t.Errorf("list of all: %d, %d lines", code, strings.Count(out, "\n"))
	}
}

// TestCallersMistakes end with exit code 2 and name what is wrong.
func TestCallersMistakes(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"send http://127.0.0.1:1", "takes an address and a text"},
		{"send http://127.0.0.1:1 hi --binding grpc", "jsonrpc or rest"},
		{"send http://127.0.0.1:1 hi --token-env NOT_SET_ANYWHERE", "NOT_SET_ANYWHERE"},
		{"send http://127.0.0.1:1 hi --header oops", "name: value"},
		{"tasks list http://127.0.0.1:1 --state sleeping", "submitted, working"},
		{"tasks vanish", `not "vanish"`},
	} {
		var out, info bytes.Buffer
		if code := run(t.Context(), strings.Fields(tc.args), &out, &info); code != exitUsage || !strings.Contains(info.String(), tc.want) {
			t.Errorf("%s: %d %s", tc.args, code, info.String())
		}
	}
	var out, info bytes.Buffer
	if code := run(t.Context(), []string{"send", "http://127.0.0.1:1", "hi"}, &out, &info); code != exitFailure {
		t.Errorf("nobody there: %d %s", code, info.String())
	}
}
