package check

import (
	"fmt"
	"slices"

	"a2aserve/gen/a2a"
)

// Lists are asked for by contexts of this run only: what else a caller has is nobody's
// business here.
var listChecks = []*Check{
	{ID: "list.served", Level: Must, Section: "7.4", Title: "Whoever may call gets a list", Each: true, run: listServed},
	{ID: "list.empty", Level: Must, Section: "3.1.4", Title: "A list of nothing is an empty list, with all its members", Each: true, run: listEmpty},
	{ID: "list.members", Level: Must, Section: "3.1.4", Title: "A list has tasks, nextPageToken, pageSize and totalSize", Each: true, Needs: []Need{Write, Need(Complete)}, run: listMembers},
	{ID: "list.context", Level: Must, Section: "3.1.4", Title: "A list by context has the tasks of that context and no others", Each: true, Needs: []Need{Write, Need(Complete)}, run: listContext},
	{ID: "list.status", Level: Must, Section: "3.1.4", Title: "A list by status has the tasks in that state", Each: true, Needs: []Need{Write, Need(Complete)}, run: listStatus},
	{ID: "list.after", Level: Must, Section: "3.1.4", Title: "A list by time has the tasks whose status is of that time or later", Each: true, Needs: []Need{Write, Need(Complete)}, run: listAfter},
	{ID: "list.order", Level: Must, Section: "3.1.4", Title: "Tasks are listed by the time of their status, newest first", Each: true, Needs: []Need{Write, Need(Complete)}, run: listOrder},
	{ID: "list.paging", Level: Must, Section: "3.1.4", Title: "Walking the pages meets each task once, and ends with an empty token", Each: true, Needs: []Need{Write, Need(Complete)}, run: listPaging},
	{ID: "list.page-size", Level: Must, Section: "3.1.4", Title: "A pageSize below 1 or above 100 is refused as invalid, or brought within bounds", Each: true, run: listPageSize},
	{ID: "list.page-token", Level: Should, Section: "3.3.2", Title: "A page token that the server never gave is refused as invalid", Each: true, run: listPageToken},
	{ID: "list.no-artifacts", Level: Must, Section: "3.1.4", Title: "Artifacts are left out unless they are asked for", Each: true, Needs: []Need{Write, Need(Complete)}, run: listNoArtifacts},
	{ID: "list.artifacts", Level: Must, Section: "3.1.4", Title: "Artifacts that are asked for are those of the task", Each: true, Needs: []Need{Write, Need(Complete)}, run: listArtifacts},
	{ID: "list.history", Level: Must, Section: "3.2.4", Title: "A list gives no more history than it was asked for", Each: true, Needs: []Need{Write, Need(Complete)}, run: listHistory},
}

func listServed(t *trial) {
	if r := t.on.call("ListTasks", obj{"contextId": newID()}); r.unauthenticated() {
		with := "without credentials, for which the card does not ask"
		if t.options.Token != "" || len(t.card.Requirements) > 0 {
			with = "with the credentials that were given"
		}
		t.fail("%s it is refused: %s", with, r.err)
	}
}

// page lists tasks; the answer must be a list.
func (t *trial) page(params obj) (m obj, tasks []*task) {
	r := t.list(params)
	if r.err != nil {
		t.fail("ListTasks was refused: %s", r.err)
	}
	m = object(r.result)
	for _, v := range list(m["tasks"]) {
		if k := readTask(v); k != nil {
			tasks = append(tasks, k)
		}
	}
	return m, tasks
}

// members holds the members of a list against what they must be.
func (t *trial) members(m obj) {
	v, there := m["tasks"]
	switch v.(type) {
	case []any:
	case nil:
		if there {
			t.mistake("tasks is null; a list is expected, if an empty one")
		} else {
			t.mistake("tasks is missing")
		}
	default:
		t.mistake("tasks is no list")
	}
	if v, there := m["nextPageToken"]; !there {
		t.mistake("nextPageToken is missing")
	} else if _, ok := v.(string); !ok {
		t.mistake("nextPageToken is %s; a string is expected", encode(v))
	}
	for _, name := range []string{"pageSize", "totalSize"} {
		if v, there := m[name]; !there {
			t.mistake("%s is missing", name)
		} else if n, ok := v.(float64); !ok || n < 0 {
			t.mistake("%s is %s", name, encode(v))
		}
	}
}

