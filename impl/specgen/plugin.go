package specgen

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

// rawSchema runs protoc-gen-jsonschema over the source and returns one definition
// a message, by the message's short name.
func rawSchema(ctx context.Context, t Tools, s *source) (object, error) {
	req, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{s.file.Path()},
		Parameter:      proto.String("target=json-bundle,additional_properties=true"),
		ProtoFile:      s.files,
	})
	if err != nil {
		return nil, err
	}
	out, err := t.run(ctx, req, "protoc-gen-jsonschema")
	if err != nil {
		return nil, err
	}
	var resp pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &resp); err != nil {
		return nil, err
	}
	if resp.Error != nil {
		return nil, fmt.Errorf("protoc-gen-jsonschema: %s", resp.GetError())
	}
	// The plugin names definitions as lf.a2a.v1.Task.jsonschema.json.
	short := func(name string) string {
		name = strings.TrimSuffix(name, ".jsonschema.json")
		name = strings.TrimPrefix(name, string(s.file.Package())+".")
		return strings.TrimPrefix(name, "google.protobuf.")
	}
	// A bundle a message, each with all that it refers to: the same definition comes
	// several times, always equal.
	defs := object{}
	for _, f := range resp.File {
		var bundle struct {
			Defs object `json:"$defs"`
		}
		if err := json.Unmarshal([]byte(f.GetContent()), &bundle); err != nil {
			return nil, fmt.Errorf("protoc-gen-jsonschema: %s: %w", f.GetName(), err)
		}
		rewriteRefs(bundle.Defs, func(r string) string { return "#/$defs/" + short(strings.TrimPrefix(r, "#/$defs/")) })
		for name, d := range bundle.Defs {
			defs[short(name)] = d
		}
	}
	return defs, nil
}
