package decode

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
)

const ok = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`

func send(t *testing.T, doc string) *a2a.SendMessageRequest {
	t.Helper()
	var v a2a.SendMessageRequest
	if err := Decode(Input{Def: "SendMessageRequest", JSON: []byte(doc)}, &v); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return &v
}

func violations(t *testing.T, in Input, into any) []string {
	t.Helper()
	err := Decode(in, into)
	if err == nil {
		t.Fatalf("%.200s was accepted", in.JSON)
	}
	e, ok := errors.AsType[*a2a.Error](err)
	if !ok || e.Type != a2a.InvalidParamsError || len(e.Violations) == 0 {
		t.Fatalf("%.200s: %v is not about parameters", in.JSON, err)
	}
	var out []string
	for _, v := range e.Violations {
		out = append(out, v.Field+": "+v.Description)
	}
	return out
}

func TestReadsWhatProtoJSONReadersRead(t *testing.T) {
	v := send(t, `{"message":{"message_id":"m","context_id":"c","role":1,"parts":[{"raw":"-_8","media_type":"x/y"},{"text":"","filename":null}],
		"extensions":null,"taskId":null},"configuration":{"historyLength":1.0,"accepted_output_modes":["text/plain"],"returnImmediately":true}}`)
	m := v.Message
	if m.MessageID != "m" || m.ContextID != "c" || m.Role != a2a.RoleUser || m.Parts[0].MediaType != "x/y" {
		t.Errorf("message: %+v", m)
	}
	out, err := json.Marshal(m.Parts)
	if err != nil || string(out) != `[{"raw":"+/8=","mediaType":"x/y"},{"text":""}]` {
		t.Errorf("parts: %s %v", out, err)
	}
	if c := v.Configuration; *c.HistoryLength != 1 || c.AcceptedOutputModes[0] != "text/plain" || !c.ReturnImmediately {
		t.Errorf("configuration: %+v", c)
	}
	for in, want := range map[string]int32{"5": 5, `"5"`: 5, "5.0": 5, "5e0": 5, "0": 0} {
		if got := *send(t, `{"configuration":{"historyLength":`+in+`},`+ok[1:]).Configuration.HistoryLength; got != want {
			t.Errorf("historyLength %s reads as %d", in, got)
		}
	}
	if v := send(t, `{"configuration":null,"metadata":null,`+ok[1:]); v.Configuration != nil || v.Metadata != nil {
		t.Errorf("explicit nulls: %+v", v)
	}
}

func TestUnknownMembersAreIgnoredEverywhere(t *testing.T) {
	v := send(t, `{"futureA":1,"message":{"futureB":{"x":[1,{}]},"messageId":"m","MessageID":"other","role":"ROLE_USER","parts":[{"text":"hi","futureC":[null]}]}}`)
	if v.Message.MessageID != "m" {
		t.Errorf("a wrong-case name was read: %q", v.Message.MessageID)
	}
}

func TestFreeFormValuesKeepTheirText(t *testing.T) {
	for _, doc := range []string{
		`null`, `{"k":null}`, `{"revision":7,"big":9007199254740993,"neg":-0,"e":1e21,"role":1,"message_id":"x"}`,
		`[1.50,1e400,12345678901234567890123]`, `"x"`, `false`,
	} {
		v := send(t, `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":`+doc+`}],"metadata":{"d":`+doc+`}}}`)
		if got := string(v.Message.Parts[0].Data); got != doc {
			t.Errorf("data %s became %s", doc, got)
		}
		if got := string(v.Message.Metadata); got != `{"d":`+doc+`}` {
			t.Errorf("metadata %s became %s", doc, got)
		}
	}
}

