package check

import (
	"fmt"
	"slices"
	"strings"

	"a2aserve/gen/a2a"
)

// trial is one check being tried. Its methods end it, as those of testing.T do.
type trial struct {
	*session
	on      *face // nil: the check is about the agent as a whole
	check   *Check
	from    int // exchanges of the session before this trial
	notes   []string
	wrong   []string
	display []*Exchange // of others, that this check is about
}

// verdict ends a trial from within.
type verdict struct {
	Verdict
	reason string
}

func (t *trial) fail(format string, args ...any) { panic(verdict{Fail, fmt.Sprintf(format, args...)}) }
func (t *trial) skip(format string, args ...any) { panic(verdict{Skip, fmt.Sprintf(format, args...)}) }
func (t *trial) na(format string, args ...any) {
	panic(verdict{NotApplicable, fmt.Sprintf(format, args...)})
}

// mistake goes on, since more may be wrong.
func (t *trial) mistake(format string, args ...any) {
	if m := fmt.Sprintf(format, args...); !slices.Contains(t.wrong, m) {
		t.wrong = append(t.wrong, m)
	}
}

// note is said whatever the verdict.
func (t *trial) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// must ends the trial if there is something to complain of.
func (t *trial) must(problem, about string) {
	if problem != "" {
		t.fail("%s: %s", about, problem)
	}
}

// maxListed bounds the mistakes that a reason spells out.
const maxListed = 8

// try runs one check.
func (s *session) try(c *Check, f *face) (r *Result) {
	t := &trial{session: s, on: f, check: c, from: len(s.seen)}
	r = &Result{ID: c.ID, Group: c.Group(), Level: c.Level, Section: c.Section, Title: c.Title}
	if f != nil {
		r.Binding, r.face = f.Name(), f.binding
	}
	defer func() {
		r.Reason = s.redact(r.Reason)
		for _, n := range t.notes {
			r.Notes = append(r.Notes, s.redact(n))
		}
		r.Exchanges = append(t.display, s.seen[t.from:]...)
	}()
	defer func() {
		switch v := recover().(type) {
		case nil:
		case verdict:
			r.Verdict, r.Reason = v.Verdict, v.reason
		default:
			panic(v)
		}
	}()
	t.needs()
	c.run(t)
	r.Verdict = Pass
	if len(t.wrong) > 0 {
		r.Verdict = Fail
		more := ""
		if n := len(t.wrong) - maxListed; n > 0 {
			t.wrong, more = t.wrong[:maxListed], fmt.Sprintf("; and %d more", n)
		}
		r.Reason = strings.Join(t.wrong, "; ") + more
	}
	return r
}

// show adds an exchange of another check to the report of this one.
func (t *trial) show(x *Exchange) {
	if len(t.display) < maxListed && !slices.Contains(t.display, x) {
		t.display = append(t.display, x)
	}
}

// needs skips what cannot be tried here.
func (t *trial) needs() {
	if t.ctx.Err() != nil {
		t.skip("the run was ended before")
	}
	if t.count >= t.maxRequests && !t.check.late {
		t.skip("the bound of %d requests is reached", t.maxRequests)
	}
	for _, f := range t.faces {
		// What is about the agent as a whole needs all interfaces, but for its card.
		concerned := t.on == f || t.on == nil && slices.Contains(t.check.Needs, Both)
		switch {
		case concerned && f.down != "" && t.check.ID != "card.reachable":
			t.skip("%s does not answer: see card.reachable", f.Name())
		case concerned && f.locked && t.check.Group() != "auth" && t.check.ID != "card.reachable":
			t.skip("the agent wants credentials, and none were given")
		}
	}
	for _, n := range t.check.Needs {
		switch n {
		case Write:
			if t.options.ReadOnly {
				t.skip("it sends messages, and the run is read-only")
			}
		case Streams:
			if !t.card.Streaming {
				t.na("the card does not declare streaming")
			}
		case Token:
			if t.options.Token == "" {
				t.skip("no token was given")
			}
		case Second:
			if t.options.Token == "" || t.options.SecondToken == "" {
				t.skip("the tokens of two callers are needed")
			}
		case Both:
			if t.of(JSONRPC) == nil || t.of(REST) == nil {
				t.na("the card names only one of the bindings")
			}
		case Secure:
			if t.base.Scheme != "https" {
				t.na("the address is not an https one")
			}
		}
	}
	if t.on == nil && t.check.Each {
		panic("check: " + t.check.ID + " has no interface")
	}
}

