package auth

import (
	"strings"
	"testing"

	"a2aserve/impl/call"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNewStaticRefuses(t *testing.T) {
	good := call.Principal{ID: "a"}
	for name, list := range map[string][]Token{
		"nothing": {}, "empty token": {{"", good}}, "a space": {{"a secret", good}}, "not ASCII": {{"sécret", good}}, "a line break": {{"secret\n", good}},
		"no principal": {{"secret", call.Principal{}}}, "anonymous": {{"secret", call.Anonymous}}, "control": {{"secret", call.Principal{ID: "a\u0085"}}},
		"bad UTF-8": {{"secret", call.Principal{ID: "a\xff"}}}, "twice": {{"secret", good}, {"secret", call.Principal{ID: "b"}}},
	} {
		if _, err := NewStatic(list); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "sécret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
