package specgen

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// checkTables refuses rows that match nothing in the descriptor, and things of the
// descriptor that need a row and have none. It returns what is not described.
func checkTables(s *source, t *tables) (undescribed []string, err error) {
	var p problems
	checkErrors(t, &p)
	checkOperations(s, t, &p)
	checkStates(s, t, &p)
	checkConstraints(s, t, &p)
	checkStored(s, t, &p)
	undescribed = checkDescriptions(s, t, &p)
	return undescribed, p.err()
}

// cited wants a section of the specification, or "ours" with a reason.
func cited(p *problems, where, section, why string) {
	switch {
	case section == "":
		p.add("%s: no section", where)
	case section == "ours" && why == "":
		p.add("%s: section is ours, but no why", where)
	}
}

// checkErrors wants every row complete and under its own name: a missing reason or
// status would only be noticed by the client that gets the error.
func checkErrors(t *tables, p *problems) {
	seen := map[string]bool{}
	for _, e := range t.Errors {
		where := "spec/errors.yaml: " + e.Name
		cited(p, where, e.Section, e.Why)
		if seen[e.Name] {
			p.add("%s: twice", where)
		}
		seen[e.Name] = true
		if e.Code >= 0 || e.HTTP < 400 || e.Reason == "" || e.Domain == "" || e.Status == "" || e.Message == "" {
			p.add("%s: incomplete", where)
		}
		if e.On != "" && e.On != "all" && e.On != "body" {
			p.add("%s: on is %q, not all or body", where, e.On)
		}
	}
}

// checkOperations matches operations.yaml and capabilities.yaml with the service.
// Every operation needs a row, since its section and errors are in the prose only.
func checkOperations(s *source, t *tables, p *problems) {
	known := map[string]bool{}
	for _, m := range methods(s.file) {
		known[string(m.Name())] = true
		if t.operation(string(m.Name())) == nil {
			p.add("spec/operations.yaml: no row for %s", m.Name())
		}
	}
	for _, o := range t.Operations {
		where := "spec/operations.yaml: " + o.Name
		cited(p, where, o.Section, "")
		if !known[o.Name] {
			p.add("%s: matches no operation", where)
		}
		if !slices.Contains([]string{"read", "send", "cancel"}, o.Access) {
			p.add("%s: access is %q, not read, send or cancel", where, o.Access)
		}
		for _, v := range o.AltVerbs {
			cited(p, where+" "+v.Verb, v.Section, v.Why)
		}
		for _, e := range o.Errors {
			if t.errorNamed(e) == nil {
				p.add("%s: %s matches no error", where, e)
			}
		}
	}
	// A capability is a field of the card, so that a card can declare it.
	card := s.file.Messages().ByName("AgentCapabilities")
	for _, c := range t.Capabilities {
		where := "spec/capabilities.yaml: " + c.Capability
		cited(p, where, c.Section, "")
		if card == nil || card.Fields().ByJSONName(c.Capability) == nil {
			p.add("%s: matches no field of AgentCapabilities", where)
		}
		if t.errorNamed(c.Error) == nil {
			p.add("%s: %s matches no error", where, c.Error)
		}
		for _, o := range c.Operations {
			if !known[o] {
				p.add("%s: %s matches no operation", where, o)
			}
		}
	}
}

// checkStates matches states.yaml with the enum. What it finds here would be a task
// stuck at run time: a state that nothing leads to, or a way out of a terminal one.
func checkStates(s *source, t *tables, p *problems) {
	e := s.file.Enums().ByName("TaskState")
	if e == nil {
		p.add("spec/states.yaml: the descriptor has no TaskState")
		return
	}
	class := map[string]string{"new": "active"}
	for _, st := range t.States {
		where := "spec/states.yaml: " + st.Name
		cited(p, where, st.Section, st.Why)
		if class[st.Name] != "" {
			p.add("%s: twice", where)
		}
		class[st.Name] = st.Class
		if !slices.Contains([]string{"active", "interrupted", "terminal"}, st.Class) {
			p.add("%s: class %q is not active, interrupted or terminal", where, st.Class)
		}
	}
	// Rows may name only states that have a class, and none may leave a terminal one.
	reached := map[string]bool{}
	for _, tr := range t.Transitions {
		where := "spec/states.yaml: " + strings.Join(tr.From, ", ") + " to " + tr.To
		cited(p, where, tr.Section, tr.Why)
		reached[tr.To] = true
		for _, n := range append([]string{tr.To}, tr.From...) {
			if class[n] == "" {
				p.add("%s: %s has no row", where, n)
			}
		}
		for _, n := range tr.From {
			if class[n] == "terminal" {
				p.add("%s: %s is terminal", where, n)
			}
		}
	}
	// The other way round: every state of the protocol is classed and can be reached.
	values := map[string]bool{"new": true}
	for _, v := range enumValues(e) {
		n := string(v.Name())
		values[n] = true
		if class[n] == "" {
			p.add("spec/states.yaml: no row for %s", n)
		} else if !reached[n] {
			p.add("spec/states.yaml: no transition to %s", n)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(class)) {
		if !values[n] {
			p.add("spec/states.yaml: %s matches no state", n)
		}
	}
}

// checkConstraints matches constraints.yaml with fields and oneofs. A oneof needs a
// row, because proto lets it be unset and A2A does not always.
func checkConstraints(s *source, t *tables, p *problems) {
	knownFields, knownOneofs := map[string]bool{}, map[string]bool{}
	for _, m := range messages(s.file) {
		for _, f := range fields(m) {
			knownFields[string(m.Name())+"."+string(f.Name())] = true
		}
		for _, o := range oneofs(m) {
			name := string(m.Name()) + "." + string(o.Name())
			knownOneofs[name] = true
			if _, ok := t.Constraints.Oneofs[name]; !ok {
				p.add("spec/constraints.yaml: no row for the oneof %s", name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Constraints.Fields)) {
		r := t.Constraints.Fields[name]
		cited(p, "spec/constraints.yaml: "+name, r.Section, r.Why)
		if !knownFields[name] {
			p.add("spec/constraints.yaml: %s matches no field", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Constraints.Oneofs)) {
		r := t.Constraints.Oneofs[name]
		cited(p, "spec/constraints.yaml: "+name, r.Section, r.Why)
		if !knownOneofs[name] {
			p.add("spec/constraints.yaml: %s matches no oneof", name)
		}
		if r.Rule != "exactly_one" {
			p.add("spec/constraints.yaml: %s: rule %q is not exactly_one", name, r.Rule)
		}
	}
}

// checkStored matches stored.yaml with messages and enums: a renamed one must not lose
// sight of what is stored of it.
func checkStored(s *source, t *tables, p *problems) {
	for _, kind := range []map[string][]string{t.Stored.Documents, t.Stored.Files} {
		for _, name := range slices.Sorted(maps.Keys(kind)) {
			if s.file.Messages().ByName(protoreflect.Name(name)) == nil {
				p.add("spec/stored.yaml: %s matches no message", name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Stored.Codes)) {
		if s.file.Enums().ByName(protoreflect.Name(name)) == nil {
			p.add("spec/stored.yaml: %s matches no enum", name)
		}
	}
}
