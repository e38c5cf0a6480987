package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
)

// scripts is what the agent can play, by the first word of the message. Filled in init,
// since scripts refer to each other.
var scripts map[string]func(p *act, rest string)

func init() {
	scripts = map[string]func(p *act, rest string){
		"":              (*act).echo, // whatever is not listed
		"echo":          (*act).echo,
		"slow":          (*act).slow,
		"chunks":        (*act).chunks,
		"artifacts":     (*act).artifacts,
		"json":          (*act).say,
		"tool":          (*act).tool,
		"bigtool":       (*act).bigTool,
		"file":          (*act).file,
		"think":         (*act).think,
		"ask":           (*act).ask,
		"auth":          (*act).auth,
		"fail":          (*act).fail,
		"error-once":    (*act).errorOnce,
		"panic-after":   (*act).panicAfter,
		"ignore-cancel": (*act).ignoreCancel,
		"silent":        (*act).silent,
		"rogue":         (*act).rogue,
		"flood":         (*act).flood,
		"reject":        (*act).echo, // vetoed before it gets here
	}
	for name, play := range suites {
		scripts[name] = play
	}
}

// script finds what a message asks for: by the prefix of its id or else by its first
// word. rest is the text that follows; all of it where no word asks for anything.
func script(in event.Input) (name, rest string) {
	for _, name := range suitePrefixes {
		if strings.HasPrefix(in.MessageID, name) {
			return name, in.Text
		}
	}
	word, rest := first(in.Text)
	if _, ok := scripts[word]; ok && word != "" {
		return word, rest
	}
	return "", in.Text
}

// echo gives the parts back, without the command.
func (p *act) echo(rest string) {
	if n := len(p.in.Parts); n == 1 && plain(p.in.Parts[0]) {
		p.say(rest)
		return
	}
	parts := make([]a2a.Part, 0, len(p.in.Parts))
	text := false
	for _, part := range p.in.Parts {
		if part.Text != nil && !text { // the command stood in the first text
			text = true
			s := *part.Text
			if word, after := first(s); word == "echo" || word == "slow" {
				if s = after; word == "slow" {
					_, s = first(after)
				}
			}
			part.Text = &s
		}
		parts = append(parts, part)
	}
	p.emit(event.Output{TurnID: p.turn, Role: "assistant", Parts: parts})
}

// plain reports whether a part is text and nothing else.
func plain(p a2a.Part) bool {
	return p.Text != nil && p.MediaType == "" && p.Filename == "" && p.Metadata == nil
}

// number reads a command's number, between 0 and most. A command that cannot be read
// answers with how it is used.
func (p *act) number(rest, usage string, most int) (n int, after string, ok bool) {
	word, after := first(rest)
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 || n > most {
		p.say(fmt.Sprintf("usage: %s (N from 0 to %d)", usage, most))
		return 0, "", false
	}
	return n, after, true
}

// longest is an hour, in milliseconds: the most that a command waits.
const longest = int(time.Hour / time.Millisecond)

// slow waits, then echoes what stands after the number.
func (p *act) slow(rest string) {
	n, after, ok := p.number(rest, "slow N [TEXT], N milliseconds", longest)
	if ok && p.sleep(time.Duration(n)*time.Millisecond) {
		p.echo(after)
	}
}

// chunks answers piece by piece. The pieces are artifact events rather than deltas,
// since deltas that come quickly are put together.
func (p *act) chunks(rest string) {
	n, rest, ok := p.number(rest, "chunks N [MILLISECONDS [TEXT]]", 100_000)
	if !ok {
		return
	}
	pause := 0
	if rest != "" {
		if pause, rest, ok = p.number(rest, "chunks N [MILLISECONDS [TEXT]]", longest); !ok {
			return
		}
	}
	for i := 1; i <= n; i++ {
		if i > 1 && !p.sleep(time.Duration(pause)*time.Millisecond) {
			return
		}
		text := strconv.Itoa(i) + rest
		p.emit(event.Artifact{
			TurnID: p.turn, Append: i > 1, LastChunk: i == n,
			Artifact: a2a.Artifact{ArtifactID: p.in.TaskID + "-response", Parts: []a2a.Part{{Text: &text}}},
		})
	}
}

