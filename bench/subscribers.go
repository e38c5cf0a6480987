package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"time"
)

const parked = 1000

// subscribers: what one more reader of a silent stream costs, less what net/http takes for
// a connection whose handler waits.
func (b *bench) subscribers() error {
	const title = "memory of a parked subscriber"
	if !b.wanted(title) {
		return nil
	}
	m := b.measure(title, "KiB", "at most 16 beyond net/http's own")
	m.less = true
	t, err := b.ours(filepath.Join(b.dir, "parked.db"), "")
	if err != nil {
		return err
	}
	defer t.stop()
	_, id, err := t.begin(b.ctx, "parked", "silent")
	if err != nil {
		return err
	}
	bare, err := b.start("peer", "-park")
	if err != nil {
		return err
	}
	defer bare.stop()
	for range b.o.rounds {
		for _, x := range []struct {
			name, path string
			t          *target
		}{{"a2aserve", "/a2a/v1/tasks/" + id + ":subscribe", t}, {"bare handler", "/park", bare}} {
			kib, err := x.t.parkedMemory(b.ctx, x.path)
			if err != nil {
				return err
			}
			m.add(x.name, kib)
		}
	}
	return nil
}

// parkedMemory opens many streams, reads the first event of each, and compares.
func (t *target) parkedMemory(ctx context.Context, path string) (float64, error) {
	before, err := t.rss()
	if err != nil {
		return 0, err
	}
	ctx, leave := context.WithCancel(ctx)
	var ready, wg sync.WaitGroup
	errs := make(chan error, parked)
	ready.Add(parked)
	for range parked {
		wg.Go(func() {
			here := sync.OnceFunc(ready.Done)
			defer here()
			err := t.do(ctx, http.MethodGet, path, nil, func(r io.Reader) error {
				in := bufio.NewReaderSize(r, 512)
				_, err := in.ReadSlice('\n')
				here()
				_, _ = io.Copy(io.Discard, in)
				return err
			})
			if ctx.Err() == nil {
				errs <- err
			}
		})
	}
	ready.Wait()
	time.Sleep(time.Second) // for the server to come to rest
	after, err := t.rss()
	leave()
	wg.Wait()
	t.http.CloseIdleConnections()
	select {
	case e := <-errs:
		return 0, fmt.Errorf("a stream ended: %w", e)
	default:
	}
	return float64(after-before) / parked / 1024, err
}
