package edge

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/impl/auth"
	"a2aserve/impl/call"
	"a2aserve/impl/wire"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logged is a log that may be read while handlers still write.
type logged struct {
	mu sync.Mutex // guards buf
	bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

func tokens(t *testing.T) Authenticator {
	t.Helper()
	s, err := auth.NewStatic([]auth.Token{
		{Secret: "tok-a", Principal: call.Principal{ID: "alice", Tenant: "acme", Scopes: []string{"send"}}},
		{Secret: "tok-b", Principal: call.Principal{ID: "bob"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := auth.New(auth.Options{Validators: []auth.Validator{s}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func start(t *testing.T, o Options, l Limits, h http.HandlerFunc) (*httptest.Server, *logged) {
	t.Helper()
	log := &logged{}
	o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.Binding = func(r *http.Request) wire.Binding {
		if r.URL.Path == "/rpc" {
			return wire.JSONRPC
		}
		return wire.REST
	}
	o.Public = func(r *http.Request) bool { return r.URL.Path == "/card" }
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = Server(Handler(o, h), l, o.Log)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv, log
}

func whoami(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, call.From(r.Context()).Principal.ID)
}

func do(t *testing.T, srv *httptest.Server, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := srv.Client().Do(req)
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

func TestAuthentication(t *testing.T) {
	srv, log := start(t, Options{Auth: tokens(t)}, Limits{}, whoami)
	for _, c := range []struct {
		name   string
		header []string
		who    string // empty: refused
		hint   string
	}{
		{"token", []string{"Authorization", "Bearer tok-a"}, "alice", ""},
		{"another", []string{"Authorization", "Bearer tok-b"}, "bob", ""},
		{"scheme in any case", []string{"authorization", "bearer tok-a"}, "alice", ""},
		{"spaces", []string{"Authorization", "  BEARER   tok-a  "}, "alice", ""},
		{"none", nil, "", ""},
		{"wrong", []string{"Authorization", "Bearer bad"}, "", `, error="invalid_token"`},
		{"prefix", []string{"Authorization", "Bearer tok-"}, "", `, error="invalid_token"`},
		{"empty", []string{"Authorization", "Bearer"}, "", `, error="invalid_token"`},
		{"other scheme", []string{"Authorization", "Basic dG9rLWE="}, "", ""},
		{"no scheme", []string{"Authorization", "tok-a"}, "", ""},
		{"two headers", []string{"Authorization", "Bearer tok-a", "Authorization", "Bearer tok-a"}, "", `, error="invalid_token"`},
		{"cookie", []string{"Cookie", "access_token=tok-a; Authorization=Bearer tok-a"}, "", ""},
		{"other header", []string{"X-Authorization", "Bearer tok-a"}, "", ""},
	} {
		for _, path := range []string{"/rpc", "/tasks/x?access_token=tok-a"} {
			res, body := do(t, srv, "POST", path, "", c.header...)
			if c.who != "" {
				if res.StatusCode != 200 || body != c.who {
					t.Errorf("%s %s: %d %s", c.name, path, res.StatusCode, body)
				}
				continue
			}
			if res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") != `Bearer realm="a2aserve"`+c.hint || strings.Contains(body, "tok-a") {
				t.Errorf("%s %s: %d %v %s", c.name, path, res.StatusCode, res.Header, body)
			}
			want := `{"error":{"code":401,"status":"UNAUTHENTICATED",`
			if path == "/rpc" {
				want = `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,`
			}
			if !strings.HasPrefix(body, want) || !strings.HasSuffix(res.Header.Get("Content-Type"), "json") {
				t.Errorf("%s %s: %s", c.name, path, body)
			}
		}
	}
	if res, _ := do(t, srv, "GET", "/card", ""); res.StatusCode != 200 || res.Header.Get("A2A-Version") != "1.0" {
		t.Errorf("the card: %d %v", res.StatusCode, res.Header)
	}
	if strings.Contains(log.text(), "tok-") || !strings.Contains(log.text(), "path=/tasks/x ") {
		t.Errorf("the log says %s", log.text())
	}
}

type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) { u.t.Error("the body was read"); return 0, io.EOF }

func TestIdentityComesBeforeEverythingElse(t *testing.T) {
	h := Handler(Options{Auth: tokens(t)}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }))
	r := httptest.NewRequest("POST", "/tasks/x", unread{t})
	r.ContentLength = 30 << 20
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 401 {
		t.Errorf("got %d", w.Code)
	}
}

func TestNoAuthenticationMeansAnonymous(t *testing.T) {
	srv, _ := start(t, Options{}, Limits{}, whoami)
	if _, body := do(t, srv, "GET", "/", "", "Authorization", "Bearer whatever"); body != call.Anonymous.ID {
		t.Errorf("got %q", body)
	}
}

func TestBodyCap(t *testing.T) {
	srv, _ := start(t, Options{MaxBody: 10}, Limits{}, func(w http.ResponseWriter, r *http.Request) {
		if _, err := wire.ReadBody(r); err != nil {
			wire.Errors{}.Write(w, r, wire.REST, nil, err)
		}
	})
	if res, body := do(t, srv, "POST", "/rpc", strings.Repeat("x", 11)); res.StatusCode != 413 || !strings.Contains(body, `"code":-32000`) {
		t.Errorf("declared: %d %s", res.StatusCode, body)
	}
	if res, _ := do(t, srv, "POST", "/x", strings.Repeat("x", 10)); res.StatusCode != 200 {
		t.Errorf("at the limit: %d", res.StatusCode)
	}
	req, _ := http.NewRequest("POST", srv.URL+"/x", io.MultiReader(strings.NewReader(strings.Repeat("x", 11)))) // length unknown
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 413 {
		t.Errorf("chunked: %d", res.StatusCode)
	}
}

func TestPanics(t *testing.T) {
	srv, log := start(t, Options{}, Limits{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			io.WriteString(w, "data: half")
			http.NewResponseController(w).Flush()
		}
		panic("secret plan")
	})
	if res, body := do(t, srv, "POST", "/rpc", ""); res.StatusCode != 200 || !strings.Contains(body, `"code":-32603`) || strings.Contains(body, "plan") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if res, body := do(t, srv, "GET", "/x", ""); res.StatusCode != 500 || !strings.Contains(body, `"status":"INTERNAL"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	res, err := srv.Client().Get(srv.URL + "/late")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("a broken response looks whole")
	}
	res.Body.Close()
	if n := strings.Count(log.text(), "secret plan"); n != 3 {
		t.Errorf("%d panics logged:\n%s", n, log.text())
	}
}

func TestServerLimits(t *testing.T) {
	srv, _ := start(t, Options{}, Limits{HeaderBytes: 8 << 10}, whoami)
	req, _ := http.NewRequest("GET", srv.URL, nil)
	req.Header.Set("X-Big", strings.Repeat("x", 32<<10))
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 431 {
		t.Errorf("a large header: %d", res.StatusCode)
	}
	srv, _ = start(t, Options{}, Limits{ReadHeader: 50 * time.Millisecond}, whoami)
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n")
	conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("an unfinished header is waited for: %v", err)
	}
}

func TestHTTP2WithoutTLS(t *testing.T) {
	srv, _ := start(t, Options{Auth: tokens(t)}, Limits{}, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto+" "+call.From(r.Context()).Principal.ID)
	})
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &p}
	defer tr.CloseIdleConnections()
	req, _ := http.NewRequest("GET", srv.URL, nil)
	req.Header.Set("Authorization", "Bearer tok-b")
	res, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, _ := io.ReadAll(res.Body); string(b) != "HTTP/2.0 bob" {
		t.Errorf("got %s", b)
	}
}
