package turn

import (
	"context"
	"fmt"
	"strings"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/gen/op"

	"github.com/go-json-experiment/json"
)

// batch gathers what a run of queued items comes to: one journal write, the frames to
// publish after it, and what is said to whom after that. It starts as a copy of the
// run's state, which takes its place only once the write has succeeded.
type batch struct {
	r *Run
	taskState
	changes []Change
	frames  []op.Frame
	notes   []note        // telemetry, where it is watched
	tells   []event.Event // for the agent
	replies []func(error) // for clients; nil: journalled
	end     bool          // the task is over
	ahead   int           // frames that are to be published before these

	answered []context.Context // of the messages that it takes, for the observer
}

// stamp sets the time of the next status: whole milliseconds that never go back.
func (b *batch) stamp() {
	now := b.r.e.Now().UTC().Truncate(time.Millisecond)
	if now.After(b.at) {
		b.at = now
	}
}

// change adds one change, with the ids that all of them carry.
func (b *batch) change(c Change) {
	c.Principal, c.Task, c.Context = b.r.in.Principal, b.rec.ID, b.rec.ContextID
	if b.changes == nil {
		b.changes = make([]Change, 0, 4) // as many as most writes have
	}
	b.changes = append(b.changes, c)
}

// status moves the task to a state, with an encoded message or none. A move that the
// lifecycle table does not have is a fault of ours or of the agent: the task fails.
func (b *batch) status(to a2a.TaskState, msg *a2a.Message) {
	if b.end {
		return
	}
	if !b.rec.State.CanBecome(to) {
		b.r.e.Logger.Error("the lifecycle has no such step", "task", b.rec.ID, "from", b.rec.State, "to", to)
		to, msg = a2a.TaskStateFailed, b.r.say("The task came out of step")
	}
	b.stamp()
	doc, err := statusDoc(to, msg, b.at)
	if err != nil { // only a message that an agent made can do this, and those are checked
		b.r.e.Logger.Error("status cannot be encoded", "task", b.rec.ID, "error", err)
		b.status(a2a.TaskStateFailed, b.r.say("The agent sent something that cannot be encoded"))
		return
	}
	b.end = to.Terminal()
	b.rec.State, b.rec.Status = to, doc
	b.change(Change{Kind: StatusChanged, State: to, At: b.at, Seq: b.statuses, Message: msg != nil, Doc: doc})
	b.statuses++
	b.frame(statusFrame(&b.rec, doc), to.Terminal() || to.Interrupted(), b.end)
}

// frame adds one encoded StreamResponse.
func (b *batch) frame(doc []byte, stops, last bool) {
	b.frames = append(b.frames, op.Frame{JSON: doc, Stops: stops, Last: last})
}

// addHistory adds an encoded message to the task's history.
func (b *batch) addHistory(doc []byte) {
	b.change(Change{Kind: MessageAdded, Seq: b.messages, Doc: doc})
	b.messages++
	b.rec.History = append(b.rec.History, doc)
}

// artifact publishes an artifact, or with more set the continuation of one.
func (b *batch) artifact(a *a2a.Artifact, more, last bool) {
	doc, err := json.Marshal(a)
	if err != nil {
		b.invalid("an artifact that cannot be encoded", err)
		return
	}
	b.change(Change{Kind: ArtifactAdded, Seq: b.artifacts, ArtifactID: a.ArtifactID, Append: more, Doc: doc})
	b.artifacts++
	b.rec.Artifacts = append(b.rec.Artifacts, ArtifactDoc{ID: a.ArtifactID, Append: more, JSON: doc})
	b.frame(artifactFrame(&b.rec, doc, more, last), false, false)
}

// absorb takes over what follows b, if anything does: both are journalled as one.
func (b *batch) absorb(more *batch) {
	if more == nil {
		return
	}
	for _, n := range more.notes {
		n.at += len(b.frames)
		b.notes = append(b.notes, n)
	}
	b.taskState, b.end = more.taskState, more.end
	b.changes = append(b.changes, more.changes...)
	b.frames = append(b.frames, more.frames...)
	b.tells = append(b.tells, more.tells...)
	b.replies = append(b.replies, more.replies...)
	b.answered = append(b.answered, more.answered...)
}

// tell says something to the agent once the batch is journalled.
func (b *batch) tell(e event.Event) { b.tells = append(b.tells, e) }

// fail ends the task as FAILED, retracts its questions and asks the agent to stop.
// The reason is sent to clients.
func (b *batch) fail(format string, args ...any) {
	if b.end {
		return
	}
	reason := fmt.Sprintf(format, args...)
	b.flush()
	b.status(a2a.TaskStateFailed, b.r.say(reason))
	b.stopAgent(reason)
}

// invalid fails the task of an agent that sent something invalid (decision 30). The
// cause is only logged.
func (b *batch) invalid(what string, cause error) {
	b.r.e.Logger.Error("the agent sent something invalid", "task", b.rec.ID, "what", what, "cause", cause)
	b.fail("The agent sent %s", what)
}

// stopAgent retracts the open questions, then asks for the turn to be stopped: in this
// order an agent that waits for an answer gets out of its wait first.
func (b *batch) stopAgent(reason string) {
	for _, q := range b.r.questions {
		b.tell(event.HITLCancel{RequestID: q.id, Reason: reason})
	}
	b.r.questions = nil
	b.tell(event.CancelRequest{TaskID: b.rec.ID, TurnID: b.r.mapping.turnID, Reason: reason})
}

// say makes a message of the agent that goes with this task.
func (r *Run) say(text string) *a2a.Message {
	text = clean(text)
	return &a2a.Message{
		MessageID: r.e.NewID(), TaskID: r.in.TaskID, ContextID: r.in.ContextID,
		Role: a2a.RoleAgent, Parts: []a2a.Part{{Text: &text}},
	}
}

// clean makes text valid UTF-8, which JSON requires.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// bytes is how much the batch adds to the frame log.
func (b *batch) bytes() int {
	n := 0
	for _, f := range b.frames {
		n += len(f.JSON)
	}
	return n
}
