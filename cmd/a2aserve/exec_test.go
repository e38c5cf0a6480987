package main

import (
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

// A command is served without a configuration, as the README says.
func TestServeExec(t *testing.T) {
	s := startServer(t, "--bind", "127.0.0.1:0", "--exec", "tr a-z A-Z")
	card := s.field(t, "Agent Card")
	if code, body := call(t, "GET", card, ""); code != 200 || !strings.Contains(body, `"name":"tr"`) || strings.Contains(body, "a-z") {
		t.Errorf("card: %d %s", code, body)
	}
	code, body := call(t, "POST", strings.TrimSuffix(card, "/.well-known/agent-card.json")+"/a2a/v1/message:send",
		`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}}`)
	if code != 200 || !strings.Contains(body, `"text":"HELLO"`) || !strings.Contains(body, "TASK_STATE_COMPLETED") {
		t.Errorf("%d %s", code, body)
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
