package conformance

import (
	"fmt"
	"testing"

	"a2aserve/conformance/vector"

	"golang.org/x/sync/errgroup"
)

type page struct {
	Tasks []task `json:"tasks"`
	Next  string `json:"nextPageToken"`
	Total int    `json:"totalSize"`
}

func list(t *testing.T, target *vector.Target, b vector.Binding, params string) page {
	t.Helper()
	p, err := parseAs[page](target.Call(t.Context(), b, "ListTasks", "alice", params))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// LP-01: the latest change comes first, whatever was created when.
func TestListOrder(t *testing.T) {
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		target := serve(t, tokens)
		first := send(t, target, b, say("ask One?")).ID
		second := send(t, target, b, say("echo two")).ID
		third := send(t, target, b, say("ask Three?")).ID
		send(t, target, b, say("blue", `"taskId":"`+first+`"`))
		running := send(t, target, b, say("silent", "", now)).ID
		for range 2 { // the same order each time
			got := list(t, target, b, `{}`)
			if len(got.Tasks) != 4 || got.Tasks[0].ID != running || got.Tasks[1].ID != first || got.Tasks[2].ID != third || got.Tasks[3].ID != second {
				t.Errorf("want %s %s %s %s, got %+v", running, first, third, second, got.Tasks)
			}
		}
		if _, err := target.Call(t.Context(), b, "CancelTask", "alice", `{"id":"`+running+`"}`); err != nil {
			t.Error(err)
		}
	})
}

// LP-03: while others come and change, no task that stays as it is is missed or repeated.
func TestWalkWhileOthersWrite(t *testing.T) {
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		target := serve(t, tokens)
		still := map[string]int{}
		for i := range 60 {
			still[send(t, target, b, say("echo hi", fmt.Sprintf(`"contextId":"still-%d"`, i%7))).ID] = 0
		}
		var g errgroup.Group
		done := make(chan struct{})
		for w := range 2 {
			g.Go(func() error {
				for i := 0; ; i++ {
					select {
					case <-done:
						return nil
					default:
					}
					text := []string{"echo more", "fail", "reject", "ask Colour?"}[i%4]
					got, err := parseAs[sent](target.Call(t.Context(), b, "SendMessage", "alice", say(text, fmt.Sprintf(`"contextId":"moving-%d"`, w))))
					if err == nil && !got.Task.terminal() {
						_, err = target.Call(t.Context(), b, "CancelTask", "alice", `{"id":"`+got.Task.ID+`"}`)
					}
					if err != nil {
						return err
					}
				}
			})
		}
		for walk := range 3 {
			token, pages := "", 0
			for {
				p := list(t, target, b, fmt.Sprintf(`{"pageSize":7,"pageToken":%q,"historyLength":0}`, token))
				for _, x := range p.Tasks {
					if _, ok := still[x.ID]; ok {
						still[x.ID]++
					}
				}
				if token = p.Next; token == "" {
					break
				}
				if pages++; pages > 1000 {
					t.Fatal("the walk does not end")
				}
			}
			for id, n := range still {
				if n != walk+1 {
					t.Errorf("walk %d saw task %s %d times in all", walk+1, id, n)
				}
			}
		}
		close(done)
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	})
}
