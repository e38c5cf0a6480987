//go:build unix

package conformance

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"a2aserve/conformance/vector"
)

// What each configured limit costs, where there is something to measure: the rows of the
// table "What the limits cost" of the operator guide. The bounds here are far above what is
// measured, so that only a mistake of another order shows.
func TestGrowth(t *testing.T) {
	if !torturing() {
		t.Skip("it measures, which make torture is for")
	}
	const n = 500
	for _, row := range []struct {
		name string
		each int // bytes of memory, at most
		n    int
		hold func(t *testing.T, g *gauged, n int)
	}{
		{"an open connection, idle", 128 << 10, 2 * n, idleConnections},
		{"a stream (max_streams), HTTP/1.1", 256 << 10, 2 * n, func(t *testing.T, g *gauged, n int) { parkedStreams(t, g, g.Target, n) }},
		{"a stream, one HTTP/2 connection for all", 256 << 10, n, func(t *testing.T, g *gauged, n int) { parkedStreams(t, g, h2c(t, g.Target), n) }},
		{"a SendMessage that waits (max_concurrent_requests)", 512 << 10, n, waitingSends},
		{"a task that runs or waits (agent.max_sessions)", 256 << 10, n, func(t *testing.T, g *gauged, n int) {
			for range n {
				send(t, g.Target, vector.REST, say("ask Colour?"))
			}
		}},
		{"1 MiB that a running task has sent (max_log_bytes)", 8 << 20, n / 20, sayMebibytes},
		{"1 MiB of a request that is arriving (max_body_bytes)", 6 << 20, n / 10, arriving},
		{"1,000 callers whose rate is known (rate.max_callers)", 4 << 20, 20, knownCallers},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := gauge(t, "tasks: {max_message_bytes: 3000000}\nlimits: {body_timeout: 5m, idle_timeout: 5m, rate: {per_address: 1000000}}\nproxy: {trusted_cidrs: [127.0.0.0/8]}\nagent: {driver: demo, max_sessions: 5000}\n")
			send(t, g.Target, vector.REST, say("echo first"))
			g.size(t)
			before := g.size(t)
			row.hold(t, g, row.n)
			after := g.size(t)
			each := (after.memory - before.memory) / row.n
			t.Logf("| %s | %d KiB each | of %d; at rest %d MiB, resident %d MiB |", row.name, (each+1023)>>10, row.n, before.memory>>20, before.resident>>20)
			if each > row.each {
				t.Errorf("%d bytes each, more than %d", each, row.each)
			}
		})
	}
}