func TestViolations(t *testing.T) {
	part := func(s string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + s + `]}}`
	}
	for _, c := range []struct{ name, doc, want string }{
		{"nothing", `{}`, "message: is required"},
		{"empty body", ``, "message: is required"},
		{"all at once", `{"message":{"messageId":"","role":"ROLE_BOSS","parts":[]}}`,
			"message.messageId: must not be empty|message.parts: must not be empty|message.role: must be one of ROLE_USER, ROLE_AGENT"},
		{"missing", `{"message":{}}`, "message.messageId: is required|message.parts: is required|message.role: is required"},
		{"unspecified role", `{"message":{"messageId":"m","role":"ROLE_UNSPECIFIED","parts":[{"text":"x"}]}}`, "message.role: must be one of ROLE_USER, ROLE_AGENT"},
		{"role 0", `{"message":{"messageId":"m","role":0,"parts":[{"text":"x"}]}}`, "message.role: must be a string"},
		{"oneof none", part(`{"text":"a"},{"filename":"x"}`), "message.parts[1]: exactly one of text, raw, url, data must be set"},
		{"oneof two", part(`{"text":"a","url":"b"}`), "message.parts[0]: only one of text, raw, url, data may be set, not text and url"},
		{"oneof with null data", part(`{"text":"a","data":null}`), "message.parts[0]: only one of text, raw, url, data may be set, not text and data"},
		{"null part", part(`null`), "message.parts[0]: must be an object"},
		{"kinds", part(`{"text":5},{"raw":{}},7`), "message.parts[0].text: must be a string|message.parts[1].raw: must be a string|message.parts[2]: must be an object"},
		{"base64", part(`{"raw":"***"}`), "message.parts[0].raw: must be base64"},
		{"half of the padding, both alphabets", part(`{"raw":"AA="},{"raw":"-+-_"}`), "message.parts[0].raw: must be base64|message.parts[1].raw: must be base64"},
		{"struct", part(`{"text":"a","metadata":[]}`), "message.parts[0].metadata: must be an object"},
		{"object for a string", `{"message":{"messageId":{"a":1},"role":"ROLE_USER","parts":{"text":"x"}}}`, "message.messageId: must be a string|message.parts: must be an array"},
		{"array at the top", `[]`, ": must be an object"},
		{"null at the top", `null`, ": must be an object"},
		{"bounds", `{"configuration":{"historyLength":-1},` + ok[1:], "configuration.historyLength: must be at least 0"},
		{"overflow", `{"configuration":{"historyLength":2147483648},` + ok[1:], "configuration.historyLength: must be at most 2147483647"},
		{"huge", `{"configuration":{"historyLength":1e999},` + ok[1:], "configuration.historyLength: must be at most 2147483647"},
		{"fraction", `{"configuration":{"historyLength":1.5,"returnImmediately":"yes"},` + ok[1:], "configuration.historyLength: must be a whole number|configuration.returnImmediately: must be true or false"},
		{"order", part(strings.Repeat(`{"text":"x"},`, 2) + `{},` + strings.Repeat(`{"text":"x"},`, 7) + `{}`),
			"message.parts[2]: exactly one of text, raw, url, data must be set|message.parts[10]: exactly one of text, raw, url, data must be set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := violations(t, Input{Def: "SendMessageRequest", JSON: []byte(c.doc)}, &a2a.SendMessageRequest{})
			if strings.Join(got, "|") != c.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), c.want)
			}
		})
	}
}

func TestDuplicatesAreRefusedWhereverTheyStand(t *testing.T) {
	msg := func(s string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],` + s + `}}`
	}
	for doc, field := range map[string]string{
		msg(`"taskId":"a","taskId":"a"`):        "message.taskId",
		msg(`"taskId":"a","task_id":"b"`):       "message.taskId",
		msg(`"taskId":null,"task_id":"b"`):      "message.taskId",
		msg(`"role":"ROLE_AGENT"`):              "message.role",
		msg(`"future":1,"future":2`):            "message.future",
		msg(`"future":{"a":[{"b":1,"b":2}]}`):   "message.future.a[0].b",
		msg(`"metadata":{"a":{"b":1,"b":2}}`):   "message.metadata.a.b",
		msg(`"metadata":{"a":1,"\u0061":2}`):    "message.metadata.a",
		`{"message":7,"message":8,` + ok[1:]:    "message",
		`{"tenant":"","tenant":"",` + ok[1:]:    "tenant",
		msg(`"parts":[{"data":{"k":0,"k":0}}]`): "message.parts",
	} {
		got := violations(t, Input{Def: "SendMessageRequest", JSON: []byte(doc)}, &a2a.SendMessageRequest{})
		if !strings.HasPrefix(got[0], field+": is set twice") {
			t.Errorf("%s: %q", doc, got)
		}
	}
}

func TestNotJSON(t *testing.T) {
	for _, doc := range []string{`{"message":`, ` `, `{} x`, `{}{}`, `{'a':1}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"a":01}`, `nul`, "\ufeff{}", `{"message":{"metadata":{"a":tru}}}`} {
		err := Decode(Input{Def: "SendMessageRequest", JSON: []byte(doc)}, &a2a.SendMessageRequest{})
		if e, ok := errors.AsType[*a2a.Error](err); !ok || e.Type != a2a.JSONParseError {
			t.Errorf("%q: %v", doc, err)
		}
	}
}

func TestNesting(t *testing.T) {
	nested := func(n int) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}]}}`
	}
	send(t, nested(200))
	send(t, nested(252)) // and four levels around it
	for n, want := range map[int]string{
		253: "message.parts[0].data: is nested deeper than 256 levels", 5_000: "message.parts[0].data: is nested deeper than 256 levels",
		100_000: ": is nested deeper than 256 levels",
	} {
		got := violations(t, Input{Def: "SendMessageRequest", JSON: []byte(nested(n))}, &a2a.SendMessageRequest{})
		if got[0] != want {
			t.Errorf("%d: %q", n, got)
		}
	}
	got := violations(t, Input{Def: "SendMessageRequest", Depth: 5, JSON: []byte(`{"x":[[[[[]]]]],` + ok[1:])}, &a2a.SendMessageRequest{})
	if got[0] != "x: is nested deeper than 5 levels" {
		t.Errorf("%q", got)
	}
	if n := Nesting([]byte(`{"[[[\"[":[1,{}]}`)); n != 3 {
		t.Errorf("nesting of brackets in strings: %d", n)
	}
}

