package check

import (
	"fmt"
	"slices"
	"strings"

	"a2aserve/gen/a2a"
)

var streamChecks = []*Check{
	{ID: "stream.not-offered", Level: Must, Section: "3.3.4", Title: "Streaming that the card does not declare is UnsupportedOperationError", Each: true, run: streamNotOffered},
	{ID: "stream.shape", Level: Must, Section: "3.1.2", Title: "A stream begins with the task, then has updates, and ends with the task", Each: true, Needs: []Need{Write, Streams, Need(Complete)}, run: streamShape},
	{ID: "stream.message", Level: Must, Section: "3.1.2", Title: "A direct message is alone in its stream", Each: true, Needs: []Need{Write, Streams, Need(Direct)}, run: streamMessage},
	{ID: "stream.chunks", Level: Must, Section: "3.5.2", Title: "The pieces of a streamed artifact make up the stored one, in order", Each: true, Needs: []Need{Write, Streams, Need(Chunks)}, run: streamChunks},
	{ID: "stream.paused", Level: Must, Section: "3.1.2", Title: "A stream tells that the task waits for input", Each: true, Needs: []Need{Write, Streams, Need(InputRequired)}, run: streamPaused},
	{ID: "stream.failed", Level: Must, Section: "3.1.2", Title: "The stream of a task that fails ends with it", Each: true, Needs: []Need{Write, Streams, Need(Failing)}, run: streamFailed},
	{ID: "stream.immediate", Level: Must, Section: "3.1.2", Title: "Updates come as they are made, not at the end", Each: true, Needs: []Need{Write, Streams, Need(LongRunning)}, run: streamImmediate},
	{ID: "stream.left", Level: Must, Section: "3.5.2", Title: "A client that leaves its stream does not end the task", Each: true, Needs: []Need{Write, Streams, Need(LongRunning)}, run: streamLeft},
	{ID: "stream.no-cache", Level: May, Section: "RFC 9111 §5.2", Title: "Caches and proxies are told to leave a stream alone", Each: true, Needs: []Need{Write, Streams}, run: streamNoCache},
}

// The answer must be an error; a stream that works is one that no client would try.
func streamNotOffered(t *trial) {
	if t.card.Streaming {
		t.na("the card declares streaming")
	}
	for name, params := range ordered(map[string]obj{"SubscribeToTask": {"id": newID()}, "SendStreamingMessage": nil}) {
		if params == nil {
			if t.options.ReadOnly {
				continue
			}
			params = t.message(Complete)
		}
		st := t.on.open(name, params)
		if bad := st.is(a2a.UnsupportedOperationError); bad != "" {
			t.mistake("%s: %s", name, bad)
		}
		st.close()
	}
}

// stream sends a message and reads what follows, until stop says so or it ends.
func (t *trial) stream(b Behaviour, stop func(frame) bool) *stream {
	st := t.on.open("SendStreamingMessage", t.message(b))
	if st.err != nil {
		t.fail("%q was refused: %s", t.scenario.shown(b), st.err)
	}
	if first := st.frames; len(first) > 0 && stop != nil && stop(first[0]) {
		return st
	}
	if stop == nil {
		st.rest()
	} else {
		st.until(stop)
	}
	return st
}

// lifecycle says what is wrong with the frames of a task's stream that should have ended.
func (st *stream) lifecycle() (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if len(st.frames) == 0 {
		say("it has no events (%s)", st.Ended)
		return wrong
	}
	if st.frames[0].arm != "task" {
		say("it begins with %s instead of task", st.frames[0].named())
	}
	id, context := text(st.frames[0].body["id"]), text(st.frames[0].body["contextId"])
	over := -1
	for i, fr := range st.frames {
		switch {
		case over >= 0 && fr.arm == "task" && i == len(st.frames)-1 && fr.terminal():
			// A last snapshot is allowed (A2A §11.7).
		case over >= 0:
			say("event %d, %s, comes after the terminal one", i+1, fr.named())
		case fr.arm == "":
			say("event %d is %s", i+1, fr.named())
		case fr.arm == "task" && i > 0 && !fr.terminal():
			say("event %d is another task", i+1)
		case fr.arm == "message":
			say("event %d is a message in the stream of a task", i+1)
		case fr.arm != "task" && (text(fr.body["taskId"]) != id || text(fr.body["contextId"]) != context):
			say("event %d, %s, is of task %q and context %q, not of the task's", i+1, fr.named(), text(fr.body["taskId"]), text(fr.body["contextId"]))
		}
		if over < 0 && fr.terminal() {
			over = i
		}
	}
	switch {
	case over < 0:
		say("it ended without a terminal state (%s)", st.Ended)
	case !st.byServer():
		say("it was not closed after the terminal event (%s)", st.Ended)
	}
	return wrong
}

// named says what a frame is.
func (f frame) named() string {
	switch {
	case f.err != nil:
		return "an error: " + f.err.String()
	case f.arm == "":
		return "none of task, message, statusUpdate and artifactUpdate"
	case f.state() != "":
		return f.arm + " " + string(f.state())
	}
	return f.arm
}

// Afterwards the store must agree with what the stream said last.
func streamShape(t *trial) {
	st := t.stream(Complete, nil)
	if len(st.frames) == 1 && st.frames[0].arm == "message" {
		t.skip("it was answered with a direct message: see stream.message")
	}
	for _, w := range st.lifecycle() {
		t.mistake("%s", w)
	}
	if len(st.frames) > 0 && st.frames[0].arm == "task" && st.byServer() {
		k := t.get(text(st.frames[0].body["id"]))
		if last := st.lastState(); last.Terminal() && k.State != last {
			t.mistake("the stream ended with %s, GetTask says %s", last, k.State)
		}
	}
}

