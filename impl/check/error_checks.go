package check

import (
	"net/http"
	"strings"

	"a2aserve/gen/a2a"
)

var errorChecks = []*Check{
	{ID: "error.unknown-task", Level: Must, Section: "3.1.3", Title: "GetTask of an unknown task is TaskNotFoundError", Each: true, run: unknownTask("GetTask")},
	{ID: "error.unknown-cancel", Level: Must, Section: "3.1.5", Title: "CancelTask of an unknown task is TaskNotFoundError", Each: true, run: unknownTask("CancelTask")},
	{ID: "error.unknown-subscribe", Level: Must, Section: "3.1.6", Title: "SubscribeToTask of an unknown task is TaskNotFoundError", Each: true, Needs: []Need{Streams}, run: unknownSubscribe},
	{ID: "error.unknown-message", Level: Must, Section: "3.4.2", Title: "A message to an unknown task is TaskNotFoundError, and makes no task", Each: true, Needs: []Need{Write}, run: unknownMessage},
	{ID: "error.types", Level: Must, Section: "3.3.2", Title: "Parameters of the wrong type are refused as invalid", Each: true, run: wrongTypes},
	{ID: "error.enum", Level: Must, Section: "3.3.2", Title: "A state that does not exist is refused as invalid", Each: true, run: wrongEnum},
	{ID: "error.required", Level: Should, Section: "5.7", Title: "Messages without a required member are refused as invalid", Each: true, Needs: []Need{Write}, run: missingMembers},
	{ID: "error.role", Level: Must, Section: "3.3.2", Title: "A role that does not exist is refused as invalid", Each: true, Needs: []Need{Write}, run: wrongRole},
	{ID: "error.fields", Level: Should, Section: "3.3.2", Title: "The refusal of invalid parameters names the field", Each: true, run: namedFields},
	{ID: "error.history-length", Level: Should, Section: "3.3.2", Title: "A negative historyLength is refused as invalid", Each: true, run: negativeHistory},
	{ID: "error.nesting", Level: Should, Section: "13.4", Title: "A document of absurd depth does no harm", Each: true, run: deepDocument},
	{ID: "error.unknown-members", Level: Should, Section: "5.7", Title: "Members that the protocol does not have are ignored", Each: true, run: unknownMembers},
	{ID: "error.nulls", Level: Should, Section: "5.5", Title: "A member that is null is one that is absent", Each: true, run: nullMembers},
}

// Ids are random: nobody has a task of that name.
func unknownTask(name string) func(*trial) {
	return func(t *trial) { t.must(t.on.call(name, obj{"id": newID()}).is(a2a.TaskNotFoundError), name) }
}

// JSON-RPC may carry the error in a stream, as it has its envelope; HTTP+JSON has a status.
func unknownSubscribe(t *trial) {
	st := t.on.open("SubscribeToTask", obj{"id": newID()})
	defer st.close()
	t.must(st.is(a2a.TaskNotFoundError), "SubscribeToTask")
	if st.err.streamed {
		t.note("the error came as the first event of a stream")
	}
}

// Clients do not make ids of tasks; a server that takes one lets them guess others'.
func unknownMessage(t *trial) {
	id := newID()
	s := t.outcome(t.on.call("SendMessage", t.message(Complete, obj{"taskId": id})))
	if s.task != nil && s.task.ID == id {
		t.fail("a task with the id that the client made up was created")
	}
	t.must(s.is(a2a.TaskNotFoundError), "a message to task "+id)
}

// Values that no reader could take for what they should be: "5" for 5 is allowed.
func wrongTypes(t *trial) {
	if t.on.binding == JSONRPC {
		t.check400(t.on.call("GetTask", obj{"id": obj{}}), "id is an object")
	}
	t.check400(t.list(obj{"pageSize": "many", "contextId": newID()}), `pageSize is "many"`)
}

// check400 notes an answer that does not say that the input is invalid.
func (t *trial) check400(r *reply, about string) {
	if bad := r.invalid(); bad != "" {
		t.mistake("%s: %s", about, bad)
	}
}

