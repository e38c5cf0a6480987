package binding

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/edge"
)

// frames is a frame log that a test appends to.
type frames struct {
	mu   sync.Mutex // guards list and more
	list []op.Frame
	more chan struct{}
}

func newFrames(list ...op.Frame) *frames { return &frames{list: list, more: make(chan struct{})} }

func (f *frames) add(list ...op.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, list...)
	close(f.more)
	f.more = make(chan struct{})
}

func (f *frames) from(i int) ([]op.Frame, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list[min(i, len(f.list)):], f.more
}

func ended() *op.Stream {
	return &op.Stream{From: newFrames(op.Frame{JSON: []byte(`{"message":{}}`), Last: true}).from}
}

func frame(s string) op.Frame { return op.Frame{JSON: []byte(s)} }

const (
	rpcStream = `{"jsonrpc":"2.0","id":"s","method":"SendStreamingMessage","params":` + message + `}`
	rpcFollow = `{"jsonrpc":"2.0","id":5,"method":"SubscribeToTask","params":{"id":"t"}}`
)

func TestStreamsOnBothBindingsAndProtocols(t *testing.T) {
	s := serve(t, Options{})
	for name, client := range map[string]*http.Client{"HTTP/1.1": s.Client(), "h2c": s.h2} {
		for _, c := range []struct {
			path, body string
			first      string
			at         int
			want       string
		}{
			{"/a2a", rpcStream, "", 0, "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"s\",\"result\":{\"task\":1}}\n\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"s\",\"result\":{\"end\":2}}\n\n"},
			{"/a2a/v1/message:stream", message, "", 0, "id: 1\ndata: {\"task\":1}\n\nid: 2\ndata: {\"end\":2}\n\n"},
			{"/a2a", rpcFollow, `{"snap":0}`, 1, "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"snap\":0}}\n\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"end\":2}}\n\n"},
			{"/a2a/v1/tasks/t:subscribe", ``, `{"snap":0}`, 0, "id: 0\ndata: {\"snap\":0}\n\nid: 1\ndata: {\"task\":1}\n\nid: 2\ndata: {\"end\":2}\n\n"},
			{"/a2a/v1/tasks/t:subscribe", `{}`, `{"snap":0}`, 1, "id: 1\ndata: {\"snap\":0}\n\nid: 2\ndata: {\"end\":2}\n\n"},
		} {
			log := newFrames(frame(`{"task":1}`))
			s.fake.log = func(string) (*op.Stream, error) {
				st := &op.Stream{At: c.at, From: log.from}
				if c.first != "" {
					st.First = []byte(c.first)
				}
				return st, nil
			}
			req, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL+c.path, strings.NewReader(c.body))
			req.Header.Set("Authorization", "Bearer tok-a")
			req.Header.Set("Content-Type", "application/a2a+json")
			req.Header.Set("Last-Event-ID", "garbage")
			res, err := client.Do(req) // returns with the headers: the stream has not ended
			if err != nil {
				t.Fatal(err)
			}
			log.add(op.Frame{JSON: []byte(`{"end":2}`), Last: true}, frame(`{"never":3}`))
			b, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || string(b) != c.want {
				t.Errorf("%s %s: %q %v", name, c.path, b, err)
			}
			h := res.Header
			if res.StatusCode != 200 || h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-cache" || h.Get("X-Accel-Buffering") != "no" || h.Get("A2A-Version") != "1.0" {
				t.Errorf("%s %s: %d %v", name, c.path, res.StatusCode, h)
			}
		}
	}
}

func TestAFrameWithoutJSONOnlyEnds(t *testing.T) {
	s := serve(t, Options{})
	s.fake.log = func(string) (*op.Stream, error) {
		return &op.Stream{First: []byte(`{"task":{}}`), At: 0, From: newFrames(op.Frame{Last: true}).from}, nil
	}
	if _, body, _ := s.do("GET", "/a2a/v1/tasks/t:subscribe", ""); body != "id: 0\ndata: {\"task\":{}}\n\n" {
		t.Errorf("%q", body)
	}
}

func TestARefusedStreamIsAnOrdinaryError(t *testing.T) {
	s := serve(t, Options{})
	s.fake.log = func(string) (*op.Stream, error) { return nil, a2a.TaskNotFoundError.Errorf("Task not found") }
	if status, body, h := s.do("GET", "/a2a/v1/tasks/t:subscribe", "", "Accept", "text/event-stream"); status != 404 || h.Get("Content-Type") != "application/json" {
		t.Errorf("%d %v %s", status, h, body)
	}
	if status, body, h := s.do("POST", "/a2a", rpcFollow, "Accept", "text/event-stream"); status != 200 || h.Get("Content-Type") != "application/json" || parse(t, body).Error.Code != -32001 {
		t.Errorf("%d %v %s", status, h, body)
	}
}

