package specgen

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// comparison walks two revisions and judges what differs.
type comparison struct {
	from, to *source
	reach    reach
	// renamed has the new names of messages and enums by their old ones. JSON does not
	// carry such names, so that only the code is touched.
	renamed map[string]string
	changes []*Change
}

// compare lists the differences, in the order of the files.
func compare(from, to *source, t *tables) []*Change {
	c := &comparison{from: from, to: to, reach: reachOf(from, to, t), renamed: map[string]string{}}
	c.file()
	c.findRenames()
	c.operations()
	c.messages()
	c.enums()
	return c.changes
}

// add notes a change; without a verdict it breaks nobody.
func (c *comparison) add(ch Change) { c.changes = append(c.changes, &ch) }

// file compares what only code and gRPC see of a file.
func (c *comparison) file() {
	of := func(s *source) string {
		names := []string{"package " + string(s.file.Package())}
		for i := range s.file.Services().Len() {
			names = append(names, "service "+string(s.file.Services().Get(i).Name()))
		}
		return strings.Join(names, ", ")
	}
	if was, is := of(c.from), of(c.to); was != is {
		fine := Verdict{Why: "JSON names neither; gRPC does, and is not served here"}
		c.add(Change{Kind: "file", Name: c.to.file.Path(), Change: "changed", Was: was, Is: is, Clients: fine, Stored: fine})
	}
}

// findRenames pairs what has gone with what has come and is made of the same.
func (c *comparison) findRenames() {
	for _, m := range messages(c.from.file) {
		if c.to.file.Messages().ByName(m.Name()) != nil {
			continue
		}
		for _, n := range messages(c.to.file) {
			if c.from.file.Messages().ByName(n.Name()) == nil && c.signature(m) == c.signature(n) && m.Fields().Len() > 0 {
				c.renamed[string(m.Name())] = string(n.Name())
			}
		}
	}
	for _, e := range enums(c.from.file) {
		if c.to.file.Enums().ByName(e.Name()) != nil {
			continue
		}
		for _, n := range enums(c.to.file) {
			if c.from.file.Enums().ByName(n.Name()) == nil && valueList(e) == valueList(n) {
				c.renamed[string(e.Name())] = string(n.Name())
			}
		}
	}
}

// signature is what a message is made of.
func (c *comparison) signature(m protoreflect.MessageDescriptor) string {
	var b strings.Builder
	for _, f := range fields(m) {
		b.WriteString(describeField(f, nil) + "\n")
	}
	return b.String()
}

// valueList is what an enum is made of.
func valueList(e protoreflect.EnumDescriptor) string {
	var b strings.Builder
	for _, v := range collect[protoreflect.EnumValueDescriptor](e.Values()) {
		fmt.Fprintln(&b, v.Name(), v.Number())
	}
	return b.String()
}

// operations compares the service. An operation that has only another name would look
// like two changes; its route and types give it away.
func (c *comparison) operations() {
	old, gone := methods(c.from.file), []protoreflect.MethodDescriptor(nil)
	known := methods(c.to.file)
	added := slices.Clone(known)
	for _, m := range old {
		i := slices.IndexFunc(added, func(n protoreflect.MethodDescriptor) bool { return n.Name() == m.Name() })
		if i < 0 {
			gone = append(gone, m)
			continue
		}
		c.operation(m, added[i])
		added = slices.Delete(added, i, i+1)
	}
	for _, m := range gone {
		ch := Change{Kind: "operation", Name: string(m.Name()), Change: "removed", Was: c.describeOperation(m, true), about: subject{operation: string(m.Name())}}
		ch.Clients = Verdict{true, "clients that call it get an error"}
		i := slices.IndexFunc(added, func(n protoreflect.MethodDescriptor) bool {
			return c.describeOperation(n, false) == c.describeOperation(m, true)
		})
		if i >= 0 {
			ch.Change, ch.Is = "renamed", string(added[i].Name())
			ch.Clients.Why = "JSON-RPC clients call it " + string(m.Name()) + "; its route over HTTP+JSON stays"
			added = slices.Delete(added, i, i+1)
		}
		ch.Stored.Why = "not stored"
		c.add(ch)
	}
	for _, m := range added {
		c.add(Change{
			Kind: "operation", Name: string(m.Name()), Change: "added", Is: c.describeOperation(m, false),
			Clients: Verdict{Why: "nobody calls it yet"}, Stored: Verdict{Why: "not stored"}, about: subject{operation: string(m.Name())},
		})
	}
}

