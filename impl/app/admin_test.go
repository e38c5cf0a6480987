package app_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/impl/app"
	"a2aserve/impl/config"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

const twoCallers = `auth: {validators: [{type: static, tokens: [{token: tok-a, principal: alice}, {token: tok-b, principal: bob}]}]}
`

// Every metric is there after some traffic, under a conventional name, and no label holds
// what a caller has made up.
func TestMetrics(t *testing.T) {
	a, _ := start(t, configuration(t, "admin: {bind: \"127.0.0.1:0\"}\ntasks: {max_per_context: 1}\n"+twoCallers), app.Options{})
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	send := func(text, context string) string {
		return `{"message":{"messageId":"m","contextId":"` + context + `","role":"ROLE_USER","parts":[{"text":"` + text + `"}]}}`
	}
	for range 3 {
		do(t, "POST", a.URL()+"/a2a/v1/message:send", send("echo hi", "c"), as("tok-a")...)
	}
	do(t, "POST", a.URL()+"/a2a/v1/message:send", send("ask which?", "parked"), as("tok-a")...)
	do(t, "POST", a.URL()+"/a2a", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"invented-id"}}`, as("tok-b")...)
	do(t, "POST", a.URL()+"/a2a", `{"jsonrpc":"2.0","id":1,"method":"InventedMethod"}`, as("tok-b")...)
	do(t, "INVENTED", a.URL()+"/invented/path", "", as("tok-b")...)
	do(t, "GET", a.URL()+"/a2a/v1/tasks", "", as("invented")...)

	scrape := func() string {
		resp, body := do(t, "GET", "http://"+a.AdminAddr().String()+"/metrics", "")
		if resp.StatusCode != 200 {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		return body
	}
	wants := []string{
		`a2aserve_turns_total{state="completed"} 3`, `a2aserve_turns_total{state="rejected"} 0`,
		"a2aserve_turns_in_flight 1", "a2aserve_turns_parked 1", "a2aserve_run_queue_length 0", "a2aserve_subscribers 0",
		"a2aserve_tasks_failing 0", `a2aserve_turn_duration_seconds_count{state="completed"} 3`,
		"a2aserve_journal_queue_length 0", "a2aserve_journal_commit_duration_seconds_count ", "a2aserve_journal_group_size_sum ",
		"a2aserve_journal_commit_failures_total 0", "a2aserve_store_size_bytes ", "a2aserve_tasks_evicted_total 2",
		`a2aserve_auth_refusals_total{code="UNAUTHENTICATED"} 1`, `a2aserve_auth_refusals_total{code="PERMISSION_DENIED"} 0`,
		"a2aserve_rate_limited_total 0", `a2aserve_build_info{`, "go_goroutines ",
		`a2aserve_requests_total{binding="rest",code="OK",operation="SendMessage"} 4`,
		`a2aserve_requests_total{binding="jsonrpc",code="TASK_NOT_FOUND",operation="GetTask"} 1`,
		`a2aserve_requests_total{binding="jsonrpc",code="METHOD_NOT_FOUND",operation="none"} 1`,
		`http_server_request_duration_seconds_count{http_request_method="POST",http_response_status_code="200",http_route="/a2a/v1/message:send",url_scheme="http"} 4`,
		`http_request_method="_OTHER"`,
	}
	// An answer is counted once it is out, so the last ones may be missing at first.
	var page string
	var missing []string
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		page = scrape()
		missing = slices.DeleteFunc(slices.Clone(wants), func(want string) bool { return strings.Contains(page, want) })
		if len(missing) == 0 || time.Now().After(deadline) {
			break
		}
	}
	if len(missing) > 0 {
		t.Errorf("%q are not in\n%s", missing, page)
	}
	if low := strings.ToLower(page); strings.Contains(low, "invented") || strings.Contains(low, "alice") {
		t.Errorf("a label holds what a caller made up or who it is:\n%s", page)
	}
	doc, err := os.ReadFile("../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE ((?:a2aserve|http)_\w+)`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(string(doc), "`"+m[1]+"`") {
			t.Errorf("%s is not explained in docs/observability.md", m[1])
		}
	}
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// Health is about the process, readiness about new requests: it ends with the drain, while
// a turn goes on and the stream is still open.
func TestReadiness(t *testing.T) {
	a, stop := start(t, configuration(t, "admin: {bind: \"127.0.0.1:0\"}\nshutdown_timeout: 1m\n"), app.Options{})
	admin := "http://" + a.AdminAddr().String()
	look := func(path string) (int, string) {
		resp, body := do(t, "GET", admin+path, "")
		return resp.StatusCode, strings.TrimSpace(body)
	}
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ready"} {
		if status, body := look(path); status != 200 || body != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _ := look("/a2a/v1/tasks"); status != 404 {
		t.Errorf("the protocol on the operators' address: %d", status)
	}
	if resp, _ := do(t, "GET", a.URL()+"/metrics", ""); resp.StatusCode != 404 {
		t.Errorf("metrics on the callers' address: %d", resp.StatusCode)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", a.URL()+"/a2a/v1/message:stream",
		strings.NewReader(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"slow 600000 x"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, id, _ := strings.Cut(first(t, resp.Body), `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if _, page := look("/metrics"); !strings.Contains(page, "a2aserve_subscribers 1\n") || !strings.Contains(page, "a2aserve_turns_in_flight 1\n") {
		t.Errorf("one stream follows one turn in\n%s", page)
	}
	done := make(chan error, 1)
	go func() { done <- stop() }()
	eventually(t, "not ready", func() bool {
		status, body := look("/readyz")
		return status == 503 && body == "draining"
	})
	if status, body := look("/healthz"); status != 200 || body != "ok" {
		t.Errorf("draining is no illness: %d %s", status, body)
	}
	if resp, body := do(t, "POST", a.URL()+"/a2a/v1/tasks/"+id+":cancel", "{}"); resp.StatusCode != 200 {
		t.Errorf("cancelling while draining: %d %s", resp.StatusCode, body)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(admin + "/healthz"); err == nil {
		t.Error("a server that has ended answers")
	}
}

// first is the first event of a stream.
func first(t *testing.T, r io.Reader) string {
	t.Helper()
	var got []byte
	for b := make([]byte, 1); !bytes.HasSuffix(got, []byte("\n\n")); got = append(got, b[0]) {
		if _, err := io.ReadFull(r, b); err != nil {
			t.Fatal(err)
		}
	}
	return string(got)
}

// Other machines are let at metrics only where somebody has said so.
func TestAdminAddress(t *testing.T) {
	for text, fine := range map[string]bool{
		"admin: {bind: \"127.0.0.1:0\"}":                   true,
		"admin: {bind: \"[::1]:0\"}":                       true,
		"admin: {bind: \"localhost:0\"}":                   true,
		"admin: {bind: \"0.0.0.0:0\"}":                     false,
		"admin: {bind: \":9091\"}":                         false,
		"admin: {bind: \"metrics.example.com:9091\"}":      false,
		"admin: {bind: \"0.0.0.0:0\", allow_remote: true}": true,
	} {
		_, err := config.Parse("test.yaml", []byte(agent+text))
		if (err == nil) != fine || err != nil && !strings.Contains(err.Error(), "admin.bind") {
			t.Errorf("%s: %v", text, err)
		}
	}
	a, _ := start(t, configuration(t, "admin: {bind: \"0.0.0.0:0\", allow_remote: true}"), app.Options{})
	if a.AdminAddr() == nil {
		t.Error("it is not served")
	}
	if a, _ := start(t, configuration(t, ""), app.Options{}); a.AdminAddr() != nil {
		t.Error("it is served unasked")
	}
}

// journal is a log that may be read while it is written.
type journal struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(b)
}

// entries are the lines so far, read as JSON.
func (j *journal) entries(t *testing.T) (out []map[string]any) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range lines(j.buf.String()) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		out = append(out, e)
	}
	return out
}

// Who asked for what is logged, with how it ended; what was said, and with which
// credentials, is not, whatever is wrong with it and however much is logged.
func TestLogsSayWhoAndNotWhat(t *testing.T) {
	var logs journal
	cfg := configuration(t, "log: {level: debug}\n"+twoCallers)
	a, stop := start(t, cfg, app.Options{Log: app.Logger(cfg, &logs)})
	const secret = "xyzzy-content"
	alice := []string{"Authorization", "Bearer tok-a", "X-Request-Id", "caller-17", "Cookie", "session=xyzzy-content"}
	send := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"slow 600000 ` + secret + `"}]},"configuration":{"returnImmediately":true}}`
	_, body := do(t, "POST", a.URL()+"/a2a/v1/message:send?access_token="+secret, send, alice...)
	_, id, _ := strings.Cut(body, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	do(t, "POST", a.URL()+"/a2a/v1/tasks/"+id+":cancel", "{}", "Authorization", "Bearer tok-b")
	do(t, "POST", a.URL()+"/a2a/v1/tasks/"+id+":cancel", "{}", alice...)
	do(t, "GET", a.URL()+"/a2a/v1/tasks", "", "Authorization", "Bearer "+secret)
	for _, bad := range []string{
		secret, `{"message":` + secret, `{"message":{"` + secret + `":1}}`, `{"message":"` + secret + `"}`,
		`{"message":{"messageId":"m","role":"` + secret + `","parts":[{"text":"` + secret + `","raw":"` + secret + `"}]}}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"fail ` + secret + `"}]}}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"tool name ` + secret + `"}]}}`,
	} {
		do(t, "POST", a.URL()+"/a2a/v1/message:send", bad, alice...)
		do(t, "POST", a.URL()+"/a2a", `{"jsonrpc":"2.0","id":"`+secret+`","method":"SendMessage","params":`+bad+`}`, alice...)
	}
	do(t, "POST", a.URL()+"/a2a", `{"jsonrpc":"2.0","id":1,"method":"`+secret+`"}`, alice...)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{secret, "tok-a", "tok-b"} {
		for _, line := range lines(logs.buf.String()) {
			if strings.Contains(line, word) {
				t.Errorf("%s is in the log: %s", word, line)
			}
		}
	}
	got := map[string]map[string]any{}
	for _, e := range logs.entries(t) {
		if msg := e["msg"]; (msg == "request" || msg == "audit") && e["outcome"] != nil {
			key := msg.(string) + " " + text(e["principal"]) + " " + text(e["operation"]) + " " + text(e["outcome"])
			if got[key] == nil {
				got[key] = e
			}
		}
	}
	for key, want := range map[string]map[string]any{
		"request alice SendMessage OK":             {"task": id, "version": "1.0", "status": 200.0, "method": "POST", "address": "127.0.0.1", "level": "INFO", "caller_request": "caller-17"},
		"request alice CancelTask OK":              {"task": id},
		"request bob CancelTask TASK_NOT_FOUND":    {"task": id, "status": 404.0},
		"request alice SendMessage INVALID_PARAMS": {"status": 400.0},
		"request   UNAUTHENTICATED":                {"status": 401.0, "path": "/a2a/v1/tasks"},
		"audit alice CancelTask done":              {"audit": true, "task": id, "address": "127.0.0.1"},
		"audit bob CancelTask refused":             {"audit": true, "task": id, "reason": "TASK_NOT_FOUND"},
		"audit   refused":                          {"audit": true, "reason": "UNAUTHENTICATED", "address": "127.0.0.1"},
	} {
		e := got[key]
		for name, value := range want {
			if e[name] != value {
				t.Errorf("%s: %s is %v, want %v in %v", key, name, e[name], value, e)
			}
		}
		if e["request"] == nil || strings.HasPrefix(key, "request") && e["duration_ms"] == nil {
			t.Errorf("%s: %v", key, e)
		}
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// The audit is kept where little else is logged.
func TestAuditIsAlwaysWritten(t *testing.T) {
	var logs journal
	cfg := configuration(t, "log: {level: error}\n"+twoCallers)
	a, stop := start(t, cfg, app.Options{Log: app.Logger(cfg, &logs)})
	do(t, "GET", a.URL()+"/a2a/v1/tasks", "")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := logs.entries(t); len(got) != 1 || got[0]["audit"] != true {
		t.Errorf("got %v", got)
	}
}

func TestLogFormat(t *testing.T) {
	for _, v := range []struct{ text, begins string }{
		{"", `{"time":`}, {"log: {format: auto}", `{"time":`}, {"log: {format: json}", `{"time":`}, {"log: {format: text}", "time="},
	} {
		var logs bytes.Buffer
		app.Logger(configuration(t, v.text), &logs).Info("x")
		if !strings.HasPrefix(logs.String(), v.begins) {
			t.Errorf("%q: %s", v.text, &logs)
		}
	}
}
