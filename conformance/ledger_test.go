package conformance

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"a2aserve/conformance/ledger"
	"a2aserve/conformance/vector"
	tried "a2aserve/impl/check"
)

const requirements = "requirements.yaml"

func loadLedger(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Load(requirements)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Every sentence of the specification has its row, and every row its proof or its reason.
func TestLedgerAddsUp(t *testing.T) {
	for _, p := range loadLedger(t).Problems() {
		t.Errorf("%s: %s", requirements, p)
	}
}

// The proofs of the ledger exist: the test and the case in it, the step of a vector and what
// it expects, the check, the chapter.
func TestLedgerNamesRealProofs(t *testing.T) {
	r := &resolver{vectors: map[string]*vector.Vector{}, tests: map[string]map[string]*ast.FuncDecl{}, tables: map[string]map[string]*ast.ValueSpec{}}
	for _, v := range loadVectors(t) {
		r.vectors[v.Name] = v
	}
	known, proofs := topics(t), 0
	for _, s := range loadLedger(t).Sections {
		for _, row := range s.Rows {
			for _, p := range row.Proofs {
				proofs++
				if err := r.resolve(p); err != nil {
					t.Errorf("%s: %s: %v", row.ID, p, err)
				}
			}
			for _, n := range row.Diverges {
				if known[n] == "" {
					t.Errorf("%s: spec/DIVERGENCES.md has no row %d", row.ID, n)
				}
			}
		}
	}
	if proofs < 300 {
		t.Errorf("only %d proofs were read", proofs)
	}
	// The reader itself: what is not there is not found.
	for _, p := range []string{
		"impl/store.TestNone", "impl/none.TestOpen", "impl/turn.TestMapping/no such case", "impl/turn.TestMapping/", "conformance.quiet", "impl/turn.TestMapping/go",
		"vector none#GetTask error TaskNotFoundError", "vector task_not_found", "vector task_not_found#GetTask", "vector task_not_found#GetTask error TaskNotCancelableError",
		"vector task_not_found#ListTasks error TaskNotFoundError", "vector history_length#GetTask want nothing like it", "vector task_not_found#GetTask frames",
		"check NONE-99", "doc docs/none.md#Limits", "doc docs/operator.md#No such chapter", "doc docs/operator.md", "prose",
	} {
		if r.resolve(p) == nil {
			t.Errorf("%s was found", p)
		}
	}
}

// An id is for good: whoever has cited one finds it.
func TestNoRequirementVanishes(t *testing.T) {
	const file = "testdata/requirement-ids.txt"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, s := range loadLedger(t).Sections {
		for _, r := range s.Rows {
			have = append(have, r.ID)
		}
	}
	given := strings.Fields(string(b))
	for _, id := range given {
		if !slices.Contains(have, id) {
			t.Errorf("%s has vanished from %s: keep its row, and say in not_applicable why", id, requirements)
		}
	}
	for _, id := range have {
		if !slices.Contains(given, id) {
			t.Errorf("%s is new: append it to %s", id, file)
		}
	}
}

func topics(t *testing.T) map[int]string {
	t.Helper()
	divergences, err := os.ReadFile("../spec/DIVERGENCES.md")
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Topics(divergences)
}

func TestReportIsCurrent(t *testing.T) {
	const page = "../docs/conformance.md"
	got, err := os.ReadFile(page)
	if err != nil || string(got) != loadLedger(t).Render(topics(t)) {
		t.Errorf("%s is not what %s says: run make report (%v)", page, requirements, err)
	}
}

// resolver finds what proofs name.
type resolver struct {
	vectors map[string]*vector.Vector
	tests   map[string]map[string]*ast.FuncDecl  // by folder and name
	tables  map[string]map[string]*ast.ValueSpec // likewise
}

func (r *resolver) resolve(proof string) error {
	kind, rest, _ := strings.Cut(proof, " ")
	switch kind {
	case "vector":
		return r.step(rest)
	case "check":
		return check(rest)
	case "doc":
		return chapter(rest)
	}
	return r.test(proof)
}

var goTest = regexp.MustCompile(`^([a-z0-9/]+)\.(Test\w+|Fuzz\w+)(?:/(.+))?$`)

// test finds a Go test, and in it the name of the case as a literal.
func (r *resolver) test(proof string) error {
	m := goTest.FindStringSubmatch(proof)
	if m == nil {
		return fmt.Errorf("no proof is written like that")
	}
	if r.tests[m[1]] == nil {
		if err := r.parse(m[1]); err != nil {
			return err
		}
	}
	f := r.tests[m[1]][m[2]]
	if f == nil {
		return fmt.Errorf("there is no such test")
	}
	if m[3] == "" {
		return nil
	}
	found := hasCase(f, m[3])
	ast.Inspect(f, func(n ast.Node) bool { // a table may stand outside of the function
		if name, ok := n.(*ast.Ident); ok && !found {
			if table := r.tables[m[1]][name.Name]; table != nil {
				found = hasCase(table, m[3])
			}
		}
		return true
	})
	if !found {
		return fmt.Errorf("the test has no case of that name")
	}
	return nil
}

// hasCase finds a string that stands where a name does: first in a row, under name, as a
// key, in a list of names, or in t.Run.
func hasCase(in ast.Node, name string) (found bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			for i, e := range n.Elts {
				kv, isPair := e.(*ast.KeyValueExpr)
				if !isPair {
					found = found || literal(e) == name && (i == 0 || allLiterals(n))
					continue
				}
				k, isField := kv.Key.(*ast.Ident)
				found = found || literal(kv.Key) == name || isField && k.Name == "name" && literal(kv.Value) == name
			}
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			found = found || ok && s.Sel.Name == "Run" && len(n.Args) == 2 && literal(n.Args[0]) == name
		}
		return !found
	})
	return found
}

