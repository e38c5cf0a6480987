package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The JavaScript client takes the tour of js/tour.test.mjs.
func TestJavaScriptClient(t *testing.T) {
	t.Parallel()
	node := need(t, "node")
	if _, err := os.Stat(filepath.Join("js", "node_modules", "@a2a-js", "sdk")); err != nil {
		if os.Getenv("A2ASERVE_NO_SKIP") != "" {
			t.Fatal("the JavaScript client is not installed: make interop does that")
		}
		t.Skip("the JavaScript client is not installed: make interop does that")
	}
	c := exec.CommandContext(t.Context(), node, "--test", "--test-reporter=spec", "tour.test.mjs")
	c.Dir = "js"
	c.Env = append(os.Environ(),
		"A2ASERVE_OPEN="+serve(t, "strict_terminal_subscribe: true\n"),
		"A2ASERVE_CLOSED="+serve(t, tokens+"extended_card_file: "+extended(t)+"\n"))
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
