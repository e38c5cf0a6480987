package binding

import (
	"errors"
	"strings"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
)

func TestEnvelopes(t *testing.T) {
	s := serve(t, Options{})
	get := `"method":"GetTask","params":{"id":"t"}`
	for _, c := range []struct {
		name, body string
		code       int    // 0: served
		id         string // of the response, as text
	}{
		{"number", `{"jsonrpc":"2.0","id":1,` + get + `}`, 0, `1`},
		{"string as it came", `{"jsonrpc":"2.0","id":"a\u0062\/",` + get + `}`, 0, `"a\u0062\/"`},
		{"large number", `{"jsonrpc":"2.0","id":12345678901234567890.50,` + get + `}`, 0, `12345678901234567890.50`},
		{"null id", `{"jsonrpc":"2.0","id":null,` + get + `}`, 0, `null`},
		{"unknown members", `{"jsonrpc":"2.0","future":{},"Method":"x","id":1,` + get + `,"result":null}`, 0, `1`},
		{"space around", " \r\n\t" + `{"jsonrpc":"2.0","id":1,` + get + "}\n", 0, `1`},

		{"cut off", `{"jsonrpc":"2.0",`, -32700, `null`},
		{"empty", ` `, -32700, `null`},
		{"trailing bytes", `{"jsonrpc":"2.0","id":1,` + get + `}x`, -32700, `null`},
		{"two requests", `{"jsonrpc":"2.0","id":1,` + get + `}{"jsonrpc":"2.0","id":2,` + get + `}`, -32700, `null`},
		{"bad UTF-8", `{"jsonrpc":"2.0","id":"` + "\xff" + `",` + get + `}`, -32700, `null`},
		{"BOM", "\ufeff" + `{"jsonrpc":"2.0","id":1,` + get + `}`, -32700, `null`},
		{"bad batch", `[{]`, -32700, `null`},
		{"far too deep", strings.Repeat("[", 100_000), -32700, `null`},

		{"batch", `[{"jsonrpc":"2.0","id":1,` + get + `}]`, -32600, `null`},
		{"empty batch", `[]`, -32600, `null`},
		{"a string", `"GetTask"`, -32600, `null`},
		{"null", `null`, -32600, `null`},
		{"notification", `{"jsonrpc":"2.0",` + get + `}`, -32600, `null`},
		{"id true", `{"jsonrpc":"2.0","id":true,` + get + `}`, -32600, `null`},
		{"id object", `{"jsonrpc":"2.0","id":{},` + get + `}`, -32600, `null`},
		{"id too long", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 2000) + `",` + get + `}`, -32600, `null`},
		{"no version", `{"id":1,` + get + `}`, -32600, `1`},
		{"version 1.0", `{"jsonrpc":"1.0","id":1,` + get + `}`, -32600, `1`},
		{"version as number", `{"jsonrpc":2.0,"id":1,` + get + `}`, -32600, `1`},
		{"no method", `{"jsonrpc":"2.0","id":1}`, -32600, `1`},
		{"method is no string", `{"jsonrpc":"2.0","id":1,"method":7}`, -32600, `1`},
		{"wrong case", `{"jsonrpc":"2.0","id":1,"Method":"GetTask"}`, -32600, `1`},
		{"method twice", `{"jsonrpc":"2.0","id":1,` + get + `,"method":"CancelTask"}`, -32600, `1`},
		{"method twice, escaped", `{"jsonrpc":"2.0","id":1,` + get + `,"m\u0065thod":"CancelTask"}`, -32600, `1`},
		{"params twice", `{"jsonrpc":"2.0","id":1,` + get + `,"params":{"id":"u"}}`, -32600, `1`},
		{"id twice", `{"jsonrpc":"2.0","id":1,"id":2,` + get + `}`, -32600, `null`},
		{"unknown twice", `{"jsonrpc":"2.0","id":1,"x":1,"x":1,` + get + `}`, -32600, `1`},

		{"old name", `{"jsonrpc":"2.0","id":1,"method":"message/send"}`, -32601, `1`},
		{"other case", `{"jsonrpc":"2.0","id":1,"method":"getTask"}`, -32601, `1`},

		{"params is a list", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":["t"]}`, -32602, `1`},
		{"params is text", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":""}`, -32602, `1`},
		{"no id for the task", `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, -32602, `1`},
		{"a name twice", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t","id":"t"}}`, -32602, `1`},
		{"too deep", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t","x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`, -32602, `1`},
		{"tenant", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t","tenant":"acme"}}`, -32602, `1`},
	} {
		status, body, header := s.do("POST", "/a2a", c.body)
		took := s.fake.took()
		if status != 200 || header.Get("Content-Type") != "application/json" || !strings.HasPrefix(body, `{"jsonrpc":"2.0","id":`+c.id+`,`) {
			t.Errorf("%s: %d %v %s", c.name, status, header, body)
			continue
		}
		a := parse(t, body)
		switch {
		case c.code == 0:
			if a.Error != nil || !strings.HasSuffix(body, `,"result":{"id":"t"}}`) || took != `alice GetTask {"id":"t"}` {
				t.Errorf("%s: %s, took %q", c.name, body, took)
			}
		case a.Error == nil || a.Error.Code != c.code || strings.Contains(body, `"result"`):
			t.Errorf("%s: %s", c.name, body)
		case took != "":
			t.Errorf("%s: %q was executed", c.name, took)
		case len(a.Error.Data) == 0 || a.Error.Data[0].Type != "type.googleapis.com/google.rpc.ErrorInfo":
			t.Errorf("%s: data %+v", c.name, a.Error.Data)
		}
	}
}

func TestParamsAbsentNullOrEmpty(t *testing.T) {
	s := serve(t, Options{})
	for _, params := range []string{``, `,"params":null`, `,"params":{}`} {
		_, body, _ := s.do("POST", "/a2a/", `{"jsonrpc":"2.0","id":1,"method":"ListTasks"`+params+`}`)
		if took := s.fake.took(); took != `alice ListTasks {}` || !strings.Contains(body, `"tasks":[]`) {
			t.Errorf("%q: took %s, answered %s", params, took, body)
		}
		_, body, _ = s.do("POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"`+params+`}`)
		if a := parse(t, body); a.Error.Code != -32004 {
			t.Errorf("%q: %s", params, body)
		}
	}
}

func TestJSONRPCTransportRefusals(t *testing.T) {
	s := serve(t, Options{})
	req := `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}`
	for _, c := range []struct {
		name, method, body string
		header             []string
		status             int
	}{
		{"GET", "GET", "", nil, 405},
		{"HEAD", "HEAD", "", nil, 405},
		{"PUT", "PUT", req, nil, 405},
		{"text", "POST", req, []string{"Content-Type", "text/plain"}, 415},
		{"form", "POST", req, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"no type", "POST", req, []string{"Content-Type", ""}, 415},
		{"deflate", "POST", req, []string{"Content-Encoding", "deflate"}, 415},
		{"no token", "POST", req, []string{"Authorization", ""}, 401},
		{"too large", "POST", strings.Repeat(" ", 1<<20) + req, nil, 413},
		{"a2a+json", "POST", req, []string{"Content-Type", "application/a2a+json"}, 200},
		{"parameters and case", "POST", req, []string{"Content-Type", "Application/JSON; charset=UTF-8"}, 200},
	} {
		status, body, header := s.do(c.method, "/a2a", c.body, c.header...)
		if status != c.status || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v %s", c.name, status, header, body)
			continue
		}
		if c.status == 405 && header.Get("Allow") != "POST" {
			t.Errorf("%s: Allow: %q", c.name, header.Get("Allow"))
		}
		if c.status != 200 && c.method != "HEAD" {
			if a := parse(t, body); a.Error.Code != -32000 || a.ID != nil {
				t.Errorf("%s: %s", c.name, body)
			}
			if took := s.fake.took(); took != "" {
				t.Errorf("%s: %q was executed", c.name, took)
			}
		}
	}
}

func TestViolationsNameTheFields(t *testing.T) {
	s := serve(t, Options{})
	params := `{"message":{"messageId":"","role":"ROLE_USER","parts":[{}]},"configuration":{"historyLength":-1}}`
	want := "configuration.historyLength message.messageId message.parts[0]"
	for _, c := range [][2]string{{"/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + params + `}`}, {"/a2a/v1/message:send", params}} {
		_, body, _ := s.do("POST", c[0], c[1])
		a := parse(t, body)
		details := append(a.Error.Data, a.Error.Details...)
		var got []string
		for _, v := range details[len(details)-1].FieldViolations {
			got = append(got, v.Field)
		}
		if strings.Join(got, " ") != want || details[1].Type != "type.googleapis.com/google.rpc.BadRequest" {
			t.Errorf("%s: %s", c[0], body)
		}
	}
}

func TestErrorsFromOperations(t *testing.T) {
	s := serve(t, Options{})
	s.fake.task = func(id string) ([]byte, error) {
		if id == "boom" {
			return nil, errors.New("disk /secret is full")
		}
		return nil, a2a.TaskNotFoundError.Errorf("Task not found").With("taskId", id)
	}
	_, body, _ := s.do("POST", "/a2a", `{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"x"}}`)
	a := parse(t, body)
	if d := a.Error.Data[0]; a.Error.Code != -32001 || d.Reason != "TASK_NOT_FOUND" || d.Domain != "a2a-protocol.org" || d.Metadata["taskId"] != "x" {
		t.Errorf("%s", body)
	}
	status, body, _ := s.do("GET", "/a2a/v1/tasks/x", "")
	if a := parse(t, body); status != 404 || a.Error.Status != "NOT_FOUND" || a.Error.Code != 404 {
		t.Errorf("%d %s", status, body)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
	}{{"GET", "/a2a/v1/tasks/boom", "", 500}, {"POST", "/a2a", `{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"boom"}}`, 200}} {
		status, body, _ := s.do(c.method, c.path, c.body)
		if status != c.status || strings.Contains(body, "secret") || !strings.Contains(body, "Internal error") {
			t.Errorf("%d %s", status, body)
		}
	}
}

func TestVersions(t *testing.T) {
	lenient, strict := serve(t, Options{}), serve(t, Options{StrictVersion: true})
	for _, c := range []struct {
		version         string
		lenient, strict bool
	}{
		{"1.0", true, true}, {"1.0.1", true, true}, {" 1.0 ", true, true}, {"", true, false},
		{"99.0", false, false}, {"2.0", false, false}, {"0.3", false, false}, {"0.5", false, false}, {"abc", false, false},
		{"-1.0", false, false}, {"1.1", false, false}, {"1", false, false}, {"1.0.x", false, false}, {"1.0, 0.3", false, false},
	} {
		for s, ok := range map[*server]bool{lenient: c.lenient, strict: c.strict} {
			for _, method := range []string{"SendMessage", "SendStreamingMessage", "GetTask"} {
				s.fake.log = func(string) (*op.Stream, error) { return ended(), nil }
				params := message
				if method == "GetTask" {
					params = `{"id":"t"}`
				}
				_, body, header := s.do("POST", "/a2a", `{"jsonrpc":"2.0","id":"v","method":"`+method+`","params":`+params+`}`, "A2A-Version", c.version)
				check(t, s, c.version+" "+method, ok, body, header.Get("Content-Type"), -32009)
			}
			_, body, header := s.do("GET", "/a2a/v1/tasks/t", "", "A2A-Version", c.version)
			check(t, s, c.version+" REST", ok, body, header.Get("Content-Type"), 400)
			_, body, header = s.do("POST", "/a2a/v1/message:stream", message, "A2A-Version", c.version)
			check(t, s, c.version+" REST stream", ok, body, header.Get("Content-Type"), 400)
		}
	}
	for query, ok := range map[string]bool{"A2A-Version=1.0": true, "a2a-version=1.0": true, "A2A-Version=0.3": false, "A2A-Version=1.0&A2A-Version=0.3": false, "A2A-Version=": false} {
		_, body, header := strict.do("GET", "/a2a/v1/tasks/t?"+query, "", "A2A-Version", "")
		check(t, strict, query, ok, body, header.Get("Content-Type"), 400)
	}
}

func check(t *testing.T, s *server, name string, ok bool, body, typ string, code int) {
	t.Helper()
	took := s.fake.took()
	if ok {
		if took == "" {
			t.Errorf("%s: refused with %s", name, body)
		}
		return
	}
	a := parse(t, body)
	if took != "" || a.Error.Code != code || !strings.HasSuffix(typ, "json") || code < 0 && a.ID != "v" {
		t.Errorf("%s: took %q, answered %s as %s", name, took, body, typ)
	}
	if d := append(a.Error.Data, a.Error.Details...)[0]; d.Reason != "VERSION_NOT_SUPPORTED" || d.Metadata["supportedVersions"] != "1.0" {
		t.Errorf("%s: %+v", name, d)
	}
}

// What a stream activates is said in its answer, however the request lists it; unknown
// URIs are ignored, and where there is no stream nothing is activated (A2A §3.2.6, §4.6.3).
func TestExtensions(t *testing.T) {
	s := serve(t, Options{Extensions: []string{"u1", "u3"}})
	var activated []string
	s.fake.log = func(string) (*op.Stream, error) { return ended(), nil }
	s.fake.called = func(c *call.Call) { activated = c.Extensions }
	for _, c := range []struct {
		headers []string // names and values
		want    string
	}{
		{[]string{"a2a-extensions", "u1 , u3"}, "u1, u3"},
		{[]string{"A2A-Extensions", "u3,u1"}, "u3, u1"},
		{[]string{"A2A-Extensions", "u1", "A2A-Extensions", "u3"}, "u1, u3"},
		{[]string{"A2A-Extensions", "u2 ,\tu1 ,, u1", "X-A2A-Extensions", "u3"}, "u1, u3"},
		{[]string{"X-A2A-Extensions", "u1"}, "u1"},
		{[]string{"A2A-Extensions", "u2"}, ""},
		{[]string{"A2A-Extensions", "U1,u1/,u"}, ""},
		{[]string{"A2A-Extensions", " "}, ""},
		{[]string{"A2A-Extensions", " , ,"}, ""},
		{nil, ""},
	} {
		for path, body := range map[string]string{"/a2a": rpcStream, "/a2a/v1/message:stream": message} {
			_, _, header := s.do("POST", path, body, c.headers...)
			if got := header.Get("A2A-Extensions"); got != c.want || len(header.Values("A2A-Extensions")) > 1 {
				t.Errorf("%s %q: says %q, want %q", path, c.headers, got, c.want)
			}
			if got := strings.Join(activated, ", "); got != c.want {
				t.Errorf("%s %q: activates %q, want %q", path, c.headers, got, c.want)
			}
		}
	}
	if _, _, header := s.do("GET", "/a2a/v1/tasks/t", "", "A2A-Extensions", "u1"); header.Values("A2A-Extensions") != nil {
		t.Errorf("a task activates %q", header.Values("A2A-Extensions"))
	}
	s.fake.log = func(string) (*op.Stream, error) { return nil, &a2a.Error{Type: a2a.TaskNotFoundError} }
	if _, _, header := s.do("GET", "/a2a/v1/tasks/t:subscribe", "", "A2A-Extensions", "u1"); header.Values("A2A-Extensions") != nil {
		t.Errorf("a refusal activates %q", header.Values("A2A-Extensions"))
	}
}

func TestRefusalsComeBeforeValidation(t *testing.T) {
	s := serve(t, Options{Wired: func(o *op.Operation) bool { return o.Capability == "" }})
	for _, c := range []struct {
		method, verb, path string
		code               int
		reason             string
	}{
		{"SendStreamingMessage", "POST", "/message:stream", -32004, "UNSUPPORTED_OPERATION"},
		{"SubscribeToTask", "GET", "/tasks/t:subscribe", -32004, "UNSUPPORTED_OPERATION"},
		{"SubscribeToTask", "POST", "/tasks/t:subscribe", -32004, "UNSUPPORTED_OPERATION"},
		{"GetExtendedAgentCard", "GET", "/extendedAgentCard", -32004, "UNSUPPORTED_OPERATION"},
		{"CreateTaskPushNotificationConfig", "POST", "/tasks/t/pushNotificationConfigs", -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
		{"GetTaskPushNotificationConfig", "GET", "/tasks/t/pushNotificationConfigs/c", -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
		{"ListTaskPushNotificationConfigs", "GET", "/tasks/t/pushNotificationConfigs", -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
		{"DeleteTaskPushNotificationConfig", "DELETE", "/tasks/t/pushNotificationConfigs/c", -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
	} {
		for _, params := range []string{`{}`, `{"id":7}`} {
			_, body, header := s.do("POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"`+c.method+`","params":`+params+`}`)
			if a := parse(t, body); a.Error.Code != c.code || a.Error.Data[0].Reason != c.reason || header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %s", c.method, body)
			}
			status, body, header := s.do(c.verb, "/a2a/v1"+c.path, params)
			if a := parse(t, body); status != 400 || a.Error.Details[0].Reason != c.reason || header.Get("Content-Type") != "application/a2a+json" {
				t.Errorf("%s: %d %s", c.path, status, body)
			}
		}
	}
	for _, inline := range []string{`"configuration":{"taskPushNotificationConfig":{}}`, `"configuration":{"task_push_notification_config":{"url":"x"},"historyLength":-1}`} {
		_, body, _ := s.do("POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{`+inline+`}}`)
		if a := parse(t, body); a.Error.Code != -32003 {
			t.Errorf("%s: %s", inline, body)
		}
		status, body, _ := s.do("POST", "/a2a/v1/message:send", `{`+inline+`}`)
		if a := parse(t, body); status != 400 || a.Error.Details[0].Reason != "PUSH_NOTIFICATION_NOT_SUPPORTED" {
			t.Errorf("%s: %d %s", inline, status, body)
		}
	}
	_, body, _ := s.do("POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"configuration":{"taskPushNotificationConfig":null},`+message[1:]+`}`)
	if a := parse(t, body); a.Error != nil {
		t.Errorf("an explicit null: %s", body)
	}
}
