package validate

import (
	"fmt"
	"strings"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxArtifacts bounds how many artifacts of a stream are remembered. What is appended to
// others is not judged.
const maxArtifacts = 10_000

// stream is what has been seen of a captured stream.
type stream struct {
	frames, line  int  // those that count, and where the last event stands
	unclear       bool // before them came one that does not count
	task, message bool
	id, context   string
	state         a2a.TaskState
	ended         bool // by a terminal frame or an error
	closed        bool // by a snapshot after the terminal frame: nothing may follow
	rpc           bool
	rpcID         string
	artifacts     map[string]*artifact
	overflow      bool
}

// artifact is one that the stream has told of.
type artifact struct{ pieces, last bool }

// frame is what the order of a stream depends on.
type frame struct {
	Task *struct {
		ID        string     `json:"id"`
		ContextID string     `json:"contextId"`
		Status    status     `json:"status"`
		Artifacts []identity `json:"artifacts"`
	} `json:"task"`
	Message      *struct{} `json:"message"`
	StatusUpdate *struct {
		TaskID    string `json:"taskId"`
		ContextID string `json:"contextId"`
		Status    status `json:"status"`
	} `json:"statusUpdate"`
	ArtifactUpdate *struct {
		TaskID    string   `json:"taskId"`
		ContextID string   `json:"contextId"`
		Artifact  identity `json:"artifact"`
		Append    bool     `json:"append"`
		LastChunk bool     `json:"lastChunk"`
	} `json:"artifactUpdate"`
}

type status struct {
	State a2a.TaskState `json:"state"`
}

type identity struct {
	ArtifactID string `json:"artifactId"`
}

// read takes what is of use of a StreamResponse, and reports whether it can count as a frame.
func (x *frame) read(payload []byte) bool {
	if json.Unmarshal(payload, x, jsontext.AllowDuplicateNames(true)) != nil {
		return false
	}
	arms := 0
	for _, set := range []bool{x.Task != nil, x.Message != nil, x.StatusUpdate != nil, x.ArtifactUpdate != nil} {
		if set {
			arms++
		}
	}
	return arms == 1
}

// skip passes a frame over that counts for nothing. What the stream begins with is not known then.
func (s *stream) skip() { s.unclear = s.unclear || s.frames == 0 }

// frame judges the place of the next frame in the stream. o is the outline of the whole
// document, payload the StreamResponse in it. A frame that cannot be read or has not exactly
// one arm is reported as such and counts for nothing here: the next one may be the first.
func (s *stream) frame(payload []byte, p plan, o outline) (found []problem) {
	var x frame
	if !o.has("error") && !x.read(payload) {
		s.skip()
		return nil
	}
	first := s.frames == 0
	s.frames++
	say := func(rule, pointer, format string, args ...any) {
		found = append(found, problem{rule: rule, pointer: pointer, expected: fmt.Sprintf(format, args...)})
	}
	s.wrapping(o, first, say)
	if o.has("error") {
		if s.ended {
			say("stream.after-end", "/error", "nothing: the task has ended")
		}
		s.ended = true
		return found
	}
	switch {
	case x.Task != nil:
		s.snapshot(&x, p.base+"/task", say)
	case x.Message != nil:
		if !first || s.task {
			say("stream.message", p.base+"/message", "a message only as the one frame of a stream")
		}
		s.message, s.ended = true, true
	case x.StatusUpdate != nil:
		at, u := p.base+"/statusUpdate", x.StatusUpdate
		s.update(at, u.TaskID, u.ContextID, say)
		s.become(u.Status.State, at+"/status/state", say)
	case x.ArtifactUpdate != nil:
		at, u := p.base+"/artifactUpdate", x.ArtifactUpdate
		s.update(at, u.TaskID, u.ContextID, say)
		if s.ended {
			say("stream.after-end", at, "nothing: the task has ended")
		}
		s.piece(u.Artifact.ArtifactID, u.Append, u.LastChunk, at, say)
	}
	return found
}

type sayer func(rule, pointer, format string, args ...any)

// wrapping holds each frame to the envelope of the first.
func (s *stream) wrapping(o outline, first bool, say sayer) {
	id := strings.TrimSpace(string(o["id"].value))
	switch rpc := o.has("jsonrpc"); {
	case first:
		s.rpc, s.rpcID = rpc, id
	case rpc != s.rpc:
		say("stream.mixed", "", "%s, as the first frame", map[bool]string{true: "a JSON-RPC response", false: "a bare StreamResponse"}[s.rpc])
	case rpc && id != s.rpcID:
		say("stream.rpc-id", "/id", "%s, as the first frame", s.rpcID)
	}
}

// snapshot is a task: the first frame, or the last one again.
func (s *stream) snapshot(x *frame, at string, say sayer) {
	t := x.Task
	switch {
	case s.closed:
		say("stream.after-end", at, "nothing: the task has ended")
	case s.frames == 1:
		s.id, s.context, s.state = t.ID, t.ContextID, t.Status.State
	case !s.ended && !t.Status.State.Terminal() && !t.Status.State.Interrupted():
		say("stream.task", at, "an update: the task stands at the beginning")
	}
	if s.frames > 1 {
		s.same(at+"/id", s.id, t.ID, say)
		s.same(at+"/contextId", s.context, t.ContextID, say)
		if s.ended && !s.closed && !s.message && s.state != "" && t.Status.State != s.state {
			say("stream.after-end", at+"/status/state", "%s: the task has ended", s.state)
		}
		s.closed = s.closed || s.ended
	}
	s.task = true
	s.state, s.ended = t.Status.State, s.ended || t.Status.State.Terminal()
	for _, a := range t.Artifacts {
		s.known(a.ArtifactID)
	}
}

// update is what both kinds of updates have in common.
func (s *stream) update(at, task, context string, say sayer) {
	if s.message {
		say("stream.message", at, "nothing: a message is alone in its stream")
		return
	}
	if s.frames == 1 {
		if !s.unclear {
			say("stream.first", at, "a task or a message as the first frame")
		}
		s.id, s.context = task, context
	}
	s.same(at+"/taskId", s.id, task, say)
	s.same(at+"/contextId", s.context, context, say)
}

func (s *stream) same(at, want, got string, say sayer) {
	if want != "" && got != "" && got != want {
		say("stream.ids", at, "%q, as in the first frame", want)
	}
}

// become is a change of state.
func (s *stream) become(state a2a.TaskState, at string, say sayer) {
	switch {
	case s.message:
	case s.ended:
		say("stream.after-end", at, "nothing: the task has ended")
	case s.state != "" && state != "" && !s.state.CanBecome(state):
		say("stream.transition", at, "a state that follows %s", s.state)
	}
	if !s.ended && state != "" {
		s.state, s.ended = state, state.Terminal()
	}
}

// known is what the stream has told of an artifact, or nil if there are too many to tell.
func (s *stream) known(id string) *artifact {
	if a := s.artifacts[id]; a != nil {
		return a
	}
	if len(s.artifacts) >= maxArtifacts || len(id) > maxID {
		s.overflow = true
		return nil
	}
	if s.artifacts == nil {
		s.artifacts = map[string]*artifact{}
	}
	a := &artifact{}
	s.artifacts[id] = a
	return a
}

// piece is an artifact or more of one (A2A §4.2.2).
func (s *stream) piece(id string, appended, last bool, at string, say sayer) {
	_, before := s.artifacts[id]
	a := s.known(id)
	switch {
	case a == nil:
		return
	case appended && !before && !s.overflow:
		say("stream.append", at+"/append", "no append: artifact %q has not been sent before", id)
	case appended && a.last:
		say("stream.last-chunk", at+"/append", "no append: artifact %q has had its last chunk", id)
	}
	a.pieces, a.last = appended, last
}

// end says what is only known once nothing more comes.
func (f *file) end(in *source) {
	s := f.stream
	if s.frames == 0 && !s.unclear {
		return
	}
	r := Result{File: f.name, Number: f.number + 1, Line: max(s.line, 1), Column: 1, Type: "stream", From: Server}
	c := collector{strict: f.v.options.Strict, allowed: f.v.allowed, from: Server}
	if !s.ended && !s.state.Interrupted() {
		c.add(problem{rule: "stream.no-end", expected: "a frame with a terminal state at the end", hint: "a capture that was cut off passes with --allow stream.no-end"})
	}
	for id, a := range s.artifacts {
		if a.pieces && !a.last && s.ended {
			c.add(problem{rule: "stream.open-chunk", expected: fmt.Sprintf("a last chunk of artifact %q", id)})
		}
	}
	c.finish(&r, document{at: newTextPlaces(nil, r.Line, 1)})
	f.stopped = !f.yield(r, nil)
}
