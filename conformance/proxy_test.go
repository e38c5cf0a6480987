package conformance

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"a2aserve/conformance/certs"
	"a2aserve/conformance/vector"
)

const (
	outerHost = "agent.example.com"
	behind    = "proxy: {trusted_cidrs: [127.0.0.0/8]}\n"
)

// edited is the recipe with this test's values in the place of those of a real machine.
// A line that is not there any more is a mistake: the recipe has changed.
func edited(t *testing.T, recipe string, changes map[string]string) string {
	t.Helper()
	for from, to := range changes {
		if strings.Count(recipe, from) != 1 {
			t.Fatalf("the recipe has %q %d times", from, strings.Count(recipe, from))
		}
		recipe = strings.Replace(recipe, from, to, 1)
	}
	return recipe
}

// nginx starts a real one with the recipe of examples/proxy before a target, and returns
// the target as clients beyond it see it. changes are made to the recipe.
func nginx(t *testing.T, target *vector.Target, h2 bool, changes map[string]string) *vector.Target {
	t.Helper()
	program := need(t, "nginx")
	recipe, err := os.ReadFile("../examples/proxy/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	dir, ca := t.TempDir(), certs.NewAuthority(t, "authority")
	cert, key := ca.Server("proxy").Write(t, dir)
	addr := freeAddress(t)
	all := map[string]string{
		"server 127.0.0.1:8091;":                 "server " + strings.TrimPrefix(target.Origin, "http://") + ";",
		"    listen 443 ssl http2;":              "    listen " + addr + " ssl http2;",
		"/etc/ssl/certs/agent.example.com.pem":   cert,
		"/etc/ssl/private/agent.example.com.key": key,
	}
	for from, to := range changes {
		all[from] = to
	}
	main := fmt.Sprintf(`%s
daemon off;
pid %[2]s/pid;
error_log stderr warn;
events {}
http {
    access_log off;
    client_body_temp_path %[2]s/body;
    proxy_temp_path %[2]s/proxy;
    fastcgi_temp_path %[2]s/fastcgi;
    uwsgi_temp_path %[2]s/uwsgi;
    scgi_temp_path %[2]s/scgi;
    %[3]s
}
`, asRoot(), dir, edited(t, string(recipe), all))
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(main), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, exec.Command(program, "-p", dir, "-c", file, "-e", "stderr"), addr)
	tr := &http.Transport{
		// The name is the outer one, wherever it leads here.
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
		TLSClientConfig:   &tls.Config{RootCAs: ca.Pool, ServerName: "localhost"},
		ForceAttemptHTTP2: h2,
	}
	t.Cleanup(tr.CloseIdleConnections)
	out := *target
	out.Origin, out.Client = "https://"+outerHost, &http.Client{Transport: tr}
	return &out
}

// asRoot keeps workers from becoming somebody who may not enter a test's folder.
func asRoot() string {
	if os.Geteuid() == 0 {
		return "user root;"
	}
	return ""
}

// freeAddress is one that nobody listens on at this moment.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// run starts a daemon for the time of the test and waits until it listens.
func run(t *testing.T, cmd *exec.Cmd, addr string) {
	t.Helper()
	var says bytes.Buffer
	cmd.Stdout, cmd.Stderr = &says, &says
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if t.Failed() {
			t.Logf("%s says:\n%s", cmd.Path, &says)
		}
	})
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s has ended:\n%s", cmd.Path, &says)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// waitFor reads frames until the task is in a state.
func waitFor(t *testing.T, s *vector.Stream, state string) (id string) {
	t.Helper()
	for {
		f, err := parseAs[frame](s.Next())
		if err != nil {
			t.Fatalf("before %s: %v", state, err)
		}
		switch {
		case f.Task != nil:
			if id = f.Task.ID; f.Task.Status.State == state {
				return id
			}
		case f.StatusUpdate != nil:
			if f.StatusUpdate.Status.State == state {
				return f.StatusUpdate.TaskID
			}
		}
	}
}

