package agui_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	wire "a2aserve/gen/agui"
	"a2aserve/impl/driver/agui"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"

	"github.com/go-json-experiment/json"
)

// recorded is an agent with the faults of the one that was recorded. It has one
// conversation, whatever the thread, and one run at a time. A client that leaves frees it
// for the next, but the turn goes on: what it says from then on, its end included, goes to
// whoever listens. A failed model call is a text, after which the run stays open. A run that
// is posted while a question is open ruins the question: its answer begins a run that says
// nothing.
type recorded struct {
	*agent
	closing chan struct{}
	turns   sync.WaitGroup

	hold   sync.Mutex // guards what follows
	reader *listener  // whose run it is; nil: there is none
	open   map[string]bool
	ruined map[string]bool
}

// listener is the client of a run.
type listener struct {
	w     http.ResponseWriter
	ended chan struct{}
	abort bool // the agent crashed
}

func newRecorded(t *testing.T) *recorded {
	a := &recorded{
		agent:   &agent{parked: map[string]string{}, heard: map[string]int{}},
		closing: make(chan struct{}), open: map[string]bool{}, ruined: map[string]bool{},
	}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(func() {
		close(a.closing)
		a.Close() // no turn begins after it
		a.turns.Wait()
	})
	return a
}

func (a *recorded) serve(w http.ResponseWriter, r *http.Request) {
	var in wire.RunAgentInput
	if err := json.UnmarshalRead(r.Body, &in); err != nil {
		http.Error(w, "not a run", http.StatusBadRequest)
		return
	}
	in.ThreadID = "the only one"
	me := &listener{w: w, ended: make(chan struct{})}
	a.hold.Lock()
	if a.reader != nil {
		a.hold.Unlock()
		refuse := &stream{w: w, r: r, in: in}
		refuse.send("RUN_STARTED", "threadId", in.ThreadID, "runId", in.RunID)
		refuse.send("RUN_ERROR", "message", "a run is already active")
		return
	}
	a.reader = me
	hang := false
	for _, answer := range in.Resume {
		hang = hang || a.ruined[answer.InterruptID]
		delete(a.open, answer.InterruptID)
	}
	if len(in.Resume) == 0 {
		for id := range a.open {
			a.ruined[id] = true
		}
	}
	a.hold.Unlock()
	a.turns.Go(func() { a.turn(&stream{a: a.agent, r: r, in: in, out: a.say, gone: a.closing}, hang) })
	select {
	case <-me.ended:
	case <-r.Context().Done():
	case <-a.closing:
	}
	a.hold.Lock()
	defer a.hold.Unlock()
	if a.reader == me {
		a.reader = nil
	}
	if me.abort {
		panic(http.ErrAbortHandler)
	}
}

// turn plays a turn to its own end, whoever has left meanwhile.
func (a *recorded) turn(s *stream, hang bool) {
	defer func() {
		if p := recover(); p != nil {
			if err, ok := p.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				panic(p)
			}
			a.hold.Lock()
			defer a.hold.Unlock()
			a.end(true)
		}
	}()
	if hang {
		s.send("RUN_STARTED", "threadId", s.in.ThreadID, "runId", s.in.RunID)
		return
	}
	if why, fails := strings.CutPrefix(s.text(), "fail "); fails {
		s.start()
		s.say("assistant", "[provider] "+why)
		return
	}
	a.play(s)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hold.Lock()
	defer a.hold.Unlock()
	for id := range a.parked {
		a.open[id] = true
	}
}

// say tells whoever listens. The end of any turn ends the run that is open.
func (a *recorded) say(text string) {
	a.hold.Lock()
	defer a.hold.Unlock()
	if a.reader != nil {
		(&stream{w: a.reader.w}).raw(text)
	}
	if strings.Contains(text, `"RUN_FINISHED"`) || strings.Contains(text, `"RUN_ERROR"`) {
		a.end(false)
	}
}

// end ends the run that is open; a.hold is held.
func (a *recorded) end(abort bool) {
	if a.reader != nil {
		a.reader.abort = abort
		close(a.reader.ended)
		a.reader = nil
	}
}

// single connects to the agent as it wants to be.
func (a *recorded) single(t *testing.T) *agui.Driver {
	return a.driver(t, func(o *agui.Options) { o.PerContext = false })
}

