package viewgen

import (
	"fmt"
	"slices"
	"strings"
)

// op is an instruction of SQLite's virtual machine (https://www.sqlite.org/opcode.html).
type op struct {
	addr, p1, p2, p3, p5 int
	name, p4             string
}

// program is a statement, compiled.
type program struct {
	ops     []op
	trees   map[int]tree
	params  int
	cursors map[int]tree // those on b-trees of the file; the others are the statement's own
}

// effect is what the proof needs to know of an opcode: whether P1 is a cursor, which operand
// names the register that it writes (0: none), and whether it may jump to P2.
type effect struct {
	cursor bool
	writes int
	jumps  bool
}

// effects holds the opcodes that may occur at all. What is not here is refused, so that an
// opcode of a later SQLite cannot slip through.
var effects = func() map[string]effect {
	m := map[string]effect{}
	add := func(e effect, names string) {
		for n := range strings.FieldsSeq(names) {
			m[n] = e
		}
	}
	add(effect{}, `Halt HaltIfNull Transaction ResultRow Return Compare Permutation CollSeq FilterAdd Noop Explain
		ReleaseReg Expire ResetCount EndCoroutine TypeCheck Affinity Abortable Trace FkCheck TableLock`)
	add(effect{jumps: true}, `Init Goto Jump Once If IfNot IsNull NotNull IsType Eq Ne Lt Le Gt Ge ElseEq Filter MustBeInt`)
	add(effect{writes: 1}, `AddImm Cast RealAffinity AggFinal ClrSubtype RowSetAdd MemMax SoftNull`)
	add(effect{writes: 1, jumps: true}, `InitCoroutine Yield Gosub IfPos IfNotZero DecrJumpZero`)
	add(effect{writes: 2}, `Integer Int64 Real String String8 Blob Not BitNot IsTrue ZeroOrNull BeginSubrtn OffsetLimit
		GetSubtype SetSubtype Variable SCopy IntCopy Copy Move Null`)
	add(effect{writes: 3}, `And Or Add Subtract Multiply Divide Remainder Concat BitAnd BitOr ShiftLeft ShiftRight
		Function PureFunc AggStep AggStep1 AggInverse AggValue MakeRecord`)
	add(effect{writes: 3, jumps: true}, `RowSetRead`)
	add(effect{cursor: true}, `OpenRead OpenWrite ReopenIdx OpenDup OpenEphemeral OpenAutoindex OpenPseudo SorterOpen
		Close ColumnsUsed CursorHint CursorLock CursorUnlock SeekHit SorterInsert Insert Delete IdxInsert
		IdxDelete DeferredSeek FinishSeek NullRow SeekScan SeekEnd ResetSorter`)
	add(effect{cursor: true, jumps: true}, `SeekGE SeekGT SeekLE SeekLT SeekRowid NotExists Found NotFound NoConflict
		IdxGE IdxGT IdxLE IdxLT IfNoHope Next Prev Rewind Last Sort SorterSort SorterNext SorterCompare
		SequenceTest IfEmpty IfSizeBetween`)
	add(effect{cursor: true, writes: 2}, `Rowid IdxRowid NewRowid RowData SorterData Sequence Count`)
	add(effect{cursor: true, writes: 3}, `Column Offset`)
	add(effect{cursor: true, writes: 3, jumps: true}, `IfNullRow`)
	return m
}()

// writes is the range of registers that an instruction writes.
func (o op) writes() (from, n int) {
	switch o.name {
	case "Null":
		return o.p2, max(o.p3-o.p2, 0) + 1
	case "Copy":
		return o.p2, o.p3 + 1
	case "NewRowid":
		if o.p3 > 0 { // keeps the largest one there, which no scoped table does
			return min(o.p2, o.p3), max(o.p2, o.p3) - min(o.p2, o.p3) + 1
		}
	case "Move":
		return o.p2, max(o.p3, 1)
	}
	switch effects[o.name].writes {
	case 1:
		return o.p1, 1
	case 2:
		return o.p2, 1
	case 3:
		return o.p3, 1
	}
	return 0, 0
}

