package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/a2a"
)

// What is told of the writer adds up: every write, every task that went, and nothing of a
// job that was undone.
func TestObserver(t *testing.T) {
	var mu sync.Mutex
	var writes int
	var evicted int64
	s := open(t, Options{MaxPerContext: 3, Observe: Observer{
		Committed: func(n int, took time.Duration, err error) {
			mu.Lock()
			defer mu.Unlock()
			writes += n
			if n < 1 || took <= 0 || err != nil {
				t.Errorf("a group of %d took %s: %v", n, took, err)
			}
		},
		Evicted: func(n int64) {
			mu.Lock()
			defer mu.Unlock()
			evicted += n
		},
	}})
	for i := range 10 {
		id := fmt.Sprint("t", i)
		if err := errors.Join(s.Append(changes(created("ann", id, "c", i))), s.Append(changes(status("ann", id, "c", a2a.TaskStateCompleted, i)))); err != nil {
			t.Fatal(err)
		}
	}
	undone := errors.New("undone")
	err := s.writer.submit(func(ctx context.Context, h *handle) error {
		return errors.Join(s.evict(ctx, s.writer.account(h, "ann"), []string{"t9"}), undone)
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	if err := s.Append(changes(created("ann", "last", "c", 11))); err != nil {
		t.Fatal(err)
	}
	page, err := s.For("ann").List(t.Context(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if left := int64(page.Total); writes != 22 || evicted != 11-left || evicted == 0 {
		t.Errorf("%d writes and %d evictions were told of; %d of 11 tasks are left", writes, evicted, left)
	}
	st := s.Stats()
	f, err := os.Stat(s.Path())
	if err != nil || st.Queued != 0 || st.Bytes < f.Size() {
		t.Errorf("%+v for a file of %d bytes (%v)", st, f.Size(), err)
	}
}
