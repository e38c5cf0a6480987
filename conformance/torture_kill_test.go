package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"a2aserve/conformance/vector"
	"a2aserve/impl/store"
)

// OP-02, OP-04: whenever a server is killed, at work, as it starts or as it stops, nothing
// that it told anybody is lost, nothing goes back, nothing is left running, whoever comes
// back gets no frame twice and misses none, and the file is whole.
func TestKilledUnderLoad(t *testing.T) {
	db := filepath.Join(t.TempDir(), "tasks.db")
	config := configFile(t, db, tokens)
	var all []*witness
	var contexts []*talk
	began := time.Now()
	for round := range scaled(20, 500) {
		if round%8 == 7 { // before it has settled what the last one left
			s := spawn(t, config)
			pause(300 * time.Millisecond)
			kill(s.cmd)
			continue
		}
		target, cmd := await(t, spawn(t, config))
		checked := all[:0:0]
		for _, c := range contexts {
			checked = append(checked, c.tasks...)
			c.check(t, target)
		}
		readAll(t, target, checked, true)
		nothingRuns(t, target)
		contexts = killedRound(t, target, cmd, round)
		for _, c := range contexts {
			all = append(all, c.tasks...)
		}
		target.Client.CloseIdleConnections()
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
		if round%50 == 49 {
			t.Logf("%d rounds, %d tasks, %s", round+1, len(all), time.Since(began).Round(time.Second))
		}
	}
	target, cmd := await(t, spawn(t, config))
	readAll(t, target, all, true)
	listed := walk(t, target, "")
	states := map[string]int{}
	for _, w := range all {
		if states[w.state]++; listed[w.id].Status.State != w.state {
			t.Errorf("task %s is %s, and listed as %+v", w.id, w.state, listed[w.id])
		}
	}
	target.Client.CloseIdleConnections()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the last server ended with %v", err)
	}
	intact(t, db)
	t.Logf("%d tasks that clients were told of, %d in all: %v; %s", len(all), len(listed), states, time.Since(began).Round(time.Second))
	if len(all) < 40 {
		t.Errorf("only %d tasks were acknowledged", len(all))
	}
}

// pause waits for some time up to most.
func pause(most time.Duration) { time.Sleep(rand.N(most + 1)) }

// intact examines a file that nobody serves.
func intact(t *testing.T, db string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: db})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("the file is not whole: %v", err)
	}
}

// killedRound lets clients at a server until it is killed, every fourth time in the middle
// of its drain. What fails before that is an error.
func killedRound(t *testing.T, target *vector.Target, cmd *exec.Cmd, round int) []*talk {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var ending atomic.Bool
	var g sync.WaitGroup
	talks := make([]*talk, 16)
	for i := range talks {
		c := &talk{target: target, context: fmt.Sprintf("kill-%d-%d", round, i)}
		talks[i] = c
		g.Go(func() {
			for n := i; ; n++ {
				err := c.turn(ctx, n)
				if _, wrong := errors.AsType[*lie](err); wrong || err != nil && !ending.Load() {
					t.Errorf("client %d, turn %d: %v", i, n, err)
				}
				if err != nil {
					return
				}
			}
		})
	}
	pause(200 * time.Millisecond)
	ending.Store(true)
	if round%4 == 2 {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		pause(50 * time.Millisecond)
	}
	kill(cmd)
	cancel()
	g.Wait()
	return talks
}

// talk is one client's turns in a context of its own, one after another.
type talk struct {
	target  *vector.Target
	context string
	tasks   []*witness // that it was told of
	sent    int        // messages that begin a task, answered or not
	refused bool       // the last of them was answered with an error
	doubts  int        // how often that began
}

// begun notes whether a message that begins a task was told of one. Where it was not, the
// task may be there even so, its end not stored; those refused behind it have none.
func (c *talk) begun(w *witness, told bool) {
	if told {
		c.tasks = append(c.tasks, w)
	} else if !c.refused {
		c.doubts++
	}
	c.refused = !told
}

