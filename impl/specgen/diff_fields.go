package specgen

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// messages compares all messages and what they are made of.
func (c *comparison) messages() {
	for _, m := range messages(c.from.file) {
		name := string(m.Name())
		n := c.to.file.Messages().ByName(protoreflect.Name(c.name(m, true)))
		about := subject{message: name}
		switch {
		case n == nil:
			ch := Change{Kind: "message", Name: name, Change: "removed", Was: fieldList(m), about: about}
			ch.Clients, ch.Stored = c.reach.gone(name)
			c.add(ch)
		case n.Name() != m.Name():
			fine := Verdict{Why: "JSON does not carry the name"}
			c.add(Change{Kind: "message", Name: name, Change: "renamed", Is: string(n.Name()), Clients: fine, Stored: fine, about: about})
		default:
			c.oneofs(m, n)
			c.fields(m, n)
		}
	}
	for _, n := range messages(c.to.file) {
		if c.from.file.Messages().ByName(n.Name()) == nil && !c.isNewName(n) {
			c.add(Change{
				Kind: "message", Name: string(n.Name()), Change: "added", Is: fieldList(n), about: subject{message: string(n.Name())},
				Clients: Verdict{Why: "what uses it is listed by itself"}, Stored: Verdict{Why: "nothing of it is stored yet"},
			})
		}
	}
}

// isNewName reports whether a type of the new revision is one of the old, renamed.
func (c *comparison) isNewName(d protoreflect.Descriptor) bool {
	for _, n := range c.renamed {
		if n == string(d.Name()) {
			return true
		}
	}
	return false
}

// fields compares those of one message, by their names; a name that has gone and one
// that has come with the same number and type are the same field.
func (c *comparison) fields(m, n protoreflect.MessageDescriptor) {
	for _, f := range fields(m) {
		g := n.Fields().ByName(f.Name())
		if g == nil {
			if g = n.Fields().ByNumber(f.Number()); g != nil && (m.Fields().ByName(g.Name()) != nil || shape(f, c.renamed) != shape(g, nil)) {
				g = nil
			}
		}
		if g == nil {
			ch := c.fieldChange(f, "removed")
			ch.Was = describeField(f, c.renamed)
			ch.Clients, ch.Stored = c.reach.fieldGone(string(m.Name()), "clients send or read it")
			c.add(ch)
			continue
		}
		c.field(f, g)
	}
	for _, g := range fields(n) {
		f := m.Fields().ByNumber(g.Number())
		if m.Fields().ByName(g.Name()) != nil || f != nil && n.Fields().ByName(f.Name()) == nil && shape(f, c.renamed) == shape(g, nil) {
			continue
		}
		ch := c.fieldChange(g, "added")
		ch.Is = describeField(g, nil)
		ch.Clients, ch.Stored = c.reach.fieldAdded(g, m.Oneofs())
		c.add(ch)
	}
}

// fieldChange begins a change of a field.
func (c *comparison) fieldChange(f protoreflect.FieldDescriptor, what string) Change {
	m := string(f.ContainingMessage().Name())
	return Change{Kind: "field", Name: m + "." + f.JSONName(), Change: what, about: subject{message: m, field: string(f.Name()), json: f.JSONName()}}
}

// field compares two that are the same field. The worst of all aspects counts.
func (c *comparison) field(f, g protoreflect.FieldDescriptor) {
	ch := c.fieldChange(f, "changed")
	ch.Was, ch.Is = describeField(f, c.renamed), describeField(g, nil)
	if ch.Was == ch.Is {
		return
	}
	m := string(f.ContainingMessage().Name())
	if f.Name() != g.Name() {
		ch.Change = "renamed"
	}
	switch {
	case f.JSONName() != g.JSONName():
		clients, stored := c.reach.fieldGone(m, fmt.Sprintf("clients say %s", f.JSONName()))
		ch.worse(clients, stored)
	case f.Name() != g.Name():
		ch.note("JSON keeps the name")
	}
	if shape(f, c.renamed) != shape(g, nil) {
		clients, stored := c.reach.fieldGone(m, "the value has another shape")
		ch.worse(clients, stored)
	}
	switch {
	case required(g) && !required(f):
		ch.worse(c.reach.nowRequired(m))
	case required(f) && !required(g):
		ch.worse(c.reach.noLongerRequired(m))
	}
	if oneofName(f) != oneofName(g) {
		clients, stored := c.reach.fieldGone(m, "other fields can or cannot be set beside it")
		ch.worse(clients, stored)
	}
	if f.Number() != g.Number() {
		ch.note("JSON does not carry numbers; gRPC does, and is not served here")
	}
	if f.HasPresence() != g.HasPresence() {
		ch.note("whether it is set can be told apart or not, which changes the Go type")
	}
	if deprecated(f) != deprecated(g) {
		ch.note("it still works")
	}
	c.add(ch)
}

