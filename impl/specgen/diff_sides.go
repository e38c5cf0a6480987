package specgen

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// isVersion tells a version of the module from the path of a file.
var isVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+[-+.0-9A-Za-z]*$`)

// newSource is the revision that would be generated from.
func newSource(ctx context.Context, o DiffOptions) (*source, error) {
	switch {
	case o.Proto != "" && o.Module != "":
		return nil, errors.New("give a proto file or a version of the module, not both")
	case o.Module != "":
		return moduleSource(ctx, o.Root, o.Module)
	}
	return loadSource(ctx, o.Options)
}

// oldSource is the revision that the committed files were generated from.
func oldSource(ctx context.Context, o DiffOptions) (*source, error) {
	switch {
	case isVersion.MatchString(o.From):
		return moduleSource(ctx, o.Root, o.From)
	case o.From != "":
		return compileProto(ctx, o.From)
	}
	b, err := os.ReadFile(filepath.Join(o.Root, "spec/REVISION"))
	if err != nil {
		return nil, err
	}
	var r struct{ Module, Proto, Version, Hash string }
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "module":
			r.Module = value
		case "proto":
			r.Proto = value
		case "version":
			r.Version = value
		case "descriptor-sha256":
			r.Hash = value
		}
	}
	// A file is named by its base name only, and may be anywhere or gone.
	if r.Proto != "" {
		return nil, fmt.Errorf("spec/ was generated from the file %s: name it, or another one, with FROM", r.Proto)
	}
	if r.Module != descriptorModule || r.Version == "" {
		return nil, fmt.Errorf("spec/REVISION names no version of %s", descriptorModule)
	}
	s, err := loadSource(ctx, Options{Root: o.Root})
	if err != nil {
		return nil, err
	}
	// After a go get, go.mod is ahead of what was generated.
	if s.revision.Version != r.Version {
		if s, err = moduleSource(ctx, o.Root, r.Version); err != nil {
			return nil, err
		}
	}
	if s.revision.Hash != r.Hash {
		return nil, fmt.Errorf("spec/REVISION says that %s has the descriptor %.12s…, but it has %.12s…", r.Version, r.Hash, s.revision.Hash)
	}
	return s, nil
}

// moduleSource reads the descriptor of a version that this binary is not linked with:
// from the source that protoc-gen-go wrote, where it stands as a string.
func moduleSource(ctx context.Context, root, version string) (*source, error) {
	dir, err := moduleDir(ctx, root, version)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "a2apb/v1/*.pb.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		raw, err := rawDescriptor(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", version, err)
		}
		if raw == "" {
			continue // the file of the gRPC service has none
		}
		return descriptorSource([]byte(raw), version)
	}
	return nil, fmt.Errorf("%s@%s has no descriptor below a2apb/v1", descriptorModule, version)
}

// descriptorSource makes a source of a serialized FileDescriptorProto.
func descriptorSource(raw []byte, version string) (*source, error) {
	var fd descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(raw, &fd); err != nil {
		return nil, err
	}
	file, err := protodesc.NewFile(&fd, protoregistry.GlobalFiles)
	if err != nil {
		return nil, err
	}
	s := sourceOf(file)
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(s.files[len(s.files)-1])
	if err != nil {
		return nil, err
	}
	s.revision = revision{Source: descriptorModule, Version: version, Hash: fmt.Sprintf("%x", sha256.Sum256(b))}
	return s, nil
}

// moduleDir is where a version's files lie. The version that go.mod requires is there
// already; for others the go command fetches them, unless the module cache has them.
func moduleDir(ctx context.Context, root, version string) (string, error) {
	var m struct{ Version, Dir, Error string }
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-json=Version,Dir", descriptorModule)
	cmd.Dir = root
	if out, err := cmd.Output(); err == nil && json.Unmarshal(out, &m) == nil && m.Version == version && m.Dir != "" {
		return m.Dir, nil
	}
	cmd = exec.CommandContext(ctx, "go", "mod", "download", "-json", descriptorModule+"@"+version)
	cmd.Dir = os.TempDir() // outside of the module, whose go.sum stays as it is
	out, err := cmd.Output()
	if jsonErr := json.Unmarshal(out, &m); jsonErr != nil {
		return "", errors.Join(err, jsonErr)
	}
	if m.Error != "" {
		return "", errors.New(m.Error)
	}
	return m.Dir, err
}

// rawDescriptor finds the constant ..._rawDesc of a file; empty where there is none.
func rawDescriptor(name string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var found ast.Expr
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 && strings.HasSuffix(v.Names[0].Name, "_rawDesc") {
			found = v.Values[0]
		}
		return found == nil
	})
	if found == nil {
		return "", nil
	}
	var b strings.Builder
	if err := joinStrings(&b, found); err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return b.String(), nil
}

// joinStrings evaluates a sum of string literals.
func joinStrings(b *strings.Builder, e ast.Expr) error {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return errors.Join(joinStrings(b, e.X), joinStrings(b, e.Y))
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		b.WriteString(s)
		return err
	}
	return errors.New("the descriptor is not a string, as protoc-gen-go 1.36.6 and later write it")
}
