package store

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// BenchmarkTurns runs ordinary turns, each in four durable appends, from 64 goroutines.
func BenchmarkTurns(b *testing.B) {
	s := open(b, Options{})
	var n atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			i := int(n.Add(1))
			if err := runTurn(s, "ann", fmt.Sprintf("t%09d", i), fmt.Sprint("c", i%64), i); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(logSize(s.Path()))/1e6, "MB-log")
}

func BenchmarkGet(b *testing.B) {
	s := open(b, Options{})
	for i := range 2000 {
		if err := runTurn(s, "ann", fmt.Sprintf("t%09d", i), "c1", i); err != nil {
			b.Fatal(err)
		}
	}
	for i := 0; b.Loop(); i++ {
		if _, err := s.For("ann").Get(b.Context(), fmt.Sprintf("t%09d", i%2000)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkListPage(b *testing.B) {
	s := open(b, Options{})
	for i := range 2000 {
		if err := runTurn(s, "ann", fmt.Sprintf("t%09d", i), "c1", i); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := s.For("ann").List(b.Context(), Filter{}); err != nil {
			b.Fatal(err)
		}
	}
}
