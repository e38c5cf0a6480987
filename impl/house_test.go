// Package impl holds the tests of the house: which layer may import which, how
// large a file or function may get, and how much of it may be comment.
package impl

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	module          = "a2aserve"
	maxFileLines    = 400
	maxFuncLines    = 80
	minCommentShare = 0.12
	maxCommentShare = 0.22
)

// rule says what a package of the house may import of the house, and why no more.
type rule struct {
	pkg    string // a trailing /* covers everything below
	may    []string
	reason string
}

// rules go from the bottom up: data flows edge → binding → ops → turn → driver or store.
var rules = []rule{
	{"gen/*", []string{"gen/*"}, "generated code is the ground that hand code stands on"},
	{"queries", nil, "embeds the migrations, nothing else"},
	{"impl/call", nil, "every layer asks it who calls, so it may ask nobody"},
	{"impl/sse", nil, "SSE records know nothing of A2A"},
	{"impl/decode", []string{"gen/a2a"}, "shared by the bindings and the validator"},
	{"impl/validate", []string{"impl/decode", "impl/sse", "gen/a2a", "gen/op"}, "documents are judged by the schema, whoever runs or asks"},
	{"impl/validate/report", []string{"impl/validate"}, "reports are about results, not about how they came about"},
	{"impl/wire", []string{"impl/call", "gen/a2a"}, "shared by the edge and the bindings"},
	{"impl/auth", []string{"impl/call", "gen/a2a"}, "who calls is settled before anybody knows what for; the edge takes it by its shape"},
	{"impl/edge", []string{"impl/call", "impl/wire", "gen/a2a"}, "the edge knows who calls, not what for"},
	{"impl/binding", []string{"impl/call", "impl/decode", "impl/sse", "impl/wire", "gen/*"}, "a binding turns bytes into operations and holds no task rules"},
	{"impl/card", []string{"impl/decode", "impl/wire", "gen/a2a", "gen/op", "gen/config"}, "the card is derived from what is wired, not from how it runs"},
	{"impl/turn", []string{"impl/call", "gen/a2a", "gen/agentevents", "gen/event", "gen/op"}, "the engine must not know where tasks are stored, which agent runs them or which protocol asked"},
	{"impl/store", []string{"impl/call", "impl/turn", "gen/a2a", "gen/db", "queries"}, "the store is the only importer of gen/db and takes only the journal's types from turn"},
	{"impl/driver/drivertest", []string{"impl/turn", "gen/*"}, "the suite stands in for the engine's users"},
	{"impl/driver/agui", []string{"impl/turn", "impl/sse", "gen/a2a", "gen/agui", "gen/event"}, "a driver meets the engine at one seam; its agent is met over HTTP"},
	{"impl/driver/child/agent", []string{"impl/driver/bus", "gen/event"}, "it is the agent's side: the server is in another process"},
	{"impl/driver/*", []string{"impl/turn", "impl/driver/*", "gen/a2a", "gen/event"}, "a driver meets the engine at one seam"},
	{"impl/nexus", []string{"impl/driver/bus", "gen/a2a", "gen/event"}, "Nexus is an agent on the bus like any other; the engine must not know it"},
	{"impl/nexus/stdio", []string{"impl/nexus", "impl/driver/bus", "impl/driver/child/agent", "gen/event"}, "it is the agent's side: the server is in another process"},
	{"impl/ops", []string{"impl/call", "impl/card", "impl/turn", "impl/store", "gen/*"}, "operations decide, bindings and drivers carry out"},
	{"impl/light", []string{"impl/call", "impl/edge", "impl/store", "impl/turn", "impl/wire", "gen/a2a", "gen/op"}, "every layer tells it through hooks of its own, and none knows it"},
	{"impl/client", []string{"impl/sse", "gen/a2a", "gen/op"}, "a client knows the protocol and nothing of our server"},
	{"impl/config", []string{"gen/config"}, "configuration is data"},
	{"impl/specgen", nil, "the generator runs before anything that it generates"},
	{"impl/viewgen", nil, "the generator runs before anything that it generates"},
	{"impl/check", []string{"impl/validate", "impl/sse", "gen/*"}, "it tries servers from outside, ours as any other's"},
	{"impl/app", []string{"impl/*", "gen/*"}, "the app wires all"},
	{"cmd/a2aserve", []string{"impl/app", "impl/config", "impl/card", "impl/client", "impl/validate", "impl/validate/report", "impl/check", "gen/*"}, "the command is a thin face over the app"},
	{"cmd/specgen", []string{"impl/specgen"}, "a main is thin"},
	{"cmd/sqlc-gen-view", []string{"impl/viewgen"}, "a main is thin"},
	{"conformance/*", []string{"impl/*", "gen/*", "conformance/*"}, "vectors drive the whole server"},
	{"conformance", []string{"impl/*", "gen/*", "conformance/*"}, "vectors drive the whole server"},
	{"examples/*", []string{".", "gen/event"}, "an example uses what its readers can use"},
	{".", []string{"impl/*", "gen/*"}, "the embedder's face over the app"},
}

