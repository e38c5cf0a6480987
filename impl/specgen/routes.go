package specgen

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// route is where an operation lives over HTTP+JSON (A2A §11.3).
type route struct {
	// Verb is in lower case, as OpenAPI has it.
	Verb string
	// Path has {camelCase} variables, and Params the fields that they stand for.
	Path   string
	Params []protoreflect.FieldDescriptor
	// Body reports whether the rest of the request travels in the body.
	Body bool
}

// pathVariable is {name} or {name=*}; A2A uses no other pattern.
var pathVariable = regexp.MustCompile(`\{([a-z_]+)(?:=\*)?\}`)

// routeOf reads the main http annotation. Its additional bindings, below /{tenant},
// are left out: no tenants are served.
func routeOf(m protoreflect.MethodDescriptor) (route, error) {
	rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	r := route{Body: rule.GetBody() == "*"}
	var template string
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		r.Verb, template = "get", p.Get
	case *annotations.HttpRule_Post:
		r.Verb, template = "post", p.Post
	case *annotations.HttpRule_Put:
		r.Verb, template = "put", p.Put
	case *annotations.HttpRule_Patch:
		r.Verb, template = "patch", p.Patch
	case *annotations.HttpRule_Delete:
		r.Verb, template = "delete", p.Delete
	default:
		return r, fmt.Errorf("%s: no http annotation that can be served", m.Name())
	}
	if b := rule.GetBody(); b != "" && b != "*" {
		return r, fmt.Errorf("%s: body %q is neither * nor empty", m.Name(), b)
	}
	var unknown []string
	r.Path = pathVariable.ReplaceAllStringFunc(template, func(v string) string {
		name := pathVariable.FindStringSubmatch(v)[1]
		f := m.Input().Fields().ByName(protoreflect.Name(name))
		if f == nil {
			unknown = append(unknown, name)
			return v
		}
		r.Params = append(r.Params, f)
		return "{" + f.JSONName() + "}"
	})
	if unknown != nil {
		return r, fmt.Errorf("%s: no field %s for the path", m.Name(), strings.Join(unknown, ", "))
	}
	return r, nil
}

// has reports whether a field travels in the path.
func (r route) has(f protoreflect.FieldDescriptor) bool {
	for _, p := range r.Params {
		if p == f {
			return true
		}
	}
	return false
}
