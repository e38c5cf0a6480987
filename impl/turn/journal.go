package turn

import (
	"errors"
	"slices"
	"sync"
	"time"

	"a2aserve/gen/a2a"
)

// Kind says what a change does.
type Kind uint8

// The kinds of change.
const (
	TaskCreated   Kind = iota + 1 // Task, Context, State, At, Doc (a TaskStatus)
	StatusChanged                 // Task, Context, State, At, Seq, Message, Doc (a TaskStatus)
	MessageAdded                  // Task, Seq, Doc (a Message)
	ArtifactAdded                 // Task, Seq, ArtifactID, Append, Doc (an Artifact, or the chunk of one)
)

// Change is one row's worth of what happened to a task. Doc is JSON, encoded once and never altered.
type Change struct {
	Kind       Kind
	Principal  string
	Task       string
	Context    string
	State      a2a.TaskState
	At         time.Time // status timestamp, whole milliseconds
	Seq        int       // order within the task and kind, from 0
	ArtifactID string
	Append     bool // the parts continue the artifact; otherwise they begin or replace it
	Message    bool // the status carries a message
	Doc        []byte
	// Session is the session of an agent that has only one. A task that is created claims
	// it for its context, in the same write: what is refused leaves no claim behind.
	Session string
}

// ErrEnded says that a task cannot change any more.
var ErrEnded = errors.New("there is no such task, or it has ended")

// ErrBound says that a task cannot be created because its agent's session belongs to
// another context or principal.
var ErrBound = errors.New("the agent's session is bound to another context")

// Journal makes changes durable before they are told to anybody.
type Journal interface {
	// Append stores all changes or none; when it returns nil they are as durable
	// as the store is configured to be. All belong to one task. It takes no
	// context: a queued write cannot be taken back. The error wraps ErrEnded
	// where no attempt can succeed, because the task has ended or is gone, and
	// ErrBound where a change names a session that is not the context's.
	Append(changes []Change) error

	// Begin queues a write and returns; w.Done gets what Append would return.
	Begin(w *Write)

	// Bound says what the principal would find on claiming the session of a one-session
	// agent for a context, and changes nothing: the context itself where the session is
	// free, the bound one where it is the principal's, and "" and false where it is
	// another's.
	Bound(principal, session, context string) (bound string, mine bool, err error)
}

// Write is changes of one task on their way into the journal. Until the journal takes them
// there is room for more: where many wait for the disk, a turn gets by with fewer writes,
// and where nobody does nothing waits for company.
type Write struct {
	Done chan error // gets what became of the write, once

	mu      sync.Mutex // guards what follows
	changes []Change
	taken   bool
}

// NewWrite returns a write for Begin. What is added to it goes elsewhere than into the
// caller's array: the journal reads while the caller may append to that.
func NewWrite(changes []Change) *Write {
	return &Write{Done: make(chan error, 1), changes: slices.Clip(changes)}
}

// Open reports whether there is room for more.
func (w *Write) Open() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.taken
}

// Add puts further changes of the task behind those that are there. It is false where the
// journal has begun, and adds nothing then.
func (w *Write) Add(changes []Change) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken {
		return len(changes) == 0
	}
	w.changes = append(w.changes, changes...)
	return true
}

// Take closes the write and returns its changes. A journal that has to try again takes the
// same ones.
func (w *Write) Take() []Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken = true
	return w.changes
}
