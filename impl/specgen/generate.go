package specgen

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Generate writes everything that comes from the protocol's definition: spec's
// schema, OpenAPI document and REVISION, and gen/a2a, gen/op and gen/rest. It
// returns the names that spec/descriptions.yaml says nothing about.
func Generate(ctx context.Context, o Options) (undescribed []string, err error) {
	s, err := loadSource(ctx, o)
	if err != nil {
		return nil, err
	}
	t, err := loadTables(o.Root)
	if err != nil {
		return nil, err
	}
	// Checked before anything is made, so that a wrong row is reported as such and not
	// by a tool that stumbles over its consequence.
	if undescribed, err = checkTables(s, t); err != nil {
		return nil, err
	}
	files, err := generate(ctx, o.Tools, s, t)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeFile(o.out(), name, files[name]); err != nil {
			return nil, err
		}
	}
	return undescribed, nil
}

// generate makes all files, so that none is written unless all can be.
func generate(ctx context.Context, tools Tools, s *source, t *tables) (map[string][]byte, error) {
	raw, err := rawSchema(ctx, tools, s)
	if err != nil {
		return nil, err
	}
	defs, err := buildSchema(s, raw, t)
	if err != nil {
		return nil, err
	}
	openapi, err := buildOpenAPI(s, defs, t)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"spec/REVISION": s.revision.file()}
	for name, doc := range map[string]object{
		"spec/a2a.schema.json":    schemaDocument(defs, s.revision, false),
		"gen/a2a/a2a.schema.json": schemaDocument(defs, s.revision, true),
		"spec/openapi.json":       openapi,
	} {
		if files[name], err = encode(doc); err != nil {
			return nil, err
		}
	}
	if err := generateCode(ctx, tools, s, defs, openapi, files); err != nil {
		return nil, err
	}
	return files, renderAll(s, t, files)
}

// generateCode makes what oapi-codegen writes. Types and server are separate runs, so
// that gen/a2a knows nothing of HTTP.
func generateCode(ctx context.Context, tools Tools, s *source, defs, openapi object, files map[string][]byte) (err error) {
	header := s.revision.String()
	files["gen/a2a/types.gen.go"], err = codegen{
		Package: "a2a", Header: header, Parts: []string{"models"},
		Doc: "holds the types of the protocol, its errors and the life of a task.",
	}.run(ctx, tools, typesDocument(s, defs))
	if err != nil {
		return err
	}
	files["gen/rest/rest.gen.go"], err = codegen{
		Package: "rest", Header: header, Parts: []string{"models", "chi-server", "strict-server"},
		Doc:     "routes the HTTP+JSON binding.",
		Imports: map[string]string{externalTypes: "a2aserve/gen/a2a"},
		Extra:   map[string]object{externalTypes: externalDocument(defs)},
	}.run(ctx, tools, restDocument(openapi))
	return err
}

// templateInput is what the templates get.
type templateInput struct {
	Header, Package, File, ID string
	Errors                    []errorRow
	States                    []stateInput
	Terminal, Interrupted     string
	Transitions               []transitionInput
	Operations                []operationInput
}

// stateInput is one constant of TaskState.
type stateInput struct{ Const string }

// transitionInput is a state and all that it can become, as Go expressions.
type transitionInput struct{ From, To string }

// operationInput is one row of the operation table.
type operationInput struct {
	Name, Section, Verb, Path, Access string
	// AltVerbs are quoted, ready for a Go literal.
	AltVerbs string
	// Request and Result are Go types, RequestDef and ResponseDef the definitions of
	// the schema; the two spell some names differently.
	Request, Result         string
	RequestDef, ResponseDef string
	Streaming, Body         bool
	// Capability is nil for the core operations.
	Capability *capabilityRow
}

// renderAll makes what comes from our own templates: what the tables say, and types
// whose JSON differs from what Go would make of their structure.
func renderAll(s *source, t *tables, files map[string][]byte) error {
	in := templateInput{
		Header: s.revision.String(), Package: "a2a", File: "a2a.schema.json", ID: schemaID, Errors: t.Errors,
	}
	stateInputs(t, &in)
	for _, m := range methods(s.file) {
		op, err := operationInputOf(m, t)
		if err != nil {
			return err
		}
		in.Operations = append(in.Operations, op)
	}
	for name, file := range map[string]string{
		"wire.go.tmpl": "gen/a2a/wire.gen.go", "errors.go.tmpl": "gen/a2a/errors.gen.go",
		"states.go.tmpl": "gen/a2a/states.gen.go", "schema.go.tmpl": "gen/a2a/schema.gen.go",
		"op.go.tmpl": "gen/op/op.gen.go",
	} {
		src, err := render(name, in)
		if err != nil {
			return err
		}
		files[file] = src
	}
	return nil
}

// stateInputs turns the table around: for each state, what it can become.
func stateInputs(t *tables, in *templateInput) {
	byClass := map[string][]string{}
	next := map[string][]string{}
	for _, tr := range t.Transitions {
		for _, from := range tr.From {
			next[from] = append(next[from], stateConst(tr.To))
		}
	}
	add := func(name, from string) {
		if len(next[name]) > 0 {
			in.Transitions = append(in.Transitions, transitionInput{From: from, To: strings.Join(next[name], ", ")})
		}
	}
	add("new", `""`)
	for _, st := range t.States {
		c := stateConst(st.Name)
		in.States = append(in.States, stateInput{c})
		byClass[st.Class] = append(byClass[st.Class], c)
		add(st.Name, c)
	}
	in.Terminal = strings.Join(byClass["terminal"], ", ")
	in.Interrupted = strings.Join(byClass["interrupted"], ", ")
}

// stateConst is the constant of a state.
func stateConst(name string) string { return enumConst("TaskState", name) }

// operationInputOf joins what the descriptor and the tables say of an operation.
func operationInputOf(m protoreflect.MethodDescriptor, t *tables) (operationInput, error) {
	r, err := routeOf(m)
	if err != nil {
		return operationInput{}, err
	}
	name := string(m.Name())
	row := t.operation(name)
	op := operationInput{
		Name: name, Section: row.Section, Access: row.Access, Verb: strings.ToUpper(r.Verb), Path: r.Path,
		RequestDef: string(m.Input().Name()), ResponseDef: string(m.Output().Name()),
		Request: goName(string(m.Input().Name())), Result: "a2a." + goName(string(m.Output().Name())),
		Streaming: m.IsStreamingServer(), Body: r.Body, Capability: t.capabilityOf(name),
	}
	var alt []string
	for _, v := range row.AltVerbs {
		alt = append(alt, strconv.Quote(v.Verb))
	}
	op.AltVerbs = strings.Join(alt, ", ")
	// Empty is the one type from outside that stands for an answer.
	switch m.Output().FullName() {
	case "google.protobuf.Empty":
		op.Result = "Empty"
	default:
		if m.Output().ParentFile() != m.ParentFile() {
			return op, fmt.Errorf("%s: answers with %s, which no type stands for", name, m.Output().FullName())
		}
	}
	return op, nil
}