// A filter that is ignored gives a client other tasks than it asked for.
func wrongEnum(t *trial) {
	t.check400(t.list(obj{"status": "TASK_STATE_RUNNING", "contextId": newID()}), "status is TASK_STATE_RUNNING")
}

// The answers show our own mistake again, so that they are not judged as the server's.
func missingMembers(t *trial) {
	without := func(name string) obj {
		m := t.message(Complete)
		delete(object(m["message"]), name)
		return m
	}
	for _, name := range []string{"messageId", "role", "parts"} {
		t.check400(t.on.call("SendMessage", without(name), unjudged), "no "+name)
	}
	t.check400(t.on.call("SendMessage", t.message(Complete, obj{"parts": []any{}}), unjudged), "parts is empty")
	t.check400(t.on.call("SendMessage", obj{}, unjudged), "no message")
}

// A reader without this role fails on every later list with the message in it.
func wrongRole(t *trial) {
	t.check400(t.on.call("SendMessage", t.message(Complete, obj{"role": "ROLE_ADMIN"}), unjudged), "role is ROLE_ADMIN")
}

// Either place will do for a person; machines need the details.
func namedFields(t *trial) {
	r := t.list(obj{"status": "TASK_STATE_RUNNING", "contextId": newID()})
	if r.invalid() != "" {
		t.na("it is not refused as invalid: see error.enum")
	}
	for _, d := range r.err.details {
		if strings.HasSuffix(text(object(d)["@type"]), "google.rpc.BadRequest") {
			for _, v := range list(object(d)["fieldViolations"]) {
				if text(object(v)["field"]) == "status" {
					return
				}
			}
		}
	}
	if strings.Contains(r.err.message, "status") {
		t.note("the message names it, but there is no google.rpc.BadRequest in the details")
		return
	}
	t.fail("neither the message nor the details name the member status: %s", r.err)
}

// Nothing is promised of the order in which a server finds mistakes.
func negativeHistory(t *trial) {
	r := t.on.call("GetTask", obj{"id": newID(), "historyLength": -1})
	// The task is not there either, and a server may look for it first.
	if r.is(a2a.TaskNotFoundError) == "" {
		if t.options.ReadOnly {
			t.skip("the server looks for the task first, and none may be made")
		}
		r = t.on.call("GetTask", obj{"id": t.completed().task.ID, "historyLength": -1})
	}
	t.check400(r, "historyLength is -1")
}

// It is 10 KB: enough for a parser that recurses without a bound, and too little to load a server.
func deepDocument(t *trial) {
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	params := `{"id":"` + newID() + `","metadata":{"deep":` + deep + `}}`
	var r *reply
	if t.on.binding == JSONRPC {
		r = t.on.raw(http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":`+params+`}`)
	} else {
		r = t.on.raw(http.MethodPost, "/tasks/"+newID()+":cancel", `{"metadata":{"deep":`+deep+`}}`)
	}
	switch {
	case r.Status == 0:
		t.fail("no answer: %s", r.Error)
	case r.Status >= 500 || r.err != nil && r.err.code == a2a.InternalError.Code:
		t.fail("got %s", r.err)
	}
	if again := t.on.call("GetTask", obj{"id": newID()}); again.Status == 0 {
		t.fail("after it there is no answer any more: %s", again.Error)
	}
}

// Reaching the task that does not exist shows that the member was passed over.
func unknownMembers(t *trial) {
	if bad := t.on.call("CancelTask", obj{"id": newID(), "a2aCheckFuture": obj{"a": 1}}).is(a2a.TaskNotFoundError); bad != "" {
		t.mistake("CancelTask with an unknown member: %s", bad)
	}
	if t.on.binding == REST {
		if bad := t.on.call("GetTask", obj{"id": newID()}, query("a2aCheckFuture", "1")).is(a2a.TaskNotFoundError); bad != "" {
			t.mistake("GetTask with an unknown query parameter: %s", bad)
		}
	}
}

// ProtoJSON reads null as absent, and libraries write it.
func nullMembers(t *trial) {
	if bad := t.on.call("CancelTask", obj{"id": newID(), "metadata": nil}).is(a2a.TaskNotFoundError); bad != "" {
		t.mistake("CancelTask with metadata that is null: %s", bad)
	}
}
