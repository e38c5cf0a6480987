package specgen

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Hand-written code lives below these; tests are left out, since they say by failing
// where they need a look.
var handWritten = []string{"./impl/...", "./cmd/...", "."}

const (
	typesPackage     = "a2aserve/gen/a2a"
	operationPackage = "a2aserve/gen/op"
	operationFolder  = "impl/ops"
)

// codeIndex finds places in the hand-written code.
type codeIndex struct {
	// root is absolute, with symbolic links resolved, as positions are.
	root  string
	pkgs  []*packages.Package
	types *types.Package
}

// affectedCode finds, for each change, the lines that use or name what changes.
func affectedCode(ctx context.Context, r *Report, root string) error {
	if len(r.Changes) == 0 {
		return nil
	}
	x, trouble, err := loadCode(ctx, root)
	if err != nil {
		return err
	}
	if trouble != "" {
		r.Unread = append(r.Unread, "the hand-written code does not compile, so that places may be missing: "+trouble)
	}
	for _, c := range r.Changes {
		c.Code = x.places(c)
	}
	return nil
}

// loadCode type-checks the hand-written packages against the generated ones, so that
// Task.ID is not taken for any other ID.
func loadCode(ctx context.Context, root string) (x *codeIndex, trouble string, err error) {
	abs, err := filepath.Abs(root)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, "", err
	}
	x = &codeIndex{root: abs}
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: abs,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo,
	}, append([]string{typesPackage}, handWritten...)...)
	if err != nil {
		return nil, "", err
	}
	for _, p := range loaded {
		if len(p.Errors) > 0 && trouble == "" {
			trouble = p.Errors[0].Error()
		}
		if p.PkgPath == typesPackage {
			x.types = p.Types
			continue
		}
		x.pkgs = append(x.pkgs, p)
	}
	if x.types == nil {
		return nil, "", fmt.Errorf("%s is not in this module", typesPackage)
	}
	return x, trouble, nil
}

// places gives one line of each file, uses first.
func (x *codeIndex) places(c *Change) []Place {
	var found []Place
	if c.about.operation != "" {
		found = x.operation(c)
	}
	if targets := x.targets(c.about); len(targets) > 0 {
		found = append(found, x.uses(targets)...)
	}
	if c.Change != "added" {
		found = append(found, x.texts(c.about)...)
	}
	seen := map[string]bool{}
	found = slices.DeleteFunc(found, func(p Place) bool {
		twice := seen[p.File]
		seen[p.File] = true
		return twice
	})
	if found == nil {
		found = []Place{}
	}
	return found
}

// operation finds an operation's file: by its name, as the house rules have it, or by
// the method that is named like it.
func (x *codeIndex) operation(c *Change) (found []Place) {
	name := c.about.operation
	file := operationFolder + "/" + fileName(name)
	if c.Change == "added" {
		return []Place{{File: file, How: "new"}}
	}
	if _, err := os.Stat(filepath.Join(x.root, file)); err == nil {
		found = append(found, Place{File: file, Line: 1, How: "implements"})
	}
	for _, p := range x.pkgs {
		if !strings.HasSuffix(p.PkgPath, "/"+operationFolder) {
			continue
		}
		for _, f := range p.Syntax {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == name {
					at := x.place(p.Fset, fn.Pos(), "implements")
					found = slices.DeleteFunc(found, func(p Place) bool { return p.File == at.File })
					found = append(found, at)
				}
			}
		}
	}
	return found
}

// fileName is the file that the house rules want an operation to be in.
func fileName(operation string) string {
	var parts []string
	for _, w := range words(operation) {
		parts = append(parts, strings.ToLower(w))
	}
	return strings.Join(parts, "_") + ".go"
}

// targets are the objects of the generated types that a subject stands for.
func (x *codeIndex) targets(s subject) map[types.Object]bool {
	out := map[types.Object]bool{}
	add := func(o types.Object) {
		if o != nil {
			out[o] = true
		}
	}
	scope := x.types.Scope()
	switch {
	case s.value != "":
		add(scope.Lookup(enumConst(s.enum, s.value)))
	case s.enum != "":
		add(scope.Lookup(goName(s.enum)))
	case s.message != "":
		typ := scope.Lookup(goName(s.message))
		if typ == nil || s.field == "" {
			add(typ)
			break
		}
		st, ok := typ.Type().Underlying().(*types.Struct)
		for i := 0; ok && i < st.NumFields(); i++ {
			// By the tag: how Go spells the name is then no concern.
			if tag, _, _ := strings.Cut(tagOf(st.Tag(i)), ","); tag == s.json {
				add(st.Field(i))
			}
		}
	}
	return out
}

// tagOf is the json key of a struct tag.
func tagOf(tag string) string {
	_, after, _ := strings.Cut(tag, `json:"`)
	name, _, _ := strings.Cut(after, `"`)
	return name
}

// uses finds what the compiler would complain about.
func (x *codeIndex) uses(targets map[types.Object]bool) (found []Place) {
	for _, p := range x.pkgs {
		for id, o := range p.TypesInfo.Uses {
			if targets[o] {
				found = append(found, x.place(p.Fset, id.Pos(), "uses"))
			}
		}
	}
	sortPlaces(found)
	return found
}

// texts finds names in strings of packages that deal with the generated types:
// documents that are put together by hand, values that are compared as text.
func (x *codeIndex) texts(s subject) (found []Place) {
	name := s.value
	switch {
	case s.field != "":
		name = s.json
	case s.operation != "":
		name = s.operation
	}
	if name == "" {
		return nil
	}
	for _, p := range x.pkgs {
		if p.Imports[typesPackage] == nil && p.Imports[operationPackage] == nil {
			continue
		}
		for _, f := range p.Syntax {
			ast.Inspect(f, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				if text, err := strconv.Unquote(lit.Value); err == nil && (text == name || strings.Contains(text, `"`+name+`"`)) {
					found = append(found, x.place(p.Fset, lit.Pos(), "text"))
				}
				return true
			})
		}
	}
	sortPlaces(found)
	return append(found, x.statements(s.field)...)
}

// statements finds columns that are named like a field. One word alone says too little:
// every table has an id.
func (x *codeIndex) statements(field string) (found []Place) {
	if !strings.Contains(field, "_") {
		return nil
	}
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(field) + `\b`)
	for _, pattern := range []string{"queries/*.sql", "queries/*/*.sql"} {
		names, _ := filepath.Glob(filepath.Join(x.root, pattern)) // the pattern is well formed
		for _, name := range names {
			b, err := os.ReadFile(name)
			at := word.FindIndex(b)
			if err != nil || at == nil {
				continue
			}
			rel, _ := filepath.Rel(x.root, name)
			found = append(found, Place{File: filepath.ToSlash(rel), Line: 1 + bytes.Count(b[:at[0]], []byte{'\n'}), How: "text"})
		}
	}
	return found
}

// place is a position below the root.
func (x *codeIndex) place(fset *token.FileSet, at token.Pos, how string) Place {
	p := fset.Position(at)
	rel, err := filepath.Rel(x.root, p.Filename)
	if err != nil {
		rel = p.Filename
	}
	return Place{File: filepath.ToSlash(rel), Line: p.Line, How: how}
}

// sortPlaces puts files in order, and lines inside of them.
func sortPlaces(p []Place) {
	slices.SortFunc(p, func(a, b Place) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
}