// allLiterals says whether a list holds names only.
func allLiterals(c *ast.CompositeLit) bool {
	return !slices.ContainsFunc(c.Elts, func(e ast.Expr) bool { _, ok := e.(*ast.BasicLit); return !ok })
}

func literal(e ast.Expr) string {
	if b, ok := e.(*ast.BasicLit); ok && b.Kind == token.STRING {
		s, err := strconv.Unquote(b.Value)
		if err == nil {
			return s
		}
	}
	return ""
}

// parse reads the tests of a folder, and the variables beside them.
func (r *resolver) parse(dir string) error {
	files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
	if err != nil {
		return err
	}
	r.tests[dir], r.tables[dir] = map[string]*ast.FuncDecl{}, map[string]*ast.ValueSpec{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					r.tests[dir][d.Name.Name] = d
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && len(v.Names) == 1 {
						r.tables[dir][v.Names[0].Name] = v
					}
				}
			}
		}
	}
	return nil
}

// expectation splits STEP from what it must bring.
var expectation = regexp.MustCompile(`^(.+?) (want|error|frames|response)(?: (.+))?$`)

// step finds the step of a vector that has the expectation, with the rest of the proof in it.
func (r *resolver) step(proof string) error {
	name, what, _ := strings.Cut(proof, "#")
	v := r.vectors[name]
	m := expectation.FindStringSubmatch(what)
	switch {
	case v == nil:
		return fmt.Errorf("there is no such vector")
	case m == nil:
		return fmt.Errorf("want: vector NAME#STEP EXPECTATION …")
	}
	for _, s := range v.Steps {
		for _, x := range s.Expects {
			if s.Arg != m[1] || x.Kind != m[2] {
				continue
			}
			// The arguments (a status, an error and its fields) come first and whole; what
			// follows may stand anywhere in the pattern.
			part, ok := strings.CutPrefix(m[3]+" ", strings.Join(append(slices.Clip(x.Args), ""), " "))
			if ok && strings.Contains(string(x.Body), strings.TrimSpace(part)) {
				return nil
			}
		}
	}
	return fmt.Errorf("the vector has no such step with that expectation")
}

// A check that is named as a proof passes here, to the letter, wherever it can be tried.
func TestNamedChecksPass(t *testing.T) {
	target := serve(t, tokens+"strict_version_header: true\nstrict_terminal_subscribe: true\n")
	scenario := tried.DemoScenario()
	scenario.Messages[tried.Delayed], scenario.Messages[tried.Chunks] = "slow 50 done", "chunks 4 60"
	report, err := tried.Run(t.Context(), tried.Options{URL: target.Origin, Token: target.Tokens["alice"], SecondToken: target.Tokens["bob"], Scenario: scenario})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string][]*tried.Result{}
	for _, r := range report.Results {
		verdicts[r.ID] = append(verdicts[r.ID], r)
	}
	named := 0
	for _, s := range loadLedger(t).Sections {
		for _, row := range s.Rows {
			for _, p := range row.Proofs {
				id, ok := strings.CutPrefix(p, "check ")
				if !ok {
					continue
				}
				named++
				if len(verdicts[id]) == 0 {
					t.Errorf("%s: check %s was not tried", row.ID, id)
				}
				for _, r := range verdicts[id] {
					if r.Verdict != tried.Pass {
						t.Errorf("%s: check %s %s: %s, %s", row.ID, id, r.Binding, r.Verdict, r.Reason)
					}
				}
			}
		}
	}
	if named < 100 {
		t.Errorf("only %d checks are named", named)
	}
}

// check finds a check of a2aserve check.
func check(id string) error {
	if tried.ByID(id) == nil {
		return fmt.Errorf("there is no such check")
	}
	return nil
}

// chapter finds a heading, written as it stands.
func chapter(proof string) error {
	file, heading, _ := strings.Cut(proof, "#")
	b, err := os.ReadFile(filepath.Join("..", file))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		if text := strings.TrimLeft(line, "#"); heading != "" && text != line && strings.TrimSpace(text) == heading {
			return nil
		}
	}
	return fmt.Errorf("there is no such chapter")
}
