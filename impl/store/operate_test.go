package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve/gen/a2a"
)

func silent(string) {}

// A copy made beside a process that goes on writing holds all that was acknowledged before,
// is whole, and is served like any other file.
func TestBackupBesideAWriter(t *testing.T) {
	dir := t.TempDir()
	path, dest := filepath.Join(dir, "tasks.db"), filepath.Join(dir, "copy.db")
	cmd := runChild(t, "write", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	var told []string
	for len(told) < 100 && lines.Scan() {
		if id, ok := strings.CutSuffix(lines.Text(), " 10"); ok {
			told = append(told, id)
		}
	}
	var during FileCensus
	go func() {
		for lines.Scan() { // keep the child writing
		}
	}()
	bytes, err := Backup(t.Context(), path, dest, silent)
	if err != nil {
		t.Fatal(err)
	}
	if during, err = Inspect(t.Context(), path, func(string, Census) {}); err != nil {
		t.Fatal(err)
	}
	if during.Tasks[a2a.TaskStateCompleted] < 100 || during.Principals != 1 || during.LogBytes == 0 {
		t.Errorf("beside the writer: %+v", during)
	}
	if st, err := os.Stat(dest); err != nil || st.Mode().Perm() != 0o600 || st.Size() != bytes {
		t.Errorf("the copy: %v %v, %d bytes were told", st, err, bytes)
	}
	s := open(t, Options{Path: dest})
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for _, id := range told {
		if r, err := s.For("ann").Get(t.Context(), id); err != nil || r.State != a2a.TaskStateCompleted || len(r.Artifacts) != 1 {
			t.Fatalf("%s in the copy: %+v %v", id, r, err)
		}
	}
	compareCounts(t, s, "ann")
}

// A refused backup leaves nothing behind, and never writes over a file.
func TestBackupRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tasks.db")
	s := open(t, Options{Path: path})
	if err := runTurn(s, "ann", "t1", "c1", 0); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	taken, foreign, damaged := filepath.Join(dir, "taken"), filepath.Join(dir, "foreign.db"), filepath.Join(dir, "damaged.db")
	if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain(t, foreign, otherProgram)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := 4096; page+4096 <= len(b); page += 4096 {
		b[page] ^= 0x5a
	}
	if err := os.WriteFile(damaged, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		name, from, to string
		want           error
	}{
		{"taken", path, taken, fs.ErrExist},
		{"itself", path, path, fs.ErrExist},
		{"missing", filepath.Join(dir, "none.db"), filepath.Join(dir, "a"), fs.ErrNotExist},
		{"foreign", foreign, filepath.Join(dir, "b"), ErrForeign},
		{"damaged", damaged, filepath.Join(dir, "c"), ErrCorrupt},
		{"no folder", path, filepath.Join(dir, "none", "d"), fs.ErrNotExist},
	} {
		if _, err := Backup(t.Context(), v.from, v.to, silent); !errors.Is(err, v.want) {
			t.Errorf("%s: got %v, want %v", v.name, err, v.want)
		}
	}
	if b, err := os.ReadFile(taken); err != nil || string(b) != "mine" {
		t.Errorf("the other file: %q %v", b, err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	// A stopped database is copied without being changed.
	if _, err := Backup(t.Context(), path, filepath.Join(dir, "good.db"), silent); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("the backup has left a log beside the database")
	}
	if _, err := Inspect(t.Context(), path, func(string, Census) {}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("counting has left a log beside the database")
	}
}

func TestInspect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := open(t, Options{Path: path})
	for i := range 5 {
		if err := runTurn(s, "ann", fmt.Sprint("t", i), fmt.Sprint("c", i%2), i); err != nil {
			t.Fatal(err)
		}
	}
	c := created("bob", "p1", "c0", 9)
	c.Session = "session-1"
	put(t, s, c)
	fill(t, s, 300) // more than a page of principals
	closeStore(t, s)
	parts := map[string]Census{}
	all, err := Inspect(t.Context(), path, func(p string, c Census) { parts[p] = c })
	if err != nil {
		t.Fatal(err)
	}
	if all.Total() != 6 || all.Tasks[a2a.TaskStateCompleted] != 5 || all.Tasks[a2a.TaskStateSubmitted] != 1 || all.Contexts != 3 || all.Principals != 302 {
		t.Errorf("got %+v", all)
	}
	if fmt.Sprint(all.Sessions) != "[session-1]" || all.Bytes == 0 || all.UsedBytes == 0 || all.UsedBytes > all.Bytes {
		t.Errorf("got %+v", all)
	}
	if parts["ann"].Total() != 5 || parts["ann"].Contexts != 2 || parts["bob"].Total() != 1 {
		t.Errorf("parts: %+v %+v", parts["ann"], parts["bob"])
	}
}

