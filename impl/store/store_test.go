package store

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/turn"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, opts Options) *Store {
	t.Helper()
	if opts.Path == "" {
		opts.Path = filepath.Join(t.TempDir(), "tasks.db")
	}
	s, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// epoch is a fixed time that tests count from.
var epoch = time.UnixMilli(1_750_000_000_000).UTC()

func at(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

func created(p, id, c string, ms int) turn.Change {
	return turn.Change{Kind: turn.TaskCreated, Principal: p, Task: id, Context: c, State: a2a.TaskStateSubmitted, At: at(ms), Doc: doc("status", id, "submitted")}
}

func status(p, id, c string, s a2a.TaskState, ms int) turn.Change {
	return turn.Change{Kind: turn.StatusChanged, Principal: p, Task: id, Context: c, State: s, At: at(ms), Doc: doc("status", id, string(s))}
}

func message(p, id string, seq int) turn.Change {
	return turn.Change{Kind: turn.MessageAdded, Principal: p, Task: id, Seq: seq, Doc: doc("message", id, fmt.Sprint(seq))}
}

func artifact(p, id string, seq int) turn.Change {
	return turn.Change{Kind: turn.ArtifactAdded, Principal: p, Task: id, Seq: seq, ArtifactID: "answer", Append: seq > 0, Doc: doc("artifact", id, fmt.Sprint(seq))}
}

func doc(kind, id, what string) []byte { return fmt.Appendf(nil, `{%q:%q}`, kind, id+" "+what) }

func put(t testing.TB, s *Store, changes ...turn.Change) {
	t.Helper()
	if err := s.Append(changes); err != nil {
		t.Fatal(err)
	}
}

func TestTurn(t *testing.T) {
	s := open(t, Options{})
	put(t, s, created("ann", "t1", "c1", 0), message("ann", "t1", 0))
	put(t, s, status("ann", "t1", "c1", a2a.TaskStateWorking, 1))
	put(t, s, artifact("ann", "t1", 0))
	put(t, s, status("ann", "t1", "c1", a2a.TaskStateCompleted, 2))
	r, err := s.For("ann").Get(t.Context(), "t1")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	p, err := s.For("ann").List(t.Context(), Filter{})
	if err != nil || p.Total != 1 || len(p.Tasks) != 1 {
		t.Fatalf("%+v %v", p, err)
	}
}
