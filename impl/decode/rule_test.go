package decode

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// What a rule accepts, the validator finds nothing wrong with; and what clients usually send
// a rule does accept, or it would be of no use.
func TestRulesAndValidatorAgree(t *testing.T) {
	for _, c := range []struct {
		def, doc string
		accepted bool
	}{
		{"SendMessageRequest", ok, true},
		{"SendMessageRequest", `{"metadata":{"a":1},"configuration":{"historyLength":2147483647,"acceptedOutputModes":["a/b"],"returnImmediately":true},` + ok[1:], true},
		{"SendMessageRequest", `{"message":{"messageId":"m","role":2,"parts":[{"raw":"-_8","filename":"f"},{"data":null},{"url":"u"},{"data":{"x":[]}}],"extensions":["e"]}}`, true},
		{"GetTaskRequest", `{"id":"t","historyLength":0}`, true},
		{"ListTasksRequest", `{"status":"TASK_STATE_WORKING","pageSize":1,"includeArtifacts":false}`, true},
		{"OpenIdConnectSecurityScheme", `{"openIdConnectUrl":"u"}`, true},
		{"AuthorizationCodeOAuthFlow", `{"authorizationUrl":"a","tokenUrl":"t","scopes":{"s":"what"}}`, true},
		{"ListTasksRequest", `{"statusTimestampAfter":"2026-01-02T03:04:05Z"}`, false}, // in doubt
		{"APIKeySecurityScheme", `{"location":"query","name":"n"}`, false},             // in doubt
		{"SendMessageRequest", `{}`, false},
		{"SendMessageRequest", `[]`, false},
		{"SendMessageRequest", `{"message":{"messageId":"","role":"ROLE_USER","parts":[{"text":"hi"}]}}`, false},
		{"SendMessageRequest", `{"message":{"messageId":"m","role":"ROLE_NONE","parts":[{"text":"hi"}]}}`, false},
		{"SendMessageRequest", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}`, false},
		{"SendMessageRequest", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[null]}}`, false},
		{"SendMessageRequest", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{}]}}`, false},
		{"SendMessageRequest", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi","url":"u"}]}}`, false},
		{"SendMessageRequest", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":1}]}}`, false},
		{"SendMessageRequest", `{"metadata":7,` + ok[1:], false},
		{"GetTaskRequest", `{"id":"t","historyLength":-1}`, false},
		{"GetTaskRequest", `{"id":"t","historyLength":2147483648}`, false},
		{"GetTaskRequest", `{"id":"t","historyLength":1.5}`, false},
		{"AuthorizationCodeOAuthFlow", `{"authorizationUrl":"a","tokenUrl":"t","scopes":{"s":1}}`, false},
	} {
		tree, err := newReader([]byte(c.doc), DefaultDepth, false).document(shapes[c.def])
		if err != nil {
			t.Fatal(c.doc, err)
		}
		if got := rules[c.def].accepts(tree); got != c.accepted {
			t.Errorf("%s: accepted: %v", c.doc, got)
		}
		if err := compiled()[c.def].Validate(tree); c.accepted && err != nil {
			t.Errorf("%s: %v", c.doc, err)
		}
	}
}

// A keyword that rules do not know leaves them in doubt.
func TestRulesKnowTheirLimits(t *testing.T) {
	for _, keyword := range []string{"const", "not", "allOf", "maxLength", "pattern", "minLength", "type", "items", "format"} {
		var r rule
		r.read(nil, object{keyword: object{"const": 1.0}})
		if !r.doubt && (r.elem == nil || !r.elem.doubt) {
			t.Errorf("%s is overlooked", keyword)
		}
	}
	// Where all is in doubt nothing is gained: what requests are made of must not be.
	var doubtful []string
	for name, r := range rules {
		if r.doubt && strings.HasSuffix(name, "Request") {
			doubtful = append(doubtful, name)
		}
	}
	if slices.Sort(doubtful); len(doubtful) > 0 || rules["Message"].doubt || rules["Part"].doubt {
		t.Errorf("in doubt: %v", doubtful)
	}
}

