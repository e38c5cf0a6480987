package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"a2aserve/conformance/vector"

	"golang.org/x/sync/errgroup"
)

// torturing says whether loads and rounds are those of make torture, which takes minutes.
func torturing() bool { return os.Getenv("A2ASERVE_TORTURE") != "" }

// scaled is short in make check and long in make torture.
func scaled(short, long int) int {
	if torturing() {
		return long
	}
	return short
}

// rank orders the states of a task; of those with one rank all but the last may follow each other.
var rank = map[string]int{
	"TASK_STATE_SUBMITTED": 1,
	"TASK_STATE_WORKING":   2, "TASK_STATE_INPUT_REQUIRED": 2, "TASK_STATE_AUTH_REQUIRED": 2,
	"TASK_STATE_COMPLETED": 3, "TASK_STATE_FAILED": 3, "TASK_STATE_CANCELED": 3, "TASK_STATE_REJECTED": 3,
}

// witness is what clients were told of a task, one after another: whoever asks again must be
// told the same or what may follow from it.
type witness struct {
	id, context string
	state       string
	text        string   // of its answer
	history     []string // ids of its messages, as far as an answer had them
	want        string   // the whole answer of the turn, were it to end; empty: not known
	mayCancel   bool     // its cancellation was asked for
	final       string   // the document that was read after a restart, which stays as it is
}

// next notes a state, and says what is wrong with it after those before.
func (w *witness) next(state string) error {
	if rank[state] == 0 || rank[state] < rank[w.state] || rank[w.state] == 3 && state != w.state {
		return fmt.Errorf("task %s was told to be %s, then %s", w.id, w.state, state)
	}
	if state == "TASK_STATE_CANCELED" && !w.mayCancel {
		return fmt.Errorf("task %s is %s, which nobody asked for", w.id, state)
	}
	if w.state = state; state == "TASK_STATE_COMPLETED" && w.want != "" && w.text != w.want {
		return fmt.Errorf("task %s is complete with %q instead of %q", w.id, w.text, w.want)
	}
	return nil
}

// more notes the answer's text as far as it is known: it continues what was known, and
// nothing in it is missing or there twice.
func (w *witness) more(text string) error {
	if !strings.HasPrefix(text, w.text) || w.want != "" && !strings.HasPrefix(w.want, text) {
		return fmt.Errorf("the answer of task %s was told to be %q, then %q, where %q is right", w.id, w.text, text, w.want)
	}
	w.text = text
	return nil
}

// whole notes a task as an operation or a stream's first frame gives it.
func (w *witness) whole(got task) error {
	if w.id == "" {
		w.id, w.context = got.ID, got.ContextID
	}
	var ids []string
	for _, m := range got.History {
		ids = append(ids, m.ID)
	}
	if got.ID != w.id || got.ContextID != w.context || len(ids) < len(w.history) || !slices.Equal(ids[:len(w.history)], w.history) {
		return fmt.Errorf("task %s with the messages %q was told to be %s with %q", w.id, w.history, got.ID, ids)
	}
	w.history = ids
	return errors.Join(w.more(got.text()), w.next(got.Status.State))
}

// frame notes a frame after the first.
func (w *witness) frame(f frame) error {
	switch {
	case rank[w.state] == 3:
		return fmt.Errorf("task %s was told to be %s, and then %+v", w.id, w.state, f)
	case f.StatusUpdate != nil && f.StatusUpdate.TaskID == w.id:
		return w.next(f.StatusUpdate.Status.State)
	case f.ArtifactUpdate != nil && f.ArtifactUpdate.TaskID == w.id && f.ArtifactUpdate.Append == (w.text != ""):
		text := w.text
		for _, p := range f.ArtifactUpdate.Artifact.Parts {
			text += p.Text
		}
		return w.more(text)
	}
	return fmt.Errorf("task %s: a frame that does not belong here: %+v", w.id, f)
}

// follow reads a stream: its first frame is the task, and no later one is missing, there
// twice or out of order. After most frames it leaves; 0 is to the end. What the server said
// wrongly is a *lie.
func (w *witness) follow(s *vector.Stream, most int) error {
	defer s.Close()
	for n := 0; most == 0 || n < most; n++ {
		f, err := parseAs[frame](s.Next())
		if err != nil {
			return err
		}
		if n == 0 && f.Task != nil {
			err = w.whole(*f.Task)
		} else {
			err = w.frame(f)
		}
		if err != nil {
			return &lie{err}
		}
		if rank[w.state] == 3 {
			return nil
		}
	}
	return nil
}

// lie is an answer that contradicts earlier ones, whatever else may have gone wrong.
type lie struct{ error }

func lies(err error) error {
	if err != nil {
		return &lie{err}
	}
	return nil
}

