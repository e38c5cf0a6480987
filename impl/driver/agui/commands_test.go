package agui_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	wire "a2aserve/gen/agui"

	"github.com/go-json-experiment/json"
)

// pause waits as long as the first word says, or until nobody listens.
func (s *stream) pause(ms string) bool {
	select {
	case <-time.After(time.Duration(number(ms)) * time.Millisecond):
		return true
	case <-s.left():
		return false
	}
}

func number(word string) int {
	n, _ := strconv.Atoi(word)
	return n
}

// resume answers a question, or refuses what it did not ask.
func (s *stream) resume() {
	for _, r := range s.in.Resume {
		s.a.mu.Lock()
		thread, ok := s.a.parked[r.InterruptID]
		delete(s.a.parked, r.InterruptID)
		s.a.mu.Unlock()
		if ok && r.Status == "cancelled" {
			continue
		}
		var said wire.Answer
		if err := json.Unmarshal(r.Payload, &said); err != nil || !ok || thread != s.in.ThreadID && thread != crashes || r.Status != "resolved" {
			s.send("RUN_ERROR", "message", "no such interrupt")
			return
		}
		told := said.ChoiceID + said.FreeText
		prompt, again := strings.CutPrefix(told, "ask ")
		switch {
		case thread == crashes:
			panic(http.ErrAbortHandler)
		case told == "silent":
			<-s.left()
			return
		case again:
			s.interrupt(prompt, "free_text")
			return
		}
		s.say("assistant", "You said: "+told)
	}
	s.send("RUN_FINISHED", "threadId", s.in.ThreadID, "runId", s.in.RunID)
}

// crashes is the thread of a question whose answer brings the agent down.
const crashes = "crashes"

// play does what the message asks for.
func (a *agent) play(s *stream) {
	if len(s.in.Resume) > 0 {
		s.send("RUN_STARTED", "threadId", s.in.ThreadID, "runId", s.in.RunID)
		s.resume()
		return
	}
	a.mu.Lock()
	a.heard[s.in.ThreadID]++
	heard := a.heard[s.in.ThreadID]
	a.mu.Unlock()
	word, rest, _ := strings.Cut(s.text(), " ")
	first, after, _ := strings.Cut(rest, " ")
	switch {
	case word == "late" && !s.pause(first):
		return
	case word == "crash" && rest == "before":
		panic(http.ErrAbortHandler)
	}
	s.start()
	switch word {
	case "silent":
		<-s.left()
		return
	case "late":
		s.say("assistant", after)
	case "slow":
		if !s.pause(first) {
			return
		}
		s.say("assistant", after)
	case "ignore-cancel":
		time.Sleep(time.Duration(number(first)) * time.Millisecond)
		s.say("assistant", after)
	case "chunks":
		s.chunks(first, after)
	case "flood":
		s.flood(number(first))
	case "tool", "slow-tool":
		s.tool(word, first, after)
	case "think":
		for i := range number(first) {
			s.send("REASONING_START", "messageId", "r")
			s.send("REASONING_MESSAGE_CONTENT", "messageId", "r", "delta", fmt.Sprint("step ", i+1))
			s.send("REASONING_END", "messageId", "r")
		}
		s.say("assistant", "thought")
	case "json":
		s.say("assistant", rest)
	case "count":
		s.say("assistant", fmt.Sprint(heard))
	case "ask":
		prompt, list, ok := strings.Cut(strings.TrimSuffix(rest, "]"), "[")
		if !ok {
			s.interrupt(rest, "free_text")
			return
		}
		s.interrupt(strings.TrimSpace(prompt), "choices", strings.Split(list, "|")...)
		return
	case "fail":
		s.send("RUN_ERROR", "message", "failed "+rest)
		return
	case "panic-after":
		panic(http.ErrAbortHandler)
	case "crash":
		s.crash(rest)
		return
	case "garbage":
		s.garbage(rest)
	case "rogue":
		s.say("assistant", "the answer")
		s.finish()
		s.say("assistant", "more")
		s.send("RUN_ERROR", "message", "late")
		return
	default:
		s.say("assistant", strings.TrimPrefix(s.text(), "echo "))
	}
	s.finish()
}