// Trees of every definition, most of them right but for one place: what a rule accepts the
// validator accepts, wherever the mistake is.
func TestRulesAcceptNothingThatIsWrong(t *testing.T) {
	g := grower{rand.New(rand.NewPCG(3, 5))}
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		for range 300 {
			tree := g.grow(definitions[name], 6)
			if err := compiled()[name].Validate(tree); err != nil && rules[name].accepts(tree) {
				t.Errorf("%s: a rule accepts %v: %v", name, tree, err)
			}
		}
	}
}

// The next revision may use keywords in ways that this one does not.
func TestRulesOfOtherSchemas(t *testing.T) {
	for _, schema := range []string{
		`{"enum":["QUJD"]}`,
		`{"type":["object","null"]}`,
		`{"oneOf":[{"required":["odd"]},{"required":["even"]}]}`,
		`{"type":"array","items":{"type":"string"},"additionalProperties":{"type":"integer"}}`,
		`{"type":"object","additionalProperties":false}`,
		`{"minItems":2}`,
		`{"minimum":0,"maximum":0}`,
	} {
		var d object
		if err := json.Unmarshal([]byte(schema), &d); err != nil {
			t.Fatal(err)
		}
		var r rule
		r.read(nil, d)
		validator := jsonschema.MustCompileString("a2aserve:///other.json", schema)
		for _, v := range append([]any{[]any{"a", 1.0}, []any{1.0}, object{"a": "b"}}, strays...) {
			if err := validator.Validate(v); err != nil && r.accepts(v) {
				t.Errorf("%s: accepts %v: %v", schema, v, err)
			}
		}
	}
}

// grower makes values of the kind that the reader leaves in its trees.
type grower struct{ *rand.Rand }

// grow makes a value that a schema takes, and now and then one that it does not. Where it
// has gone deep it leaves out what it may.
func (g grower) grow(schema any, depth int) any {
	d, _ := schema.(object)
	if g.IntN(40) == 0 {
		return g.stray()
	}
	if ref, ok := d["$ref"].(string); ok {
		return g.grow(definitions[strings.TrimPrefix(ref, refPrefix)], depth)
	}
	if d["contentEncoding"] == "base64" {
		return []string{"", "QUJD"}[g.IntN(2)] // the reader has written it
	}
	if all, ok := d["enum"].([]any); ok && g.IntN(20) > 0 {
		return all[g.IntN(len(all))]
	}
	kind := d["type"]
	if several, ok := kind.([]any); ok {
		kind = several[g.IntN(len(several))]
	}
	switch kind {
	case "object":
		return g.members(d, depth-1)
	case "array":
		list := make([]any, 0, 3)
		for range g.IntN(min(3, max(1, depth)) + 1) {
			list = append(list, g.grow(d["items"], depth-1))
		}
		return list
	case "string":
		return []string{"", "QUJD", "2026-01-02T03:04:05Z", "a b"}[g.IntN(4)]
	case "integer", "number":
		return []float64{0, 1, -1, 1.5, math.MaxInt32, math.MaxInt32 + 1, math.MinInt32 - 1, 1e300}[g.IntN(8)]
	case "boolean":
		return g.IntN(2) == 0
	}
	return g.stray()
}

func (g grower) members(d object, depth int) any {
	members := object{}
	props, _ := d["properties"].(object)
	var need []string
	if list, ok := d["required"].([]any); ok {
		need = names(list)
	}
	if x, ok := d["x-oneof"].(object); ok {
		if one := names(x["members"]); g.IntN(10) > 0 {
			for _, name := range one { // exactly one of them, most often
				props = cloneWithout(props, name)
			}
			name := one[g.IntN(len(one))]
			members[name] = g.grow(d["properties"].(object)[name], depth)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if must := slices.Contains(need, name); must && g.IntN(25) > 0 || !must && depth > 0 && g.IntN(3) == 0 {
			members[name] = g.grow(props[name], depth)
		}
	}
	if more := d["additionalProperties"]; more != nil && g.IntN(2) == 0 {
		members["other"] = g.grow(more, depth)
	}
	return members
}

func (g grower) stray() any { return strays[g.IntN(len(strays))] }

// strays are values of all kinds that a tree may hold.
var strays = []any{nil, true, "", "QUJD", 0.0, -1.5, object{}, object{"odd": 1.0}, []any{}, []any{nil}}
