package conformance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"a2aserve/conformance/vector"

	"golang.org/x/sync/errgroup"
)

const hostileWorkers = 16

// hostileRounds is how many requests a worker sends in a round.
func hostileRounds() int {
	if soaking() {
		return 1_500
	}
	return 40
}

// Half of all requests are bad: malformed, from strangers, too large. The good ones among
// them are all answered right, and the third round leaves no more behind than the first.
func TestHostileTraffic(t *testing.T) {
	target := serve(t, tokens+`
limits: {max_body_bytes: 65536, rate: {per_principal: 1000000, per_address: 1000000}}
tasks: {max_per_context: 3}
`)
	var first footprint
	var open int
	for round := range 3 {
		var g errgroup.Group
		for w := range hostileWorkers {
			g.Go(func() error {
				for i := range hostileRounds() {
					if err := mixed(t.Context(), target, w, i); err != nil {
						return fmt.Errorf("round %d, worker %d, request %d: %w", round, w, i, err)
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		target.Client.CloseIdleConnections()
		now := settled(first.goroutines) // 0 at first: until it stands still
		files := descriptors(t, open)
		if round == 0 {
			first, open = now, files
			continue
		}
		t.Logf("round %d: %d goroutines, %d KiB, %d descriptors; after the first %d, %d KiB, %d", round+1, now.goroutines, now.heap>>10, files, first.goroutines, first.heap>>10, open)
		if round < 2 {
			continue
		}
		if now.goroutines > first.goroutines {
			t.Errorf("%d goroutines after the first round, %d after the third", first.goroutines, now.goroutines)
		}
		if now.heap > first.heap+first.heap/10+2<<20 {
			t.Errorf("%d KiB of heap after the first round, %d KiB after the third", first.heap>>10, now.heap>>10)
		}
		if files > open {
			t.Errorf("%d descriptors after the first round, %d after the third", open, files)
		}
	}
	if n := list(t, target, vector.REST, `{"pageSize":1}`).Total; n > 3*hostileWorkers {
		t.Errorf("%d tasks are kept", n)
	}
}

// descriptors counts this process's, which is client and server; it waits until there are
// no more than most, unless that is 0.
func descriptors(t *testing.T, most int) int {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("descriptors cannot be counted on this system")
		}
		if n := len(list) - 1; most == 0 || n <= most || time.Now().After(deadline) { // one reads the folder
			return n
		}
	}
}

// mixed sends the i-th request of a worker: of ten, two are malformed, two come from
// strangers, one is too large, and five are good.
func mixed(ctx context.Context, target *vector.Target, w, i int) error {
	b := bindings[(w+i/10)%2]
	switch i % 10 {
	case 0, 5:
		return malformed(ctx, target, b, w+i/5)
	case 2, 7:
		authorization := []string{"", "Bearer bad", "Basic dG9rLWE=", "Bearer tok-a tok-b"}[(w+i)%4]
		path, body := on(target, b, say("echo stranger"))
		return answered(ctx, target, path, authorization, strings.NewReader(body), "", http.StatusUnauthorized, `"reason":"UNAUTHENTICATED"`)
	case 4:
		path, body := on(target, b, say(strings.Repeat("x", 80<<10)))
		switch w % 3 {
		case 0: // its length is said
			return answered(ctx, target, path, "Bearer tok-a", strings.NewReader(body), "", http.StatusRequestEntityTooLarge, `"reason":"PAYLOAD_TOO_LARGE"`)
		case 1:
			return answered(ctx, target, path, "Bearer tok-a", io.MultiReader(strings.NewReader(body)), "", http.StatusRequestEntityTooLarge, `"reason":"PAYLOAD_TOO_LARGE"`)
		}
		return answered(ctx, target, path, "Bearer tok-a", strings.NewReader(zip(body)), "gzip", http.StatusRequestEntityTooLarge, `"reason":"PAYLOAD_TOO_LARGE"`)
	}
	return good(ctx, target, b, w, i)
}

// malformed sends one of several kinds of rubbish.
func malformed(ctx context.Context, target *vector.Target, b vector.Binding, kind int) error {
	path, body := on(target, b, say("echo rubbish"))
	status, says, coding := http.StatusBadRequest, `"reason":"`, ""
	if b == vector.JSONRPC {
		status = http.StatusOK
	}
	switch kind % 6 {
	case 0:
		body = body[:len(body)/2]
	case 1:
		body = strings.Replace(body, `"ROLE_USER"`, `7.5`, 1)
	case 2:
		body, coding = body[1:], "gzip"
	case 3:
		body = strings.Repeat("[", 10_000)
	case 4:
		body = strings.Replace(body, `"parts"`, `"porks"`, 1)
	case 5:
		body = "\xff\xfe" + body
	}
	return answered(ctx, target, path, "Bearer tok-a", strings.NewReader(body), coding, status, says)
}

// answered sends a body and holds the answer against what is expected of it.
func answered(ctx context.Context, target *vector.Target, path, authorization string, body io.Reader, coding string, status int, says string) error {
	req, err := http.NewRequestWithContext(ctx, "POST", target.Origin+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, v := range map[string]string{"Authorization": authorization, "Content-Encoding": coding} {
		if v != "" {
			req.Header.Set(name, v)
		}
	}
	res, err := target.Client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != status || !strings.Contains(string(answer), says) || !strings.Contains(string(answer), `"error"`) {
		return fmt.Errorf("%s: %d %.300s, want %d %s", path, res.StatusCode, answer, status, says)
	}
	return nil
}

// good sends a message in one of three ways and looks at what comes back.
func good(ctx context.Context, target *vector.Target, b vector.Binding, w, i int) error {
	text := fmt.Sprintf("worker %d says %d", w, i)
	in := fmt.Sprintf(`"contextId":"hostile-%d"`, w)
	switch i % 3 {
	case 0:
		s, err := target.Open(ctx, b, "SendStreamingMessage", "alice", say("chunks 3 0 "+text, in))
		if err != nil {
			return err
		}
		defer s.Close()
		frames, state, err := ends(s)
		if err != nil || state != "TASK_STATE_COMPLETED" {
			return fmt.Errorf("a stream ends with %s: %v", state, err)
		}
		chunks := 0
		for _, f := range frames {
			if f.ArtifactUpdate != nil {
				chunks++
			}
		}
		if chunks == 0 {
			return fmt.Errorf("a stream without an answer: %+v", frames)
		}
		return nil
	case 1:
		path, body := on(target, b, say("echo "+text, in))
		req, err := http.NewRequestWithContext(ctx, "POST", target.Origin+path, strings.NewReader(zip(body)))
		if err != nil {
			return err
		}
		for name, v := range map[string]string{"Authorization": "Bearer tok-a", "Content-Type": "application/json", "Content-Encoding": "gzip"} {
			req.Header.Set(name, v)
		}
		res, err := target.Client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 || !strings.Contains(string(answer), `"`+text+`"`) || strings.Contains(string(answer), `"error"`) {
			return fmt.Errorf("compressed: %d %.300s %v", res.StatusCode, answer, err)
		}
		return nil
	}
	out, err := parseAs[sent](target.Call(ctx, b, "SendMessage", "alice", say("echo "+text, in)))
	if err != nil || out.Task.text() != text || out.Task.Status.State != "TASK_STATE_COMPLETED" {
		return fmt.Errorf("%+v: %v", out, err)
	}
	again, err := parseAs[task](target.Call(ctx, b, "GetTask", "alice", `{"id":"`+out.Task.ID+`"}`))
	if err != nil || again.text() != text {
		return fmt.Errorf("%+v: %v", again, err)
	}
	return nil
}
