package specgen

import "google.golang.org/protobuf/reflect/protoreflect"

// wireTypes are written by hand (templates/wire.go.tmpl), one for each definition
// that stands for a type of google.protobuf.
var wireTypes = []string{"Timestamp", "Struct", "Value"}

// typesDocument adapts the definitions to what oapi-codegen turns into plain Go:
// no oneOf, of which it makes unions; a pointer exactly where proto has presence;
// our spelling of every name.
func typesDocument(s *source, defs object) object {
	schemas := object{}
	for _, e := range enums(s.file) {
		d := clone(defs[string(e.Name())].(object))
		var consts []any
		for _, v := range enumValues(e) {
			consts = append(consts, enumConst(string(e.Name()), string(v.Name())))
		}
		d["x-enum-varnames"] = consts
		schemas[goName(string(e.Name()))] = d
	}
	for _, m := range messages(s.file) {
		d := clone(defs[string(m.Name())].(object))
		delete(d, "oneOf")
		for i, f := range fields(m) {
			p := d["properties"].(object)[f.JSONName()].(object)
			p["x-order"] = i + 1
			p["x-go-name"] = goName(f.JSONName())
			fieldType(f, p)
		}
		schemas[goName(string(m.Name()))] = d
	}
	return object{
		"openapi": "3.1.0", "info": object{"title": "A2A", "version": "1.0"}, "paths": object{},
		"components": object{"schemas": schemas},
	}
}

// fieldType adds what decides the Go type of a field.
func fieldType(f protoreflect.FieldDescriptor, p object) {
	// Required fields are values: the validator has seen them before they are read.
	pointer := f.HasPresence() && !required(f)
	switch {
	case f.IsList() || f.IsMap():
		pointer = false
	case f.Kind() == protoreflect.BytesKind: // nil is absent already
		pointer = false
		p["x-go-type"] = "[]byte"
	case f.Kind() == protoreflect.MessageKind && f.Message().FullName().Parent() == "google.protobuf":
		pointer = false
	}
	delete(p, "deprecated") // its description says so; the generated remark says nothing more
	typeExtensions(p, required(f), pointer)
	walk(p, func(o object) {
		r, ok := o["$ref"].(string)
		if !ok {
			return
		}
		name := lastOf(r)
		o["$ref"] = "#/components/schemas/" + goName(name)
		for _, w := range wireTypes {
			if name == w {
				delete(o, "$ref")
				o["type"] = "object"
				o["x-go-type"] = w
			}
		}
	})
}

// restDocument is the description that the chi server is generated from. Bodies are
// octet streams, so that handlers get a reader and one decoder serves both bindings;
// answers are left to the binding, which has them encoded already.
func restDocument(openapi object) object {
	paths := clone(openapi["paths"].(object))
	for _, item := range paths {
		for verb, v := range item.(object) {
			op := v.(object)
			if op["x-same-as"] != nil { // a second verb, which the binding mounts itself
				delete(item.(object), verb)
				continue
			}
			delete(op, "externalDocs")
			op["responses"] = object{"200": object{"description": "Done."}}
			if op["requestBody"] != nil {
				op["requestBody"] = object{"required": true, "content": object{
					"application/octet-stream": object{"schema": object{"type": "string", "format": "binary"}},
				}}
			}
			var params []any
			for _, p := range op["parameters"].([]any) {
				if p := p.(object); p["$ref"] == nil {
					params = append(params, restParameter(p))
				}
			}
			op["parameters"] = params
		}
	}
	return object{"openapi": "3.1.0", "info": object{"title": "A2A", "version": "1.0"}, "paths": paths}
}

// externalTypes is the file by which the server's description refers to gen/a2a.
const externalTypes = "types.json"

// externalDocument stands for gen/a2a: only the names of its types count.
func externalDocument(defs object) object {
	schemas := object{}
	for name := range defs {
		schemas[goName(name)] = object{"type": "string"}
	}
	return object{
		"openapi": "3.1.0", "info": object{"title": "A2A", "version": "1.0"}, "paths": object{},
		"components": object{"schemas": schemas},
	}
}

// restParameter spells a parameter's name as Go does and takes its type from gen/a2a.
func restParameter(p object) object {
	p = clone(p)
	schema := p["schema"].(object)
	if p["in"] == "query" {
		p["x-go-name"] = goName(text(p["name"]))
	}
	rewriteRefs(schema, func(r string) string { return externalTypes + "#/components/schemas/" + goName(lastOf(r)) })
	return p
}
