package plain

import (
	"fmt"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json/jsontext"
)

// slowTool calls a tool that takes its time.
func (t *turn) slowTool(rest string) {
	name, rest := cut(rest)
	t.asked++
	id := fmt.Sprintf("call-%d", t.asked)
	t.emit(event.ToolInvoke{TurnID: t.id, CallID: id, Name: name})
	if output, on := t.pause(rest); on {
		t.emit(event.ToolResult{TurnID: t.id, CallID: id, Name: name, Output: output})
		t.say(name + " said: " + output)
	}
}

// tally says how many messages of this context the agent has heard, this one included.
func (t *turn) tally(string) {
	t.mu.Lock()
	n := t.heard[t.in.ContextID]
	t.mu.Unlock()
	t.say(fmt.Sprint(n))
}

// crash ends the agent at a point of the turn. Where it waits at that point, it does so
// for a moment first, so that the server has noticed.
func (t *turn) crash(where string) {
	switch where {
	case "chunks":
		t.chunks("3 0 .")
	case "tool":
		t.emit(event.ToolInvoke{TurnID: t.id, CallID: "call", Name: "search"})
	case "question":
		t.emit(event.HITLRequested{TurnID: t.id, RequestID: t.request(), Prompt: "still there?"})
		t.pause("30")
	case "auth":
		t.emit(event.AuthRequired{TurnID: t.id, RequestID: t.request(), Prompt: "Please authorise me"})
		t.pause("30")
	case "answered":
		t.emit(event.HITLRequested{TurnID: t.id, RequestID: t.request(), Prompt: "go on?"})
		if _, ok := t.hear(); !ok {
			return
		}
	case "end":
		t.say("the answer")
		t.emit(event.TurnEnd{TurnID: t.id})
	}
	t.Crash()
}

// unheard is an event that no vocabulary has.
type unheard struct{}

func (unheard) EventType() string { return "no.such.event" }
func (unheard) Turn() string      { return "" }

// garbage sends what makes no sense: noise, which the turn survives, or else something
// that leaves it broken.
func (t *turn) garbage(kind string) {
	t.Garbage(kind)
	if kind != "noise" {
		t.emit(event.Artifact{TurnID: t.id, Artifact: a2a.Artifact{Parts: part("an artifact without an id")}})
		return
	}
	for _, e := range []event.Event{
		unheard{},
		event.Output{TurnID: "another", Role: "assistant", Content: "of another turn"},
		event.OutputDelta{Text: "of no turn"},
		event.Artifact{TurnID: "another", Artifact: a2a.Artifact{ArtifactID: "stray", Parts: part("stray")}},
		event.TurnStart{TurnID: "another", TaskID: "no-such-task"},
		event.TurnStart{TurnID: t.id, TaskID: t.in.TaskID}, // again
		event.CancelComplete{TurnID: "another"},
		event.TurnEnd{TurnID: "another"},
		event.TurnRejected{TaskID: "no-such-task", Reason: "stray"},
		event.HITLResponded{RequestID: "never asked", FreeText: "x"},
		event.HITLCancel{RequestID: "never asked"},
		event.CoreError{TurnID: "another", Message: "stray"},
		event.ThinkingStep{TurnID: t.id, Step: -1, Content: "\xff\x00"},
		event.ToolResult{TurnID: t.id, CallID: "\xff", Name: "\xfe", Output: "\xc3\x28"},
		event.ToolInvoke{TurnID: t.id, CallID: "c", Name: "t", Arguments: a2a.Value(jsontext.Value(`7`))},
		event.LLMResponse{TurnID: t.id, Usage: &event.Usage{InputTokens: -1, TotalTokens: -1}},
		event.Output{TurnID: t.id, Role: "system", Content: "no answer"},
		event.SubagentIteration{TurnID: t.id, SubagentID: "never started", Iteration: -7},
	} {
		t.emit(e)
	}
	t.say("sane \xff\xfe")
}
