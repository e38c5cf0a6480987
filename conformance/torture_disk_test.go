//go:build unix

package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"a2aserve/conformance/vector"
)

// roomEnv bounds, in bytes, each file that a spawned server writes; SIGUSR1 takes the bound away.
const roomEnv = "A2ASERVE_CONFORMANCE_ROOM"

func init() {
	room, err := strconv.ParseUint(os.Getenv(roomEnv), 10, 63)
	if err != nil {
		return
	}
	var limit syscall.Rlimit
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the bound fails instead
	must(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	limit.Cur = room
	must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	more := make(chan os.Signal, 1)
	signal.Notify(more, syscall.SIGUSR1)
	go func() {
		<-more
		limit.Cur = limit.Max
		must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	}()
}

// disk is a place for a database that can be full.
type disk struct {
	dir  string
	env  []string
	room func(t *testing.T, cmd *exec.Cmd) // makes more, while cmd uses it
}

// bounded is a disk that is full once a file has some MB.
func bounded(t *testing.T) disk {
	return disk{dir: t.TempDir(), env: []string{roomEnv + "=3000000"}, room: func(t *testing.T, cmd *exec.Cmd) {
		if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
	}}
}

// small is a file system of a few MB. Only root can mount one; the other kind of disk needs no rights.
func small(t *testing.T) disk {
	dir := t.TempDir()
	mount := func(options string) ([]byte, error) {
		return exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput()
	}
	if out, err := mount("size=4m"); err != nil {
		t.Skipf("no file system can be mounted here: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v %s", err, out)
		}
	})
	return disk{dir: dir, room: func(t *testing.T, _ *exec.Cmd) {
		if out, err := mount("remount,size=64m"); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}}
}

// On a full disk nothing is acknowledged that is not stored: whoever sends is refused
// with an error of the protocol, what was stored can be read, and a server that is killed and
// started meanwhile loses nothing. Once there is room, the same process goes on.
func TestFullDisk(t *testing.T) {
	kinds := map[string]func(*testing.T) disk{"bounded": bounded}
	if torturing() {
		kinds["small"] = small
	}
	for name, make := range kinds {
		t.Run(name, func(t *testing.T) {
			d := make(t)
			db := filepath.Join(d.dir, "tasks.db")
			config := configFile(t, db, tokens)
			target, cmd := await(t, spawn(t, config, d.env...))
			all := filled(t, target, "first")
			readAll(t, target, all, false)
			walk(t, target, "")
			d.room(t, cmd)
			roomy(t, target)
			for _, w := range all {
				for rank[w.state] < 3 && !t.Failed() { // FAILED is stored late, but is
					readAll(t, target, []*witness{w}, false)
				}
			}
			kill(cmd)

			d = make(t) // again, and killed while there is no room
			db = filepath.Join(d.dir, "tasks.db")
			config = configFile(t, db, tokens)
			target, cmd = await(t, spawn(t, config, d.env...))
			all = filled(t, target, "second")
			kill(cmd)
			said, err := starts(t, spawnSilent(t, config, d.env...))
			if err != nil && !strings.Contains(said, db) {
				t.Errorf("on a full disk the start ends with %v and does not name the file: %s", err, said)
			}
			if name == "small" {
				d.room(t, nil)
			}
			target, cmd = await(t, spawn(t, config))
			readAll(t, target, all, true)
			nothingRuns(t, target)
			walk(t, target, "")
			roomy(t, target)
			kill(cmd)
			intact(t, db)
		})
	}
}

// filled sends until the disk is full, and a while longer.
func filled(t *testing.T, target *vector.Target, prefix string) (all []*witness) {
	t.Helper()
	var mu sync.Mutex // guards all
	var refusals atomic.Int32
	var g sync.WaitGroup
	for i := range 4 {
		g.Go(func() {
			for n := 0; refusals.Load() < 40 && n < 2000; n++ {
				b := bindings[n%2]
				w := &witness{}
				var err error
				params := say("flood 24", fmt.Sprintf(`"contextId":"%s-%d-%d"`, prefix, i, n))
				if n%3 == 0 {
					var s *vector.Stream
					if s, err = target.Open(t.Context(), b, "SendStreamingMessage", "alice", params); err == nil {
						err = w.follow(s, 0)
					}
				} else {
					var got sent
					if got, err = parseAs[sent](target.Call(t.Context(), b, "SendMessage", "alice", params)); err == nil {
						err = lies(w.whole(got.Task))
					}
				}
				if w.id != "" {
					mu.Lock()
					all = append(all, w)
					mu.Unlock()
				}
				if unstored(t, err) {
					refusals.Add(1)
				}
			}
		})
	}
	g.Wait()
	if refusals.Load() < 40 || len(all) < 5 {
		t.Fatalf("%d refusals, %d tasks: the disk was never full", refusals.Load(), len(all))
	}
	return all
}

