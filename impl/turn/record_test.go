package turn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json/jsontext"
)

func n(i int32) *int32 { return &i }

func TestRecordJSON(t *testing.T) {
	r := Record{ID: "i", ContextID: `c"`, State: a2a.TaskStateWorking, Status: []byte(`{"state":"S"}`)}
	full := r
	full.Artifacts = []ArtifactDoc{{ID: "a", JSON: []byte(`{"artifactId":"a","parts":[{"text":"x"}]}`)}}
	for i := range 5 {
		full.History = append(full.History, fmt.Appendf(nil, `{"messageId":"%d"}`, i))
	}
	head := `{"id":"i","contextId":"c\"","status":{"state":"S"}`
	artifacts := `,"artifacts":[{"artifactId":"a","parts":[{"text":"x"}]}]`
	all := `,"history":[{"messageId":"0"},{"messageId":"1"},{"messageId":"2"},{"messageId":"3"},{"messageId":"4"}]`
	for _, c := range []struct {
		r         Record
		history   *int32
		artifacts bool
		want      string
	}{
		{r, nil, true, head + "}"},
		{full, nil, false, head + all + "}"},
		{full, nil, true, head + artifacts + all + "}"},
		{full, n(0), true, head + artifacts + "}"},
		{full, n(1), false, head + `,"history":[{"messageId":"4"}]}`},
		{full, n(3), false, head + `,"history":[{"messageId":"2"},{"messageId":"3"},{"messageId":"4"}]}`},
		{full, n(99), false, head + all + "}"},
		{full, n(-1), false, head + "}"},
	} {
		got, err := c.r.JSON(c.history, c.artifacts)
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v\nwant %s", got, err, c.want)
		}
	}
}

func TestMergedArtifacts(t *testing.T) {
	doc := func(id string, more bool, body string) ArtifactDoc {
		return ArtifactDoc{ID: id, Append: more, JSON: []byte(`{"artifactId":"` + id + `",` + body + `}`)}
	}
	for name, c := range map[string]struct {
		docs []ArtifactDoc
		want string
	}{
		"text grows": {[]ArtifactDoc{
			doc("a", false, `"name":"n","parts":[{"text":"Hel"}]`), doc("a", true, `"parts":[{"text":"lo, "}]`), doc("a", true, `"parts":[{"text":""}]`)},
			`[{"artifactId":"a","name":"n","parts":[{"text":"Hello, "}]}]`},
		"other parts stay apart": {[]ArtifactDoc{
			doc("a", false, `"parts":[{"text":"x"},{"data":null}]`), doc("a", true, `"parts":[{"text":"y"},{"text":"z"}]`),
			doc("a", true, `"parts":[{"text":"w"},{"text":"q","mediaType":"text/html"}]`), doc("a", true, `"parts":[{"text":"r"}]`)},
			`[{"artifactId":"a","parts":[{"text":"x"},{"data":null},{"text":"y"},{"text":"zw"},{"text":"q","mediaType":"text/html"},{"text":"r"}]}]`},
		"heads merge": {[]ArtifactDoc{
			doc("a", false, `"parts":[{"text":"x"}],"metadata":{"k":1,"l":1},"extensions":["e"]`),
			doc("a", true, `"description":"d","parts":[{"text":"y"}],"metadata":{"l":9007199254740993},"extensions":["e","f"]`)},
			`[{"artifactId":"a","description":"d","parts":[{"text":"xy"}],"metadata":{"k":1,"l":9007199254740993},"extensions":["e","f"]}]`},
		"replaced in place": {[]ArtifactDoc{
			doc("a", false, `"parts":[{"text":"x"}]`), doc("b", false, `"parts":[{"text":"b"}]`), doc("a", true, `"parts":[{"text":"y"}]`),
			doc("a", false, `"parts":[{"text":"new"}]`), doc("a", true, `"parts":[{"text":"er"}]`)},
			`[{"artifactId":"a","parts":[{"text":"newer"}]},{"artifactId":"b","parts":[{"text":"b"}]}]`},
	} {
		got, err := Record{Status: []byte("{}"), Artifacts: c.docs}.JSON(nil, true)
		if err != nil || !strings.HasSuffix(string(got), `"artifacts":`+c.want+"}") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if _, err := (Record{Artifacts: []ArtifactDoc{{ID: "a", JSON: []byte("{}")}, {ID: "a", Append: true, JSON: []byte("{")}}}).JSON(nil, true); err == nil {
		t.Error("a damaged document passes")
	}
}

// TestReportedFiles: what a tool wrote is published, and nothing else can be had.
func TestReportedFiles(t *testing.T) {
	base, outside := t.TempDir(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(outside, "secret.txt")
	must(os.WriteFile(secret, []byte("secret"), 0o600))
	must(os.MkdirAll(filepath.Join(base, "sub"), 0o755))
	must(os.WriteFile(filepath.Join(base, "sub", "a.txt"), []byte("content"), 0o600))
	must(os.WriteFile(filepath.Join(base, "empty"), nil, 0o600))
	must(os.WriteFile(filepath.Join(base, "large"), make([]byte, 101), 0o600))
	must(os.Symlink("sub/a.txt", filepath.Join(base, "in")))
	must(os.Symlink(secret, filepath.Join(base, "out")))
	must(syscall.Mkfifo(filepath.Join(base, "fifo"), 0o600))

	for _, c := range []struct {
		path  string
		limit int
		modes []string
		want  string // of the file's only part; empty: not published
	}{
		{"sub/a.txt", 100, nil, "content"},
		{filepath.Join(base, "sub", "a.txt"), 100, nil, "content"},
		{"in", 100, nil, "content"},
		{"sub/../sub/a.txt", 100, nil, "content"},
		{"empty", 100, nil, "(no bytes)"},
		{"large", 100, nil, "[file left out: large, 101 bytes; files up to 100 bytes are sent]"},
		{"sub/a.txt", 0, nil, "[file left out: sub/a.txt, 7 bytes; files up to 0 bytes are sent]"},
		{"empty", 100, []string{"text/plain"}, "[file left out: empty, 0 bytes; the request does not accept application/octet-stream]"},
		{"../" + filepath.Base(outside) + "/secret.txt", 100, nil, ""},
		{secret, 100, nil, ""},
		{"out", 100, nil, ""},
		{"sub", 100, nil, ""},
		{"fifo", 100, nil, ""},
		{"missing", 100, nil, ""},
	} {
		structured := jsontext.Value(fmt.Sprintf(`{"path":%q}`, c.path))
		e := engine(t, Options{
			Artifacts: Artifacts{MaxFileBytes: c.limit, FileBaseDir: base, FileSources: map[string][]string{"write": {"path"}}},
			Driver:    &script{turn: plays(start, event.ToolResult{TurnID: "t", CallID: "c", Name: "write", Structured: structured, OutputFile: c.path}, end)},
		})
		in := ask("go")
		in.AcceptedOutputModes = c.modes
		files := task(t, await(t, send(t, e, in))).Artifacts[1:]
		switch {
		case c.want == "" && len(files) == 0:
		case c.want == "" || len(files) != 1 || len(files[0].Parts) != 1:
			t.Errorf("%s: %+v", c.path, files)
		default:
			p := files[0].Parts[0]
			got := joined(files[0].Parts)
			if p.Raw != nil && len(p.Raw) == 0 {
				got = "(no bytes)"
			}
			if got != c.want || !strings.Contains(string(files[0].Metadata), `"nexus.file.path"`) {
				t.Errorf("%s: %q, %s", c.path, got, files[0].Metadata)
			}
		}
	}
}