// other is another client of the agent. It posts a run, and returns once the reply holds a
// text; what it returns leaves.
func (a *recorded) other(t *testing.T, message, until string) (leave func()) {
	t.Helper()
	body, err := json.Marshal(&wire.RunAgentInput{ThreadID: "other", RunID: "other", Messages: []wire.Message{{ID: "1", Role: "user", Content: message}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(a.URL+"/agui", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for buf := make([]byte, 512); !strings.Contains(got.String(), until); {
		n, err := r.Body.Read(buf)
		if got.Write(buf[:n]); err != nil && !strings.Contains(got.String(), until) {
			t.Fatalf("%v after %s", err, got.String())
		}
	}
	return func() { r.Body.Close(); http.DefaultClient.CloseIdleConnections() }
}

func message(text string) turn.Input {
	in := drivertest.Text(text)
	in.ContextID = "c"
	return in
}

// cleanAtLast says that the agent's conversation goes on.
func cleanAtLast(t *testing.T, b *drivertest.Bench) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		task := b.Await(b.Send(message("echo next")))
		if task.Status.State == a2a.TaskStateCompleted && drivertest.Answered(task) == "next" && len(task.Artifacts) == 1 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s %q %q", task.Status.State, drivertest.Answered(task), drivertest.Said(task))
		}
	}
}

// A failed model call leaves the run open for ever: the task fails when it has been silent
// for too long, and the connection that goes with it frees the agent.
func TestRecordedProviderError(t *testing.T) {
	b := drivertest.New(t, newRecorded(t).single(t), turn.Options{SilenceTimeout: 300 * time.Millisecond})
	task := b.Await(b.Send(message("fail HTTP 400")))
	if task.Status.State != a2a.TaskStateFailed || !strings.Contains(drivertest.Said(task), "silent") || drivertest.Answered(task) != "[provider] HTTP 400" {
		t.Errorf("%s %q %q", task.Status.State, drivertest.Said(task), drivertest.Answered(task))
	}
	cleanAtLast(t, b)
}

// While somebody else has a run, ours is refused with a run that only has an error.
func TestRecordedSecondRun(t *testing.T) {
	a := newRecorded(t)
	leave := a.other(t, "silent", "STEP_STARTED")
	b := drivertest.New(t, a.single(t), turn.Options{})
	if task := b.Await(b.Send(message("echo hello"))); task.Status.State != a2a.TaskStateFailed || drivertest.Said(task) != "a run is already active" {
		t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
	}
	leave()
	cleanAtLast(t, b)
}

// A cancelled task's turn goes on in the agent, and without a way to cancel there the next
// run hears it. No task hangs on that, and what is cancelled stays so.
func TestRecordedMixedRuns(t *testing.T) {
	b := drivertest.New(t, newRecorded(t).single(t), turn.Options{})
	s := b.Send(message("chunks 20 10 ."))
	for rec, _ := s.Run.Snapshot(); len(rec.Artifacts) == 0; rec, _ = s.Run.Snapshot() {
		time.Sleep(time.Millisecond)
	}
	if _, err := b.Engine.Cancel(t.Context(), "alice", s.Record.ID); err != nil {
		t.Fatal(err)
	}
	cleanAtLast(t, b)
	if got := b.Journal.Task(s.Record.ID).State; got != a2a.TaskStateCanceled {
		t.Error(got)
	}
}

// Somebody else's run while our question is open ruins the question: the answer's run says
// nothing, and the task fails for it.
func TestRecordedRuinedQuestion(t *testing.T) {
	a := newRecorded(t)
	b := drivertest.New(t, a.single(t), turn.Options{SilenceTimeout: 300 * time.Millisecond})
	s := b.Send(message("ask colour?"))
	if task := b.Await(s); task.Status.State != a2a.TaskStateInputRequired {
		t.Fatal(task.Status.State)
	}
	// What the server sees last of its run is not quite the last that the agent does.
	for open := false; !open; time.Sleep(time.Millisecond) {
		a.hold.Lock()
		open = len(a.open) > 0
		a.hold.Unlock()
	}
	a.other(t, "echo hello", "RUN_FINISHED")()
	if task := b.Await(b.Answer(s, "red")); task.Status.State != a2a.TaskStateFailed || !strings.Contains(drivertest.Said(task), "silent") {
		t.Errorf("%s %q", task.Status.State, drivertest.Said(task))
	}
	cleanAtLast(t, b)
}
