package specgen

import (
	"maps"
	"slices"
)

// of returns a field's description: its own, or the common one of its name.
func (d descriptions) of(message, field string) string {
	if s := d.Messages[message].Fields[field]; s != "" {
		return s
	}
	return d.Common[field]
}

// checkDescriptions refuses descriptions that name nothing and lists what has none.
func checkDescriptions(s *source, t *tables, p *problems) (undescribed []string) {
	// First what there is, each with what is said of it...
	d := t.Descriptions
	want := map[string]string{} // every name that can be described, and its description
	common := map[string]bool{}
	for _, m := range messages(s.file) {
		name := string(m.Name())
		want[name] = d.Messages[name].About
		for _, f := range fields(m) {
			common[f.JSONName()] = true
			want[name+"."+f.JSONName()] = d.of(name, f.JSONName())
		}
	}
	for _, e := range enums(s.file) {
		name := string(e.Name())
		want[name] = d.Enums[name].About
		for _, v := range enumValues(e) {
			want[name+"."+string(v.Name())] = d.Enums[name].Values[string(v.Name())]
		}
	}
	for _, m := range methods(s.file) {
		want["operation "+string(m.Name())] = d.Operations[string(m.Name())].Summary
	}
	for name, text := range want {
		if text == "" {
			undescribed = append(undescribed, name)
		}
	}
	slices.Sort(undescribed)

	// ...then what is said and names nothing: a renamed field must not keep an old
	// sentence that nobody sees any more.
	refuse := func(name string) {
		if _, ok := want[name]; !ok {
			p.add("spec/descriptions.yaml: %s names nothing", name)
		}
	}
	for _, kind := range []map[string]described{d.Messages, d.Enums} {
		for _, name := range slices.Sorted(maps.Keys(kind)) {
			refuse(name)
			for _, inner := range []map[string]string{kind[name].Fields, kind[name].Values} {
				for _, n := range slices.Sorted(maps.Keys(inner)) {
					refuse(name + "." + n)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Operations)) {
		refuse("operation " + name)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Common)) {
		if !common[name] {
			p.add("spec/descriptions.yaml: common %s names nothing", name)
		}
	}
	return undescribed
}
