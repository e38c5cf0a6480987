package conformance

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"a2aserve/conformance/vector"
	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"

	"golang.org/x/sync/errgroup"
)

// One who reads a byte at a time, with pauses, beside many who read as fast as they can: the
// many get every frame in order while the slow one has not even its first screenful, and it
// gets every frame too, in the end: as long as no write takes it longer than limits.write_timeout,
// and how long that is here depends on the machine.
func TestSlowReaderBesideMany(t *testing.T) {
	many, frames := scaled(40, 1000), scaled(200, 1000)
	begun := make(chan struct{})
	target, _ := serveAgent(t, tokens+"limits: {max_streams_per_principal: 2000, write_timeout: 1h}\n", bus.Options{}, func(s *stage, in event.Input) {
		s.emit(begin(in))
		<-begun
		for i := range frames {
			text := fmt.Sprintf("%d.", i+1)
			s.emit(event.Artifact{TurnID: in.TaskID, Append: i > 0, LastChunk: i == frames-1,
				Artifact: a2a.Artifact{ArtifactID: "a", Parts: []a2a.Part{{Text: &text}}}})
		}
		s.emit(finish(in))
	})
	want := ""
	for i := range frames {
		want += fmt.Sprintf("%d.", i+1)
	}
	id := send(t, target, vector.REST, say("go", "", now)).ID
	conn := dial(t, target)
	conn.(*net.TCPConn).SetReadBuffer(1)
	io.WriteString(conn, "POST /a2a/v1/tasks/"+id+":subscribe HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer tok-a\r\nA2A-Version: 1.0\r\nConnection: close\r\n\r\n")

	var g errgroup.Group
	opened := make(chan struct{}, many)
	for i := range many {
		g.Go(func() error {
			s, err := target.Open(t.Context(), bindings[i%2], "SubscribeToTask", "alice", `{"id":"`+id+`"}`)
			if err != nil {
				opened <- struct{}{}
				return err
			}
			defer s.Close()
			return (&witness{want: want}).joined(s, opened)
		})
	}
	for range many {
		<-opened
	}
	close(begun)
	fast := make(chan error, 1)
	go func() { fast <- g.Wait() }()
	var slow bytes.Buffer
	every := time.Duration(scaled(20, 1000)) * time.Millisecond
	for done := false; !done; {
		select {
		case err := <-fast:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		case <-time.After(every):
			if _, err := io.CopyN(&slow, conn, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if bytes.Count(slow.Bytes(), []byte("artifactUpdate")) > 0 {
		t.Errorf("the slow reader was not slow: %d bytes", slow.Len())
	}
	res, err := http.ReadResponse(bufio.NewReader(io.MultiReader(&slow, conn)), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{want: want}
	if err := w.records(res.Body); err != nil || w.state != "TASK_STATE_COMPLETED" {
		t.Errorf("the slow reader was told %s: %v", w.state, err)
	}
}

// joined follows a stream to its end and says when it has the first frame.
func (w *witness) joined(s *vector.Stream, opened chan<- struct{}) error {
	f, err := parseAs[frame](s.Next())
	if err == nil && f.Task == nil {
		err = fmt.Errorf("opens with %+v", f)
	}
	if err == nil {
		err = w.whole(*f.Task)
	}
	opened <- struct{}{}
	for err == nil && rank[w.state] < 3 {
		if f, err = parseAs[frame](s.Next()); err == nil {
			err = w.frame(f)
		}
	}
	return err
}

// records follows a stream that is read by hand.
func (w *witness) records(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		f, err := parseAs[frame](data, nil)
		if err == nil && f.Task != nil {
			err = w.whole(*f.Task)
		} else if err == nil {
			err = w.frame(f)
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

func dial(t *testing.T, target *vector.Target) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(target.Origin, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Whoever stops reading and never says goodbye is given up after limits.write_timeout, and
// its place among the streams goes to others; its task goes on.
func TestReaderThatNeverReads(t *testing.T) {
	target := serve(t, tokens+"limits: {max_streams: 2, write_timeout: 200ms}\n")
	path, body := on(target, vector.REST, say("flood 5000")) // more than the kernels' buffers take
	path = strings.Replace(path, ":send", ":stream", 1)
	for range scaled(2, 20) {
		conn := dial(t, target)
		conn.(*net.TCPConn).SetReadBuffer(1)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer tok-a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
		if _, err := io.ReadFull(conn, make([]byte, 12)); err != nil { // the status
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		s, err := target.Open(t.Context(), vector.REST, "SendStreamingMessage", "alice", say("echo hi"))
		if err == nil {
			s.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("their places are not given back: %v", err)
		}
	}
	for begun := list(t, target, vector.REST, `{"pageSize":1}`).Total; list(t, target, vector.REST, `{"pageSize":1,"status":"TASK_STATE_COMPLETED"}`).Total < begun; {
		time.Sleep(20 * time.Millisecond)
		if n := list(t, target, vector.REST, `{"pageSize":1,"status":"TASK_STATE_FAILED"}`).Total; n > 0 {
			t.Fatalf("%d tasks have failed", n)
		}
	}
}

// Clients that vanish after any number of bytes, of their request or of its answer, with or
// without a goodbye, leave nothing behind: no goroutine, no descriptor, no place taken. What
// they began ends as if they had stayed.
func TestClientsVanish(t *testing.T) {
	target := serve(t, tokens+"limits: {max_streams: 8, body_timeout: 500ms, read_header_timeout: 500ms}\n")
	send(t, target, vector.REST, say("echo first"))
	target.Client.CloseIdleConnections()
	before := settled(0)
	files := descriptors(t, 0)
	var requests []string
	for _, b := range bindings {
		path, body := on(target, b, say("chunks 5 1 .", `"contextId":"vanish"`))
		streaming := strings.NewReplacer(":send", ":stream", `"SendMessage"`, `"SendStreamingMessage"`)
		for _, r := range [][2]string{{path, body}, {streaming.Replace(path), streaming.Replace(body)}} {
			requests = append(requests, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer tok-a\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", r[0], len(r[1]), r[1]))
		}
	}
	requests = append(requests, "GET /a2a/v1/tasks?pageSize=50 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer tok-a\r\n\r\n")
	step := scaled(61, 3)
	for i, r := range requests {
		r = strings.ReplaceAll(r, "vanish", "vanish-"+strconv.Itoa(i))
		for cut := 1; cut < len(r)+2000; cut += step {
			vanish(t, target, r[:min(cut, len(r))], max(0, cut-len(r)), cut%2 == 0)
		}
	}
	for _, state := range []string{"SUBMITTED", "WORKING"} {
		for list(t, target, vector.REST, `{"status":"TASK_STATE_`+state+`"}`).Total > 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
	for id, x := range walk(t, target, "") {
		if got := get(t, target, vector.REST, id); got.Status.State != "TASK_STATE_COMPLETED" || got.text() != "first" && got.text() != "1.2.3.4.5." {
			t.Errorf("%+v is %s with %q", x, got.Status.State, got.text())
		}
	}
	target.Client.CloseIdleConnections()
	if after := settled(before.goroutines); after.goroutines > before.goroutines {
		t.Errorf("%d goroutines before, %d after", before.goroutines, after.goroutines)
	}
	if n := descriptors(t, files); n > files {
		t.Errorf("%d descriptors before, %d after", files, n)
	}
	for range 8 {
		s, err := target.Open(t.Context(), vector.REST, "SendStreamingMessage", "alice", say("echo hi"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
	}
}

// vanish sends some of a request, reads some of its answer, and is gone.
func vanish(t *testing.T, target *vector.Target, request string, answer int, rudely bool) {
	t.Helper()
	conn := dial(t, target).(*net.TCPConn)
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)) // a whole answer may be shorter
	_, err := io.CopyN(io.Discard, conn, int64(answer))
	if ne, ok := errors.AsType[net.Error](err); err != nil && !errors.Is(err, io.EOF) && !(ok && ne.Timeout()) {
		t.Fatal(err)
	}
	if rudely {
		conn.SetLinger(0) // a reset in the place of a goodbye
	}
}

// Agents that write without end, many at once, all beyond what an answer may hold, end with
// what they may say and a note, leave the server's memory as it was, and keep nobody waiting.
func TestAgentsFlood(t *testing.T) {
	target := serve(t, tokens+"artifacts: {max_answer_bytes: 100000}\n")
	flood := func(n int) {
		var g errgroup.Group
		for i := range n {
			g.Go(func() error {
				s, err := target.Open(t.Context(), bindings[i%2], "SendStreamingMessage", "alice", say("flood 600"))
				if err != nil {
					return err
				}
				defer s.Close()
				_, state, err := ends(s)
				if err != nil || state != "TASK_STATE_COMPLETED" {
					return fmt.Errorf("ends as %s: %v", state, err)
				}
				return nil
			})
		}
		for range n {
			if got, err := parseAs[sent](target.Call(t.Context(), vector.REST, "SendMessage", "bob", say("echo hi"))); err != nil || got.Task.text() != "hi" {
				t.Errorf("beside them: %+v %v", got, err)
			}
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		target.Client.CloseIdleConnections()
	}
	flood(8)
	before := settled(0)
	flood(scaled(32, 400))
	after := settled(before.goroutines + 20)
	t.Logf("heap before %d KiB, after %d KiB", before.heap>>10, after.heap>>10)
	if after.heap > before.heap+16<<20 || after.goroutines > before.goroutines+20 {
		t.Errorf("%+v before, %+v after", before, after)
	}
	for _, x := range list(t, target, vector.REST, `{"pageSize":100,"includeArtifacts":true}`).Tasks {
		if n := len(x.text()); n < 100000 || n > 100200 {
			t.Errorf("task %s has an answer of %d bytes", x.ID, n)
		}
	}
}