// turn sends one message in one of several ways and notes all that it is told.
func (c *talk) turn(ctx context.Context, n int) error {
	b := bindings[n/7%2]
	w := &witness{}
	switch n % 7 {
	case 0:
		w.want = "1.2.3."
		return c.send(ctx, b, w, "chunks 3 0 .")
	case 1: // looks again and again
		w.want = "hi"
		if err := c.send(ctx, b, w, "slow 5 hi", now); err != nil {
			return err
		}
		for rank[w.state] < 3 {
			if err := c.call(ctx, b, w, "GetTask"); err != nil {
				return err
			}
		}
	case 2:
		return c.stream(ctx, b, w, 20, 0)
	case 3: // leaves and comes back
		if err := c.stream(ctx, b, w, 40, 1+rand.IntN(12)); err != nil {
			return err
		}
		for leave := 1 + rand.IntN(10); rank[w.state] < 3; leave = 0 {
			s, err := c.target.Open(ctx, b, "SubscribeToTask", "alice", `{"id":"`+w.id+`"}`)
			if err != nil {
				return err
			}
			if err := w.follow(s, leave); err != nil {
				return err
			}
		}
	case 4: // answers a question
		if err := c.send(ctx, b, w, "ask Colour?"); err != nil {
			return err
		}
		got, err := parseAs[sent](c.target.Call(ctx, b, "SendMessage", "alice", say("blue", `"taskId":"`+w.id+`"`)))
		if err != nil {
			return err
		}
		return lies(w.whole(got.Task))
	case 5:
		if err := c.send(ctx, b, w, "slow 10000 hi", now); err != nil {
			return err
		}
		w.mayCancel = true
		return c.call(ctx, b, w, "CancelTask")
	case 6: // has all its tasks counted
		p, err := parseAs[page](c.target.Call(ctx, b, "ListTasks", "alice", `{"contextId":"`+c.context+`"}`))
		if err != nil {
			return err
		}
		return lies(c.agrees(p))
	}
	return nil
}

// send begins a task.
func (c *talk) send(ctx context.Context, b vector.Binding, w *witness, text string, extra ...string) error {
	c.sent++
	got, err := parseAs[sent](c.target.Call(ctx, b, "SendMessage", "alice", say(text, append([]string{`"contextId":"` + c.context + `"`}, extra...)...)))
	c.begun(w, err == nil)
	if err != nil {
		return err
	}
	return lies(w.whole(got.Task))
}

// stream begins a task and follows it, as long as follow does.
func (c *talk) stream(ctx context.Context, b vector.Binding, w *witness, chunks, most int) error {
	for i := range chunks {
		w.want += fmt.Sprintf("%d.", i+1)
	}
	c.sent++
	s, err := c.target.Open(ctx, b, "SendStreamingMessage", "alice", say(fmt.Sprintf("chunks %d 2 .", chunks), `"contextId":"`+c.context+`"`))
	if err == nil {
		err = w.follow(s, most)
	}
	c.begun(w, w.id != "")
	return err
}

// call asks for a task, or for its end.
func (c *talk) call(ctx context.Context, b vector.Binding, w *witness, op string) error {
	got, err := parseAs[task](c.target.Call(ctx, b, op, "alice", `{"id":"`+w.id+`"}`))
	if err != nil {
		return err
	}
	return lies(w.whole(got))
}

// agrees holds the first page of the context's list, the latest first, against what the
// client knows. There is no more than that, but for what is in doubt.
func (c *talk) agrees(p page) error {
	listed := map[string]bool{}
	for _, x := range p.Tasks {
		listed[x.ID] = true
	}
	for _, w := range c.tasks[max(0, len(c.tasks)-max(0, 50-c.doubts)):] {
		if !listed[w.id] {
			return fmt.Errorf("task %s of %s is %s and not listed", w.id, c.context, w.state)
		}
	}
	if p.Total < len(c.tasks) || p.Total > len(c.tasks)+c.doubts {
		return fmt.Errorf("of %s %d tasks are counted; %d were told of, %d are in doubt", c.context, p.Total, len(c.tasks), c.doubts)
	}
	return nil
}

// check holds the context's whole list against what the client knows, after a restart: of
// messages that were never answered there may be tasks.
func (c *talk) check(t *testing.T, target *vector.Target) {
	t.Helper()
	all := walk(t, target, c.context)
	for _, w := range c.tasks {
		if _, listed := all[w.id]; !listed {
			t.Errorf("task %s of %s is %s and not listed", w.id, c.context, w.state)
		}
	}
	if len(all) > c.sent {
		t.Errorf("of %s %d tasks are listed, %d were sent", c.context, len(all), c.sent)
	}
}
