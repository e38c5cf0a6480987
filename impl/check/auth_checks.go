package check

import (
	"net/http"

	"a2aserve/gen/a2a"
)

var authChecks = []*Check{
	{ID: "auth.absent", Level: Must, Section: "7.4", Title: "A request without credentials is refused where the card asks for them", Each: true, run: authAbsent},
	{ID: "auth.wrong", Level: Must, Section: "7.4", Title: "A request with credentials that are not valid is refused", Each: true, run: authWrong},
	{ID: "auth.stream", Level: Must, Section: "7.4", Title: "A stream without credentials is refused", Each: true, Needs: []Need{Streams}, run: authStream},
	{ID: "auth.status", Level: Should, Section: "7.4", Title: "The refusal is HTTP status 401", Each: true, run: authStatus},
	{ID: "auth.challenge", Level: Should, Section: "7.4", Title: "The refusal says how to authenticate", Each: true, run: authChallenge},
	{ID: "auth.own-code", Level: Should, Section: "7.4", Title: "The refusal is none of the errors that A2A has for other things", Each: true, run: authCode},
	{ID: "auth.first", Level: Should, Section: "13.1", Title: "Credentials are judged before anything else", Each: true, run: authFirst},
}

// locked skips where everybody may call.
func (t *trial) locked() {
	if len(t.card.Requirements) == 0 {
		t.na("the card asks for no credentials")
	}
	for _, r := range t.card.Requirements {
		if len(r) == 0 {
			t.na("the card allows requests without credentials")
		}
	}
}

func (t *trial) unknown(hows ...how) *reply {
	return t.on.call("GetTask", obj{"id": newID()}, hows...)
}

// turnedAway says in what way an answer is not about credentials.
func turnedAway(r *reply) string {
	switch {
	case r.err == nil:
		return "it was accepted"
	case r.is(a2a.TaskNotFoundError) == "":
		return "it was served: " + r.err.String()
	case r.Status == 0:
		return r.Error
	}
	return ""
}

// Any error will do, but not the one that says that the task does not exist.
func authAbsent(t *trial) {
	t.locked()
	t.must(turnedAway(t.unknown(as(anonymous))), "without credentials")
}

// A server that only looks whether there is a token lets everybody in.
func authWrong(t *trial) {
	t.locked()
	t.must(turnedAway(t.unknown(as(impostor))), "with a token that nobody gave")
}

// Streams are often served by other code than the rest.
func authStream(t *trial) {
	t.locked()
	st := t.on.open("SubscribeToTask", obj{"id": newID()}, as(anonymous))
	defer st.close()
	t.must(turnedAway(st.reply), "without credentials")
}

// refusalOfStranger is the answer to a request without credentials.
func (t *trial) refusalOfStranger() *reply {
	t.locked()
	r := t.unknown(as(anonymous))
	if turnedAway(r) != "" {
		t.na("it is not refused: see auth.absent")
	}
	return r
}

// §7.4 leaves the form to the binding; on HTTP it is this one.
func authStatus(t *trial) {
	if r := t.refusalOfStranger(); r.Status != http.StatusUnauthorized {
		t.fail("it is status %d", r.Status)
	}
}

// RFC 9110 §11.6.1 asks for it with every 401.
func authChallenge(t *trial) {
	r := t.refusalOfStranger()
	if r.Status == http.StatusUnauthorized && r.header.Get("WWW-Authenticate") == "" {
		t.fail("401 without WWW-Authenticate")
	}
}

// A client that takes it for one of those does the wrong thing about it.
func authCode(t *trial) {
	r := t.refusalOfStranger()
	if r.err.raw == nil {
		t.fail("the body has not the shape of an error of %s", t.on.binding)
	}
	for _, e := range a2a.ErrorTypes {
		if e.Domain == a2a.TaskNotFoundError.Domain && (r.err.reason == e.Reason || t.on.binding == JSONRPC && r.err.code == e.Code) {
			t.fail("it is %s", r.err)
		}
	}
}

