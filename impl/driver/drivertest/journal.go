package drivertest

import (
	"fmt"
	"slices"
	"sync"

	"a2aserve/impl/turn"
)

// Journal keeps tasks in memory. Its zero value is ready.
type Journal struct {
	mu     sync.Mutex // guards what follows
	tasks  map[string]turn.Record
	claims map[string][2]string // session to principal and context
}

// Append stores the changes. It panics on what no store would take.
func (j *Journal) Append(changes []turn.Change) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.tasks == nil {
		j.tasks, j.claims = map[string]turn.Record{}, map[string][2]string{}
	}
	r := j.tasks[changes[0].Task]
	r.Artifacts, r.History = slices.Clone(r.Artifacts), slices.Clone(r.History)
	for _, c := range changes {
		if c.Kind != turn.TaskCreated && r.State.Terminal() {
			panic(fmt.Sprintf("%v after the end of task %s", c.Kind, c.Task))
		}
		switch c.Kind {
		case turn.TaskCreated:
			if by, ok := j.claims[c.Session]; ok && by != [2]string{c.Principal, c.Context} {
				return turn.ErrBound
			}
			if c.Session != "" {
				j.claims[c.Session] = [2]string{c.Principal, c.Context}
			}
			r = turn.Record{ID: c.Task, ContextID: c.Context, State: c.State, Status: c.Doc}
		case turn.StatusChanged:
			if !r.State.CanBecome(c.State) {
				panic(fmt.Sprintf("%s after %s", c.State, r.State))
			}
			r.State, r.Status = c.State, c.Doc
		case turn.MessageAdded:
			r.History = append(r.History, c.Doc)
		case turn.ArtifactAdded:
			r.Artifacts = append(r.Artifacts, turn.ArtifactDoc{ID: c.ArtifactID, Append: c.Append, JSON: c.Doc})
		}
	}
	j.tasks[r.ID] = r
	return nil
}

// Begin appends at once.
func (j *Journal) Begin(w *turn.Write) { w.Done <- j.Append(w.Take()) }

// Bound looks a session up as a store would.
func (j *Journal) Bound(principal, session, context string) (string, bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c, ok := j.claims[session]
	if !ok {
		return context, true, nil
	}
	if c[0] != principal {
		return "", false, nil
	}
	return c[1], true, nil
}

// Task returns a stored task; its zero value when there is none.
func (j *Journal) Task(id string) turn.Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.tasks[id]
}
