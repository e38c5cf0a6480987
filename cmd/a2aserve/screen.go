package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/impl/client"

	"github.com/spf13/cobra"
)

// screen shows frames as they come: the answer on out, the rest on info.
type screen struct {
	out, info io.Writer
	asJSON    bool
	colour    bool

	taskID, contextID string
	state             a2a.TaskState
	shown             map[string]string // text of each artifact that is on the screen
	last              string            // artifact that the cursor is in
	open              bool              // the last line has no end yet
}

func (f *caller) screen(c *cobra.Command) *screen {
	_, plain := os.LookupEnv("NO_COLOR")
	return &screen{out: c.OutOrStdout(), info: c.ErrOrStderr(), asJSON: f.asJSON,
		colour: !plain && terminal(c.ErrOrStderr()), shown: map[string]string{}}
}

func (s *screen) dim(text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[2m" + text + "\x1b[0m"
}

// show follows frames until the task ends or waits for its caller. A stream that breaks
// off is taken up again once, from the task as the server has it.
func (s *screen) show(frames iter.Seq2[client.Frame, error], again func(taskID string) iter.Seq2[client.Frame, error]) (a2a.TaskState, error) {
	for f, err := range frames {
		if errors.Is(err, client.ErrInterrupted) && s.taskID != "" && again != nil {
			s.note("the stream broke off; asking what became of the task")
			return s.show(again(s.taskID), nil)
		}
		if err != nil {
			return s.state, err
		}
		if s.asJSON {
			if _, err := fmt.Fprintf(s.out, "%s\n", f.Raw); err != nil {
				return s.state, err
			}
		}
		s.frame(&f)
		if s.state.Interrupted() {
			break
		}
	}
	return s.state, nil
}

// frame shows one frame, and notes what it says.
func (s *screen) frame(f *client.Frame) {
	before := s.state
	if id := f.TaskID(); id != "" {
		s.taskID = id
	}
	if st := f.State(); st != "" {
		s.state = st
	}
	switch {
	case f.Message != nil:
		s.contextID = f.Message.ContextID
		s.parts("message", f.Message.Parts, false)
	case f.Task != nil:
		s.contextID = f.Task.ContextID
		for _, a := range f.Task.Artifacts {
			s.parts(a.ArtifactID, a.Parts, false)
		}
		s.status(before, f.Task.Status)
	case f.StatusUpdate != nil:
		s.contextID = f.StatusUpdate.ContextID
		s.status(before, f.StatusUpdate.Status)
	case f.ArtifactUpdate != nil:
		s.parts(f.ArtifactUpdate.Artifact.ArtifactID, f.ArtifactUpdate.Artifact.Parts, f.ArtifactUpdate.Append)
	}
}

// status shows a change of state, and what the agent says with it.
func (s *screen) status(before a2a.TaskState, st a2a.TaskStatus) {
	if before != st.State {
		s.note(fmt.Sprintf("task %s is %s", s.taskID, plainState(st.State)))
	}
	if st.Message == nil || s.asJSON {
		return
	}
	s.endLine()
	for _, p := range st.Message.Parts {
		fmt.Fprintln(s.info, describe(p))
	}
}

// plainState is a state as people write it.
func plainState(st a2a.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(string(st), "TASK_STATE_")), "_", " ")
}

// parts shows an artifact, or what is new of it.
func (s *screen) parts(id string, parts []a2a.Part, more bool) {
	if s.asJSON {
		return
	}
	if s.last != id {
		s.endLine()
	}
	s.last = id
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(describe(p))
	}
	was, now := s.shown[id], text.String()
	if more {
		now = was + now
	}
	s.shown[id] = now
	fresh, goesOn := strings.CutPrefix(now, was)
	if !goesOn {
		s.endLine()
		fresh = now
	}
	if fresh != "" {
		fmt.Fprint(s.out, fresh)
		s.open = !strings.HasSuffix(fresh, "\n")
	}
}

// describe is a part's text, or a word on what it is.
func describe(p a2a.Part) string {
	name := p.Filename
	if name == "" {
		name = "unnamed"
	}
	switch {
	case p.Text != nil:
		return *p.Text
	case p.Data != nil:
		return string(p.Data)
	case p.URL != nil:
		return fmt.Sprintf("[%s, %s: %s]", name, p.MediaType, *p.URL)
	}
	return fmt.Sprintf("[%s, %s, %d bytes]", name, p.MediaType, len(p.Raw))
}

func (s *screen) endLine() {
	if s.open {
		fmt.Fprintln(s.out)
		s.open = false
	}
}

// note tells people what happens; machines read it in the frames.
func (s *screen) note(text string) {
	if s.asJSON {
		return
	}
	s.endLine()
	fmt.Fprintln(s.info, s.dim(text))
}

// leave says what goes on without us.
func (s *screen) leave(err error) error {
	s.endLine()
	if s.taskID != "" && !s.state.Terminal() {
		s.note(fmt.Sprintf("task %s may still be at work; see a2aserve tasks get", s.taskID))
	}
	return err
}

// end closes the answer and says what a script has to know.
func (s *screen) end(state a2a.TaskState, address string) error {
	s.endLine()
	if state.Interrupted() {
		s.note(fmt.Sprintf("answer with: a2aserve send %s \"…\" --task %s", address, s.taskID))
	}
	return outcome(state)
}
