package check

import (
	"slices"
	"strings"
	"time"

	"a2aserve/gen/a2a"
)

var sendChecks = []*Check{
	{ID: "send.answer", Level: Must, Section: "3.1.1", Title: "A message is answered with either a task or a message", Each: true, Needs: []Need{Write}, run: sendAnswer},
	{ID: "send.blocking", Level: Must, Section: "3.2.2", Title: "A blocking send answers once the task has ended or waits for its client", Each: true, Needs: []Need{Write, Need(Delayed)}, run: sendBlocking},
	{ID: "send.immediate", Level: Must, Section: "3.2.2", Title: "returnImmediately answers while the task is still worked on", Each: true, Needs: []Need{Write, Need(LongRunning)}, run: sendImmediate},
	{ID: "send.stored", Level: Must, Section: "3.1.3", Title: "A task that was handed out can be read at once", Each: true, Needs: []Need{Write, Need(LongRunning)}, run: sendStored},
	{ID: "send.artifacts", Level: Must, Section: "3.2.2", Title: "The answer of a blocking send has all artifacts", Each: true, Needs: []Need{Write, Need(Artifacts)}, run: sendArtifacts},
	{ID: "send.ids", Level: Must, Section: "3.4.2", Title: "Each task has an id of its own", Each: true, Needs: []Need{Write}, run: sendIDs},
	{ID: "send.direct", Level: Must, Section: "3.1.1", Title: "A direct message comes from the agent", Each: true, Needs: []Need{Write, Need(Direct)}, run: sendDirect},
	{ID: "send.finished", Level: Must, Section: "3.1.1", Title: "A message to a task that has ended is UnsupportedOperationError, and changes nothing", Each: true, Needs: []Need{Write, Need(Complete)}, run: sendFinished},
	{ID: "send.media-type", Level: Should, Section: "3.1.1", Title: "A part of a media type that the agent does not take is ContentTypeNotSupportedError", Each: true, Needs: []Need{Write}, run: sendMediaType},
	{ID: "send.unknown-members", Level: Should, Section: "5.7", Title: "Unknown members of a message are ignored", Each: true, Needs: []Need{Write, Need(Complete)}, run: sendUnknownMembers},
	{ID: "send.history-length", Level: Must, Section: "3.2.4", Title: "A send gives no more history than it was asked for", Each: true, Needs: []Need{Write, Need(Complete)}, run: sendHistory},
	{ID: "send.failed", Level: May, Section: "4.1.3", Title: "A task that fails is FAILED, and says why", Each: true, Needs: []Need{Write, Need(Failing)}, run: sendFailed},
	{ID: "send.auth-required", Level: Must, Section: "7.6.1", Title: "A task that needs authorisation says so in its status message", Each: true, Needs: []Need{Write, Need(AuthRequired)}, run: sendAuthRequired},
}

// Any agent must take this one, whatever it does with it.
func sendAnswer(t *trial) {
	s := t.send(Complete)
	if s.err != nil {
		t.fail("%q was refused: %s", t.scenario.shown(Complete), s.err)
	}
	m := object(s.result)
	if (m["task"] != nil) == (m["message"] != nil) {
		t.fail("exactly one of task and message is expected; the answer has %s", strings.Join(names(m), ", "))
	}
	if s.task != nil && s.task.ID == "" {
		t.fail("the task has no id")
	}
	if s.task != nil && s.task.Context == "" {
		t.fail("the task has no contextId: one that the agent makes must be in the answer (§3.4.1)")
	}
}

// A task that is still WORKING leaves a client without its answer, and without knowing
// that it has to ask again.
func sendBlocking(t *trial) {
	s := t.send(Delayed)
	if s.task == nil {
		t.skip("%q was answered with %s", t.scenario.shown(Delayed), s.described())
	}
	if !s.task.State.Terminal() && !s.task.State.Interrupted() {
		t.fail("it answered with a task in %s", s.task.State)
	}
}

// The time-out is the measure: a server that waits for the agent does not answer within it.
func sendImmediate(t *trial) {
	started := time.Now()
	s := t.send(LongRunning, configured("returnImmediately", true))
	switch {
	case s.Status == 0:
		t.fail("no answer within %s", t.timeout)
	case s.task == nil:
		t.skip("%s was not provoked: %q was answered with %s", LongRunning, t.scenario.shown(LongRunning), s.described())
	}
	defer t.finish(s.task.ID)
	if s.task.State.Terminal() {
		t.skip("the task had already ended, in %s, after %s", s.task.State, time.Since(started).Round(time.Millisecond))
	}
}

