package validate_test

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"a2aserve/impl/validate"
)

const (
	okMessage = `{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hi"}]}`
	okTask    = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`
	okCard    = `{"name":"n","description":"d","version":"1","capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],` +
		`"skills":[{"id":"s","name":"s","description":"d","tags":["t"]}],"supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`
)

// found validates a text; each finding is a line of "line:column level rule pointer", each
// result begins with its type in brackets.
func found(t *testing.T, o validate.Options, name, text string) []string {
	t.Helper()
	v, err := validate.New(o)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for r, err := range v.File(name, strings.NewReader(text)) {
		if err != nil {
			out = append(out, "unreadable: "+err.Error())
			continue
		}
		out = append(out, "["+r.Type+"]")
		if bad := slices.ContainsFunc(r.Findings, func(x validate.Finding) bool { return x.Level == validate.Error }); bad == r.Valid {
			t.Errorf("valid %v with %v", r.Valid, r.Findings)
		}
		for _, x := range r.Findings {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%d:%d %s %s %s", x.Line, x.Column, x.Level, x.Rule, x.Pointer)))
			if x.Expected == "" || x.Section == "" {
				t.Errorf("%+v says too little", x)
			}
		}
	}
	return out
}

type vector struct {
	name, text string
	want       string // lines
	options    validate.Options
	file       string
}

func check(t *testing.T, vectors []vector) { t.Helper(); compare(t, vectors, "$0") }

// checkLines leaves the columns out.
func checkLines(t *testing.T, vectors []vector) { t.Helper(); compare(t, vectors, "$1$2") }

var column = regexp.MustCompile(`(?m)^(\d+):\d+( )`)

func compare(t *testing.T, vectors []vector, places string) {
	t.Helper()
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			if v.file == "" {
				v.file = "x.json"
			}
			got := column.ReplaceAllString(strings.Join(found(t, v.options, v.file, v.text), "\n"), places)
			if want := strings.ReplaceAll(strings.TrimSpace(v.want), "\t", ""); got != want {
				t.Errorf("%.400s\ngot:\n%s\nwant:\n%s", v.text, got, want)
			}
		})
	}
}