// worse adds an aspect to a change's verdicts.
func (ch *Change) worse(clients, stored Verdict) {
	ch.Clients, ch.Stored = ch.Clients.and(clients), ch.Stored.and(stored)
}

// note adds an aspect that breaks nobody.
func (ch *Change) note(why string) { ch.worse(Verdict{Why: why}, Verdict{Why: why}) }

// and joins two verdicts. Where one breaks, only the reasons for that are of interest.
func (v Verdict) and(w Verdict) Verdict {
	switch {
	case v.Why == "" || w.Breaking && !v.Breaking:
		return w
	case v.Breaking && !w.Breaking || v == w:
		return v
	}
	return Verdict{v.Breaking, v.Why + "; " + w.Why}
}

// oneofs compares the choices of one message. Their members are fields and told there.
func (c *comparison) oneofs(m, n protoreflect.MessageDescriptor) {
	has := func(in protoreflect.MessageDescriptor, o protoreflect.OneofDescriptor) bool {
		return slices.ContainsFunc(oneofs(in), func(p protoreflect.OneofDescriptor) bool { return p.Name() == o.Name() })
	}
	one := func(o protoreflect.OneofDescriptor, what string) Change {
		name := string(m.Name())
		return Change{Kind: "oneof", Name: name + "." + string(o.Name()), Change: what, about: subject{message: name, oneof: string(o.Name())}}
	}
	for _, o := range oneofs(m) {
		if !has(n, o) {
			ch := one(o, "removed")
			ch.Was = memberList(o)
			ch.note("JSON does not carry its name; what its members do is told with them")
			c.add(ch)
		}
	}
	for _, o := range oneofs(n) {
		if !has(m, o) {
			ch := one(o, "added")
			ch.Is = memberList(o)
			ch.note("JSON does not carry its name; what its members do is told with them")
			c.add(ch)
		}
	}
}

// enums compares values by name and number.
func (c *comparison) enums() {
	for _, e := range enums(c.from.file) {
		name := string(e.Name())
		n := c.to.file.Enums().ByName(protoreflect.Name(c.name(e, true)))
		about := subject{enum: name}
		switch {
		case n == nil:
			ch := Change{Kind: "enum", Name: name, Change: "removed", Was: valueNames(e), about: about}
			ch.Clients, ch.Stored = c.reach.gone(name)
			c.add(ch)
		case n.Name() != e.Name():
			fine := Verdict{Why: "JSON does not carry the name"}
			c.add(Change{Kind: "enum", Name: name, Change: "renamed", Is: string(n.Name()), Clients: fine, Stored: fine, about: about})
		default:
			c.values(e, n)
		}
	}
	for _, n := range enums(c.to.file) {
		if c.from.file.Enums().ByName(n.Name()) == nil && !c.isNewName(n) {
			c.add(Change{
				Kind: "enum", Name: string(n.Name()), Change: "added", Is: valueNames(n), about: subject{enum: string(n.Name())},
				Clients: Verdict{Why: "what uses it is listed by itself"}, Stored: Verdict{Why: "nothing of it is stored yet"},
			})
		}
	}
}

