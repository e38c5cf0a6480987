package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ceilings: what nobody can beat here. A handler that returns the bytes of a turn's answer,
// and the disk's rate of syncs after writes of the size of one turn, and of a group.
func (b *bench) ceilings() error {
	if title := "bare handler with a turn's bytes, 64 clients"; b.wanted(title) {
		file := filepath.Join(b.dir, "turn.json")
		if err := os.WriteFile(file, turnBytes, 0o600); err != nil {
			return err
		}
		t, err := b.start("peer", "-bare", file)
		if err != nil {
			return err
		}
		defer t.stop()
		if err := b.rounds(b.measure(title, "requests/s", ""), 64, calls{"bare handler": blocking(t)}); err != nil {
			return err
		}
	}
	if title := "syncs of the disk"; b.wanted(title) {
		m := b.measure(title, "syncs/s", "")
		for range b.o.rounds {
			for _, turns := range []int{1, 16, 64} {
				v, err := b.syncs(turns)
				if err != nil {
					return err
				}
				m.add(fmt.Sprintf("groups of %2d turns", turns), v)
			}
		}
	}
	return nil
}

// pageBytes is what one write of a turn adds to the log: a page and its header.
const pageBytes = 4096 + 24

// syncs appends to a file as the log does, and syncs after each group.
func (b *bench) syncs(turns int) (float64, error) {
	f, err := os.Create(filepath.Join(b.dir, "sync"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buf := make([]byte, pageBytes*turns)
	ctx, cancel := context.WithTimeout(b.ctx, b.o.span)
	defer cancel()
	began, n := time.Now(), 0
	for ; ctx.Err() == nil; n++ {
		if _, err := f.Write(buf); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		if n%1000 == 999 {
			if _, err := f.Seek(0, 0); err != nil {
				return 0, err
			}
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

var turnBytes = []byte(`{"task":{"id":"0190c2e0-0000-7000-8000-000000000000","contextId":"context-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-01T00:00:00.000Z"},"artifacts":[{"artifactId":"0190c2e0-0000-7000-8000-000000000000-response","parts":[{"text":"the quick brown fox jumps over the lazy dog"}]}],"history":[{"messageId":"m-1","contextId":"context-1","taskId":"0190c2e0-0000-7000-8000-000000000000","role":"ROLE_USER","parts":[{"text":"echo the quick brown fox jumps over the lazy dog"}]}]}}`)