// idleConnections have each had an answer and wait for their next request.
func idleConnections(t *testing.T, g *gauged, n int) {
	for range n {
		conn := dial(t, g.Target)
		io.WriteString(conn, "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
}

// parkedStreams follow one task that waits for its user.
func parkedStreams(t *testing.T, g *gauged, via *vector.Target, n int) {
	id := send(t, g.Target, vector.REST, say("ask Colour?")).ID
	for i := range n {
		s, err := via.Open(t.Context(), bindings[i%2], "SubscribeToTask", "alice", `{"id":"`+id+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
	}
}

func waitingSends(t *testing.T, g *gauged, n int) {
	var wait sync.WaitGroup
	t.Cleanup(wait.Wait) // they end with their test's context
	for range n {
		wait.Go(func() { _, _ = g.Call(t.Context(), vector.REST, "SendMessage", "alice", say("slow 3600000 hi")) })
	}
	for list(t, g.Target, vector.REST, `{"status":"TASK_STATE_WORKING"}`).Total < n {
		time.Sleep(10 * time.Millisecond)
	}
}

// sayMebibytes has n tasks say 1 MiB each, and go on for some seconds more.
func sayMebibytes(t *testing.T, g *gauged, n int) {
	var ids []string
	for range n {
		ids = append(ids, send(t, g.Target, vector.REST, say("chunks 60 1000 "+strings.Repeat("x", 1<<15), "", now)).ID)
	}
	for _, id := range ids {
		for len(get(t, g.Target, vector.REST, id).text()) < 1<<20 {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// arriving requests lack their last byte.
func arriving(t *testing.T, g *gauged, n int) {
	path, body := on(g.Target, vector.REST, say(strings.Repeat("x", 1<<20)))
	for range n {
		fmt.Fprintf(dial(t, g.Target), "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer tok-a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body[:len(body)-1])
	}
	time.Sleep(2 * time.Second) // until it has all been read
}

func knownCallers(t *testing.T, g *gauged, n int) {
	conn := dial(t, g.Target)
	for i := range 1000 * n {
		fmt.Fprintf(conn, "GET /a2a/v1/tasks/x HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.%d.%d.%d\r\n\r\n", i>>16, i>>8&255, i&255)
		answered := make([]byte, 1024)
		for text := ""; !strings.HasSuffix(text, "}\n") && !strings.HasSuffix(text, "}"); {
			k, err := conn.Read(answered)
			if err != nil {
				t.Fatal(err)
			}
			text += string(answered[:k])
		}
	}
}

// TestGrowthOnDisk is TestGrowth for what is stored: the file after a clean stop.
func TestGrowthOnDisk(t *testing.T) {
	if !torturing() {
		t.Skip("it measures, which make torture is for")
	}
	const n = 1000
	for _, row := range []struct {
		name string
		n    int
		each int // bytes, at most
		text string
	}{
		{"a task with a short message and answer (max_per_principal, max_per_context)", 10 * n, 16 << 10, "echo hello"},
		{"1 MiB of message, and as much of answer", 20, 3 << 20, "echo " + strings.Repeat("x", 1<<20-100)},
		{"1 MiB of answer (max_answer_bytes)", 20, 2 << 20, "flood 1024"},
		{"an answer of 1,000 chunks of 1 KiB", 20, 3 << 20, "chunks 1000 0 " + strings.Repeat("x", 1020)},
	} {
		t.Run(row.name, func(t *testing.T) {
			bytes := func(rows int) int {
				g := gauge(t, "tasks: {max_message_bytes: 3000000}\n")
				peak := 0
				for range rows {
					send(t, g.Target, vector.REST, say(row.text))
					peak = max(peak, g.disk())
				}
				if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				if err := g.cmd.Wait(); err != nil {
					t.Fatal(err)
				}
				if rows > 0 {
					t.Logf("the file and its log at most %d KiB, after a stop %d KiB", peak>>10, g.disk()>>10)
				}
				return g.disk()
			}
			each := (bytes(row.n) - bytes(0)) / row.n
			t.Logf("| %s | %d KiB each | of %d |", row.name, (each+1023)>>10, row.n)
			if each > row.each {
				t.Errorf("%d bytes each, more than %d", each, row.each)
			}
		})
	}
}

// TestGrowthToMaxBytes fills a database up to its bound: sends are refused then, and the file
// with its log is not much larger than that, also while somebody goes on reading.
func TestGrowthToMaxBytes(t *testing.T) {
	bound := scaled(3, 100) << 20
	g := &gauged{db: filepath.Join(t.TempDir(), "tasks.db")}
	config := configFile(t, g.db, tokens+"tasks: {max_per_context: 0}\n")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), "store: {", fmt.Sprintf("store: {max_bytes: %d, ", bound), 1))
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	g.Target, g.cmd = await(t, spawn(t, config))
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_, _ = g.Call(t.Context(), vector.REST, "ListTasks", "alice", `{"pageSize":5,"includeArtifacts":true}`)
				}
			}
		})
	}
	peak, tasks := 0, 0
	for ; ; tasks++ {
		_, err = g.Call(t.Context(), vector.REST, "SendMessage", "alice", say("flood 256"))
		if peak = max(peak, g.disk()); err != nil || tasks > 1000 {
			break
		}
	}
	close(done)
	readers.Wait()
	if r, ok := errors.AsType[*vector.Refusal](err); !ok || r.HTTP != 503 {
		t.Errorf("after %d tasks: %v", tasks, err)
	}
	t.Logf("max_bytes %d KiB: %d tasks of 256 KiB, the file and its log at most %d KiB", bound>>10, tasks, peak>>10)
	if peak > bound+bound/4+20<<20 {
		t.Errorf("%d bytes on disk where %d are allowed", peak, bound)
	}
}
