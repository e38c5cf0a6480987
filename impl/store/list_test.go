package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/turn"
)

func ids(p Page) string {
	var all []string
	for _, r := range p.Tasks {
		all = append(all, r.ID)
	}
	return strings.Join(all, " ")
}

func list(t testing.TB, s *Store, principal string, f Filter) Page {
	t.Helper()
	p, err := s.For(principal).List(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// all walks through every page.
func all(t testing.TB, s *Store, principal string, f Filter) (tasks []turn.Record) {
	t.Helper()
	for {
		p := list(t, s, principal, f)
		tasks = append(tasks, p.Tasks...)
		if p.Next == nil {
			return tasks
		}
		f.Before = p.Next
	}
}

// LP-01, LP-09: newest status first, ties by id; filters are one AND.
func TestListOrderAndFilters(t *testing.T) {
	s := open(t, Options{})
	put(t, s, created("ann", "t1", "c1", 0))
	put(t, s, created("ann", "t2", "c1", 1))
	put(t, s, created("ann", "t3", "c2", 1))
	put(t, s, created("ann", "t4", "c2", 2))
	put(t, s, status("ann", "t1", "c1", a2a.TaskStateCompleted, 9))
	put(t, s, status("ann", "t4", "c2", a2a.TaskStateInputRequired, 5))
	put(t, s, created("bob", "t5", "c1", 7))
	after := func(ms int) *time.Time { x := at(ms); return &x }
	fraction := at(5).Add(time.Microsecond)
	for _, c := range []struct {
		name, want string
		f          Filter
	}{
		{"all", "t1 t4 t3 t2", Filter{}},
		{"context", "t4 t3", Filter{ContextID: "c2"}},
		{"state", "t3 t2", Filter{State: a2a.TaskStateSubmitted}},
		{"finished", "t1", Filter{State: a2a.TaskStateCompleted}},
		{"context and state", "t2", Filter{ContextID: "c1", State: a2a.TaskStateSubmitted}},
		{"since", "t1 t4", Filter{After: after(5)}},
		{"since a fraction later", "t1", Filter{After: &fraction}},
		{"since, context", "t4", Filter{After: after(2), ContextID: "c2"}},
		{"since, state", "t3 t2", Filter{After: after(1), State: a2a.TaskStateSubmitted}},
		{"since, all of it", "t1", Filter{After: after(1), State: a2a.TaskStateCompleted, ContextID: "c1"}},
		{"nothing", "", Filter{State: a2a.TaskStateRejected}},
		{"quotes", "", Filter{ContextID: "c1' OR '1'='1"}},
	} {
		p := list(t, s, "ann", c.f)
		if ids(p) != c.want || p.Total != len(strings.Fields(c.want)) || p.Next != nil {
			t.Errorf("%s: %q of %d, next %v; want %q", c.name, ids(p), p.Total, p.Next, c.want)
		}
		c.f.PageSize = 1
		var one []string
		for _, r := range all(t, s, "ann", c.f) {
			one = append(one, r.ID)
		}
		if strings.Join(one, " ") != c.want {
			t.Errorf("%s, one by one: %q, want %q", c.name, one, c.want)
		}
	}
	_, err := s.For("ann").List(t.Context(), Filter{State: "TASK_STATE_ODD"})
	if e, ok := errors.AsType[*a2a.Error](err); !ok || e.Type != a2a.InvalidParamsError || e.Violations[0].Field != "status" {
		t.Errorf("unknown state: %v", err)
	}
}

// LP-01: running and finished tasks with the same time are one order by id, on one page and
// across pages, though they are read apart.
func TestListOrderOfTies(t *testing.T) {
	s := open(t, Options{})
	for i, state := range []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCompleted, a2a.TaskStateCompleted, a2a.TaskStateWorking, a2a.TaskStateCompleted, a2a.TaskStateWorking} {
		id := fmt.Sprint("t", i)
		put(t, s, created("ann", id, "c1", 0), status("ann", id, "c1", state, 1))
	}
	for _, f := range []Filter{{}, {PageSize: 1}, {PageSize: 2}, {PageSize: 3, ContextID: "c1"}} {
		if got := ids(Page{Tasks: all(t, s, "ann", f)}); got != "t5 t4 t3 t2 t1 t0" {
			t.Errorf("%+v: %q", f, got)
		}
	}
}

// LP-04: a last page that is full says so, and the total counts all pages.
func TestListPages(t *testing.T) {
	s := open(t, Options{Synchronous: NORMAL})
	for i := range 120 {
		put(t, s, created("ann", fmt.Sprintf("t%03d", i), "c1", i))
	}
	for size, want := range map[int]int{0: 50, 2: 2, 100: 100, 1000: 100} {
		if p := list(t, s, "ann", Filter{PageSize: size}); len(p.Tasks) != want || p.Total != 120 || p.Next == nil {
			t.Errorf("page size %d: %d tasks of %d, next %v", size, len(p.Tasks), p.Total, p.Next)
		}
	}
	first := list(t, s, "ann", Filter{PageSize: 60})
	if last := list(t, s, "ann", Filter{PageSize: 60, Before: first.Next}); len(last.Tasks) != 60 || last.Next != nil {
		t.Errorf("full last page: %d tasks, next %v", len(last.Tasks), last.Next)
	}
}

// LP-07, GH-01: artifacts on request, the latest messages as many as asked.
func TestListContent(t *testing.T) {
	s := open(t, Options{})
	for _, id := range []string{"t1", "t2"} {
		put(t, s, created("ann", id, "c1", 0), message("ann", id, 0), message("ann", id, 1), message("ann", id, 2), artifact("ann", id, 0), artifact("ann", id, 1))
	}
	n := func(i int32) *int32 { return &i }
	for _, c := range []struct {
		f    Filter
		want string
	}{
		{Filter{}, "0 1 2"}, {Filter{History: n(0)}, ""}, {Filter{History: n(1)}, "2"},
		{Filter{History: n(2)}, "1 2"}, {Filter{History: n(99)}, "0 1 2"},
	} {
		for _, r := range list(t, s, "ann", c.f).Tasks {
			var got []string
			for _, m := range r.History {
				got = append(got, strings.TrimSuffix(strings.Fields(string(m))[2], `"}`))
			}
			if strings.Join(got, " ") != c.want || r.Artifacts != nil {
				t.Errorf("history %v: %q, %d artifacts", c.f.History, got, len(r.Artifacts))
			}
		}
	}
	for _, r := range list(t, s, "ann", Filter{Artifacts: true}).Tasks {
		if len(r.Artifacts) != 2 || r.Artifacts[0].Append || !r.Artifacts[1].Append || !strings.Contains(string(r.Artifacts[1].JSON), r.ID+" 1") {
			t.Errorf("%s: %+v", r.ID, r.Artifacts)
		}
	}
}

// LP-03: while pages are read others come, change and go; what did not change is seen once.
func TestListDuringWrites(t *testing.T) {
	s := open(t, Options{Synchronous: NORMAL})
	still := map[string]int{}
	for i := range 200 {
		id := fmt.Sprintf("t%03d", i)
		put(t, s, created("ann", id, "c1", i/20)) // many share a timestamp
		if i%2 == 0 {
			still[id] = 0
		}
	}
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range 400 { // bounded: what comes in below a cursor prolongs the walk
			select {
			case <-stop:
				return
			default:
			}
			id := fmt.Sprintf("t%03d", (2*i+1)%200)
			_ = s.Append(changes(created("ann", fmt.Sprint("new", i), "c1", 5+i%20)))
			_ = s.Append(changes(status("ann", id, "c1", a2a.TaskStateCompleted, 5+i%50)))
			if i%3 == 0 {
				_ = s.writer.submit(func(ctx context.Context, h *handle) error {
					return s.evict(ctx, s.writer.account(h, "ann"), []string{id})
				})
			}
		}
	})
	for range 5 {
		seen := map[string]int{}
		f := Filter{PageSize: 10, After: new(at(0)), State: a2a.TaskStateSubmitted}
		for _, r := range all(t, s, "ann", f) {
			seen[r.ID]++
		}
		for id := range still {
			if seen[id] != 1 {
				t.Errorf("%s was seen %d times", id, seen[id])
			}
		}
	}
	close(stop)
	wait.Wait()
}

