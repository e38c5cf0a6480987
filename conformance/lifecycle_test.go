package conformance

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"a2aserve/conformance/vector"

	"golang.org/x/sync/errgroup"
)

// LR-01: whoever was handed a task finds it at once, on another connection.
func TestVisibleTaskIsStored(t *testing.T) {
	target := serve(t, tokens)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		ctx := t.Context()
		for i := range 150 {
			id := ""
			if i%2 == 0 {
				id = send(t, target, b, say("slow 1 hi", "", now)).ID
			} else {
				s, err := target.Open(ctx, b, "SendStreamingMessage", "alice", say("slow 1 hi"))
				if err != nil {
					t.Fatal(err)
				}
				f, err := parseAs[frame](s.Next())
				if err != nil || f.Task == nil {
					t.Fatalf("the first frame is no task: %v", err)
				}
				id = f.Task.ID
				defer s.Close()
			}
			var g errgroup.Group
			g.Go(func() error {
				_, err := target.Call(ctx, b, "GetTask", "alice", `{"id":"`+id+`"}`)
				return err
			})
			g.Go(func() error {
				page, err := target.Call(ctx, b, "ListTasks", "alice", `{"pageSize":100}`)
				if err == nil && !strings.Contains(string(page), id) {
					return fmt.Errorf("round %d: the task is not listed", i)
				}
				return err
			})
			g.Go(func() error {
				_, err := target.Call(ctx, b, "CancelTask", "alice", `{"id":"`+id+`"}`)
				if r, ok := err.(*vector.Refusal); ok && r.Reason == "TASK_NOT_CANCELABLE" {
					return nil
				}
				return err
			})
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// LR-09: what was returned is a snapshot; every body is one consistent state.
func TestSnapshotsAreConsistent(t *testing.T) {
	target := serve(t, tokens)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		var g errgroup.Group
		g.SetLimit(8)
		for i := range 200 {
			g.Go(func() error {
				got, err := parseAs[sent](target.Call(t.Context(), b, "SendMessage", "alice", say("chunks 3 0 x", `"contextId":"snap-`+string(b)+fmt.Sprint(i)+`"`, now)))
				if err != nil {
					return err
				}
				for {
					seen, err := parseAs[task](target.Call(t.Context(), b, "GetTask", "alice", `{"id":"`+got.Task.ID+`"}`))
					if err != nil {
						return err
					}
					if seen.Status.State == "TASK_STATE_COMPLETED" {
						if !regexp.MustCompile(`1.*x.*2.*x.*3.*x`).MatchString(seen.text()) {
							return fmt.Errorf("completed with %q", seen.text())
						}
						return nil
					}
					if seen.terminal() {
						return fmt.Errorf("ended as %s", seen.Status.State)
					}
				}
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	})
}

// LR-13: the stored text is the streamed text, nothing added, nothing lost.
func TestStoredTextIsStreamedText(t *testing.T) {
	target := serve(t, tokens)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say("chunks 20 1 héllo"))
		if err != nil {
			t.Fatal(err)
		}
		frames, state, err := ends(s)
		if err != nil || state != "TASK_STATE_COMPLETED" {
			t.Fatal(state, err)
		}
		text, id := "", frames[0].Task.ID
		for i, f := range frames {
			u := f.ArtifactUpdate
			if u == nil {
				continue
			}
			if u.Append == (text == "") {
				t.Errorf("frame %d: append is %v after %q", i, u.Append, text)
			}
			for _, p := range u.Artifact.Parts {
				text += p.Text
			}
		}
		got := get(t, target, b, id)
		if got.text() != text || !strings.Contains(text, "20") || len(got.Artifacts) != 1 {
			t.Errorf("streamed %q, stored %q in %d artifacts", text, got.text(), len(got.Artifacts))
		}
	})
}

// CA-01: a subscriber sees the cancellation and the end; the answer and GetTask agree.
func TestCancelRunningTask(t *testing.T) {
	target := serve(t, tokens)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say("slow 60000 hi"))
		if err != nil {
			t.Fatal(err)
		}
		first, err := parseAs[frame](s.Next())
		if err != nil {
			t.Fatal(err)
		}
		id := first.Task.ID
		answer, err := parseAs[task](target.Call(t.Context(), b, "CancelTask", "alice", `{"id":"`+id+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		_, state, err := ends(s)
		if got := get(t, target, b, id); err != nil || state != "TASK_STATE_CANCELED" || got.Status != answer.Status || answer.Status.State != state {
			t.Errorf("stream ended as %s (%v), the answer says %+v, GetTask %+v", state, err, answer.Status, got.Status)
		}
	})
}

