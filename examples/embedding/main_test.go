package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"
)

// The guide shows the program as it is.
func TestGuideShowsTheProgram(t *testing.T) {
	guide, err := os.ReadFile("../../docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(guide, append(append([]byte("```go\n"), program...), "```\n"...)) {
		t.Error("docs/embedding.md does not hold examples/embedding/main.go word for word")
	}
}

// program is a running process of the example.
type program struct {
	t   *testing.T
	url string
	cmd *exec.Cmd
	out io.Reader
}

// build makes the program's own binary.
func build(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "embedding")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}

func run(t *testing.T, exe string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(exe, append([]string{"-bind", "127.0.0.1:0"}, args...)...)}
	p.cmd.Stderr = t.Output()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("it does not say where it serves: %v", err)
	}
	p.url, p.out = strings.TrimSpace(strings.TrimPrefix(line, "serving ")), lines
	return p
}

// stop ends it as a supervisor does; it must end by itself and without complaint.
func (p *program) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, p.out)
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("it ended with %v", err)
	}
}

// post sends JSON and returns the answer, whatever its status.
func (p *program) post(path, body string) string {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), "POST", p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// task is what the tests look at, on either binding.
type task struct {
	ID        string `json:"id"`
	ContextID string `json:"contextId"`
	Status    struct {
		State string `json:"state"`
	} `json:"status"`
	Artifacts []struct {
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	} `json:"artifacts"`
}

func (p *program) rest(message string) task {
	p.t.Helper()
	var got struct {
		Task task `json:"task"`
	}
	answer := p.post("/a2a/v1/message:send", `{"message":`+message+`}`)
	if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Task.ID == "" {
		p.t.Fatalf("%v: %s", err, answer)
	}
	return got.Task
}

func (p *program) jsonRPC(message string) task {
	p.t.Helper()
	var got struct {
		Result struct {
			Task task `json:"task"`
		} `json:"result"`
	}
	answer := p.post("/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":`+message+`}}`)
	if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Result.Task.ID == "" {
		p.t.Fatalf("%v: %s", err, answer)
	}
	return got.Result.Task
}

// message is one of the user's; context and task may be empty.
func message(text, context, task string) string {
	return `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + text + `"}],"contextId":"` + context + `","taskId":"` + task + `"}`
}

func want(t *testing.T, got task, state, text string) {
	t.Helper()
	said := ""
	for _, a := range got.Artifacts {
		for _, p := range a.Parts {
			said += p.Text
		}
	}
	if got.Status.State != "TASK_STATE_"+state || said != text {
		t.Errorf("%s %q, want %s %q", got.Status.State, said, state, text)
	}
}

// The program as its reader runs it: it asks, greets over both bindings, and after a
// restart still belongs to the context that it was claimed by.
func TestProgram(t *testing.T) {
	exe, db := build(t), filepath.Join(t.TempDir(), "greeter.db")
	defer http.DefaultClient.CloseIdleConnections()
	p := run(t, exe, "-db", db)
	asked := p.rest(message("hi", "", ""))
	want(t, asked, "INPUT_REQUIRED", "")
	if asked.ContextID != "greeter-1" {
		t.Errorf("the first caller got context %q", asked.ContextID)
	}
	want(t, p.jsonRPC(message("Ann", "", asked.ID)), "COMPLETED", "Hello, Ann! You said: hi")
	want(t, p.jsonRPC(message("hi again", "greeter-1", "")), "COMPLETED", "Hello, Ann! You said: hi again")
	want(t, p.rest(message("bye", "", "")), "COMPLETED", "Hello, Ann! You said: bye")
	p.stop()

	p = run(t, exe, "-db", db)
	if refusal := p.post("/a2a/v1/message:send", `{"message":`+message("hi", "another", "")+`}`); !strings.Contains(refusal, "CONTEXT_NOT_SERVED") || !strings.Contains(refusal, "greeter-1") {
		t.Errorf("another context: %s", refusal)
	}
	parked := p.rest(message("hi", "greeter-1", ""))
	want(t, parked, "INPUT_REQUIRED", "") // what the agent knew was in its memory only
	if answer := p.post("/a2a/v1/tasks/"+parked.ID+":cancel", "{}"); !strings.Contains(answer, "TASK_STATE_CANCELED") {
		t.Errorf("cancel: %s", answer)
	}
	p.rest(message("hi", "", "")) // parked; a stop must not wait for a person
	p.stop()

	p = run(t, exe, "-db", db, "-session", "greeter-2") // a new conversation
	asked = p.jsonRPC(message("hi", "mine", ""))
	want(t, p.rest(message("Bob", "mine", asked.ID)), "COMPLETED", "Hello, Bob! You said: hi")
	p.stop()
}
