package check

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// broken is our server with one thing wrong, and the checks that must see it.
type broken struct {
	name    string
	request func(r *http.Request, body []byte) []byte                   // before our server sees it
	instead func(w http.ResponseWriter, r *http.Request, b []byte) bool // true: answered
	answer  func(r *http.Request, asked []byte, h http.Header, status *int, body []byte) []byte
	frame   func(r *http.Request, data string) []string // each becomes an event
	open    bool                                        // streams are not closed
	fail    []string                                    // "id binding", or an id alone: on both
	once    []string                                    // checks that are not tried on an interface
}

// serve stands between the check and our server, with all that is wrong.
func serve(t *testing.T, upstream string, all ...broken) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	var self string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		for _, b := range all {
			if b.instead != nil && b.instead(w, r, asked) {
				return
			}
			if b.request != nil {
				asked = b.request(r, asked)
			}
		}
		out, err := http.NewRequestWithContext(r.Context(), r.Method, upstream+r.URL.RequestURI(), bytes.NewReader(asked))
		if err != nil {
			return
		}
		out.Header = r.Header.Clone()
		res, err := client.Do(out)
		if err != nil {
			return // the check has gone
		}
		defer res.Body.Close()
		maps.Copy(w.Header(), res.Header)
		w.Header().Del("Content-Length")
		if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			streamed(w, r, asked, res, all)
			return
		}
		body, _ := io.ReadAll(res.Body)
		body = bytes.ReplaceAll(body, []byte(upstream), []byte(self))
		status := res.StatusCode
		for _, b := range all {
			if b.answer != nil {
				body = b.answer(r, asked, w.Header(), &status, body)
			}
		}
		w.WriteHeader(status)
		_, _ = w.Write(body) // the check has gone
	}))
	self = s.URL
	t.Cleanup(func() { s.Close(); client.CloseIdleConnections() })
	return self
}

func streamed(w http.ResponseWriter, r *http.Request, asked []byte, res *http.Response, all []broken) {
	status, open := res.StatusCode, false
	for _, b := range all {
		open = open || b.open
		if b.answer != nil {
			b.answer(r, asked, w.Header(), &status, nil)
		}
	}
	w.WriteHeader(status)
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		events := []string{data}
		for _, b := range all {
			if b.frame != nil {
				var next []string
				for _, d := range events {
					next = append(next, b.frame(r, d)...)
				}
				events = next
			}
		}
		for _, d := range events {
			_, _ = io.WriteString(w, "data: "+d+"\n\n")
		}
		_ = http.NewResponseController(w).Flush()
	}
	if open {
		<-r.Context().Done()
	}
}

// replaced changes what answers of an operation say.
func replaced(operation, pattern, with string) func(*http.Request, []byte, http.Header, *int, []byte) []byte {
	re := regexp.MustCompile(pattern)
	return func(r *http.Request, asked []byte, _ http.Header, _ *int, body []byte) []byte {
		if operation != "" && !is(r, asked, operation) {
			return body
		}
		return re.ReplaceAll(body, []byte(with))
	}
}

// edited changes the document that answers an operation.
func edited(operation string, change func(m obj)) func(*http.Request, []byte, http.Header, *int, []byte) []byte {
	return func(r *http.Request, asked []byte, _ http.Header, _ *int, body []byte) []byte {
		m := object(parse(body))
		if m == nil || !is(r, asked, operation) {
			return body
		}
		change(m)
		return encode(m)
	}
}

// is tells the operation of a request, on either binding.
func is(r *http.Request, asked []byte, operation string) bool {
	path := strings.TrimPrefix(r.URL.Path, "/a2a/v1")
	switch {
	case r.URL.Path == "/a2a":
		return bytes.Contains(asked, []byte(`"method":"`+operation+`"`))
	case operation == "ListTasks":
		return path == "/tasks"
	case operation == "GetTask":
		return r.Method == "GET" && strings.HasPrefix(path, "/tasks/") && !strings.Contains(path, ":") && !strings.Contains(path, "push")
	case operation == "SendMessage":
		return path == "/message:send"
	case operation == "SendStreamingMessage":
		return path == "/message:stream"
	case operation == "CancelTask":
		return strings.HasSuffix(path, ":cancel")
	case operation == "SubscribeToTask":
		return strings.HasSuffix(path, ":subscribe")
	}
	return false
}

// eachFrame changes what events say.
func eachFrame(pattern, with string) func(*http.Request, string) []string {
	re := regexp.MustCompile(pattern)
	return func(_ *http.Request, data string) []string { return []string{re.ReplaceAllString(data, with)} }
}

var terminal = regexp.MustCompile(`TASK_STATE_(COMPLETED|FAILED|CANCELED|REJECTED)`)