// operation compares one that both revisions have.
func (c *comparison) operation(m, n protoreflect.MethodDescriptor) {
	about := subject{operation: string(m.Name())}
	types := func(m protoreflect.MethodDescriptor, old bool) string {
		return c.name(m.Input(), old) + " to " + streamed(m) + c.name(m.Output(), old)
	}
	if was, is := types(m, true), types(n, false); was != is {
		c.add(Change{
			Kind: "operation", Name: string(m.Name()), Change: "changed", Was: was, Is: is, about: about,
			Clients: Verdict{true, "clients send or expect the other"}, Stored: Verdict{Why: "not stored"},
		})
	}
	old, now := routesOf(m), routesOf(n)
	for i, was := range old {
		if slices.Contains(now, was) {
			continue
		}
		ch := Change{Kind: "route", Name: string(m.Name()), Change: "removed", Was: was, about: about, Stored: Verdict{Why: "not stored"}}
		switch {
		case i > 0:
			ch.about = subject{}
			ch.Clients.Why = unserved
		case anonymous(was) == anonymous(now[0]):
			ch.Change, ch.Is = "changed", now[0]
			ch.Clients.Why = "the addresses are the same, a variable has another name"
		default:
			ch.Change, ch.Is = "changed", now[0]
			ch.Clients = Verdict{true, "HTTP+JSON clients use the old one"}
		}
		c.add(ch)
	}
	for i, is := range now {
		if i > 0 && !slices.Contains(old, is) {
			c.add(Change{Kind: "route", Name: string(m.Name()), Change: "added", Is: is, Clients: Verdict{Why: unserved}, Stored: Verdict{Why: "not stored"}})
		}
	}
}

// unserved is why additional bindings concern nobody.
const unserved = "bindings below /{tenant} are not served here"

// routesOf has an operation's main route first, then its additional bindings.
func routesOf(m protoreflect.MethodDescriptor) []string {
	rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	out := []string{routeText(rule)}
	for _, r := range rule.GetAdditionalBindings() {
		out = append(out, routeText(r))
	}
	return out
}

// routeText is a rule as a request line.
func routeText(r *annotations.HttpRule) string {
	text := "no route"
	for _, x := range [][2]string{{"GET", r.GetGet()}, {"POST", r.GetPost()}, {"PUT", r.GetPut()}, {"PATCH", r.GetPatch()}, {"DELETE", r.GetDelete()}} {
		if x[1] != "" {
			text = x[0] + " " + x[1]
		}
	}
	if r.GetBody() != "" {
		text += " with body " + r.GetBody()
	}
	return text
}

// anonymous is a route without the names of its variables.
func anonymous(route string) string { return pathVariable.ReplaceAllString(route, "{}") }

// streamed is a word for answers that are streams.
func streamed(m protoreflect.MethodDescriptor) string {
	if m.IsStreamingServer() {
		return "a stream of "
	}
	return ""
}

// describeOperation is all of an operation but its name.
func (c *comparison) describeOperation(m protoreflect.MethodDescriptor, old bool) string {
	return fmt.Sprintf("%s, %s to %s%s", routesOf(m)[0], c.name(m.Input(), old), streamed(m), c.name(m.Output(), old))
}

// name is a type's name in the new revision.
func (c *comparison) name(d protoreflect.Descriptor, old bool) string {
	if n, ok := c.renamed[string(d.Name())]; ok && old {
		return n
	}
	return string(d.Name())
}
