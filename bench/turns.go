package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

var stderr io.Writer = os.Stderr

const echo = "echo the quick brown fox jumps over the lazy dog"

type calls = map[string]func(ctx context.Context, client int) error

// both starts the two servers.
func (b *bench) both() (ours, peer *target, stop func(), err error) {
	if ours, err = b.ours(filepath.Join(b.dir, fmt.Sprintf("turns%d.db", time.Now().UnixNano())), ""); err != nil {
		return nil, nil, nil, err
	}
	if peer, err = b.peer(); err != nil {
		ours.stop()
		return nil, nil, nil, err
	}
	return ours, peer, func() { ours.stop(); peer.stop() }, nil
}

func (b *bench) turns() error {
	for _, clients := range []int{1, 16, 64, 256} {
		for _, tc := range []struct {
			name string
			aims map[int]string
			call func(t *target) func(context.Context, int) error
		}{
			{"blocking send", map[int]string{1: "at least 1x", 64: "at least 4x"}, blocking},
			{"streamed send", map[int]string{1: "at least 1x", 64: "at least 3.5x"}, streamed},
			{"blocking send, JSON-RPC", nil, blockingRPC},
		} {
			title := fmt.Sprintf("%s, %d clients", tc.name, clients)
			if !b.wanted(title) {
				continue
			}
			// New servers for each: the peer's store grows, and with it what it does for a turn.
			ours, peer, stop, err := b.both()
			if err != nil {
				return err
			}
			err = b.rounds(b.measure(title, "turns/s", tc.aims[clients]), clients, calls{"a2aserve": tc.call(ours), "peer": tc.call(peer)})
			stop()
			if err != nil {
				return err
			}
		}
	}
	return b.firstFrame()
}

func contextOf(client int) string { return fmt.Sprintf("context-%d", client) }

func blocking(t *target) func(context.Context, int) error {
	return func(ctx context.Context, client int) error {
		return t.post(ctx, "/a2a/v1/message:send", message(contextOf(client), echo), completed)
	}
}

func blockingRPC(t *target) func(context.Context, int) error {
	return func(ctx context.Context, client int) error {
		body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":%s}`, message(contextOf(client), echo))
		return t.post(ctx, "/a2a", body, completed)
	}
}

func streamed(t *target) func(context.Context, int) error {
	return func(ctx context.Context, client int) error {
		return t.post(ctx, "/a2a/v1/message:stream", message(contextOf(client), echo), completed)
	}
}

// firstFrame is the time until the first event of a stream has been read.
func (b *bench) firstFrame() error {
	const title = "time to first frame, 1 client"
	if !b.wanted(title) {
		return nil
	}
	ours, peer, stop, err := b.both()
	if err != nil {
		return err
	}
	defer stop()
	m := b.measure(title, "ms", "")
	m.less = true
	for range b.o.rounds * 50 {
		for _, t := range []*target{ours, peer} {
			began, took := time.Now(), time.Duration(0)
			err := t.post(b.ctx, "/a2a/v1/message:stream", message("first", echo), func(r io.Reader) error {
				line, err := bufio.NewReader(r).ReadBytes('\n')
				took = time.Since(began)
				if err == nil && !bytes.HasPrefix(line, []byte("data:")) && !bytes.HasPrefix(line, []byte("id:")) && !bytes.HasPrefix(line, []byte("event:")) {
					err = errors.New("no event: " + string(line))
				}
				return err
			})
			if err != nil {
				return err
			}
			m.add(t.name, float64(took.Microseconds())/1000)
		}
	}
	return nil
}