// compareCounts holds every total against what reading all tasks gives. A sweep that comes
// between has both read again.
func compareCounts(t *testing.T, s *Store, principals ...string) {
	t.Helper()
	for _, p := range principals {
		for {
			tasks := all(t, s, p, Filter{PageSize: 100})
			wrong := wrongTotals(t, s, p, tasks)
			if len(all(t, s, p, Filter{PageSize: 100})) < len(tasks) {
				continue
			}
			for _, w := range wrong {
				t.Error(w)
			}
			break
		}
	}
}

// wrongTotals says which totals are not what the tasks add up to.
func wrongTotals(t *testing.T, s *Store, p string, tasks []turn.Record) (wrong []string) {
	t.Helper()
	contexts := []string{""}
	for _, r := range tasks {
		if !slices.Contains(contexts, r.ContextID) {
			contexts = append(contexts, r.ContextID)
		}
	}
	since := time.UnixMilli(0)
	for _, c := range append(contexts, "none") {
		for _, state := range append(slices.Collect(allStates), "") {
			want := 0
			for _, r := range tasks {
				if (c == "" || c == r.ContextID) && (state == "" || state == r.State) {
					want++
				}
			}
			for _, after := range []*time.Time{nil, &since} {
				if got := list(t, s, p, Filter{ContextID: c, State: state, After: after, PageSize: 1}).Total; got != want {
					wrong = append(wrong, fmt.Sprintf("%s, context %q, state %q, after %v: total %d, there are %d", p, c, state, after, got, want))
				}
			}
		}
	}
	return wrong
}

func allStates(yield func(a2a.TaskState) bool) {
	for s := range codes {
		if !yield(s) {
			return
		}
	}
}

