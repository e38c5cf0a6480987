package app_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/impl/app"
	"a2aserve/impl/card"
	"a2aserve/impl/config"
)

const behindProxy = "proxy: {trusted_cidrs: [127.0.0.0/8]}\n"

// Case CD-01: behind a trusted proxy the card names the address that the client used, and
// each address has its own tag.
func TestCardBehindAProxy(t *testing.T) {
	for _, bind := range []string{"", "bind: 0.0.0.0:0\n"} {
		a, _ := start(t, configuration(t, behindProxy+bind), app.Options{})
		at := func(header ...string) (*http.Response, string) {
			t.Helper()
			resp, body := do(t, "GET", local(t, a)+card.Path, "", header...)
			if resp.StatusCode != 200 || strings.Contains(body, "0.0.0.0") {
				t.Errorf("got %d %s", resp.StatusCode, body)
			}
			if vary := strings.Join(resp.Header.Values("Vary"), ", "); !strings.Contains(vary, "X-Forwarded-Host") || !strings.Contains(vary, "Forwarded,") {
				t.Errorf("Vary: %s", vary)
			}
			return resp, body
		}
		outer, body := at("X-Forwarded-Proto", "https", "X-Forwarded-Host", "agents.example.com", "X-Forwarded-Prefix", "/one")
		if !strings.Contains(body, `"url":"https://agents.example.com/one/a2a"`) || !strings.Contains(body, `"url":"https://agents.example.com/one/a2a/v1"`) {
			t.Errorf("got %s", body)
		}
		standard, body := at("Forwarded", `for=192.0.2.1;proto=https;host="other.example.com"`)
		if !strings.Contains(body, `"url":"https://other.example.com/a2a"`) {
			t.Errorf("got %s", body)
		}
		direct, body := at()
		if !strings.Contains(body, `"url":"`+local(t, a)+`/a2a"`) {
			t.Errorf("got %s, asked at %s", body, local(t, a))
		}
		nonsense, body := at("X-Forwarded-Host", "0.0.0.0:80")
		if !strings.Contains(body, `"url":"`+local(t, a)+`/a2a"`) {
			t.Errorf("got %s, asked at %s", body, local(t, a))
		}
		tags := map[string]bool{}
		for _, r := range []*http.Response{outer, standard, direct} {
			tags[r.Header.Get("ETag")] = true
		}
		if len(tags) != 3 || nonsense.Header.Get("ETag") != direct.Header.Get("ETag") {
			t.Errorf("tags %v and %s", tags, nonsense.Header.Get("ETag"))
		}
	}
}

// Who is no trusted proxy cannot say what the card names; and public_url is what it says,
// whoever asks.
func TestCardDoesNotFollowStrangers(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "proxy: {trusted_cidrs: [192.0.2.0/24]}\n": "",
		behindProxy + "public_url: https://agent.example.com/\n": "https://agent.example.com",
	} {
		a, _ := start(t, configuration(t, text), app.Options{})
		if want == "" {
			want = a.URL()
		}
		_, plain := do(t, "GET", local(t, a)+card.Path, "")
		resp, body := do(t, "GET", local(t, a)+card.Path, "", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil.example", "Forwarded", "host=evil.example;proto=https", "X-Forwarded-Prefix", "/evil")
		if body != plain || !strings.Contains(body, `"url":"`+want+`/a2a"`) || strings.Contains(body, "evil") || resp.StatusCode != 200 {
			t.Errorf("%q: got %s", text, body)
		}
	}
}

func extended(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "extended.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const more = `{"name":"Fuller","description":"D","version":"2","skills":[{"id":"secret","name":"S","description":"Only for partners.","tags":["t"]}],"capabilities":{"pushNotifications":true}}`

// The extended card is checked like the other one before anything is opened, and it too
// names the address that its caller used.
func TestExtendedCardFile(t *testing.T) {
	cfg := configuration(t, "bearer_token: s3cret\nextended_card_file: "+extended(t, `{"name":"Fuller"}`)+"\n")
	if _, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "extended.json: skills: ") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(cfg.Store.Path); err == nil {
		t.Error("a database was made all the same")
	}
	a, _ := start(t, configuration(t, "bearer_token: s3cret\n"+behindProxy+"extended_card_file: "+extended(t, more)+"\n"), app.Options{})
	resp, body := do(t, "GET", a.URL()+"/a2a/v1/extendedAgentCard", "", "Authorization", "Bearer s3cret", "X-Forwarded-Host", "outer.example.com", "X-Forwarded-Proto", "https")
	if resp.StatusCode != 200 || !strings.Contains(body, `"id":"secret"`) || !strings.Contains(body, `"https://outer.example.com/a2a"`) || !strings.Contains(body, `"extendedAgentCard":true`) || !strings.Contains(body, `"pushNotifications":false`) {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
}

// logged is a log that can be waited for.
type logged struct {
	mu    sync.Mutex // guards buf
	buf   bytes.Buffer
	wrote chan struct{}
}

func newLogged() *logged { return &logged{wrote: make(chan struct{}, 1000)} }

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrote <- struct{}{}
	return l.buf.Write(b)
}