// brokenServers have several faults each, where these are seen by different checks.
var brokenServers = [][]broken{
	{
		{name: "nothing is wrong"},
	},
	{
		{name: "an empty list is null", answer: replaced("ListTasks", `"tasks":\[\]`, `"tasks":null`), fail: []string{"list.empty", "wire.schema"}},
		{name: "any version is served", request: func(r *http.Request, b []byte) []byte {
			r.Header.Set("A2A-Version", "1.0")
			q := r.URL.Query()
			q.Del("A2A-Version")
			r.URL.RawQuery = q.Encode()
			return b
		}, fail: []string{"version.unsupported", "version.absent", "version.stream", "version.parameter HTTP+JSON"}},
		{name: "an event after the end", frame: func(_ *http.Request, data string) []string {
			if terminal.MatchString(data) && strings.Contains(data, "statusUpdate") {
				return []string{data, data}
			}
			return []string{data}
		}, fail: []string{"stream.shape", "stream.chunks", "stream.failed", "subscribe.end"}},
		{name: "no caching of the card", answer: func(r *http.Request, _ []byte, h http.Header, _ *int, b []byte) []byte {
			h.Del("Cache-Control")
			h.Del("ETag")
			return b
		}, once: []string{"cache.max-age", "cache.etag"}, fail: []string{"stream.no-cache"}},
		{name: "0.3 methods are served", request: func(r *http.Request, b []byte) []byte {
			return bytes.Replace(b, []byte(`"tasks/get"`), []byte(`"GetTask"`), 1)
		}, fail: []string{"rpc.old-methods JSONRPC"}},
		{name: "another id in the answer", answer: replaced("GetTask", `"id":"[^"]*","(result|error)"`, `"id":"x","$1"`),
			fail: []string{"rpc.envelope JSONRPC", "rpc.id JSONRPC"}},
	},
	{
		{name: "no nextPageToken on the last page", answer: replaced("ListTasks", `"nextPageToken":"",`, ``), fail: []string{"list.empty", "wire.schema"}},
		{name: "answers are text/plain", answer: func(_ *http.Request, _ []byte, h http.Header, _ *int, body []byte) []byte {
			if body != nil {
				h.Set("Content-Type", "text/plain")
			}
			return body
		}, fail: []string{"rpc.media-type JSONRPC", "rest.media-type HTTP+JSON", "rest.answer-type HTTP+JSON"}, once: []string{"card.media-type"}},
		{name: "details without a type", answer: replaced("CancelTask", `"@type":"[^"]*",`, ``),
			fail: []string{"error.shape", "error.info HTTP+JSON", "error.info-rpc JSONRPC", "cancel.finished HTTP+JSON", "cancel.rejected HTTP+JSON", "cancel.twice HTTP+JSON"}},
		{name: "callers are not told apart", request: func(r *http.Request, b []byte) []byte {
			if r.Header.Get("Authorization") == "Bearer bob-token" {
				r.Header.Set("Authorization", "Bearer alice-token")
			}
			return b
		}, fail: []string{"isolation.get", "isolation.cancel", "isolation.subscribe", "isolation.message", "isolation.list"}},
		{name: "a batch is answered by its first", request: func(r *http.Request, b []byte) []byte {
			if bytes.HasPrefix(b, []byte("[")) {
				b, _, _ = bytes.Cut(b[1:], []byte(`,{"jsonrpc"`))
			}
			return b
		}, fail: []string{"rpc.batch JSONRPC"}},
		{name: "pieces in the wrong order", frame: func() func(*http.Request, string) []string {
			return eachFrame(`"text":"2"`, `"text":"3"`)
		}(), fail: []string{"stream.chunks"}},
	},
	{
		{name: "states in lower case", answer: replaced("GetTask", `TASK_STATE_COMPLETED`, `completed`),
			fail: []string{"wire.schema", "get.same", "stream.shape"}},
		{name: "times with an offset", answer: replaced("", `(\.\d{3})Z"`, `$1+00:00"`), fail: []string{"wire.timestamps"}},
		{name: "artifacts in every list", request: func(r *http.Request, b []byte) []byte {
			if is(r, b, "ListTasks") {
				q := r.URL.Query()
				q.Set("includeArtifacts", "true")
				if r.URL.Path != "/a2a" {
					r.URL.RawQuery = q.Encode()
				}
				b = bytes.Replace(bytes.Replace(b, []byte(`"includeArtifacts":false,`), nil, 1), []byte(`"params":{`), []byte(`"params":{"includeArtifacts":true,`), 1)
				b = bytes.Replace(b, []byte(`,"includeArtifacts":true}`), []byte(`}`), 1)
			}
			return b
		}, fail: []string{"list.no-artifacts", "rest.query-names HTTP+JSON"}},
		{name: "nobody is asked for credentials", request: func(r *http.Request, b []byte) []byte {
			if r.Header.Get("Authorization") != "Bearer bob-token" {
				r.Header.Set("Authorization", "Bearer alice-token")
			}
			return b
		}, fail: []string{"auth.absent", "auth.wrong", "auth.stream"}},
		{name: "result and error at once", answer: replaced("GetTask", `,"error":`, `,"result":null,"error":`), fail: []string{"rpc.envelope JSONRPC"}},
		{name: "wildcard address in the card", answer: func(r *http.Request, _ []byte, _ http.Header, _ *int, b []byte) []byte {
			if strings.HasSuffix(r.URL.Path, ".json") {
				b = bytes.Replace(b, []byte(`"supportedInterfaces":[`), []byte(`"supportedInterfaces":[{"url":"http://0.0.0.0:8080/a2a","protocolBinding":"GRPC-X","protocolVersion":"1.0.1"},`), 1)
			}
			return b
		}, once: []string{"card.interfaces", "card.version-form", "tls.used"}},
	},
	{
		{name: "names in snake_case", answer: replaced("SendMessage", `"contextId"`, `"context_id"`),
			fail: []string{"send.answer", "send.stored", "context.kept", "get.same", "wire.names"}},
		{name: "errors without details", answer: edited("GetTask", func(m obj) {
			delete(object(m["error"]), "data")
			delete(object(m["error"]), "details")
		}),
			fail: []string{"error.info HTTP+JSON", "error.info-rpc JSONRPC", "version.unsupported HTTP+JSON", "version.absent HTTP+JSON", "version.parameter HTTP+JSON"}, once: []string{"equal.errors"}},
		{name: "send does not wait", request: func(r *http.Request, b []byte) []byte {
			if is(r, b, "SendMessage") && bytes.Contains(b, []byte("slow 50 done")) {
				b = bytes.Replace(b, []byte(`{"message":`), []byte(`{"configuration":{"returnImmediately":true},"message":`), 1)
			}
			return b
		}, fail: []string{"send.blocking"}},
		{name: "the bindings disagree", answer: func(r *http.Request, asked []byte, h http.Header, s *int, b []byte) []byte {
			if r.URL.Path == "/a2a" {
				return edited("GetTask", func(m obj) { delete(object(m["result"]), "history") })(r, asked, h, s, b)
			}
			return b
		}, fail: []string{"turn.history JSONRPC"}, once: []string{"equal.task"}},
	},
	{
		{name: "unknown tasks are server errors", answer: func(_ *http.Request, _ []byte, _ http.Header, status *int, b []byte) []byte {
			if bytes.Contains(b, []byte("TASK_NOT_FOUND")) {
				if *status == 404 {
					*status = 500
					b = bytes.Replace(b, []byte(`"code":404`), []byte(`"code":500`), 1)
				}
				b = bytes.Replace(b, []byte(`-32001`), []byte(`-32603`), 1)
			}
			return b
		}, fail: []string{"error.unknown-task", "error.unknown-cancel", "error.unknown-subscribe", "error.unknown-message", "error.internal", "error.unknown-members", "error.nulls",
			"version.patch", "version.parameter HTTP+JSON", "extension.unknown", "rest.media-types HTTP+JSON", "rest.empty-body HTTP+JSON", "rest.subscribe-verbs HTTP+JSON",
			"isolation.get", "isolation.cancel", "isolation.subscribe", "isolation.message"}},
	},
	{
		{name: "streams begin with an update", frame: func(_ *http.Request, data string) []string {
			if strings.Contains(data, `{"task":{`) {
				return nil
			}
			return []string{data}
		}, fail: []string{"stream.shape", "stream.chunks", "stream.failed"}},
	},
	{
		{name: "streams stay open", open: true, fail: []string{"stream.shape"}},
	},
}