// values compares those of one enum; the same number under another name is a rename.
func (c *comparison) values(e, n protoreflect.EnumDescriptor) {
	name := string(e.Name())
	text := func(v protoreflect.EnumValueDescriptor) string { return fmt.Sprintf("%s = %d", v.Name(), v.Number()) }
	for _, v := range collect[protoreflect.EnumValueDescriptor](e.Values()) {
		ch := Change{Kind: "value", Name: name + "." + string(v.Name()), Was: text(v), about: subject{enum: name, value: string(v.Name())}}
		w := n.Values().ByName(v.Name())
		switch {
		case w != nil && w.Number() == v.Number():
			continue
		case w != nil:
			ch.Change, ch.Is = "changed", text(w)
			ch.Clients = Verdict{true, "readers of ProtoJSON may send the number"}
			ch.Stored = Verdict{Why: "what is stored has the name"}
		default:
			ch.Change = "removed"
			if w = n.Values().ByNumber(v.Number()); w != nil && e.Values().ByName(w.Name()) == nil {
				ch.Change, ch.Is = "renamed", text(w)
			}
			ch.Clients, ch.Stored = c.reach.fieldGone(name, "clients say "+string(v.Name()))
			if ch.Change == "renamed" {
				ch.Stored = c.reach.valueRenamed(name)
			}
		}
		c.add(ch)
	}
	for _, w := range collect[protoreflect.EnumValueDescriptor](n.Values()) {
		if v := e.Values().ByNumber(w.Number()); e.Values().ByName(w.Name()) != nil || v != nil && n.Values().ByName(v.Name()) == nil {
			continue
		}
		ch := Change{Kind: "value", Name: name + "." + string(w.Name()), Change: "added", Is: text(w), about: subject{enum: name, value: string(w.Name())}}
		ch.Clients, ch.Stored = c.reach.valueAdded(name)
		c.add(ch)
	}
}

// deprecated reports a field's option.
func deprecated(f protoreflect.FieldDescriptor) bool {
	return f.Options().(*descriptorpb.FieldOptions).GetDeprecated()
}

// oneofName is the choice that a field is part of, or empty.
func oneofName(f protoreflect.FieldDescriptor) string {
	if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
		return string(o.Name())
	}
	return ""
}

// shape is what a field's value looks like in JSON; renamed translates type names.
func shape(f protoreflect.FieldDescriptor, renamed map[string]string) string {
	switch {
	case f.IsMap():
		return "map of " + shape(f.MapValue(), renamed)
	case f.IsList():
		return "list of " + valueShape(f, renamed)
	}
	return valueShape(f, renamed)
}

// valueShape is one value; kinds that look the same in JSON are the same.
func valueShape(f protoreflect.FieldDescriptor, renamed map[string]string) string {
	name := ""
	switch {
	case f.Message() != nil:
		name = string(f.Message().Name())
	case f.Enum() != nil:
		name = string(f.Enum().Name())
	}
	if n, ok := renamed[name]; ok {
		return n
	}
	if name != "" {
		return name
	}
	switch f.Kind() {
	case protoreflect.BytesKind:
		return "base64"
	case protoreflect.BoolKind, protoreflect.StringKind:
		return f.Kind().String()
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "number"
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return "64-bit integer" // a string in JSON
	}
	return strings.TrimPrefix(f.Kind().String(), "s")
}

// describeField is everything about a field that is compared.
func describeField(f protoreflect.FieldDescriptor, renamed map[string]string) string {
	text := fmt.Sprintf("%s %s = %d", shape(f, renamed), f.JSONName(), f.Number())
	if string(f.Name()) != protoName(f.JSONName()) {
		text += fmt.Sprintf(" (%s)", f.Name())
	}
	if required(f) {
		text += ", required"
	}
	if o := oneofName(f); o != "" {
		text += ", in oneof " + o
	} else if f.HasOptionalKeyword() {
		text += ", optional"
	}
	if deprecated(f) {
		text += ", deprecated"
	}
	return text
}

// protoName is the proto spelling of a name of the wire.
func protoName(json string) string {
	var b strings.Builder
	for _, r := range json {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// fieldList names a message's fields.
func fieldList(m protoreflect.MessageDescriptor) string {
	var names []string
	for _, f := range fields(m) {
		names = append(names, f.JSONName())
	}
	return strings.Join(names, ", ")
}

// memberList names a oneof's members.
func memberList(o protoreflect.OneofDescriptor) string {
	var names []string
	for _, f := range collect[protoreflect.FieldDescriptor](o.Fields()) {
		names = append(names, f.JSONName())
	}
	return strings.Join(names, ", ")
}

// valueNames names an enum's values.
func valueNames(e protoreflect.EnumDescriptor) string {
	var names []string
	for _, v := range enumValues(e) {
		names = append(names, string(v.Name()))
	}
	return strings.Join(names, ", ")
}
