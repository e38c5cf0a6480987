package turn

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"a2aserve/gen/event"
)

// nothing is a Journal that keeps nothing, to measure the engine alone.
type nothing struct{}

func (nothing) Append([]Change) error { return nil }

func (nothing) Begin(w *Write) { w.Done <- nil }

func (nothing) Bound(_, _, context string) (string, bool, error) { return context, true, nil }

func BenchmarkTurn(b *testing.B) {
	e := engine(b, Options{Journal: nothing{}, Driver: &script{turn: plays(start, output("hello"), end)}})
	var n atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		context := strconv.Itoa(int(n.Add(1)))
		for pb.Next() {
			await(b, send(b, e, askIn(context, "go")))
		}
	})
}

// BenchmarkPieces is one answer of 1 MiB in pieces of 16 bytes, read as a task.
func BenchmarkPieces(b *testing.B) {
	e := engine(b, Options{Journal: nothing{}, Driver: &script{turn: func(_ context.Context, _ Input, l *Line) error {
		says(l, start)
		for range 1 << 16 {
			l.Emit(event.OutputDelta{TurnID: "t", Text: "sixteen bytes..."})
		}
		says(l, end)
		return nil
	}}})
	b.SetBytes(1 << 20)
	for b.Loop() {
		rec := await(b, send(b, e, ask("go")))
		if doc, err := rec.JSON(nil, true); err != nil || len(doc) < 1<<20 {
			b.Fatal(len(doc), err)
		}
	}
}
