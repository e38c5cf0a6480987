package conformance

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/gen/op"
	"a2aserve/impl/store"
	"a2aserve/impl/turn"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// babbler is an agent that says whatever it was given, in whatever order.
type babbler struct {
	script []byte
	late   bool // an event was taken after the task had ended
}

func (*babbler) Agent() turn.Agent { return turn.Agent{} }

func (*babbler) Admit(context.Context, turn.Input) (*a2a.Message, error) { return nil, nil }

func (g *babbler) Turn(_ context.Context, in turn.Input, line *turn.Line) error {
	over := false
	for i := 0; i+2 < len(g.script); i += 3 {
		e, err := drawn(in.TaskID, g.script[i], g.script[i+1], g.script[i+2])
		if err != nil {
			return err
		}
		taken := line.Emit(e)
		g.late = g.late || over && taken
		over = over || !taken
	}
	return nil
}

// drawn is an event of any type, with members of all types: those that it does not have
// are ignored. What cannot be decoded fails the turn, which is as good an end as any.
func drawn(task string, kind, who, what byte) (event.Event, error) {
	pick := func(n byte, of ...string) string { return of[int(n)%len(of)] }
	id := pick(who>>2, "a", "b", task+"-response", task+"-tool-a", task+"-artifacts-truncated", "")
	said := pick(what, `""`, `"x"`, `"ä"`, `"{\"a\":1}"`, `"a longer text, so that it is cut somewhere äöü"`, `"`+"```json\\n[1]\\n```"+`"`)
	flag := func(bit byte) bool { return what&bit != 0 }
	parts := pick(what>>3, `[{"text":"p"}]`, `[{"data":{"k":null}}]`, `[{"raw":"AAEC","filename":"f.bin"},{"text":"q"}]`, `[]`, `[{"text":"r","metadata":{"m":1}}]`)
	payload := fmt.Sprintf(`{"turnId":%q,"requestId":%q,"callId":%q,"name":"n","prompt":%[4]s,"content":%[4]s,"text":%[4]s,
		"message":%[4]s,"reason":%[4]s,"output":%[4]s,"structured":{"path":"f"},"outputFile":"../f","schemaName":"s",
		"fatal":%[5]t,"retryable":%[6]t,"retriesExhausted":%[7]t,"append":%[5]t,"lastChunk":%[6]t,
		"artifact":{"artifactId":%[2]q,"name":"x","parts":%[8]s},"role":%[9]q,"mode":%[10]q,"choices":%[11]s}`,
		pick(who, "t", "t", "t", "u", ""), id, id, said, flag(64) && flag(128), flag(32), flag(16) && flag(128), parts,
		pick(who>>4, "assistant", "assistant", "system", ""), pick(who>>5, "", "choices", "both", "guess"),
		pick(who>>3, "null", `[{"id":"yes","label":"Yes"}]`, "[]"))
	doc := jsontext.Value(payload)
	e := event.Types[int(kind)%len(event.Types)].New()
	if o, isOutput := e.(*event.Output); isOutput && flag(4) {
		defer func() { _ = json.Unmarshal([]byte(parts), &o.Parts) }()
	}
	return e, json.Unmarshal(doc, e)
}

// kind is the byte that drawn takes for a type of event.
func kind(name string) byte {
	return byte(slices.IndexFunc(event.Types, func(t event.Type) bool { return t.Name == name }))
}

// FuzzTurns plays any events in any order to the engine on a real store, with answers
// and a cancellation among them: there is one terminal state and no frame after it, and
// what the frames add up to is, byte for byte, what the store keeps.
func FuzzTurns(f *testing.F) {
	db, err := store.Open(f.Context(), store.Options{Path: filepath.Join(f.TempDir(), "tasks.db"), Synchronous: store.NORMAL})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = db.Close() })
	begin, finish := []byte{kind("agent.turn.start"), 0, 0}, []byte{kind("agent.turn.end"), 0, 0}
	seed := func(client uint8, names ...string) {
		script := slices.Clone(begin)
		for i, n := range names {
			script = append(script, kind(n), byte(i*4), byte(i*37))
		}
		f.Add(append(script, finish...), client)
	}
	seed(0, "io.output")
	seed(0, "io.output.delta", "io.output.delta", "io.output", "io.output.delta")
	seed(1, "hitl.requested", "auth.required", "thinking.step", "hitl.responded", "io.output")
	seed(2, "tool.result", "tool.result", "artifact", "artifact", "artifact", "artifact", "llm.response")
	seed(3, "core.error", "hitl.requested", "hitl.cancel", "io.output.delta", "cancel.complete")
	seed(0, "agent.turn.end", "io.output", "agent.turn.start", "core.error", "turn.rejected")
	f.Fuzz(func(t *testing.T, script []byte, client uint8) {
		if len(script) <= 300 {
			playAnything(t, db, script, client)
		}
	})
}

// TestRandomTurns is FuzzTurns with what a generator draws, a new one each time: most
// turns begin as they should, so that what follows matters.
func TestRandomTurns(t *testing.T) {
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "tasks.db"), Synchronous: store.NORMAL})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rounds := 150
	if n, err := strconv.Atoi(os.Getenv("A2ASERVE_RANDOM_TURNS")); err == nil {
		rounds = n
	}
	for range rounds {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		script := make([]byte, 3*r.IntN(40))
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		if r.IntN(8) > 0 {
			script = append([]byte{kind("agent.turn.start"), 0, 0}, script...)
		}
		playAnything(t, db, script, byte(r.Uint32()))
		if t.Failed() {
			t.Fatalf("the seed was %d", seed)
		}
	}
}