// artifacts publishes several artifacts and no answer besides.
func (p *act) artifacts(rest string) {
	n, _, ok := p.number(rest, "artifacts N", 10_000)
	for i := 1; ok && i <= n && !p.stopped(); i++ {
		p.artifact(fmt.Sprintf("artifact-%d", i), text(fmt.Sprintf("content of artifact %d", i)))
	}
}

// artifact publishes a whole artifact.
func (p *act) artifact(id string, parts ...a2a.Part) {
	p.emit(event.Artifact{TurnID: p.turn, LastChunk: true, Artifact: a2a.Artifact{ArtifactID: id, Name: id, Parts: parts}})
}

func text(s string) a2a.Part { return a2a.Part{Text: &s} }

// tool plays one call of a tool, then answers.
func (p *act) tool(rest string) {
	name, output := first(rest)
	if name == "" {
		p.say("usage: tool NAME TEXT")
		return
	}
	p.call(event.ToolResult{Name: name, Output: output})
	p.say(name + " said: " + output)
}

// call plays a tool call and its result.
func (p *act) call(r event.ToolResult) {
	p.asked++
	r.TurnID, r.CallID = p.turn, fmt.Sprintf("call-%d", p.asked)
	p.emit(event.ToolInvoke{TurnID: p.turn, CallID: r.CallID, Name: r.Name})
	p.emit(r)
}

// bigTool shows how a long tool result is cut.
func (p *act) bigTool(rest string) {
	n, _, ok := p.number(rest, "bigtool N, N bytes", 64<<20)
	if !ok {
		return
	}
	p.call(event.ToolResult{Name: "bigtool", Output: strings.Repeat("x", n)})
	p.say(fmt.Sprintf("the tool gave %d bytes", n))
}

// file writes below the file base and reports what it wrote, as a tool would.
func (p *act) file(rest string) {
	path, content := first(rest)
	if path == "" {
		p.say("usage: file PATH TEXT")
		return
	}
	written := map[string]any{"path": path, "bytes_written": len(content), "created": true}
	doc, err := json.Marshal(written, json.Deterministic(true))
	if err == nil {
		err = write(p.opts.FileBaseDir, path, content)
	}
	if err != nil {
		p.call(event.ToolResult{Name: "write_file", Error: err.Error()})
		p.say("could not write " + path)
		return
	}
	p.call(event.ToolResult{Name: "write_file", Output: "written", Structured: doc, OutputFile: path})
	p.say("wrote " + path)
}

