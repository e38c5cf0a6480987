//go:build unix

package child

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/driver/drivertest/plain"
	"a2aserve/impl/turn"

	"github.com/go-json-experiment/json"
)

// agent is the plain agent on standard input and output, with some bad habits.
func agent() {
	d := plain.New(plain.Options{Logger: slog.New(slog.DiscardHandler)})
	var mu sync.Mutex
	say := func(name string, payload any) {
		doc, _ := json.Marshal(payload)
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(`{"type":%q,"payload":%s}`+"\n", name, doc)
	}
	d.Bus.SubscribeAll(func(e event.Event) {
		if event.Named(e.EventType()).Sender == event.Agent {
			say(e.EventType(), e)
		}
	})
	in := bufio.NewReader(os.Stdin)
	for {
		text, err := in.ReadBytes('\n')
		if err != nil {
			d.Close()
			return
		}
		var e envelope
		_ = json.Unmarshal(text, &e)
		if e.Type == "server.hello" {
			say("agent.hello", agentHello{Protocol: 1, InputModes: []string{"text/*"}, OutputModes: []string{"text/plain", "application/json"}, Cancel: true, Questions: true})
			continue
		}
		ev := event.New(e.Type)
		_ = json.Unmarshal(e.Payload, ev)
		if i, ok := ev.(*event.Input); ok {
			habit(i.Text)
			_ = d.Bus.Emit(*i)
			continue
		}
		_ = d.Bus.Emit(event.Named(e.Type).Value(ev))
	}
}

// habit is what an agent should not do.
func habit(text string) {
	switch text {
	case "crash":
		os.Exit(7)
	case "long":
		for range 1 << 14 {
			fmt.Print(strings.Repeat("x", 1<<16))
		}
	case "garbage":
		fmt.Println(`{"type":"io.output","payload":{"turnId":7}}`)
	case "print":
		fmt.Println("debugging")
		fmt.Println(`{"type":"no.such","payload":{}}`)
	case "pid":
		fmt.Println()
	case "close":
		_ = os.Stdout.Close()
		select {}
	}
}

func agentDriver(t *testing.T, o Options) *JSON {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Command, o.Env, o.Logger = exe, map[string]string{tool: "agent", "GORACE": "atexit_sleep_ms=0"}, slog.New(slog.DiscardHandler)
	d := NewJSON(o)
	t.Cleanup(d.Close)
	return d
}

// Whatever an agent does wrong, the task says so and the next turn has a working process.
func TestHabits(t *testing.T) {
	b := drivertest.New(t, agentDriver(t, Options{MaxLineBytes: 1 << 16, StopGrace: 50 * time.Millisecond}), turn.Options{})
	for what, want := range map[string]string{
		"crash":   "exit status 7",
		"long":    "a line of more than 65536 bytes",
		"garbage": "cannot be read: io.output",
		"close":   "closed its output",
	} {
		in := drivertest.Text(what)
		in.ContextID = "c"
		if task := b.Await(b.Send(in)); task.Status.State != a2a.TaskStateFailed || !strings.Contains(drivertest.Said(task), want) {
			t.Errorf("%s: %s %q", what, task.Status.State, drivertest.Said(task))
		}
		in = drivertest.Text("print")
		in.ContextID = "c"
		if task := b.Await(b.Send(in)); drivertest.Answered(task) != "print" {
			t.Errorf("after %s: %s %q", what, task.Status.State, drivertest.Said(task))
		}
	}
}

// A process without turns ends, and the next turn has one again.
func TestIdle(t *testing.T) {
	d := agentDriver(t, Options{IdleTimeout: time.Millisecond})
	b := drivertest.New(t, d, turn.Options{})
	before := descriptors(t)
	var sent []turn.Sent
	for i := range 16 {
		in := drivertest.Text(fmt.Sprint("echo ", i))
		in.ContextID = fmt.Sprint(i % 12)
		if i >= 12 {
			b.Await(sent[i-12])
		}
		sent = append(sent, b.Send(in))
	}
	for i, s := range sent {
		if got := drivertest.Answered(b.Await(s)); got != fmt.Sprint(i) {
			t.Errorf("%d: %q", i, got)
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		d.mu.Lock()
		n := len(d.sessions)
		d.mu.Unlock()
		if n == 0 && descriptors(t) <= before {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d sessions and %d descriptors are left, %d before", n, descriptors(t), before)
		}
	}
}

// Two contexts and two callers have a session each, by a name that outlives the server.
func TestKeys(t *testing.T) {
	d := NewJSON(Options{})
	a, b := turn.Input{Principal: "a", ContextID: "c"}, turn.Input{Principal: "b", ContextID: "c"}
	if d.key(a) == d.key(b) || d.key(a) != NewJSON(Options{}).key(a) || d.key(a) == d.key(turn.Input{Principal: "a", ContextID: "d"}) {
		t.Error("sessions are mixed up")
	}
}
