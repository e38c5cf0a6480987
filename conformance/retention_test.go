package conformance

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"a2aserve/conformance/vector"

	"golang.org/x/sync/errgroup"
)

// ST-02: after some thousand short tasks, a third of them streamed and some left halfway,
// memory and goroutines are back near where they were, and the store holds what retention
// allows.
func TestMemoryComesBack(t *testing.T) {
	const workers, each, kept = 64, 22, 5
	target := serve(t, tokens+fmt.Sprintf("tasks: {max_per_context: %d, input_timeout: 20ms}\n", kept))
	load := func(rounds int) {
		var g errgroup.Group
		for w := range workers {
			g.Go(func() error { return worker(t.Context(), target, w, rounds) })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		target.Client.CloseIdleConnections()
	}
	load(4) // what is made once is made: connections' buffers, compiled schemas, page caches
	idle := settled(0)
	load(each)
	after := settled(idle.goroutines + 20)
	if after.goroutines > idle.goroutines+20 {
		t.Errorf("%d goroutines before, %d after", idle.goroutines, after.goroutines)
	}
	if after.heap > idle.heap+16<<20 {
		t.Errorf("%d KiB of heap before, %d KiB after", idle.heap>>10, after.heap>>10)
	}
	if total := list(t, target, vector.REST, `{"pageSize":1}`).Total; total > 2*workers*kept { // two contexts a worker
		t.Errorf("%d tasks are kept", total)
	}
}

// worker runs tasks one after another in a context of its own.
func worker(ctx context.Context, target *vector.Target, w, rounds int) error {
	in := fmt.Sprintf(`"contextId":"soak-%d"`, w)
	for i := range rounds {
		b := bindings[i%2]
		var err error
		switch {
		case i%3 == 0:
			err = streamed(ctx, target, b, say("chunks 3", in), i%9 == 0)
		case i%10 == 4: // parked and abandoned: input_timeout ends it
			err = streamed(ctx, target, b, say("ask Colour?", in), false)
		case i%10 == 7: // the client gives up waiting
			short, cancel := context.WithTimeout(ctx, time.Millisecond)
			_, err = target.Call(short, b, "SendMessage", "alice", say("slow 5 hi", fmt.Sprintf(`"contextId":"soak-%d-left"`, w)))
			cancel()
			if short.Err() != nil && ctx.Err() == nil {
				err = nil
			}
		default:
			_, err = target.Call(ctx, b, "SendMessage", "alice", say("echo hi", in))
		}
		// A client that left may find its task still running.
		if r, ok := errors.AsType[*vector.Refusal](err); ok && r.Detail == "TASK_ALREADY_IN_FLIGHT" {
			continue
		}
		if err != nil {
			return fmt.Errorf("worker %d, round %d: %w", w, i, err)
		}
	}
	return nil
}

// streamed follows a task to its end, or only to its first frame.
func streamed(ctx context.Context, target *vector.Target, b vector.Binding, params string, leave bool) error {
	s, err := target.Open(ctx, b, "SendStreamingMessage", "alice", params)
	if err != nil {
		return err
	}
	defer s.Close()
	if leave {
		_, err := s.Next()
		return err
	}
	_, err = s.All()
	return err
}

type footprint struct {
	goroutines int
	heap       uint64
}

// settled waits until there are no more than n goroutines, or, without n, until their
// number stands still, and measures.
func settled(n int) footprint {
	last, still := runtime.NumGoroutine(), 0
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		now := runtime.NumGoroutine()
		if now == last {
			still++
		} else {
			still = 0
		}
		last = now
		if n > 0 && now <= n || n == 0 && still > 10 {
			break
		}
	}
	runtime.GC()
	runtime.GC() // the second one frees what sync.Pool kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{runtime.NumGoroutine(), m.HeapAlloc}
}

// Retention for finished tasks and for abandoned ones: those that nobody answers fail
// after tasks.input_timeout and can go then; one that waits is never evicted, and counts.
func TestRetention(t *testing.T) {
	target := serve(t, tokens+"tasks: {max_per_context: 2, input_timeout: 300ms}\n")
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		in := `"contextId":"kept-` + string(b) + `"`
		first := send(t, target, b, say("echo 1", in)).ID
		parked := send(t, target, b, say("ask Colour?", in)).ID
		if got := get(t, target, b, parked); got.Status.State != "TASK_STATE_INPUT_REQUIRED" {
			t.Fatalf("%+v", got)
		}
		for !get(t, target, b, parked).terminal() {
			time.Sleep(5 * time.Millisecond)
		}
		second := send(t, target, b, say("echo 2", in)).ID // evicts the first
		if got := list(t, target, b, `{`+in+`}`); got.Total != 2 || got.Tasks[0].ID != second || got.Tasks[1].ID != parked {
			t.Errorf("kept: %+v", got)
		}
		send(t, target, b, say("echo 3", in)) // evicts the abandoned one
		for _, id := range []string{first, parked} {
			_, err := target.Call(t.Context(), b, "GetTask", "alice", `{"id":"`+id+`"}`)
			if r := refused(t, err); r.Reason != "TASK_NOT_FOUND" {
				t.Errorf("%+v", r)
			}
		}
	})
}

// Retention holds on open, too: a cap that was lowered, and a lifetime that has passed.
func TestRetentionOnOpen(t *testing.T) {
	db := filepath.Join(t.TempDir(), "tasks.db")
	target, stop := start(t, db, tokens)
	for i := range 12 {
		send(t, target, vector.REST, say("echo hi", fmt.Sprintf(`"contextId":"open-%d"`, i%2)))
	}
	stop()
	for _, c := range []struct {
		tasks string
		want  int
	}{{"max_per_context: 4", 8}, {"max_per_principal: 3", 3}, {"ttl: 1ms", 0}} {
		total := -1
		target, stop := start(t, db, tokens+"tasks: {"+c.tasks+"}\n")
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			if total = list(t, target, vector.REST, `{"pageSize":1}`).Total; total == c.want {
				break
			}
		}
		if total != c.want {
			t.Errorf("%s: %d tasks are left", c.tasks, total)
		}
		stop()
	}
}
