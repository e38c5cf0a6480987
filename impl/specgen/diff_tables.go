package specgen

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// affectedTables finds, for each change, rows that it makes wrong or wants.
func affectedTables(r *Report, from, to *source, t *tables, root string) {
	others := otherSchemas(r, root)
	for _, c := range r.Changes {
		v := rowFinder{c: c, t: t, gone: c.Change == "removed" || c.Change == "renamed"}
		switch {
		case c.about.operation != "":
			v.operation(from, to)
		case c.about.message != "":
			v.message(to)
		case c.about.enum != "":
			v.enum()
		}
		for _, name := range []string{c.about.message, c.about.enum} {
			for _, file := range slices.Sorted(maps.Keys(others)) {
				if name != "" && c.Change != "added" && strings.Contains(others[file], "a2a.schema.json#/$defs/"+name+`"`) {
					v.add("spec/%s: refers to %s", file, name)
				}
			}
		}
		c.Tables = v.rows
		if c.Tables == nil {
			c.Tables = []string{}
		}
	}
}

// otherSchemas are those of other vocabularies, which borrow definitions.
func otherSchemas(r *Report, root string) map[string]string {
	out := map[string]string{}
	names, _ := filepath.Glob(filepath.Join(root, "spec/*.schema.json")) // the pattern is well formed
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			r.Unread = append(r.Unread, err.Error())
		}
		if base := filepath.Base(name); base != "a2a.schema.json" {
			out[base] = string(b)
		}
	}
	return out
}

// rowFinder collects the rows that one change concerns.
type rowFinder struct {
	c    *Change
	t    *tables
	gone bool
	rows []string
}

func (v *rowFinder) add(format string, args ...any) {
	v.rows = append(v.rows, fmt.Sprintf(format, args...))
}

// operation looks at what is written by operation.
func (v *rowFinder) operation(from, to *source) {
	name := v.c.about.operation
	if v.c.Kind == "operation" && v.c.Change == "added" {
		v.add("spec/operations.yaml: add a row for %s; the generator refuses without one", name)
		v.add("spec/descriptions.yaml: add a summary for %s", name)
		v.add("spec/capabilities.yaml: does %s need a capability of the card?", name)
		v.add("spec/errors.yaml: has every error that %s may answer a row?", name)
		return
	}
	if row := v.t.operation(name); row != nil {
		what := fmt.Sprintf("look at %s (section, access, errors, further verbs)", name)
		if v.gone && v.c.Kind == "operation" {
			what = v.goes(name)
		}
		v.add("spec/operations.yaml: %s", what)
		if v.c.Kind == "operation" && len(row.Errors) > 0 {
			v.add("spec/errors.yaml: look at %s", strings.Join(row.Errors, ", "))
		}
	}
	if v.c.Kind != "operation" {
		return
	}
	if row := v.t.capabilityOf(name); row != nil {
		v.add("spec/capabilities.yaml: look at %s", row.Capability)
	}
	if _, ok := v.t.Descriptions.Operations[name]; ok {
		v.add("spec/descriptions.yaml: %s", v.looks(name))
	}
}

// looks says what happens to a row whose name may be gone.
func (v *rowFinder) looks(name string) string {
	if v.gone {
		return v.goes(name)
	}
	return "look at " + name
}

// goes says that a row has lost its name; the generator refuses it.
func (v *rowFinder) goes(name string) string {
	if v.c.Change == "renamed" {
		return "rename " + name
	}
	return "remove " + name
}

// message looks at what is written by message, field or oneof.
func (v *rowFinder) message(to *source) {
	s := v.c.about
	switch {
	case s.field != "":
		v.field()
	case s.oneof != "":
		name := s.message + "." + s.oneof
		if _, ok := v.t.Constraints.Oneofs[name]; ok {
			v.add("spec/constraints.yaml: %s", v.looks(name))
		} else if v.c.Change == "added" {
			v.add("spec/constraints.yaml: add a rule for the oneof %s; the generator refuses without one", name)
		}
	case v.c.Change == "added":
		v.add("spec/descriptions.yaml: describe %s", s.message)
		for _, o := range oneofs(to.file.Messages().ByName(protoreflect.Name(s.message))) {
			v.add("spec/constraints.yaml: add a rule for the oneof %s.%s; the generator refuses without one", s.message, o.Name())
		}
	default:
		if _, ok := v.t.Descriptions.Messages[s.message]; ok {
			v.add("spec/descriptions.yaml: %s", v.looks(s.message))
		}
		for _, kind := range []map[string][]string{v.t.Stored.Documents, v.t.Stored.Files} {
			if kind[s.message] != nil {
				v.add("spec/stored.yaml: %s", v.looks(s.message))
			}
		}
		v.below(s.message + ".")
	}
}

