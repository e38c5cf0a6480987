package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serve --check-config says what would be served and what is wrong, and opens nothing.
func TestCheckConfig(t *testing.T) {
	dir := t.TempDir()
	token, db := filepath.Join(dir, "token"), filepath.Join(dir, "deep", "x.db")
	write(t, token, "s3cret\n")
	file := filepath.Join(dir, "a2aserve.yaml")
	text := `bind: 192.0.2.1:8091
public_url: https://agent.example.com
auth: {validators: [{type: static, tokens: [{token_file: "` + token + `", principal: ann}, {token_env: CHECK_TOKEN, principal: bob}]}]}
store: {path: "` + db + `"}
agent: {driver: demo}
card: {name: Checked agent, description: D, version: "1", skills: [{id: a, name: A, description: A}]}
artifacts: {file_base_dir: "` + dir + `"}
`
	check := func(text string, env ...string) (int, string) {
		write(t, file, text)
		c := command(t, "serve", "--check-config", "--config", file)
		c.Env = append(c.Env, env...)
		out, _ := c.CombinedOutput()
		return c.ProcessState.ExitCode(), string(out)
	}
	// The address is nobody's here: listening on it would fail.
	code, out := check(text, "CHECK_TOKEN=other")
	for _, want := range []string{"in order", "Checked agent", "https://agent.example.com/.well-known/agent-card.json", "192.0.2.1:8091", db} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, no %q in:\n%s", code, want, out)
		}
	}
	if strings.Contains(out, "s3cret") {
		t.Errorf("a token is shown:\n%s", out)
	}
	if _, err := os.Stat(filepath.Dir(db)); err == nil {
		t.Error("a folder for the database was made")
	}
	for _, v := range []struct{ name, text, want string }{
		{"unset variable", text, "CHECK_TOKEN is not set"},
		{"missing file", strings.Replace(text, token, token+".none", 1), "cannot read the token"},
		{"unknown key", text + "bnd: x\n", "bnd: unknown key"},
		{"card", strings.Replace(text, "id: a, name: A", "name: A", 1), "card.skills[0].id"},
		{"card file", strings.Replace(text, "card: {", "card_file: "+filepath.Join(dir, "none.json")+"\nx: {", 1), "x: unknown key"},
		{"folder of files", strings.Replace(text, `file_base_dir: "`+dir, `file_base_dir: "`+token, 1), "is no folder"},
		{"database's folder", strings.Replace(text, db, filepath.Join(token, "x.db"), 1), "store.path"},
	} {
		t.Run(v.name, func(t *testing.T) {
			env := []string{"CHECK_TOKEN=other"}
			if v.name == "unset variable" {
				env = nil
			}
			if code, out := check(v.text, env...); code != 2 || !strings.Contains(out, v.want) {
				t.Errorf("exit code %d, want 2 and %q in:\n%s", code, v.want, out)
			}
		})
	}
}
