package check

import (
	"a2aserve/gen/a2a"
)

// What holds of one binding has to hold of the other.
var equalChecks = []*Check{
	{ID: "equal.task", Level: Must, Section: "5.1", Title: "A task reads the same on both bindings, whichever made it", Needs: []Need{Write, Both, Need(Complete)}, run: equalTask},
	{ID: "equal.list", Level: Must, Section: "5.1", Title: "A list reads the same on both bindings", Needs: []Need{Write, Both, Need(Complete)}, run: equalList},
	{ID: "equal.errors", Level: Must, Section: "5.1", Title: "The same mistake is the same error on both bindings", Needs: []Need{Both}, run: equalErrors},
	{ID: "equal.answers", Level: Must, Section: "5.1", Title: "The same message is answered in the same way on both bindings", Needs: []Need{Write, Both, Need(Complete)}, run: equalAnswers},
	{ID: "equal.streams", Level: Must, Section: "5.1", Title: "The same message streams the same events on both bindings", Needs: []Need{Write, Both, Streams, Need(Complete)}, run: equalStreams},
	{ID: "equal.access", Level: Must, Section: "5.1", Title: "Both bindings ask for credentials, or neither", Needs: []Need{Both}, run: equalAccess},
}

// at lets a check that is about both bindings speak to one of them.
func (t *trial) at(f *face) *trial {
	one := *t
	one.on = f
	return &one
}

func (t *trial) pair() (rpc, rest *trial) { return t.at(t.of(JSONRPC)), t.at(t.of(REST)) }

// Made on one and read on the other, both ways: servers with a store each fail here.
func equalTask(t *trial) {
	rpc, rest := t.pair()
	for _, maker := range []*trial{rpc, rest} {
		id := maker.completed().task.ID
		a, b := rpc.get(id), rest.get(id)
		if !same(a.Members, b.Members) {
			t.mistake("a task made over %s differs in %s", maker.on.Name(), difference(a.Members, b.Members))
		}
	}
}

// The same page at the same time, since nothing changes these tasks any more.
func equalList(t *trial) {
	rpc, rest := t.pair()
	params := obj{"contextId": t.context(rpc.completed().task), "includeArtifacts": true}
	a, _ := rpc.page(params)
	b, _ := rest.page(params)
	// A token is the server's own affair; there is none on the only page.
	if !same(a, b) {
		t.fail("they differ in %s", difference(a, b))
	}
}

// kind names the error of an answer, whichever binding it came over.
func (r *reply) kind() string {
	if r.err == nil {
		return "accepted"
	}
	for _, e := range a2a.ErrorTypes {
		if e.Domain == a2a.TaskNotFoundError.Domain && r.is(e) == "" {
			return e.Name
		}
	}
	if r.invalid() == "" {
		return "invalid" // HTTP+JSON has one status for it and JSON-RPC three codes
	}
	if r.err.reason != "" {
		return r.err.reason
	}
	return r.err.String()
}

// None of these makes anything, so that they can be asked of any server.
func equalErrors(t *trial) {
	rpc, rest := t.pair()
	for _, c := range []struct {
		about, name string
		params      obj
		hows        []how
	}{
		{"an unknown task", "GetTask", obj{"id": newID()}, nil},
		{"canceling an unknown task", "CancelTask", obj{"id": newID()}, nil},
		{"a version that is not supported", "GetTask", obj{"id": newID()}, []how{version("99.0")}},
		{"no version", "GetTask", obj{"id": newID()}, []how{version("")}},
		{"a state that does not exist", "ListTasks", obj{"contextId": newID(), "status": "TASK_STATE_RUNNING"}, nil},
		{"a pageSize of 0", "ListTasks", obj{"contextId": newID(), "pageSize": 0}, nil},
		{"a made-up pageToken", "ListTasks", obj{"contextId": newID(), "pageToken": "a2a-check-no-such-token"}, nil},
		{"a push configuration of an unknown task", "GetTaskPushNotificationConfig", obj{"taskId": newID(), "id": newID()}, nil},
		{"the extended card", "GetExtendedAgentCard", nil, nil},
	} {
		x, y := rpc.on.call(c.name, c.params, c.hows...), rest.on.call(c.name, c.params, c.hows...)
		a, b := x.kind(), y.kind()
		if a != b && !(x.unauthenticated() && y.unauthenticated()) {
			t.mistake("%s: %s on JSONRPC, %s on HTTP+JSON", c.about, a, b)
		}
	}
}

// equalAnswers compares what an agent that says something else each time has in common
// with itself: whether there is a task, and in which state.
func equalAnswers(t *trial) {
	rpc, rest := t.pair()
	for _, b := range []Behaviour{Complete, Direct, Failing, Rejecting} {
		if t.scenario.Messages[b] == nil {
			continue
		}
		x, y := rpc.send(b), rest.send(b)
		if (x.err == nil) != (y.err == nil) || x.err == nil && x.described() != y.described() {
			t.mistake("%q: %s on JSONRPC, %s on HTTP+JSON", t.scenario.shown(b), x.described(), y.described())
		}
	}
}

// The pieces in between are the agent's choice; how it begins and ends is not.
func equalStreams(t *trial) {
	rpc, rest := t.pair()
	a, b := rpc.stream(Complete, nil), rest.stream(Complete, nil)
	if len(a.frames) == 0 || len(b.frames) == 0 {
		t.fail("%d events on JSONRPC, %d on HTTP+JSON", len(a.frames), len(b.frames))
	}
	if x, y := a.frames[0].arm, b.frames[0].arm; x != y {
		t.mistake("the first event is %q on JSONRPC, %q on HTTP+JSON", x, y)
	}
	if x, y := a.lastState(), b.lastState(); x != y {
		t.mistake("the last state is %q on JSONRPC, %q on HTTP+JSON", x, y)
	}
}

// A binding that was forgotten is an open door.
func equalAccess(t *trial) {
	rpc, rest := t.pair()
	a, b := turnedAway(rpc.unknown(as(anonymous))), turnedAway(rest.unknown(as(anonymous)))
	if (a == "") != (b == "") {
		said := map[bool]string{true: "refused", false: "served"}
		t.fail("a request without credentials is %s on JSONRPC and %s on HTTP+JSON", said[a == ""], said[b == ""])
	}
}