// foreign names packages from outside that only some places may import.
var foreign = []struct {
	pkg, reason string
	only        []string // files or folders
}{
	{"database/sql", "data is reached through the generated, principal-bound View", []string{"gen/db/", "impl/store/database.go", "impl/viewgen/"}},
	{"modernc.org/sqlite", "one place opens the database", []string{"impl/store/database.go", "impl/viewgen/"}},
	{"encoding/json", "version 1 matches names without case, lets duplicates through and writes null for nil slices", []string{"gen/rest/", "impl/specgen/", "impl/viewgen/", "cmd/sqlc-gen-view/", "cmd/specgen/"}},
	{"net/http", "the engine and the store serve more than one transport", []string{"gen/", "impl/auth/", "impl/edge/", "impl/binding/", "impl/wire/", "impl/card/", "impl/app/", "impl/client/", "impl/check/", "impl/driver/agui/", "impl/light/", "cmd/a2aserve/", "conformance/"}},
	{"go.opentelemetry.io", "layers have hooks of their own; who embeds the server need not link a telemetry library into each", []string{"impl/light/"}},
	{"github.com/prometheus", "there is one source of metrics", []string{"impl/light/"}},
}

type source struct {
	path string // below the module's root, with slashes
	pkg  string // folder
	text string
	ast  *ast.File
	test bool
}

func sources(t *testing.T) (fset *token.FileSet, hand, generated []source) {
	t.Helper()
	fset = token.NewFileSet()
	root := ".."
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(p, "go.mod"))
			if rel != "." && (nested == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || rel == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, rel, b, parser.ParseComments)
		if err != nil {
			return err
		}
		s := source{path: rel, pkg: path.Dir(rel), text: string(b), ast: f, test: strings.HasSuffix(rel, "_test.go")}
		if ast.IsGenerated(f) {
			generated = append(generated, s)
		} else {
			hand = append(hand, s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(hand) < 10 || len(generated) < 5 {
		t.Fatalf("found only %d hand-written and %d generated files: is the walk broken?", len(hand), len(generated))
	}
	return fset, hand, generated
}

func covers(pattern, pkg string) bool {
	if base, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(pkg, base+"/")
	}
	return pattern == pkg
}

func imports(s source) (out []string) {
	for _, i := range s.ast.Imports {
		out = append(out, strings.Trim(i.Path.Value, `"`))
	}
	return out
}

func TestImportsGoOneWay(t *testing.T) {
	_, hand, generated := sources(t)
	for _, s := range slices.Concat(hand, generated) {
		i := slices.IndexFunc(rules, func(r rule) bool { return covers(r.pkg, s.pkg) })
		if s.test || s.pkg == "impl" {
			continue // a test may stand its package on real neighbours
		}
		if i < 0 {
			t.Errorf("%s: package %s has no rule in impl/house_test.go", s.path, s.pkg)
			continue
		}
		for _, imp := range imports(s) {
			rel, ours := strings.CutPrefix(imp, module+"/")
			if imp == module {
				rel, ours = ".", true
			}
			if !ours || rel == s.pkg || slices.ContainsFunc(rules[i].may, func(p string) bool { return covers(p, rel) }) {
				continue
			}
			t.Errorf("%s imports %s; %s may import %v, because %s", s.path, rel, s.pkg, rules[i].may, rules[i].reason)
		}
	}
}

func TestForeignPackagesStayWhereTheyBelong(t *testing.T) {
	_, hand, generated := sources(t)
	for _, s := range slices.Concat(hand, generated) {
		if s.test {
			continue
		}
		for _, f := range foreign {
			if slices.ContainsFunc(imports(s), func(p string) bool {
				return p == f.pkg || strings.Contains(f.pkg, ".") && strings.HasPrefix(p, f.pkg+"/")
			}) && !slices.ContainsFunc(f.only, func(p string) bool { return strings.HasPrefix(s.path, p) }) {
				t.Errorf("%s imports %s, because of which only %v may: %s", s.path, f.pkg, f.only, f.reason)
			}
		}
	}
}

func TestOnlyTheStoreReachesTheDatabase(t *testing.T) {
	_, hand, _ := sources(t)
	for _, s := range hand {
		if slices.Contains(imports(s), module+"/gen/db") && s.pkg != "impl/store" {
			t.Errorf("%s imports gen/db: a caller's view is store.For(principal)", s.path)
		}
	}
}