// An answer that differs tells a stranger about the server, and that its input was read.
func authFirst(t *trial) {
	plain := t.refusalOfStranger()
	odd := map[string]*reply{"a version that is not supported": t.unknown(as(anonymous), version("99.0"))}
	if t.on.binding == JSONRPC {
		odd["an unknown method"] = t.on.raw(http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"NoSuchMethod"}`, as(anonymous))
		odd["a body that is no JSON"] = t.on.raw(http.MethodPost, "", `tasks please`, as(anonymous))
	} else {
		odd["a body that is no JSON"] = t.on.raw(http.MethodPost, "/message:send", `tasks please`, as(anonymous))
	}
	for what, r := range ordered(odd) {
		if r.Status != plain.Status || r.err == nil || r.err.code != plain.err.code {
			t.mistake("%s: status %d, %s; else it is %d", what, r.Status, r.err, plain.Status)
		}
	}
}

// Two callers are needed to see whether one can reach what is the other's.
var isolationChecks = []*Check{
	{ID: "isolation.get", Level: Must, Section: "13.1", Title: "GetTask of another caller's task is TaskNotFoundError", Each: true, Needs: []Need{Write, Second, Need(Complete)}, run: isolationOf("GetTask")},
	{ID: "isolation.cancel", Level: Must, Section: "13.1", Title: "CancelTask of another caller's task is TaskNotFoundError, and changes nothing", Each: true, Needs: []Need{Write, Second, Need(LongRunning)}, run: isolationCancel},
	{ID: "isolation.subscribe", Level: Must, Section: "13.1", Title: "SubscribeToTask of another caller's task is TaskNotFoundError", Each: true, Needs: []Need{Write, Second, Streams, Need(LongRunning)}, run: isolationSubscribe},
	{ID: "isolation.message", Level: Must, Section: "13.1", Title: "A message to another caller's task is TaskNotFoundError", Each: true, Needs: []Need{Write, Second, Need(InputRequired)}, run: isolationMessage},
	{ID: "isolation.list", Level: Must, Section: "3.1.4", Title: "A list has no task of another caller", Each: true, Needs: []Need{Write, Second, Need(Complete)}, run: isolationList},
	{ID: "isolation.alike", Level: Should, Section: "3.3.2", Title: "Another caller's task and none at all are answered alike", Each: true, Needs: []Need{Write, Second, Need(Complete)}, run: isolationAlike},
}

func isolationOf(name string) func(*trial) {
	return func(t *trial) {
		t.must(t.on.call(name, obj{"id": t.completed().task.ID}, as(another)).is(a2a.TaskNotFoundError), "as another caller")
	}
}

// The owner's view decides whether it was only the answer that refused.
func isolationCancel(t *trial) {
	k := t.running()
	defer t.finish(k.ID)
	t.must(t.on.call("CancelTask", obj{"id": k.ID}, as(another)).is(a2a.TaskNotFoundError), "as another caller")
	if after := t.get(k.ID); after.State == a2a.TaskStateCanceled {
		t.fail("the refused cancellation canceled the task")
	}
}

func isolationSubscribe(t *trial) {
	k := t.running()
	defer t.finish(k.ID)
	st := t.on.open("SubscribeToTask", obj{"id": k.ID}, as(another))
	defer st.close()
	t.blind(st)
	if st.err != nil && st.Status == 0 {
		t.leaks()
	}
	t.must(st.is(a2a.TaskNotFoundError), "as another caller")
}

// leaks is for a server that neither refuses nor answers: whether it only forgot to say
// so shows once the task has something to tell.
func (t *trial) leaks() {
	r := t.on.call("SendMessage", t.message(Chunks, configured("returnImmediately", true)))
	if k := t.outcome(r).task; k != nil && !k.State.Terminal() {
		st := t.on.open("SubscribeToTask", obj{"id": k.ID}, as(another))
		defer st.close()
		t.blind(st)
	}
}

// blind fails the check if another caller's stream shows anything.
func (t *trial) blind(st *stream) {
	if st.err == nil && len(st.frames) > 0 {
		t.fail("it is not refused, and the other caller sees the task's events, the first of them %s", st.frames[0].named())
	}
}

// A parked task waits for a message: the wrong caller's would be the answer.
func isolationMessage(t *trial) {
	k := t.parked()
	defer t.finish(k.ID)
	r := t.on.call("SendMessage", t.message(Answer, obj{"taskId": k.ID}), as(another))
	t.must(r.is(a2a.TaskNotFoundError), "as another caller")
}

// A refusal is as good as an empty list.
func isolationList(t *trial) {
	k := t.completed().task
	r := t.on.call("ListTasks", obj{"contextId": t.context(k)}, as(another))
	if r.err != nil {
		t.note("the other caller's list was refused: %s", r.err)
		return
	}
	if n := len(list(object(r.result)["tasks"])); n > 0 {
		t.fail("the other caller sees %d tasks of the first one's context", n)
	}
}

// Whatever differs tells that the task exists.
func isolationAlike(t *trial) {
	theirs := t.on.call("GetTask", obj{"id": t.completed().task.ID}, as(another))
	none := t.unknown(as(another))
	if theirs.err == nil {
		t.na("it is not refused: see isolation.get")
	}
	if theirs.Status != none.Status || theirs.err.code != none.err.code || theirs.err.reason != none.err.reason {
		t.fail("another caller's: %s; none: %s", theirs.err, none.err)
	}
	if len(theirs.err.details) != len(none.err.details) {
		t.fail("the details differ in number: %d and %d", len(theirs.err.details), len(none.err.details))
	}
}
