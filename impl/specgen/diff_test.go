package specgen

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the reports of testdata/revisions anew")

// rehearsal is an invented revision: testdata/revisions has one a file. What it does to
// the pinned definition and to the tables is told as replacements of text.
type rehearsal struct {
	path    string
	archive *txtar.Archive
}

// edit replaces one text, which must be there exactly once.
type edit struct{ File, Old, New string }

func (r rehearsal) file(name string) string {
	for _, f := range r.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func (r rehearsal) lines(name string) []string {
	return strings.FieldsFunc(r.file(name), func(c rune) bool { return c == '\n' })
}

func (r rehearsal) edits(t *testing.T, name string) (all []edit) {
	t.Helper()
	if err := yaml.UnmarshalWithOptions([]byte(r.file(name)), &all, yaml.Strict()); err != nil && err != io.EOF {
		t.Fatalf("%s: %s: %v", r.path, name, err)
	}
	return all
}

// proto writes the revision as a file.
func (r rehearsal) proto(t *testing.T) string {
	t.Helper()
	var pairs []string
	for _, e := range r.edits(t, "edits.yaml") {
		pairs = append(pairs, e.Old, e.New)
	}
	return writeProto(t, pairs...)
}

// tables copies the tables, with the revision's edits, to where the generator may read
// them in place of spec/.
func (r rehearsal) tables(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	names, err := filepath.Glob(filepath.Join(root, "spec/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rel := "spec/" + filepath.Base(name)
		for _, e := range r.edits(t, "tables.yaml") {
			if e.File != rel {
				continue
			}
			if bytes.Count(b, []byte(e.Old)) != 1 {
				t.Fatalf("%s: %q is %d times in %s", r.path, e.Old, bytes.Count(b, []byte(e.Old)), rel)
			}
			b = bytes.Replace(b, []byte(e.Old), []byte(e.New), 1)
		}
		if err := writeFile(dir, rel, b); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Each invented revision goes the way that docs/revising.md describes: what is said
// before, what the generator refuses, what it writes, and what the compiler names.
func TestRehearsedRevisions(t *testing.T) {
	paths, err := filepath.Glob("testdata/revisions/*.txtar")
	if err != nil || len(paths) < 3 {
		t.Fatalf("found %v, %v", paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r := rehearsal{path, txtar.Parse(b)}
			proto := r.proto(t)
			report := r.said(t, proto)
			out := r.generated(t, proto)
			r.compiled(t, out, report)
		})
	}
}

// said compares the report with the one that is kept. Code and ledger are left out of it,
// since they change with every day's work, and looked at by themselves.
func (r rehearsal) said(t *testing.T, proto string) *Report {
	t.Helper()
	report, err := Diff(t.Context(), DiffOptions{Options: Options{Root: root, Proto: proto}})
	if err != nil {
		t.Fatal(err)
	}
	kept := *report
	kept.Changes, kept.Unread = nil, nil
	for _, c := range report.Changes {
		c := *c
		c.Code, c.Ledger = nil, nil
		kept.Changes = append(kept.Changes, &c)
	}
	var b bytes.Buffer
	if err := kept.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(@v[^ ]+ \(descriptor )?sha256:[0-9a-f]{64}\)?`).ReplaceAllString(b.String(), "…")
	if *update {
		for i, f := range r.archive.Files {
			if f.Name == "report.txt" {
				r.archive.Files[i].Data = []byte(got)
			}
		}
		if err := os.WriteFile(r.path, txtar.Format(r.archive), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want := r.file("report.txt"); got != want {
		t.Errorf("the report is\n%s\nwant\n%s", got, want)
	}
	return report
}

// generated generates from the revision, once with the tables as they are where a
// refusal is expected.
func (r rehearsal) generated(t *testing.T, proto string) (out string) {
	t.Helper()
	abs, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Root: abs, Out: t.TempDir(), Proto: proto, Tools: Tools{Dir: abs}}
	if want := r.lines("refused.txt"); len(want) > 0 {
		_, err := Generate(t.Context(), o)
		for _, line := range want {
			if err == nil || !slices.Contains(strings.Split(err.Error(), "\n"), line) {
				t.Errorf("the generator said %v, want %q", err, line)
			}
		}
		if left := readAll(t, o.Out); len(left) > 0 {
			t.Errorf("the generator refused and wrote %d files", len(left))
		}
	}
	o.Root = r.tables(t)
	if _, err := Generate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	files := readAll(t, o.Out)
	for _, line := range r.lines("generated.txt") {
		name, want, _ := strings.Cut(line, ": ")
		if !strings.Contains(files[name], want) {
			t.Errorf("%s has no %s", name, want)
		}
	}
	return o.Out
}

// compilerLine is a complaint: its place and what is wrong.
var compilerLine = regexp.MustCompile(`(?m)^(\S+\.go):\d+:\d+: (.*)$`)

// compiled builds the module with the generated files laid over its own. Every file that
// the compiler names must be in the report, which was there first.
func (r rehearsal) compiled(t *testing.T, out string, report *Report) {
	t.Helper()
	abs, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for name := range readAll(t, out) {
		if strings.HasPrefix(name, "gen/") {
			replace[filepath.Join(abs, name)] = filepath.Join(out, name)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := writeFile(out, "overlay.json", overlay); err != nil {
		t.Fatal(err)
	}
	want := r.lines("compiler.txt")
	args := []string{"build", "-gcflags=-e", "-overlay", filepath.Join(out, "overlay.json")}
	for _, line := range want {
		pkg, _, _ := strings.Cut(line, ": ")
		args = append(args, "./"+pkg)
	}
	if len(want) == 0 {
		args = append(args, strings.Fields(r.file("builds.txt"))...)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = abs
	said, err := cmd.CombinedOutput()
	if (err == nil) != (len(want) == 0) {
		t.Fatalf("go build: %v\n%s", err, said)
	}
	for _, line := range want {
		_, text, _ := strings.Cut(line, ": ")
		if !strings.Contains(string(said), text) {
			t.Errorf("the compiler does not say %q:\n%s", text, said)
		}
	}
	named := map[string]bool{}
	for _, c := range report.Changes {
		for _, p := range c.Code {
			named[p.File] = true
		}
	}
	for _, m := range compilerLine.FindAllStringSubmatch(string(said), -1) {
		// What a package lacks is told where it is wired, not where it is to be written.
		if !named[filepath.ToSlash(m[1])] && !strings.Contains(m[2], "missing method") {
			t.Errorf("the report does not name %s, where the compiler says %s", m[1], m[2])
		}
	}
}

// The descriptor of the module's first version is that of the tag 1.0.0, as the pinned
// one is that of 1.0.1: between them nothing was changed but text, HTTP statuses of errors
// among it. So the report must find nothing, and still say what to read.
func TestFromTag100ToTheOnePinned(t *testing.T) {
	b, err := os.ReadFile("testdata/a2a-go-v2.0.0.binpb.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	from, err := descriptorSource(raw, "v2.0.0")
	if err != nil {
		t.Fatal(err)
	}
	to := mustSource(t)
	if from.revision.Hash == to.revision.Hash || from.file.Path() != "a2a.proto" {
		t.Errorf("the old descriptor is %s, file %s", from.revision, from.file.Path())
	}
	r := &Report{From: from.revision.String(), To: to.revision.String(), Prose: prose, Changes: compare(from, to, mustTables(t))}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"v2.0.0", "No difference in operations", "spec/errors.yaml: codes, HTTP statuses"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, text.String())
		}
	}
	if len(r.Changes) > 0 {
		t.Errorf("found %s %s %s", r.Changes[0].Kind, r.Changes[0].Name, r.Changes[0].Change)
	}
}

// The pinned version, read from the module's source as any other is, is what this binary
// is linked with.
func TestDescriptorIsReadFromAModulesSource(t *testing.T) {
	linked := mustSource(t)
	read, err := moduleSource(t.Context(), root, linked.revision.Version)
	if err != nil {
		t.Fatal(err)
	}
	if read.revision != linked.revision {
		t.Errorf("read %s, linked %s", read.revision, linked.revision)
	}
}

// The committed revision and the pinned one are the same until go.mod is changed.
func TestDiffWithoutARevision(t *testing.T) {
	r, err := Diff(t.Context(), DiffOptions{Options: Options{Root: root}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		From    string `json:"from"`
		To      string `json:"to"`
		Changes []any  `json:"changes"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.From != doc.To || doc.Changes == nil || len(doc.Changes) != 0 {
		t.Errorf("got %s", b)
	}
}

func TestDiffOfWhatIsNotThere(t *testing.T) {
	for want, o := range map[string]DiffOptions{
		"the new revision: open":                 {Options: Options{Proto: "none.proto"}},
		"the old revision: open":                 {From: "none.proto"},
		"give a proto file or a version of":      {Options: Options{Proto: "none.proto"}, Module: "v2.4.0"},
		"the old revision: spec/REVISION names":  {Options: Options{Root: revisionRoot(t, "module: example.org/other\nversion: v1.0.0\n")}},
		"spec/ was generated from the file x.pr": {Options: Options{Root: revisionRoot(t, "proto: x.proto\nsha256: 00\n")}},
		"has the descriptor 00…, but it has": {Options: Options{Root: revisionRoot(t, fmt.Sprintf(
			"module: %s\nversion: %s\ndescriptor-sha256: 00\n", descriptorModule, mustSource(t).revision.Version))}},
	} {
		if o.Root == "" {
			o.Root = root
		}
		if _, err := Diff(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// revisionRoot is a root with the module's go.mod and another spec/REVISION.
func revisionRoot(t *testing.T, revision string) string {
	t.Helper()
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err == nil {
		err = writeFile(dir, "go.mod", mod)
	}
	if err == nil {
		err = writeFile(dir, "spec/REVISION", []byte(revision))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
