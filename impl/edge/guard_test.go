package edge

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"
)

func TestCORS(t *testing.T) {
	hello := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }
	const app, evil = "https://app.example.com", "https://evil.example.com"
	for _, c := range []struct {
		name         string
		allowed      []string
		method       string
		header       []string
		status       int
		origin, rest string // Allow-Origin, and a header that is there
	}{
		{"preflight without credentials", []string{app}, "OPTIONS", []string{"Origin", app, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,a2a-version"}, 204, app, "Access-Control-Max-Age: 600"},
		{"its headers", []string{app}, "OPTIONS", []string{"Origin", app, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,a2a-version"}, 204, app, "Access-Control-Allow-Headers: authorization,a2a-version"},
		{"its methods", []string{app}, "OPTIONS", []string{"Origin", app, "Access-Control-Request-Method", "DELETE"}, 204, app, "Access-Control-Allow-Methods: GET, HEAD, POST, DELETE"},
		{"preflight of another", []string{app}, "OPTIONS", []string{"Origin", evil, "Access-Control-Request-Method", "POST"}, 204, "", ""},
		{"preflight where all may", []string{"*"}, "OPTIONS", []string{"Origin", evil, "Access-Control-Request-Method", "POST"}, 204, evil, ""},
		{"no preflight", []string{app}, "OPTIONS", []string{"Origin", app}, 401, app, ""},
		{"preflight where none may", nil, "OPTIONS", []string{"Origin", app, "Access-Control-Request-Method", "POST"}, 401, "", ""},
		{"call", []string{"https://other.example.com", app}, "POST", []string{"Origin", app, "Authorization", "Bearer tok-a"}, 200, app, "Access-Control-Expose-Headers: A2A-Version, A2A-Extensions, ETag, WWW-Authenticate, Retry-After, X-Request-Id"},
		{"refused call", []string{app}, "POST", []string{"Origin", app}, 401, app, "Vary: Origin"},
		{"call where all may", []string{"*"}, "POST", []string{"Origin", "null", "Authorization", "Bearer tok-a"}, 200, "null", ""},
		{"call of another", []string{app}, "POST", []string{"Origin", evil, "Authorization", "Bearer tok-a"}, 200, "", "Vary: Origin"},
		{"a longer name", []string{app}, "POST", []string{"Origin", app + ".evil.com", "Authorization", "Bearer tok-a"}, 200, "", ""},
		{"another port", []string{app}, "POST", []string{"Origin", app + ":8443", "Authorization", "Bearer tok-a"}, 200, "", ""},
		{"another scheme", []string{app}, "POST", []string{"Origin", "http://app.example.com", "Authorization", "Bearer tok-a"}, 200, "", ""},
		{"two origins", []string{app}, "POST", []string{"Origin", app, "Origin", evil, "Authorization", "Bearer tok-a"}, 200, "", ""},
		{"no page", []string{app}, "POST", []string{"Authorization", "Bearer tok-a"}, 200, "", "Vary: Origin"},
	} {
		srv, _ := start(t, Options{Auth: tokens(t), Guard: Guard{CORS: NewCORS(c.allowed)}}, Limits{}, hello)
		res, body := do(t, srv, c.method, "/rpc", "", c.header...)
		if res.StatusCode != c.status || res.Header.Get("Access-Control-Allow-Origin") != c.origin || res.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %d %v", c.name, res.StatusCode, res.Header)
		}
		if name, want, _ := strings.Cut(c.rest, ": "); res.Header.Get(name) != want {
			t.Errorf("%s: %s is %q", c.name, name, res.Header.Get(name))
		}
		if c.origin == "" {
			for name := range res.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s: %s is there", c.name, name)
				}
			}
		}
		if c.status == 204 && body != "" {
			t.Errorf("%s: %q", c.name, body)
		}
	}
}

// clock is a time that tests move.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

