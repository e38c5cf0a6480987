package agent_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/driver/child"
	"a2aserve/impl/driver/child/agent"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

// part names, in the environment, the agent that the test binary plays.
const part = "AGENT_TEST_PART"

func TestMain(m *testing.M) {
	if os.Getenv(part) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	speak(bare())
}

// speak is all that a program adds to an agent on a bus.
func speak(b *bus.Bus) {
	c, _, err := agent.Accept(os.Stdin, os.Stdout, agent.Options{MaxLineBytes: 1 << 16})
	if err == nil {
		err = c.Greet(agent.Hello{InputModes: []string{"text/*"}, OutputModes: []string{"text/plain", "application/json"}, Cancel: true, Questions: true})
	}
	if err == nil {
		err = c.Run(b)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	c.Wait()
}

// bare is an agent that does one thing, inside the emission of its input.
func bare() *bus.Bus {
	b := bus.New(slog.New(slog.DiscardHandler))
	b.Before("io.input", func(p *bus.Proposal) {
		if p.Event.(event.Input).Text == "forbidden" {
			p.Veto("not allowed here")
		}
	})
	bus.On(b, func(in event.Input) {
		id := "t-" + in.TaskID
		if in.Text == "panic" {
			panic("as told")
		}
		_ = b.Emit(event.TurnStart{TurnID: id, TaskID: in.TaskID})
		switch in.Text {
		case "panic later":
			panic("as told")
		case "elsewhere":
			_ = b.Emit(event.HITLRequested{TurnID: id, RequestID: id, Prompt: "Well?"})
			_ = b.Emit(event.HITLResponded{TurnID: id, RequestID: id, FreeText: "by somebody else"})
		case "long tool":
			_ = b.Emit(event.ToolResult{TurnID: id, CallID: "c", Name: "n", Output: strings.Repeat("é", 1<<16), Structured: a2a.Value(`{"a":1}`)})
		case "long answer":
			_ = b.Emit(event.Output{TurnID: id, Role: "assistant", Content: strings.Repeat("x", 1<<17)})
		case "bytes":
			_ = b.Emit(event.ToolResult{TurnID: id, CallID: "c", Name: "n", Output: "a\xffb"})
		}
		_ = b.Emit(&event.Output{TurnID: id, Role: "assistant", Content: "done"})
		_ = b.Emit(event.TurnEnd{TurnID: id})
	})
	return b
}

func driver(t *testing.T, which string) *child.JSON {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := child.NewJSON(child.Options{
		Command: exe, Env: map[string]string{part: which, "GORACE": "atexit_sleep_ms=0"}, Single: which != "bare", MaxLineBytes: 1 << 17, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(d.Close)
	return d
}

func TestBare(t *testing.T) {
	b := drivertest.New(t, driver(t, "bare"), turn.Options{})
	for text, want := range map[string]string{
		"hello":       "COMPLETED ",
		"forbidden":   "REJECTED not allowed here",
		"panic":       "FAILED The agent failed",
		"panic later": "FAILED The agent failed",
		"elsewhere":   "COMPLETED ",
		"long tool":   "COMPLETED ",
		"bytes":       "COMPLETED ",
		"long answer": "FAILED The agent sent io.output of more than 65536 bytes",
	} {
		in := drivertest.Text(text)
		in.ContextID = "c"
		s := b.Send(in)
		b.Frames(s)
		task := b.Decode(b.Journal.Task(s.Record.ID))
		if got := strings.TrimPrefix(string(task.Status.State), "TASK_STATE_") + " " + drivertest.Said(task); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		switch text {
		case "long tool":
			if got := drivertest.Answered(task); !strings.Contains(got, "é\n[cut: ") || !strings.Contains(got, "left out") {
				t.Errorf("%d bytes, …%s", len(got), got[max(0, len(got)-100):])
			}
		case "bytes":
			if got := drivertest.Answered(task); got != "a\uFFFDb" {
				t.Errorf("%q", got)
			}
		}
	}
}

// What a server may not say is told, and nothing is said to one that has gone.
func TestHandshake(t *testing.T) {
	for text, want := range map[string]string{
		"": "EOF",
		`{"type":"server.hello","payload":{"protocol":2}}` + "\n": "version 2",
		`{"type":"server.hello","payload":7}` + "\n":              "greeting",
		`{"type":"io.input","payload":{}}` + "\n":                 "io.input",
		"GET / HTTP/1.1\n": "not of the protocol",
		`{"type":"server.hello","payload":{"protocol":1}}`: "EOF",
	} {
		_, _, err := agent.Accept(strings.NewReader(text), io.Discard, agent.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestLines(t *testing.T) {
	hello := `{"type":"server.hello","payload":{"protocol":1,"sessionId":"s","contextId":"c"}}` + "\n"
	raw := base64.StdEncoding.EncodeToString(make([]byte, 1<<20))
	in := hello + `{"type":"no.such","payload":{}}` + "\n" + `{"type":"io.output","payload":{}}` + "\n" +
		`{"type":"io.input","payload":{"taskId":"t","contextId":"c","messageId":"m","text":"hi","parts":[{"raw":"` + raw + `"}]}}` + "\n"
	var out bytes.Buffer
	c, g, err := agent.Accept(strings.NewReader(in), &out, agent.Options{Logger: slog.New(slog.DiscardHandler), Edit: func(e event.Event) event.Event {
		if o, ok := e.(event.Output); ok {
			o.Content = "edited"
			return o
		}
		if e.EventType() == "agent.turn.end" {
			return nil
		}
		return e
	}})
	if err != nil || g.SessionID != "s" || g.ContextID != "c" {
		t.Fatal(g, err)
	}
	if err := c.Greet(agent.Hello{Cancel: true}); err != nil {
		t.Fatal(err)
	}
	b := bare()
	closed := false
	bus.On(b, func(event.Shutdown) { closed = true })
	if err := c.Run(b); err != nil {
		t.Fatal(err)
	}
	if !closed {
		t.Error("the agent does not hear that the server has gone")
	}
	c.Wait()
	var got []string
	for line := range strings.Lines(out.String()) {
		var e struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Type)
	}
	if strings.Join(got, " ") != "agent.hello agent.turn.start io.output" || !strings.Contains(out.String(), "edited") {
		t.Errorf("%q", got)
	}
}