// playAnything plays a script of drawn events; client says what clients do meanwhile.
func playAnything(t *testing.T, db *store.Store, script []byte, client uint8) {
	t.Helper()
	agent := &babbler{script: script}
	e := turn.New(turn.Options{Driver: agent, Journal: db, Logger: quiet(),
		Artifacts: turn.Artifacts{MaxTaskBytes: 60, MaxAnswerBytes: 40, MaxToolOutputBytes: 10, FileBaseDir: t.TempDir()}})
	sent, err := e.Send(t.Context(), message("go", ""))
	if err != nil {
		t.Fatal(err)
	}
	id := sent.Record.ID
	var clients sync.WaitGroup
	if client&1 != 0 {
		clients.Go(func() {
			for range 4 {
				_, _ = e.Answer(context.Background(), message("yes", id))
			}
		})
	}
	if client&2 != 0 {
		clients.Go(func() { _, _ = e.Cancel(context.Background(), "alice", id) })
	}
	frames := followed(sent.Follow())
	clients.Wait()
	live, _ := sent.Run.Snapshot()
	if err := e.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := followed(sent.Run.Follow()); len(again) != len(frames) {
		t.Fatalf("%d frames after the last", len(again)-len(frames))
	}
	stored, err := db.For("alice").Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if agent.late {
		t.Error("an event was taken after the end")
	}
	compare(t, frames, live, stored)
	states(t, db, frames, id)
}

func message(text, task string) turn.Input {
	return turn.Input{Principal: "alice", TaskID: task, Message: a2a.Message{
		MessageID: "m-" + text, Role: a2a.RoleUser, Parts: []a2a.Part{{Text: &text}}}}
}

// followed reads a stream to its end.
func followed(s *op.Stream) (out []op.Frame) {
	for i := s.At; ; {
		frames, wake := s.From(i)
		for _, f := range frames {
			if out = append(out, f); f.Last {
				return out
			}
		}
		if i += len(frames); len(frames) == 0 {
			<-wake
		}
	}
}

// update is a StreamResponse whose documents are left as they are.
type update struct {
	Task         jsontext.Value `json:"task,omitzero"`
	StatusUpdate *struct {
		Status jsontext.Value `json:"status"`
	} `json:"statusUpdate"`
	ArtifactUpdate *struct {
		Artifact jsontext.Value `json:"artifact"`
		Append   bool           `json:"append"`
	} `json:"artifactUpdate"`
}

// compare puts the task together from its frames and holds it against the live one and
// the stored one.
func compare(t *testing.T, frames []op.Frame, live, stored turn.Record) {
	t.Helper()
	told := turn.Record{ID: stored.ID, ContextID: stored.ContextID, History: stored.History}
	for i, f := range frames {
		if f.JSON == nil || f.Last != (i == len(frames)-1) {
			t.Fatalf("frame %d of %d: %s", i, len(frames), f.JSON)
		}
		u, err := parseAs[update](f.JSON, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case u.StatusUpdate != nil:
			told.Status = u.StatusUpdate.Status
		case u.ArtifactUpdate != nil:
			a, err := parseAs[struct {
				ID string `json:"artifactId"`
			}](u.ArtifactUpdate.Artifact, nil)
			if err != nil {
				t.Fatal(err)
			}
			told.Artifacts = append(told.Artifacts, turn.ArtifactDoc{ID: a.ID, Append: u.ArtifactUpdate.Append, JSON: u.ArtifactUpdate.Artifact})
		}
	}
	var docs [3][]byte
	for i, r := range []turn.Record{told, live, stored} {
		doc, err := r.JSON(nil, true)
		if err != nil {
			t.Fatal(err)
		}
		docs[i] = doc
	}
	if !bytes.Equal(docs[0], docs[2]) || !bytes.Equal(docs[1], docs[2]) {
		t.Fatalf("told   %s\nlive   %s\nstored %s", docs[0], docs[1], docs[2])
	}
	whole, err := parseAs[task](docs[2], nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, a := range whole.Artifacts {
		if seen[a.ID] {
			t.Errorf("artifact %s is there twice", a.ID)
		}
		seen[a.ID] = true
	}
}

// states holds the states that were told against the stored trail: the same, in order,
// with one terminal state at the end.
func states(t *testing.T, db *store.Store, frames []op.Frame, id string) {
	t.Helper()
	trail, err := db.For("alice").Transitions(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var told, kept []string
	for _, f := range frames {
		if fr, _ := parseAs[frame](f.JSON, nil); fr.StatusUpdate != nil {
			told = append(told, fr.StatusUpdate.Status.State)
		} else if fr.Task != nil {
			told = append(told, fr.Task.Status.State)
		}
	}
	for i, s := range trail {
		kept = append(kept, string(s.State))
		if s.State.Terminal() != (i == len(trail)-1) {
			t.Errorf("state %d of %d is %s", i, len(trail), s.State)
		}
	}
	if !slices.Equal(told, kept) {
		t.Errorf("told %q, kept %q", told, kept)
	}
}
