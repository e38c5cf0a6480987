package specgen

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// reach says of each message and enum, by name, which way it travels and where it is
// kept. What only the server sends may grow; what clients send may not ask for more.
type reach struct {
	in, out map[string]bool
	// kept has the columns and files that hold it, directly or inside of something.
	kept map[string][]string
	// codes has the columns that hold an enum's values as codes.
	codes map[string][]string
}

// reachOf looks at both revisions: what either one sends or stores counts.
func reachOf(from, to *source, t *tables) reach {
	r := reach{in: map[string]bool{}, out: map[string]bool{}, kept: map[string][]string{}, codes: t.Stored.Codes}
	for _, s := range []*source{from, to} {
		for _, m := range methods(s.file) {
			below(m.Input(), func(name string) { r.in[name] = true })
			below(m.Output(), func(name string) { r.out[name] = true })
		}
		for _, kind := range []map[string][]string{t.Stored.Documents, t.Stored.Files} {
			for _, name := range slices.Sorted(maps.Keys(kind)) {
				m := s.file.Messages().ByName(protoreflect.Name(name))
				if m == nil {
					continue // gone, which is a change of its own
				}
				below(m, func(inner string) {
					for _, place := range kind[name] {
						if !slices.Contains(r.kept[inner], place) {
							r.kept[inner] = append(r.kept[inner], place)
						}
					}
				})
			}
		}
	}
	for name := range r.kept {
		slices.Sort(r.kept[name])
	}
	return r
}

// below visits a message and all messages and enums inside of it, once each.
func below(m protoreflect.MessageDescriptor, visit func(name string)) {
	seen := map[protoreflect.FullName]bool{}
	var walk func(protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		if !m.IsMapEntry() {
			visit(string(m.Name()))
		}
		for _, f := range fields(m) {
			if f.Enum() != nil {
				visit(string(f.Enum().Name()))
			}
			if f.Message() != nil {
				walk(f.Message())
			}
		}
	}
	walk(m)
}

// stored lists where a message or enum is kept, as the end of a sentence.
func (r reach) stored(name string) string {
	return strings.Join(append(slices.Clone(r.codes[name]), r.kept[name]...), ", ")
}

// gone judges the loss of a whole message or enum.
func (r reach) gone(name string) (clients, stored Verdict) {
	if !r.in[name] && !r.out[name] {
		return Verdict{Why: "no operation uses it"}, r.unlessKept(name, "holds it")
	}
	return Verdict{true, "clients send or read it"}, r.unlessKept(name, "holds it")
}

// fieldGone judges the loss of a field or value, or of its old form.
func (r reach) fieldGone(name, why string) (clients, stored Verdict) {
	clients = Verdict{true, why}
	if !r.in[name] && !r.out[name] {
		clients = Verdict{Why: "no operation uses " + name}
	}
	return clients, r.unlessKept(name, "has the old form and is not rewritten")
}

// unlessKept breaks what is stored wherever it is.
func (r reach) unlessKept(name, why string) Verdict {
	if where := r.stored(name); where != "" {
		return Verdict{true, "what is in " + where + " " + why}
	}
	return Verdict{Why: "not stored"}
}

// valueRenamed judges a value of another name: documents spell it, codes do not.
func (r reach) valueRenamed(enum string) Verdict {
	r.codes = nil
	return r.unlessKept(enum, "has the old name and is not rewritten")
}

// fieldAdded judges a new field: what old clients do not send, and do not know.
func (r reach) fieldAdded(f protoreflect.FieldDescriptor, old protoreflect.OneofDescriptors) (clients, stored Verdict) {
	m := string(f.ContainingMessage().Name())
	one := oneofName(f)
	grown := one != "" && old.ByName(protoreflect.Name(one)) != nil
	switch {
	case required(f):
		return r.nowRequired(m)
	// constraints.yaml says exactly one: a oneof that is new must be set at once, and to
	// readers of one that has grown none is.
	case one != "" && !grown && r.in[m]:
		clients = Verdict{true, "clients set none of " + one}
	case grown && r.out[m]:
		clients = Verdict{true, "clients that get it find none of " + one + " that they know"}
	case r.in[m] && r.out[m]:
		clients.Why = "clients leave it out, and ignore it (A2A §5.7)"
	case r.in[m]:
		clients.Why = "clients leave it out"
	case r.out[m]:
		clients.Why = "clients ignore it (A2A §5.7)"
	default:
		clients.Why = "no operation uses " + m
	}
	stored.Why = "not stored"
	if where := r.stored(m); where != "" {
		stored.Why = "what is in " + where + " has none, as is allowed"
	}
	return clients, stored
}

// nowRequired judges a field that must be there from now on.
func (r reach) nowRequired(m string) (clients, stored Verdict) {
	clients.Why = "the server has to set it always"
	if r.in[m] {
		clients = Verdict{true, "clients that leave it out are refused"}
	}
	return clients, r.unlessKept(m, "may lack it")
}

// noLongerRequired judges a field that need not be there any more.
func (r reach) noLongerRequired(m string) (clients, stored Verdict) {
	clients.Why = "clients may go on sending it"
	if r.out[m] {
		clients = Verdict{true, "clients rely on it, unless the server goes on setting it"}
	}
	return clients, Verdict{Why: "what is stored has it"}
}

// valueAdded judges a new value of an enum.
func (r reach) valueAdded(enum string) (clients, stored Verdict) {
	clients.Why = "clients do not send it"
	if r.out[enum] {
		clients = Verdict{true, "clients that get it do not know it, and ProtoJSON readers refuse the answer"}
	}
	stored.Why = "not stored yet"
	if where := r.codes[enum]; where != nil {
		stored.Why = "needs a code of its own in " + strings.Join(where, ", ")
	}
	return clients, stored
}
