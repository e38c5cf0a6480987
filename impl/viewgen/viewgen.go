// Package viewgen is the logic of cmd/sqlc-gen-view. As sqlc's plugin it proves that every
// statement is scoped to one principal; afterwards it writes the View over sqlc's output.
//
// The proof reads SQLite's own bytecode for a statement (EXPLAIN, in the driver that the
// store uses), because text says too little: what a statement touches is decided by where
// its cursors are positioned. It holds for the statement, not just for the plan at hand,
// since all plans of a statement answer the same.
package viewgen

import "strings"

// principalColumn makes a table scoped, and is the parameter that a view fills in.
const principalColumn = "principal_id"

// unscopedNote begins the comment that admits a statement on no scoped table.
const unscopedNote = "unscoped:"

func isUnscopedNote(line string) bool {
	return strings.HasPrefix(strings.TrimSpace(line), unscopedNote)
}