// waitFor returns the line with one of the texts in it.
func (l *logged) waitFor(t *testing.T, texts ...string) string {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		l.mu.Lock()
		all := l.buf.String()
		l.mu.Unlock()
		for line := range strings.Lines(all) {
			for _, text := range texts {
				if strings.Contains(line, text) {
					return line
				}
			}
		}
		select {
		case <-l.wrote:
		case <-deadline:
			t.Fatalf("none of %q in\n%s", texts, all)
		}
	}
}

const (
	found   = "the addresses in the Agent Card lead here"
	missing = "does not find itself"
)

// What the card names is tried at start: directly, through a real proxy that takes a prefix
// off, and where something else answers or nothing does.
func TestAddressesAreTried(t *testing.T) {
	app.ProbeAtOnce(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }))
	defer other.Close()
	moved := httptest.NewServer(http.RedirectHandler("https://elsewhere.example/", http.StatusFound))
	defer moved.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"directly":            {"bearer_token: s3cret\ncard_requires_auth: true\n", []string{found, "url=http://127.0.0.1:"}},
		"something else":      {"public_url: " + other.URL + "\n", []string{missing, "something else answers, with 200 OK"}},
		"a redirection":       {"public_url: " + moved.URL + "\n", []string{missing, "it redirects to", "elsewhere.example"}},
		"nothing":             {"public_url: http://" + l.Addr().String() + "\n", []string{missing, "refused"}},
		"nobody can be asked": {"bind: 0.0.0.0:0\n" + behindProxy, []string{"there is none to be checked"}},
	} {
		t.Run(name, func(t *testing.T) {
			log := newLogged()
			start(t, configuration(t, c.text), app.Options{Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
			line := log.waitFor(t, found, missing, "none to be checked")
			for _, w := range c.want {
				if !strings.Contains(line, w) {
					t.Errorf("want %q in %s", w, line)
				}
			}
		})
	}
}

func TestAddressIsTriedThroughAProxy(t *testing.T) {
	app.ProbeAtOnce(t)
	var inner *url.URL
	known := make(chan struct{})
	proxy := httptest.NewServer(http.StripPrefix("/agents/one", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-known
		httputil.NewSingleHostReverseProxy(inner).ServeHTTP(w, r)
	})))
	defer proxy.Close()
	log := newLogged()
	a, _ := start(t, configuration(t, "public_url: "+proxy.URL+"/agents/one/\n"), app.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	var err error
	if inner, err = url.Parse(local(t, a)); err != nil {
		t.Fatal(err)
	}
	close(known)
	if line := log.waitFor(t, found, missing); !strings.Contains(line, found) || !strings.Contains(line, proxy.URL+"/agents/one") {
		t.Errorf("got %s", line)
	}
}

// Nobody but the server itself gets the answer to the server's question.
func TestProbeTellsStrangersNothing(t *testing.T) {
	a, _ := start(t, configuration(t, ""), app.Options{})
	for _, q := range []string{"", "x"} {
		resp, body := do(t, "GET", local(t, a)+card.Path, "", "A2aserve-Probe", q)
		if resp.StatusCode != 200 || resp.Header.Get("A2aserve-Probe") != "" || body == "" {
			t.Errorf("%q: got %d %v", q, resp.StatusCode, resp.Header)
		}
	}
}

func TestAddressWarnings(t *testing.T) {
	signed := strings.TrimSuffix(more, "}") + `,"signatures":[{"protected":"e30","signature":"AA"}]}`
	text := "agent: {driver: demo}\ncard_file: " + extended(t, signed) + "\nproxy: {trusted_cidrs: [0.0.0.0/0]}\nbind: 127.0.0.1:0\nstore: {path: " + filepath.Join(t.TempDir(), "x.db") + "}\n"
	cfg, err := config.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	log := newLogged()
	start(t, cfg, app.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	log.waitFor(t, "signatures: left out")
	log.waitFor(t, "proxy.trusted_cidrs holds every address")
}