// write makes a file below base, and folders on the way; nothing leads out of it.
func write(base, path, content string) error {
	if base == "" {
		return errors.New("no file base is configured")
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer root.Close()
	if dir := filepath.Dir(path); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return root.WriteFile(path, []byte(content), 0o644)
}

// think shows telemetry: reasoning steps, so many milliseconds apart, and token counts.
func (p *act) think(rest string) {
	n, rest, ok := p.number(rest, "think N [MILLISECONDS]", 10_000)
	if !ok {
		return
	}
	pause := 0
	if rest != "" {
		if pause, _, ok = p.number(rest, "think N [MILLISECONDS]", longest); !ok {
			return
		}
	}
	for i := 1; i <= n; i++ {
		if i > 1 && !p.sleep(time.Duration(pause)*time.Millisecond) {
			return
		}
		p.emit(event.ThinkingStep{TurnID: p.turn, Step: int64(i), Content: fmt.Sprintf("step %d", i), Source: "demo"})
	}
	in, out := int64(len(p.in.Text)), int64(10*n)
	p.emit(event.LLMResponse{TurnID: p.turn, Model: "demo", Usage: &event.Usage{
		InputTokens: in, OutputTokens: out, ReasoningTokens: out, TotalTokens: in + out,
	}})
	p.say(fmt.Sprintf("thought %d times", n))
}

// ask asks a question and answers with what it was told. `[a|b]` at the end are the
// only answers it takes, `[a|b|...]` are suggestions. Told `ask …`, it asks again.
func (p *act) ask(rest string) {
	for {
		told, ok := p.question(rest)
		if !ok {
			return
		}
		word, again := first(told)
		if word != "ask" {
			p.say("You said: " + told)
			return
		}
		rest = again
	}
}

// question asks and waits. It returns the choice or the text that it was told.
func (p *act) question(text string) (told string, ok bool) {
	p.asked++
	q := event.HITLRequested{TurnID: p.turn, RequestID: fmt.Sprintf("%s/%d", p.in.TaskID, p.asked), Mode: "free_text"}
	q.Prompt = strings.TrimSpace(text)
	if i := strings.LastIndex(q.Prompt, "["); i >= 0 && strings.HasSuffix(q.Prompt, "]") {
		q.Mode = "choices"
		for _, c := range strings.Split(q.Prompt[i+1:len(q.Prompt)-1], "|") {
			if c = strings.TrimSpace(c); c == "..." {
				q.Mode = "both"
			} else if c != "" {
				q.Choices = append(q.Choices, event.Choice{ID: c})
			}
		}
		if q.Prompt = strings.TrimSpace(q.Prompt[:i]); len(q.Choices) == 0 {
			q.Mode = "free_text"
		}
	}
	if q.Prompt == "" {
		q.Prompt = "What do you want to say?"
	}
	p.emit(q)
	r, ok := p.hear()
	if r.ChoiceID != "" {
		return r.ChoiceID, ok
	}
	if r.FreeText == "" { // what was filled in, and not said
		for _, part := range r.Parts {
			if part.Data != nil {
				return string(part.Data), ok
			}
		}
	}
	return r.FreeText, ok
}

// auth waits for an authorisation. What it is told is not repeated: clients put
// credentials there (A2A §7.6.4).
func (p *act) auth(string) {
	p.asked++
	p.emit(event.AuthRequired{
		TurnID: p.turn, RequestID: fmt.Sprintf("%s/%d", p.in.TaskID, p.asked),
		Prompt: "Please authorise this agent, then send any message",
	})
	if _, ok := p.hear(); ok {
		p.say("Authorised, going on")
	}
}

// fail raises an error that ends the turn.
func (p *act) fail(rest string) {
	if rest == "" {
		rest = "Failed as asked"
	}
	p.emit(event.CoreError{TurnID: p.turn, Source: "demo", Message: rest, Fatal: true})
}

// errorOnce raises an error that it gets over.
func (p *act) errorOnce(rest string) {
	p.emit(event.CoreError{TurnID: p.turn, Source: "demo", Message: "a passing fault", Retryable: true})
	p.echo(rest)
}

// panicAfter brings a handler down; the server must not notice beyond the task.
func (p *act) panicAfter(rest string) {
	n, _, ok := p.number(rest, "panic-after N, N milliseconds", longest)
	if ok && p.sleep(time.Duration(n)*time.Millisecond) {
		panic("the demo agent panics as asked")
	}
}

// ignoreCancel does not look whether it is to stop.
func (p *act) ignoreCancel(rest string) {
	n, after, ok := p.number(rest, "ignore-cancel N [TEXT], N milliseconds", longest)
	if ok {
		time.Sleep(time.Duration(n) * time.Millisecond)
		p.echo(after)
	}
}

// silent says nothing until it is stopped.
func (p *act) silent(string) { <-p.cancelled }

// rogue goes on after it has ended its turn.
func (p *act) rogue(string) {
	p.say("the answer")
	p.emit(event.TurnEnd{TurnID: p.turn})
	p.over = true
	p.say("more after the end")
	p.artifact("late", text("late"))
	p.emit(event.CoreError{TurnID: p.turn, Message: "late", Fatal: true})
	p.emit(event.TurnStart{TurnID: p.turn, TaskID: p.in.TaskID})
	p.emit(event.TurnEnd{TurnID: p.turn})
}

// flood says N KiB as fast as it can.
func (p *act) flood(rest string) {
	n, _, ok := p.number(rest, "flood N, N KiB", 1<<20)
	piece := strings.Repeat("0123456789abcdef", 64)
	for i := 0; ok && i < n && !p.stopped(); i++ {
		p.emit(event.OutputDelta{TurnID: p.turn, Text: piece})
	}
}
