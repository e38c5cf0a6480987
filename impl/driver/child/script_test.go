//go:build unix

package child

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"

	"github.com/go-json-experiment/json"
)

// able, in the environment, is what the scripted agent says of itself.
const able = "CHILD_TEST_ABLE"

// scripted is an agent whose messages are scripts: a line each that it sends as it is, with
// TASK for the task's id, or that begins with ! and tells it what to do.
func scripted() {
	in := bufio.NewReader(os.Stdin)
	var hello []byte
	var remembered []string
	for {
		text, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var e struct {
			Type    string `json:"type"`
			Payload struct{ TaskID, TurnID, RequestID, Text, FreeText string }
		}
		_ = json.Unmarshal(text, &e, json.MatchCaseInsensitiveNames(true))
		switch e.Type {
		case "server.hello":
			hello = bytes.TrimSpace(text)
			for _, line := range strings.Split(os.Getenv(able), "\n") {
				obey(line, "", nil, nil)
			}
		case "io.input":
			remembered = append(remembered, strings.TrimPrefix(e.Payload.Text, "!recall "))
			for _, line := range strings.Split(e.Payload.Text, "\n") {
				obey(line, e.Payload.TaskID, hello, remembered)
			}
		case "hitl.responded":
			obey("!say "+e.Payload.FreeText, e.Payload.TurnID, nil, nil)
		case "cancel.request":
			fmt.Printf(`{"type":"cancel.complete","payload":{"turnId":%q}}`+"\n", e.Payload.TurnID)
		}
	}
}

func obey(line, task string, hello []byte, remembered []string) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "!start":
		fmt.Printf(`{"type":"agent.turn.start","payload":{"turnId":%q,"taskId":%q}}`+"\n", task, task)
	case "!say", "!hello", "!recall", "!pid":
		switch word {
		case "!hello":
			rest = string(hello)
		case "!recall":
			rest = strings.Join(remembered, ",")
		case "!pid":
			rest = strconv.Itoa(os.Getpid())
		}
		if word != "!say" {
			obey("!start", task, nil, nil)
		}
		fmt.Printf(`{"type":"io.output","payload":{"turnId":%q,"role":"assistant","content":%q}}`+"\n", task, rest)
		if word != "!pid" { // that one goes on
			fmt.Printf(`{"type":"agent.turn.end","payload":{"turnId":%q}}`+"\n", task)
		}
	case "!exit":
		code, _ := strconv.Atoi(rest)
		os.Exit(code)
	case "!stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "!fork":
		cmd := exec.Command("sleep", "3600")
		_ = cmd.Start()
		fmt.Printf(`{"type":"io.output.delta","payload":{"turnId":%q,"text":"%d"}}`+"\n", task, cmd.Process.Pid)
	case "!hold": // and read no more
		select {}
	case "!many":
		n, _ := strconv.Atoi(rest)
		for i := range n {
			fmt.Println("stray", i)
		}
	case "!deltas":
		for {
			fmt.Printf(`{"type":"io.output.delta","payload":{"turnId":%q,"text":%q}}`+"\n", task, strings.Repeat("x", 1<<10))
		}
	case "":
	default:
		fmt.Println(strings.ReplaceAll(line, "TASK", task))
	}
}

// greeting is that of an agent that can do everything.
const greeting = `{"type":"agent.hello","payload":{"protocol":1,"cancel":true,"questions":true}}`

// journal is a log that tests read.
type journal struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// script is an engine in front of the scripted agent, and the driver's log.
func script(t *testing.T, hello string, o Options, e turn.Options) (*drivertest.Bench, *JSON, *journal) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := &journal{}
	o.Command, o.Env = exe, map[string]string{tool: "script", able: hello, "GORACE": "atexit_sleep_ms=0"}
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.StopGrace == 0 {
		o.StopGrace = 500 * time.Millisecond
	}
	d := NewJSON(o)
	t.Cleanup(d.Close)
	return drivertest.New(t, d, e), d, log
}

// lines is a message to a context.
func lines(context string, script ...string) turn.Input {
	in := drivertest.Text(strings.Join(script, "\n"))
	in.ContextID = context
	return in
}

// fails runs a turn that fails with the words.
func fails(t *testing.T, b *drivertest.Bench, in turn.Input, words string) {
	t.Helper()
	if task := over(b, b.Send(in)); task.Status.State != a2a.TaskStateFailed || !strings.Contains(drivertest.Said(task), words) {
		t.Errorf("%s %q, want FAILED %q", task.Status.State, drivertest.Said(task), words)
	}
}

// over waits for the end of a task, whatever it asks before.
func over(b *drivertest.Bench, s turn.Sent) a2a.Task {
	b.Frames(s)
	return b.Decode(b.Journal.Task(s.Record.ID))
}

// works runs a turn that is answered.
func works(t *testing.T, b *drivertest.Bench, in turn.Input, answer string) {
	t.Helper()
	if task := b.Await(b.Send(in)); task.Status.State != a2a.TaskStateCompleted || !strings.Contains(drivertest.Answered(task), answer) {
		t.Errorf("%s %q %q, want %q", task.Status.State, drivertest.Said(task), drivertest.Answered(task), answer)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !true(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// count is how many sessions there are.
func count(d *JSON) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sessions)
}
