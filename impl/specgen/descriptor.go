package specgen

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/bufbuild/protocompile"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// descriptorModule is the official Go module that ships the compiled a2a.proto (A2A §1.4).
const descriptorModule = "github.com/a2aproject/a2a-go/v2"

// source is the protocol's definition.
type source struct {
	file protoreflect.FileDescriptor
	// files are what the plugin is given: what file imports, then file itself.
	files    []*descriptorpb.FileDescriptorProto
	revision revision
}

// revision says which definition everything was generated from.
type revision struct {
	// Source is a module's path, or the base name of a proto file: a full path would
	// make the output depend on where the file lay.
	Source string
	// Version is the module's; empty for a file.
	Version string
	// Hash is the sha256 of the descriptor, or of the file's bytes.
	Hash string
}

// String is what generated headers say.
func (r revision) String() string {
	if r.Version == "" {
		return fmt.Sprintf("%s (sha256:%s)", r.Source, r.Hash)
	}
	return fmt.Sprintf("%s@%s (descriptor sha256:%s)", r.Source, r.Version, r.Hash)
}

// file is the content of spec/REVISION.
func (r revision) file() []byte {
	if r.Version == "" {
		return fmt.Appendf(nil, "proto: %s\nsha256: %s\n", r.Source, r.Hash)
	}
	return fmt.Appendf(nil, "module: %s\nversion: %s\ndescriptor-sha256: %s\n", r.Source, r.Version, r.Hash)
}

// loadSource reads the pinned descriptor, or compiles o.Proto.
func loadSource(ctx context.Context, o Options) (*source, error) {
	if o.Proto != "" {
		return compileProto(ctx, o.Proto)
	}
	// The version comes from go.mod, which is what the descriptor was linked by; build
	// information would be missing in tests.
	mod, err := os.ReadFile(filepath.Join(o.Root, "go.mod"))
	if err != nil {
		return nil, err
	}
	m := regexp.MustCompile(regexp.QuoteMeta(descriptorModule) + ` (v\S+)`).FindSubmatch(mod)
	if m == nil {
		return nil, fmt.Errorf("go.mod does not require %s", descriptorModule)
	}
	s := sourceOf(a2apb.File_a2av1_proto)
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(s.files[len(s.files)-1])
	if err != nil {
		return nil, err
	}
	s.revision = revision{Source: descriptorModule, Version: string(m[1]), Hash: fmt.Sprintf("%x", sha256.Sum256(b))}
	return s, nil
}

// compileProto compiles a proto file. What it imports comes from the standard
// imports and from the descriptors that this binary has, google/api among them.
func compileProto(ctx context.Context, path string) (*source, error) {
	// No comments are read from the file: descriptions are our own.
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := protocompile.Compiler{Resolver: protocompile.CompositeResolver{
		protocompile.WithStandardImports(&protocompile.SourceResolver{
			ImportPaths: []string{filepath.Dir(path)},
			Accessor:    func(p string) (io.ReadCloser, error) { return os.Open(p) },
		}),
		protocompile.ResolverFunc(func(p string) (protocompile.SearchResult, error) {
			d, err := protoregistry.GlobalFiles.FindFileByPath(p)
			return protocompile.SearchResult{Desc: d}, err
		}),
	}}
	compiled, err := c.Compile(ctx, filepath.Base(path))
	if err != nil {
		return nil, err
	}
	// protocompile leaves options as dynamic messages, on which proto.GetExtension
	// panics; a trip over the wire makes them concrete.
	b, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: sourceOf(compiled[0]).files})
	if err != nil {
		return nil, err
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(b, &set); err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, err
	}
	fd, err := files.FindFileByPath(filepath.Base(path))
	if err != nil {
		return nil, err
	}
	s := sourceOf(fd)
	s.revision = revision{Source: filepath.Base(path), Hash: fmt.Sprintf("%x", sha256.Sum256(text))}
	return s, nil
}

// sourceOf lists a file and all that it imports, imports first.
func sourceOf(fd protoreflect.FileDescriptor) *source {
	s := &source{file: fd}
	seen := map[string]bool{}
	var visit func(protoreflect.FileDescriptor)
	visit = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			visit(f.Imports().Get(i).FileDescriptor)
		}
		s.files = append(s.files, protodesc.ToFileDescriptorProto(f))
	}
	visit(fd)
	return s
}

// required reports whether a field is annotated REQUIRED (A2A §5.7).
func required(f protoreflect.FieldDescriptor) bool {
	behaviors, _ := proto.GetExtension(f.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	return slices.Contains(behaviors, annotations.FieldBehavior_REQUIRED)
}

// messages are the top-level ones; A2A nests none.
func messages(fd protoreflect.FileDescriptor) []protoreflect.MessageDescriptor {
	return collect[protoreflect.MessageDescriptor](fd.Messages())
}

// fields are in the order of the file, which is the order of struct fields.
func fields(m protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	return collect[protoreflect.FieldDescriptor](m.Fields())
}

// enums are the top-level ones.
func enums(fd protoreflect.FileDescriptor) []protoreflect.EnumDescriptor {
	return collect[protoreflect.EnumDescriptor](fd.Enums())
}

// enumValues leaves out the zero value: UNSPECIFIED is not sent.
func enumValues(e protoreflect.EnumDescriptor) []protoreflect.EnumValueDescriptor {
	all := collect[protoreflect.EnumValueDescriptor](e.Values())
	return slices.DeleteFunc(all, func(v protoreflect.EnumValueDescriptor) bool { return v.Number() == 0 })
}

// oneofs leaves out those that stand for an optional field.
func oneofs(m protoreflect.MessageDescriptor) []protoreflect.OneofDescriptor {
	all := collect[protoreflect.OneofDescriptor](m.Oneofs())
	return slices.DeleteFunc(all, func(o protoreflect.OneofDescriptor) bool { return o.IsSynthetic() })
}

// methods are the operations, in the order of the file.
func methods(fd protoreflect.FileDescriptor) []protoreflect.MethodDescriptor {
	var out []protoreflect.MethodDescriptor
	for i := range fd.Services().Len() {
		out = append(out, collect[protoreflect.MethodDescriptor](fd.Services().Get(i).Methods())...)
	}
	return out
}

// collect makes one of protoreflect's lists a slice.
func collect[T any](list interface {
	Len() int
	Get(int) T
}) []T {
	out := make([]T, list.Len())
	for i := range out {
		out[i] = list.Get(i)
	}
	return out
}
