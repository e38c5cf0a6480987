package turn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
)

// question is what a parked task waits for.
type question struct {
	id       string
	auth     bool // an authorisation, given elsewhere or by a message
	choices  []event.Choice
	strict   bool // only a choice is an answer
	message  *a2a.Message
	deadline time.Time // zero: none
}

// state is the one in which a task waits for this question.
func (q question) state() a2a.TaskState {
	if q.auth {
		return a2a.TaskStateAuthRequired
	}
	return a2a.TaskStateInputRequired
}

// Answer gives a live task the message that it waits for. In names the principal, the
// task and, where the client did, the context. Errors:
//
//   - ErrNotLive: the store knows what the task is
//   - UnsupportedOperationError with detail TASK_CONTEXT_MISMATCH,
//     TASK_NOT_AWAITING_INPUT or TASK_ALREADY_TERMINAL
//   - InvalidParamsError: only one of the question's choices will do
//   - ContentTypeNotSupportedError as for Send; InternalError when the answer could not
//     be stored
//
// Of two answers given at once, one wins and the other finds no question.
func (e *Engine) Answer(ctx context.Context, in Input) (Sent, error) {
	r := e.Live(in.Principal, in.TaskID)
	if r == nil {
		return Sent{}, ErrNotLive
	}
	if in.ContextID != "" && in.ContextID != r.in.ContextID {
		return Sent{}, refusal("TASK_CONTEXT_MISMATCH", "The task belongs to another context than the message names")
	}
	if err := e.checkModes(in); err != nil {
		return Sent{}, err
	}
	in.Message.TaskID, in.Message.ContextID = r.in.TaskID, r.in.ContextID
	var watch *watcher
	if in.Telemetry { // before the agent hears the answer
		watch = r.log.watch()
	}
	got := make(chan reply, 1)
	rep, err := r.ask(ctx, answerAsk{ctx, in.Message, in.AcceptedOutputModes, got}, got)
	if err != nil && watch != nil {
		watch.close()
	}
	return Sent{Run: r, Record: rep.rec, From: rep.from, watch: watch}, err
}

