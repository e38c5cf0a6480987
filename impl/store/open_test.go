package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
)

// childRole makes the test binary another process: one that opens a store, or one that
// writes until it is killed.
const (
	childRole = "A2ASERVE_STORE_TEST_ROLE"
	childPath = "A2ASERVE_STORE_TEST_PATH"
)

func child(role string) int {
	s, err := Open(context.Background(), Options{Path: os.Getenv(childPath)})
	if err != nil {
		fmt.Println(err)
		return 3
	}
	defer s.Close()
	if role == "open" {
		return 0
	}
	out := make(chan string)
	for i := range 64 {
		go func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("t%d-%d", i, n)
				c := fmt.Sprint("c", i)
				if s.Append(changes(created("ann", id, c, n), message("ann", id, 0))) == nil {
					out <- id + " 1"
				}
				if s.Append(changes(status("ann", id, c, a2a.TaskStateWorking, n))) == nil {
					out <- id + " 2"
				}
				if s.Append(changes(artifact("ann", id, 0), status("ann", id, c, a2a.TaskStateCompleted, n))) == nil {
					out <- id + " 10"
				}
			}
		}()
	}
	for line := range out {
		fmt.Println(line)
	}
	return 0
}

func runChild(t *testing.T, role, path string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childRole+"="+role, childPath+"="+path)
	return cmd
}

// OP-03: a second process on the same file is refused and told by whom it is held.
func TestSecondProcess(t *testing.T) {
	s := open(t, Options{})
	out, err := runChild(t, "open", s.Path()).Output()
	if err == nil {
		t.Fatal("a second process opened the file")
	}
	for _, want := range []string{ErrLocked.Error(), fmt.Sprintf("pid %d since ", os.Getpid()), s.Path()} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	// Another name of the same file is the same file.
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(s.Path(), link); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Path: link}); !errors.Is(err, ErrLocked) {
		t.Errorf("through a link: %v", err)
	}
	closeStore(t, s)
	if out, err := runChild(t, "open", s.Path()).Output(); err != nil {
		t.Errorf("after closing: %v %s", err, out)
	}
}

// OP-02: what a killed process had acknowledged is there, no older than acknowledged.
func TestKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	cmd := runChild(t, "write", path)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acked := map[string]int64{}
	lines := bufio.NewScanner(pipe)
	for n := 0; lines.Scan(); n++ {
		var id string
		var code int64
		if _, err := fmt.Sscan(lines.Text(), &id, &code); err != nil {
			break // the line that was cut
		}
		acked[id] = max(acked[id], code)
		if n == 600 {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	if len(acked) < 64 {
		t.Fatalf("only %d tasks acknowledged", len(acked))
	}
	var said lineLog
	s := open(t, Options{Path: path, Progress: said.add})
	if !strings.Contains(said.String(), "after an unclean stop") {
		t.Errorf("no word of the check: %q", said.String())
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.SettleOrphans(t.Context(), failedDoc); err != nil {
		t.Fatal(err)
	}
	for id, code := range acked {
		r, err := s.For("ann").Get(t.Context(), id)
		if err != nil {
			t.Fatalf("%s was acknowledged: %v", id, err)
		}
		if !r.State.Terminal() || code == 10 && r.State != a2a.TaskStateCompleted || len(r.History) != 1 {
			t.Errorf("%s was acknowledged at %d and is %s", id, code, r.State)
		}
	}
	closeStore(t, s)
	said = lineLog{}
	open(t, Options{Path: path, Progress: said.add})
	if said.String() != "" {
		t.Errorf("a check after a clean stop: %q", said.String())
	}
}

type lineLog struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (l *lineLog) add(s string) { l.mu.Lock(); l.lines = append(l.lines, s); l.mu.Unlock() }

func (l *lineLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// ST-05: each thing that may be wrong with a file has its own refusal, and none is changed.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, b []byte) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	whole := func(name string, statements ...string) string {
		p := filepath.Join(dir, name)
		s := open(t, Options{Path: p})
		for i := range 200 {
			put(t, s, created("ann", fmt.Sprint("t", i), "c1", i), message("ann", fmt.Sprint("t", i), 0))
		}
		closeStore(t, s)
		if len(statements) > 0 {
			plain(t, p, statements...)
		}
		return p
	}
	foreign := filepath.Join(dir, "foreign.db")
	plain(t, foreign, otherProgram)
	truncated := whole("truncated.db")
	if err := os.Truncate(truncated, 20_000); err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(dir, "stray.db")
	file("stray.db-wal", []byte("pages of a lost file"))
	damaged := whole("damaged.db")
	b, _ := os.ReadFile(damaged)
	for i := 4096 * 4; i < 4096*6; i++ {
		b[i] ^= 0xff
	}
	file("damaged.db", b)
	file("damaged.db.lock", []byte("pid 1 since yesterday\n")) // not closed in order
	for _, c := range []struct {
		name, path, detail string
		kind               error
	}{
		{"memory", ":memory:", "kept in memory", ErrUnusable},
		{"no path", "", "a path", ErrUnusable},
		{"folder that is a file", filepath.Join(file("plain.txt", []byte("x")), "x.db"), "its folder", ErrUnusable},
		{"a folder", dir, "regular", ErrNotDatabase},
		{"text", file("text.db", []byte(strings.Repeat("hello ", 100))), "", ErrNotDatabase},
		{"short", file("short.db", []byte("SQLite")), "", ErrNotDatabase},
		{"another program's", foreign, "application id", ErrForeign},
		{"a newer release's", whole("newer.db", newerVersion), "version 99", ErrNewer},
		{"truncated", truncated, "bytes of", ErrCorrupt},
		{"damaged", damaged, "malformed", ErrCorrupt},
		{"a log without its file", stray, "stray.db-wal", ErrCorrupt},
	} {
		before, _ := os.ReadFile(c.path)
		s, err := Open(t.Context(), Options{Path: c.path})
		if err == nil {
			closeStore(t, s)
		}
		if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.detail) {
			t.Errorf("%s: %v", c.name, err)
		}
		if after, _ := os.ReadFile(c.path); !slices.Equal(before, after) {
			t.Errorf("%s: the file was changed", c.name)
		}
	}
}