func (s *stream) chunks(n, rest string) {
	pause, tail, _ := strings.Cut(rest, " ")
	s.said++
	id := fmt.Sprintf("msg-%d", s.said)
	s.send("TEXT_MESSAGE_START", "messageId", id, "role", "assistant")
	for i := 1; i <= number(n) && s.pause(pause); i++ {
		s.send("TEXT_MESSAGE_CONTENT", "messageId", id, "delta", fmt.Sprint(i, tail))
	}
	s.send("TEXT_MESSAGE_END", "messageId", id)
}

func (s *stream) flood(n int) {
	s.send("TEXT_MESSAGE_START", "messageId", "m", "role", "assistant")
	for range n {
		select {
		case <-s.left():
			return
		default:
		}
		s.send("TEXT_MESSAGE_CONTENT", "messageId", "m", "delta", strings.Repeat("agui ok.", 128))
	}
	s.send("TEXT_MESSAGE_END", "messageId", "m")
}

func (s *stream) tool(word, name, output string) {
	s.send("TOOL_CALL_START", "toolCallId", "call-1", "toolCallName", name)
	s.send("TOOL_CALL_ARGS", "toolCallId", "call-1", "delta", `{}`)
	s.send("TOOL_CALL_END", "toolCallId", "call-1")
	if word == "slow-tool" {
		ms, after, _ := strings.Cut(output, " ")
		if output = after; !s.pause(ms) {
			return
		}
	}
	s.send("TOOL_CALL_RESULT", "messageId", "r-1", "toolCallId", "call-1", "content", output)
	s.say("assistant", name+" said: "+output)
}

// crash breaks the connection at a point of the run. Where none is open, the agent has
// forgotten its question when it is asked about it.
func (s *stream) crash(where string) {
	switch where {
	case "chunks":
		s.send("TEXT_MESSAGE_START", "messageId", "m", "role", "assistant")
		s.send("TEXT_MESSAGE_CONTENT", "messageId", "m", "delta", "1.2.")
	case "tool":
		s.send("TOOL_CALL_START", "toolCallId", "call-1", "toolCallName", "search")
		s.send("TOOL_CALL_END", "toolCallId", "call-1")
	case "question", "answered":
		id := s.interrupt("still there?", "free_text")
		s.a.mu.Lock()
		defer s.a.mu.Unlock()
		if delete(s.a.parked, id); where == "answered" {
			s.a.parked[id] = crashes
		}
		return
	case "end":
		s.say("assistant", "the answer")
		s.finish()
	}
	panic(http.ErrAbortHandler)
}

// garbage is noise, or what ends the run's credit.
func (s *stream) garbage(kind string) {
	if kind != "noise" {
		s.raw("data: <html>\n\n")
		<-s.left()
		return
	}
	s.raw(": a comment\n\nretry: 7\n\nevent: odd\nid: 1\n\n")
	s.send("NO_SUCH_EVENT", "x", []any{nil, 1})
	s.send("RUN_STARTED", "threadId", "another", "runId", "another")
	s.send("STEP_FINISHED", "stepName", "never started")
	s.send("TEXT_MESSAGE_END", "messageId", "never started")
	s.send("TOOL_CALL_ARGS", "toolCallId", "never started", "delta", "}{")
	s.send("TOOL_CALL_END", "toolCallId", "never started")
	s.send("STATE_DELTA", "delta", "no patch")
	s.send("CUSTOM", "name", "subagent.iteration", "value", 7)
	s.say("system", "stray")
	s.raw("data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"odd\",\"delta\":\"sane \xff\xfe\"}\n\n")
	s.send("TEXT_MESSAGE_END", "messageId", "odd")
}