// ask puts a request to the owner and waits for its answer. A caller that leaves does
// not take the request back.
func (r *Run) ask(ctx context.Context, request any, got <-chan reply) (reply, error) {
	if !r.q.put(request) {
		rec, _ := r.log.snapshot()
		if !rec.State.Terminal() { // its end waits to be stored
			return reply{}, a2a.UnavailableError.Errorf("The task's last change is not stored yet")
		}
		refuseLate(request)
	}
	select {
	case rep := <-got:
		return rep, rep.err
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
}

// hitlRequested parks the task at INPUT_REQUIRED.
func (b *batch) hitlRequested(e event.HITLRequested) {
	strict := e.Mode == "choices"
	switch {
	case e.Mode != "" && e.Mode != "choices" && e.Mode != "free_text" && e.Mode != "both":
		b.invalid("a question of an unknown mode", fmt.Errorf("mode %q", e.Mode))
		return
	case strict && len(e.Choices) == 0:
		b.invalid("a question with choices only and no choices", nil)
		return
	case slices.ContainsFunc(e.Choices, func(c event.Choice) bool { return strings.TrimSpace(c.ID) == "" }):
		b.invalid("a question with a choice that has no id", nil)
		return
	}
	text, _ := abridged(clean(e.Prompt), maxPrompt)
	for _, c := range e.Choices {
		text += "\n- " + c.ID
		if c.Label != "" && c.Label != c.ID {
			text += ": " + c.Label
		}
	}
	b.park(question{id: e.RequestID, choices: e.Choices, strict: strict}, text, questionNote{
		RequestID: e.RequestID, Mode: e.Mode, Choices: e.Choices, Default: e.DefaultChoiceID,
	})
}

// authRequired parks the task at AUTH_REQUIRED (A2A §7.6.1).
func (b *batch) authRequired(e event.AuthRequired) {
	text, _ := abridged(clean(e.Prompt), maxPrompt)
	b.park(question{id: e.RequestID, auth: true}, text, questionNote{RequestID: e.RequestID})
}

// maxPrompt bounds, in bytes, the words of a question: they are stored and sent twice.
const maxPrompt = 64 << 10

// questionNote is the metadata of a message that asks.
type questionNote struct {
	RequestID string         `json:"nexus.hitl.requestId"`
	Mode      string         `json:"nexus.hitl.mode,omitzero"`
	Choices   []event.Choice `json:"nexus.hitl.choices,omitzero"`
	Default   string         `json:"nexus.hitl.defaultChoiceId,omitzero"`
}

// park opens a question. Its words go into the status and into the history, once each;
// they are no artifact, since a question is not output (A2A §3.7).
func (b *batch) park(q question, text string, note questionNote) {
	if q.id == "" {
		b.invalid("a question without an id", nil)
		return
	}
	if i, _ := b.r.findQuestion(q.id); i >= 0 {
		b.invalid("a question whose id is already in use", fmt.Errorf("requestId %q", q.id))
		return
	}
	b.publishHeld()
	if text != "" { // an agent may also just wait, without words
		q.message = b.r.say(text)
		meta, err := json.Marshal(&note)
		if err != nil {
			b.invalid("a question that cannot be encoded", err)
			return
		}
		q.message.Metadata = meta
		doc, err := json.Marshal(q.message)
		if err != nil {
			b.invalid("a question that cannot be encoded", err)
			return
		}
		b.addHistory(doc)
	}
	if t := b.r.e.InputTimeout; t > 0 {
		q.deadline = time.Now().Add(t)
	}
	b.r.questions = append(b.r.questions, q)
	b.status(q.state(), q.message)
}

// findQuestion returns an open question and its place, or -1.
func (r *Run) findQuestion(id string) (int, *question) {
	for i := range r.questions {
		if r.questions[i].id == id {
			return i, &r.questions[i]
		}
	}
	return -1, nil
}

// close takes a question away. The task works again, or goes on waiting for the newest
// of the others.
func (b *batch) close(i int) {
	// A copy: the list is ranged over by whoever calls this.
	rest := make([]question, 0, len(b.r.questions))
	rest = append(append(rest, b.r.questions[:i]...), b.r.questions[i+1:]...)
	b.r.questions = rest
	b.r.heard = time.Now() // waiting for a person was not silence
	if n := len(rest); n > 0 {
		b.status(rest[n-1].state(), rest[n-1].message)
		return
	}
	b.status(a2a.TaskStateWorking, nil)
}

// authorised closes the questions for an authorisation: the agent goes on.
func (b *batch) authorised() {
	for i := len(b.r.questions) - 1; i >= 0; i-- {
		if b.r.questions[i].auth {
			b.close(i)
		}
	}
}

// hitlResponded: the question was answered elsewhere, at the agent.
func (b *batch) hitlResponded(e event.HITLResponded) { b.closeByID(e.RequestID) }

// hitlCancelled: the agent takes its question back.
func (b *batch) hitlCancelled(e event.HITLCancel) { b.closeByID(e.RequestID) }

// closeByID closes a question if it is open. The echo of an answer that we gave finds it
// closed already.
func (b *batch) closeByID(id string) {
	if i, _ := b.r.findQuestion(id); i >= 0 {
		b.close(i)
	}
}

// answer gives a message to the question that it answers: the one it names, the one
// that has it as a choice, or the newest.
func (b *batch) answer(a answerAsk) {
	r := b.r
	if len(r.questions) == 0 {
		a.reply <- reply{err: refusal("TASK_NOT_AWAITING_INPUT", "The task is not waiting for a message")}
		return
	}
	text := messageText(a.msg)
	i, choice, err := r.match(a.msg, text)
	if err != nil {
		a.reply <- reply{err: err}
		return
	}
	doc, err := json.Marshal(&a.msg)
	if err != nil {
		a.reply <- reply{err: a2a.InternalError.Errorf("The message could not be stored").Because(err)}
		return
	}
	if len(a.modes) > 0 {
		r.modes = a.modes
	}
	told := event.HITLResponded{RequestID: r.questions[i].id, TurnID: r.mapping.turnID, ChoiceID: choice, Parts: a.msg.Parts}
	if choice == "" {
		told.FreeText = text
	}
	b.addHistory(doc)
	b.answered = append(b.answered, a.ctx)
	b.close(i)
	b.tell(told)
	// The task as it stands now, whatever else this batch may do to it: who reads on from
	// here must not find what the record holds already.
	_, at := r.log.snapshot()
	answered := reply{rec: b.rec, from: at + b.ahead + len(b.frames)}
	b.replies = append(b.replies, func(err error) {
		answered.err = err
		a.reply <- answered
	})
}

// match finds the question that a message answers, and the choice that it makes. An
// answer to a question that is answered already must not become one to another.
func (r *Run) match(msg a2a.Message, text string) (at int, choice string, err error) {
	var note questionNote
	if msg.Metadata != nil && json.Unmarshal(msg.Metadata, &note) != nil {
		note.RequestID = ""
	}
	at, _ = r.findQuestion(note.RequestID)
	named := at >= 0
	if note.RequestID != "" && !named {
		return 0, "", refusal("TASK_NOT_AWAITING_INPUT", "The task is not waiting for an answer to this question")
	}
	for i := len(r.questions) - 1; i >= 0; i-- {
		if named && i != at {
			continue
		}
		if id, ok := r.questions[i].choice(text); ok {
			return i, id, nil
		}
	}
	if !named { // the newest that takes free text, or else the newest
		at = len(r.questions) - 1
		for i := at; i >= 0; i-- {
			if !r.questions[i].strict {
				at = i
				break
			}
		}
	}
	if q := r.questions[at]; q.strict {
		ids := make([]string, len(q.choices))
		for i, c := range q.choices {
			ids[i] = c.ID
		}
		e := a2a.InvalidParamsError.Errorf("The question takes one of its choices: %s", strings.Join(ids, ", "))
		e.Violations = []a2a.Violation{{Field: "message.parts", Description: "must be one of: " + strings.Join(ids, ", ")}}
		return 0, "", e
	}
	return at, "", nil
}

// choice finds the option that a text names, by its id or else by its label, without case
// and surrounding space. Of ids that differ in case only, the one as written counts.
func (q *question) choice(text string) (id string, ok bool) {
	said := strings.TrimSpace(text)
	if said == "" {
		return "", false
	}
	for _, same := range []func(event.Choice) bool{
		func(c event.Choice) bool { return strings.TrimSpace(c.ID) == said },
		func(c event.Choice) bool { return strings.EqualFold(strings.TrimSpace(c.ID), said) },
		func(c event.Choice) bool { return strings.EqualFold(strings.TrimSpace(c.Label), said) },
	} {
		if i := slices.IndexFunc(q.choices, same); i >= 0 {
			return q.choices[i].ID, true
		}
	}
	return "", false
}

// messageText joins the text parts of a message.
func messageText(m a2a.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if p.Text != nil {
			texts = append(texts, *p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// deadline is when the owner has to look again although nothing has come.
func (r *Run) deadline() (time.Time, bool) {
	var d time.Time
	for _, q := range r.questions {
		if !q.deadline.IsZero() && (d.IsZero() || q.deadline.Before(d)) {
			d = q.deadline
		}
	}
	if len(r.questions) == 0 && r.e.SilenceTimeout > 0 && !r.heard.IsZero() {
		d = r.heard.Add(r.e.SilenceTimeout)
	}
	return d, !d.IsZero()
}

// expire fails a task whose question nobody answered, or whose agent fell silent.
func (b *batch) expire(now time.Time) {
	d, ok := b.r.deadline()
	switch {
	case b.end || !ok || now.Before(d):
	case len(b.r.questions) > 0:
		b.fail("No answer came within %s", b.r.e.InputTimeout)
	default:
		b.fail("The agent was silent for %s", b.r.e.SilenceTimeout)
	}
}