// read asks for a task in both ways. After a restart, with settled set, it has ended, and
// is from now on what it is now.
func (w *witness) read(t *testing.T, target *vector.Target, settled bool) error {
	in := `{"id":"` + w.id + `"}`
	doc, err := target.Call(t.Context(), vector.REST, "GetTask", "alice", in)
	got, err := parseAs[task](doc, err)
	if err != nil {
		return fmt.Errorf("task %s was told to be %s and cannot be read: %w", w.id, w.state, err)
	}
	if err := w.whole(got); err != nil || !settled {
		return err
	}
	if !got.terminal() || w.final != "" && w.final != string(doc) {
		return fmt.Errorf("after a restart task %s is %s, before it was %s", w.id, doc, w.final)
	}
	w.final = string(doc)
	s, err := target.Open(t.Context(), bindings[rand.IntN(2)], "SubscribeToTask", "alice", in)
	if err != nil {
		return fmt.Errorf("task %s cannot be followed: %w", w.id, err)
	}
	defer s.Close()
	frames, state, err := ends(s)
	if err != nil || len(frames) != 1 || frames[0].Task == nil || state != got.Status.State || frames[0].Task.text() != got.text() {
		return fmt.Errorf("following task %s, which is %s, gives %+v: %v", w.id, doc, frames, err)
	}
	return nil
}

// readAll is read for many.
func readAll(t *testing.T, target *vector.Target, all []*witness, settled bool) {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(8)
	for _, w := range all {
		g.Go(func() error { return w.read(t, target, settled) })
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// nothingRuns holds that no task is left as if it were running.
func nothingRuns(t *testing.T, target *vector.Target) {
	t.Helper()
	for state, r := range rank {
		if r == 3 {
			continue
		}
		if p := list(t, target, vector.JSONRPC, `{"status":"`+state+`"}`); p.Total != 0 || len(p.Tasks) != 0 {
			t.Errorf("%d tasks are %s after a start", p.Total, state)
		}
	}
}

// walk lists all tasks, or those of a context: each is there once, and there are as many as
// the list says.
func walk(t *testing.T, target *vector.Target, context string) map[string]task {
	t.Helper()
	all, token := map[string]task{}, ""
	for {
		p := list(t, target, vector.REST, fmt.Sprintf(`{"pageSize":100,"historyLength":0,"contextId":%q,"pageToken":%q}`, context, token))
		for _, x := range p.Tasks {
			if _, twice := all[x.ID]; twice {
				t.Errorf("task %s is listed twice", x.ID)
			}
			all[x.ID] = x
		}
		if token = p.Next; token == "" {
			if len(all) != p.Total {
				t.Errorf("%d tasks are listed, %d counted", len(all), p.Total)
			}
			return all
		}
	}
}

// What a client may be told and what not.
func TestWitness(t *testing.T) {
	chunk := func(text string, more bool) frame {
		f, err := parseAs[frame]([]byte(fmt.Sprintf(`{"artifactUpdate":{"taskId":"t","append":%t,"artifact":{"parts":[{"text":%q}]}}}`, more, text)), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	as := func(state string) frame {
		f, err := parseAs[frame]([]byte(`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_`+state+`"}}}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for name, c := range map[string]struct {
		frames []frame
		right  bool
	}{
		"in order":      {[]frame{as("WORKING"), chunk("1.", false), chunk("2.3.", true), as("COMPLETED")}, true},
		"orphan":        {[]frame{as("WORKING"), chunk("1.", false), as("FAILED")}, true},
		"twice":         {[]frame{as("WORKING"), chunk("1.", false), chunk("1.", true)}, false},
		"missing":       {[]frame{as("WORKING"), chunk("1.", false), chunk("3.", true)}, false},
		"first missing": {[]frame{as("WORKING"), chunk("2.", true)}, false},
		"cut short":     {[]frame{as("WORKING"), chunk("1.2.", false), as("COMPLETED")}, false},
		"backwards":     {[]frame{as("WORKING"), as("SUBMITTED")}, false},
		"after the end": {[]frame{as("FAILED"), as("FAILED")}, false},
		"cancelled":     {[]frame{as("WORKING"), as("CANCELED")}, false},
	} {
		w := &witness{id: "t", want: "1.2.3.", state: "TASK_STATE_SUBMITTED"}
		var err error
		for _, f := range c.frames {
			err = errors.Join(err, w.frame(f))
		}
		if (err == nil) != c.right {
			t.Errorf("%s: %v", name, err)
		}
	}
	later := &witness{id: "t", context: "c", state: "TASK_STATE_COMPLETED", text: "1.", history: []string{"m"}}
	for doc, right := range map[string]bool{
		`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"parts":[{"text":"1."}]}],"history":[{"messageId":"m"},{"messageId":"n"}]}`: true,
		`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_FAILED"},"artifacts":[{"parts":[{"text":"1."}]}],"history":[{"messageId":"m"}]}`:                      false,
		`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"history":[{"messageId":"m"}]}`:                                                           false,
		`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"parts":[{"text":"1."}]}]}`:                                                 false,
	} {
		got, err := parseAs[task]([]byte(doc), nil)
		if err != nil {
			t.Fatal(err)
		}
		w := *later
		if err := w.whole(got); (err == nil) != right {
			t.Errorf("%s: %v", doc, err)
		}
	}
}