// Prune takes the finished tasks of a time, of one principal or of all, and no others.
func TestPrune(t *testing.T) {
	s := open(t, Options{})
	put(t, s, created("ann", "parked", "c0", 0))
	for i := range 150 { // more than one write takes
		for _, p := range []string{"ann", "bob"} {
			if err := runTurn(s, p, fmt.Sprint("t", i), fmt.Sprint("c", i%3), 10*i); err != nil {
				t.Fatal(err)
			}
		}
	}
	last := int64(-1)
	count := func(n int64) {
		if n <= last {
			t.Errorf("progress goes from %d to %d", last, n)
		}
		last = n
	}
	before := at(10 * 100)
	if n, err := s.Prune(t.Context(), "ann", before, true, count); n != 100 || err != nil || last != -1 {
		t.Errorf("dry: %d %v", n, err)
	}
	if n, err := s.Prune(t.Context(), "ann", before, false, count); n != 100 || err != nil || last != 100 {
		t.Errorf("one principal: %d %v, progress %d", n, err, last)
	}
	if n, err := s.Prune(t.Context(), "", before, false, func(int64) {}); n != 100 || err != nil {
		t.Errorf("all principals: %d %v", n, err)
	}
	if n, err := s.Prune(t.Context(), "", at(1e6), false, func(int64) {}); n != 100 || err != nil {
		t.Errorf("the rest: %d %v", n, err)
	}
	if got := ids(list(t, s, "ann", Filter{})); got != "parked" {
		t.Errorf("ann keeps %q", got)
	}
	compareCounts(t, s, "ann", "bob")
}

// Forget leaves nothing of a principal, in no table and, once compacted, nowhere in the file;
// another's rows are as they were.
func TestForget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := open(t, Options{Path: path})
	const secret = "ann-only-words"
	for _, p := range []string{"ann", "bob"} {
		c := created(p, "t0", "c0", 0)
		c.Session = "session of " + p
		m := message(p, "t0", 0)
		if p == "ann" {
			m.Doc = []byte(`{"text":"` + strings.Repeat(secret, 500) + `"}`)
		}
		put(t, s, c, m)
		if err := runTurn(s, p, "t1", "c1", 10); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.Forget(t.Context(), "ann", func(int64) {}); !errors.Is(err, ErrUnfinished) {
		t.Errorf("with a running task: %v", err)
	}
	if _, err := s.SettleOrphans(t.Context(), failedDoc); err != nil {
		t.Fatal(err)
	}
	others := rowsOf(t, s, "bob")
	n, known, err := s.Forget(t.Context(), "ann", func(int64) {})
	if err != nil || n != 1 || !known {
		t.Errorf("got %d %v %v", n, known, err)
	}
	if rows := rowsOf(t, s, "ann"); rows != "" {
		t.Errorf("left of ann:\n%s", rows)
	}
	if rows := rowsOf(t, s, "bob"); rows != others {
		t.Errorf("bob had\n%s, and has\n%s", others, rows)
	}
	if _, known, err := s.Forget(t.Context(), "nobody", func(int64) {}); known || err != nil {
		t.Errorf("nobody: %v %v", known, err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(changes(created("bob", "t9", "c", 1))); !errors.Is(err, ErrClosed) {
		t.Errorf("writing after Compact: %v", err)
	}
	closeStore(t, s)
	for _, f := range []string{path, path + "-wal"} {
		b, err := os.ReadFile(f)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("%s still holds what was deleted", f)
		}
	}
	if r, err := open(t, Options{Path: path}).For("bob").Get(t.Context(), "t1"); err != nil || r.State != a2a.TaskStateCompleted {
		t.Errorf("bob's task afterwards: %+v %v", r, err)
	}
}

func rowsOf(t *testing.T, s *Store, principal string) (rows string) {
	t.Helper()
	if err := s.read(t.Context(), func(h *handle) error { rows = dump(t, h, principal); return nil }); err != nil {
		t.Fatal(err)
	}
	return rows
}