func TestCommonMistakes(t *testing.T) {
	check(t, []vector{
		{name: "nothing wrong", text: okTask, want: "[Task]"},
		{name: "0.3 task", text: `{"id":"t","kind":"task","status":{"state":"completed"}}`,
			want: "[Task]\n1:11 error v03 /kind\n1:43 error enum /status/state"},
		{name: "nested file", text: `{"kind":"file","file":{"name":"a","mimeType":"text/plain","bytes":"AA=="}}`,
			want: "[Part]\n1:1 error oneof.none\n1:2 error v03 /kind\n1:16 error v03 /file"},
		{name: "final", text: `{"statusUpdate":{"taskId":"t","contextId":"c","final":true,"status":{"state":"TASK_STATE_COMPLETED"}}}`,
			want: "[StreamResponse]\n1:47 error v03 /statusUpdate/final"},
		{name: "bare event", text: `{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`,
			want: "[TaskStatusUpdateEvent]\n1:2 error v03 /kind"},
		{name: "snake case of a server", text: `{"id":"t","context_id":"c","status":{"state":"TASK_STATE_WORKING"}}`,
			want: "[Task]\n1:11 error name.snake /context_id"},
		{name: "snake case of a client", text: `{"message":{"message_id":"m","role":1,"parts":[{"text":"hi"}]}}`,
			want: "[SendMessageRequest]\n1:13 warning name.snake /message/message_id\n1:37 warning enum.number /message/role"},
		{name: "offset", text: `{"state":"TASK_STATE_WORKING","timestamp":"2026-01-01T00:00:00+00:00"}`,
			want: "[TaskStatus]\n1:43 error timestamp.offset /timestamp"},
		{name: "null arrays", text: `{"tasks":null,"nextPageToken":"","pageSize":1,"totalSize":0}`,
			want: "[ListTasksResponse]\n1:2 error required /tasks"},
		{name: "optional null array", text: "{\n  \"id\": \"t\", \"history\": null,\n  \"status\": {\"state\":\"TASK_STATE_WORKING\", \"message\": null}\n}",
			want: "[Task]\n2:14 error null.array /history\n3:44 warning null /status/message"},
		{name: "wrong case", text: `{"id":"t","contextID":"c","status":{"state":"TASK_STATE_WORKING"}}`,
			want: "[Task]\n1:11 warning name.case /contextID"},
		{name: "unknown member", text: `{"id":"t","future":1,"status":{"state":"TASK_STATE_WORKING"}}`, want: "[Task]"},
		{name: "unknown member, strict", options: validate.Options{Strict: true}, text: `{"id":"t","future":1,"status":{"state":"TASK_STATE_WORKING"}}`,
			want: "[Task]\n1:11 error unknown /future"},
		{name: "allowed", options: validate.Options{Strict: true, Allow: []string{"unknown"}}, text: `{"id":"t","future":1,"status":{"state":"TASK_STATE_WORKING"}}`, want: "[Task]"},
		{name: "blocking", text: `{"message":` + strings.Replace(okMessage, "AGENT", "USER", 1) + `,"configuration":{"blocking":true}}`,
			want: "[SendMessageRequest]\n1:90 warning v03 /configuration/blocking"},
		{name: "twice in both spellings", text: `{"id":"t","contextId":"c","context_id":"d","status":{"state":"TASK_STATE_WORKING"}}`,
			want: "[Task]\n1:27 error duplicate /context_id"},
		{name: "twice in metadata", text: `{"id":"t","metadata":{"a":[{"b":1,"b":2}]},"status":{"state":"TASK_STATE_WORKING"}}`,
			want: "[Task]\n1:35 error duplicate /metadata/a/0/b"},
		{name: "escaped pointer, columns in characters", text: `{"ä":1,"metadata":{"a/b~":{"x":1,"x":2}},"id":"t","status":{"state":"TASK_STATE_WORKING"}}`,
			want: "[Task]\n1:34 error duplicate /metadata/a~1b~0/x"},
		{name: "card of both versions", text: strings.Replace(okCard, `"name":"n"`, `"name":"n","url":"https://a.example","preferredTransport":"JSONRPC"`, 1),
			want: "[AgentCard]\n1:13 warning v03.card /url\n1:39 warning v03.card /preferredTransport"},
		{name: "list out of order", text: `{"nextPageToken":"","pageSize":2,"totalSize":2,"tasks":[` +
			`{"id":"a","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-01T00:00:00Z"}},{"id":"b","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T00:00:00Z"}}]}`,
			want: "[ListTasksResponse]\n1:204 error list.order /tasks/1/status/timestamp"},
		{name: "not recognised", text: `{"id":"t"}`, want: "[]\n1:1 error unrecognised"},
		{name: "given", options: validate.Options{Type: "GetTaskRequest"}, text: `{"id":"t"}`, want: "[GetTaskRequest]"},
		{name: "error over HTTP", text: `{"error":{"code":400,"status":"NOT_FOUND","message":"no","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"},{}]}}`,
			want: "[HTTPError]\n1:130 error error.reason /error/details/0/reason\n1:176 error required /error/details/1/@type"},
	})
}

func TestRecognition(t *testing.T) {
	check(t, []vector{
		{name: "card", text: okCard, want: "[AgentCard]"},
		{name: "message", text: okMessage, want: "[Message]"},
		{name: "request", text: `{"message":` + strings.Replace(okMessage, "AGENT", "USER", 1) + `}`, want: "[SendMessageRequest]"},
		{name: "response", text: `{"message":` + okMessage + `}`, want: "[SendMessageResponse]"},
		{name: "task in a response", text: `{"task":` + okTask + `}`, want: "[SendMessageResponse]"},
		{name: "part", text: `{"data":null}`, want: "[Part]"},
		{name: "push", text: `{"url":"https://a.example","token":"x"}`, want: "[TaskPushNotificationConfig]"},
		{name: "list request", text: `{"pageSize":5,"includeArtifacts":true}`, want: "[ListTasksRequest]"},
		{name: "scheme", text: `{"httpAuthSecurityScheme":{"scheme":"Bearer"}}`, want: "[SecurityScheme]"},
		{name: "scalar", text: `7`, want: "[]\n1:1 error unrecognised"},
	})
}