// LU-08: exactly the burst passes, however parallel, and once more what Retry-After says.
func TestRateIsExact(t *testing.T) {
	var c clock
	c.advance(time.Hour)
	srv, _ := start(t, Options{Auth: tokens(t), Guard: Guard{
		PerPrincipal: NewRate(RateOptions{PerMinute: 60, Burst: 20, Now: c.now}),
	}}, Limits{}, whoami)
	volley := func(token string) (passed int, retry string) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				req, _ := http.NewRequest("POST", srv.URL+"/rpc", nil)
				req.Header.Set("Authorization", "Bearer "+token)
				res, err := srv.Client().Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				defer res.Body.Close()
				b, _ := io.ReadAll(res.Body)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case res.StatusCode == 200:
					passed++
				case res.StatusCode != 429 || !strings.Contains(string(b), `"code":-32000`) || !strings.Contains(string(b), `"reason":"TOO_MANY_REQUESTS"`):
					t.Errorf("%d %s", res.StatusCode, b)
				default:
					retry = res.Header.Get("Retry-After")
				}
			})
		}
		wg.Wait()
		return passed, retry
	}
	if n, retry := volley("tok-a"); n != 20 || retry != "1" {
		t.Errorf("%d passed, Retry-After %q", n, retry)
	}
	if n, _ := volley("tok-b"); n != 20 {
		t.Errorf("%d of another caller passed", n)
	}
	c.advance(time.Second)
	if n, _ := volley("tok-a"); n != 1 {
		t.Errorf("%d passed after the time in Retry-After", n)
	}
	c.advance(500 * time.Millisecond)
	if n, retry := volley("tok-a"); n != 0 || retry != "1" {
		t.Errorf("%d passed too early, Retry-After %q", n, retry)
	}
	c.advance(time.Hour)
	if n, _ := volley("tok-a"); n != 20 {
		t.Errorf("%d passed after a long silence", n)
	}
	if res, _ := do(t, srv, "GET", "/card", ""); res.StatusCode != 200 {
		t.Errorf("the card: %d", res.StatusCode)
	}
}

// A caller that waits as long as it is told is let through, whatever the rate.
func TestRetryAfterIsEnough(t *testing.T) {
	for _, perMinute := range []int{1, 7, 59, 61, 1000, 1_000_000} {
		var c clock
		r := NewRate(RateOptions{PerMinute: perMinute, Burst: 1, Now: c.now})
		for i := range 100 {
			if wait := r.take("a"); wait != 0 {
				t.Fatalf("%d a minute: not let through at %d, %v too early", perMinute, i, wait)
			}
			e, ok := errors.AsType[*a2a.Error](r.check("a", "caller"))
			if !ok || e.Type != a2a.TooManyRequestsError || e.RetryAfter <= 0 {
				t.Fatalf("%d a minute: %v", perMinute, e)
			}
			c.advance((e.RetryAfter + time.Second - 1).Truncate(time.Second)) // as it is sent
		}
	}
}

func TestRatePerAddress(t *testing.T) {
	var c clock
	proxy := Forwarded{Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	asked := 0
	srv, _ := start(t, Options{Auth: counting{&asked, tokens(t)}, Guard: Guard{
		PerAddress: NewRate(RateOptions{PerMinute: 60, Burst: 2, Now: c.now}), Address: proxy.Client,
	}}, Limits{}, whoami)
	statuses := func(header ...string) (s string) {
		for range 3 {
			res, _ := do(t, srv, "GET", "/tasks/x", "", append([]string{"Authorization", "Bearer bad"}, header...)...)
			s += strconv.Itoa(res.StatusCode) + " "
		}
		return s
	}
	for _, from := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::1"} {
		if s := statuses("X-Forwarded-For", from); s != "401 401 429 " {
			t.Errorf("%s: %s", from, s)
		}
	}
	if asked != 8 {
		t.Errorf("%d credentials were looked at", asked)
	}
	// What a client puts in front, and the rest of its network, are the same caller.
	for _, from := range []string{"198.51.100.1, 192.0.2.1", "2001:db8::ffff"} {
		if s := statuses("X-Forwarded-For", from); s != "429 429 429 " {
			t.Errorf("%s: %s", from, s)
		}
	}
}

