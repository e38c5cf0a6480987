package turn

import (
	"fmt"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/agentevents"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
)

// TelemetryURI names the extension whose payloads travel as metadata of status updates
// (spec/nexus-agent-events.schema.json). They are neither stored nor part of a task, and
// are made only while a reader that activated the extension follows the run.
const TelemetryURI = "https://github.com/frankbardon/nexus/a2a/extensions/agent-events/v1"

// maxTelemetry bounds each text of a payload, in bytes; a lower
// artifacts.max_tool_output_bytes is kept too.
const maxTelemetry = 16 << 10

// watched reports whether anybody would see telemetry.
func (b *batch) watched() bool { return b.r.log.notes.watchers.Load() > 0 }

func (b *batch) telemetryThinking(e event.ThinkingStep) {
	if b.watched() {
		b.note(agentevents.AgentEvent{Kind: "thinking", Source: b.brief(e.Source), Thinking: &agentevents.Thinking{
			Step: e.Step, Content: b.brief(e.Content),
		}})
	}
}

func (b *batch) telemetryToolInvoke(e event.ToolInvoke) {
	b.r.seen.ToolInvoked(e.CallID, e.Name)
	if !b.watched() {
		return
	}
	args := e.Arguments
	switch limit := b.telemetryLimit(); {
	case args == nil:
	case len(args) > limit:
		args = quote(fmt.Sprintf("[left out: arguments of %d bytes]", len(args)))
	case !args.IsValid(): // no reason to fail a task that nobody need watch
		args = quote("[left out: arguments that are not JSON]")
	}
	b.note(agentevents.AgentEvent{Kind: "tool_call", ToolCall: &agentevents.ToolCall{
		CallID: b.brief(e.CallID), Name: b.brief(e.Name), Arguments: args,
	}})
}

func (b *batch) telemetryToolResult(e event.ToolResult) {
	b.r.seen.ToolReturned(e.CallID, e.Error != "")
	if b.watched() {
		b.note(agentevents.AgentEvent{Kind: "tool_result", ToolResult: &agentevents.ToolResult{
			CallID: b.brief(e.CallID), Name: b.brief(e.Name), Output: b.brief(e.Output), Error: b.brief(e.Error),
		}})
	}
}

func (b *batch) telemetrySubagentStarted(e event.SubagentStarted) {
	b.subagent(agentevents.Subagent{SubagentID: e.SubagentID, Phase: "started", Detail: e.Task})
}

func (b *batch) telemetrySubagentIteration(e event.SubagentIteration) {
	b.subagent(agentevents.Subagent{SubagentID: e.SubagentID, Phase: "iteration", Iteration: e.Iteration, Detail: e.Content})
}

func (b *batch) telemetrySubagentComplete(e event.SubagentComplete) {
	phase := "complete"
	if e.Error != "" {
		phase = "failed"
	}
	b.subagent(agentevents.Subagent{SubagentID: e.SubagentID, Phase: phase, Detail: e.Result, Error: e.Error})
}

func (b *batch) subagent(s agentevents.Subagent) {
	if !b.watched() {
		return
	}
	s.SubagentID, s.Detail, s.Error = b.brief(s.SubagentID), b.brief(s.Detail), b.brief(s.Error)
	b.note(agentevents.AgentEvent{Kind: "subagent", Subagent: &s})
}

// telemetryUsage tells what a request to a model cost, where the agent knows.
func (b *batch) telemetryUsage(e event.LLMResponse) {
	if u := e.Usage; u != nil && b.watched() {
		b.note(agentevents.AgentEvent{Kind: "usage", Usage: &agentevents.Usage{
			Model: b.brief(e.Model), InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
			CachedInputTokens: u.CachedInputTokens, ReasoningTokens: u.ReasoningTokens, TotalTokens: u.TotalTokens,
		}})
	}
}

// note adds a payload at this place among the batch's frames. It goes with the status
// as it is: news of a parked task must not read as if it worked again.
func (b *batch) note(p agentevents.AgentEvent) {
	b.r.told++
	p.TaskID, p.ContextID, p.Sequence = b.rec.ID, b.rec.ContextID, b.r.told
	p.Timestamp = a2a.Timestamp{Time: b.r.e.Now().UTC().Truncate(time.Millisecond)}
	doc, err := json.Marshal(&p)
	if err != nil { // everything of the agent's in it has been checked
		b.r.e.Logger.Error("telemetry cannot be encoded", "task", b.rec.ID, "error", err)
		return
	}
	b.notes = append(b.notes, note{at: len(b.frames), json: telemetryFrame(&b.rec, doc)})
}

// telemetryLimit is how many bytes of an agent's text a payload may hold.
func (b *batch) telemetryLimit() int {
	if n := b.r.e.Artifacts.MaxToolOutputBytes; n > 0 {
		return min(n, maxTelemetry)
	}
	return maxTelemetry
}

// brief is an agent's text as far as a payload may hold it.
func (b *batch) brief(s string) string {
	kept, over := cut(s, b.telemetryLimit())
	if over {
		return fmt.Sprintf("%s\n[truncated: %d of %d bytes shown]", clean(kept), len(kept), len(s))
	}
	return clean(s)
}

// telemetryFrame is a TaskStatusUpdateEvent that changes nothing and carries a payload.
func telemetryFrame(r *Record, payload []byte) []byte {
	b := statusFrame(r, r.Status)
	b = append(b[:len(b)-len("}}")], `,"metadata":{"`+TelemetryURI+`":`...)
	return append(append(b, payload...), "}}}"...)
}

// quote encodes a text of our own.
func quote(s string) a2a.Value {
	doc, err := json.Marshal(s)
	if err != nil {
		panic(err) // it is ASCII
	}
	return doc
}
