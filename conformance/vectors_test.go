package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve/conformance/vector"
	"a2aserve/impl/app"
	"a2aserve/impl/config"
	"a2aserve/impl/driver/drivertest/plain"
)

// settings are the servers that vectors ask for by name.
var settings = map[string]struct {
	yaml    string
	unwired []string
}{
	"default":  {yaml: tokens},
	"strict":   {yaml: tokens + "strict_version_header: true\nstrict_terminal_subscribe: true\n"},
	"open":     {},
	"nostream": {yaml: tokens, unwired: []string{"SendStreamingMessage", "SubscribeToTask"}},
}

// agents are who plays the vectors: what they prove must not lean on how the demo agent is
// written. Each gives the options of its server.
var agents = map[string]func(*config.Config) app.Options{
	"demo": func(*config.Config) app.Options { return app.Options{Log: quiet()} },
	"plain": func(cfg *config.Config) app.Options {
		return app.Options{Log: quiet(), Driver: plain.New(plain.Options{Files: cfg.Artifacts.FileBaseDir, Logger: quiet()})}
	},
}

// loadVectors reads the corpus.
func loadVectors(t *testing.T) (vectors []*vector.Vector) {
	t.Helper()
	files, err := filepath.Glob("testdata/vectors/*.txtar")
	if err != nil || len(files) < 30 {
		t.Fatalf("found %d vectors: %v", len(files), err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		v, err := vector.Parse(strings.TrimSuffix(filepath.Base(f), ".txtar"), data)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := settings[v.Server]; !ok {
			t.Fatalf("%s: no server %q", v.Name, v.Server)
		}
		if _, ok := agents[v.Agent]; v.Agent != "" && !ok {
			t.Fatalf("%s: no agent %q", v.Name, v.Agent)
		}
		vectors = append(vectors, v)
	}
	return vectors
}

// TestVectors runs every vector with each agent and over each binding that it allows. A
// vector has the server to itself only as far as its context ids are its own.
func TestVectors(t *testing.T) {
	contract := loadContract(t)
	vectors := loadVectors(t)
	for agent, options := range agents {
		for server, s := range settings {
			for _, b := range bindings {
				t.Run(agent+"/"+server+"/"+string(b), func(t *testing.T) {
					cfg, err := config.Load(configFile(t, filepath.Join(t.TempDir(), "tasks.db"), s.yaml))
					if err != nil {
						t.Fatal(err)
					}
					o := options(cfg)
					o.Unwired = s.unwired
					target, stop := startConfigured(t, cfg, o)
					t.Cleanup(stop)
					target.Observe = contract.check
					runVectors(t, vectors, agent, server, b, target)
				})
			}
		}
	}
}

// runVectors runs those that are for this agent, server and binding.
func runVectors(t *testing.T, vectors []*vector.Vector, agent, server string, b vector.Binding, target *vector.Target) {
	for _, v := range vectors {
		if v.Server != server || v.Agent != "" && v.Agent != agent {
			continue
		}
		for _, allowed := range v.Bindings {
			if allowed != b {
				continue
			}
			t.Run(v.Name, func(t *testing.T) {
				if err := v.Run(t.Context(), b, target); err != nil {
					t.Errorf("%v\n%s", err, v.Prose)
				}
			})
		}
	}
}