// Whatever happens to tasks, the counters say what counting would.
func TestCountersUnderRandomOperations(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	opts := Options{Synchronous: NORMAL, MaxPerContext: 9, TTL: time.Since(at(0)) - 400*time.Millisecond}
	s := open(t, opts)
	opts.Path = s.Path()
	principals := []string{"ann", "bob", "cyd"}
	type live struct{ p, id, c string }
	var running []live
	for i := range 900 {
		switch n := r.IntN(20); {
		case n < 8 || len(running) == 0:
			l := live{principals[r.IntN(3)], fmt.Sprint("t", i), fmt.Sprint("c", r.IntN(4))}
			put(t, s, created(l.p, l.id, l.c, i))
			running = append(running, l)
		case n < 19:
			k := r.IntN(len(running))
			l := running[k]
			state := slices.Sorted(allStates)[r.IntN(len(codes))]
			put(t, s, status(l.p, l.id, l.c, state, i))
			if state.Terminal() {
				running = slices.Delete(running, k, k+1)
			}
		case i%3 == 0:
			closeStore(t, s)
			s = open(t, opts)
			if n, err := s.SettleOrphans(t.Context(), failedDoc); err != nil || n != len(running) {
				t.Fatalf("%d of %d settled, %v", n, len(running), err)
			}
			running = nil
		default:
			if err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if i%90 == 0 {
			compareCounts(t, s, principals...)
		}
	}
	compareCounts(t, s, principals...)
	// Counters of contexts without tasks do not pile up.
	for _, p := range principals {
		for len(all(t, s, p, Filter{})) > 0 {
			if _, err := s.SettleOrphans(t.Context(), failedDoc); err != nil {
				t.Fatal(err)
			}
			for _, task := range all(t, s, p, Filter{}) {
				on(t, s, p, evictAll(s, task.ID))
			}
		}
	}
	if n := number(t, s, countersRows); n > int64(len(principals)) {
		t.Errorf("%d rows of counters are left", n)
	}
}

func evictAll(s *Store, ids ...string) func(context.Context, account) error {
	return func(ctx context.Context, a account) error { return s.evict(ctx, a, ids) }
}

func TestTokens(t *testing.T) {
	s := open(t, Options{})
	ann, c := s.For("ann"), Cursor{at(5).UnixMilli(), "0190-7"}
	f := Filter{ContextID: "c1", State: a2a.TaskStateCompleted, After: new(at(1))}
	token := ann.Token(f, c)
	other := f
	other.PageSize, other.Artifacts, other.History = 7, true, new(int32)
	if got, err := ann.ParseToken(other, token); err != nil || got != c {
		t.Errorf("%+v, %v", got, err)
	}
	for name, try := range map[string]func() (Cursor, error){
		"another principal": func() (Cursor, error) { return s.For("bob").ParseToken(f, token) },
		"another context": func() (Cursor, error) {
			return ann.ParseToken(Filter{ContextID: "c2", State: f.State, After: f.After}, token)
		},
		"another state": func() (Cursor, error) { return ann.ParseToken(Filter{ContextID: "c1", After: f.After}, token) },
		"another time":  func() (Cursor, error) { return ann.ParseToken(Filter{ContextID: "c1", State: f.State}, token) },
		"another store": func() (Cursor, error) { return open(t, Options{}).For("ann").ParseToken(f, token) },
		"nothing":       func() (Cursor, error) { return ann.ParseToken(f, "") },
		"padding":       func() (Cursor, error) { return ann.ParseToken(f, token+"=") },
		"a newline":     func() (Cursor, error) { return ann.ParseToken(f, token+"\n") },
		"too long":      func() (Cursor, error) { return ann.ParseToken(f, strings.Repeat("A", 1<<20)) },
		"moved border": func() (Cursor, error) {
			return s.For("annc1").ParseToken(Filter{State: f.State, After: f.After}, token)
		},
	} {
		if _, err := try(); !errors.Is(err, ErrToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range token {
		b := []byte(token)
		b[i] = "AB"[btoi(b[i] == 'A')]
		if _, err := ann.ParseToken(f, string(b)); !errors.Is(err, ErrToken) {
			t.Errorf("changed at %d: accepted", i)
		}
	}
	path := s.Path()
	closeStore(t, s)
	if got, err := open(t, Options{Path: path}).For("ann").ParseToken(f, token); err != nil || got != c {
		t.Errorf("after a restart: %+v, %v", got, err)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func FuzzParseToken(f *testing.F) {
	v := View{&Store{secret: []byte("a secret of the file")}, "ann"}
	f.Add(v.Token(Filter{}, Cursor{1_750_000_000_000, "t1"}), "")
	f.Add(v.Token(Filter{ContextID: "c1"}, Cursor{-1, ""}), "c1")
	f.Add("AQ", "")
	f.Add("", "c1")
	f.Fuzz(func(t *testing.T, token, contextID string) {
		filter := Filter{ContextID: contextID}
		c, err := v.ParseToken(filter, token)
		if err != nil {
			if !errors.Is(err, ErrToken) {
				t.Errorf("%q: %v", token, err)
			}
			return
		}
		if again := v.Token(filter, c); again != token {
			t.Errorf("%q is also %q", token, again)
		}
	})
}
