package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// send runs a turn and returns the response and the id of its task.
func (t *target) send(ctx context.Context, contextID, text string) (body []byte, id string, err error) {
	return t.sent(ctx, message(contextID, text))
}

// sent sends a request as it is.
func (t *target) sent(ctx context.Context, request []byte) (body []byte, id string, err error) {
	err = t.post(ctx, "/a2a/v1/message:send", request, func(r io.Reader) error {
		body, err = io.ReadAll(r)
		return err
	})
	var got struct {
		Task struct {
			ID string `json:"id"`
		} `json:"task"`
	}
	if err == nil {
		err = json.Unmarshal(body, &got)
	}
	if err == nil && got.Task.ID == "" {
		err = fmt.Errorf("no task in %s", body)
	}
	return body, got.Task.ID, err
}

// holds wants a response that contains a text.
func holds(text string) func(io.Reader) error {
	return func(r io.Reader) error {
		b, err := io.ReadAll(r)
		if err == nil && !bytes.Contains(b, []byte(text)) {
			err = fmt.Errorf("no %s in %.200s", text, b)
		}
		return err
	}
}

// reads: GetTask, against the peer and against a bare handler that returns the same bytes.
func (b *bench) reads() error {
	const title = "GetTask, 16 clients"
	if !b.wanted(title) {
		return nil
	}
	ours, peer, stop, err := b.both()
	if err != nil {
		return err
	}
	defer stop()
	of := calls{}
	for _, t := range []*target{ours, peer} {
		var known []string
		for i := range 1000 {
			_, id, err := t.send(b.ctx, fmt.Sprint("c", i%100), echo)
			if err != nil {
				return err
			}
			known = append(known, id)
		}
		of[t.name] = func(ctx context.Context, client int) error {
			id := known[int(ids.Add(1))%len(known)]
			return t.do(ctx, http.MethodGet, "/a2a/v1/tasks/"+id, nil, holds("TASK_STATE_COMPLETED"))
		}
		if t != ours {
			continue
		}
		bare, err := b.bareOf(t, "/a2a/v1/tasks/"+known[0])
		if err != nil {
			return err
		}
		defer bare.stop()
		of["bare handler"] = func(ctx context.Context, client int) error {
			return bare.do(ctx, http.MethodGet, "/a2a/v1/tasks/x", nil, holds("TASK_STATE_COMPLETED"))
		}
	}
	return b.rounds(b.measure(title, "requests/s", "at least 1.2x, and 40 % of the bare handler"), 16, of)
}

// bareOf starts a handler that answers what a server answers to a request.
func (b *bench) bareOf(t *target, path string) (*target, error) {
	var body []byte
	err := t.do(b.ctx, http.MethodGet, path, nil, func(r io.Reader) (err error) {
		body, err = io.ReadAll(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(b.dir, "bare.json")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		return nil, err
	}
	return b.start("peer", "-bare", file)
}
