package plain

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json/jsontext"
)

// commands by the first word of the message. What is not listed is echoed.
var commands = map[string]func(t *turn, rest string){
	"echo":          (*turn).echo,
	"json":          (*turn).say,
	"slow":          (*turn).slow,
	"silent":        func(t *turn, _ string) { <-t.stopped },
	"ignore-cancel": (*turn).ignoreCancel,
	"chunks":        (*turn).chunks,
	"flood":         (*turn).flood,
	"artifacts":     (*turn).artifacts,
	"tool":          (*turn).tool,
	"bigtool":       (*turn).bigTool,
	"file":          (*turn).file,
	"think":         (*turn).think,
	"ask":           (*turn).ask,
	"auth":          (*turn).auth,
	"fail":          func(t *turn, rest string) { t.fault("failed "+rest, true) },
	"error-once":    func(t *turn, rest string) { t.fault("a hitch", false); t.echo(rest) },
	"panic-after":   func(t *turn, rest string) { t.pause(rest); panic("as told") },
	"rogue":         (*turn).rogue,

	// The demo agent has none of these.
	"late":      func(t *turn, rest string) { _, after := cut(rest); t.say(after) }, // it has waited before it began
	"slow-tool": (*turn).slowTool,
	"count":     (*turn).tally,
	"crash":     (*turn).crash,
	"garbage":   (*turn).garbage,
}

func (t *turn) fault(message string, fatal bool) {
	t.emit(event.CoreError{TurnID: t.id, Message: message, Fatal: fatal, Retryable: !fatal})
}

func (t *turn) over() bool {
	select {
	case <-t.stopped:
		return true
	default:
		return false
	}
}

// pause waits as many milliseconds as the first word says. It returns the rest, and
// whether the turn goes on.
func (t *turn) pause(rest string) (after string, on bool) {
	word, after := cut(rest)
	select {
	case <-time.After(time.Duration(number(word)) * time.Millisecond):
		return after, true
	case <-t.stopped:
		return after, false
	}
}

// number is 0 for what is none.
func number(word string) int {
	n, _ := strconv.Atoi(word)
	return n
}

// say asks a model that always agrees, and lets its answer through the output gate.
func (t *turn) say(text string) {
	t.emit(event.LLMRequest{TurnID: t.id})
	t.emit(event.LLMResponse{TurnID: t.id, Content: "ungated: " + text, Model: "plain"})
	t.emit(event.Output{TurnID: t.id, Role: "assistant", Content: text})
}

// echo gives the message back, text as text and parts as parts.
func (t *turn) echo(rest string) {
	if len(t.in.Parts) == 1 && t.in.Parts[0].Text != nil {
		t.say(rest)
		return
	}
	parts := append([]a2a.Part(nil), t.in.Parts...)
	for i := range parts {
		if parts[i].Text != nil {
			parts[i].Text = &rest
			break
		}
	}
	t.emit(event.Output{TurnID: t.id, Role: "assistant", Parts: parts})
}

func (t *turn) slow(rest string) {
	if after, on := t.pause(rest); on {
		t.echo(after)
	}
}

func (t *turn) ignoreCancel(rest string) {
	word, after := cut(rest)
	time.Sleep(time.Duration(number(word)) * time.Millisecond)
	t.echo(after)
}

func part(text string) []a2a.Part { return []a2a.Part{{Text: &text}} }

func (t *turn) chunks(rest string) {
	word, rest := cut(rest)
	pause, tail := cut(rest)
	for i, n := 1, number(word); i <= n; i++ {
		if _, on := t.pause(pause); !on {
			return
		}
		t.emit(event.Artifact{
			TurnID: t.id, Append: i > 1, LastChunk: i == n,
			Artifact: a2a.Artifact{ArtifactID: t.in.TaskID + "-response", Parts: part(fmt.Sprint(i, tail))},
		})
	}
}

func (t *turn) flood(rest string) {
	for range number(rest) {
		if t.over() {
			return
		}
		t.emit(event.OutputDelta{TurnID: t.id, Text: strings.Repeat("plain ok", 128)})
	}
}

