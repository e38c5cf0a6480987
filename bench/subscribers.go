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

// parkedFew and parkedMany are the streams that memory is compared at: what the first ones
// make a server grow by is not what one more costs.
const (
	parkedFew  = 1000
	parkedMany = 5000
)

const parkedNote = "Growth of the process's resident memory from 1,000 to 5,000 open streams on which nothing is said, for each of them. Both servers are new in each round and collect garbage early (`GOGC=10`), since garbage that is not yet collected is no memory of a stream. The bare handler sends an event and waits, as ours does."

// subscribers: what one more reader of a silent stream costs, less what net/http takes for
// a connection whose handler waits.
func (b *bench) subscribers() error {
	const title = "memory of a parked subscriber"
	if !b.wanted(title) {
		return nil
	}
	m := b.measure(title, "KiB", "at most 16 beyond net/http's own")
	m.less, m.Note = true, parkedNote
	b.env = []string{"GOGC=10"}
	defer func() { b.env = nil }()
	for i := range b.o.rounds {
		if err := b.parkOurs(m, i); err != nil {
			return err
		}
		bare, err := b.start("peer", "-park")
		if err != nil {
			return err
		}
		err = m.park(b.ctx, bare, "bare handler", "/park")
		bare.stop()
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) parkOurs(m *measure, round int) error {
	t, err := b.ours(filepath.Join(b.dir, fmt.Sprintf("parked%d.db", round)), "")
	if err != nil {
		return err
	}
	defer t.stop()
	_, id, err := t.begin(b.ctx, "parked", "silent")
	if err != nil {
		return err
	}
	if err := m.park(b.ctx, t, "a2aserve", "/a2a/v1/tasks/"+id+":subscribe"); err != nil {
		return err
	}
	// Or stopping would wait for it.
	return t.post(b.ctx, "/a2a/v1/tasks/"+id+":cancel", []byte("{}"), func(io.Reader) error { return nil })
}

// park takes the measure of a server. All streams are closed in the end.
func (m *measure) park(ctx context.Context, t *target, name, path string) error {
	ctx, leave := context.WithCancel(ctx)
	p := parking{t: t, path: path, errs: make(chan error, parkedMany)}
	defer p.open.Wait()
	defer leave()
	few, err := p.fill(ctx, parkedFew)
	if err != nil {
		return err
	}
	many, err := p.fill(ctx, parkedMany-parkedFew)
	if err != nil {
		return err
	}
	m.add(name, float64(many-few)/(parkedMany-parkedFew)/1024)
	return nil
}

// parking is a server's open streams.
type parking struct {
	t    *target
	path string
	open sync.WaitGroup
	errs chan error // of streams that ended too early
}

// opening bounds how many connections are being made at once: a listener's queue is short.
const opening = 64

// fill opens n more streams, reads the first event of each, and returns the memory.
func (p *parking) fill(ctx context.Context, n int) (int64, error) {
	var ready sync.WaitGroup
	ready.Add(n)
	place := make(chan struct{}, opening)
	for range n {
		place <- struct{}{}
		p.open.Go(func() {
			here := sync.OnceFunc(func() { <-place; ready.Done() })
			defer here()
			err := p.t.do(ctx, http.MethodGet, p.path, nil, func(r io.Reader) error {
				in := bufio.NewReaderSize(r, 512)
				_, err := in.ReadSlice('\n')
				here()
				_, _ = io.Copy(io.Discard, in)
				return err
			})
			if ctx.Err() == nil {
				p.errs <- fmt.Errorf("a stream ended: %w", err)
			}
		})
	}
	ready.Wait()
	time.Sleep(time.Second) // for the server to come to rest
	select {
	case err := <-p.errs:
		return 0, err
	default:
		return p.t.rss()
	}
}
