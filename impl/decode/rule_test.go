package decode

import (
	"slices"
	"strings"
	"testing"
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
