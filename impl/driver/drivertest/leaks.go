package drivertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// belongings are what this process holds at a moment.
type belongings struct {
	goroutines  goleak.Option // those that are there
	descriptors int
}

// proc says whether the system tells about processes and descriptors.
var proc = func() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}()

// count takes stock. It waits for the processes of the turns before.
func count(t *testing.T) *belongings {
	if !proc {
		t.Log("this system has no /proc: processes and file descriptors are not counted")
	}
	now := &belongings{goroutines: goleak.IgnoreCurrent(), descriptors: len(descriptors())}
	for end := time.Now().Add(time.Minute); len(children()) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("a process outlives its driver: %v", children())
		}
	}
	return now
}

// nothingIsLeft compares with what there was. What is on its way out has a moment.
func (b *belongings) nothingIsLeft(t *testing.T) {
	t.Helper()
	if err := goleak.Find(b.goroutines); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		processes, open := children(), descriptors()
		if len(processes) == 0 && len(open) <= b.descriptors {
			return
		}
		if time.Now().After(end) {
			t.Errorf("left behind: processes %q, %d file descriptors in place of %d: %q", processes, len(open), b.descriptors, open)
			return
		}
	}
}

// children are the processes that this one has started, those that nobody waits for too.
func children() (out []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // gone meanwhile
		}
		// The command's name, in parentheses, may hold anything.
		fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			out = append(out, string(stat[:strings.LastIndex(string(stat), ")")+1]))
		}
	}
	return out
}

// descriptors are this process's open files.
func descriptors() (out []string) {
	const folder = "/proc/self/fd"
	list, _ := os.ReadDir(folder)
	for _, e := range list {
		to, err := os.Readlink(filepath.Join(folder, e.Name()))
		if err != nil { // the folder itself, as it was read
			continue
		}
		out = append(out, fmt.Sprint(e.Name(), " ", to))
	}
	return out
}
