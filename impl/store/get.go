package store

import (
	"context"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/db"
	"a2aserve/impl/turn"
)

// What a row of Whole is of.
const (
	partTask = iota
	partMessage
	partArtifact
)

// Get returns a task with all its history and artifacts. A task that does not exist and one
// of another principal are the same TaskNotFoundError (A2A §3.3.2, §13.1).
func (v View) Get(ctx context.Context, id string) (turn.Record, error) {
	var rows []db.WholeRow
	err := v.s.borrow(ctx, func(h *handle) (err error) {
		// Watching a context costs the driver a goroutine a statement: this is too short for it.
		rows, err = h.View(v.principal).Whole(context.WithoutCancel(ctx), id)
		return err
	})
	if err != nil {
		return turn.Record{}, err
	}
	if len(rows) == 0 || rows[0].Part != partTask {
		return turn.Record{}, notFound()
	}
	state, err := stateOf(rows[0].Code)
	if err != nil {
		return turn.Record{}, err
	}
	rec := turn.Record{ID: id, ContextID: rows[0].Name, State: state, Status: rows[0].Doc}
	for _, r := range rows[1:] {
		switch r.Part {
		case partMessage:
			rec.History = append(rec.History, r.Doc)
		case partArtifact:
			rec.Artifacts = append(rec.Artifacts, turn.ArtifactDoc{ID: r.Name, Append: r.Code != 0, JSON: r.Doc})
		}
	}
	return rec, nil
}

// notFound makes a new value each time, since callers may add to it. It does not repeat the id: the
// answer is to be the same, byte for byte.
func notFound() error { return &a2a.Error{Type: a2a.TaskNotFoundError} }

func record(r db.PageRow) (turn.Record, error) {
	state, err := stateOf(r.State)
	return turn.Record{ID: r.ID, ContextID: r.ContextID, State: state, Status: r.Status}, err
}

// Transition is one step of a task's life.
type Transition struct {
	State  a2a.TaskState
	At     time.Time
	Status []byte // the TaskStatus, where it carried a message; nil otherwise
}

// Transitions returns every status the task has had, oldest first.
func (v View) Transitions(ctx context.Context, id string) ([]Transition, error) {
	var all []Transition
	err := v.s.read(ctx, func(h *handle) error {
		q := h.View(v.principal)
		trail, err := q.Trail(ctx, id)
		if absent(err) {
			return notFound()
		}
		if err != nil {
			return err
		}
		docs, err := q.Statuses(ctx, id)
		if err != nil {
			return err
		}
		all, err = readTrail(trail, docs)
		return err
	})
	return all, err
}
