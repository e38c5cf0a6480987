package turn

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json/jsontext"
)

// drawn makes an event of two bytes: its kind, and the turn, ids and content it has.
func drawn(kind, detail byte) event.Event {
	turn := []string{"t", "t", "t", "u", ""}[int(detail)%5]
	id := []string{"a", "b", ""}[int(detail>>2)%3]
	said := []string{"", "x", "ä\xff", `{"a":1}`, "[1"}[int(detail>>3)%5]
	more, last := detail&64 != 0, detail&128 != 0
	switch kind % 24 {
	case 0, 1:
		return event.TurnStart{TurnID: turn}
	case 2:
		return event.TurnEnd{TurnID: turn}
	case 3:
		return event.Output{TurnID: turn, Role: "assistant", Content: said}
	case 4:
		return event.Output{TurnID: turn, Role: "system", Content: said}
	case 5:
		return event.Output{TurnID: turn, Role: "assistant", Parts: []a2a.Part{{Data: jsontext.Value(said)}}}
	case 6, 7, 8:
		return event.OutputDelta{TurnID: turn, Text: said}
	case 9, 10, 11:
		return event.Artifact{TurnID: turn, Append: more, LastChunk: last, Artifact: a2a.Artifact{ArtifactID: id, Parts: []a2a.Part{{Text: &said}}}}
	case 12:
		return event.Artifact{TurnID: turn, Artifact: a2a.Artifact{ArtifactID: id}}
	case 13:
		return event.ToolResult{TurnID: turn, CallID: id, Name: said, Output: said, Structured: jsontext.Value(`{"a":1}`)}
	case 14:
		return event.HITLRequested{TurnID: turn, RequestID: id, Prompt: said}
	case 15:
		return event.HITLRequested{TurnID: turn, RequestID: id, Mode: "choices", Choices: []event.Choice{{ID: "yes"}}}
	case 16:
		return event.AuthRequired{TurnID: turn, RequestID: id, Prompt: said}
	case 17:
		return event.HITLResponded{RequestID: id}
	case 18:
		return event.HITLCancel{RequestID: id}
	case 19:
		return event.CoreError{TurnID: turn, Message: said, Fatal: more && last, Retryable: !more}
	case 20:
		return event.LLMResponse{TurnID: turn, Content: said}
	case 21:
		return event.ThinkingStep{TurnID: turn}
	case 22:
		return event.TurnRejected{TurnID: turn, Reason: said}
	}
	return event.CancelComplete{TurnID: turn}
}

// FuzzEvents plays any events in any order, with answers and a cancellation among them:
// there is exactly one terminal state, no frame after it, and whoever followed the
// frames knows the same task as the journal.
func FuzzEvents(f *testing.F) {
	f.Add([]byte{0, 0, 6, 8, 3, 8, 2, 0}, uint8(0))
	f.Add([]byte{0, 0, 14, 8, 16, 4, 3, 8, 2, 0}, uint8(3))
	f.Add([]byte{0, 0, 9, 0x40, 9, 0xc0, 9, 0x40, 9, 0, 13, 0, 23, 0}, uint8(1))
	f.Add([]byte{2, 0, 22, 3, 0, 3, 0, 0, 15, 0, 17, 0, 19, 0xc0}, uint8(2))
	f.Fuzz(func(t *testing.T, events []byte, client uint8) {
		if len(events) > 200 {
			return
		}
		j := newMemory()
		e := engine(t, Options{Journal: j, Artifacts: Artifacts{MaxTaskBytes: 40, MaxAnswerBytes: 30}, Driver: &script{
			turn: func(_ context.Context, _ Input, l *Line) error {
				for i := 0; i+1 < len(events); i += 2 {
					l.Emit(drawn(events[i], events[i+1]))
				}
				return nil
			}}})
		s := send(t, e, ask("go"))
		var wg sync.WaitGroup
		if client&1 != 0 {
			wg.Go(func() {
				for range 3 {
					_, _ = e.Answer(context.Background(), replyTo(s, "yes"))
				}
			})
		}
		if client&2 != 0 {
			wg.Go(func() { _, _ = e.Cancel(context.Background(), "alice", s.Record.ID) })
		}
		frames := all(s.Run.Follow())
		wg.Wait()
		<-s.Run.returned
		after, _ := s.Run.log.From(0)
		if len(after) != len(frames) {
			t.Fatalf("%d frames after the last", len(after)-len(frames))
		}
		for i, fr := range frames {
			if fr.Last != (i == len(frames)-1) || fr.JSON == nil {
				t.Fatalf("frame %d of %d: %+v", i, len(frames), fr)
			}
		}
		stored := j.get(s.Record.ID)
		if !stored.State.Terminal() {
			t.Fatalf("ended as %s", stored.State)
		}
		live, _ := s.Run.Snapshot()
		one, err1 := live.JSON(nil, true)
		two, err2 := stored.JSON(nil, true)
		if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
			t.Fatalf("live %s, %v\nstored %s, %v", one, err1, two, err2)
		}
		agree(t, frames, stored)
	})
}
