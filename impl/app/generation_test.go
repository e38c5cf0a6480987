package app

import "testing"

// What a generation has started ends once, and only after its last request.
func TestGenerationEndsAfterItsLastRequest(t *testing.T) {
	made := func() (g *generation, ends *int) {
		g, ends = &generation{}, new(int)
		g.onClose(func() { *ends++ })
		return g, ends
	}
	idle, ends := made()
	idle.retire()
	idle.retire()
	if *ends != 1 {
		t.Errorf("an idle one has ended %d times", *ends)
	}
	busy, ends := made()
	for range 2 {
		if !busy.enter() {
			t.Fatal("nobody may enter")
		}
	}
	busy.retire()
	if busy.enter() {
		t.Error("a request enters after the end")
	}
	busy.leave()
	if *ends != 0 {
		t.Error("it has ended under a request")
	}
	busy.leave()
	if *ends != 1 {
		t.Errorf("a busy one has ended %d times", *ends)
	}
}
