package viewgen

import "fmt"

// kind says where a register's value comes from.
type kind uint8

const (
	fromElsewhere kind = iota // what names it
	fromPrincipal             // the bound parameter, or the principal column of a proven row
	fromRow                   // the rowid of a row of table what, found by a scoped cursor
	fromNew                   // a rowid that is in no use
	fromRecord                // a row, made by instruction at
)

// source is one place that a register gets its value from.
type source struct {
	kind kind
	what string
	at   int
}

// flow answers where the value of a register at an instruction may come from, over all
// paths that lead there. NULL is no source: it equals no key, and the column forbids it.
type flow struct {
	p         *program
	principal int
	before    [][]int // the instructions that may run just before each
}

// place is a register as an instruction finds it.
type place struct{ addr, register int }

// flow turns the program's jumps around, to walk from a use of a register back to what wrote it.
// SQLite reuses registers, so it matters which writer comes last.
func (p *program) flow(principal int) *flow {
	f := &flow{p: p, principal: principal, before: make([][]int, len(p.ops))}
	for i := range p.ops {
		for _, next := range p.next(i) {
			if next < len(p.ops) {
				f.before[next] = append(f.before[next], i)
			}
		}
	}
	return f
}

// sources collects what may be in a register when the instruction at addr runs.
func (f *flow) sources(addr, register int) []source {
	var found []source
	seen := map[place]bool{}
	work := []place{{addr, register}}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, b := range f.before[at.addr] {
			o := f.p.ops[b]
			from, n := o.writes()
			if at.register < from || at.register >= from+n {
				work = append(work, place{b, at.register})
				continue
			}
			more, values := f.written(b, o, at.register-from)
			work = append(work, more...)
			found = append(found, values...)
		}
	}
	return found
}

// written says what an instruction puts into the i-th register that it writes: other
// registers' values, or sources.
func (f *flow) written(addr int, o op, i int) ([]place, []source) {
	switch o.name {
	case "Null", "SoftNull", "IfNullRow":
		return nil, nil
	case "SCopy", "IntCopy", "Copy":
		return []place{{addr, o.p1 + i}}, nil
	case "Move":
		if i >= max(o.p3, 1) {
			return nil, nil // the registers moved from are left NULL
		}
		return []place{{addr, o.p1 + i}}, nil
	case "Variable":
		if o.p1 == f.principal {
			return nil, []source{{kind: fromPrincipal}}
		}
		return nil, []source{{what: fmt.Sprintf("parameter %d", o.p1)}}
	case "Column":
		// Every row that a scoped cursor stands on is the principal's, or the proof fails there.
		if t, real := f.p.cursors[o.p1]; real && t.scoped && o.p2 == t.place {
			return nil, []source{{kind: fromPrincipal}}
		}
		return nil, []source{{what: "a column"}}
	case "MakeRecord", "RowData", "SorterData":
		return nil, []source{{kind: fromRecord, what: "a record", at: addr}}
	case "NewRowid":
		if i == 0 {
			return nil, []source{{kind: fromNew, what: "a new rowid"}}
		}
	case "Rowid", "IdxRowid":
		return f.rowid(o)
	case "RowSetRead":
		var all []place
		for a, r := range f.p.ops {
			if r.name == "RowSetAdd" && r.p1 == o.p1 {
				all = append(all, place{a, r.p2})
			}
		}
		return all, nil
	}
	return nil, []source{{what: o.name + " " + o.p4}}
}

// rowid follows the rowid of a row found by a scoped cursor, also through a list of such
// that an UPDATE or DELETE makes before it begins.
func (f *flow) rowid(o op) ([]place, []source) {
	if t, real := f.p.cursors[o.p1]; real {
		if t.scoped {
			return nil, []source{{kind: fromRow, what: t.table}}
		}
		return nil, []source{{what: "a rowid of " + t.table}}
	}
	var all []place
	for a, i := range f.p.ops {
		if i.p1 != o.p1 {
			continue
		}
		switch i.name {
		case "Insert":
			all = append(all, place{a, i.p3})
		case "IdxInsert", "SorterInsert", "OpenDup":
			return nil, []source{{what: "a list"}}
		}
	}
	return all, nil
}

// all reports whether the register has sources and ok accepts each; what names one that it
// does not.
func (f *flow) all(addr, register int, ok func(source) bool) (what string, good bool) {
	found := f.sources(addr, register)
	for _, s := range found {
		if ok(s) {
			continue
		}
		switch s.kind {
		case fromPrincipal:
			return "the principal", false
		case fromRow:
			return "a row of " + s.what, false
		}
		return s.what, false
	}
	return "nothing that is known", len(found) > 0
}

// isPrincipal reports whether a register can only hold the principal.
func (f *flow) isPrincipal(addr, register int) (string, bool) {
	return f.all(addr, register, func(s source) bool { return s.kind == fromPrincipal })
}

// isRow reports whether a register can only hold a rowid of a proven row of the table or,
// where fresh is set, a new one.
func (f *flow) isRow(addr, register int, table string, fresh bool) (string, bool) {
	return f.all(addr, register, func(s source) bool {
		return s.kind == fromRow && s.what == table || fresh && s.kind == fromNew
	})
}

// holdsPrincipal reports whether all records that a register may hold have the principal at
// column i.
func (f *flow) holdsPrincipal(addr, register, i int) (string, bool) {
	why := "a record"
	_, good := f.all(addr, register, func(s source) bool {
		if s.kind != fromRecord {
			why = s.what
			return false
		}
		o, ok := f.p.ops[s.at], false
		switch {
		case o.name != "MakeRecord":
			why, ok = f.listed(o.p1, i)
		case i < o.p2:
			why, ok = f.isPrincipal(s.at, o.p1+i)
		}
		return ok
	})
	return why, good
}

// listed looks at all that is ever put into a table of the statement's own.
func (f *flow) listed(cursor, i int) (string, bool) {
	if _, real := f.p.cursors[cursor]; real {
		return "a row of a table", false
	}
	n := 0
	for a, o := range f.p.ops {
		if o.p1 != cursor {
			continue
		}
		switch o.name {
		case "IdxInsert", "SorterInsert", "Insert":
			if what, good := f.holdsPrincipal(a, o.p2, i); !good {
				return what, false
			}
			n++
		case "OpenDup", "OpenPseudo":
			return "a list", false
		}
	}
	return "an empty list", n > 0
}