func (t *turn) artifacts(rest string) {
	for i := range number(rest) {
		id := fmt.Sprintf("artifact-%d", i+1)
		t.emit(event.Artifact{TurnID: t.id, LastChunk: true, Artifact: a2a.Artifact{ArtifactID: id, Parts: part("content")}})
	}
}

// call plays a tool.
func (t *turn) call(r event.ToolResult) {
	t.asked++
	r.TurnID, r.CallID = t.id, fmt.Sprintf("call-%d", t.asked)
	t.emit(event.ToolInvoke{TurnID: t.id, CallID: r.CallID, Name: r.Name})
	t.emit(r)
}

func (t *turn) tool(rest string) {
	name, output := cut(rest)
	t.call(event.ToolResult{Name: name, Output: output})
	t.say(name + " said: " + output)
}

func (t *turn) bigTool(rest string) {
	t.call(event.ToolResult{Name: "bigtool", Output: strings.Repeat("x", number(rest))})
	t.say("the tool gave " + rest + " bytes")
}

// file writes below its folder and reports what it wrote.
func (t *turn) file(rest string) {
	path, content := cut(rest)
	if err := t.write(path, content); err != nil {
		t.call(event.ToolResult{Name: "write_file", Error: err.Error()})
		return
	}
	doc := fmt.Sprintf(`{"path":%q,"bytes_written":%d,"created":true}`, path, len(content))
	t.call(event.ToolResult{Name: "write_file", Output: "written", Structured: jsontext.Value(doc), OutputFile: path})
	t.say("wrote " + path)
}

func (t *turn) write(path, content string) error {
	root, err := os.OpenRoot(t.Files)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return root.WriteFile(path, []byte(content), 0o644)
}

func (t *turn) think(rest string) {
	word, pause := cut(rest)
	n := int64(number(word))
	for i := range n {
		if _, on := t.pause(pause); !on {
			return
		}
		t.emit(event.ThinkingStep{TurnID: t.id, Step: i + 1, Content: fmt.Sprintf("step %d", i+1), Source: "plain"})
	}
	t.emit(event.LLMResponse{TurnID: t.id, Model: "plain", Usage: &event.Usage{
		InputTokens: 1, OutputTokens: 10 * n, ReasoningTokens: 10 * n, TotalTokens: 10*n + 1,
	}})
	t.say("thought " + word + " times")
}

// ask puts a question, with its choices in brackets at the end, and repeats the answer.
func (t *turn) ask(rest string) {
	for {
		q := event.HITLRequested{Prompt: rest, Mode: "free_text"}
		if prompt, list, ok := strings.Cut(strings.TrimSuffix(rest, "]"), "["); ok {
			q.Prompt, q.Mode = strings.TrimSpace(prompt), "choices"
			for _, id := range strings.Split(list, "|") {
				if id == "..." {
					q.Mode = "both"
				} else {
					q.Choices = append(q.Choices, event.Choice{ID: id})
				}
			}
		}
		q.TurnID, q.RequestID = t.id, t.request()
		t.emit(q)
		told, ok := t.hear()
		if !ok {
			return
		}
		word, again := cut(told)
		switch word {
		case "silent": // it has heard, and works on
			<-t.stopped
			return
		case "ask":
			rest = again
		default:
			t.say("You said: " + told)
			return
		}
	}
}

func (t *turn) auth(string) {
	t.emit(event.AuthRequired{TurnID: t.id, RequestID: t.request(), Prompt: "Please authorise me"})
	if _, ok := t.hear(); ok {
		t.say("Authorised")
	}
}

// request is the id of a new question.
func (t *turn) request() string {
	t.asked++
	return fmt.Sprintf("%s#%d", t.in.TaskID, t.asked)
}

// hear waits for an answer.
func (t *turn) hear() (told string, ok bool) {
	select {
	case e := <-t.answers:
		return e.ChoiceID + e.FreeText, !e.Cancelled
	case <-t.stopped:
		return "", false
	}
}

// rogue goes on talking after its end.
func (t *turn) rogue(string) {
	t.say("the answer")
	t.emit(event.TurnEnd{TurnID: t.id})
	t.say("more")
	t.emit(event.Artifact{TurnID: t.id, Artifact: a2a.Artifact{ArtifactID: "late", Parts: part("late")}})
	t.fault("late", true)
}
