package turn

import (
	"slices"
	"testing"

	"a2aserve/gen/a2a"
)

func TestATurnIsATask(t *testing.T) {
	j := newMemory()
	e := engine(t, Options{Journal: j, Driver: &script{turn: plays(start, output("hello"), end)}})
	s := send(t, e, ask("hi"))
	if s.Record.State != a2a.TaskStateSubmitted {
		t.Errorf("admitted as %s", s.Record.State)
	}
	got := words(t, all(s.Run.Follow()))
	want := []string{"task SUBMITTED", "WORKING", "artifact. hello", "COMPLETED"}
	if !slices.Equal(got, want) {
		t.Errorf("frames %q, want %q", got, want)
	}
	live, stored := task(t, await(t, s)), task(t, j.get(s.Record.ID))
	if live.Status.State != a2a.TaskStateCompleted || stored.Status.State != a2a.TaskStateCompleted {
		t.Errorf("live %s, stored %s", live.Status.State, stored.Status.State)
	}
	if len(stored.History) != 1 || stored.History[0].TaskID != stored.ID || stored.History[0].MessageID != "m1" {
		t.Errorf("history %+v", stored.History)
	}
	if a := stored.Artifacts; len(a) != 1 || a[0].ArtifactID != stored.ID+"-response" || text(a[0].Parts) != "hello" {
		t.Errorf("artifacts %+v", a)
	}
}