// Clients loop over tasks without a look, which null does not survive.
func listEmpty(t *trial) {
	m, tasks := t.page(obj{"contextId": newID()})
	t.members(m)
	if len(tasks) > 0 {
		t.mistake("a context that nobody has used has %d tasks", len(tasks))
	}
	if v := m["nextPageToken"]; v != nil && v != "" {
		t.mistake("nextPageToken is %s on the only page", encode(v))
	}
	if n := m["totalSize"]; n != nil && number(n) != 0 {
		t.mistake("totalSize is %v", n)
	}
}

// three makes tasks of one context, the first time it is asked.
func (t *trial) three() (context string, ids []string) {
	if t.on.trio == nil {
		k := t.send(Complete).task
		if k == nil || k.State != a2a.TaskStateCompleted || k.Context == "" {
			t.skip("%q made no completed task with a context", t.scenario.shown(Complete))
		}
		trio := []*task{k}
		for range 2 {
			s := t.send(Complete, obj{"contextId": k.Context})
			if s.task == nil || s.task.Context != k.Context {
				t.skip("no second task could be made in a context: %s", s.described())
			}
			trio = append(trio, s.task)
		}
		t.on.trio = trio
	}
	for _, k := range t.on.trio {
		ids = append(ids, k.ID)
	}
	return t.on.trio[0].Context, ids
}

// A page of 2 of 3 tasks has a token, and a total that is not the page's.
func listMembers(t *trial) {
	context, ids := t.three()
	m, _ := t.page(obj{"contextId": context, "pageSize": 2})
	t.members(m)
	if n := m["totalSize"]; n != nil && number(n) != len(ids) {
		t.mistake("totalSize is %v with %d tasks", n, len(ids))
	}
	if n := m["pageSize"]; n != nil && number(n) != 2 {
		t.mistake("pageSize is %v; 2 was asked for", n)
	}
}

func idsOf(tasks []*task) (out []string) {
	for _, k := range tasks {
		out = append(out, k.ID)
	}
	return out
}

// sameSet says how two lists of ids differ, whatever their order.
func sameSet(got, want []string) string {
	a, b := slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if slices.Equal(a, b) {
		return ""
	}
	return fmt.Sprintf("%d tasks are listed, %d expected: got %v, want %v", len(a), len(b), a, b)
}

// Both directions matter: what is missing, and what is not of the context.
func listContext(t *trial) {
	context, ids := t.three()
	_, tasks := t.page(obj{"contextId": context})
	if bad := sameSet(idsOf(tasks), ids); bad != "" {
		t.fail("%s", bad)
	}
}

// All three tasks are completed, so that the other filter must find none.
func listStatus(t *trial) {
	context, ids := t.three()
	_, tasks := t.page(obj{"contextId": context, "status": "TASK_STATE_COMPLETED"})
	if bad := sameSet(idsOf(tasks), ids); bad != "" {
		t.fail("TASK_STATE_COMPLETED: %s", bad)
	}
	if _, tasks = t.page(obj{"contextId": context, "status": "TASK_STATE_FAILED"}); len(tasks) > 0 {
		t.fail("TASK_STATE_FAILED: %d tasks that have not failed", len(tasks))
	}
}

// Both ends: nothing is of the far future, and the time itself is included.
func listAfter(t *trial) {
	context, ids := t.three()
	_, tasks := t.page(obj{"contextId": context})
	if len(tasks) == 0 || when(tasks[0].Time).IsZero() {
		t.skip("the listed tasks have no time")
	}
	if _, later := t.page(obj{"contextId": context, "statusTimestampAfter": "2999-01-01T00:00:00Z"}); len(later) > 0 {
		t.mistake("statusTimestampAfter in the year 2999: %d tasks", len(later))
	}
	// The time itself counts (the proto says: or equal).
	oldest := tasks[0].Time
	for _, k := range tasks {
		if when(k.Time).Before(when(oldest)) {
			oldest = k.Time
		}
	}
	_, all := t.page(obj{"contextId": context, "statusTimestampAfter": when(oldest).UTC().Format("2006-01-02T15:04:05.999999999Z")})
	if bad := sameSet(idsOf(all), ids); bad != "" {
		t.mistake("statusTimestampAfter of the oldest status, %s: %s", oldest, bad)
	}
}

