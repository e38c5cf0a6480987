package store

import (
	"os"
	"time"
)

// Observer is told what the store does, for metrics. Its functions may be nil; the writer
// calls them and waits.
type Observer struct {
	// Committed is told of each group of writes: how many shared the commit, how long they
	// took together, and what became of them. Nothing of a group that failed is stored.
	Committed func(writes int, took time.Duration, err error)
	// Evicted is told how many tasks retention has removed.
	Evicted func(tasks int64)
}

// committed passes a group on.
func (s *Store) committed(writes int, took time.Duration, evicted int64, err error) {
	if o := s.opts.Observe.Committed; o != nil {
		o(writes, took, err)
	}
	if o := s.opts.Observe.Evicted; o != nil && err == nil && evicted > 0 {
		o(evicted)
	}
}

// Stats is what a store holds at a moment.
type Stats struct {
	Queued int   // writes that wait for the writer, without those it works on
	Bytes  int64 // of the file and its write-ahead log
}

// Stats looks at the file system and not into the file: a busy store answers as fast.
func (s *Store) Stats() Stats {
	st := Stats{Queued: len(s.writer.queue), Bytes: logSize(s.path)}
	if f, err := os.Stat(s.path); err == nil {
		st.Bytes += f.Size()
	}
	return st
}
