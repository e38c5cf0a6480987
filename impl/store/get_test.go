package store

import (
	"sync"
	"testing"
)

// Whoever reads a task sees all of a write or none of it: its parts are in several tables.
func TestATaskIsReadInOneState(t *testing.T) {
	s := open(t, Options{})
	put(t, s, created("ann", "t1", "c1", 0))
	const writes = 200
	var wait sync.WaitGroup
	defer wait.Wait()
	wait.Go(func() {
		for i := range writes {
			if err := s.Append(changes(message("ann", "t1", i), artifact("ann", "t1", i))); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for !t.Failed() {
		rec, err := s.For("ann").Get(t.Context(), "t1")
		if err != nil {
			t.Fatal(err)
		}
		if m, a := len(rec.History), len(rec.Artifacts); m != a {
			t.Fatalf("%d messages and %d artifacts", m, a)
		} else if m == writes {
			return
		}
	}
}
