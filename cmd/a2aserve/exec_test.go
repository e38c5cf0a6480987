package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for command, want := range map[string][]string{
		"tr a-z A-Z":           {"tr", "a-z", "A-Z"},
		"  tr\t'a z'  \"\" ''": {"tr", "a z", "", ""},
		`a\ b "c\"d\e" 'f\g'`:  {"a b", `c"d\e`, `f\g`},
		`say{prompt}'x y'z`:    {"say{prompt}x yz"},
		"echo $HOME | wc *":    {"echo", "$HOME", "|", "wc", "*"},
	} {
		if got, err := split(command); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", command, got, err)
		}
	}
	for command, want := range map[string]string{
		"": "no program", "  ": "no program", "'' x": "no program",
		"a 'b": "quote ' is not closed", `a "b`: `quote " is not closed`, `a \`: "backslash",
	} {
		if got, err := split(command); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v", command, got, err)
		}
	}
}

// A command is served without a configuration, as the README says: its lines are run as
// they stand there, but for the port.
func TestServeExec(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(readme), "```console\n$ a2aserve serve ")
	block, _, _ = strings.Cut(block, "```")
	serve, curl, found := strings.Cut(block, "\n$ ")
	args, err := split("serve " + serve)
	if err != nil || !found || !strings.Contains(curl, "localhost:8091") {
		t.Fatalf("the README has no such lines: %v %q", err, block)
	}
	if _, err := exec.LookPath("curl"); err != nil && os.Getenv("A2ASERVE_NO_SKIP") == "" {
		t.Skip("this test runs curl, which is not installed")
	}
	s := startServer(t, append(args[1:], "--bind", "127.0.0.1:0")...)
	card := s.field(t, "Agent Card")
	if code, body := call(t, "GET", card, ""); code != 200 || !strings.Contains(body, `"name":"tr"`) || strings.Contains(body, "a-z") {
		t.Errorf("card: %d %s", code, body)
	}
	at := strings.TrimPrefix(strings.TrimSuffix(card, "/.well-known/agent-card.json"), "http://")
	out, err := exec.Command("sh", "-c", strings.ReplaceAll(curl, "localhost:8091", at)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"text":"HELLO"`) || !strings.Contains(string(out), "TASK_STATE_COMPLETED") {
		t.Errorf("%s: %v %s", curl, err, out)
	}
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d, %s", code, s.logs)
	}
}

func TestExecMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	write(t, file, "agent: {driver: demo}\n")
	for want, args := range map[string][]string{
		"no program":    {"--exec", ""},
		"not closed":    {"--exec", "a 'b"},
		"not both":      {"--exec", "cat", "--config", file},
		`"/" is no pro`: {"--exec", "/"},
	} {
		out, err := command(t, append([]string{"serve", "--check-config"}, args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v %s", args, err, out)
		}
	}
}
