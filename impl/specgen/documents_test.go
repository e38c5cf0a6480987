package specgen

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
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
