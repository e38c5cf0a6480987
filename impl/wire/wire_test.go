package wire

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"a2aserve/gen/a2a"
)

var clock = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 678912345, time.FixedZone("", 7200)) }

func write(t *testing.T, b Binding, id string, err error) (*httptest.ResponseRecorder, string) {
	t.Helper()
	var log bytes.Buffer
	e := Errors{Now: clock, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	w := httptest.NewRecorder()
	var raw []byte
	if id != "" {
		raw = []byte(id)
	}
	e.Write(w, httptest.NewRequest("GET", "/", nil), b, raw, err)
	return w, log.String()
}

func TestShapes(t *testing.T) {
	err := a2a.TaskNotFoundError.Errorf("No task %q", "t<1>").With("taskId", "t<1>")
	w, _ := write(t, JSONRPC, `"a\u0062"`, err)
	want := `{"jsonrpc":"2.0","id":"a\u0062","error":{"code":-32001,"message":"No task \"t<1>\"","data":[` +
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"t<1>","timestamp":"2026-01-02T01:04:05.678Z"}}]}}`
	if w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %s\nwant %s", w.Code, w.Body, want)
	}
	w, _ = write(t, REST, "", err)
	want = `{"error":{"code":404,"status":"NOT_FOUND","message":"No task \"t<1>\"","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"t<1>","timestamp":"2026-01-02T01:04:05.678Z"}}]}}`
	if w.Code != 404 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/a2a+json" {
		t.Errorf("%d %s\nwant %s", w.Code, w.Body, want)
	}
	if w.Header().Get("A2A-Version") != "1.0" {
		t.Error("no version on an error")
	}
}

func TestViolationsTravelAsBadRequest(t *testing.T) {
	err := a2a.InvalidParamsError.Errorf("no")
	err.Violations = []a2a.Violation{{Field: "a[0]", Description: "x"}, {Field: "b", Description: "y"}}
	for b, status := range map[Binding]int{JSONRPC: 200, REST: 400} {
		w, _ := write(t, b, "7", err)
		if w.Code != status || !strings.Contains(w.Body.String(), `{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"a[0]","description":"x"},{"field":"b","description":"y"}]}`) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

func TestRefusalsShowInTheStatus(t *testing.T) {
	err := &a2a.Error{Type: a2a.UnavailableError, RetryAfter: 1500 * time.Millisecond}
	for _, b := range []Binding{JSONRPC, REST} {
		w, _ := write(t, b, "", err)
		if w.Code != 503 || w.Header().Get("Retry-After") != "2" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
		if b == JSONRPC && !strings.HasPrefix(w.Body.String(), `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,`) {
			t.Error(w.Body)
		}
	}
}

type asks string

func (a asks) Error() string     { return "no credentials" }
func (a asks) Challenge() string { return string(a) }

func TestChallenges(t *testing.T) {
	for challenge, want := range map[asks]string{"Bearer": "Bearer", "": ""} {
		w, _ := write(t, REST, "", (&a2a.Error{Type: a2a.UnauthenticatedError}).Because(challenge))
		if got := w.Header().Get("WWW-Authenticate"); w.Code != 401 || got != want {
			t.Errorf("%d %q, want %q", w.Code, got, want)
		}
	}
}

func TestCausesStayHome(t *testing.T) {
	secret := errors.New("disk /secret is full")
	for _, err := range []error{secret, a2a.UnavailableError.Errorf("later").Because(secret), errors.Join(secret, context.Canceled)} {
		w, log := write(t, JSONRPC, "1", err)
		if strings.Contains(w.Body.String(), "secret") || !strings.Contains(log, "secret") {
			t.Errorf("sent %s\nlogged %s", w.Body, log)
		}
	}
	if w, _ := write(t, REST, "", secret); w.Code != 500 || !strings.Contains(w.Body.String(), `"status":"INTERNAL"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestMediaType(t *testing.T) {
	for accept, want := range map[string]string{
		"": A2AJSON, "*/*": A2AJSON, "application/json": JSON, "Application/JSON; q=0.5": JSON,
		"text/event-stream": JSON, "text/event-stream, */*;q=0.1": JSON, "text/event-stream, application/a2a+json": A2AJSON,
		"application/a2a+json, application/json": A2AJSON, "application/json, application/a2a+json;q=0.9": JSON,
		"application/json;q=0": A2AJSON, "application/json;q=0.2, application/a2a+json;q=0.9": A2AJSON, ";;": A2AJSON,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", accept)
		if got := MediaType(r); got != want {
			t.Errorf("%q: %s", accept, got)
		}
	}
}

func TestCheckBody(t *testing.T) {
	for typ, ok := range map[string]bool{
		"application/json": true, "application/a2a+json": true, "Application/JSON": true, "application/json; charset=utf-8": true, "application/json;": true,
		"application/json; charset": true, "": false, "text/plain": false, "application/x-www-form-urlencoded": false, "application/jsonx": false, "application/problem+json": false,
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Content-Type", typ)
		if err := CheckBody(r); (err == nil) != ok {
			t.Errorf("%q: %v", typ, err)
		}
	}
	r := httptest.NewRequest("POST", "/", nil)
	if CheckBody(r) == nil {
		t.Error("no Content-Type was accepted")
	}
	r.Header["Content-Type"] = []string{"application/json", "text/plain"}
	if CheckBody(r) == nil {
		t.Error("two Content-Types were accepted")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	if CheckBody(r) == nil {
		t.Error("a compressed body was accepted")
	}
}

// Answers share values of their headers: what one adds to its own must not show in another's.
func TestSharedHeadersAreNotWrittenOver(t *testing.T) {
	one, other := http.Header{}, http.Header{}
	for _, h := range []http.Header{one, other} {
		Mark(h)
		SetType(h, A2AJSON)
	}
	want := other.Clone()
	for name := range one {
		one.Add(name, "more")
		one.Set(name, "else")
	}
	if !reflect.DeepEqual(other, want) || other.Get(VersionHeader) != Version || other.Get("Content-Type") != A2AJSON {
		t.Errorf("got %v", other)
	}
}