// next lists the instructions that may follow the one at i. Subroutines and coroutines go
// wherever any of them may.
func (p *program) next(i int) []int {
	o := p.ops[i]
	switch o.name {
	case "Goto", "Init", "Gosub":
		return []int{o.p2}
	case "Halt":
		return nil
	case "Jump":
		return []int{o.p1, o.p2, o.p3}
	case "Return", "Yield", "EndCoroutine":
		return append(p.resumes(), i+1, o.p2)
	case "InitCoroutine":
		return []int{i + 1, o.p2, o.p3}
	}
	if effects[o.name].jumps && o.p2 > 0 {
		return []int{i + 1, o.p2}
	}
	return []int{i + 1}
}

// resumes is where a subroutine may return to and a coroutine may go on.
func (p *program) resumes() (all []int) {
	for i, o := range p.ops {
		switch o.name {
		case "Gosub":
			all = append(all, i+1)
		case "Yield":
			all = append(all, i+1, o.p2)
		case "InitCoroutine":
			all = append(all, o.p2, o.p3)
		}
	}
	return all
}

// onIndex and onTable are what may be done to a cursor on a scoped b-tree. Whatever visits
// rows that no key leads to (Rewind, Last, Count, ...) is missing from both.
var (
	onIndex = set(`OpenRead OpenWrite ReopenIdx Close ColumnsUsed CursorHint CursorLock CursorUnlock SeekGE SeekGT SeekLE
		SeekLT Found NotFound NoConflict IdxGE IdxGT IdxLE IdxLT IfNoHope SeekHit Next Prev IdxInsert IdxDelete Delete Insert
		DeferredSeek FinishSeek NullRow IdxRowid Column IfNullRow`)
	onTable = set(`OpenRead OpenWrite Close ColumnsUsed CursorHint CursorLock CursorUnlock SeekRowid NotExists Insert Delete
		FinishSeek NullRow Rowid NewRowid Column IfNullRow`)
)

func set(names string) map[string]bool {
	m := map[string]bool{}
	for n := range strings.FieldsSeq(names) {
		m[n] = true
	}
	return m
}

// shape finds the cursors and refuses what the proof cannot read.
func (p *program) shape() (faults []string) {
	fail := func(format string, args ...any) {
		if f := fmt.Sprintf(format, args...); !slices.Contains(faults, f) {
			faults = append(faults, f)
		}
	}
	own := map[int]bool{}
	for _, o := range p.ops {
		if _, known := effects[o.name]; o.name == "Clear" {
			fail("empties %s", p.trees[o.p1].table) // a DELETE without a condition opens no cursor
		} else if !known {
			fail("uses opcode %s, which the proof does not know", o.name)
		}
		switch o.name {
		case "Variable":
			if o.p1 > p.params {
				fail("sqlc has dropped a parameter: SQLite sees more than %d", p.params)
			}
		case "OpenRead", "OpenWrite", "ReopenIdx":
			const rootInRegister = 0x10 // OPFLAG_P2ISREG
			t, ok := p.trees[o.p2]
			if !ok || o.p3 != 0 || o.p5&rootInRegister != 0 || strings.HasPrefix(t.table, "sqlite_") {
				fail("opens b-tree %d, which is no table of the schema", o.p2)
				continue
			}
			if before, again := p.cursors[o.p1]; own[o.p1] || again && before != t {
				fail("uses cursor %d for two things", o.p1)
			}
			p.cursors[o.p1] = t
		case "OpenDup", "OpenEphemeral", "OpenAutoindex", "OpenPseudo", "SorterOpen":
			if _, again := p.cursors[o.p1]; again {
				fail("uses cursor %d for two things", o.p1)
			}
			own[o.p1] = true
		}
	}
	return faults
}

// scopedTables are the scoped tables that the statement opens, in order of name.
func (p *program) scopedTables() []string {
	var names []string
	for _, t := range p.cursors {
		if t.scoped && !slices.Contains(names, t.table) {
			names = append(names, t.table)
		}
	}
	slices.Sort(names)
	return names
}
