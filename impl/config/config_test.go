package config_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gen "a2aserve/gen/config"
	"a2aserve/impl/config"

	"github.com/go-json-experiment/json"
)

// valid is a file that only needs what a test adds.
const valid = `agent: {driver: demo}
card:
  name: Research agent
  description: Runs research turns.
  version: "1.2.0"
  skills: [{id: research, name: Research, description: Searches and sums up.}]
`

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("a2aserve.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaultsAreTheSchemas(t *testing.T) {
	c := parse(t, valid)
	b, err := json.Marshal(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(gen.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{"Tasks": "tasks", "Artifacts": "artifacts", "Store": "store", "Limits": "limits", "Agent": "agent", "Log": "log", "Config": ""}
	checked := 0
	for def, section := range sections {
		in := got
		if section != "" {
			in = got[section].(map[string]any)
		}
		for key, p := range schema.Defs[def].Properties {
			want, ok := p["default"]
			if m, isMap := want.(map[string]any); !ok || isMap && len(m) == 0 {
				continue
			}
			have, set := in[key]
			if !set { // zero values are left out
				have = map[string]any{"boolean": false, "integer": 0.0}[fmt.Sprint(p["type"])]
			}
			if fmt.Sprint(have) != fmt.Sprint(want) {
				t.Errorf("%s.%s is %v, the schema's default is %v", section, key, have, want)
			}
			checked++
		}
	}
	if checked < 35 {
		t.Errorf("checked only %d defaults", checked)
	}
	if config.Span(c.Tasks.TTL) != 24*time.Hour || c.Limits.MaxBodyBytes != 4<<20 || c.Store.Path != "./a2aserve.db" {
		t.Errorf("defaults: %v", c)
	}
}

func TestEveryKeyIsDescribedWithItsDefault(t *testing.T) {
	var schema struct {
		Defs map[string]struct {
			Required   []string                  `json:"required"`
			Properties map[string]map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(gen.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	// Sections, and what excludes another key, have no default to name.
	silent := []string{"Config.card", "Config.card_file", "Config.tasks", "Config.artifacts", "Config.store", "Config.limits", "Config.log", "Config.reload", "Config.admin", "Config.proxy", "Token.token", "Token.token_env", "Token.token_file", "Validator.client_secret", "Validator.client_secret_env", "Validator.client_secret_file", "Artifacts.file_sources"}
	for def, d := range schema.Defs {
		for key, p := range d.Properties {
			text, _ := p["description"].(string)
			if text == "" {
				t.Errorf("%s.%s has no description", def, key)
			}
			if !slices.Contains(d.Required, key) && p["x-required"] == nil && !strings.Contains(text, "Default") && !slices.Contains(silent, def+"."+key) {
				t.Errorf("%s.%s does not name its default: %s", def, key, text)
			}
			for _, def := range asMap(p["x-default"]) {
				if !strings.Contains(text, fmt.Sprint(def)) {
					t.Errorf("%s.%s: the description does not name the default %v", def, key, def)
				}
			}
			if def, ok := p["default"].(string); ok && !strings.Contains(text, def) {
				t.Errorf("%s.%s: the description does not name the default %q", def, key, def)
			}
			if n, ok := p["default"].(float64); ok && !strings.Contains(text, fmt.Sprintf("Default %.0f", n)) {
				t.Errorf("%s.%s: the description does not name the default %.0f", def, key, n)
			}
		}
	}
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func TestDefaultConfigurationServesTheDemoAgent(t *testing.T) {
	c, err := config.Default(config.Override{Key: "bind", Value: "127.0.0.1:0", From: "--bind"}, config.Override{Key: "store.path", Value: "x.db", From: "--db"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Agent.Driver != "demo" || c.Card == nil || len(c.Card.Skills) == 0 || c.Bind != "127.0.0.1:0" || c.Store.Path != "x.db" || c.Authenticated() {
		t.Errorf("got %v", c)
	}
}

func TestNexusFile(t *testing.T) {
	t.Setenv("NEXUS_A2A_TOKEN", "sesame")
	text := `core:
  log_level: info
plugins:
  active:
    - nexus.io.a2a
  nexus.io.a2a:
    bind: "127.0.0.1:8092"
    bearer_token_env: NEXUS_A2A_TOKEN
    artifacts:
      max_file_bytes: 1000
    card:
      name: "Nexus Research Agent"
      description: "Runs research turns."
      version: "1.2.0"
      skills:
        - id: research
          name: "Research a topic"
          description: "Searches the web."
          tags: ["research"]
agent:
  driver: demo
store: {path: /var/lib/tasks.db}
`
	c := parse(t, text)
	if c.Bind != "127.0.0.1:8092" || c.Card.Name != "Nexus Research Agent" || c.Artifacts.MaxFileBytes != 1000 || c.Store.Path != "/var/lib/tasks.db" || !c.Authenticated() {
		t.Errorf("got %v", c)
	}
	_, err := config.Parse("nexus.yaml", []byte(strings.Replace(text, "max_file_bytes", "max_fil_bytes", 1)))
	if want := "nexus.yaml:10:7: artifacts.max_fil_bytes: unknown key; did you mean max_file_bytes?"; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	_, err = config.Parse("nexus.yaml", []byte(strings.Replace(text, "agent:\n  driver: demo\n", "", 1)))
	if err == nil || !strings.HasPrefix(err.Error(), `nexus.yaml:6:3: agent.driver: required, but missing.`) || !strings.Contains(err.Error(), `Allowed: "demo"`) {
		t.Errorf("got %v", err)
	}
	_, err = config.Parse("nexus.yaml", []byte("plugins:\n  active: []\n"))
	if err == nil || !strings.Contains(err.Error(), `nexus.yaml:1:1: plugins: a Nexus configuration, but without the block "nexus.io.a2a"`) {
		t.Errorf("got %v", err)
	}
	_, err = config.Parse("nexus.yaml", []byte(strings.Replace(text, "    artifacts:", "    agent: {driver: demo}\n    artifacts:", 1)))
	if err == nil || !strings.Contains(err.Error(), "nexus.yaml:21:1: agent: stands both here and in plugins.nexus.io.a2a") {
		t.Errorf("got %v", err)
	}
}

func TestIdentities(t *testing.T) {
	t.Setenv("TOK_B", "b-token")
	file := filepath.Join(t.TempDir(), "c")
	if err := os.WriteFile(file, []byte("c-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := parse(t, valid+`auth:
  validators:
    - type: static
      tokens:
        - {token: a-token, principal: alice, tenant: acme, scopes: [read, send]}
        - {token_env: TOK_B, principal: bob}
        - {token_file: "`+file+`", principal: carol}
`)
	got := map[string]string{}
	for _, i := range c.Validators[0].Identities {
		got[i.Token.Reveal()] = i.Principal
	}
	if want := map[string]string{"a-token": "alice", "b-token": "bob", "c-token": "carol"}; !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if a := c.Validators[0].Identities[0]; a.Tenant != "acme" || !slices.Equal(a.Scopes, []string{"read", "send"}) {
		t.Errorf("got %+v", a)
	}
	for _, text := range []string{fmt.Sprintf("%v", c), fmt.Sprintf("%+v", *c), fmt.Sprintf("%#v", c.Validators), c.LogValue().String()} {
		if strings.Contains(text, "-token") {
			t.Errorf("a credential is printed: %s", text)
		}
	}
	if c := parse(t, valid+"bearer_token: s3cret\n"); len(c.Validators) != 1 || c.Validators[0].Identities[0].Principal != "bearer_token" || strings.Contains(fmt.Sprintf("%+v", c.Config), "s3cret") {
		t.Errorf("got %+v", c.Config)
	}
}

func TestHomeIsExpanded(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	c := parse(t, valid+"store: {path: ~/tasks.db}\nartifacts: {file_base_dir: ~/files}\n")
	if c.Store.Path != filepath.Join(home, "tasks.db") || c.Artifacts.FileBaseDir != filepath.Join(home, "files") {
		t.Errorf("got %s and %s", c.Store.Path, c.Artifacts.FileBaseDir)
	}
}

func TestEmptySectionIsItsDefaults(t *testing.T) {
	c := parse(t, valid+"tasks:\n#  ttl: 1h\n")
	if c.Tasks.TTL != "24h" {
		t.Errorf("got %s", c.Tasks.TTL)
	}
}

// A Config made in code holds to the same rules; what is zero stays zero.
func TestCheck(t *testing.T) {
	d, err := config.Default()
	if err != nil {
		t.Fatal(err)
	}
	g := d.Config
	g.Tasks.MaxPerContext = 0
	g.BearerToken = "s3cret"
	c, err := config.Check(g)
	if err != nil {
		t.Fatal(err)
	}
	if c.Tasks.MaxPerContext != 0 || c.Tasks.MaxMessageBytes != 1<<20 || !c.Authenticated() || c.BearerToken != "" {
		t.Errorf("got %v", c)
	}
	g.Tasks.TTL = "soon"
	g.Limits.MaxDepth = 0
	_, err = config.Check(g)
	want := `configuration: limits.max_depth: expected a whole number from 16 to 5000, found the number 0
configuration: tasks.ttl: expected a duration with its unit in quotes, such as "15m" ("0s" switches it off), found "soon"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestOverrideErrorsNameTheFlag(t *testing.T) {
	_, err := config.Default(config.Override{Key: "bind", Value: "8091", From: "--bind"}, config.Override{Key: "store.path", Value: "", From: "--db"})
	want := `--bind: bind: expected an address to listen on, such as "127.0.0.1:8091", found "8091"
--db: store.path: expected text that is not empty, found empty text`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	_, err = config.Default(config.Override{Key: "bind", Value: ":80", From: "--bind"})
	if err == nil || !strings.HasPrefix(err.Error(), "--bind: bind: \":80\" listens on every interface") {
		t.Errorf("got %v", err)
	}
}

func TestMissingFile(t *testing.T) {
	_, err := config.Load(filepath.Join(t.TempDir(), "none.yaml"))
	if err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestAddresses(t *testing.T) {
	for addr, want := range map[string][2]bool{ // loopback, wildcard
		"127.0.0.1:1": {true, false}, "localhost:1": {true, false}, "[::1]:1": {true, false}, "127.9.9.9:1": {true, false}, "[::ffff:127.0.0.1]:1": {true, false},
		"0.0.0.0:1": {false, true}, "[::]:1": {false, true}, ":1": {false, true},
		"10.0.0.1:1": {false, false}, "agent.example.com:1": {false, false}, "nonsense": {false, false},
	} {
		if got := [2]bool{config.Loopback(addr), config.Wildcard(addr)}; got != want {
			t.Errorf("%s: got %v, want %v", addr, got, want)
		}
	}
}
