package specgen

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// root is the module's root, whose tools and tables the tests use.
const root = "../.."

// pipeline runs the whole generator into a new folder.
func pipeline(t *testing.T, proto string) (dir string, undescribed []string) {
	t.Helper()
	abs, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	undescribed, err = Generate(t.Context(), Options{Root: abs, Out: dir, Proto: proto, Tools: Tools{Dir: abs}})
	if err != nil {
		t.Fatal(err)
	}
	return dir, undescribed
}

func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		b, err := os.ReadFile(p)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Generating again gives the files that are in the repository, each naming what it
// was generated from.
func TestGeneratingAgainChangesNothing(t *testing.T) {
	dir, undescribed := pipeline(t, "")
	if len(undescribed) > 0 {
		t.Errorf("spec/descriptions.yaml says nothing of %s", strings.Join(undescribed, ", "))
	}
	revision := readAll(t, filepath.Join(dir, "spec"))["REVISION"]
	hash := strings.TrimSpace(revision[strings.LastIndex(revision, " "):])
	if !strings.Contains(revision, "version: v2.") || len(hash) != 64 {
		t.Errorf("REVISION is %q", revision)
	}
	for name, text := range readAll(t, dir) {
		have, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
		} else if string(have) != text {
			t.Errorf("%s is not what the generator writes: run make generate", name)
		}
		if !strings.Contains(text, hash) {
			t.Errorf("%s does not name the descriptor's hash", name)
		}
	}
}

// A field added to a copied proto is in the schema, in the OpenAPI document, in the
// Go types and in validation.
func TestEditedProtoShowsEverywhere(t *testing.T) {
	path := writeProto(t, "string message_id = 1 [", "int32 send_priority = 99 [(google.api.field_behavior) = REQUIRED];\n string message_id = 1 [")
	dir, undescribed := pipeline(t, path)
	if !slices.Equal(undescribed, []string{"Message.sendPriority"}) {
		t.Errorf("without a description: %q", undescribed)
	}
	files := readAll(t, dir)
	if !strings.HasPrefix(files["spec/REVISION"], "proto: copy.proto\nsha256: ") {
		t.Errorf("REVISION is %q", files["spec/REVISION"])
	}
	if !strings.Contains(files["gen/a2a/types.gen.go"], "SendPriority int32 `json:\"sendPriority\"`") {
		t.Error("the field is not in the Go types")
	}
	for name, at := range map[string][]string{
		"spec/a2a.schema.json": {"$defs"},
		"spec/openapi.json":    {"components", "schemas"},
	} {
		var doc object
		if err := json.Unmarshal([]byte(files[name]), &doc); err != nil {
			t.Fatal(err)
		}
		for _, k := range at {
			doc = doc[k].(object)
		}
		message := doc["Message"].(object)
		if p, _ := message["properties"].(object)["sendPriority"].(object); p["type"] != "integer" || p["x-proto-name"] != "send_priority" {
			t.Errorf("%s: sendPriority is %v", name, p)
		}
		if !slices.Contains(message["required"].([]any), any("sendPriority")) {
			t.Errorf("%s: sendPriority is not required", name)
		}
	}

	c := jsonschema.NewCompiler()
	if err := c.AddResource(schemaID, strings.NewReader(files["gen/a2a/a2a.schema.json"])); err != nil {
		t.Fatal(err)
	}
	s := c.MustCompile(schemaID + "#/$defs/Message")
	for in, valid := range map[string]bool{
		`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}],"sendPriority":1}`:   true,
		`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]}`:                    false,
		`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}],"sendPriority":"x"}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(v); (err == nil) != valid {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// The pinned descriptor, printed as a proto file and compiled, is the same protocol.
func TestProtoFileIsReadLikeTheDescriptor(t *testing.T) {
	pinned, err := loadSource(t.Context(), Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := loadSource(t.Context(), Options{Root: root, Proto: writeProto(t)})
	if err != nil {
		t.Fatal(err)
	}
	tab := mustTables(t)
	var docs [2][]byte
	for i, s := range []*source{pinned, compiled} {
		raw := object{} // the plugin's part has a test of its own
		for _, m := range messages(s.file) {
			raw[string(m.Name())] = object{}
		}
		defs, err := buildSchema(s, raw, tab)
		if err != nil {
			t.Fatal(err)
		}
		s.revision = revision{}
		api, err := buildOpenAPI(s, defs, tab)
		if err != nil {
			t.Fatal(err)
		}
		if docs[i], err = encode([]any{defs, api}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(docs[0], docs[1]) {
		t.Error("the documents differ")
	}
}

func TestProtoThatDoesNotCompile(t *testing.T) {
	path := writeProto(t, "string message_id = 1 [", "strnig message_id = 1 [")
	_, err := loadSource(t.Context(), Options{Root: root, Proto: path})
	if err == nil || !strings.Contains(err.Error(), "copy.proto:") || !strings.Contains(err.Error(), "strnig") {
		t.Errorf("got %v, want the place and the unknown type", err)
	}
}