// Equal times may stand in any order.
func listOrder(t *trial) {
	context, _ := t.three()
	_, tasks := t.page(obj{"contextId": context})
	for i := 1; i < len(tasks); i++ {
		a, b := when(tasks[i-1].Time), when(tasks[i].Time)
		switch {
		case a.IsZero() || b.IsZero():
			t.skip("the listed tasks have no time")
		case a.Before(b):
			t.fail("the task of %s stands before that of %s", tasks[i-1].Time, tasks[i].Time)
		}
	}
	if len(tasks) < 2 {
		t.skip("only %d tasks are listed", len(tasks))
	}
}

// Pages of 2 for 3 tasks: the end is within a page, where tokens go wrong.
func listPaging(t *trial) {
	context, ids := t.three()
	var got []string
	token := ""
	for page := 1; ; page++ {
		params := obj{"contextId": context, "pageSize": 2}
		if token != "" {
			params["pageToken"] = token
		}
		m, tasks := t.page(params)
		if len(tasks) > 2 {
			t.fail("page %d of size 2 has %d tasks", page, len(tasks))
		}
		got = append(got, idsOf(tasks)...)
		if token = text(m["nextPageToken"]); token == "" {
			break
		}
		if page == 6 {
			t.fail("3 tasks by pages of 2 do not end after %d pages", page)
		}
	}
	if bad := sameSet(got, ids); bad != "" {
		t.fail("%s", bad)
	}
}

// The proto gives the bounds. Refusing tells the client; using 100 for 101 is what the
// service may return all the same.
func listPageSize(t *trial) {
	for _, n := range []int{0, -1, 101} {
		r := t.list(obj{"contextId": newID(), "pageSize": n})
		if r.invalid() == "" {
			continue
		}
		if r.err != nil {
			t.mistake("pageSize %d: %s", n, r.err)
			continue
		}
		used := number(object(r.result)["pageSize"])
		if used < 1 || used > 100 {
			t.mistake("pageSize %d is accepted, and %d is used", n, used)
			continue
		}
		t.note("pageSize %d is read as %d", n, used)
	}
}

// A token that is read as none would begin the walk again, for ever.
func listPageToken(t *trial) {
	r := t.list(obj{"contextId": newID(), "pageToken": "a2a-check-no-such-token"})
	t.must(r.invalid(), "pageToken is made up")
}

// An empty list in its place is named as wrong by the section.
func listNoArtifacts(t *trial) {
	context, _ := t.three()
	for _, params := range []obj{{"contextId": context}, {"contextId": context, "includeArtifacts": false}} {
		_, tasks := t.page(params)
		for _, k := range tasks {
			if v, there := k.Members["artifacts"]; there {
				t.mistake("task %s has artifacts: %.80s", k.ID, encode(v))
			}
		}
	}
}

// GetTask is the measure.
func listArtifacts(t *trial) {
	context, _ := t.three()
	_, tasks := t.page(obj{"contextId": context, "includeArtifacts": true})
	if len(tasks) == 0 {
		t.fail("no tasks are listed")
	}
	for _, k := range tasks {
		if stored := t.get(k.ID); !same(stored.Members["artifacts"], k.Members["artifacts"]) {
			t.mistake("the artifacts of task %s are others than GetTask gives", k.ID)
		}
	}
}

// The proto's bound is the same as for GetTask.
func listHistory(t *trial) {
	context, _ := t.three()
	for n := range 2 {
		_, tasks := t.page(obj{"contextId": context, "historyLength": n})
		for _, k := range tasks {
			if len(k.History) > n {
				t.mistake("historyLength %d: task %s has %d messages", n, k.ID, len(k.History))
			}
		}
	}
}