func TestKeepAliveComesBetweenFrames(t *testing.T) {
	s := serve(t, Options{KeepAlive: 5 * time.Millisecond})
	for name, client := range map[string]*http.Client{"HTTP/1.1": s.Client(), "h2c": s.h2} {
		log := newFrames()
		s.fake.log = func(string) (*op.Stream, error) { return &op.Stream{From: log.from}, nil }
		req, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/a2a/v1/tasks/t:subscribe", nil)
		req.Header.Set("Authorization", "Bearer tok-a")
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(res.Body)
		for _, f := range []op.Frame{frame(`1`), {JSON: []byte(`2`), Last: true}} {
			for _, want := range []string{": keep-alive\n", "\n"} {
				if line, err := in.ReadString('\n'); err != nil || line != want {
					t.Fatalf("%s: %q %v", name, line, err)
				}
			}
			log.add(f)
			for line := ""; !strings.HasPrefix(line, "data: "); {
				if line, err = in.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			in.ReadString('\n')
		}
		if _, err := in.ReadByte(); err != io.EOF {
			t.Errorf("%s: %v after the last frame", name, err)
		}
		res.Body.Close()
	}
}

// A deadline that outlived its write would cut a quiet stream, and the next response of
// the connection.
func TestAnswersOutliveTheTimeouts(t *testing.T) {
	s := serve(t, Options{WriteTimeout: 250 * time.Millisecond}, edge.Limits{ReadHeader: 250 * time.Millisecond, ReadBody: 250 * time.Millisecond})
	s.fake.task = func(string) ([]byte, error) {
		time.Sleep(600 * time.Millisecond)
		return []byte(`{"id":"t"}`), nil
	}
	for name, client := range map[string]*http.Client{"HTTP/1.1": s.Client(), "h2c": s.h2} {
		log := newFrames(frame(`1`))
		s.fake.log = func(string) (*op.Stream, error) { return &op.Stream{From: log.from}, nil }
		get := func(path string) string {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/a2a/v1"+path, nil)
			req.Header.Set("Authorization", "Bearer tok-a")
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if strings.HasSuffix(path, ":subscribe") {
				time.AfterFunc(600*time.Millisecond, func() { log.add(op.Frame{JSON: []byte(`2`), Last: true}) })
			}
			b, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatalf("%s %s: %q %v", name, path, b, err)
			}
			return string(b)
		}
		if got := get("/tasks/t:subscribe"); got != "id: 1\ndata: 1\n\nid: 2\ndata: 2\n\n" {
			t.Errorf("%s: %q", name, got)
		}
		if got := get("/tasks/t"); got != `{"id":"t"}` {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestASlowReaderIsGivenUp(t *testing.T) {
	s := serve(t, Options{WriteTimeout: 50 * time.Millisecond})
	big := strings.Repeat("x", 1<<20)
	log := newFrames()
	for range 64 {
		log.add(frame(`"` + big + `"`))
	}
	s.fake.log = func(string) (*op.Stream, error) { return &op.Stream{From: log.from}, nil }
	res := s.send("GET", "/a2a/v1/tasks/t:subscribe", "") // and never reads
	defer res.Body.Close()
	eventually(t, func() bool { return s.h.Streams.Open() == 0 })
}

func TestALeavingReaderEndsItsStream(t *testing.T) {
	s := serve(t, Options{KeepAlive: time.Hour}) // it is not the next comment that tells
	log := newFrames(frame(`1`))
	defer log.add(op.Frame{Last: true})
	var closed atomic.Int32
	s.fake.log = func(string) (*op.Stream, error) {
		return &op.Stream{From: log.from, Close: func() { closed.Add(1) }}, nil
	}
	for name, client := range map[string]*http.Client{"HTTP/1.1": s.Client(), "h2c": s.h2} {
		ctx, leave := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, "GET", s.URL+"/a2a/v1/tasks/t:subscribe", nil)
		req.Header.Set("Authorization", "Bearer tok-a")
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.h.Streams.Open(); n != 1 {
			t.Errorf("%s: %d open streams", name, n)
		}
		leave()
		res.Body.Close()
		eventually(t, func() bool { return s.h.Streams.Open() == 0 })
		if closed.Swap(0) != 1 {
			t.Errorf("%s: the stream was not closed, once", name)
		}
	}
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

func TestTheSubscriberCap(t *testing.T) {
	s := serve(t, Options{MaxStreams: 2})
	log := newFrames()
	s.fake.log = func(string) (*op.Stream, error) { return &op.Stream{From: log.from}, nil }
	for range 2 {
		res := s.send("GET", "/a2a/v1/tasks/t:subscribe", "")
		defer res.Body.Close()
	}
	s.fake.took()
	status, body, h := s.do("GET", "/a2a/v1/tasks/t:subscribe", "")
	if a := parse(t, body); status != 503 || a.Error.Status != "UNAVAILABLE" || h.Get("Retry-After") != "1" {
		t.Errorf("%d %v %s", status, h, body)
	}
	status, body, _ = s.do("POST", "/a2a", rpcStream)
	if a := parse(t, body); status != 503 || a.Error.Code != -32000 || a.ID != "s" {
		t.Errorf("%d %s", status, body)
	}
	if took := s.fake.took(); took != "" {
		t.Errorf("%q was executed", took)
	}
	if status, _, _ := s.do("GET", "/a2a/v1/tasks/t", ""); status != 200 {
		t.Errorf("a unary call got %d", status)
	}
	log.add(op.Frame{Last: true})
	eventually(t, func() bool { return s.h.Streams.Open() == 0 })
	if status, _, _ := s.do("GET", "/a2a/v1/tasks/t:subscribe", ""); status != 200 {
		t.Errorf("after room was made: %d", status)
	}
}

// One caller's streams leave room for another's.
func TestTheSubscriberCapOfOneCaller(t *testing.T) {
	s := serve(t, Options{MaxStreams: 3, MaxEach: 2})
	log := newFrames()
	s.fake.log = func(string) (*op.Stream, error) { return &op.Stream{From: log.from}, nil }
	open := func(token string) (int, string) {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/a2a/v1/tasks/t:subscribe", nil)
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		if res.StatusCode == 200 {
			return 200, ""
		}
		b, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(b)
	}
	for _, c := range []struct {
		token string
		want  int
		says  string
	}{
		{"tok-a", 200, ""}, {"tok-a", 200, ""}, {"tok-a", 503, "of this caller: the server keeps 2"},
		{"tok-b", 200, ""}, {"tok-b", 503, "Too many open streams: the server keeps 3"},
	} {
		if status, body := open(c.token); status != c.want || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", c.token, status, body)
		}
	}
	log.add(op.Frame{Last: true})
	eventually(t, func() bool { return s.h.Streams.Open() == 0 })
	if status, _ := open("tok-a"); status != 200 {
		t.Errorf("after room was made: %d", status)
	}
	eventually(t, func() bool { return s.h.Streams.Open() == 0 })
	if n := len(s.h.Streams.each); n != 0 {
		t.Errorf("%d callers without streams are remembered", n)
	}
}

func TestManySubscribersAndUnaryCallsOnOneConnection(t *testing.T) {
	s := serve(t, Options{})
	const subscribers, count = 300, 20
	log := newFrames()
	s.fake.log = func(string) (*op.Stream, error) { return &op.Stream{From: log.from}, nil }
	var want strings.Builder
	for i := range count {
		fmt.Fprintf(&want, "id: %d\ndata: {\"n\":%d}\n\n", i+1, i)
	}
	get := func(path string) (*http.Response, error) {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL+path, nil)
		req.Header.Set("Authorization", "Bearer tok-a")
		return s.h2.Do(req)
	}
	var readers sync.WaitGroup
	for range subscribers {
		res, err := get("/a2a/v1/tasks/t:subscribe")
		if err != nil {
			t.Fatal(err)
		}
		readers.Go(func() {
			defer res.Body.Close()
			if b, err := io.ReadAll(res.Body); err != nil || string(b) != want.String() {
				t.Errorf("a reader got %q %v", b, err)
			}
		})
	}
	for i := range count {
		res, err := get("/a2a/v1/tasks/t") // would wait for ever behind 300 streams
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		log.add(op.Frame{JSON: fmt.Appendf(nil, `{"n":%d}`, i), Last: i == count-1})
	}
	readers.Wait()
}

func TestAnUnfinishedBodyIsNotWaitedFor(t *testing.T) {
	s := serve(t, Options{}, edge.Limits{ReadBody: 100 * time.Millisecond})
	for path, want := range map[string]string{"/a2a": `"code":-32600`, "/a2a/v1/message:send": `"code":400`} {
		for name, client := range map[string]*http.Client{"HTTP/1.1": s.Client(), "h2c": s.h2} {
			never, w := io.Pipe()
			go w.Write([]byte(`{"jsonrpc":`))
			req, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL+path, never)
			req.Header.Set("Authorization", "Bearer tok-a")
			req.Header.Set("Content-Type", "application/json")
			res, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s %s: %v", name, path, err)
			}
			b, _ := io.ReadAll(res.Body)
			res.Body.Close()
			w.Close()
			if !strings.Contains(string(b), want) || !strings.Contains(string(b), "did not arrive in time") {
				t.Errorf("%s %s: %d %s", name, path, res.StatusCode, b)
			}
		}
	}
}