func TestJSONRPC(t *testing.T) {
	ask := `{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}` + "\n"
	check(t, []vector{
		{name: "matched by id", text: fmt.Sprintf(ask, "7", "GetTask", `{"id":"t"}`) + `{"jsonrpc":"2.0","id":7,"result":{"task":` + okTask + "}}\n",
			want: "[JSON-RPC request: GetTask]\n[JSON-RPC response: Task]\n2:34 error required /result/id\n2:34 error required /result/status"},
		{name: "matched by the option", options: validate.Options{Method: "SendMessage"}, text: `{"jsonrpc":"2.0","id":7,"result":` + okTask + "}",
			want: "[JSON-RPC response: SendMessageResponse]\n1:34 error oneof.none /result"},
		{name: "by shape", text: `{"jsonrpc":"2.0","id":7,"result":` + okTask + "}", want: "[JSON-RPC response: Task]"},
		{name: "empty result", text: `{"jsonrpc":"2.0","id":7,"result":{}}`, want: "[JSON-RPC response]"},
		{name: "old method", text: `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","parts":[]}}}`,
			want: "[JSON-RPC request: SendMessage]\n1:34 error v03.method /method\n1:69 error required /params/message/messageId\n1:77 error enum /params/message/role\n1:92 error empty /params/message/parts"},
		{name: "foreign method", text: fmt.Sprintf(ask, "1", "x/y", `{}`), want: "[JSON-RPC request]\n1:34 warning rpc.method /method"},
		{name: "no params", text: `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, want: "[JSON-RPC request: GetTask]\n1:1 error required /params"},
		{name: "no params needed", text: `{"jsonrpc":"2.0","id":1,"method":"ListTasks"}`, want: "[JSON-RPC request: ListTasks]"},
		{name: "notification, version, id", text: `{"jsonrpc":"1.0","method":"ListTasks"}` + "\n" + `{"jsonrpc":2,"id":1.5,"method":"ListTasks"}`,
			want: "[JSON-RPC request: ListTasks]\n1:1 warning rpc.notification\n1:12 error rpc.version /jsonrpc\n[JSON-RPC request: ListTasks]\n2:12 error type /jsonrpc\n2:19 error rpc.id /id"},
		{name: "null beside result", text: `{"jsonrpc":"2.0","id":1,"result":` + okTask + `,"error":null}`, want: "[JSON-RPC response: Task]\n1:1 error rpc.outcome"},
		{name: "null result", text: `{"jsonrpc":"2.0","id":1,"result":null}`, want: "[JSON-RPC response]\n1:34 error rpc.outcome /result"},
		{name: "error", text: `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no","data":[{"@type":"t","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}`, want: "[JSON-RPC error]"},
		{name: "details of any type", options: validate.Options{Strict: true}, text: `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[]}]}}`, want: "[JSON-RPC error]"},
		{name: "error of another code", text: `{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"no","data":[{"@type":"t","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}`,
			want: "[JSON-RPC error]\n1:93 error error.reason /error/data/0/reason"},
		{name: "error data of 0.3", text: `{"jsonrpc":"2.0","id":1,"error":{"code":"-32001","data":{"a":1}}}`,
			want: "[JSON-RPC error]\n1:33 error required /error/message\n1:41 error integer.form /error/code\n1:57 error type /error/data"},
		{name: "batch", text: "[" + fmt.Sprintf(ask, "1", "GetTask", `{"id":""}`) + "]", want: "[JSON-RPC request: GetTask]\n1:60 error empty /0/params/id"},
	})
}

