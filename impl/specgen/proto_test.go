package specgen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// writeProto writes the pinned descriptor as a proto file, edited by replacing
// text, so that the path from a file is tested on the whole protocol.
func writeProto(t *testing.T, edits ...string) string {
	t.Helper()
	text := printProto(a2apb.File_a2av1_proto)
	for i := 0; i < len(edits); i += 2 {
		if strings.Count(text, edits[i]) != 1 {
			t.Fatalf("%q is %d times in the proto", edits[i], strings.Count(text, edits[i]))
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	path := filepath.Join(t.TempDir(), "copy.proto")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// printProto prints as much of a proto3 file as A2A uses.
func printProto(fd protoreflect.FileDescriptor) string {
	var b strings.Builder
	fmt.Fprintf(&b, "syntax = \"proto3\";\npackage %s;\n", fd.Package())
	for i := range fd.Imports().Len() {
		fmt.Fprintf(&b, "import %q;\n", fd.Imports().Get(i).Path())
	}
	for _, m := range methods(fd) {
		if m.Index() == 0 {
			fmt.Fprintf(&b, "service %s {\n", m.Parent().Name())
		}
		printMethod(&b, m)
	}
	b.WriteString("}\n")
	for _, e := range enums(fd) {
		fmt.Fprintf(&b, "enum %s {\n", e.Name())
		for _, v := range collect[protoreflect.EnumValueDescriptor](e.Values()) {
			fmt.Fprintf(&b, "  %s = %d;\n", v.Name(), v.Number())
		}
		b.WriteString("}\n")
	}
	for _, m := range messages(fd) {
		fmt.Fprintf(&b, "message %s {\n", m.Name())
		for _, f := range fields(m) {
			one := f.ContainingOneof()
			real := one != nil && !one.IsSynthetic()
			if real && one.Fields().Get(0) == f {
				fmt.Fprintf(&b, "  oneof %s {\n", one.Name())
			}
			printField(&b, f)
			if real && one.Fields().Get(one.Fields().Len()-1) == f {
				b.WriteString("  }\n")
			}
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func printMethod(b *strings.Builder, m protoreflect.MethodDescriptor) {
	stream := ""
	if m.IsStreamingServer() {
		stream = "stream "
	}
	rule := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	fmt.Fprintf(b, "  rpc %s(.%s) returns (%s.%s) {\n    option (google.api.http) = {", m.Name(), m.Input().FullName(), stream, m.Output().FullName())
	printRule(b, rule)
	for _, r := range rule.AdditionalBindings {
		b.WriteString(" additional_bindings {")
		printRule(b, r)
		b.WriteString("}")
	}
	b.WriteString("};\n  }\n")
}

func printRule(b *strings.Builder, rule *annotations.HttpRule) {
	switch p := rule.Pattern.(type) {
	case *annotations.HttpRule_Get:
		fmt.Fprintf(b, "get: %q", p.Get)
	case *annotations.HttpRule_Post:
		fmt.Fprintf(b, "post: %q", p.Post)
	case *annotations.HttpRule_Delete:
		fmt.Fprintf(b, "delete: %q", p.Delete)
	}
	if rule.Body != "" {
		fmt.Fprintf(b, " body: %q", rule.Body)
	}
}

func printField(b *strings.Builder, f protoreflect.FieldDescriptor) {
	label := ""
	switch {
	case f.IsList():
		label = "repeated "
	case f.HasOptionalKeyword():
		label = "optional "
	}
	typ := typeName(f)
	if f.IsMap() {
		typ = fmt.Sprintf("map<%s, %s>", typeName(f.MapKey()), typeName(f.MapValue()))
	}
	var options []string
	if required(f) {
		options = append(options, "(google.api.field_behavior) = REQUIRED")
	}
	if f.Options().(*descriptorpb.FieldOptions).GetDeprecated() {
		options = append(options, "deprecated = true")
	}
	fmt.Fprintf(b, "  %s%s %s = %d", label, typ, f.Name(), f.Number())
	if options != nil {
		fmt.Fprintf(b, " [%s]", strings.Join(options, ", "))
	}
	b.WriteString(";\n")
}

func typeName(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return "." + string(f.Message().FullName())
	case f.Enum() != nil:
		return "." + string(f.Enum().FullName())
	}
	return f.Kind().String()
}
