//go:build unix

package conformance

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"a2aserve/conformance/vector"

	"golang.org/x/sync/errgroup"
)

// A spawned server gives back on SIGUSR2 what memory it does not use, so that what is left is in use.
func init() {
	if os.Getenv(childEnv) == "" {
		return
	}
	trim := make(chan os.Signal, 1)
	signal.Notify(trim, syscall.SIGUSR2)
	go func() {
		for range trim {
			debug.FreeOSMemory()
			debug.FreeOSMemory() // what finalizers have freed
		}
	}()
}

// gauged is a spawned server whose size can be read.
type gauged struct {
	*vector.Target
	cmd       *exec.Cmd
	db, admin string
}

func gauge(t *testing.T, yaml string) *gauged {
	t.Helper()
	g := &gauged{db: filepath.Join(t.TempDir(), "tasks.db"), admin: freeAddress(t)}
	g.Target, g.cmd = child(t, g.db, tokens+yaml+fmt.Sprintf("admin: {bind: %q}\n", g.admin))
	return g
}

// size is what a server takes. Memory is what the heap and the stacks hold, in bytes; of the
// file and its log it is what is on disk.
type size struct{ goroutines, files, memory, resident, disk int }

func (g *gauged) size(t *testing.T) size {
	t.Helper()
	if err := g.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Duration(scaled(100, 500)) * time.Millisecond)
	res, err := http.Get("http://" + g.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	read := map[string]int{}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok {
			n, _ := strconv.ParseFloat(value, 64)
			read[name] = int(n)
		}
	}
	return size{read["go_goroutines"], read["process_open_fds"],
		read["go_memstats_heap_inuse_bytes"] + read["go_memstats_stack_inuse_bytes"], read["process_resident_memory_bytes"], g.disk()}
}

func (g *gauged) disk() (n int) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(g.db + suffix); err == nil {
			n += int(info.Size())
		}
	}
	return n
}

// A day in which a task comes every second, with all lifetimes and the time between tasks
// made shorter: once the first hours have set the level, goroutines, descriptors, memory and
// the file are in the end what they were.
func TestDayShortened(t *testing.T) {
	const workers, hours = 16, 24
	each := scaled(6, 24*60*60/hours/workers) // of a worker in an hour
	ttl := time.Duration(scaled(300, 1000)) * time.Millisecond
	g := gauge(t, fmt.Sprintf("tasks: {ttl: %s, input_timeout: 50ms, max_per_context: 50}\nlimits: {idle_timeout: 500ms}\n", ttl))
	hour := func() size {
		var all errgroup.Group
		for w := range workers {
			all.Go(func() error { return worker(t.Context(), g.Target, w, each) })
		}
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
		g.Client.CloseIdleConnections()
		time.Sleep(ttl + ttl/5) // all of it expires; what comes next clears it away
		for range scaled(2, 4) * workers {
			send(t, g.Target, vector.REST, say("echo hi"))
		}
		g.Client.CloseIdleConnections()
		time.Sleep(100 * time.Millisecond)
		return g.size(t)
	}
	var level, last size
	for h := range scaled(4, hours) {
		if last = hour(); h < 2 || h == 2 && torturing() {
			level = size{last.goroutines, last.files, max(level.memory, last.memory), max(level.resident, last.resident), max(level.disk, last.disk)}
		}
		if torturing() {
			t.Logf("hour %d: %+v", h+1, last)
		}
	}
	if last.goroutines > level.goroutines+4 || last.files > level.files+2 || last.memory > level.memory+level.memory/10+1<<20 || last.disk > level.disk+level.disk/10+1<<20 {
		t.Errorf("in the end %+v, after the first hours %+v", last, level)
	}
	if n := list(t, g.Target, vector.REST, `{"pageSize":1}`).Total; n > workers*2*50 {
		t.Errorf("%d tasks are kept", n)
	}
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Wait(); err != nil {
		t.Error(err)
	}
	intact(t, g.db)
}
