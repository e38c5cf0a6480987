package conformance

import (
	"net/http"
	"testing"

	"a2aserve/conformance/vector"
)

// Two validators that give the same principal id mean the same principal: a task that was
// sent with a token is read through the proxy that names its sender.
func TestSameIDIsTheSamePrincipal(t *testing.T) {
	target := startFrom(t, "192.0.2.7:4000", `
auth:
  validators:
    - {type: static, tokens: [{token: tok-a, principal: alice}]}
    - {type: proxy_headers, trusted_proxy_cidrs: [192.0.2.0/24], principal_header: X-User}
`)
	byToken, byProxy := *target, *target
	byToken.Tokens = map[string]string{"alice": "tok-a"}
	byProxy.Tokens, byProxy.Header = nil, http.Header{"X-User": {"alice"}}
	other := byProxy
	other.Header = http.Header{"X-User": {"bob"}}
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		id := send(t, &byToken, b, say("echo hi")).ID
		if got := get(t, &byProxy, b, id); got.text() != "hi" {
			t.Errorf("through the proxy: %+v", got)
		}
		if _, err := other.Call(t.Context(), b, "GetTask", "bob", `{"id":"`+id+`"}`); refused(t, err).Reason != "TASK_NOT_FOUND" {
			t.Errorf("another: %v", err)
		}
	})
}
