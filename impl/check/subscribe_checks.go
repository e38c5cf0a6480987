package check

import (
	"fmt"
	"net/http"

	"a2aserve/gen/a2a"
)

var subscribeChecks = []*Check{
	{ID: "subscribe.first", Level: Must, Section: "3.1.6", Title: "A subscription begins with the task as it stands", Each: true, Needs: []Need{Write, Streams, Need(LongRunning)}, run: subscribeFirst},
	{ID: "subscribe.end", Level: Must, Section: "3.1.6", Title: "A subscription ends when the task does", Each: true, Needs: []Need{Write, Streams, Need(LongRunning)}, run: subscribeEnd},
	{ID: "subscribe.finished", Level: Must, Section: "3.1.6", Title: "A subscription to a task that has ended is UnsupportedOperationError", Each: true, Needs: []Need{Write, Streams, Need(Complete)}, run: subscribeFinished},
	{ID: "subscribe.several", Level: Must, Section: "3.5.2", Title: "Several streams of a task have the same events in the same order", Each: true, Needs: []Need{Write, Streams, Need(Chunks)}, run: subscribeSeveral},
	{ID: "subscribe.left", Level: Must, Section: "3.5.2", Title: "A stream goes on when another of the same task is left", Each: true, Needs: []Need{Write, Streams, Need(Chunks)}, run: subscribeLeft},
	{ID: "subscribe.last-event-id", Level: May, Section: "3.1.6", Title: "A Last-Event-ID that means nothing does no harm", Each: true, Needs: []Need{Write, Streams, Need(LongRunning)}, run: subscribeLastEventID},
}

// Without it, what happened between a GetTask and the subscription would be lost.
func subscribeFirst(t *trial) {
	k := t.running()
	defer t.finish(k.ID)
	st := t.on.open("SubscribeToTask", obj{"id": k.ID})
	defer st.close()
	t.begins(st, k)
}

// begins holds the first event of a subscription against the task.
func (t *trial) begins(st *stream, k *task) {
	switch {
	case st.err != nil:
		t.fail("the subscription was refused: %s", st.err)
	case len(st.frames) == 0:
		t.fail("no event within %s", t.timeout)
	case st.frames[0].arm != "task":
		t.fail("it begins with %s", st.frames[0].named())
	case text(st.frames[0].body["id"]) != k.ID:
		t.fail("it begins with task %q instead of %s", text(st.frames[0].body["id"]), k.ID)
	}
}

// Canceling is the one way to end a task at will.
func subscribeEnd(t *trial) {
	k := t.running()
	st := t.on.open("SubscribeToTask", obj{"id": k.ID})
	defer st.close()
	if st.err != nil {
		t.finish(k.ID)
		t.fail("the subscription was refused: %s", st.err)
	}
	if r := t.finish(k.ID); r.err != nil {
		t.skip("the task could not be canceled, to see the end: %s", r.err)
	}
	st.rest()
	for _, w := range st.lifecycle() {
		t.mistake("%s", w)
	}
}

// An answer that never ends, or an empty one, would leave a client waiting.
func subscribeFinished(t *trial) {
	k := t.completed().task
	st := t.on.open("SubscribeToTask", obj{"id": k.ID})
	defer st.close()
	t.must(st.is(a2a.UnsupportedOperationError), "a completed task")
}

// after are the frames from the first on that both streams may have: the snapshot at the
// beginning stands for different moments.
func (st *stream) tail(n int) []string {
	var out []string
	for _, fr := range st.frames {
		if fr.arm != "task" {
			out = append(out, fr.named()+" "+string(encode(fr.body)))
		}
	}
	return out[max(0, len(out)-n):]
}

// followed starts a task that gives pieces, with another reader beside its own.
func (t *trial) followed() (first, second *stream) {
	first = t.stream(Chunks, func(frame) bool { return true })
	if len(first.frames) == 0 || first.frames[0].arm != "task" || first.frames[0].terminal() {
		first.close()
		t.skip("%s was not provoked: no task to follow", Chunks)
	}
	id := text(first.frames[0].body["id"])
	second = t.on.open("SubscribeToTask", obj{"id": id})
	if second.err != nil {
		first.close()
		if t.get(id).State.Terminal() {
			t.skip("the task had ended before it could be followed by another: it should take a second or so")
		}
		t.fail("the subscription was refused: %s", second.err)
	}
	return first, second
}

