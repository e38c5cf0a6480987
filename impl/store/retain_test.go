package store

import (
	"fmt"
	"testing"
	"time"

	"a2aserve/gen/a2a"
)

func failedDoc(taskID, contextID string, at time.Time) []byte {
	return fmt.Appendf(nil, `{"state":"TASK_STATE_FAILED","timestamp":%q,"message":{"taskId":%q,"contextId":%q}}`, at.Format(time.RFC3339Nano), taskID, contextID)
}

// fill adds principals without tasks.
func fill(t testing.TB, s *Store, n int) {
	t.Helper()
	err := s.writer.submit(execute(fmt.Sprintf(principalsAdd, n)))
	if err != nil {
		t.Fatal(err)
	}
}

// The oldest finished tasks of a context make room; running ones never do.
func TestMaxPerContext(t *testing.T) {
	s := open(t, Options{MaxPerContext: 3})
	put(t, s, created("ann", "parked", "c1", 0))
	for i := range 6 {
		if err := runTurn(s, "ann", fmt.Sprint("t", i), "c1", 10+10*i); err != nil {
			t.Fatal(err)
		}
	}
	if err := runTurn(s, "ann", "other", "c2", 5); err != nil {
		t.Fatal(err)
	}
	if err := runTurn(s, "bob", "t0", "c1", 5); err != nil {
		t.Fatal(err)
	}
	if got := ids(list(t, s, "ann", Filter{})); got != "t5 t4 other parked" {
		t.Errorf("kept %q", got)
	}
	if got := ids(list(t, s, "bob", Filter{})); got != "t0" {
		t.Errorf("bob kept %q", got)
	}
	compareCounts(t, s, "ann", "bob")
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestMaxPerPrincipal(t *testing.T) {
	s := open(t, Options{MaxPerPrincipal: 3})
	put(t, s, created("ann", "parked", "c0", 0))
	for i := range 6 {
		if err := runTurn(s, "ann", fmt.Sprint("t", i), fmt.Sprint("c", i), 10+10*i); err != nil {
			t.Fatal(err)
		}
		if err := runTurn(s, "bob", fmt.Sprint("t", i/2, i), "c", 10*i); err != nil {
			t.Fatal(err)
		}
	}
	if got := ids(list(t, s, "ann", Filter{})); got != "t5 t4 parked" {
		t.Errorf("kept %q", got)
	}
	compareCounts(t, s, "ann", "bob")
	path := s.Path()
	closeStore(t, s)
	s = open(t, Options{Path: path, MaxPerPrincipal: 1})
	waitFor(t, func() bool { return list(t, s, "bob", Filter{}).Total == 1 && list(t, s, "ann", Filter{}).Total == 1 })
	compareCounts(t, s, "ann", "bob")
}

// Tasks that a restart found unfinished count once: a cap holds right after they are settled,
// whatever contexts they are of.
func TestMaxPerPrincipalAfterSettling(t *testing.T) {
	s := open(t, Options{MaxPerPrincipal: 3})
	for i := range 3 {
		put(t, s, created("ann", fmt.Sprint("left", i), fmt.Sprint("c", i), i))
	}
	path := s.Path()
	closeStore(t, s)
	s = open(t, Options{Path: path, MaxPerPrincipal: 3})
	if n, err := s.SettleOrphans(t.Context(), failedDoc); err != nil || n != 3 {
		t.Fatalf("%d settled, %v", n, err)
	}
	put(t, s, created("ann", "new", "c9", 10))
	if n := list(t, s, "ann", Filter{}).Total; n != 3 {
		t.Errorf("%d tasks are kept", n)
	}
}

// A cap of running tasks alone cannot be kept; nothing is lost for it.
func TestMaxPerContextWithOnlyRunningTasks(t *testing.T) {
	s := open(t, Options{MaxPerContext: 2})
	for i := range 4 {
		put(t, s, created("ann", fmt.Sprint("t", i), "c1", i))
	}
	if p := list(t, s, "ann", Filter{}); p.Total != 4 {
		t.Errorf("%d tasks", p.Total)
	}
}

func TestTTL(t *testing.T) {
	age := time.Since(at(0)) // of a task from then
	s := open(t, Options{TTL: age - time.Hour})
	now := int(age.Milliseconds())
	for i := range 20 {
		if err := runTurn(s, "ann", fmt.Sprint("old", i), "c1", i); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, created("ann", "parked", "c1", 0))
	if err := runTurn(s, "ann", "fresh", "c2", now); err != nil {
		t.Fatal(err)
	}
	// Each creation takes a bounded number along; what is left goes with the sweep.
	if n := list(t, s, "ann", Filter{}).Total; n < 2 || n > 2+evictAtCreation {
		t.Errorf("%d tasks are left", n)
	}
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ids(list(t, s, "ann", Filter{})); got != "fresh parked" {
		t.Errorf("kept %q", got)
	}
	compareCounts(t, s, "ann")
}

// A lowered cap and a new TTL are applied when the store opens, to all principals.
func TestRetentionAtOpen(t *testing.T) {
	s := open(t, Options{Synchronous: NORMAL})
	for _, p := range []string{"ann", "bob"} {
		for i := range 150 {
			put(t, s, created(p, fmt.Sprintf("t%03d", i), "c1", i), status(p, fmt.Sprintf("t%03d", i), "c1", a2a.TaskStateFailed, i))
		}
	}
	path := s.Path()
	closeStore(t, s)
	s = open(t, Options{Path: path, MaxPerContext: 5, SweepEvery: time.Hour})
	waitFor(t, func() bool {
		return list(t, s, "ann", Filter{}).Total == 5 && list(t, s, "bob", Filter{}).Total == 5
	})
	if got := ids(list(t, s, "bob", Filter{})); got != "t149 t148 t147 t146 t145" {
		t.Errorf("kept %q", got)
	}
	closeStore(t, s)
	s = open(t, Options{Path: path, TTL: time.Hour, SweepEvery: time.Millisecond})
	waitFor(t, func() bool { return list(t, s, "ann", Filter{}).Total == 0 })
	// It goes on while the store is open.
	put(t, s, created("bob", "again", "c1", 0), status("bob", "again", "c1", a2a.TaskStateCompleted, 0))
	waitFor(t, func() bool { return list(t, s, "bob", Filter{}).Total == 0 })
	compareCounts(t, s, "ann", "bob")
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for range 2000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("it did not come about")
}

// Decision 26: what was running when the process ended is FAILED, with a message.
func TestSettleOrphans(t *testing.T) {
	s := open(t, Options{Synchronous: NORMAL})
	const many = 600 // of one principal: more than one write settles
	for i := range many {
		put(t, s, created("ann", fmt.Sprintf("t%03d", i), fmt.Sprint("c", i%7), i))
	}
	for i := range 40 {
		p := fmt.Sprint("p", i)
		put(t, s, created(p, "t1", "c1", 0))
		put(t, s, status(p, "t1", "c1", a2a.TaskStateInputRequired, 1))
	}
	if err := runTurn(s, "bob", "t1", "c1", 0); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Truncate(time.Millisecond)
	if n, err := s.SettleOrphans(t.Context(), failedDoc); err != nil || n != many+40 {
		t.Fatalf("%d settled, %v", n, err)
	}
	if n, err := s.SettleOrphans(t.Context(), failedDoc); err != nil || n != 0 {
		t.Errorf("again: %d settled, %v", n, err)
	}
	if p := list(t, s, "ann", Filter{State: a2a.TaskStateFailed}); p.Total != many {
		t.Errorf("%d of ann's failed", p.Total)
	}
	if r, err := s.For("bob").Get(t.Context(), "t1"); err != nil || r.State != a2a.TaskStateCompleted {
		t.Errorf("bob's is %s, %v", r.State, err)
	}
	steps, err := s.For("p7").Transitions(t.Context(), "t1")
	if err != nil || len(steps) != 3 || steps[2].State != a2a.TaskStateFailed || steps[2].At.Before(before) {
		t.Fatalf("%+v, %v", steps, err)
	}
	if want := string(failedDoc("t1", "c1", steps[2].At)); string(steps[2].Status) != want {
		t.Errorf("status %s, want %s", steps[2].Status, want)
	}
	compareCounts(t, s, "ann", "bob", "p7")
}