// Folders are made, odd names work, and what is private stays so.
func TestNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b", "c%41?mode=memory#x", "täsks.db")
	s := open(t, Options{Path: path})
	put(t, s, created("ann", "t1", "c1", 0))
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if _, err := os.Stat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the draft is still there: %v", err)
	}
	closeStore(t, s)
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log is still there: %v", err)
	}
	// An empty file and the draft of a creation that was cut off are new files.
	empty := filepath.Join(t.TempDir(), "empty.db")
	for _, p := range []string{empty, empty + ".new"} {
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, Options{Path: empty})
}

// ST-05: a file of an older release is brought up, and its counters are right.
func TestOlderFile(t *testing.T) {
	statements := []string{oldPrincipal}
	n := 0
	for _, p := range []string{"ann", "bob"} {
		for c := range 3 {
			for _, state := range []int{2, 10, 10, 11, 12, 13} {
				n++
				if p == "bob" && state == 13 {
					continue
				}
				statements = append(statements, fmt.Sprintf(oldTask, p, n, c, state, n))
			}
		}
	}
	s := open(t, Options{Path: oldFile(t, statements...)})
	compareCounts(t, s, "ann", "bob")
	if p, err := s.For("ann").List(t.Context(), Filter{}); err != nil || p.Total != 18 {
		t.Errorf("%d tasks, %v", p.Total, err)
	}
	put(t, s, status("ann", "t1", "c0", a2a.TaskStateCompleted, 1))
	compareCounts(t, s, "ann", "bob")
}

func TestSettingsAreReadBack(t *testing.T) {
	for asked, want := range map[Synchronous]int64{0: 2, FULL: 2, NORMAL: 1} {
		s := open(t, Options{Synchronous: asked})
		if got := number(t, s, synchronous); got != want {
			t.Errorf("asked for %d: synchronous is %d", asked, got)
		}
		err := s.read(t.Context(), func(h *handle) error {
			_, err := h.ReleaseSession(t.Context(), "x")
			return err
		})
		if err == nil {
			t.Error("a reader wrote")
		}
		err = s.writer.submit(func(ctx context.Context, h *handle) error {
			return h.confirm(ctx, s.path, []setting{{"synchronous", 3 - want}})
		})
		if !errors.Is(err, ErrSettings) {
			t.Errorf("another value was not noticed: %v", err)
		}
	}
}

// Principals without running tasks cost settling a look each (100,000 of them took 1.5 s).
func TestManyPrincipals(t *testing.T) {
	s := open(t, Options{})
	fill(t, s, 20_000)
	put(t, s, created("p0010000", "t1", "c1", 0))
	began := time.Now()
	if n, err := s.SettleOrphans(t.Context(), failedDoc); err != nil || n != 1 {
		t.Errorf("%d settled, %v", n, err)
	}
	t.Logf("settling took %s", time.Since(began))
}

// TestSettledAfterTheClockWasSetBack: the time of a status never goes back, whatever the
// clock does between two runs.
func TestSettledAfterTheClockWasSetBack(t *testing.T) {
	s := open(t, Options{})
	ahead := time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC()
	c := created("ann", "t1", "c1", 0)
	c.At = ahead
	put(t, s, c)
	if n, err := s.SettleOrphans(t.Context(), failedDoc); err != nil || n != 1 {
		t.Fatalf("%d settled, %v", n, err)
	}
	r, err := s.For("ann").Get(t.Context(), "t1")
	if want := fmt.Sprintf("%q", ahead.Format(time.RFC3339Nano)); err != nil || !strings.Contains(string(r.Status), want) {
		t.Errorf("no %s in %s, %v", want, r.Status, err)
	}
}

func TestCheckFindsWhatIsMissing(t *testing.T) {
	s := open(t, Options{})
	if err := runTurn(s, "ann", "t1", "c1", 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	path := s.Path()
	closeStore(t, s)
	plain(t, path, removeParent) // without foreign keys, as other tools open it
	s = open(t, Options{Path: path})
	if err := s.Check(t.Context()); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "messages without its tasks") {
		t.Errorf("got %v", err)
	}
}