// lastState is the last one that the stream told.
func (st *stream) lastState() (s a2a.TaskState) {
	for _, fr := range st.frames {
		if fr.state() != "" {
			s = fr.state()
		}
	}
	return s
}

// Anything after a direct message would belong to a task that does not exist.
func streamMessage(t *trial) {
	st := t.stream(Direct, nil)
	if len(st.frames) == 0 || st.frames[0].arm != "message" {
		t.skip("%s was not provoked: %q was answered with %d events", Direct, t.scenario.shown(Direct), len(st.frames))
	}
	if len(st.frames) != 1 {
		t.fail("%d events follow it, the first of them %s", len(st.frames)-1, st.frames[1].named())
	}
	if !st.byServer() {
		t.fail("the stream was not closed after it (%s)", st.Ended)
	}
}

// assembled are the texts of the artifacts as a reader of the stream puts them together.
func (st *stream) assembled() map[string]string {
	out := map[string]string{}
	for _, fr := range st.frames {
		switch fr.arm {
		case "task":
			for _, a := range readTask(fr.body).Artifacts {
				out[a.ID] = a.Text
			}
		case "artifactUpdate":
			a := object(fr.body["artifact"])
			id := text(a["artifactId"])
			if fr.body["append"] == true {
				out[id] += words(a)
			} else {
				out[id] = words(a)
			}
		}
	}
	return out
}

// A lost, doubled or reordered piece shows in the text, whatever the pieces are.
func streamChunks(t *trial) {
	st := t.stream(Chunks, nil)
	pieces := 0
	for _, fr := range st.frames {
		if fr.arm == "artifactUpdate" {
			pieces++
		}
	}
	if pieces < 2 {
		t.skip("%s was not provoked: %q was answered with %d artifact events", Chunks, t.scenario.shown(Chunks), pieces)
	}
	for _, w := range st.lifecycle() {
		t.mistake("%s", w)
	}
	if st.frames[0].arm != "task" {
		return // there is nothing to compare with
	}
	streamed := st.assembled()
	for _, a := range t.get(text(st.frames[0].body["id"])).Artifacts {
		if streamed[a.ID] != a.Text {
			t.mistake("artifact %s was streamed as %.60q and is stored as %.60q", a.ID, streamed[a.ID], a.Text)
		}
		delete(streamed, a.ID)
	}
	if len(streamed) > 0 {
		t.mistake("artifacts were streamed and are not stored: %s", strings.Join(names(streamed), ", "))
	}
}

// Whether the stream closes then is open: A2A §11.7 says so, §3.1.2 does not.
func streamPaused(t *trial) {
	waits := func(fr frame) bool { return fr.state().Interrupted() || fr.terminal() }
	st := t.stream(InputRequired, waits)
	defer st.close()
	if len(st.frames) == 0 || st.frames[0].arm != "task" {
		t.skip("%s was not provoked: the stream begins with something else than a task", InputRequired)
	}
	id := text(st.frames[0].body["id"])
	if !st.lastState().Interrupted() {
		if k := t.get(id); k.State == a2a.TaskStateInputRequired {
			t.fail("the task is in %s, and the stream did not say so (%s)", k.State, st.Ended)
		}
		t.skip("%s was not provoked: the task came to %s", InputRequired, st.lastState())
	}
	t.finish(id)
}

// Servers that send an error in the place of the state leave the task open.
func streamFailed(t *trial) {
	st := t.stream(Failing, nil)
	if last := st.lastState(); last != a2a.TaskStateFailed {
		t.skip("%s was not provoked: the stream came to %q", Failing, last)
	}
	for _, w := range st.lifecycle() {
		t.mistake("%s", w)
	}
}

// underway streams a task that works on.
func (t *trial) underway() (st *stream, id string) {
	st = t.stream(LongRunning, func(fr frame) bool { return true })
	if len(st.frames) == 0 {
		t.fail("no event within %s: the first is the task, which exists at once", t.timeout)
	}
	first := st.frames[0]
	if first.arm != "task" || first.terminal() {
		st.close()
		t.skip("%s was not provoked: the stream begins with %s", LongRunning, first.named())
	}
	return st, text(first.body["id"])
}

// The agent works for longer than the time-out, so what comes within it was not held back.
func streamImmediate(t *trial) {
	st, id := t.underway()
	defer st.close()
	defer t.finish(id)
	if k := t.get(id); k.State.Terminal() {
		t.skip("the task had already ended, in %s", k.State)
	}
}

// The task belongs to the caller, not to the connection.
func streamLeft(t *trial) {
	st, id := t.underway()
	st.close()
	defer t.finish(id)
	if k := t.get(id); k.State.Terminal() {
		t.fail("the task came to %s when its only reader had left", k.State)
	}
}

// No section says so, but a proxy in between is the rule.
func streamNoCache(t *trial) {
	st := t.stream(Complete, nil)
	if v := st.header.Get("Cache-Control"); !strings.Contains(v, "no-cache") && !strings.Contains(v, "no-store") {
		t.fail("Cache-Control is %q", v)
	}
	if v := st.header.Get("Content-Encoding"); slices.Contains([]string{"gzip", "br", "deflate"}, v) {
		t.fail("the stream is compressed with %s, so that events may wait for the next", v)
	}
}
