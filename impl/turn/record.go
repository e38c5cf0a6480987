package turn

import "a2aserve/gen/a2a"

// Record is a task as its documents, each encoded once. It is immutable: whoever
// extends a slice makes a new header. Live snapshots and stored tasks are both
// Records, so that a task reads the same wherever it is read.
type Record struct {
	ID, ContextID string
	State         a2a.TaskState
	Status        []byte        // a TaskStatus
	Artifacts     []ArtifactDoc // in order of arrival, chunks included
	History       [][]byte      // Messages, oldest first
}

// ArtifactDoc is an artifact, or a chunk of one.
type ArtifactDoc struct {
	ID     string
	Append bool // the parts continue the artifact of this ID; otherwise they begin or replace it
	JSON   []byte
}
