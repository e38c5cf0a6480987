package ledger

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Problems says what does not add up, or is missing. Whether the proofs exist is for the
// caller to find out.
func (l *Ledger) Problems() []string {
	p := problems{ledger: l, ids: map[string]bool{}, reasons: map[string]bool{}}
	p.numbering()
	var all Counts
	for _, s := range l.Sections {
		p.section(s)
		all = all.Plus(s.Counts)
	}
	if l.Totals.Counts != all || l.Totals.Sections != len(l.Sections) {
		p.add("the sections come to %d with %v; the totals say %d with %v", len(l.Sections), all, l.Totals.Sections, l.Totals.Counts)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Reasons)) {
		if !p.reasons[name] {
			p.add("reason %q is given by no row", name)
		}
	}
	return p.found
}

type problems struct {
	ledger  *Ledger
	ids     map[string]bool
	reasons map[string]bool // that rows give
	found   []string
}

func (p *problems) add(format string, args ...any) {
	p.found = append(p.found, fmt.Sprintf(format, args...))
}

// numbering finds sections that are missing: each follows its elder sibling, or its parent.
func (p *problems) numbering() {
	last := map[string]string{} // the latest number below each parent
	for _, s := range p.ledger.Sections {
		parent, n := "", s.Number
		if i := strings.LastIndexByte(s.Number, '.'); i >= 0 {
			parent, n = s.Number[:i], s.Number[i+1:]
			if _, ok := last[parent]; !ok {
				p.add("§%s: there is no §%s above it", s.Number, parent)
			}
		}
		if want := after(last[parent], parent); n != want && (parent != "" || n != "A") {
			p.add("§%s: number %s was expected here", s.Number, want)
		}
		last[parent] = n
		last[s.Number] = ""
		if s.Title == "" {
			p.add("§%s has no title", s.Number)
		}
	}
}

// after is the number that comes next; appendices have letters.
func after(last, parent string) string {
	if parent == "" && last >= "A" {
		return string(last[0] + 1)
	}
	n, _ := strconv.Atoi(last) // nothing before the first
	return strconv.Itoa(n + 1)
}

var id = regexp.MustCompile(`^R-([A-Z0-9.]+)-(X?)[0-9]{2}$`)

func (p *problems) section(s Section) {
	var counted Counts
	for _, r := range s.Rows {
		if r.From == Keyword {
			counted.Add(r.Level)
		}
		p.row(s, r)
	}
	if counted != s.Counts {
		p.add("§%s: its rows come to %v, the specification has %v", s.Number, counted, s.Counts)
	}
}

func (p *problems) row(s Section, r Row) {
	m := id.FindStringSubmatch(r.ID)
	switch {
	case m == nil || m[1] != s.Number:
		p.add("§%s: %q is no id of this section", s.Number, r.ID)
	case (m[2] == "X") != (r.From != Keyword):
		p.add("%s: ids with an X are for statements without a keyword", r.ID)
	case p.ids[r.ID]:
		p.add("%s is there twice", r.ID)
	}
	p.ids[r.ID] = true
	if !slices.Contains([]Level{Must, Should, May}, r.Level) {
		p.add("%s: level %q", r.ID, r.Level)
	}
	if !slices.Contains([]Who{Server, Client, Both, Author}, r.Who) {
		p.add("%s: who is %q", r.ID, r.Who)
	}
	if !slices.Contains([]From{Keyword, Lowercase, Table, Proto}, r.From) {
		p.add("%s: from %q", r.ID, r.From)
	}
	if r.Says == "" {
		p.add("%s says nothing", r.ID)
	}
	p.shown(r)
}

func (p *problems) shown(r Row) {
	given := 0
	for _, there := range []bool{len(r.Proofs) > 0, r.NotApplicable != "", r.NotDone != ""} {
		if there {
			given++
		}
	}
	switch {
	case given == 0:
		p.add("%s: neither a proof nor a reason", r.ID)
	case given > 1:
		p.add("%s: more than one of proofs, not_applicable and not_done", r.ID)
	case r.NotDone != "" && r.Level == Must:
		p.add("%s: a MUST cannot be left undone", r.ID)
	case r.StrictOnly && len(r.Diverges) == 0:
		p.add("%s: strict_only needs a row of spec/DIVERGENCES.md that says why", r.ID)
	}
	if r.NotApplicable != "" {
		_, named := p.ledger.Reasons[r.NotApplicable]
		p.reasons[r.NotApplicable] = true
		if !named && !strings.Contains(r.NotApplicable, " ") {
			p.add("%s: no reason is named %q", r.ID, r.NotApplicable)
		}
	}
}
