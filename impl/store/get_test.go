package store

import (
	"fmt"
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

// An answer that came in chunks is read back in their order, each as the continuation that
// it is, and so are the messages.
func TestChunksAreReadBackInOrder(t *testing.T) {
	s := open(t, Options{})
	put(t, s, created("ann", "t1", "c1", 0))
	const many = 12
	for i := range many {
		put(t, s, artifact("ann", "t1", i), message("ann", "t1", i))
	}
	rec, err := s.For("ann").Get(t.Context(), "t1")
	if err != nil || len(rec.Artifacts) != many || len(rec.History) != many {
		t.Fatalf("%+v, %v", rec, err)
	}
	for i, a := range rec.Artifacts {
		if a.ID != "answer" || a.Append != (i > 0) || string(a.JSON) != string(doc("artifact", "ann", "t1", fmt.Sprint(i))) {
			t.Errorf("chunk %d: %s, continued: %v, %s", i, a.ID, a.Append, a.JSON)
		}
		if m := rec.History[i]; string(m) != string(doc("message", "ann", "t1", fmt.Sprint(i))) {
			t.Errorf("message %d: %s", i, m)
		}
	}
}
