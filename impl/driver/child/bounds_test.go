//go:build unix

package child

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

// endless is a line of so many bytes that nobody holds.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range n {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

// Of a line of 1 GiB no more than the bound is read.
func TestEndlessLine(t *testing.T) {
	const bound = 1 << 20
	e := &endless{left: 1 << 30}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readLine(bufio.NewReaderSize(e, chunkBytes), bound)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, errTooLong) {
		t.Fatal(err)
	}
	if took := 1<<30 - e.left; took > bound+2*chunkBytes {
		t.Errorf("%d bytes were read", took)
	}
	// All allocations together, what has been given back included: a slice grows by copying.
	if took := after.TotalAlloc - before.TotalAlloc; took > 8*bound {
		t.Errorf("%d bytes were allocated", took)
	}
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("y", 3*chunkBytes)
	r := bufio.NewReaderSize(strings.NewReader("a\n\n"+long+"\nlast"), chunkBytes)
	for _, want := range []string{"a\n", "\n", long + "\n", "last"} {
		if got, err := readLine(r, 1<<20); err != nil || string(got) != want {
			t.Errorf("%.10q %v, want %.10q", got, err, want)
		}
	}
	if _, err := readLine(r, 1<<20); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// An agent that says more than the store takes has to wait: what it says is not heaped up.
func TestFloodWaits(t *testing.T) {
	b, _, _ := script(t, greeting, Options{}, turn.Options{CancelGrace: 50 * time.Millisecond, Artifacts: turn.Artifacts{MaxAnswerBytes: 1 << 16}})
	s := b.Send(lines("c", "!start", "!deltas"))
	var most uint64
	over := make(chan struct{})
	go func() { _, _ = s.Await(t.Context()); close(over) }()
	for done := false; !done; {
		select {
		case <-over:
			done = true
		case <-time.After(10 * time.Millisecond):
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	}
	if task := b.Await(s); task.Status.State != a2a.TaskStateFailed {
		t.Errorf("%s", task.Status.State)
	}
	if most > 256<<20 {
		t.Errorf("%d MiB", most>>20)
	}
	works(t, b, lines("c", "!hello"), "")
}

// 50 contexts at once have an agent each, which knows only what it was told itself, and is
// the same in the second turn.
func TestIsolation(t *testing.T) {
	b, _, _ := script(t, greeting, Options{}, turn.Options{})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			in := lines(fmt.Sprint("context ", i%25)) // two callers use the same names
			in.Principal = []string{"alice", "bob"}[i/25]
			var told []string
			for turn := range 3 {
				word := fmt.Sprintf("%d-%d", i, turn)
				told = append(told, word)
				text := "!recall " + word
				in.Message.Parts = []a2a.Part{{Text: &text}}
				s, err := b.Engine.Send(t.Context(), in)
				if err != nil {
					t.Error(err)
					return
				}
				rec, err := s.Await(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if got := drivertest.Answered(b.Decode(rec)); got != strings.Join(told, ",") {
					t.Errorf("context %d: %q", i, got)
				}
			}
		})
	}
	wg.Wait()
}
