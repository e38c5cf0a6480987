package viewgen

import (
	"fmt"
	"slices"
)

// prove returns what keeps the statement from being scoped to one principal. Every cursor
// on a scoped b-tree must be put by a key that begins with the principal, may step only
// while a bound with that key holds, and may write only keys that begin with it; a table's
// rows are reached by rowids that such an index cursor has found.
func (p *program) prove(principal int) []string {
	v := &prover{p: p, f: p.flow(principal)}
	for i, o := range p.ops {
		if t, real := p.cursors[o.p3]; real && o.name == "DeferredSeek" && t.scoped {
			if from := p.cursors[o.p1]; !from.scoped || from.table != t.table {
				v.fail(t, o, "the row comes from another table's cursor")
			}
		}
		t, real := p.cursors[o.p1]
		if !real || !t.scoped || !effects[o.name].cursor {
			continue
		}
		if t.rowid {
			v.table(i, o, t)
		} else {
			v.index(i, o, t)
		}
	}
	return v.faults
}

type prover struct {
	p      *program
	f      *flow
	faults []string
}

func (v *prover) fail(t tree, o op, format string, args ...any) {
	name := t.table
	if t.name != t.table {
		name += " (" + t.name + ")"
	}
	f := fmt.Sprintf("%s: %s: %s", name, o.name, fmt.Sprintf(format, args...))
	if !slices.Contains(v.faults, f) {
		v.faults = append(v.faults, f)
	}
}

// table judges an instruction on the b-tree of a rowid table.
func (v *prover) table(i int, o op, t tree) {
	if !onTable[o.name] {
		v.fail(t, o, "reads rows of all principals")
		return
	}
	switch o.name {
	case "SeekRowid", "NotExists":
		if what, good := v.f.isRow(i, o.p3, t.table, false); !good {
			v.fail(t, o, "the rowid comes from %s", what)
		}
	case "Insert":
		if what, good := v.f.isRow(i, o.p3, t.table, true); !good {
			v.fail(t, o, "the rowid comes from %s", what)
		}
		if what, good := v.f.holdsPrincipal(i, o.p2, t.place); !good {
			v.fail(t, o, "%s comes from %s", principalColumn, what)
		}
	}
}

// index judges an instruction on an index, or on a table that is one (WITHOUT ROWID).
func (v *prover) index(i int, o op, t tree) {
	if !onIndex[o.name] {
		v.fail(t, o, "reads rows of all principals")
		return
	}
	switch o.name {
	case "SeekGE", "SeekGT", "SeekLE", "SeekLT":
		v.key(i, o, t, o.p3)
		if !v.boundAfter(i, o) {
			v.fail(t, o, "no bound by %s follows", principalColumn)
		}
	case "IdxGT", "IdxGE", "IdxLT", "IdxLE", "IdxInsert":
		v.key(i, o, t, o.p3)
	case "IdxDelete":
		v.key(i, o, t, o.p2)
	case "Found", "NotFound", "NoConflict":
		if o.p4 != "0" { // so many registers; 0 is a record
			v.key(i, o, t, o.p3)
		} else if what, good := v.f.holdsPrincipal(i, o.p3, 0); !good {
			v.fail(t, o, "%s comes from %s", principalColumn, what)
		}
	case "Insert":
		if what, good := v.f.holdsPrincipal(i, o.p2, 0); !good {
			v.fail(t, o, "%s comes from %s", principalColumn, what)
		}
	case "Next":
		if !v.bounds(o.p2, o.p1, "IdxGT", "IdxGE") {
			v.fail(t, o, "the scan is not bounded by %s", principalColumn)
		}
	case "Prev":
		if !v.bounds(o.p2, o.p1, "IdxLT", "IdxLE") {
			v.fail(t, o, "the scan is not bounded by %s", principalColumn)
		}
	}
}

// key judges the first of the registers that a key is made of: indexes begin with the principal.
func (v *prover) key(i int, o op, t tree, register int) {
	if what, good := v.f.isPrincipal(i, register); !good {
		v.fail(t, o, "%s comes from %s", principalColumn, what)
	}
}

// bounds reports whether the instruction at addr, where a loop begins again, is a bound on
// the cursor in the loop's direction. Its key is judged where it is met.
func (v *prover) bounds(addr, cursor int, names ...string) bool {
	for _, o := range v.p.ops[min(addr, len(v.p.ops)):] {
		switch o.name {
		case "Noop", "ReleaseReg", "CursorHint":
			continue
		}
		return o.p1 == cursor && (o.name == names[0] || o.name == names[1])
	}
	return false
}

// boundAfter reports whether a seek is followed by a bound before anything is read there.
func (v *prover) boundAfter(i int, seek op) bool {
	for _, o := range v.p.ops[i+1:] {
		uses := effects[o.name].cursor && o.p1 == seek.p1
		switch o.name {
		case "IdxGT", "IdxGE":
			if uses {
				return seek.name == "SeekGE" || seek.name == "SeekGT"
			}
		case "IdxLT", "IdxLE":
			if uses {
				return seek.name == "SeekLE" || seek.name == "SeekLT"
			}
		}
		if uses && o.name != "SeekHit" && o.name != "CursorHint" {
			return false
		}
	}
	return false
}
