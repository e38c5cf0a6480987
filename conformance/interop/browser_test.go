package interop

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// blocked is what a step that the browser did not let through leaves.
type blocked struct {
	Blocked string `json:"blocked"`
}

type restError struct {
	Code    int    `json:"code"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// found is what browser/page.js reports of each of its steps.
type found struct {
	Card struct {
		blocked
		Name string `json:"name"`
	} `json:"card"`
	Send struct {
		blocked
		Status    int    `json:"status"`
		Version   string `json:"A2A-Version"`
		RequestID string `json:"X-Request-Id"`
		Task      struct {
			Status struct {
				State string `json:"state"`
			} `json:"status"`
		} `json:"task"`
	} `json:"send"`
	REST            json.RawMessage `json:"rest"`
	JSONRPC         json.RawMessage `json:"jsonrpc"`
	Unauthenticated struct {
		blocked
		Status    int       `json:"status"`
		Challenge string    `json:"WWW-Authenticate"`
		Error     restError `json:"error"`
	} `json:"unauthenticated"`
	Push struct {
		blocked
		Status int       `json:"status"`
		Error  restError `json:"error"`
	} `json:"push"`
	Extension struct {
		blocked
		Active   string `json:"A2A-Extensions"`
		Thoughts int    `json:"thoughts"`
	} `json:"extension"`
	Leaving json.RawMessage `json:"leaving"`
	Cookies json.RawMessage `json:"cookies"`
}

// A page of another origin in a real browser: what the browser lets it send and read, and
// when. Nothing drives the browser; the page posts what it found to the test.
func TestBrowserOfAnotherOrigin(t *testing.T) {
	t.Parallel()
	chromium := need(t, "chromium")
	reports := make(chan [2]string, 2)
	pages := http.NewServeMux()
	pages.Handle("GET /", http.FileServer(http.Dir("browser")))
	pages.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		reports <- [2]string{r.URL.Path, string(body)}
	})
	site := httptest.NewServer(pages)
	t.Cleanup(site.Close)
	origin := serve(t, tokens+"cors_origins: ["+site.URL+"]\n")
	page := "/page.html?server=" + url.QueryEscape(origin)

	allowed := browse(t, chromium, site.URL+page, reports)
	var got found
	if err := json.Unmarshal([]byte(allowed["/found"]), &got); err != nil {
		t.Fatalf("%v: %s", err, allowed)
	}
	if got.Card.Name != "Interop agent" {
		t.Errorf("card: %+v", got.Card)
	}
	if s := got.Send; s.Status != 200 || s.Version != "1.0" || s.RequestID == "" || s.Task.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("send: %+v", s)
	}
	for name, raw := range map[string]json.RawMessage{"HTTP+JSON": got.REST, "JSON-RPC": got.JSONRPC} {
		var frames []string
		json.Unmarshal(raw, &frames)
		asked := slices.Index(frames, "TASK_STATE_INPUT_REQUIRED")
		answered := slices.Index(frames, "answered 200")
		said := slices.Index(frames, "You said: yes")
		if asked < 0 || answered != asked+1 || said < answered || frames[len(frames)-1] != "TASK_STATE_COMPLETED" {
			t.Errorf("stream over %s: %s", name, raw)
		}
	}
	if u := got.Unauthenticated; u.Status != 401 || !strings.HasPrefix(u.Challenge, "Bearer") || u.Error.Status != "UNAUTHENTICATED" {
		t.Errorf("wrong token: %+v", u)
	}
	if p := got.Push; p.Status != 400 || p.Error.Message == "" {
		t.Errorf("DELETE: %+v", p)
	}
	if e := got.Extension; e.Active != telemetry || e.Thoughts != 2 {
		t.Errorf("extension: %+v", e)
	}
	if string(got.Leaving) != `["TASK_STATE_WORKING","TASK_STATE_CANCELED"]` {
		t.Errorf("leaving a stream: %s", got.Leaving)
	}
	// What a browser adds by itself is never let through, so a page cannot borrow it.
	if !strings.Contains(string(got.Cookies), "blocked") {
		t.Errorf("with cookies: %s", got.Cookies)
	}

	// The same page under another name is another origin, which nobody allowed.
	other := strings.Replace(site.URL, "127.0.0.1", "localhost", 1)
	denied := browse(t, chromium, other+page+"#refused", reports)
	var none found
	if err := json.Unmarshal([]byte(denied["/refused"]), &none); err != nil {
		t.Fatalf("%v: %s", err, denied)
	}
	if none.Send.Blocked == "" || none.Card.Blocked == "" {
		t.Errorf("a page that is not allowed reads %+v", none)
	}
}

// browse opens a page and waits for its report.
func browse(t *testing.T, chromium, page string, reports <-chan [2]string) map[string]string {
	t.Helper()
	c := exec.Command(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
		"--enable-logging=stderr", "--user-data-dir="+t.TempDir(), page)
	// The browser is several processes; they are a group, so that none is left.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var log strings.Builder
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() {
		syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		c.Wait()
	}
	select {
	case r := <-reports:
		end()
		return map[string]string{r[0]: r[1]}
	case <-time.After(90 * time.Second):
		end()
		t.Fatalf("the page reports nothing\n%s", log.String())
		return nil
	}
}
