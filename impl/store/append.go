package store

import (
	"context"
	"errors"
	"fmt"

	"a2aserve/gen/a2a"
	"a2aserve/gen/db"
	"a2aserve/impl/turn"
)

// batch is the changes of one Append, ordered so that they cost the fewest row writes: all
// status changes of it are one update, and a bare status is no row of its own.
type batch struct {
	principal, task string
	created         *turn.Change
	status          *turn.Change // the last one
	steps           string       // of all status changes, for the trail
	rows            []*turn.Change
}

// Append stores all changes or none and returns once they are as durable as the store is
// configured to be. A new task is refused with UnavailableError while the file is full.
func (s *Store) Append(changes []turn.Change) error {
	if len(changes) == 0 {
		return nil
	}
	w := turn.NewWrite(changes)
	s.Begin(w)
	return <-w.Done
}

// Begin queues what Append would store. More may be added to it until its group is written.
func (s *Store) Begin(w *turn.Write) {
	s.writer.enqueue(job{done: w.Done, do: func(ctx context.Context, h *handle) error {
		b, err := collect(w.Take())
		if err != nil {
			return err
		}
		if err := s.apply(ctx, h, b); err != nil {
			if _, ok := errors.AsType[*a2a.Error](err); ok {
				return err
			}
			return fmt.Errorf("store: task %s: %w", b.task, err)
		}
		return nil
	}})
}

// collect checks what would break the file's own rules; the rules of the lifecycle are the
// engine's.
func collect(changes []turn.Change) (*batch, error) {
	b := &batch{principal: changes[0].Principal, task: changes[0].Task}
	if b.principal == "" || b.task == "" {
		return nil, errors.New("store: a change names no principal or no task")
	}
	for i := range changes {
		c := &changes[i]
		if c.Principal != b.principal || c.Task != b.task {
			return nil, fmt.Errorf("store: changes of task %s and %s in one append", b.task, c.Task)
		}
		switch c.Kind {
		case turn.TaskCreated:
			if i > 0 || c.Context == "" {
				return nil, fmt.Errorf("store: task %s: created late or without a context", b.task)
			}
			b.created = c
		case turn.StatusChanged:
			if b.status != nil && b.status.State.Terminal() {
				return nil, fmt.Errorf("store: task %s: %s after %s", b.task, c.State, b.status.State)
			}
			b.status = c
		case turn.MessageAdded, turn.ArtifactAdded:
			b.rows = append(b.rows, c)
			continue
		default:
			return nil, fmt.Errorf("store: task %s: unknown kind of change %d", b.task, c.Kind)
		}
		code, ok := codes[c.State]
		if !ok {
			return nil, fmt.Errorf("store: task %s: unknown state %q", b.task, c.State)
		}
		b.steps += step(code, c.At, c.Message)
		if c.Message {
			b.rows = append(b.rows, c)
		}
	}
	return b, nil
}

// apply runs in the writer.
func (s *Store) apply(ctx context.Context, h *handle, b *batch) error {
	a := s.writer.account(h, b.principal)
	a.m.room -= b.size()
	last := b.status
	if last == nil {
		last = b.created
	}
	if b.created != nil {
		if err := s.admit(h); err != nil {
			return err
		}
		if err := b.create(ctx, a, last); err != nil {
			return err
		}
		if err := claim(ctx, a.View, b.created); err != nil {
			return err
		}
	}
	for _, c := range b.rows {
		if err := addRow(ctx, a.View, c); err != nil {
			return err
		}
	}
	ended := int64(1)
	switch {
	case b.created != nil:
		ended = 0
	case b.status != nil:
		n, err := a.SetStatus(ctx, db.SetStatusParams{
			ID: b.task, ContextID: last.Context, State: codes[last.State], StatusTS: last.At.UnixMilli(), Status: last.Doc, Steps: b.steps,
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return turn.ErrEnded
		}
	}
	if last != nil && last.State.Terminal() {
		var t tally
		t[codes[last.State]-firstDone]++
		if _, err := a.count(ctx, last.Context, t, ended); err != nil {
			return err
		}
	} else if b.created != nil {
		a.began(last.Context)
	}
	if b.created != nil {
		return s.retain(ctx, a, last.Context)
	}
	return nil
}

// perBatch is more than what a batch takes in the file besides its documents.
const perBatch = 4 << 10

// size is an upper bound of what the batch adds to the file, in bytes.
func (b *batch) size() int64 {
	n := perBatch
	for _, c := range b.rows {
		n += 2 * len(c.Doc)
	}
	return int64(n)
}

// admit refuses a new task while the file is over its bound. Running tasks may go on. To
// measure the file costs as much as a row, so it is left out while half of the room that
// there was has not been used.
func (s *Store) admit(h *handle) error {
	m := &s.writer.memory
	if s.opts.MaxBytes <= 0 || m.room > 0 {
		return nil
	}
	n, err := h.used()
	if err != nil {
		return err
	}
	m.room = (s.opts.MaxBytes - n) / 2
	if n > s.opts.MaxBytes {
		return a2a.UnavailableError.Errorf("The task store is full")
	}
	return nil
}

// create makes the task in the state that the batch leaves it in: a task that is refused at once is
// one row write. Its principal comes first, since the row refers to it.
func (b *batch) create(ctx context.Context, a account, last *turn.Change) error {
	if err := a.name(ctx); err != nil {
		return err
	}
	return a.AddTask(ctx, db.AddTaskParams{
		ID: b.task, ContextID: b.created.Context, State: codes[last.State],
		StatusTS: last.At.UnixMilli(), CreatedTS: b.created.At.UnixMilli(), Status: last.Doc, Trail: b.steps,
	})
}

// addRow stores what is never written again. A chunk is a row of its own, so that a long answer
// costs what it is long and not the square of it.
func addRow(ctx context.Context, v db.View, c *turn.Change) error {
	seq := int64(c.Seq)
	switch c.Kind {
	case turn.MessageAdded:
		return v.AddMessage(ctx, db.AddMessageParams{TaskID: c.Task, Seq: seq, Doc: c.Doc})
	case turn.ArtifactAdded:
		var more int64
		if c.Append {
			more = 1
		}
		return v.AddArtifact(ctx, db.AddArtifactParams{TaskID: c.Task, Seq: seq, ArtifactID: c.ArtifactID, Append: more, Doc: c.Doc})
	default: // a status with a message, numbered here since a new task's status has no Seq
		seq, err := v.NextStatusSeq(ctx, c.Task)
		if err != nil {
			return err
		}
		return v.AddStatus(ctx, db.AddStatusParams{TaskID: c.Task, Seq: seq, Doc: c.Doc})
	}
}
