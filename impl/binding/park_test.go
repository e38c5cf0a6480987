package binding

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"a2aserve/gen/op"
)

// TestAParkedStreamHoldsNothing of its request: not the body, not the snapshot, no buffer,
// and no stack below the handler's top. A stream is silent for longer than it speaks.
func TestAParkedStreamHoldsNothing(t *testing.T) {
	const streams, size = 16, 1 << 19
	for name, c := range map[string]struct{ path, body string }{
		"JSON-RPC":  {"/a2a", rpcFollow},
		"HTTP+JSON": {"/a2a/v1/tasks/t:subscribe", `{}`},
	} {
		s := serve(t, Options{})
		log := newFrames()
		s.fake.log = func(string) (*op.Stream, error) {
			return &op.Stream{First: bytes.Repeat([]byte("1"), size), From: log.from}, nil
		}
		before := heap()
		for range streams {
			body := io.MultiReader(strings.NewReader(strings.Repeat(" ", size)), strings.NewReader(c.body))
			req, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL+c.path, body)
			req.Header.Set("Authorization", "Bearer tok-a")
			req.Header.Set("Content-Type", "application/json")
			res, err := s.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if n, err := io.CopyN(io.Discard, res.Body, size); err != nil {
				t.Fatalf("%s: %d, %d bytes, %v", name, res.StatusCode, n, err)
			}
		}
		eventually(t, func() bool { return len(parked()) == streams })
		for _, stack := range parked() {
			if strings.Contains(stack, "serveREST") || strings.Contains(stack, "serveJSONRPC") {
				t.Errorf("%s: waits deep inside the request:\n%s", name, stack)
				break
			}
		}
		if each := (heap() - before) / streams; each > size/4 {
			t.Errorf("%s: %d bytes for each stream", name, each)
		}
		log.add(op.Frame{Last: true})
		eventually(t, func() bool { return s.h.Streams.Open() == 0 })
	}
}

// heap is what is in use once all garbage is gone; pools give up theirs at the second time.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// parked are the stacks of streams that wait.
func parked() (stacks []string) {
	b := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
		if header, _, _ := strings.Cut(stack, "\n"); strings.Contains(header, "[select") && strings.Contains(stack, ").follow(") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
