package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/turn"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		os.Exit(child(role))
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, opts Options) *Store {
	t.Helper()
	if opts.Path == "" {
		opts.Path = filepath.Join(t.TempDir(), "tasks.db")
	}
	s, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// at counts from a fixed time.
func at(ms int) time.Time { return time.UnixMilli(1_750_000_000_000 + int64(ms)).UTC() }

func doc(kind, principal, id, what string) []byte {
	return fmt.Appendf(nil, `{%q:%q}`, kind, principal+" "+id+" "+what)
}

func created(p, id, c string, ms int) turn.Change {
	return turn.Change{Kind: turn.TaskCreated, Principal: p, Task: id, Context: c, State: a2a.TaskStateSubmitted, At: at(ms), Doc: doc("status", p, id, "new")}
}

func status(p, id, c string, s a2a.TaskState, ms int) turn.Change {
	return turn.Change{Kind: turn.StatusChanged, Principal: p, Task: id, Context: c, State: s, At: at(ms), Doc: doc("status", p, id, string(s))}
}

func message(p, id string, seq int) turn.Change {
	return turn.Change{Kind: turn.MessageAdded, Principal: p, Task: id, Seq: seq, Doc: doc("message", p, id, fmt.Sprint(seq))}
}

func artifact(p, id string, seq int) turn.Change {
	return turn.Change{Kind: turn.ArtifactAdded, Principal: p, Task: id, Seq: seq, ArtifactID: "answer", Append: seq > 0, Doc: doc("artifact", p, id, fmt.Sprint(seq))}
}

func changes(c ...turn.Change) []turn.Change { return c }

func put(t testing.TB, s *Store, c ...turn.Change) {
	t.Helper()
	if err := s.Append(c); err != nil {
		t.Fatal(err)
	}
}

// runTurn is an ordinary turn, journalled as the engine does.
func runTurn(s *Store, p, id, c string, ms int) error {
	for _, batch := range [][]turn.Change{
		{created(p, id, c, ms), message(p, id, 0)},
		{status(p, id, c, a2a.TaskStateWorking, ms+1)},
		{artifact(p, id, 0)},
		{status(p, id, c, a2a.TaskStateCompleted, ms+2)},
	} {
		if err := s.Append(batch); err != nil {
			return err
		}
	}
	return nil
}

func TestTurnIsReadBack(t *testing.T) {
	s := open(t, Options{})
	if err := runTurn(s, "ann", "t1", "c1", 0); err != nil {
		t.Fatal(err)
	}
	for range 2 { // before and after a restart
		r, err := s.For("ann").Get(t.Context(), "t1")
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%s %s %s %s %s %s %v %s", r.ID, r.ContextID, r.State, r.Status, r.History, r.Artifacts[0].ID, r.Artifacts[0].Append, r.Artifacts[0].JSON)
		want := `t1 c1 TASK_STATE_COMPLETED {"status":"ann t1 TASK_STATE_COMPLETED"} [{"message":"ann t1 0"}] answer false {"artifact":"ann t1 0"}`
		if got != want {
			t.Errorf("got %s", got)
		}
		path := s.Path()
		closeStore(t, s)
		s = open(t, Options{Path: path})
	}
}

// An ordinary turn costs six row writes at most, its principal's first one more.
func TestRowWritesOfATurn(t *testing.T) {
	s := open(t, Options{MaxPerContext: 100, TTL: 1e6 * time.Hour})
	for i, most := range []int64{7, 6, 6} {
		before := number(t, s, rowWrites)
		if err := runTurn(s, "ann", fmt.Sprint("t", i), "c1", i); err != nil {
			t.Fatal(err)
		}
		if n := number(t, s, rowWrites) - before; n > most {
			t.Errorf("turn %d: %d row writes, want at most %d", i, n, most)
		}
	}
}

// Several status changes of one append are one update, and still all in the history.
func TestStatusesOfOneAppendAreOneWrite(t *testing.T) {
	s := open(t, Options{})
	put(t, s, created("ann", "t1", "c1", 0))
	before := number(t, s, rowWrites)
	asked := status("ann", "t1", "c1", a2a.TaskStateInputRequired, 2)
	asked.Message = true
	put(t, s, status("ann", "t1", "c1", a2a.TaskStateWorking, 1), asked, status("ann", "t1", "c1", a2a.TaskStateWorking, 3))
	if n := number(t, s, rowWrites) - before; n != 2 { // the task, and the status with a message
		t.Errorf("%d row writes", n)
	}
	failed := status("ann", "t1", "c1", a2a.TaskStateFailed, 4)
	failed.Message = true
	put(t, s, failed)
	steps, err := s.For("ann").Transitions(t.Context(), "t1")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, x := range steps {
		fmt.Fprintf(&got, "%s %d %s\n", strings.TrimPrefix(string(x.State), "TASK_STATE_"), x.At.Sub(at(0)).Milliseconds(), x.Status)
	}
	want := "SUBMITTED 0 \nWORKING 1 \nINPUT_REQUIRED 2 {\"status\":\"ann t1 TASK_STATE_INPUT_REQUIRED\"}\nWORKING 3 \nFAILED 4 {\"status\":\"ann t1 TASK_STATE_FAILED\"}\n"
	if got.String() != want {
		t.Errorf("got\n%s", got.String())
	}
}

// A task that is rejected at once is one append, and counted.
func TestTaskThatEndsAsItIsMade(t *testing.T) {
	s := open(t, Options{})
	rejected := status("ann", "t1", "c1", a2a.TaskStateRejected, 1)
	rejected.Message = true
	put(t, s, created("ann", "t1", "c1", 0), message("ann", "t1", 0), rejected)
	p, err := s.For("ann").List(t.Context(), Filter{State: a2a.TaskStateRejected, ContextID: "c1"})
	if err != nil || p.Total != 1 || len(p.Tasks) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	if steps, err := s.For("ann").Transitions(t.Context(), "t1"); err != nil || len(steps) != 2 || steps[1].Status == nil {
		t.Errorf("%+v, %v", steps, err)
	}
}

func TestAppendRefusesWhatMakesNoSense(t *testing.T) {
	s := open(t, Options{})
	put(t, s, created("ann", "t1", "c1", 0))
	put(t, s, created("ann", "over", "c1", 0), status("ann", "over", "c1", a2a.TaskStateCompleted, 1))
	for name, c := range map[string][]turn.Change{
		"no principal":      changes(message("", "t1", 0)),
		"no task":           changes(message("ann", "", 0)),
		"two tasks":         changes(message("ann", "t1", 0), message("ann", "over", 0)),
		"two principals":    changes(message("ann", "t1", 0), message("bob", "t1", 0)),
		"unknown task":      changes(message("ann", "nope", 0)),
		"status of nothing": changes(status("ann", "nope", "c1", a2a.TaskStateWorking, 1)),
		"made twice":        changes(created("ann", "t1", "c1", 0)),
		"no context":        changes(created("ann", "t2", "", 0)),
		"made late":         changes(message("ann", "t3", 0), created("ann", "t3", "c1", 0)),
		"after its end":     changes(status("ann", "over", "c1", a2a.TaskStateWorking, 2)),
		"after an end":      changes(status("ann", "t1", "c1", a2a.TaskStateFailed, 2), status("ann", "t1", "c1", a2a.TaskStateWorking, 3)),
		"unknown state":     changes(status("ann", "t1", "c1", "TASK_STATE_ODD", 2)),
		"unknown kind":      changes(turn.Change{Principal: "ann", Task: "t1"}),
		"half of it":        changes(message("ann", "t1", 0), message("ann", "t1", 0)),
	} {
		if err := s.Append(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	r, err := s.For("ann").Get(t.Context(), "t1")
	if err != nil || len(r.History) != 0 || r.State != a2a.TaskStateSubmitted {
		t.Errorf("something of it was stored: %+v, %v", r, err)
	}
	if err := s.Append(nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

// One bad job does not fail those that share its commit.
func TestBadJobInAGroup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	closeStore(t, open(t, Options{Path: path}))
	h, err := openWriter(t.Context(), path, FULL)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	w := &writer{h: h}
	s := &Store{writer: w}
	apply := func(c ...turn.Change) job {
		b, err := collect(c)
		if err != nil {
			t.Fatal(err)
		}
		return job{do: func(ctx context.Context, h *handle) error { return s.apply(ctx, h, b) }}
	}
	errs, err := w.commit([]job{
		apply(created("ann", "t1", "c1", 0)),
		apply(created("ann", "t2", "c1", 0), message("ann", "t2", 0), message("ann", "t2", 0)),
		apply(created("ann", "t3", "c1", 0)),
	})
	if err != nil || errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Fatalf("%v, %v", errs, err)
	}
	if got := dump(t, h, "ann"); !strings.Contains(got, "t1") || strings.Contains(got, "t2") || !strings.Contains(got, "t3") {
		t.Errorf("stored:\n%s", got)
	}
	// What the writer remembered of a group that is done again does not count twice.
	errs, err = w.commit([]job{
		apply(status("ann", "t1", "c1", a2a.TaskStateCompleted, 1)),
		apply(created("ann", "t3", "c1", 0)),
		apply(status("ann", "t3", "c1", a2a.TaskStateCompleted, 2)),
	})
	if err != nil || errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Fatalf("%v, %v", errs, err)
	}
	if n, err := h.View("ann").Totals(t.Context()); err != nil || n.AllCompleted != 2 {
		t.Errorf("counted %+v, %v", n, err)
	}
	// What ends the transaction fails the group, and the next group works.
	errs, err = w.commit([]job{
		apply(created("ann", "t4", "c1", 0)),
		{do: func(ctx context.Context, h *handle) error {
			_, err := h.conn.ExecContext(ctx, endOfGroup)
			return errors.Join(err, errors.New("broken"))
		}},
	})
	if err == nil || len(errs) != 2 {
		t.Errorf("a broken transaction was committed: %v", errs)
	}
	if _, err = w.commit([]job{apply(created("ann", "t5", "c1", 0))}); err != nil {
		t.Error(err)
	}
	if got := dump(t, h, "ann"); strings.Contains(got, "t4") || !strings.Contains(got, "t5") {
		t.Errorf("stored:\n%s", got)
	}
}

// A full disk: appends fail, nothing is half-written, and there is a way on.
func TestFullDisk(t *testing.T) {
	s := open(t, Options{})
	put(t, s, created("ann", "t1", "c1", 0))
	limit := number(t, s, pageCount) + 4
	number(t, s, fmt.Sprintf(maxPages, limit))
	big := message("ann", "t1", 0)
	big.Doc = []byte(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			id := fmt.Sprint("b", i)
			c := big
			c.Task = id
			if err := s.Append(changes(created("ann", id, "c1", 1), c)); err == nil {
				t.Error("stored on a full disk")
			}
		})
	}
	wait.Wait()
	p, err := s.For("ann").List(t.Context(), Filter{})
	if err != nil || p.Total != 1 || len(p.Tasks) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	number(t, s, fmt.Sprintf(maxPages, 1<<30))
	put(t, s, big)
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestMaxBytes(t *testing.T) {
	s := open(t, Options{MaxBytes: 200_000})
	put(t, s, created("ann", "t0", "c1", 0))
	big := message("ann", "t0", 0)
	big.Doc = []byte(`{"text":"` + strings.Repeat("x", 250_000) + `"}`)
	put(t, s, big)
	err := s.Append(changes(created("ann", "t1", "c1", 1)))
	if e, ok := errors.AsType[*a2a.Error](err); !ok || e.Type != a2a.UnavailableError {
		t.Errorf("got %v", err)
	}
	put(t, s, status("ann", "t0", "c1", a2a.TaskStateCompleted, 2)) // what runs may end
	on(t, s, "ann", evictAll(s, "t0"))
	put(t, s, created("ann", "t1", "c1", 3)) // room again
}

// ST-04: many writers and readers at once, none of whom meets a lock.
func TestParallelWritersAndReaders(t *testing.T) {
	s := open(t, Options{})
	const writers, turns = 64, 6
	var wait, readers sync.WaitGroup
	stop := make(chan struct{})
	for i := range 8 {
		readers.Go(func() {
			v := s.For(fmt.Sprint("p", i%4))
			for {
				select {
				case <-stop:
					return
				default:
				}
				p, err := v.List(context.Background(), Filter{Artifacts: true, PageSize: 20})
				if err != nil {
					t.Error(err)
					return
				}
				for _, r := range p.Tasks {
					if _, err := v.Get(context.Background(), r.ID); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for i := range writers {
		wait.Go(func() {
			for n := range turns {
				if err := runTurn(s, fmt.Sprint("p", i%4), fmt.Sprintf("t%d-%d", i, n), fmt.Sprint("c", i), n); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	close(stop)
	readers.Wait()
	total := 0
	for i := range 4 {
		p, err := s.For(fmt.Sprint("p", i)).List(t.Context(), Filter{State: a2a.TaskStateCompleted})
		if err != nil {
			t.Fatal(err)
		}
		total += p.Total
	}
	if total != writers*turns {
		t.Errorf("%d turns, %d stored", writers*turns, total)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestClosedStore(t *testing.T) {
	s := open(t, Options{TTL: time.Hour})
	closeStore(t, s)
	closeStore(t, s)
	if err := s.Append(changes(created("ann", "t1", "c1", 0))); !errors.Is(err, ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if _, err := s.For("ann").Get(t.Context(), "t1"); !errors.Is(err, ErrClosed) {
		t.Errorf("get: %v", err)
	}
	if _, _, err := s.Bound("ann", "s", "c"); !errors.Is(err, ErrClosed) {
		t.Errorf("bound: %v", err)
	}
}

// A reader that gives up waiting gets its context's error, and one that is cut off in the
// middle leaves the connection usable.
func TestReadersGiveUp(t *testing.T) {
	s := open(t, Options{Readers: 1})
	put(t, s, created("ann", "t1", "c1", 0))
	h := <-s.readers
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.For("ann").Get(ctx, "t1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.readers <- h
	for range 3 {
		_, _ = s.For("ann").List(ctx, Filter{})
	}
	if _, err := s.For("ann").Get(t.Context(), "t1"); err != nil {
		t.Error(err)
	}
}

// The log stays bounded though some reader always reads.
func TestLogUnderConstantReading(t *testing.T) {
	s := open(t, Options{Synchronous: NORMAL})
	put(t, s, created("ann", "t1", "c1", 0))
	const bound = 1 << 20
	on(t, s, "ann", func(context.Context, account) error {
		s.writer.maxLog, s.writer.trimAt = bound, bound
		return nil
	})
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := s.For("ann").List(context.Background(), Filter{History: new(int32(1))}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	m := message("ann", "t1", 0)
	m.Doc = []byte(`{"text":"` + strings.Repeat("x", 32<<10) + `"}`)
	for i := range 150 {
		m.Seq = i
		put(t, s, m, status("ann", "t1", "c1", a2a.TaskStateWorking, i))
		if _, err := s.For("bob").List(t.Context(), Filter{}); err != nil {
			t.Error(err)
		}
	}
	size := logSize(s.Path())
	close(stop)
	readers.Wait()
	if size > 2*bound {
		t.Errorf("the log has grown to %d KiB", size>>10)
	}
}