// unstored reports whether an error says that nothing could be stored. A stream may end
// without its last frame; any other error is a mistake.
func unstored(t *testing.T, err error) bool {
	if r, ok := errors.AsType[*vector.Refusal](err); ok {
		if r.HTTP != 503 && r.HTTP != 500 && r.Code != -32603 || !strings.Contains(string(r.Body), `"error"`) || strings.Contains(string(r.Body), "disk") {
			t.Errorf("refused with %d %s", r.HTTP, r.Body)
		}
		return true
	}
	if err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	return err != nil
}

// roomy waits until messages are taken again.
func roomy(t *testing.T, target *vector.Target) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got, err := parseAs[sent](target.Call(t.Context(), vector.REST, "SendMessage", "alice", say("echo room")))
		if err == nil && got.Task.text() == "room" {
			return
		}
		if err == nil || time.Now().After(deadline) {
			t.Fatalf("with room again: %+v %v", got, err)
		}
	}
}

// spawnSilent starts a server whose errors are read, not shown.
func spawnSilent(t *testing.T, config string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+config), env...)
	return cmd
}

// starts runs a server until it listens or ends, and returns what it said.
func starts(t *testing.T, cmd *exec.Cmd) (string, error) {
	t.Helper()
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if n, _ := out.Read(make([]byte, 100)); n > 0 {
		kill(cmd)
		return "", nil
	}
	err = cmd.Wait()
	return said.String(), err
}

// A file that cannot be written is not served: the start says which and why, and leaves it as it was.
func TestReadOnlyDisk(t *testing.T) {
	dir, lock, unlock := forbidden(t)
	db := filepath.Join(dir, "tasks.db")
	config := configFile(t, db, tokens)
	target, cmd := await(t, spawn(t, config))
	w := &witness{}
	if err := w.whole(send(t, target, vector.REST, say("echo kept"))); err != nil {
		t.Fatal(err)
	}
	kill(cmd)
	lock()
	said, err := starts(t, spawnSilent(t, config))
	if err == nil || !strings.Contains(said, db) || !strings.Contains(said, "read-only") && !strings.Contains(said, "permission denied") {
		t.Errorf("where nothing can be written the start ends with %v and says %q", err, said)
	}
	unlock()
	target, _ = await(t, spawn(t, config))
	if err := w.read(t, target, true); err != nil {
		t.Error(err)
	}
}

// forbidden is a folder in which writing can be forbidden. Rights do not stop root; a file
// system that is mounted read-only does.
func forbidden(t *testing.T) (dir string, lock, unlock func()) {
	if os.Geteuid() == 0 {
		d := small(t)
		remount := func(how string) {
			if out, err := exec.Command("mount", "-o", "remount,"+how, d.dir).CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
		}
		return d.dir, func() { remount("ro") }, func() { remount("rw") }
	}
	dir = t.TempDir()
	change := func(folder, file os.FileMode) {
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, f := range files {
			if err := os.Chmod(f, file); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, folder); err != nil {
			t.Fatal(err)
		}
	}
	return dir, func() { change(0o500, 0o400) }, func() { change(0o700, 0o600) }
}

// A disk on which writes take long delays whoever waits for one and nobody else; one that
// takes longer than SQLite waits is a failing disk, until it is not any more. It is played by
// holding the lock that a write of the log needs.
func TestSlowDisk(t *testing.T) {
	db := filepath.Join(t.TempDir(), "tasks.db")
	const keepsAll = "tasks: {max_per_context: 100000}\n"
	target, cmd := child(t, db, tokens+keepsAll)
	known := send(t, target, vector.REST, say("echo known"))
	shm, err := os.OpenFile(db+"-shm", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer shm.Close()
	const writeLock = 120 // the byte of the -shm file (SQLite's WAL-index format)
	lock := func(kind int16) error {
		return syscall.FcntlFlock(shm.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: kind, Start: writeLock, Len: 1})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var g sync.WaitGroup
	talks := make([]*talk, 8)
	var patient atomic.Bool
	patient.Store(true)
	for i := range talks {
		talks[i] = &talk{target: target, context: fmt.Sprintf("slow-%d", i)}
		g.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				err := talks[i].turn(ctx, n)
				if _, wrong := errors.AsType[*lie](err); wrong || err != nil && ctx.Err() == nil && patient.Load() {
					t.Error(err)
				}
			}
		})
	}
	stall := func(d time.Duration) {
		for lock(syscall.F_WRLCK) != nil { // while a write holds it
			time.Sleep(time.Millisecond)
		}
		for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(d / 20) {
			if got := get(t, target, vector.REST, known.ID); got.text() != "known" { // reading goes on
				t.Errorf("%+v", got)
			}
		}
		if err := lock(syscall.F_UNLCK); err != nil {
			t.Error(err)
		}
	}
	for range scaled(4, 40) {
		stall(200 * time.Millisecond)
		pause(50 * time.Millisecond)
	}
	if torturing() { // longer than the store waits
		patient.Store(false)
		stall(12 * time.Second)
		time.Sleep(6 * time.Second) // the longest pause before FAILED is tried again
		patient.Store(true)
	}
	pause(100 * time.Millisecond)
	cancel()
	g.Wait()
	kill(cmd)
	target, _ = child(t, db, tokens+keepsAll)
	for _, c := range talks {
		readAll(t, target, c.tasks, true)
		c.check(t, target)
	}
}
