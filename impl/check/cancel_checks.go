package check

import (
	"fmt"

	"a2aserve/gen/a2a"
)

var cancelChecks = []*Check{
	{ID: "cancel.running", Level: Must, Section: "3.1.5", Title: "Canceling a running task gives the task as it then is", Each: true, Needs: []Need{Write, Need(LongRunning)}, run: cancelRunning},
	{ID: "cancel.parked", Level: Must, Section: "3.1.5", Title: "A task that waits for input can be canceled", Each: true, Needs: []Need{Write, Need(InputRequired)}, run: cancelParked},
	{ID: "cancel.finished", Level: Must, Section: "3.1.5", Title: "Canceling a task that has ended is TaskNotCancelableError, and changes nothing", Each: true, Needs: []Need{Write, Need(Complete)}, run: cancelFinished},
	{ID: "cancel.rejected", Level: Must, Section: "3.1.5", Title: "Canceling a failed or rejected task is TaskNotCancelableError", Each: true, Needs: []Need{Write, Need(Failing), Need(Rejecting)}, run: cancelRejected},
	{ID: "cancel.twice", Level: Must, Section: "3.3.1", Title: "Canceling twice has the effect of canceling once", Each: true, Needs: []Need{Write, Need(LongRunning)}, run: cancelTwice},
}

// The subscriber's side of it is in subscribe.end.
func cancelRunning(t *trial) { t.canceled(t.running()) }

// canceled cancels a task and holds the answer against what is stored then. Success is
// not promised (A2A §3.1.5), so a task that goes on is no mistake.
func (t *trial) canceled(k *task) {
	r := t.finish(k.ID)
	if r.err != nil {
		if r.is(a2a.TaskNotCancelableError) == "" || r.is(a2a.UnsupportedOperationError) == "" {
			t.skip("the agent does not let it be canceled: %s", r.err)
		}
		t.fail("got %s", r.err)
	}
	got := readTask(r.result)
	if got == nil || got.ID != k.ID {
		t.fail("the answer is not the task")
	}
	stored := t.get(k.ID)
	if got.State != stored.State && got.State.Terminal() {
		t.fail("the answer says %s, GetTask says %s", got.State, stored.State)
	}
	if got.State != a2a.TaskStateCanceled {
		t.note("the task is in %s", got.State)
	}
	if k.State.Interrupted() && stored.State == k.State {
		t.fail("it was accepted, and the task is still in %s", stored.State)
	}
}

// Servers that only stop what runs forget those that wait.
func cancelParked(t *trial) { t.canceled(t.parked()) }

// The task is compared, since a late CANCELED is how it goes wrong.
func cancelFinished(t *trial) {
	before := t.get(t.completed().task.ID)
	t.must(t.finish(before.ID).is(a2a.TaskNotCancelableError), "a completed task")
	if after := t.get(before.ID); !same(before.Members, after.Members) {
		t.fail("the refused cancellation changed the task: %s", difference(before.Members, after.Members))
	}
}

// Servers often know only COMPLETED and CANCELED as the end.
func cancelRejected(t *trial) {
	tried := 0
	for _, b := range []Behaviour{Failing, Rejecting} {
		s := t.send(b)
		if s.task == nil || s.task.State != a2a.TaskStateFailed && s.task.State != a2a.TaskStateRejected {
			continue
		}
		tried++
		if bad := t.finish(s.task.ID).is(a2a.TaskNotCancelableError); bad != "" {
			t.mistake("a task in %s: %s", s.task.State, bad)
		}
	}
	if tried == 0 {
		t.skip("neither %s nor %s was provoked", Failing, Rejecting)
	}
}

func cancelTwice(t *trial) {
	k := t.running()
	first := t.finish(k.ID)
	if got := readTask(first.result); first.err != nil || got == nil || got.State != a2a.TaskStateCanceled {
		t.skip("the task was not canceled: %s", first.err)
	}
	before := t.get(k.ID)
	for n := range 2 {
		r := t.finish(k.ID)
		got := readTask(r.result)
		switch {
		case r.err == nil && got != nil && got.State == a2a.TaskStateCanceled:
		case r.is(a2a.TaskNotCancelableError) == "", r.is(a2a.TaskNotFoundError) == "":
			// §3.3.1 and §3.1.5 differ; each of the answers follows one of them.
		default:
			t.fail("time %d: %s", n+2, r.err)
		}
	}
	if after := t.get(k.ID); !same(before.Members, after.Members) {
		t.fail("the second cancellation changed the task: %s", difference(before.Members, after.Members))
	}
}

