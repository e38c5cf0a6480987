// Package config reads a configuration: YAML against spec/config.schema.json, with
// every mistake reported at once and where it stands.
package config

import (
	_ "embed"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	gen "a2aserve/gen/config"

	"github.com/go-json-experiment/json"
)

// Config is a checked configuration with all defaults applied and paths expanded.
// Its credentials are in Validators only; the fields that they came from are empty,
// so that a Config may be printed.
type Config struct {
	gen.Config
	Validators  []Validator // of bearer_token or auth, in order
	AGUIToken   Secret      // of agent.agui.token_env; empty: none
	AGUIControl Secret      // of agent.agui.control.secret_env; empty: there is no link
	Files       []string    // what was read, or is going to be: the file itself and those that it names
}

// Secret is a credential that does not print itself.
type Secret struct{ value string }

// Reveal returns the credential.
func (s Secret) Reveal() string { return s.value }

// String hides the credential.
func (Secret) String() string { return "[redacted]" }

// GoString hides the credential.
func (Secret) GoString() string { return "[redacted]" }

// MarshalText hides the credential.
func (Secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// Override replaces one key, as a command-line flag does.
type Override struct {
	Key   string // dotted, such as store.path
	Value any
	From  string // named in errors, such as --bind
}

// Load reads a configuration file. A mistake in it is an Errors.
func Load(path string, overrides ...Override) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	c, err := Parse(path, data, overrides...)
	if err != nil {
		return nil, err
	}
	c.Files = append([]string{path}, c.Files...)
	return c, nil
}

// Parse reads a configuration; name stands for it in errors. A document with a block
// plugins."nexus.io.a2a" is a Nexus configuration: the block is what is read, with
// agent and store beside it at the top.
func Parse(name string, data []byte, overrides ...Override) (*Config, error) {
	return parse(name, data, overrides).finish()
}

//go:embed demo.yaml
var demo []byte

// Default is the configuration of a server that was given none: the demo agent.
func Default(overrides ...Override) (*Config, error) {
	return Parse("built-in configuration", demo, overrides...)
}

// Check holds a configuration made in code to the rules of a file. Start from Default's Config: zero fields
// mean zero, not the default.
func Check(c gen.Config) (*Config, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	d := &document{name: "configuration", at: map[string]place{}}
	if err := json.Unmarshal(b, &d.root); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	// Zero fields are left out of the JSON; they come back as what they are.
	fill(d.root, rootSchema, zero)
	return d.finish()
}

// finish goes from a tree to a Config. The order matters: defaults come before the
// schema, so that they are held to it too, and rules after them, so that a rule sees the
// values that will be used. Nothing stops early: an operator who mends one mistake at a
// time starts the server once for each.
func (d *document) finish() (*Config, error) {
	if d.broken {
		return nil, d.errors()
	}
	dropEmptySections(d.root, rootSchema)
	d.splitOrigins()
	d.prepareValidators()
	fill(d.root, rootSchema, clone)
	d.validate()
	d.checkRules()
	validators := d.credentials()
	aguiToken, aguiControl := d.agui()
	if len(d.problems) > 0 {
		return nil, d.errors()
	}
	b, err := json.Marshal(d.root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	c := &Config{Files: d.files(), AGUIToken: aguiToken, AGUIControl: aguiControl}
	if err := json.Unmarshal(b, &c.Config); err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	// The paths begin with a slash.
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	c.takeValidators(validators)
	if t := c.TLS; t != nil {
		for _, p := range []*string{&t.CertFile, &t.KeyFile, &t.ClientCAFile} {
			*p = ExpandHome(*p)
		}
	}
	if a := c.Agent.Child; a != nil {
		a.Dir = ExpandHome(a.Dir)
	}
	for _, p := range []*string{&c.CardFile, &c.ExtendedCardFile, &c.Store.Path, &c.Artifacts.FileBaseDir} {
		*p = ExpandHome(*p)
	}
	return c, nil
}

// String is the configuration as JSON, without credentials.
func (c Config) String() string {
	b, err := json.Marshal(c.Config, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// LogValue is the configuration without credentials.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Span is a checked duration of the configuration; zero where it is "0s", which
// switches off.
func Span(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic("config: unchecked duration " + s)
	}
	return d
}

// ExpandHome replaces a leading ~ by the home directory.
func ExpandHome(path string) string {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(home, path[1:])
}

// Loopback says whether a listen address is reachable from this machine only.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	// Other names are not looked up: what they mean may change while the server runs.
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Wildcard says whether a listen address stands for every interface, so that it is
// no address that a client could use.
func Wildcard(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.Unmap().IsUnspecified()
}
