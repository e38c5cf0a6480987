package agui_test

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	wire "a2aserve/gen/agui"
	"a2aserve/impl/driver/agui"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
)

const secret = "s3cret-of-the-link"

// nexus is an AG-UI agent with a control link. As the recorded one it has one run at a
// time, stops whatever turn is active, and after that takes no input but /resume.
type nexus struct {
	*agent
	d    *agui.Driver
	log  *lines
	work chan struct{} // gets a token when a run has come to "work"
	cut  chan struct{} // gets a token when the connection of such a run has ended

	mu      sync.Mutex // guards what follows
	active  chan struct{}
	wedged  bool
	deaf    bool // ignores cancellations
	cancels []wire.ControlCancel
}

func newNexus(t *testing.T, o turn.Options, change func(*agui.Options)) (*nexus, *drivertest.Bench) {
	n := &nexus{log: &lines{}, work: make(chan struct{}, 16), cut: make(chan struct{}, 16)}
	n.agent = newAgent(t, n.play)
	n.d = n.driver(t, func(o *agui.Options) {
		o.PerContext, o.Logger = false, slog.New(slog.NewTextHandler(n.log, nil))
		o.Control = &agui.Control{Bind: "127.0.0.1:0", LeaseID: "a2aserve", Secret: secret}
		if change != nil {
			change(o)
		}
	})
	if err := n.d.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n, drivertest.New(t, n.d, o)
}

func (n *nexus) play(s *stream) {
	s.send("RUN_STARTED")
	n.mu.Lock()
	busy, wedged, stopped := n.active != nil, n.wedged, make(chan struct{})
	if busy {
		n.mu.Unlock()
		s.send("RUN_ERROR", "message", "a run is active")
		return
	}
	n.active = stopped
	n.wedged = n.wedged && s.text() != "/resume"
	n.mu.Unlock()
	free := func() {
		n.mu.Lock()
		n.active = nil
		n.mu.Unlock()
	}
	defer free()
	word, rest, _ := strings.Cut(s.text(), " ")
	switch {
	case word == "/resume" && !wedged:
		s.send("RUN_ERROR", "message", "nothing to resume")
		return
	case word == "/resume":
		s.say("assistant", "what the cancelled turn would have said")
	case wedged:
		<-s.r.Context().Done()
		return
	case word == "error":
		s.send("STEP_STARTED", "stepName", "turn_1")
		s.send("RUN_ERROR", "message", "out of order")
		return
	case word == "work":
		s.send("STEP_STARTED", "stepName", "turn_1")
		n.work <- struct{}{}
		select {
		case <-stopped:
			s.say("system", "_Operation cancelled. Type /resume to continue._")
		case <-s.r.Context().Done():
			free()
			n.cut <- struct{}{}
			return
		}
	default:
		s.send("STEP_STARTED", "stepName", "turn_1")
		s.say("assistant", rest)
	}
	s.finish()
	time.Sleep(5 * time.Millisecond) // the run's end is out before the agent is free
}

// dial opens the link as nexus.io.broker does, and
// obeys what comes over it until the link ends, which closes the channel.
func (n *nexus) dial(t *testing.T) (*websocket.Conn, <-chan struct{}) {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), "ws://"+n.d.ControlAddr().String()+agui.ControlPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, conn, wire.ControlFrame{Version: 1, LeaseID: "a2aserve", Signal: "register", Secret: secret})
	gone := make(chan struct{})
	t.Cleanup(func() { _ = conn.CloseNow(); <-gone })
	go func() {
		defer close(gone)
		for {
			_, data, err := conn.Read(context.Background())
			if err != nil {
				return
			}
			n.obey(data)
		}
	}()
	return conn, gone
}

func write(t *testing.T, conn *websocket.Conn, f wire.ControlFrame) {
	t.Helper()
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Write(t.Context(), websocket.MessageText, b); err != nil {
		t.Error(err)
	}
}