func TestBoundedAnswers(t *testing.T) {
	doc := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + strings.Repeat("{},", MaxElements-1) + `{}]}}`
	if got := violations(t, Input{Def: "SendMessageRequest", JSON: []byte(doc)}, &a2a.SendMessageRequest{}); len(got) != MaxViolations {
		t.Errorf("%d violations", len(got))
	}
	doc = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + strings.Repeat(`{"text":"x"},`, MaxElements) + `{"text":"x"}]}}`
	if got := violations(t, Input{Def: "SendMessageRequest", JSON: []byte(doc)}, &a2a.SendMessageRequest{}); got[0] != "message.parts: has more than 10000 elements" {
		t.Errorf("%q", got)
	}
	doc = `{"` + strings.Repeat("é", 5000) + `":{"a":1,"a":1},` + ok[1:]
	if got := violations(t, Input{Def: "SendMessageRequest", JSON: []byte(doc)}, &a2a.SendMessageRequest{}); len(got[0]) > 200 {
		t.Errorf("a violation of %d bytes", len(got[0]))
	}
	name := `{"` + strings.Repeat("n", 90) + `":`
	doc = `{"x":` + strings.Repeat(name, 5000) + `{"a":1,"a":2}` + strings.Repeat("}", 5001)
	if got := violations(t, Input{Def: "SendMessageRequest", JSON: []byte(doc)}, &a2a.SendMessageRequest{}); len(strings.Join(got, "")) > 2000 {
		t.Errorf("%d bytes of violations", len(strings.Join(got, "")))
	}
	var b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&b, `"k%d":0,`, i)
	}
	send(t, `{"metadata":{`+b.String()+`"z":1},`+ok[1:])
}

func TestFixedMembers(t *testing.T) {
	fixed := map[string]string{"id": `t"1`}
	for _, doc := range []string{``, `{}`, `{"id":null}`, `{"id":"t\"1"}`, `{"metadata":{"why":"x"}}`} {
		var v a2a.CancelTaskRequest
		if err := Decode(Input{Def: "CancelTaskRequest", JSON: []byte(doc), Fixed: fixed}, &v); err != nil || v.ID != `t"1` {
			t.Errorf("%s: %q %v", doc, v.ID, err)
		}
	}
	for _, doc := range []string{`{"id":"other"}`, `{"id":7}`, `{"id":""}`} {
		got := violations(t, Input{Def: "CancelTaskRequest", JSON: []byte(doc), Fixed: fixed}, &a2a.CancelTaskRequest{})
		if got[0] != "id: differs from the path" {
			t.Errorf("%s: %q", doc, got)
		}
	}
	got := violations(t, Input{Def: "CancelTaskRequest", Fixed: map[string]string{"id": "\xff"}}, &a2a.CancelTaskRequest{})
	if got[0] != "id: must be UTF-8" {
		t.Errorf("%q", got)
	}
}

func TestCheckSeesCanonicalNames(t *testing.T) {
	boom := errors.New("boom")
	in := Input{Def: "SendMessageRequest", JSON: []byte(`{"configuration":{"task_push_notification_config":{}}}`)}
	in.Check = func(m map[string]any) ([]a2a.Violation, error) {
		if m["configuration"].(map[string]any)["taskPushNotificationConfig"] != nil {
			return nil, boom
		}
		return nil, nil
	}
	if err := Decode(in, &a2a.SendMessageRequest{}); err != boom {
		t.Errorf("got %v", err)
	}
	in.Check = func(map[string]any) ([]a2a.Violation, error) {
		return []a2a.Violation{{Field: "tenant", Description: "no"}}, nil
	}
	in.Found = []a2a.Violation{{Field: "a", Description: "found before"}}
	if got := violations(t, in, &a2a.SendMessageRequest{}); got[0] != "a: found before" || got[len(got)-1] != "tenant: no" {
		t.Errorf("%q", got)
	}
}