// Through nginx frames arrive one by one: the question is read while its stream is open,
// and only the answer to it makes the rest. Over HTTP/1.1 and HTTP/2.
func TestFramesThroughNginx(t *testing.T) {
	inner := serve(t, tokens+behind)
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			target := nginx(t, inner, h2, nil)
			if res, _ := ask(t, target, "GET", "/.well-known/agent-card.json", ""); (res.ProtoMajor == 2) != h2 {
				t.Errorf("the proxy speaks %s", res.Proto)
			}
			eachBinding(t, func(t *testing.T, b vector.Binding) {
				s, err := target.Open(t.Context(), b, "SendStreamingMessage", "alice", say("ask Colour? [red|blue]"))
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				id := waitFor(t, s, "TASK_STATE_INPUT_REQUIRED")
				reader, err := target.Open(t.Context(), b, "SubscribeToTask", "alice", `{"id":"`+id+`"}`)
				if err != nil {
					t.Fatal(err)
				}
				defer reader.Close()
				waitFor(t, reader, "TASK_STATE_INPUT_REQUIRED")
				answer := `{"message":{"messageId":"m2","role":"ROLE_USER","taskId":"` + id + `","parts":[{"text":"red"}]}}`
				if _, err := target.Call(t.Context(), b, "SendMessage", "alice", answer); err != nil {
					t.Fatal(err)
				}
				for _, s := range []*vector.Stream{s, reader} {
					if _, state, err := ends(s); state != "TASK_STATE_COMPLETED" || err != nil {
						t.Errorf("the stream ends with %s, %v", state, err)
					}
				}
			})
		})
	}
}

// The card names the address that clients use, whatever they write into the headers that
// proxies speak to servers with; refusals come through in the protocol's form.
func TestOuterAddressThroughNginx(t *testing.T) {
	target := nginx(t, serve(t, tokens+behind), true, nil)
	lies := []string{"X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "http", "X-Forwarded-Port", "81", "X-Forwarded-Prefix", "/evil",
		"Forwarded", "host=evil.example;proto=http", "X-Forwarded-For", "127.0.0.1"}
	for name, headers := range map[string][]string{"honest": nil, "lying": lies} {
		_, body := ask(t, target, "GET", "/.well-known/agent-card.json", "", headers...)
		if !strings.Contains(body, `"url":"https://agent.example.com/a2a"`) || !strings.Contains(body, `"url":"https://agent.example.com/a2a/v1"`) || strings.Contains(body, "evil") {
			t.Errorf("%s: %s", name, body)
		}
	}
	large := say(strings.Repeat("x", 4<<20))
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		if r := refused(t, fails(target.Call(t.Context(), b, "SendMessage", "nobody", say("echo hi")))); r.HTTP != 401 || !strings.Contains(string(r.Body), `"UNAUTHENTICATED"`) {
			t.Errorf("without a token: %v", r)
		}
		if r := refused(t, fails(target.Call(t.Context(), b, "SendMessage", "alice", large))); r.HTTP != 413 || !strings.Contains(string(r.Body), `"PAYLOAD_TOO_LARGE"`) {
			t.Errorf("a large message: %v", r)
		}
		if r := refused(t, fails(target.Call(t.Context(), b, "GetTask", "alice", `{"id":"a/b%2Fc.."}`))); r.Reason != "TASK_NOT_FOUND" {
			t.Errorf("an id with slashes: %v", r)
		}
	})
}

func fails(_ []byte, err error) error { return err }

// A stream on which nothing happens outlives the proxy's patience, because comments are
// sent; without them it is cut. In check the times are scaled down, in soak they are the
// recipe's and the server's own.
func TestSilentStreamThroughNginx(t *testing.T) {
	silence, limits := 2500*time.Millisecond, "limits: {keep_alive: 200ms}\n"
	changes := map[string]string{"proxy_read_timeout 60s;": "proxy_read_timeout 1s;"}
	if soaking() {
		silence, limits, changes = 150*time.Second, "", nil
	}
	warm := nginx(t, serve(t, tokens+behind+limits), true, changes)
	cold := nginx(t, serve(t, tokens+behind+"limits: {keep_alive: 1h}\n"), true, changes)
	for name, target := range map[string]*vector.Target{"warm": warm, "cold": cold} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := target.Open(t.Context(), vector.REST, "SendStreamingMessage", "alice", say(fmt.Sprintf("slow %d done", silence.Milliseconds())))
			if err != nil {
				t.Fatal(err)
			}
			_, state, err := ends(s)
			if name == "warm" && (state != "TASK_STATE_COMPLETED" || err != nil || s.Comment < 2) {
				t.Errorf("the stream ends with %s, %v after %d comments", state, err, s.Comment)
			}
			if name == "cold" && state == "TASK_STATE_COMPLETED" {
				t.Error("the proxy does not cut a silent stream: this test shows nothing")
			}
		})
	}
}