// Between the answer and the store lies the commonest race.
func sendStored(t *trial) {
	k := t.running()
	defer t.finish(k.ID)
	if got := t.get(k.ID); got.ID != k.ID || got.Context != k.Context {
		t.fail("GetTask gives task %s of context %s; the send gave %s of %s", got.ID, got.Context, k.ID, k.Context)
	}
}

// What is stored after the answer was made shows what the answer lacks.
func sendArtifacts(t *trial) {
	s := t.provoke(Artifacts, func(k *task) bool { return k.State == a2a.TaskStateCompleted })
	stored := t.get(s.task.ID)
	if !slices.Equal(s.task.Artifacts, stored.Artifacts) {
		t.fail("the answer has %d artifacts, GetTask has %d, or their content differs", len(s.task.Artifacts), len(stored.Artifacts))
	}
	if len(stored.Artifacts) == 0 {
		t.skip("the task has no artifacts")
	}
	ids := map[string]bool{}
	for _, a := range stored.Artifacts {
		if ids[a.ID] {
			t.fail("two artifacts have the id %q", a.ID)
		}
		ids[a.ID] = true
	}
}

// The same text twice must not be taken for one message.
func sendIDs(t *trial) {
	a, b := t.send(Complete), t.send(Complete)
	if a.task == nil || b.task == nil {
		t.skip("%q was answered with %s", t.scenario.shown(Complete), a.described())
	}
	if a.task.ID == b.task.ID {
		t.fail("two messages made one task, %s", a.task.ID)
	}
}

// The role tells a client whose words it shows.
func sendDirect(t *trial) {
	s := t.send(Direct)
	if s.message == nil {
		t.skip("%s was not provoked: %q was answered with %s", Direct, t.scenario.shown(Direct), s.described())
	}
	if r := text(s.message["role"]); r != "ROLE_AGENT" {
		t.fail("its role is %q", r)
	}
}

// An error that comes after the message was stored would change the task all the same.
func sendFinished(t *trial) {
	k := t.completed().task
	before := t.get(k.ID)
	r := t.on.call("SendMessage", t.message(Complete, obj{"taskId": k.ID, "contextId": k.Context}))
	t.must(r.is(a2a.UnsupportedOperationError), "a message to a completed task")
	if after := t.get(k.ID); !same(before.Members, after.Members) {
		t.fail("the refused message changed the task: %s", difference(before.Members, after.Members))
	}
}

// oddType is a media type that no agent declares.
const oddType = "application/x-a2a-check"

// Wildcards in the card, and those of its skills, are held to be true.
func sendMediaType(t *trial) {
	for _, m := range t.card.InputModes {
		if m == "*/*" || m == "*" || m == "application/*" || m == oddType {
			t.na("the card declares %s", m)
		}
	}
	s := t.outcome(t.on.call("SendMessage", t.message(Complete, obj{"parts": []any{obj{"raw": "AAEC", "mediaType": oddType}}})))
	t.must(s.is(a2a.ContentTypeNotSupportedError), "a part of type "+oddType)
}

// Three places, as readers are often strict in only one of them.
func sendUnknownMembers(t *trial) {
	t.completed() // or there is nothing to compare with
	m := t.message(Complete, obj{"a2aCheckFuture": obj{"a": []any{1}}})
	m["a2aCheckFuture"] = 1
	parts := list(object(m["message"])["parts"])
	for i, p := range parts {
		q := obj{"a2aCheckFuture": true}
		for k, v := range object(p) {
			q[k] = v
		}
		parts[i] = q
	}
	if s := t.outcome(t.on.call("SendMessage", m)); s.err != nil {
		t.fail("a message with them was refused: %s", s.err)
	}
}

// The section says at most so many; that a server keeps none is allowed.
func sendHistory(t *trial) {
	t.completed()
	for n := range 2 {
		s := t.send(Complete, configured("historyLength", n))
		if s.task != nil && len(s.task.History) > n {
			t.mistake("historyLength %d: %d messages", n, len(s.task.History))
		}
	}
}

// No section asks for a reason, but without one nobody knows what to do.
func sendFailed(t *trial) {
	s := t.provoke(Failing, func(k *task) bool { return k.State == a2a.TaskStateFailed })
	if !s.task.HasMessage {
		t.fail("its status has no message")
	}
}

// What is to be authorised may be agreed elsewhere (A2A §7.6.1), which a client cannot see.
func sendAuthRequired(t *trial) {
	s := t.provoke(AuthRequired, func(k *task) bool { return k.State == a2a.TaskStateAuthRequired })
	defer t.finish(s.task.ID)
	if !s.task.HasMessage {
		t.fail("its status has no message")
	}
}

