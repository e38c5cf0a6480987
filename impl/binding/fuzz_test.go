package binding

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"
	"a2aserve/impl/decode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An accepted envelope is one that a strict reader reads the same way.
func FuzzEnvelope(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}`, `[]`, `{"jsonrpc":"2.0","id":null,"method":"x","x":{"a":1,"a":2}}`,
		`{"id":"\ud83d\ude00","id":1}`, `{"jsonrpc":"2.0"`, "\ufeff{}", `{"jsonrpc":"2.0","id":1e5,"method":"m","params":null}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		e, err := readEnvelope([]byte(body))
		if e.id != nil && (!e.id.IsValid() || !strings.Contains(body, string(e.id))) {
			t.Fatalf("%q: id %q", body, e.id)
		}
		if err != nil {
			known, ok := errors.AsType[*a2a.Error](err)
			if !ok || known.Type != a2a.JSONParseError && known.Type != a2a.InvalidRequestError {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		var want map[string]jsontext.Value
		if err := json.Unmarshal([]byte(body), &want, jsontext.AllowDuplicateNames(true)); err != nil {
			t.Fatalf("%q was accepted: %v", body, err)
		}
		if string(want["id"]) != string(e.id) || string(want["params"]) != string(e.params) || text(want["method"]) != e.method || text(want["jsonrpc"]) != "2.0" {
			t.Fatalf("%q reads as %+v", body, e)
		}
	})
}

// Whatever the query, the document made of it is JSON without duplicates, and decoding ends
// in a request or in violations. Only an empty query makes no document.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"", "pageSize=5&status=x", "page_size=1&pageSize=2", "a=%zz;&contextId=%FF", "includeArtifacts=true&statusTimestampAfter=2026-01-02T03:04:05Z", "pageSize=-0&historyLength=99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		doc, found := readQuery("ListTasksRequest", query)
		if none := doc == nil; none != (query == "") || !none && !jsontext.Value(doc).IsValid() {
			t.Fatalf("%q: %s", query, doc)
		}
		var r a2a.ListTasksRequest
		err := decode.Decode(decode.Input{Def: "ListTasksRequest", JSON: doc, Found: found}, &r)
		if known, ok := errors.AsType[*a2a.Error](err); err != nil && (!ok || known.Type != a2a.InvalidParamsError || known.Cause != nil) {
			t.Fatalf("%q: %v", query, err)
		}
		if len(found) > 0 && err == nil {
			t.Fatalf("%q: %v was forgotten", query, found)
		}
	})
}

// Routing never panics and never makes up an id.
func FuzzRoute(f *testing.F) {
	for _, s := range []string{"/tasks/x:cancel", "/tasks/%2F%3A:subscribe", "/tasks//", "/message:send", "/tasks/a/pushNotificationConfigs/b"} {
		f.Add(s)
	}
	h := New(Options{})
	f.Fuzz(func(t *testing.T, path string) {
		rt, values := h.routes.match(path)
		if rt == nil {
			return
		}
		for name, v := range values {
			if v == "" {
				t.Fatalf("%q: empty %s", path, name)
			}
		}
	})
}

func BenchmarkGetTask(b *testing.B) {
	h := New(Options{Service: &fake{}})
	for name, req := range map[string][3]string{
		"JSONRPC": {"POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t","historyLength":5}}`},
		"REST":    {"GET", "/a2a/v1/tasks/t?historyLength=5", ""},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(req[0], req[1], strings.NewReader(req[2]))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r.WithContext(call.With(r.Context(), &call.Call{})))
				if w.Code != 200 {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
