package binding

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/auth"
	"a2aserve/impl/call"
	"a2aserve/impl/edge"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a service that remembers what it was asked. Operations that no test needs are
// nil, so reaching one is a panic.
type fake struct {
	op.Service
	mu    sync.Mutex // guards calls
	calls []string
	task  func(id string) ([]byte, error)
	log   func(id string) (*op.Stream, error)
	// called sees what was negotiated; may be nil.
	called func(*call.Call)
}

func (f *fake) note(ctx context.Context, name string, in any) {
	b, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.called != nil {
		f.called(call.From(ctx))
	}
	f.calls = append(f.calls, call.From(ctx).Principal.ID+" "+name+" "+string(b))
}

// took returns and forgets what was asked.
func (f *fake) took() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { f.calls = nil }()
	return strings.Join(f.calls, "|")
}

func (f *fake) SendMessage(ctx context.Context, r *a2a.SendMessageRequest) (op.Encoded[a2a.SendMessageResponse], error) {
	f.note(ctx, "SendMessage", r)
	return op.Value(&a2a.SendMessageResponse{Message: &a2a.Message{MessageID: "r", Role: a2a.RoleAgent, Parts: r.Message.Parts}}), nil
}

func (f *fake) SendStreamingMessage(ctx context.Context, r *a2a.SendMessageRequest) (*op.Stream, error) {
	f.note(ctx, "SendStreamingMessage", r)
	return f.log(r.Message.MessageID)
}

func (f *fake) GetTask(ctx context.Context, r *a2a.GetTaskRequest) (op.Encoded[a2a.Task], error) {
	f.note(ctx, "GetTask", r)
	if f.task == nil {
		return op.JSON[a2a.Task]([]byte(`{"id":"t"}`)), nil
	}
	b, err := f.task(r.ID)
	return op.JSON[a2a.Task](b), err
}

func (f *fake) ListTasks(ctx context.Context, r *a2a.ListTasksRequest) (op.Encoded[a2a.ListTasksResponse], error) {
	f.note(ctx, "ListTasks", r)
	return op.Value(&a2a.ListTasksResponse{}), nil
}

func (f *fake) CancelTask(ctx context.Context, r *a2a.CancelTaskRequest) (op.Encoded[a2a.Task], error) {
	f.note(ctx, "CancelTask", r)
	return op.JSON[a2a.Task]([]byte(`{"id":"t"}`)), nil
}

func (f *fake) SubscribeToTask(ctx context.Context, r *a2a.SubscribeToTaskRequest) (*op.Stream, error) {
	f.note(ctx, "SubscribeToTask", r)
	return f.log(r.ID)
}

// core is what the server offers by default.
func core(o *op.Operation) bool {
	return o.Capability == "" || o.Capability == "streaming"
}

type server struct {
	*httptest.Server
	t    *testing.T
	fake *fake
	h    *Handler
	h2   *http.Client
}

func serve(t *testing.T, o Options, limits ...edge.Limits) *server {
	t.Helper()
	f := &fake{}
	o.Service = f
	o.Log = slog.New(slog.DiscardHandler)
	if o.Wired == nil {
		o.Wired = core
	}
	h := New(o)
	static, err := auth.NewStatic([]auth.Token{{Secret: "tok-a", Principal: call.Principal{ID: "alice"}}, {Secret: "tok-b", Principal: call.Principal{ID: "bob"}}})
	if err != nil {
		t.Fatal(err)
	}
	chain, err := auth.New(auth.Options{Validators: []auth.Validator{static}})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{httptest.NewUnstartedServer(nil), t, f, h, nil}
	s.Config = edge.Server(edge.Handler(edge.Options{Auth: chain, Binding: h.Binding, Log: o.Log, MaxBody: 1 << 20}, h), append(limits, edge.Limits{})[0], o.Log)
	s.Start()
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &p}
	s.h2 = &http.Client{Transport: tr}
	t.Cleanup(func() { tr.CloseIdleConnections(); s.Close() })
	return s
}

// send makes a request as alice, with the usual headers unless others are given; an empty
// value takes one away.
func (s *server) send(method, path, body string, header ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer tok-a")
	req.Header.Set("A2A-Version", "1.0")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Del(header[i])
	}
	for i := 0; i < len(header); i += 2 {
		if header[i+1] != "" {
			req.Header.Add(header[i], header[i+1])
		}
	}
	res, err := s.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	if v := res.Header.Get("A2A-Version"); v != "1.0" {
		s.t.Errorf("%s %s: A2A-Version: %q", method, path, v)
	}
	return res
}

func (s *server) do(method, path, body string, header ...string) (int, string, http.Header) {
	s.t.Helper()
	res := s.send(method, path, body, header...)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

// answer is what both bindings' error bodies are read into.
type answer struct {
	ID    any `json:"id"`
	Error *struct {
		Code    int    `json:"code"`
		Status  string `json:"status"`
		Message string `json:"message"`
		Data    []detail
		Details []detail
	}
	Result any
}

type detail struct {
	Type            string `json:"@type"`
	Reason          string
	Domain          string
	Metadata        map[string]string
	FieldViolations []a2a.Violation
}

func parse(t *testing.T, body string) (a answer) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &a, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return a
}

const message = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`