var contextChecks = []*Check{
	{ID: "context.kept", Level: Must, Section: "3.4.1", Title: "A contextId of the client's is kept, or refused, but never replaced", Each: true, Needs: []Need{Write}, run: contextKept},
	{ID: "context.shared", Level: Should, Section: "3.4.3", Title: "A message with the contextId of a task starts another task of the same context", Each: true, Needs: []Need{Write, Need(Complete)}, run: contextShared},
	{ID: "context.mismatch", Level: Must, Section: "3.4.3", Title: "A message whose contextId is not that of its task is refused", Each: true, Needs: []Need{Write, Need(InputRequired)}, run: contextMismatch},
}

// Another context in its place would start a conversation that the client does not know of.
func contextKept(t *trial) {
	mine := "a2a-check-" + newID()
	s := t.send(Complete, obj{"contextId": mine})
	if s.err != nil {
		t.note("it is refused: %s", s.err)
		return
	}
	got := text(s.message["contextId"])
	if s.task != nil {
		got = s.task.Context
	}
	if got != mine && !(s.message != nil && got == "") {
		t.fail("contextId %s became %q", mine, got)
	}
}

// An agent with one task a conversation may refuse it, which the message then says.
func contextShared(t *trial) {
	k := t.completed().task
	s := t.send(Complete, obj{"contextId": t.context(k)})
	switch {
	case s.err != nil:
		t.fail("it was refused: %s", s.err)
	case s.task == nil:
		t.skip("it was answered with %s", s.described())
	case s.task.Context != k.Context:
		t.fail("the task is of context %s, not %s", s.task.Context, k.Context)
	case s.task.ID == k.ID:
		t.fail("no new task was made")
	}
}

// The task is one that waits, so that nothing but the context speaks against the message.
func contextMismatch(t *trial) {
	k := t.parked()
	defer t.finish(k.ID)
	r := t.on.call("SendMessage", t.message(Answer, obj{"taskId": k.ID, "contextId": newID()}))
	t.must(r.refused(), "a message to a task of another context")
	if after := t.get(k.ID); after.State != a2a.TaskStateInputRequired {
		t.fail("the refused message brought the task to %s", after.State)
	}
}

var turnChecks = []*Check{
	{ID: "turn.question", Level: Should, Section: "3.7", Title: "A task that waits for input says in its status message for what", Each: true, Needs: []Need{Write, Need(InputRequired)}, run: turnQuestion},
	{ID: "turn.answer", Level: Must, Section: "3.4.3", Title: "An answer goes on with the same task and context, which are inferred from taskId", Each: true, Needs: []Need{Write, Need(InputRequired), Need(Answer)}, run: turnAnswer},
	{ID: "turn.history", Level: May, Section: "3.7", Title: "The history has the messages of both turns, each once, in order", Each: true, Needs: []Need{Write, Need(InputRequired), Need(Answer)}, run: turnHistory},
}

// Clients show the status message; a question in an artifact is seen too late, or never.
func turnQuestion(t *trial) {
	k := t.parked()
	defer t.finish(k.ID)
	if !k.HasMessage {
		t.fail("its status has no message")
	}
	if r := text(object(object(k.Members["status"])["message"])["role"]); r != "ROLE_AGENT" {
		t.fail("the role of the status message is %q", r)
	}
}

// Only the task is named: the context is the server's to know.
func turnAnswer(t *trial) {
	k := t.parked()
	s := t.send(Answer, obj{"taskId": k.ID})
	switch {
	case s.err != nil:
		t.fail("the answer was refused: %s", s.err)
	case s.task == nil:
		t.skip("it was answered with %s", s.described())
	case s.task.ID != k.ID:
		t.fail("the answer to task %s made task %s", k.ID, s.task.ID)
	case s.task.Context != k.Context:
		t.fail("the task was of context %s and now is of %s", k.Context, s.task.Context)
	}
}

// The agent decides what is kept (A2A §3.7), so this is advice.
func turnHistory(t *trial) {
	k := t.parked()
	m := t.message(Answer, obj{"taskId": k.ID, "contextId": k.Context})
	mine := text(object(m["message"])["messageId"])
	if s := t.outcome(t.on.call("SendMessage", m)); s.err != nil || s.task == nil {
		t.skip("the answer was met with %s", s.described())
	}
	ids, user := map[string]int{}, []string{}
	for _, h := range t.get(k.ID).History {
		id := text(object(h)["messageId"])
		ids[id]++
		if text(object(h)["role"]) == "ROLE_USER" {
			user = append(user, id)
		}
	}
	for id, n := range ordered(ids) {
		if n > 1 {
			t.mistake("message %s is there %d times", id, n)
		}
	}
	if len(user) != 2 || user[1] != mine {
		t.mistake("of the client's 2 messages it has %d, or not in order", len(user))
	}
}
