package specgen

import (
	"context"
	"fmt"
)

// DiffOptions says which two revisions of the protocol to compare.
type DiffOptions struct {
	// Options.Proto is the new revision as a file; Out and Tools are not used.
	Options
	// Module is a version of the official Go module that has the new revision. With
	// neither Proto nor Module it is the one that go.mod requires.
	Module string
	// From is the old revision, a version of the module or a file; empty means the one
	// that spec/REVISION names.
	From string
}

// Report says what a revision does to whoever speaks the protocol, to what is stored
// and to the hand-written part of this module.
type Report struct {
	From    string    `json:"from"`
	To      string    `json:"to"`
	Changes []*Change `json:"changes"`
	// Unread says what could not be looked at, so that an empty list is not mistaken
	// for a clean one.
	Unread []string `json:"unread"`
	// Prose names the tables that are transcribed from the text of the specification,
	// which no descriptor shows.
	Prose []string `json:"prose"`
}

// Change is one difference between two revisions.
type Change struct {
	// Kind is operation, route, message, field, oneof, enum, value or file.
	Kind string `json:"kind"`
	// Name is spelled as on the wire: PauseTask, Message.contextId, TaskState.TASK_STATE_WORKING.
	Name string `json:"name"`
	// Change is added, removed, renamed or changed.
	Change string `json:"change"`
	Was    string `json:"was,omitzero"`
	Is     string `json:"is,omitzero"`
	// Clients is about those of the old revision that meet a server of the new one.
	Clients Verdict `json:"clients"`
	// Stored is about documents and files that were written under the old one.
	Stored Verdict `json:"stored"`
	Code   []Place `json:"code"`
	// Tables names rows under spec/, and what to do about them.
	Tables []string `json:"tables"`
	// Ledger has ids of conformance/requirements.yaml.
	Ledger []string `json:"ledger"`

	about subject
}

// Verdict is one side's judgement of a change, and why.
type Verdict struct {
	Breaking bool   `json:"breaking"`
	Why      string `json:"why"`
}

// Place is a line of a hand-written file.
type Place struct {
	File string `json:"file"`
	// Line is 0 for a file that is still to be written.
	Line int `json:"line,omitzero"`
	// How is "uses" where the compiler sees it, "text" where it is only a name in a
	// string, "implements", or "new" for a file to write.
	How string `json:"how"`
}

// subject is what a change is about, in the spellings that code and tables use. Of
// what was added these are the new names, otherwise the old ones.
type subject struct {
	operation, message, enum string
	// field and oneof are in proto spelling, json in the wire's.
	field, json, oneof string
	value              string
}

// breaking reports whether anybody is broken.
func (c *Change) breaking() bool { return c.Clients.Breaking || c.Stored.Breaking }

// prose are the tables that a revision can make wrong without a difference here.
var prose = []string{
	"spec/errors.yaml: codes, HTTP statuses and reasons (A2A §5.4, §9.5, §11.6)",
	"spec/states.yaml: which states end or interrupt a task, and what they can become (A2A §3.1, §4.1.3, §7.6)",
	"spec/capabilities.yaml: what needs which capability (A2A §3.3.4)",
	"spec/operations.yaml: errors and further verbs of each operation (A2A §3.1, §11.3)",
	"spec/constraints.yaml: bounds of values (A2A §3.1, §3.2)",
	"spec/descriptions.yaml: sentences of our own, which may have become untrue",
	"spec/DIVERGENCES.md and conformance/requirements.yaml: what is read out of the text",
}

// Diff compares two revisions. It changes nothing.
func Diff(ctx context.Context, o DiffOptions) (*Report, error) {
	from, err := oldSource(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("the old revision: %w", err)
	}
	to, err := newSource(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("the new revision: %w", err)
	}
	t, err := loadTables(o.Root)
	if err != nil {
		return nil, err
	}
	r := &Report{From: from.revision.String(), To: to.revision.String(), Prose: prose}
	r.Changes = compare(from, to, t)
	affectedTables(r, from, to, t, o.Root)
	if err := affectedLedger(r, from, t, o.Root); err != nil {
		return nil, err
	}
	if err := affectedCode(ctx, r, o.Root); err != nil {
		return nil, err
	}
	r.sort()
	return r, nil
}
