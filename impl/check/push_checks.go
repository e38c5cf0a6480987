package check

import (
	"a2aserve/gen/a2a"
)

// No webhook is ever called: the address is one that cannot exist, and the task has ended.
var pushChecks = []*Check{
	{ID: "push.not-offered", Level: Must, Section: "3.3.4", Title: "Push notifications that are not declared are PushNotificationNotSupportedError", Each: true, run: pushNotOffered},
	{ID: "push.life", Level: Must, Section: "3.1.7", Title: "A push configuration can be made, read, listed and deleted, more than once", Each: true, Needs: []Need{Write, Need(Complete)}, run: pushLife},
	{ID: "push.private-address", Level: Should, Section: "13.2", Title: "A webhook at an address of the server's own network is refused", Each: true, Needs: []Need{Write, Need(Complete)}, run: pushPrivate},
}

const webhook = "https://webhook.invalid/a2a-check"

// The task does not exist either: the capability is judged first, as it is about the agent.
func pushNotOffered(t *trial) {
	if t.card.Push {
		t.na("the card declares them")
	}
	id := newID()
	for _, c := range []struct {
		name   string
		params obj
	}{
		{"CreateTaskPushNotificationConfig", obj{"taskId": id, "url": webhook}},
		{"GetTaskPushNotificationConfig", obj{"taskId": id, "id": newID()}},
		{"ListTaskPushNotificationConfigs", obj{"taskId": id}},
		{"DeleteTaskPushNotificationConfig", obj{"taskId": id, "id": newID()}},
	} {
		if bad := t.on.call(c.name, c.params).is(a2a.PushNotificationNotSupportedError); bad != "" {
			t.mistake("%s: %s", c.name, bad)
		}
	}
}

// A second deletion has to succeed (A2A §3.1.10).
func pushLife(t *trial) {
	if !t.card.Push {
		t.na("the card does not declare push notifications")
	}
	id := t.completed().task.ID
	made := t.on.call("CreateTaskPushNotificationConfig", obj{"taskId": id, "url": webhook})
	if made.err != nil {
		t.skip("none can be made for a finished task: %s", made.err)
	}
	config := text(object(made.result)["id"])
	if config == "" {
		t.fail("it got no id")
	}
	one := obj{"taskId": id, "id": config}
	if r := t.on.call("GetTaskPushNotificationConfig", one); r.err != nil || text(object(r.result)["url"]) != webhook {
		t.mistake("reading it: %s", r.err)
	}
	found := false
	r := t.on.call("ListTaskPushNotificationConfigs", obj{"taskId": id})
	for _, c := range list(object(r.result)["configs"]) {
		found = found || text(object(c)["id"]) == config
	}
	if !found {
		t.mistake("it is not in the list of the task's: %s", r.err)
	}
	for n := range 2 {
		if r := t.on.call("DeleteTaskPushNotificationConfig", one); r.err != nil {
			t.mistake("deleting it, time %d: %s", n+1, r.err)
		}
	}
	if r := t.on.call("GetTaskPushNotificationConfig", one); r.err == nil {
		t.mistake("it can still be read after it was deleted")
	}
}

// The address is that of cloud machines' own metadata, which hands out credentials.
func pushPrivate(t *trial) {
	if !t.card.Push {
		t.na("the card does not declare push notifications")
	}
	id := t.completed().task.ID
	// A finished task has no more updates, so that nothing is delivered there.
	r := t.on.call("CreateTaskPushNotificationConfig", obj{"taskId": id, "url": "http://169.254.169.254/a2a-check"})
	if r.err == nil {
		t.on.call("DeleteTaskPushNotificationConfig", obj{"taskId": id, "id": text(object(r.result)["id"])})
		t.fail("it was accepted")
	}
}
