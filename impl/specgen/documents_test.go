package specgen

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

func TestOpenAPIIsValid(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile(filepath.Join(root, "spec/openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	tab := mustTables(t)
	found := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for verb, op := range item.Operations() {
			found[op.OperationID] = true
			ok := op.Responses.Value("200")
			if ok == nil || op.Responses.Value("400") == nil || op.Responses.Value("500") == nil || op.Responses.Value("401") == nil {
				t.Errorf("%s %s: answers are missing", verb, path)
				continue
			}
			name := strings.TrimSuffix(op.OperationID, "ByPost")
			if streams := ok.Value.Content["text/event-stream"] != nil; streams != (name == "SendStreamingMessage" || name == "SubscribeToTask") {
				t.Errorf("%s %s: streams is %t", verb, path, streams)
			}
			if op.Summary == "" {
				t.Errorf("%s %s: no summary", verb, path)
			}
		}
	}
	for _, o := range tab.Operations {
		if !found[o.Name] {
			t.Errorf("no operation %s", o.Name)
		}
	}
	if !found["SubscribeToTaskByPost"] || len(found) != len(tab.Operations)+1 {
		t.Errorf("operations: %v", found)
	}
}

// The document tells good requests and answers from bad ones, so that it can check the
// server's.
func TestOpenAPIChecksRequestsAndAnswers(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile(filepath.Join(root, "spec/openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	const notFound = `{"error":{"code":404,"status":"NOT_FOUND","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}`
	for _, x := range []struct {
		operation, verb, path, body string
		valid                       bool
		status                      int
		answer                      string
		answers                     bool
	}{
		{"SendMessage", "POST", "/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]}}`, true, 200, `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"a"}]}}`, true},
		{"SendMessage", "POST", "/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{}]}}`, false, 200, `{}`, false},
		{"GetTask", "GET", "/tasks/x?historyLength=0", "", true, 404, notFound, true},
		{"GetTask", "GET", "/tasks/x?historyLength=-1", "", false, 404, strings.Replace(notFound, `"domain"`, `"owner"`, 1), false},
		{"ListTasks", "GET", "/tasks?status=TASK_STATE_WORKING&statusTimestampAfter=2026-01-02T03:04:05Z", "", true, 200, `{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}`, true},
		{"ListTasks", "GET", "/tasks?pageSize=0", "", false, 200, `{"tasks":[]}`, false},
		{"CancelTask", "POST", "/tasks/x:cancel", "", true, 200, `{"id":"x","status":{"state":"TASK_STATE_CANCELED"}}`, true},
		{"CancelTask", "POST", "/tasks/x:cancel", `{"metadata":1}`, false, 200, `{"id":"x","status":{"state":"ASLEEP"}}`, false},
		{"SubscribeToTaskByPost", "POST", "/tasks/x:subscribe", `{}`, true, 404, notFound, true},
	} {
		req := httptest.NewRequest(x.verb, "/a2a/v1"+x.path, strings.NewReader(x.body))
		if x.body != "" {
			req.Header.Set("Content-Type", "application/a2a+json")
		}
		route, params, err := router.FindRoute(req)
		if err != nil || route.Operation.OperationID != x.operation {
			t.Errorf("%s %s: found %v, %v", x.verb, x.path, route, err)
			continue
		}
		in := &openapi3filter.RequestValidationInput{
			Request: req, PathParams: params, Route: route,
			Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
		}
		if err := openapi3filter.ValidateRequest(t.Context(), in); (err == nil) != x.valid {
			t.Errorf("%s %s %s: %v", x.verb, x.path, x.body, err)
		}
		err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: in, Status: x.status, Header: http.Header{"Content-Type": {"application/a2a+json"}},
			Body: io.NopCloser(strings.NewReader(x.answer)),
		})
		if (err == nil) != x.answers {
			t.Errorf("%s %s: answer %s: %v", x.verb, x.path, x.answer, err)
		}
	}
}