// wants are the failures that there must be.
func (b *broken) wants() (out []string) {
	for _, id := range b.fail {
		if strings.Contains(id, " ") {
			out = append(out, id)
		} else {
			out = append(out, id+" "+JSONRPC, id+" "+REST)
		}
	}
	return append(out, b.once...)
}

// Each fault is seen by the checks that are about it, and by no others.
func TestBrokenServers(t *testing.T) {
	t.Parallel()
	upstream := ours(t, strict+tokens+"cors_origins: [\"*\"]\n")
	for _, all := range brokenServers {
		t.Run(all[0].name, func(t *testing.T) {
			t.Parallel()
			o := Options{URL: serve(t, upstream, all...), Token: "alice-token", SecondToken: "bob-token", Scenario: quick()}
			switch all[0].name {
			case "streams begin with an update": // what waits for an update would wait for long
				o.Scenario = &Scenario{map[Behaviour]any{Complete: "echo hello", Chunks: "chunks 3", Failing: "fail"}}
			case "streams stay open": // each costs the time-out
				o.Scenario, o.Timeout = &Scenario{map[Behaviour]any{Complete: "echo hello"}}, 2*time.Second
			}
			var want []string
			for _, b := range all {
				want = append(want, b.wants()...)
			}
			slices.Sort(want)
			compare(t, run(t, o), slices.Compact(want))
		})
	}
}