// of finds an interface of a binding.
func (s *session) of(binding string) *face {
	for _, f := range s.faces {
		if f.binding == binding {
			return f
		}
	}
	return nil
}

// message is a SendMessageRequest that provokes a behaviour of the scenario.
func (t *trial) message(b Behaviour, extra ...obj) obj {
	m := t.scenario.message(b)
	if m == nil {
		t.skip("the scenario names no message that provokes %q", b)
	}
	params := obj{"message": m}
	for _, e := range extra {
		for name, v := range e {
			if name == "configuration" {
				params[name] = v
			} else {
				m[name] = v
			}
		}
	}
	return params
}

// configured adds a SendMessageConfiguration to a message.
func configured(name string, v any) obj { return obj{"configuration": obj{name: v}} }

// send provokes a behaviour and reads what became of it.
func (t *trial) send(b Behaviour, extra ...obj) *sent {
	r := t.on.call("SendMessage", t.message(b, extra...))
	return t.outcome(r)
}

func (t *trial) outcome(r *reply) *sent {
	m := object(r.result)
	s := &sent{reply: r, task: readTask(m["task"]), message: object(m["message"])}
	if s.task != nil && !slices.Contains(t.on.contexts, s.task.Context) {
		t.on.contexts = append(t.on.contexts, s.task.Context)
	}
	return s
}

// described says what became of a message, in a few words.
func (s *sent) described() string {
	switch {
	case s.err != nil:
		return s.err.String()
	case s.task != nil:
		return "a task in " + string(s.task.State)
	case s.message != nil:
		return "a direct message"
	}
	return "neither a task nor a message"
}

// provoke sends a message and skips the check unless the task comes to a state.
func (t *trial) provoke(b Behaviour, want func(*task) bool, extra ...obj) *sent {
	s := t.send(b, extra...)
	if s.task == nil || !want(s.task) {
		t.skip("%s was not provoked: %q was answered with %s; a scenario file can name a message that does", b, t.scenario.shown(b), s.described())
	}
	return s
}

// completed is a finished task of this interface, the same one for all checks.
func (t *trial) completed() *sent {
	if t.options.ReadOnly {
		t.skip("it needs a task, and the run is read-only")
	}
	if t.on.done == nil && t.on.doneWhy == "" {
		s := t.send(Complete)
		if s.task != nil && s.task.State == a2a.TaskStateCompleted && s.task.ID != "" {
			t.on.done = s
		} else {
			t.on.doneWhy = fmt.Sprintf("%s was not provoked: %q was answered with %s; a scenario file can name a message that does", Complete, t.scenario.shown(Complete), s.described())
		}
	}
	if t.on.done == nil {
		t.skip("%s", t.on.doneWhy)
	}
	return t.on.done
}

// context is that of a task, by which lists are asked for. Without one a list would show what
// else the caller has.
func (t *trial) context(k *task) string {
	if k.Context == "" {
		t.skip("the task has no contextId to list it by: see send.answer")
	}
	return k.Context
}

// running is a new task that is being worked on.
func (t *trial) running() *task {
	s := t.provoke(LongRunning, func(k *task) bool { return k.ID != "" && !k.State.Terminal() && !k.State.Interrupted() },
		configured("returnImmediately", true))
	return s.task
}

// parked is a new task that waits for an answer.
func (t *trial) parked() *task {
	return t.provoke(InputRequired, func(k *task) bool { return k.ID != "" && k.State == a2a.TaskStateInputRequired }).task
}

// get reads a task, which must be there.
func (t *trial) get(id string, hows ...how) *task {
	r := t.on.call("GetTask", obj{"id": id}, hows...)
	k := readTask(r.result)
	if r.err != nil || k == nil {
		t.fail("GetTask of task %s, which was just handed out: %s", id, r.err)
	}
	return k
}

// list asks for tasks. A server may have reasons of its own to tell nobody of tasks whom
// it does not know; list.served judges that, and the other checks are spared.
func (t *trial) list(params obj, hows ...how) *reply {
	r := t.on.call("ListTasks", params, hows...)
	if r.unauthenticated() {
		t.skip("ListTasks is refused for want of credentials: see list.served")
	}
	return r
}

// finish cancels a task of this check, so that it does not keep the agent busy.
func (t *trial) finish(id string) *reply { return t.on.call("CancelTask", obj{"id": id}) }