var sqlLiteral = regexp.MustCompile("(?s)[\"`]\\s*(SELECT|INSERT|UPDATE|DELETE|WITH|REPLACE|CREATE|ALTER|DROP)\\s[^\"`]*[\"`]")

func TestNoSQLOutsideQueries(t *testing.T) {
	_, hand, _ := sources(t)
	for _, s := range hand {
		if s.test || strings.HasPrefix(s.path, "impl/viewgen/") || s.path == "impl/store/database.go" {
			continue
		}
		if m := sqlLiteral.FindString(s.text); m != "" {
			t.Errorf("%s holds SQL (%.40s…): statements live in queries/, where they are proved to be scoped", s.path, m)
		}
	}
}

func TestSizes(t *testing.T) {
	fset, hand, _ := sources(t)
	for _, s := range hand {
		if s.test {
			continue
		}
		if n := strings.Count(s.text, "\n"); n > maxFileLines {
			t.Errorf("%s has %d lines, more than %d: a file should be read in one sitting", s.path, n, maxFileLines)
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1; n > maxFuncLines {
				t.Errorf("%s: %s has %d lines, more than %d: a function should fit on a screen", s.path, f.Name.Name, n, maxFuncLines)
			}
		}
	}
}

func TestCommentsAreNeitherWallsNorAbsent(t *testing.T) {
	fset, hand, _ := sources(t)
	comment, code := map[string]int{}, map[string]int{}
	for _, s := range hand {
		if s.test {
			continue
		}
		lines := map[int]bool{}
		for _, g := range s.ast.Comments {
			for l := fset.Position(g.Pos()).Line; l <= fset.Position(g.End()).Line; l++ {
				lines[l] = true
			}
		}
		for i, l := range strings.Split(s.text, "\n") {
			l = strings.TrimSpace(l)
			switch {
			case l == "":
			case lines[i+1]: // a comment beside code says as much as one above it
				comment["all"]++
				comment[s.pkg]++
			default:
				code["all"]++
				code[s.pkg]++
			}
		}
	}
	share := func(p string) float64 { return float64(comment[p]) / float64(comment[p]+code[p]) }
	for _, p := range slices.Sorted(maps.Keys(code)) {
		t.Logf("%5.1f %% of %5d lines are comments: %s", 100*share(p), comment[p]+code[p], p)
	}
	if s := share("all"); s < minCommentShare || s > maxCommentShare {
		t.Errorf("%.0f %% of hand-written lines are comments, want %.0f to %.0f %%", 100*s, 100*minCommentShare, 100*maxCommentShare)
	}
	for p := range code {
		if s := share(p); code[p] > 150 && s > maxCommentShare+0.08 {
			t.Errorf("%s: %.0f %% of the lines are comments: say why, briefly", p, 100*s)
		}
	}
}

func TestNames(t *testing.T) {
	_, hand, _ := sources(t)
	for _, s := range hand {
		for _, bad := range []string{"util", "utils", "common", "helper", "helpers", "misc"} {
			base := strings.TrimSuffix(strings.TrimSuffix(path.Base(s.path), ".go"), "_test")
			if base == bad || path.Base(s.pkg) == bad || s.ast.Name.Name == bad {
				t.Errorf("%s: %q says nothing about what is in it", s.path, bad)
			}
		}
	}
}

// The operations' own files are named after the operations, so that a revision of
// the specification leads straight to the code.
func TestOneFileAnOperation(t *testing.T) {
	b, err := os.ReadFile("../gen/op/op.gen.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`Name:\s*"([A-Za-z]+)"`).FindAllStringSubmatch(string(b), -1)
	if len(names) < 11 {
		t.Fatalf("found %d operations in the operation table", len(names))
	}
	for _, n := range names {
		if strings.Contains(n[1], "Push") {
			continue // refused before the operation is reached, until push is offered
		}
		file := fmt.Sprintf("ops/%s.go", snake(n[1]))
		if _, err := os.Stat(file); err != nil {
			t.Errorf("operation %s has no file impl/%s", n[1], file)
		}
	}
}

func snake(s string) string {
	return strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(s, "${1}_${2}"))
}

// Nothing of the machine that wrote the code may stand in it.
func TestNoMachinePaths(t *testing.T) {
	_, hand, generated := sources(t)
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Dir(wd)
	for _, s := range slices.Concat(hand, generated) {
		if len(root) > 6 && strings.Contains(s.text, root+"/") {
			t.Errorf("%s names a path of this machine", s.path)
		}
	}
}
