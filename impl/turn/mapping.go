package turn

import (
	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
)

// mapping is what the owner remembers of a turn between its events.
type mapping struct {
	turnID string
	bound  bool // agent.turn.start has come: turnID is the turn of this task

	response  response
	outputs   bool            // there has been an io.output, of whatever role
	final     string          // the last llm.response without tool calls
	schema    string          // of the last llm.request
	artifacts map[string]bool // ids published; true: its last chunk is out
	toolSeq   int             // numbers tool results without a call id
	repeats   map[string]int  // how often an artifact's id was wanted again
	spent     int             // bytes of artifacts other than the answer
	withheld  int             // artifacts left out for MaxTaskBytes
	errors    int             // that the agent reported and went on after
	cutOff    map[string]bool // ids of artifacts that MaxTaskBytes ended or left out
}

func (m *mapping) init(taskID string) {
	m.response.id = taskID + "-response"
	m.artifacts = map[string]bool{}
	m.repeats = map[string]int{}
	m.cutOff = map[string]bool{}
}

// rule is how one type of event is read.
type rule struct {
	do func(*batch, event.Event)
	// early events count before agent.turn.start, and without a turn id.
	early bool
	// works says that the agent is going on, so that the authorisation it waited for
	// must have been given (A2A §7.6.1).
	works bool
}

// rules is the whole mapping from an agent's events to a task. Types that are not
// listed are logged and change nothing.
var rules map[string]rule

func init() {
	rules = map[string]rule{
		"agent.turn.start":   on((*batch).turnStart, early|works),
		"turn.rejected":      on((*batch).turnRejected, early),
		"io.output":          on((*batch).output, works),
		"io.output.delta":    on((*batch).outputDelta, works),
		"llm.request":        on((*batch).llmRequest, works),
		"llm.response":       on((*batch).llmResponse, works),
		"tool.invoke":        on((*batch).telemetryToolInvoke, works),
		"tool.result":        on((*batch).toolResult, works),
		"artifact":           on((*batch).agentArtifact, works),
		"thinking.step":      on((*batch).telemetryThinking, works),
		"subagent.started":   on((*batch).telemetrySubagentStarted, works),
		"subagent.iteration": on((*batch).telemetrySubagentIteration, works),
		"subagent.complete":  on((*batch).telemetrySubagentComplete, works),
		"hitl.requested":     on((*batch).hitlRequested, 0),
		"auth.required":      on((*batch).authRequired, 0),
		"hitl.responded":     on((*batch).hitlResponded, early),
		"hitl.cancel":        on((*batch).hitlCancelled, early),
		"core.error":         on((*batch).coreError, early|works),
		"cancel.complete":    on((*batch).cancelComplete, early),
		"agent.turn.end":     on((*batch).turnEnd, 0),
	}
}

type trait uint8

const (
	early trait = 1 << iota
	works
)

// on makes a rule of a method. Events may come as values or as pointers.
func on[E event.Event](do func(*batch, E), t trait) rule {
	return rule{
		do: func(b *batch, e event.Event) {
			switch e := e.(type) {
			case E:
				do(b, e)
			default:
				if p, ok := any(e).(*E); ok {
					do(b, *p)
					return
				}
				b.r.e.Logger.Warn("an event is not of the type that it names", "task", b.rec.ID, "type", e.EventType())
			}
		},
		early: t&early != 0,
		works: t&works != 0,
	}
}

// mapEvent reads one event of the agent. Events of another turn change nothing.
func (b *batch) mapEvent(e event.Event) {
	m := &b.r.mapping
	ru, known := rules[e.EventType()]
	switch id := e.Turn(); {
	case !known:
		b.r.e.Logger.Warn("unknown event", "task", b.rec.ID, "type", e.EventType())
		return
	case m.bound && id == m.turnID:
	case ru.early && (id == "" || !m.bound):
	default:
		b.r.e.Logger.Debug("event of another turn", "task", b.rec.ID, "type", e.EventType(), "turn", id)
		return
	}
	if ru.works && m.bound && e.Turn() == m.turnID {
		b.authorised()
	}
	ru.do(b, e)
}

func (b *batch) turnStart(e event.TurnStart) {
	m := &b.r.mapping
	if m.bound || (e.TaskID != "" && e.TaskID != b.rec.ID) {
		return // a further round of this turn, or the start of another's
	}
	m.bound, m.turnID = true, e.TurnID
	b.status(a2a.TaskStateWorking, nil)
}

// turnRejected ends a task whose input the agent declines, a veto included (decision 19).
func (b *batch) turnRejected(e event.TurnRejected) {
	reason, _ := abridged(clean(e.Reason), maxReason)
	if reason == "" {
		reason = "The agent declined the message"
	}
	b.flush()
	b.status(a2a.TaskStateRejected, b.r.say(reason))
	b.stopAgent("rejected")
}

func (b *batch) llmRequest(e event.LLMRequest) { b.r.mapping.schema = e.SchemaName }

func (b *batch) llmResponse(e event.LLMResponse) {
	b.telemetryUsage(e)
	if len(e.ToolCalls) == 0 {
		b.r.mapping.final = e.Content
	}
}

// coreError fails the task when the error ends the turn (decision 20): it is fatal,
// retries are used up, or nobody will retry and it is the turn's own agent that says so.
func (b *batch) coreError(e event.CoreError) {
	m := &b.r.mapping
	own := m.bound && e.TurnID == m.turnID && e.TurnID != ""
	stray := !m.bound && e.TurnID != "" // of a turn before this one
	if !e.Fatal && (stray || !e.RetriesExhausted && (e.Retryable || !own)) {
		text, _ := abridged(e.Message, maxReason)
		switch m.errors++; {
		case m.errors <= maxErrors:
			b.r.e.Logger.Warn("the agent reports an error and goes on", "task", b.rec.ID, "source", e.Source, "message", text)
		case m.errors == maxErrors+1:
			b.r.e.Logger.Warn("the agent reports more errors, which are left out of the log", "task", b.rec.ID)
		}
		return
	}
	text, _ := abridged(clean(e.Message), maxReason)
	if text == "" {
		text = "The agent failed"
	}
	b.fail("%s", text)
}

// maxErrors bounds the errors of a task that are logged though it goes on.
const maxErrors = 100

// maxReason bounds, in bytes, an agent's text that becomes a status message.
const maxReason = 4 << 10

// cancelComplete without our asking: the agent was stopped from elsewhere (decision 21).
// Before this turn has begun, one that names a turn is the late echo of another's end.
func (b *batch) cancelComplete(e event.CancelComplete) {
	if !b.r.mapping.bound && e.TurnID != "" {
		return
	}
	b.flush()
	b.status(a2a.TaskStateCanceled, b.r.say("The turn was cancelled at the agent"))
	b.r.questions = nil
}

// turnEnd completes the task. Without a gated answer the model's last words are the
// answer, unless all that the agent says has to pass gates.
func (b *batch) turnEnd(event.TurnEnd) {
	m := &b.r.mapping
	if !m.outputs && !m.response.begun() && m.final != "" && !b.r.e.agent.Gated {
		b.answerText(m.final)
	}
	b.flush()
	b.r.questions = nil
	b.status(a2a.TaskStateCompleted, nil)
}