// below finds constraints of a message that has gone.
func (v *rowFinder) below(prefix string) {
	for _, name := range slices.Sorted(maps.Keys(v.t.Constraints.Fields)) {
		if strings.HasPrefix(name, prefix) {
			v.add("spec/constraints.yaml: %s", v.looks(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.t.Constraints.Oneofs)) {
		if strings.HasPrefix(name, prefix) {
			v.add("spec/constraints.yaml: %s", v.looks(name))
		}
	}
}

// field looks at what is written by field.
func (v *rowFinder) field() {
	s := v.c.about
	name := s.message + "." + s.json
	switch {
	case v.c.Change == "added" && v.t.Descriptions.of(s.message, s.json) == "":
		v.add("spec/descriptions.yaml: describe %s", name)
	case v.t.Descriptions.Messages[s.message].Fields[s.json] != "":
		v.add("spec/descriptions.yaml: %s", v.looks(name))
	case v.t.Descriptions.Common[s.json] != "":
		v.add("spec/descriptions.yaml: look at the common %s", s.json)
	}
	if v.c.Change == "added" {
		v.add("spec/constraints.yaml: does the text give %s a bound?", name)
		if s.message == "AgentCapabilities" {
			v.add("spec/capabilities.yaml: add a row for %s, if an operation depends on it", s.json)
		}
		return
	}
	if _, ok := v.t.Constraints.Fields[s.message+"."+s.field]; ok {
		v.add("spec/constraints.yaml: %s", v.looks(s.message+"."+s.field))
	}
	if s.message == "AgentCapabilities" {
		for _, row := range v.t.Capabilities {
			if row.Capability == s.json {
				v.add("spec/capabilities.yaml: %s", v.looks(s.json))
			}
		}
	}
}

// enum looks at what is written by enum or value.
func (v *rowFinder) enum() {
	s := v.c.about
	name := s.enum
	if s.value != "" {
		name += "." + s.value
	}
	switch texts, ok := v.t.Descriptions.Enums[s.enum]; {
	case v.c.Change == "added":
		v.add("spec/descriptions.yaml: describe %s", name)
	case ok && (s.value == "" || texts.Values[s.value] != ""):
		v.add("spec/descriptions.yaml: %s", v.looks(name))
	}
	if s.value == "" && v.t.Stored.Codes[s.enum] != nil {
		v.add("spec/stored.yaml: %s", v.looks(s.enum))
	}
	if s.enum != "TaskState" || s.value == "" {
		return
	}
	if v.c.Change == "added" {
		v.add("spec/states.yaml: give %s a class and a transition to it; the generator refuses without", s.value)
		return
	}
	n := 0
	for _, row := range v.t.Transitions {
		if row.To == s.value || slices.Contains(row.From, s.value) {
			n++
		}
	}
	v.add("spec/states.yaml: %s, its class and %s", v.looks(s.value), counted(n, "transition"))
}

// ledger is as much of conformance/requirements.yaml as is needed to find rows.
type ledger struct {
	Sections []struct {
		Section, Title string
		Rows           []struct{ ID, Says string }
	}
}

// affectedLedger finds the requirements of the sections that a change is about, and
// those that spell its name.
func affectedLedger(r *Report, from *source, t *tables, root string) error {
	const name = "conformance/requirements.yaml"
	var l ledger
	b, err := os.ReadFile(filepath.Join(root, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Unread = append(r.Unread, name+" is not there, so that no requirements are named")
	case err != nil:
		return err
	default:
		if err := yaml.Unmarshal(b, &l); err != nil {
			return fmt.Errorf("%s: %s", name, yaml.FormatError(err, false, true))
		}
	}
	for _, c := range r.Changes {
		c.Ledger = l.rows(c.about, from, t)
	}
	return nil
}

// rows are the ids for one subject, in the order of the file.
func (l ledger) rows(s subject, from *source, t *tables) []string {
	sections := map[string]bool{}
	about := func(operation string) {
		if row := t.operation(operation); row != nil {
			sections[row.Section] = true
		}
	}
	about(s.operation)
	for _, m := range methods(from.file) {
		// What only one operation takes or gives is told in its section.
		if s.message == string(m.Input().Name()) || s.message == string(m.Output().Name()) && s.message != "Task" {
			about(string(m.Name()))
		}
	}
	ids := []string{}
	for _, sec := range l.Sections {
		title := strings.ReplaceAll(sec.Title, " ", "")
		here := sections[sec.Section] || title != "" && (title == s.message || title == s.enum)
		for _, row := range sec.Rows {
			if here || s.spelledIn(row.Says) {
				ids = append(ids, row.ID)
			}
		}
	}
	return ids
}

// spelledIn reports whether a sentence has the subject's name. Names that are ordinary
// words, such as state, are in too many.
func (s subject) spelledIn(text string) bool {
	for _, name := range []string{s.value, s.json, s.field, s.operation} {
		if len(words(name)) < 2 {
			continue
		}
		for _, w := range strings.FieldsFunc(text, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			if w == name {
				return true
			}
		}
	}
	return false
}
