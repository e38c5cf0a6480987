package specgen

import (
	"os"
	"strings"
	"testing"
)

// The page in docs/ is the one that the schema gives, and has every event and field.
func TestEventPage(t *testing.T) {
	src, err := os.ReadFile("../../spec/events.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	page, err := eventDoc("spec/events.schema.json", src)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != string(page) {
		t.Error("docs/events.md is not what spec/events.schema.json gives: run make generate")
	}
	schema, err := parseDocument(src)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range schema["$defs"].(object) {
		d := v.(object)
		heading := "### " + goName(name) + "\n"
		if typ := text(d["x-type"]); typ != "" {
			heading = "### `" + typ + "`\n"
		}
		_, entry, found := strings.Cut(string(page), heading)
		if !found {
			t.Errorf("no entry for %s", name)
		}
		entry, _, _ = strings.Cut(entry, "\n### ")
		props, _ := d["properties"].(object)
		for field := range props {
			if !strings.Contains(entry, "| `"+field+"` |") {
				t.Errorf("%s: no row for %s", name, field)
			}
		}
	}
}

// Whatever has no words cannot be documented.
func TestEventPageRefusesSilence(t *testing.T) {
	for what, schema := range map[string]string{
		"event": `{"$defs":{"A":{"x-type":"a","x-sender":"agent"}}}`,
		"type":  `{"$defs":{"A":{"properties":{}}}}`,
		"field": `{"$defs":{"A":{"x-type":"a","x-sender":"agent","description":"A.","properties":{"f":{"type":"string"}}}}}`,
	} {
		if _, err := eventDoc("x", []byte(schema)); err == nil || !strings.Contains(err.Error(), "description") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
