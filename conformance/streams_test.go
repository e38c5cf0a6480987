package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"a2aserve/conformance/vector"

	"golang.org/x/sync/errgroup"
)

// h2c makes a target's client speak HTTP/2 in clear over one connection.
func h2c(t *testing.T, target *vector.Target) *vector.Target {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: p}
	t.Cleanup(tr.CloseIdleConnections)
	out := *target
	out.Client = &http.Client{Transport: tr}
	return &out
}

// LU-07: 300 subscribers, over HTTP/1.1 and over one HTTP/2 connection, all get all
// frames in order, and unary calls in between are answered.
func TestManySubscribers(t *testing.T) {
	target := serve(t, tokens)
	for name, via := range map[string]*vector.Target{"http1": target, "h2c": h2c(t, target)} {
		t.Run(name, func(t *testing.T) {
			id := send(t, target, vector.REST, say("ask Ready?", fmt.Sprintf(`"contextId":%q`, name))).ID
			var g errgroup.Group
			opened := make(chan struct{}, 300)
			for i := range 300 {
				g.Go(func() error {
					s, err := via.Open(t.Context(), bindings[i%2], "SubscribeToTask", "alice", `{"id":"`+id+`"}`)
					if err != nil {
						return err
					}
					defer s.Close()
					f, err := parseAs[frame](s.Next())
					if err != nil || f.Task == nil {
						return fmt.Errorf("subscriber %d opens with %+v: %v", i, f, err)
					}
					opened <- struct{}{}
					_, state, err := ends(s)
					if state != "TASK_STATE_COMPLETED" {
						return fmt.Errorf("subscriber %d ends with %s: %v", i, state, err)
					}
					return err
				})
			}
			for range 300 {
				<-opened
			}
			for range 20 {
				if _, err := via.Call(t.Context(), vector.REST, "GetTask", "alice", `{"id":"`+id+`"}`); err != nil {
					t.Error(err)
				}
			}
			send(t, via, vector.JSONRPC, say("yes", `"taskId":"`+id+`"`))
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Several streams of a task get the same frames in the same order, and one that
// leaves changes nothing for the others (A2A §3.5.2).
func TestStreamsAgree(t *testing.T) {
	target := serve(t, tokens)
	s, err := target.Open(t.Context(), vector.REST, "SendStreamingMessage", "alice", say("chunks 40 5 word"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := parseAs[frame](s.Next())
	if err != nil {
		t.Fatal(err)
	}
	sub := `{"id":"` + first.Task.ID + `"}`
	leaver, err := target.Open(t.Context(), vector.JSONRPC, "SubscribeToTask", "alice", sub)
	if err != nil {
		t.Fatal(err)
	}
	other, err := target.Open(t.Context(), vector.JSONRPC, "SubscribeToTask", "alice", sub)
	if err != nil {
		t.Fatal(err)
	}
	leaver.Close()
	a, err := s.All()
	if err != nil {
		t.Fatal(err)
	}
	b, err := other.All()
	if err != nil {
		t.Fatal(err)
	}
	// The subscriber's stream opens with a snapshot and is then the tail of the other.
	if len(b) < 2 || len(a) < len(b)-1 {
		t.Fatalf("%d frames against %d", len(a), len(b))
	}
	tail := a[len(a)-len(b)+1:]
	if !slices.EqualFunc(tail, b[1:], func(x, y []byte) bool { return string(x) == string(y) }) {
		t.Errorf("the subscriber saw other frames")
	}
	joined, err := parseAs[frame](b[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	text := joined.Task.text()
	for _, raw := range tail {
		if f, _ := parseAs[frame](raw, nil); f.ArtifactUpdate != nil {
			for _, p := range f.ArtifactUpdate.Artifact.Parts {
				text += p.Text
			}
		}
	}
	if got := get(t, target, vector.REST, first.Task.ID); got.text() != text {
		t.Errorf("snapshot and frames give %q, the task %q", text, got.text())
	}
}

// SS-06, SS-09, SS-17: a stream that waits stays open, gets comments between frames,
// outlives every timeout of the server, and goes on after the answer.
func TestStreamOutlivesTimeouts(t *testing.T) {
	target := serve(t, tokens+"limits: {keep_alive: 20ms, write_timeout: 100ms, body_timeout: 100ms, read_header_timeout: 100ms, idle_timeout: 100ms}\n")
	for _, text := range []string{"ask Colour?", "auth"} {
		t.Run(text, func(t *testing.T) {
			eachBinding(t, func(t *testing.T, b vector.Binding) {
				s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say(text))
				if err != nil {
					t.Fatal(err)
				}
				id := ""
				for {
					f, err := parseAs[frame](s.Next())
					if err != nil {
						t.Fatal(err)
					}
					if f.Task != nil {
						id = f.Task.ID
					}
					if f.StatusUpdate != nil && strings.HasSuffix(f.StatusUpdate.Status.State, "_REQUIRED") {
						break
					}
				}
				answered := make(chan error, 1)
				go func() {
					time.Sleep(300 * time.Millisecond) // three times each timeout
					_, err := target.Call(t.Context(), b, "SendMessage", "alice", say("blue", `"taskId":"`+id+`"`))
					answered <- err
				}()
				_, state, err := ends(s)
				if err != nil || state != "TASK_STATE_COMPLETED" {
					t.Errorf("the stream ended as %q: %v", state, err)
				}
				if s.Comment < 3 {
					t.Errorf("%d comments while it waited", s.Comment)
				}
				if err := <-answered; err != nil {
					t.Error(err)
				}
			})
		})
	}
	// A blocking send outlives them too.
	if got := send(t, target, vector.JSONRPC, say("slow 300 hi")); got.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("blocking send: %+v", got.Status)
	}
}

// A client that leaves does not end the turn (seed).
func TestClientLeaves(t *testing.T) {
	target := serve(t, tokens)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := target.Open(ctx, b, "SendStreamingMessage", "alice", say("slow 50 still here"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := parseAs[frame](s.Next())
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		s.Close()
		again, err := target.Open(t.Context(), b, "SubscribeToTask", "alice", `{"id":"`+f.Task.ID+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		if _, state, err := ends(again); err != nil || state != "TASK_STATE_COMPLETED" {
			t.Fatalf("ended as %q: %v", state, err)
		}
		if got := get(t, target, b, f.Task.ID); got.text() != "still here" {
			t.Errorf("the task says %q", got.text())
		}
	})
}

// A cap on streams is said, in the binding's shape, and frees up again.
func TestStreamCap(t *testing.T) {
	target := serve(t, tokens+"limits: {max_streams: 2}\nshutdown_timeout: 200ms\n")
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		var open []*vector.Stream
		for range 2 {
			s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say("silent"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
			open = append(open, s)
		}
		_, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say("echo hi", `"contextId":"capped"`))
		if r := refused(t, err); r.HTTP != http.StatusServiceUnavailable {
			t.Errorf("refused with %+v", r)
		}
		if p := list(t, target, b, `{"contextId":"capped"}`); p.Total != 0 {
			t.Errorf("a refused stream left %d tasks", p.Total)
		}
		for _, s := range open {
			s.Close()
		}
		for deadline := time.Now().Add(10 * time.Second); ; {
			s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say("echo hi"))
			if err == nil {
				s.Close()
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("places of closed streams are not given back")
			}
		}
	})
}