var extensionChecks = []*Check{
	{ID: "extension.unknown", Level: Should, Section: "4.6.3", Title: "An extension that the agent does not know is ignored", Each: true, run: extensionUnknown},
	{ID: "extension.required", Level: Must, Section: "3.3.4", Title: "A request without a required extension is ExtensionSupportRequiredError", Each: true, Needs: []Need{Write}, run: extensionRequired},
	{ID: "extension.versions", Level: Should, Section: "4.6.3", Title: "Extensions are identified by a URI", run: extensionURIs},
}

// The header has two, so that it is also about reading a list.
func extensionUnknown(t *trial) {
	all := append(t.card.required(), "https://extensions.invalid/a2a-check/v1")
	value := all[0]
	for _, uri := range all[1:] {
		value += ", " + uri
	}
	t.must(t.on.call("GetTask", obj{"id": newID()}, with("A2A-Extensions", value)).is(a2a.TaskNotFoundError), "GetTask of an unknown task, with an unknown extension")
}

// Nothing else is wrong with the message, so that no other error can come first.
func extensionRequired(t *trial) {
	if len(t.card.required()) == 0 {
		t.na("the card requires no extension")
	}
	without := func(s *shape) { s.header.Del("A2A-Extensions") }
	r := t.on.call("SendMessage", t.message(Complete), without)
	t.outcome(r)
	t.must(r.is(a2a.ExtensionSupportRequiredError), "SendMessage without "+fmt.Sprint(t.card.required()))
}

// A client opts in by the URI and by nothing else.
func extensionURIs(t *trial) {
	t.show(t.cardSeen)
	if len(t.card.Extensions) == 0 {
		t.na("the card declares no extension")
	}
	for i, e := range t.card.Extensions {
		if e.URI == "" {
			t.mistake("capabilities.extensions[%d] has no uri", i)
		}
	}
}

var capabilityChecks = []*Check{
	{ID: "extended-card.not-offered", Level: Must, Section: "3.3.4", Title: "An extended card that is not declared is UnsupportedOperationError", Each: true, run: extendedNotOffered},
	{ID: "extended-card.private", Level: Must, Section: "13.3", Title: "The extended card is for authenticated callers only", Each: true, run: extendedPrivate},
	{ID: "extended-card.card", Level: Must, Section: "3.1.11", Title: "The extended card is an Agent Card, or ExtendedAgentCardNotConfiguredError", Each: true, Needs: []Need{Token}, run: extendedCard},
}

// NOT_CONFIGURED is for agents that declare the card (A2A §3.3.4).
func extendedNotOffered(t *trial) {
	if t.card.Extended {
		t.na("the card declares it")
	}
	t.must(t.on.call("GetExtendedAgentCard", nil).is(a2a.UnsupportedOperationError), "GetExtendedAgentCard")
}

// Who gets it without credentials gets the public card under another name.
func extendedPrivate(t *trial) {
	if !t.card.Extended {
		t.na("the card does not declare an extended card")
	}
	if r := t.on.call("GetExtendedAgentCard", nil, as(anonymous)); r.err == nil {
		t.fail("a caller without credentials gets it")
	}
}

// What is in it is the agent's affair; wire.schema judges its form.
func extendedCard(t *trial) {
	if !t.card.Extended {
		t.na("the card does not declare an extended card")
	}
	r := t.on.call("GetExtendedAgentCard", nil)
	if r.is(a2a.ExtendedAgentCardNotConfiguredError) == "" {
		t.note("none is configured")
		return
	}
	if r.err != nil {
		t.fail("got %s", r.err)
	}
	if text(object(r.result)["name"]) == "" {
		t.fail("the answer is no Agent Card")
	}
}