func TestTimes(t *testing.T) {
	read := func(s string) error {
		return Decode(Input{Def: "ListTasksRequest", JSON: []byte(`{"statusTimestampAfter":"` + s + `"}`)}, &a2a.ListTasksRequest{})
	}
	for _, s := range []string{"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789Z", "2024-02-29T23:59:59.9Z"} {
		if err := read(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{"", "2026-01-02T03:04:05", "2026-01-02T03:04:05+02:00", "2026-02-30T03:04:05Z", "2026-01-02", "2026-01-02T03:04:60Z", "2026-01-02t03:04:05z", "2026-01-02T03:04:05.1234567890Z", "2026-01-02T03:04:05,5Z"} {
		err := read(s)
		if e, ok := errors.AsType[*a2a.Error](err); !ok || len(e.Violations) != 1 || !strings.Contains(e.Violations[0].Description, "in UTC") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestValidateCard(t *testing.T) {
	bad := Validate("AgentCard", []byte(`{"name":"x","securitySchemes":{"a/b é%":{},"c.d":{"httpAuthSecurityScheme":{"scheme":""}}},"skills":[{"id":"1"}]}`))
	var got []string
	for _, v := range bad {
		got = append(got, v.Field)
	}
	want := "capabilities defaultInputModes defaultOutputModes description securitySchemes.a/b é% securitySchemes.c.d.httpAuthSecurityScheme.scheme " +
		"skills[0].description skills[0].name skills[0].tags supportedInterfaces version"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	if bad := Validate("AgentCard", []byte(`{`)); len(bad) != 1 || bad[0].Field != "" {
		t.Errorf("syntax: %+v", bad)
	}
}

func TestParameter(t *testing.T) {
	for name, want := range map[string]struct {
		name string
		kind Kind
	}{
		"pageSize": {"pageSize", Integer}, "page_size": {"pageSize", Integer}, "includeArtifacts": {"includeArtifacts", Boolean},
		"status": {"status", Text}, "statusTimestampAfter": {"statusTimestampAfter", Text}, "PageSize": {"", None}, "x": {"", None},
	} {
		if n, k := Parameter("ListTasksRequest", name); n != want.name || k != want.kind {
			t.Errorf("%s: %q %v", name, n, k)
		}
	}
}

func TestWhole(t *testing.T) {
	for s, want := range map[string]int64{"1": 1, "-0": 0, "1.0": 1, "1e2": 100, "-2.50e1": -25, "9007199254740993": 9007199254740993} {
		if n, ok := whole(s); !ok || n != want {
			t.Errorf("%s: %d %v", s, n, ok)
		}
	}
	for _, s := range []string{"", "+1", "1.5", "1e400", "1e20", "NaN", "0x1", "1_0", " 1", fmt.Sprint(math.MaxFloat64)} {
		if n, ok := whole(s); ok {
			t.Errorf("%q reads as %d", s, n)
		}
	}
}

// Whatever comes in, the answer is a value, a parse error or violations, never a panic; the
// canonical form is a fixed point; and no rule accepts what the validator does not.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{ok, `{}`, `[`, `{"message":{"message_id":"m","role":1,"parts":[{"raw":"-_"},{"data":null}]},"metadata":{"a":1,"a":2}}`, `{"configuration":{"historyLength":1e2}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		in := Input{Def: "SendMessageRequest", JSON: []byte(doc)}
		if tree, err := newReader(in.JSON, DefaultDepth, false).document(shapes[in.Def]); err == nil && rules[in.Def].accepts(tree) {
			if err := compiled()[in.Def].Validate(tree); err != nil {
				t.Fatalf("%q is accepted: %v", doc, err)
			}
		}
		var v a2a.SendMessageRequest
		err := Decode(in, &v)
		if err != nil {
			e, ok := errors.AsType[*a2a.Error](err)
			if !ok || e.Cause != nil && e.Type == a2a.InvalidParamsError {
				t.Fatalf("%q: %v", doc, err)
			}
			if e.Type == a2a.InvalidParamsError && (len(e.Violations) == 0 || len(e.Violations) > MaxViolations) {
				t.Fatalf("%q: %d violations", doc, len(e.Violations))
			}
			return
		}
		once, err := Canonical(in)
		if err != nil {
			t.Fatal(err)
		}
		in.JSON = once
		twice, err := Canonical(in)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("%q: %s is not canonical: %s %v", doc, once, twice, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	doc := []byte(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + strings.Repeat("word ", 200) + `"}],"metadata":{"a":[1,2,{"b":null}]}},"configuration":{"historyLength":5}}`)
	b.ReportAllocs()
	for b.Loop() {
		var v a2a.SendMessageRequest
		if err := Decode(Input{Def: "SendMessageRequest", JSON: doc}, &v); err != nil {
			b.Fatal(err)
		}
	}
}