// CA-04: of twenty cancels at once one succeeds, and the others change nothing.
func TestManyCancels(t *testing.T) {
	target := serve(t, tokens)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say("silent"))
		if err != nil {
			t.Fatal(err)
		}
		first, err := parseAs[frame](s.Next())
		if err != nil {
			t.Fatal(err)
		}
		id := first.Task.ID
		var won, refusedOnes int
		var mu sync.Mutex // guards both
		var g errgroup.Group
		for range 20 {
			g.Go(func() error {
				_, err := target.Call(t.Context(), b, "CancelTask", "alice", `{"id":"`+id+`"}`)
				mu.Lock()
				defer mu.Unlock()
				if r, ok := err.(*vector.Refusal); ok && r.Reason == "TASK_NOT_CANCELABLE" {
					refusedOnes++
					return nil
				}
				won++
				return err
			})
		}
		if err := g.Wait(); err != nil || won != 1 || refusedOnes != 19 {
			t.Fatalf("%d succeeded, %d were refused: %v", won, refusedOnes, err)
		}
		got := get(t, target, b, id)
		if got.Status.State != "TASK_STATE_CANCELED" || len(got.History) != 1 {
			t.Errorf("the task is %+v", got)
		}
		frames, state, err := ends(s)
		ended := 0
		for _, f := range frames {
			if f.StatusUpdate != nil && f.StatusUpdate.Status.State == "TASK_STATE_CANCELED" {
				ended++
			}
		}
		if err != nil || state != "TASK_STATE_CANCELED" || ended != 1 {
			t.Errorf("the stream ends %d times, as %s: %v", ended, state, err)
		}
		_, err = target.Call(t.Context(), b, "CancelTask", "alice", `{"id":"`+id+`"}`)
		if r := refused(t, err); r.Reason != "TASK_NOT_CANCELABLE" || get(t, target, b, id).Status != got.Status {
			t.Errorf("once more: %+v", r)
		}
	})
}

// A terminal answer means that the context is free: sending again from within the
// reader of the last frame is never refused (seed, slot contract).
func TestSlotIsBackWithTheTerminalFrame(t *testing.T) {
	target := serve(t, tokens)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		params := func() string { return say("echo hi", `"contextId":"slot-`+string(b)+`"`) }
		for i := range 200 {
			s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", params())
			if err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
			for {
				f, err := parseAs[frame](s.Next())
				if err != nil {
					t.Fatal(err)
				}
				if f.StatusUpdate != nil && f.StatusUpdate.Status.State == "TASK_STATE_COMPLETED" {
					break
				}
			}
			if _, err := target.Call(t.Context(), b, "SendMessage", "alice", params()); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
			s.Close()
		}
	})
}

// Done when: 64 senders on 64 contexts, with pollers, listers and cancellers, and no
// lock or race ever reaches a client (ST-04).
func TestParallelSenders(t *testing.T) {
	target := serve(t, tokens)
	var g errgroup.Group
	for i := range 64 {
		b := bindings[i%2]
		g.Go(func() error {
			for n := range 10 {
				text := []string{"echo hi", "chunks 3", "tool grep found it"}[n%3]
				got, err := parseAs[sent](target.Call(t.Context(), b, "SendMessage", "alice", say(text, fmt.Sprintf(`"contextId":"par-%d"`, i))))
				if err != nil {
					return fmt.Errorf("sender %d: %w", i, err)
				}
				if got.Task.Status.State != "TASK_STATE_COMPLETED" {
					return fmt.Errorf("sender %d: %+v", i, got.Task.Status)
				}
				if i%8 == 0 {
					if _, err := target.Call(t.Context(), b, "ListTasks", "alice", `{"includeArtifacts":true}`); err != nil {
						return fmt.Errorf("lister: %w", err)
					}
				}
				if i%4 == 0 {
					if _, err := target.Call(t.Context(), b, "GetTask", "alice", `{"id":"`+got.Task.ID+`"}`); err != nil {
						return fmt.Errorf("poller: %w", err)
					}
				}
				if i%8 == 1 {
					_, err := target.Call(t.Context(), b, "CancelTask", "alice", `{"id":"`+got.Task.ID+`"}`)
					if r, ok := err.(*vector.Refusal); !ok || r.Reason != "TASK_NOT_CANCELABLE" {
						return fmt.Errorf("canceller: %v", err)
					}
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}
