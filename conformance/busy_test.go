package conformance

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"a2aserve/conformance/vector"
)

// More conversations at once than agent.max_sessions are refused with AGENT_BUSY, which
// passes: once one has ended, the next is answered by a process of its own.
func TestTooManyAgents(t *testing.T) {
	agent := filepath.Join(t.TempDir(), "agent")
	if out, err := exec.Command(need(t, "go"), "build", "-o", agent, "../examples/agents/go").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	target := serve(t, tokens+fmt.Sprintf("agent: {driver: child, max_sessions: 2, child: {command: %q, protocol: json}}\n", agent))
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		first := send(t, target, b, say("wait", "", now))
		second := send(t, target, b, say("ask")) // one that waits for its user counts too
		_, err := target.Call(t.Context(), b, "SendMessage", "bob", say("hello"))
		if r := refused(t, err); r.Reason != "UNSUPPORTED_OPERATION" || r.Detail != "AGENT_BUSY" {
			t.Errorf("refused with %s", r.Body)
		}
		for _, held := range []task{first, second} {
			if _, err := target.Call(t.Context(), b, "CancelTask", "alice", `{"id":"`+held.ID+`"}`); err != nil {
				t.Error(err)
			}
			if got := send(t, target, b, say("hello")); got.text() != "You said: hello" {
				t.Errorf("%+v", got)
			}
		}
	})
}