func TestFormsOfInput(t *testing.T) {
	bad := `{"id":"","status":{"state":"TASK_STATE_WORKING"}}`
	check(t, []vector{
		{name: "array", text: "[\n  " + okTask + ",\n  " + bad + "\n]", want: "[Task]\n[Task]\n3:9 error empty /1/id"},
		{name: "values", text: okTask + "\n\n" + strings.ReplaceAll(bad, ",", ",\n") + " " + okTask, want: "[Task]\n[Task]\n3:7 error empty /id\n[Task]"},
		{name: "lines go on after a broken one", text: okTask + "\n" + `{"id":"t"` + "\n" + okTask, want: "[Task]\n[]\n2:10 error json\n[Task]", file: "x.jsonl"},
		{name: "two in a line", text: okTask + "\n" + okTask + " {}\n", want: "[Task]\n[Task]\n2:68 error json", file: "x.jsonl"},
		{name: "byte order mark, spaces", text: "\ufeff \n " + bad, want: "[Task]\n2:8 error empty /id"},
		{name: "trailing comma", text: "[" + okTask + ",]", want: "[Task]\n[]\n1:69 error json"},
		{name: "unclosed", text: "[" + okTask, want: "[Task]\n[]\n1:68 error json"},
		{name: "no comma", text: "[" + okTask + okTask + "]", want: "[Task]\n[]\n1:68 error json\n[Task]"},
		{name: "garbage", text: "hello", want: "[]\n1:1 error json"},
		{name: "nothing", text: " \n", want: "[]\n2:1 error json"},
		{name: "not UTF-8", text: "{\"id\":\"\xff\"}", want: "[]\n1:8 error json"},
		{name: "too large", options: validate.Options{MaxDocument: 100}, text: `{"text":"` + strings.Repeat("x", 200) + `"}` + "\n" + okTask,
			want: "unreadable: line 1: document too large: more than 100 bytes\n[Task]"},
		{name: "too large a line", options: validate.Options{MaxDocument: 100}, text: `{"text":"` + strings.Repeat("x", 200) + `"}` + "\n" + okTask,
			want: "unreadable: line 1: document too large: more than 100 bytes\n[Task]", file: "x.jsonl"},
		{name: "deep", text: `{"data":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, want: "[Part]\n1:1 warning depth"},
		{name: "far too deep", text: `{"data":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, want: "[]\n1:1 error json"},
		{name: "headers of curl -i", file: "<stdin>", text: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + bad, want: "[Task]\n4:7 error empty /id"},
		{name: "YAML", file: "card.yaml", text: "# a card\nname: n\ndescription: &d \"\"\nversion: 1.0\nsupportedInterfaces:\n  - {url: u, protocolBinding: JSONRPC, protocolVersion: \"1.0\"}\n" +
			"capabilities: {}\ndefaultInputModes: []\ndefaultOutputModes: [text/plain]\nskills:\n  - id: s\n    name: s\n    description: *d\n    tags: [t]\n",
			want: "[AgentCard]\n3:17 error empty /description\n4:10 error type /version\n8:20 error empty /defaultInputModes\n3:17 error empty /skills/0/description"},
		{name: "YAML by its look, two documents", file: "<stdin>", text: "---\nid: t\nstatus: {state: TASK_STATE_WORKING}\n---\nid: t\nid: u\nstatus: {state: working}\n",
			want: "[Task]\n[Task]\n6:1 error duplicate /id\n7:17 error enum /status/state"},
		{name: "broken YAML", file: "x.yml", text: "a: [1,\nb: {", want: "[]\n2:4 error json"},
		{name: "merge key", file: "x.yml", text: "a: &a {b: 1}\nc:\n  <<: *a\n", want: "[]\n3:3 error json"},
		{name: "YAML without end", file: "x.yml", text: "a: &a [*a]\n", want: "[]\n1:8 error json"},
	})
}

func TestStreams(t *testing.T) {
	task := func(state string) string {
		return `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_` + state + `"}}}`
	}
	status := func(state string) string {
		return `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_` + state + `"}}}`
	}
	piece := func(more string) string {
		return `{"artifactUpdate":{"taskId":"t","contextId":"c",` + more + `"artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}`
	}
	message := `{"message":` + okMessage + `}`
	frames := func(f ...string) string { return "data: " + strings.Join(f, "\n\ndata: ") + "\n\n" }
	const sr = "[StreamResponse]\n"
	vectors := []vector{
		{name: "in order", text: frames(task("SUBMITTED"), status("WORKING"), piece(""), piece(`"append":true,`), piece(`"append":true,"lastChunk":true,`), status("COMPLETED")), want: strings.Repeat(sr, 6) + "[stream]"},
		{name: "a message", text: frames(message), want: sr + "[stream]"},
		{name: "a question", text: frames(task("WORKING"), status("INPUT_REQUIRED")), want: sr + sr + "[stream]"},
		{name: "last snapshot", text: frames(task("WORKING"), status("COMPLETED"), task("COMPLETED")), want: sr + sr + sr + "[stream]"},
		{name: "no task first", text: frames(status("WORKING"), status("COMPLETED")), want: sr + "1 error stream.first /statusUpdate\n" + sr + "[stream]"},
		{name: "message and more", text: frames(message, status("COMPLETED")), want: sr + sr + "3 error stream.message /statusUpdate\n[stream]"},
		{name: "message later", text: frames(task("WORKING"), message), want: sr + sr + "3 error stream.message /message\n[stream]"},
		{name: "task in between", text: frames(task("WORKING"), task("WORKING"), status("FAILED")), want: sr + sr + "3 error stream.task /task\n" + sr + "[stream]"},
		{name: "after the end", text: frames(task("WORKING"), status("COMPLETED"), piece(""), status("FAILED")),
			want: sr + sr + sr + "5 error stream.after-end /artifactUpdate\n" + sr + "7 error stream.after-end /statusUpdate/status/state\n[stream]"},
		{name: "another end in the snapshot", text: frames(task("WORKING"), status("COMPLETED"), task("FAILED"), task("FAILED")),
			want: sr + sr + sr + "5 error stream.after-end /task/status/state\n" + sr + "7 error stream.after-end /task\n[stream]"},
		{name: "no end", text: frames(task("WORKING"), status("WORKING")), want: sr + sr + "[stream]\n3 error stream.no-end"},
		{name: "no end, allowed", options: validate.Options{Allow: []string{"stream.no-end"}}, text: frames(task("WORKING")), want: sr + "[stream]"},
		{name: "back to the beginning", text: frames(task("WORKING"), status("SUBMITTED"), status("COMPLETED")), want: sr + sr + "3 warning stream.transition /statusUpdate/status/state\n" + sr + "[stream]"},
		{name: "other ids", text: frames(task("WORKING"), strings.Replace(piece(""), `"c"`, `"d"`, 1), status("COMPLETED")), want: sr + sr + "3 error stream.ids /artifactUpdate/contextId\n" + sr + "[stream]"},
		{name: "append to nothing", text: frames(task("WORKING"), piece(`"append":true,`), status("COMPLETED")), want: sr + sr + "3 error stream.append /artifactUpdate/append\n" + sr + "[stream]\n5 warning stream.open-chunk"},
		{name: "append after the last chunk", text: frames(task("WORKING"), piece(`"lastChunk":true,`), piece(`"append":true,"lastChunk":true,`), status("COMPLETED")),
			want: sr + sr + sr + "5 error stream.last-chunk /artifactUpdate/append\n" + sr + "[stream]"},
		{name: "two arms", text: frames(strings.Replace(task("WORKING"), "{", `{"message":`+okMessage+`,`, 1), status("COMPLETED")), want: sr + "1 error oneof.many\n" + sr + "[stream]"},
		{name: "cut off, named, several lines", text: "id: 1\nevent: update\ndata: {\"task\":\ndata:   {\"id\":\"\"}}", want: sr + "3 warning sse.event\n4 error required /task/status\n4 error empty /task/id\n4 warning sse.cut\n[stream]\n4 error stream.no-end"},
		{name: "envelopes", text: frames(`{"jsonrpc":"2.0","id":1,"result":`+task("WORKING")+`}`, `{"jsonrpc":"2.0","id":2,"result":`+status("WORKING")+`}`, status("COMPLETED")),
			want: "[JSON-RPC response: StreamResponse]\n[JSON-RPC response: StreamResponse]\n3 error stream.rpc-id /id\n" + sr + "5 error stream.mixed\n[stream]"},
		{name: "error ends it", text: frames(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}`), want: "[JSON-RPC error]\n[stream]"},
	}
	for i := range vectors {
		vectors[i].file = "x.sse"
	}
	checkLines(t, append(vectors,
		vector{name: "lines as a stream", options: validate.Options{Stream: true}, text: status("WORKING") + "\n" + status("COMPLETED"), want: sr + "1 error stream.first /statusUpdate\n" + sr + "[stream]"},
		vector{name: "lines as documents", text: status("WORKING") + "\n" + status("COMPLETED"), want: strings.TrimSpace(sr + sr)},
	))
}

// A text of nothing is no document, whatever type it is said to be of.
func TestBlankTextIsNoDocument(t *testing.T) {
	for _, kind := range []string{"", "StreamResponse", "Empty"} {
		v, err := validate.New(validate.Options{Type: kind})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"", " ", "\n\t"} {
			r := v.Document([]byte(text))
			if r.Valid || len(r.Findings) != 1 || r.Findings[0].Rule != "json" || r.Findings[0].Pointer != "" || r.Findings[0].Section != "9.5" {
				t.Errorf("%q as %q: %+v", text, kind, r)
			}
		}
	}
}

// What to do about a mistake is said, and a document of mistakes is not answered with all of them.
func TestHints(t *testing.T) {
	v, err := validate.New(validate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for doc, want := range map[string]string{
		`{"state":"input-required"}`: "write TASK_STATE_INPUT_REQUIRED",
		`{"state":"cancelled"}`:      "write TASK_STATE_CANCELED",
		`{"state":"TASK_STATE_WORKING","timestamp":"2026-01-01T02:00:00+02:00"}`:           "write 2026-01-01T00:00:00.000Z",
		`{"state":"TASK_STATE_WORKING","timestamp":"2026-01-01 02:00:00"}`:                 "write 2026-01-01T02:00:00.000Z, if the time is in UTC",
		`{"state":"TASK_STATE_WORKING","timestamp":1767225600}`:                            "numbers of seconds",
		`{"kind":"text","text":"x"}`:                                                       "leave it out",
		`{"httpAuthSecurityScheme":{"scheme":7}}`:                                          "in quotes",
		`{"skills":[],"securitySchemes":{"a":{"type":"http","scheme":"bearer"}}}`:          "wrap the scheme",
		`{"jsonrpc":"2.0","id":1,"method":"sendMessage","params":{}}`:                      "write SendMessage",
		`{"tasks":null,"nextPageToken":"","pageSize":1,"totalSize":0}`:                     "[]",
		`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING"}},"task":1}`: "",
	} {
		r := v.Document([]byte(doc))
		if len(r.Findings) == 0 || !slices.ContainsFunc(r.Findings, func(x validate.Finding) bool { return strings.Contains(x.Hint, want) }) {
			t.Errorf("%s: no %q in %+v", doc, want, r.Findings)
		}
	}
	r := v.Document([]byte(`{"artifactId":"a","parts":[` + strings.Repeat(`{"kind":"text"},`, 200) + `{"text":""}],"` + strings.Repeat("x", 1<<20) + `":{"a":1,"a":2}}`))
	if len(r.Findings) != validate.MaxFindings || r.More != 301 || r.Valid {
		t.Errorf("%d findings and %d more", len(r.Findings), r.More)
	}
	r = v.Document([]byte(`{"artifactId":"a","parts":[{"text":""}],"` + strings.Repeat("x", 1<<20) + `":{"a":1,"a":2}}`))
	if len(r.Findings) != 1 || len(r.Findings[0].Pointer) > 3000 {
		t.Errorf("%d findings, the first about a pointer of %d bytes", len(r.Findings), len(r.Findings[0].Pointer))
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []validate.Options{{Type: "Tusk"}, {Method: "message/send"}, {From: "me"}, {Input: "xml"}, {Allow: []string{"x"}}} {
		if _, err := validate.New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

var errBroken = errors.New("broken pipe")

// endless is a long file that nothing has ever held as a whole.
type endless struct {
	line string
	left int // lines
	rest string
	err  error
}

func (e *endless) Read(b []byte) (int, error) {
	if e.rest == "" {
		if e.left == 0 {
			return 0, e.err
		}
		e.left--
		e.rest = e.line
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// A document is validated before the next one is read, and nothing of it is kept: the heap
// after many documents is that after few.
func TestMemoryIsThatOfOneDocument(t *testing.T) {
	v, err := validate.New(validate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{
		"x.jsonl": benchDocument,
		"x.json":  strings.ReplaceAll(benchDocument, ",", ",\n"),
		"x.sse":   "data: " + strings.TrimSuffix(strings.Replace(piece, "A", "a", 1), "\n") + "\n\n",
		"rpc":     `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":""}}` + "\n",
	} {
		in := &endless{line: line, left: 8_000, err: io.EOF}
		documents, few, total := 0, uint64(0), in.left
		for r, err := range v.File(name, in) {
			if err != nil {
				t.Fatal(err)
			}
			documents++
			if ahead := (total - in.left) - documents; ahead*len(line) > 256<<10 && r.Type != "stream" {
				t.Fatalf("%s: %d documents have been read ahead of document %d", name, ahead, documents)
			}
			if documents == 1_000 {
				few = heap()
			}
		}
		if many := heap(); documents < total || many > few+1<<20 {
			t.Errorf("%s: after %d documents the heap is %d bytes, after 1000 it was %d", name, documents, many, few)
		}
	}
	broken := &endless{line: benchDocument, left: 3, err: errBroken}
	n, last := 0, error(nil)
	for _, err := range v.File("x.jsonl", broken) {
		n, last = n+1, err
	}
	if n != 4 || !errors.Is(last, errBroken) {
		t.Errorf("%d results, the last with %v", n, last)
	}
}

const piece = `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"A","parts":[{"text":"x"}]}}}`

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Whoever stops listening gets nothing more.
func TestStoppingEarly(t *testing.T) {
	v, err := validate.New(validate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x.jsonl", "x.json", "x.sse", "x.yaml"} {
		text := okTask + "\n" + okTask + "\n" + okTask
		switch name {
		case "x.sse":
			text = "data: " + piece + "\n\ndata: " + piece + "\n\n"
		case "x.yaml":
			text = "---\nid: a\n---\nid: b\n"
		}
		n := 0
		for range v.File(name, strings.NewReader(text)) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%s: %d results", name, n)
		}
	}
}
