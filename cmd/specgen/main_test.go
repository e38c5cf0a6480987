package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// run gives the command arguments and returns what it printed.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := command()
	c.SetArgs(append(args, "--root", "../.."))
	c.SetOut(&out)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func TestDiffCommand(t *testing.T) {
	text, err := run(t, "diff")
	if err != nil || !strings.Contains(text, "No difference in operations") || !strings.Contains(text, "docs/revising.md") {
		t.Errorf("%v:\n%s", err, text)
	}
	var doc struct {
		Changes []any    `json:"changes"`
		Prose   []string `json:"prose"`
	}
	text, err = run(t, "diff", "--format", "json")
	if err == nil {
		err = json.Unmarshal([]byte(text), &doc)
	}
	if err != nil || doc.Changes == nil || len(doc.Prose) == 0 {
		t.Errorf("%v:\n%s", err, text)
	}
	if _, err := run(t, "diff", "--format", "xml"); err == nil || !strings.Contains(err.Error(), `"xml"`) {
		t.Errorf("format xml: %v", err)
	}
}