func (n *nexus) obey(data []byte) {
	var f wire.ControlFrame
	var c wire.ControlCancel
	if json.Unmarshal(data, &f) != nil || f.Version != 1 || f.LeaseID != "a2aserve" || f.Signal != "io" || json.Unmarshal(f.Payload, &c) != nil || c.Type != "cancel" {
		panic(string(data))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cancels = append(n.cancels, c)
	if n.active == nil || n.deaf {
		return
	}
	select {
	case <-n.active:
	default:
		close(n.active)
		n.wedged = true
	}
}

// link opens the link and waits until the driver has it.
func (n *nexus) link(t *testing.T) (*websocket.Conn, <-chan struct{}) {
	t.Helper()
	conn, gone := n.dial(t)
	write(t, conn, wire.ControlFrame{Version: 1, LeaseID: "a2aserve", Signal: "ready"})
	write(t, conn, wire.ControlFrame{Version: 1, LeaseID: "a2aserve", Signal: "io", Payload: a2a.Value(`{"type":"output","content":"` + strings.Repeat("x", 100_000) + `"}`)})
	eventually(t, n.d.Linked)
	return conn, gone
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

func (n *nexus) asked() (out []string) {
	for _, in := range n.agent.asked() {
		out = append(out, (&stream{in: in}).text())
	}
	return out
}

func (n *nexus) cancelled() []wire.ControlCancel {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.cancels)
}

func cancelTask(t *testing.T, b *drivertest.Bench, s turn.Sent) a2a.Task {
	t.Helper()
	rec, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID)
	if err != nil {
		t.Fatal(err)
	}
	return b.Decode(rec)
}

// in is a message of one conversation.
func in(text string) turn.Input {
	m := drivertest.Text(text)
	m.ContextID = "c"
	return m
}

// A cancelled turn ends at the agent, which then answers again. Nobody hears what it says
// on the way.
func TestControlLink(t *testing.T) {
	n, b := newNexus(t, turn.Options{}, nil)
	for range 2 { // the second time after the agent has come back
		conn, _ := n.link(t)
		s := b.Send(in("work"))
		<-n.work
		if task := cancelTask(t, b, s); task.Status.State != a2a.TaskStateCanceled || len(task.Artifacts) > 0 {
			t.Fatalf("%s %v", task.Status.State, task.Artifacts)
		}
		if task := b.Await(b.Send(in("echo again"))); drivertest.Answered(task) != "again" {
			t.Errorf("the next turn: %s %q", task.Status.State, drivertest.Said(task))
		}
		if task := b.Decode(s.Record); len(task.Artifacts) > 0 {
			t.Errorf("%v", task.Artifacts)
		}
		_ = conn.CloseNow()
		eventually(t, func() bool { return !n.d.Linked() })
	}
	if got := n.asked(); !slices.Equal(got, []string{"work", "/resume", "echo again", "work", "/resume", "echo again"}) {
		t.Errorf("%q", got)
	}
	want := wire.ControlCancel{Type: "cancel", TurnID: "turn_1", Source: "a2a"}
	if got := n.cancelled(); !slices.Equal(got, []wire.ControlCancel{want, want}) {
		t.Errorf("%v", got)
	}
	if len(n.cut) > 0 {
		t.Error("the connection was closed")
	}
}

// A task that fails for its agent's silence stops the agent too.
func TestSilenceStopsTheAgent(t *testing.T) {
	n, b := newNexus(t, turn.Options{SilenceTimeout: 500 * time.Millisecond}, nil)
	n.link(t)
	if task := b.Await(b.Send(in("work"))); task.Status.State != a2a.TaskStateFailed {
		t.Errorf("%s", task.Status.State)
	}
	if task := b.Await(b.Send(in("echo again"))); drivertest.Answered(task) != "again" {
		t.Errorf("the next turn: %s %q after %q", task.Status.State, drivertest.Said(task), n.asked())
	}
}

// Without the link, or with an agent that goes on, the connection is closed.
func TestControlLinkThatDoesNotHelp(t *testing.T) {
	for name, c := range map[string]struct {
		linked, deaf bool
		said         string
	}{
		"not open": {false, false, "the control link is not open"},
		"ignored":  {true, true, "goes on"},
	} {
		t.Run(name, func(t *testing.T) {
			n, b := newNexus(t, turn.Options{}, func(o *agui.Options) { o.CancelTimeout = 50 * time.Millisecond })
			n.deaf = c.deaf
			if c.linked {
				n.link(t)
			}
			s := b.Send(in("work"))
			<-n.work
			cancelTask(t, b, s)
			<-n.cut
			if task := b.Await(b.Send(in("echo again"))); drivertest.Answered(task) != "again" {
				t.Errorf("the next turn: %s %q", task.Status.State, drivertest.Said(task))
			}
			if !strings.Contains(n.log.String(), c.said) {
				t.Error(n.log.String())
			}
		})
	}
}

