package conformance

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"a2aserve/conformance/vector"
	"a2aserve/impl/app"
	"a2aserve/impl/config"

	"golang.org/x/sync/errgroup"
)

// zip compresses a body.
func zip(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

// ask sends one request with these headers, name and value in turn.
func ask(t *testing.T, target *vector.Target, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, target.Origin+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := target.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

// on is a request of a binding: where it goes and what it says.
func on(target *vector.Target, b vector.Binding, params string) (path, body string) {
	if b == vector.JSONRPC {
		return target.RPC, `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + params + `}`
	}
	return target.REST + "/message:send", params
}

// LU-06 on a whole server: compressed requests are read, bombs refused, streams left as
// they are, and large answers compressed.
func TestCompression(t *testing.T) {
	target := serve(t, tokens+"limits: {max_body_bytes: 262144}\n")
	head := []string{"Authorization", "Bearer tok-a", "Content-Type", "application/json"}
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		path, body := on(target, b, say("echo compressed"))
		res, answer := ask(t, target, "POST", path, zip(body), append(head, "Content-Encoding", "gzip")...)
		if res.StatusCode != 200 || !strings.Contains(answer, "TASK_STATE_COMPLETED") || !strings.Contains(answer, `"compressed"`) {
			t.Errorf("gzip: %d %s", res.StatusCode, answer)
		}
		_, bomb := on(target, b, say(strings.Repeat("b", 512<<10)))
		if res, answer := ask(t, target, "POST", path, zip(bomb), append(head, "Content-Encoding", "gzip")...); res.StatusCode != 413 || !strings.Contains(answer, `"error"`) {
			t.Errorf("bomb: %d %.200s", res.StatusCode, answer)
		}
		code := map[vector.Binding]string{vector.JSONRPC: `"code":-32600`, vector.REST: `"code":400`}[b]
		for name, garbage := range map[string]string{"plain": body, "cut": zip(body)[:30]} {
			if _, answer := ask(t, target, "POST", path, garbage, append(head, "Content-Encoding", "gzip")...); !strings.Contains(answer, code) || !strings.Contains(answer, "valid gzip") {
				t.Errorf("%s: %s", name, answer)
			}
		}
		if res, _ := ask(t, target, "POST", path, body, append(head, "Content-Encoding", "br")...); res.StatusCode != 415 {
			t.Errorf("br: %d", res.StatusCode)
		}
		if res, _ := ask(t, target, "POST", path, zip(bomb), "Content-Encoding", "gzip"); res.StatusCode != 401 {
			t.Errorf("bomb of a stranger: %d", res.StatusCode)
		}
	})
	zipped := append(head, "Accept-Encoding", "gzip")
	send(t, target, vector.REST, say("echo "+strings.Repeat("long ", 1000)))
	if res, answer := ask(t, target, "GET", target.REST+"/tasks?includeArtifacts=true", "", zipped...); res.Header.Get("Content-Encoding") != "gzip" || len(answer) > 3000 {
		t.Errorf("list: %v, %d bytes", res.Header, len(answer))
	}
	if res, answer := ask(t, target, "POST", target.REST+"/message:stream", say("chunks 3 1 "+strings.Repeat("long ", 1000)), zipped...); res.Header.Get("Content-Encoding") != "" || strings.Count(answer, "data: ") < 5 {
		t.Errorf("stream: %v %.200s", res.Header, answer)
	}
	plain, _ := ask(t, target, "GET", "/.well-known/agent-card.json", "", "Accept-Encoding", "identity")
	res, _ := ask(t, target, "GET", "/.well-known/agent-card.json", "", "Accept-Encoding", "gzip", "If-None-Match", plain.Header.Get("ETag"))
	if res.StatusCode != 304 || res.Header.Get("ETag") != plain.Header.Get("ETag") {
		t.Errorf("the card: %d %v, before %v", res.StatusCode, res.Header, plain.Header)
	}
}

// A page of an allowed origin can ask first, without credentials, and then call, follow
// and read what it was refused for; pages of others can do none of it.
func TestPagesOfOtherOrigins(t *testing.T) {
	target := serve(t, tokens+"cors_origins: https://app.example.com, https://other.example.com\n")
	const page = "https://app.example.com"
	for _, path := range []string{target.RPC, target.REST + "/message:stream", "/.well-known/agent-card.json"} {
		res, _ := ask(t, target, "OPTIONS", path, "", "Origin", page, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization, a2a-version")
		if h := res.Header; res.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != page || h.Get("Access-Control-Allow-Headers") != "authorization, a2a-version" || h.Get("Access-Control-Max-Age") == "" {
			t.Errorf("%s: %d %v", path, res.StatusCode, h)
		}
	}
	head := []string{"Origin", page, "Authorization", "Bearer tok-a", "Content-Type", "application/json"}
	res, body := ask(t, target, "POST", target.REST+"/message:stream", say("chunks 2"), head...)
	if h := res.Header; res.StatusCode != 200 || h.Get("Access-Control-Allow-Origin") != page || !strings.Contains(h.Get("Access-Control-Expose-Headers"), "A2A-Version") || !strings.Contains(body, "TASK_STATE_COMPLETED") {
		t.Errorf("stream: %d %v %s", res.StatusCode, h, body)
	}
	if res, _ := ask(t, target, "POST", target.RPC, "{}", "Origin", page); res.StatusCode != 401 || res.Header.Get("Access-Control-Allow-Origin") != page {
		t.Errorf("refusal: %d %v", res.StatusCode, res.Header)
	}
	head[1] = "https://evil.example.com"
	if res, _ := ask(t, target, "POST", target.REST+"/message:stream", say("chunks 2"), head...); res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another page: %v", res.Header)
	}
}

// LU-08 and LU-07 from the configuration, and that a reload forgets neither.
func TestRatesAndCapsOutliveAReload(t *testing.T) {
	path := configFile(t, t.TempDir()+"/tasks.db", tokens+`
limits:
  max_streams_per_principal: 1
  rate: {per_principal: 60, principal_burst: 6}
`)
	cfg, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Config.Reload.Watch = false
	a, err := app.New(t.Context(), cfg, app.Options{Log: quiet(), Reload: func() (*config.Config, error) { return config.Load(path) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	defer func() { cancel(); <-done }()
	target := targetAt(a.Addr().String())
	defer target.Client.CloseIdleConnections()

	stream, err := target.Open(t.Context(), vector.REST, "SendStreamingMessage", "alice", say("ask Ready?"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for range 2 {
		_, err := target.Open(t.Context(), vector.JSONRPC, "SendStreamingMessage", "alice", say("echo hi"))
		if r := refused(t, err); r.HTTP != 503 || !bytes.Contains(r.Body, []byte("keeps 1 for each")) {
			t.Errorf("%+v", r)
		}
		if err := a.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	passed := 3 // above
	for range 20 {
		if _, err := target.Call(t.Context(), vector.REST, "ListTasks", "alice", `{}`); err == nil {
			passed++
		} else if r := refused(t, err); r.HTTP != 429 || r.Reason != "TOO_MANY_REQUESTS" {
			t.Errorf("%+v", r)
		}
	}
	if passed < 6 || passed > 8 { // a slow machine earns one a second
		t.Errorf("%d passed", passed)
	}
	if _, err := target.Call(t.Context(), vector.REST, "ListTasks", "bob", `{}`); err != nil {
		t.Errorf("another caller: %v", err)
	}
	if res, _ := ask(t, target, "GET", "/.well-known/agent-card.json", ""); res.StatusCode != 200 {
		t.Errorf("the card: %d", res.StatusCode)
	}
}

// A request that does not arrive is given up, at its header and at its body, and costs no
// place among those being served once it is.
func TestSlowRequests(t *testing.T) {
	target := serve(t, tokens+"limits: {read_header_timeout: 200ms, body_timeout: 300ms, max_concurrent_requests: 4}\n")
	var g errgroup.Group
	for i := range 16 {
		g.Go(func() error {
			conn, err := net.Dial("tcp", strings.TrimPrefix(target.Origin, "http://"))
			if err != nil {
				return err
			}
			defer conn.Close()
			text := "POST /a2a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer tok-a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
			if i%2 == 0 {
				text += "\r\n{"
			}
			io.WriteString(conn, text)
			conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			answer, err := io.ReadAll(conn)
			if err != nil {
				return fmt.Errorf("%d: still open: %w", i, err)
			}
			if i%2 == 0 && !bytes.Contains(answer, []byte(`"code":-32`)) {
				return fmt.Errorf("%d: %s", i, answer)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	send(t, target, vector.REST, say("echo hi"))
}
