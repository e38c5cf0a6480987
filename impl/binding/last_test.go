package binding

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/gen/op"
	"a2aserve/impl/edge"
	"a2aserve/impl/sse"
)

// wires notes what goes over the connections of a listener, and under which deadline.
type wires struct {
	net.Listener
	mu     sync.Mutex // guards what follows
	writes []string
	timed  []bool // whether a deadline was set
	until  time.Time
}

func (l *wires) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &wired{c, l}, err
}

type wired struct {
	net.Conn
	l *wires
}

func (c *wired) Write(b []byte) (int, error) {
	c.l.mu.Lock()
	c.l.writes, c.l.timed = append(c.l.writes, string(b)), append(c.l.timed, !c.l.until.IsZero())
	c.l.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *wired) SetWriteDeadline(t time.Time) error {
	c.l.mu.Lock()
	c.l.until = t
	c.l.mu.Unlock()
	return c.Conn.SetWriteDeadline(t)
}

// watch serves what s does, at another address.
func watch(t *testing.T, s *server) *wires {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &wires{Listener: listener}
	srv := edge.Server(s.Config.Handler, edge.Limits{}, s.h.Log)
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(l) })
	t.Cleanup(func() { _ = srv.Close(); serving.Wait() })
	return l
}

// ask sends a request to where the wires are watched: a POST where there is a body.
func (l *wires) ask(t *testing.T, s *server, path, body string) *http.Response {
	t.Helper()
	method := map[bool]string{true: "GET", false: "POST"}[body == ""]
	req, _ := http.NewRequestWithContext(t.Context(), method, "http://"+l.Addr().String()+path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer tok-a")
	req.Header.Set("Content-Type", "application/json")
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// The last frame and the end of the response are one write, and under a deadline: or a
// client that does not read would hold the connection once its stream is over.
func TestTheLastFrameLeavesWithTheEnd(t *testing.T) {
	s := serve(t, Options{})
	log := newFrames(frame(`1`))
	s.fake.log = func(string) (*op.Stream, error) { return &op.Stream{From: log.from}, nil }
	l := watch(t, s)
	res := l.ask(t, s, "/a2a/v1/tasks/t:subscribe", "")
	defer res.Body.Close()
	log.add(frame(`2`), op.Frame{JSON: []byte(`3`), Last: true})
	if b, err := io.ReadAll(res.Body); err != nil || !strings.HasSuffix(string(b), "data: 3\n\n") {
		t.Fatalf("%q %v", b, err)
	}
	eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.until.IsZero() }) // for the next response
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.writes)
	if n != 2 || !strings.HasSuffix(l.writes[1], "data: 3\n\n\r\n0\r\n\r\n") || !l.timed[0] || !l.timed[1] {
		t.Errorf("%d writes, under deadlines: %v\n%q", n, l.timed, l.writes)
	}
}

// A whole answer, an error too, is one write with its headers, and under a deadline that is
// gone for the next one.
func TestWholeAnswersAreOneWrite(t *testing.T) {
	s := serve(t, Options{})
	for _, c := range []struct{ path, body string }{
		{"/a2a/v1/tasks/t", ""},
		{"/a2a/v1/nowhere", ""},
		{"/a2a", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}`},
		{"/a2a", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}`},
	} {
		l := watch(t, s)
		res := l.ask(t, s, c.path, c.body)
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.ContentLength != int64(len(b)) {
			t.Errorf("%s %s: %d bytes announced, %d came, %v", c.path, c.body, res.ContentLength, len(b), err)
		}
		eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.until.IsZero() })
		l.mu.Lock()
		if len(l.writes) != 1 || !strings.HasPrefix(l.writes[0], "HTTP/1.1 ") || !strings.HasSuffix(l.writes[0], string(b)) || !l.timed[0] {
			t.Errorf("%s %s: under deadlines: %v\n%q", c.path, c.body, l.timed, l.writes)
		}
		l.mu.Unlock()
	}
}

// Each keep-alive comment leaves at once, alone: in a buffer it would keep nothing alive.
func TestKeepAliveLeavesAtOnce(t *testing.T) {
	s := serve(t, Options{KeepAlive: 5 * time.Millisecond})
	log := newFrames()
	s.fake.log = func(string) (*op.Stream, error) { return &op.Stream{From: log.from}, nil }
	l := watch(t, s)
	res := l.ask(t, s, "/a2a/v1/tasks/t:subscribe", "")
	defer res.Body.Close()
	defer log.add(op.Frame{Last: true})
	eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return len(l.writes) > 3 })
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, b := range l.writes[1:] { // behind the headers
		if strings.Count(b, sse.Comment) != 1 || !l.timed[i+1] {
			t.Errorf("under deadlines: %v\n%q", l.timed, b)
		}
	}
}