// schemas compiles the schemas of the repository under their names.
func schemas(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	for _, name := range []string{"a2a.schema.json", "events.schema.json"} {
		b, err := os.ReadFile(filepath.Join(root, "spec", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("a2aserve:///spec/"+name, bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestSchemaRules(t *testing.T) {
	c := schemas(t)
	for _, x := range []struct {
		def, in string
		valid   bool
	}{
		{"a2a.schema.json#/$defs/Part", `{"text":""}`, true},
		{"a2a.schema.json#/$defs/Part", `{"data":null}`, true},
		{"a2a.schema.json#/$defs/Part", `{"raw":"AQI="}`, true},
		{"a2a.schema.json#/$defs/Part", `{"raw":"**"}`, false},
		{"a2a.schema.json#/$defs/Part", `{}`, false},
		{"a2a.schema.json#/$defs/Part", `{"text":"a","url":"b"}`, false},
		{"a2a.schema.json#/$defs/Message", `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}],"future":1}`, true},
		{"a2a.schema.json#/$defs/Message", `{"messageId":"m","role":"ROLE_USER","parts":[]}`, false},
		{"a2a.schema.json#/$defs/Message", `{"messageId":"","role":"ROLE_USER","parts":[{"text":"a"}]}`, false},
		{"a2a.schema.json#/$defs/Message", `{"messageId":"m","role":"ROLE_UNSPECIFIED","parts":[{"text":"a"}]}`, false},
		{"a2a.schema.json#/$defs/TaskStatus", `{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}`, true},
		{"a2a.schema.json#/$defs/TaskStatus", `{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05+01:00"}`, false},
		{"a2a.schema.json#/$defs/ListTasksRequest", `{"pageSize":100,"historyLength":0}`, true},
		{"a2a.schema.json#/$defs/ListTasksRequest", `{"pageSize":101}`, false},
		{"a2a.schema.json#/$defs/ListTasksRequest", `{"pageSize":0}`, false},
		{"a2a.schema.json#/$defs/ListTasksRequest", `{"historyLength":-1}`, false},
		{"a2a.schema.json#/$defs/ListTasksResponse", `{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}`, true},
		{"a2a.schema.json#/$defs/SecurityRequirement", `{"schemes":{"oauth":{"list":["read"]}}}`, true},
		{"events.schema.json#/$defs/Output", `{"turnId":"t","role":"assistant","content":"hi"}`, true},
		{"events.schema.json#/$defs/Output", `{"turnId":"t","role":"boss"}`, false},
		{"events.schema.json#/$defs/Output", `{"turnId":"t","role":"assistant","parts":[{}]}`, false},
		{"events.schema.json#/$defs/Artifact", `{"turnId":"t","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}`, true},
		{"events.schema.json#/$defs/Artifact", `{"artifact":{"artifactId":"a","parts":[{"text":"x"}]}}`, false},
	} {
		s, err := c.Compile("a2aserve:///spec/" + x.def)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal([]byte(x.in), &v); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(v); (err == nil) != x.valid {
			t.Errorf("%s %s: %v", x.def, x.in, err)
		}
	}
}

// Every event says what it means, field by field, and every event of the agent
// names its turn unless it may come before one.
func TestEventVocabularyIsDescribed(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "spec/events.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := parseDocument(b)
	if err != nil {
		t.Fatal(err)
	}
	events, err := eventsOf(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Sender == "agent" && !e.Turn {
			t.Errorf("%s: has no turnId", e.Type)
		}
	}
	for name, d := range doc["$defs"].(object) {
		d := d.(object)
		if text(d["description"]) == "" {
			t.Errorf("%s is not described", name)
		}
		for field, p := range d["properties"].(object) {
			if text(p.(object)["description"]) == "" {
				t.Errorf("%s.%s is not described", name, field)
			}
		}
	}
}

func TestModelsRefuse(t *testing.T) {
	for want, schema := range map[string]string{
		"no x-go-name": `{"properties":{"a":{"type":"string"}}}`,
		"#/$defs/B":    `{"$defs":{"A":{"properties":{"b":{"$ref":"#/$defs/B"}}}}}`,
		"other.json":   `{"$defs":{"A":{"properties":{"b":{"$ref":"other.json#/$defs/B"}}}}}`,
		"x-sender":     `{"$defs":{"A":{"x-type":"a","x-sender":"nobody"}}}`,
		"same x-type":  `{"$defs":{"A":{"x-type":"a","x-sender":"agent"},"B":{"x-type":"a","x-sender":"agent"}}}`,
	} {
		dir := t.TempDir()
		if err := writeFile(dir, "s.json", []byte(schema)); err != nil {
			t.Fatal(err)
		}
		err := GenerateModels(t.Context(), Options{Root: dir}, Models{Schema: "s.json", Package: "x", Out: "x.go"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", schema, err, want)
		}
	}
}