// The second reader came later, so only the end of both can be compared.
func subscribeSeveral(t *trial) {
	first, second := t.followed()
	second.rest()
	first.rest()
	if x, y := first.lastState(), second.lastState(); x != y || !x.Terminal() {
		t.fail("one reader was left at %s (%s), the other at %s (%s)", x, first.Ended, y, second.Ended)
	}
	a, b := first.tail(maxFrames), second.tail(maxFrames)
	n := min(len(a), len(b))
	if n == 0 {
		t.skip("there were no events after the second reader came")
	}
	a, b = a[len(a)-n:], b[len(b)-n:]
	for i := range a {
		if a[i] != b[i] {
			t.fail("of the last %d events number %d is %.120s for one and %.120s for the other", n, i+1, a[i], b[i])
		}
	}
}

// The first stream is the one that started the task, which servers like to tie it to.
func subscribeLeft(t *trial) {
	first, second := t.followed()
	first.close()
	second.rest()
	if s := second.lastState(); !s.Terminal() {
		t.fail("the other stream was left at %s (%s)", s, second.Ended)
	}
}

// Browsers send it by themselves on a reconnect.
func subscribeLastEventID(t *trial) {
	k := t.running()
	defer t.finish(k.ID)
	st := t.on.open("SubscribeToTask", obj{"id": k.ID}, with("Last-Event-ID", "999999"))
	defer st.close()
	t.begins(st, k)
}

var getChecks = []*Check{
	{ID: "get.same", Level: Must, Section: "3.1.3", Title: "GetTask gives the task that the send gave", Each: true, Needs: []Need{Write, Need(Complete)}, run: getSame},
	{ID: "get.history", Level: Must, Section: "3.2.4", Title: "GetTask gives no more history than it was asked for", Each: true, Needs: []Need{Write, Need(Complete)}, run: getHistory},
	{ID: "get.no-history", Level: Should, Section: "3.2.4", Title: "With historyLength 0 the member history is left out", Each: true, Needs: []Need{Write, Need(Complete)}, run: getNoHistory},
	{ID: "get.head", Level: May, Section: "RFC 9110 §9.3.2", Title: "HEAD of a task does no harm", Each: true, Needs: []Need{OnlyREST}, run: getHead},
}

// Two reads in a row are compared too: a finished task does not change.
func getSame(t *trial) {
	sent := t.completed().task
	first, second := t.get(sent.ID), t.get(sent.ID)
	if !same(first.Members, second.Members) {
		t.fail("two reads of a completed task differ in %s", difference(first.Members, second.Members))
	}
	switch {
	case first.ID != sent.ID || first.Context != sent.Context:
		t.fail("the ids are %s and %s; the send gave %s and %s", first.ID, first.Context, sent.ID, sent.Context)
	case first.State != sent.State:
		t.fail("its state is %s; the send gave %s", first.State, sent.State)
	case !same(first.Members["artifacts"], sent.Members["artifacts"]):
		t.fail("its artifacts are others than the send gave")
	}
}

// The newest message is the one that is asked for.
func getHistory(t *trial) {
	all := t.get(t.completed().task.ID).History
	if len(all) == 0 {
		t.note("the server keeps no history of this task")
	}
	got := t.historyOf(1)
	if len(got) > 1 {
		t.fail("historyLength 1: %d messages", len(got))
	}
	if len(got) == 1 && len(all) > 0 && !same(got[0], all[len(all)-1]) {
		t.fail("historyLength 1 gives another message than the last")
	}
}

func (t *trial) historyOf(n int) []any {
	r := t.on.call("GetTask", obj{"id": t.completed().task.ID, "historyLength": n})
	if r.err != nil {
		t.fail("historyLength %d: %s", n, r.err)
	}
	return readTask(r.result).History
}

// An empty list says something else than that it was not asked for.
func getNoHistory(t *trial) {
	r := t.on.call("GetTask", obj{"id": t.completed().task.ID, "historyLength": 0})
	if r.err != nil {
		t.fail("historyLength 0: %s", r.err)
	}
	if v, there := object(r.result)["history"]; there {
		t.fail("history is there: %s", fmt.Sprintf("%.80s", encode(v)))
	}
}

// A GET whose body is dropped is right; an error of the server is not.
func getHead(t *trial) {
	if r := t.on.raw(http.MethodHead, "/tasks/"+newID(), "", beyond); r.Status < 400 || r.Status >= 500 {
		t.fail("HEAD of an unknown task: status %d", r.Status)
	}
}
