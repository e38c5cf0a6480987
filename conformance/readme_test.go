package conformance

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The README's tour is run as it stands there, against a server without configuration.
func TestReadmeTour(t *testing.T) {
	need(t, "curl")
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tour, _ := strings.Cut(string(readme), "```sh\n")
	tour, _, _ = strings.Cut(tour, "```\n")
	target := serve(t, "shutdown_timeout: 200ms\n")
	task := ""
	wants := []string{
		`"supportedInterfaces"`,
		`"text":"hello"`,
		`"jsonrpc":"2.0"`,
		`"lastChunk":true`,
		`TASK_STATE_INPUT_REQUIRED`,
		`You said: blue`,
		`"TASK_STATE_`,
		`"totalSize":`,
		`TASK_STATE_WORKING`,
		`TASK_STATE_WORKING`,
		`TASK_STATE_CANCELED`,
		`"result":{"id"`,
	}
	commands := regexp.MustCompile(`(?m)^curl (.*\\\n)*.*$`).FindAllString(tour, -1)
	if len(commands) != len(wants) {
		t.Fatalf("the tour has %d commands, this test knows %d", len(commands), len(wants))
	}
	for i, c := range commands {
		c = strings.ReplaceAll(c, "localhost:8091", strings.TrimPrefix(target.Origin, "http://"))
		c = regexp.MustCompile(`\bTASK\b`).ReplaceAllString(c, task)
		if strings.Contains(c, ":subscribe") {
			c = "{ " + c + " --max-time 2 || true; }" // it would follow for a minute
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", c).CombinedOutput()
		if err != nil || !strings.Contains(string(out), wants[i]) {
			t.Errorf("%s\n  gives %v and %s\n  without %s", c, err, out, wants[i])
		}
		if m := regexp.MustCompile(`"task":\{"id":"([^"]+)"`).FindStringSubmatch(string(out)); m != nil {
			task = m[1]
		}
	}
}