// Turns that end by themselves stop nobody, and neither does one that the agent has not
// taken: the active turn is somebody else's then.
func TestNothingElseIsCancelled(t *testing.T) {
	n, b := newNexus(t, turn.Options{}, nil)
	n.link(t)
	for range 20 {
		b.Await(b.Send(in("echo x")))
		b.Await(b.Send(in("error")))
	}
	eventually(t, func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		free := n.active == nil
		if free {
			n.active = make(chan struct{}) // somebody else's
		}
		return free
	})
	if task := b.Await(b.Send(in("echo x"))); task.Status.State != a2a.TaskStateFailed || drivertest.Said(task) != "a run is active" {
		t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
	}
	if got := n.cancelled(); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

// Who cannot prove to be the agent gets no link, and no word about why.
func TestControlLinkRefusals(t *testing.T) {
	n, _ := newNexus(t, turn.Options{}, nil)
	n.link(t)
	for name, change := range map[string]func(*wire.ControlFrame){
		"secret":    func(f *wire.ControlFrame) { f.Secret = "guessed" },
		"no secret": func(f *wire.ControlFrame) { f.Secret = "" },
		"lease":     func(f *wire.ControlFrame) { f.LeaseID = "another" },
		"version":   func(f *wire.ControlFrame) { f.Version = 2 },
		"signal":    func(f *wire.ControlFrame) { f.Signal = "ready" },
		"too long":  func(f *wire.ControlFrame) { f.Secret = strings.Repeat("x", 5000) },
	} {
		t.Run(name, func(t *testing.T) {
			conn, _, err := websocket.Dial(t.Context(), "ws://"+n.d.ControlAddr().String()+agui.ControlPath, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.CloseNow() }()
			f := wire.ControlFrame{Version: 1, LeaseID: "a2aserve", Signal: "register", Secret: secret}
			change(&f)
			write(t, conn, f)
			_, _, err = conn.Read(t.Context())
			if code := websocket.CloseStatus(err); code != websocket.StatusPolicyViolation && code != websocket.StatusMessageTooBig {
				t.Errorf("%v", err)
			}
		})
	}
	for name, c := range map[string]struct {
		path   string
		header http.Header
		status int
	}{
		"page":      {agui.ControlPath, http.Header{"Origin": {"https://evil.example"}}, http.StatusForbidden},
		"elsewhere": {"/", nil, http.StatusNotFound},
	} {
		_, resp, err := websocket.Dial(t.Context(), "ws://"+n.d.ControlAddr().String()+c.path, &websocket.DialOptions{HTTPHeader: c.header})
		if err == nil || resp == nil || resp.StatusCode != c.status {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !n.d.Linked() {
		t.Error("the agent has lost its link to a stranger")
	}
	if text := n.log.String(); strings.Contains(text, secret) || strings.Contains(text, "guessed") || !strings.Contains(text, "refused") {
		t.Error(text)
	}
}

// Connections that say nothing are bounded, and end with the driver.
func TestSilentStrangers(t *testing.T) {
	n, _ := newNexus(t, turn.Options{}, nil)
	refused := 0
	for range 12 {
		conn, resp, err := websocket.Dial(t.Context(), "ws://"+n.d.ControlAddr().String()+agui.ControlPath, nil)
		if err == nil {
			defer func() { _ = conn.CloseNow() }()
			continue
		}
		if resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
			t.Fatal(err)
		}
		refused++
	}
	if refused != 4 {
		t.Errorf("%d refused", refused)
	}
}

// The newest connection is the agent's: of the one before, the end may not have come yet.
func TestControlLinkTakenOver(t *testing.T) {
	n, b := newNexus(t, turn.Options{}, nil)
	_, gone := n.link(t)
	n.dial(t)
	<-gone
	s := b.Send(in("work"))
	<-n.work
	cancelTask(t, b, s)
	if task := b.Await(b.Send(in("echo again"))); drivertest.Answered(task) != "again" || len(n.cut) > 0 {
		t.Errorf("the next turn: %s %q", task.Status.State, drivertest.Said(task))
	}
}

func TestListenErrors(t *testing.T) {
	a := newAgent(t, nil)
	for name, c := range map[string]agui.Control{
		"in use":    {Bind: a.Listener.Addr().String(), LeaseID: "x", Secret: "x"},
		"no secret": {Bind: "127.0.0.1:0", LeaseID: "x"},
	} {
		d := a.driver(t, func(o *agui.Options) { o.Control = &c })
		if err := d.Listen(t.Context()); err == nil || d.ControlAddr() != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