type counting struct {
	n *int
	Authenticator
}

func (c counting) Authenticate(r *http.Request) (call.Principal, error) {
	*c.n++
	return c.Authenticator.Authenticate(r)
}

func TestBucketsAreForgotten(t *testing.T) {
	var c clock
	r := NewRate(RateOptions{PerMinute: 60, Burst: 5, Callers: 1000, Now: c.now})
	r.take("first")
	for i := range 20_000 {
		r.take(fmt.Sprint(i))
		if n := r.recent.Len(); n > 1000 || n != len(r.byKey) {
			t.Fatalf("%d buckets, %d names", n, len(r.byKey))
		}
	}
	// Who comes often is not pushed out by the crowd.
	for range 5 {
		r.take("often")
	}
	for i := range 999 {
		r.take(fmt.Sprint("crowd", i))
	}
	if r.take("often") == 0 {
		t.Error("the bucket of a caller that has just called was forgotten")
	}
	c.advance(5 * time.Second)
	for range 100 {
		r.take("last")
	}
	if n := r.recent.Len(); n != 1 {
		t.Errorf("%d buckets after all were full again", n)
	}
}

func TestConcurrentRequests(t *testing.T) {
	inside, release := make(chan bool), make(chan bool)
	srv, _ := start(t, Options{Auth: tokens(t), Guard: Guard{MaxConcurrent: 2}}, Limits{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(200)
			http.NewResponseController(w).Flush()
		case "/panic":
			panic("oh")
		case "/card", "/quick":
			return
		}
		inside <- true
		<-release
	})
	var wg sync.WaitGroup
	get := func(path string) {
		wg.Go(func() {
			if res, _ := do(t, srv, "GET", path, "", "Authorization", "Bearer tok-a"); res.StatusCode != 200 {
				t.Errorf("%s: %d", path, res.StatusCode)
			}
		})
		<-inside
	}
	for range 5 { // streams leave the count when they begin
		get("/stream")
	}
	get("/slow")
	if res, _ := do(t, srv, "GET", "/panic", "", "Authorization", "Bearer tok-a"); res.StatusCode != 500 {
		t.Errorf("panic: %d", res.StatusCode)
	}
	get("/slow")
	res, body := do(t, srv, "POST", "/rpc", "", "Authorization", "Bearer tok-a")
	if res.StatusCode != 503 || res.Header.Get("Retry-After") != "1" || !strings.Contains(body, `"code":-32000`) {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, body)
	}
	if res, _ := do(t, srv, "POST", "/rpc", ""); res.StatusCode != 401 {
		t.Errorf("without credentials: %d", res.StatusCode)
	}
	if res, _ := do(t, srv, "GET", "/card", ""); res.StatusCode != 200 {
		t.Errorf("the card: %d", res.StatusCode)
	}
	close(release)
	wg.Wait()
	if res, _ := do(t, srv, "GET", "/quick", "", "Authorization", "Bearer tok-a"); res.StatusCode != 200 {
		t.Errorf("after room was made: %d", res.StatusCode)
	}
}

func TestEveryAnswerIsHardened(t *testing.T) {
	srv, _ := start(t, Options{Auth: tokens(t), Guard: Guard{HSTS: time.Hour}}, Limits{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/card":
			w.Header().Set("Cache-Control", "public, max-age=300")
		case "/panic":
			panic("oh")
		}
	})
	for path, token := range map[string]string{"/rpc": "tok-a", "/card": "", "/panic": "tok-a", "/tasks/x": "bad"} {
		res, _ := do(t, srv, "GET", path, "", "Authorization", "Bearer "+token)
		cache := "no-store"
		if path == "/card" {
			cache = "public, max-age=300"
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'",
			"Referrer-Policy": "no-referrer", "Cache-Control": cache, "Strict-Transport-Security": ""} { // without TLS it means nothing
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s %d: %s is %q", path, res.StatusCode, name, got)
			}
		}
	}
}
