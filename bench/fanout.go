package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const fanOutFrames = 1000

// fanOut: one task says a thousand things, a few milliseconds apart, to several subscribers,
// each of whom must get all of them, in order. The processor time that the server takes for
// it is measured, the task's own included: that is what it takes with nobody there.
func (b *bench) fanOut() error {
	title := fmt.Sprintf("fan-out of %d frames", fanOutFrames)
	if b.wanted(title) {
		m := b.measure(title, "ms of processor time", "linear in the subscribers")
		m.less = true
		t, err := b.ours(filepath.Join(b.dir, "fan.db"), "")
		if err != nil {
			return err
		}
		defer t.stop()
		for range b.o.rounds {
			for _, n := range fanOutTo {
				took, err := t.spread(b.ctx, n)
				if err != nil {
					return err
				}
				m.add(subscribed(n), float64(took.Milliseconds()))
			}
		}
		m.Note = perFrame(m)
	}
	return b.longAnswer()
}

var fanOutTo = []int{0, 1, 100, 1000}

func subscribed(n int) string { return fmt.Sprintf("a2aserve, %4d subscribers", n) }

// perFrame says what one frame to one subscriber costs beyond the task's own time.
func perFrame(m *measure) string {
	var b strings.Builder
	b.WriteString("Every subscriber got every frame, in order, or there would be no figure. Beyond what the task takes with nobody there, a frame to a subscriber took")
	own := median(m.Took[subscribed(0)])
	for i, n := range fanOutTo[1:] {
		if i > 0 {
			b.WriteString(",")
		}
		each := (median(m.Took[subscribed(n)]) - own) * 1000 / float64(n*fanOutFrames)
		fmt.Fprintf(&b, " %s µs with %d", figure(max(0, each)), n)
	}
	return b.String() + ". Those who lag behind get several frames in one write."
}

// spread has a task said to n subscribers.
func (t *target) spread(ctx context.Context, n int) (time.Duration, error) {
	before, err := t.cpu()
	if err != nil {
		return 0, err
	}
	contextID, text := fmt.Sprint("fan", ids.Add(1)), fmt.Sprintf("chunks %d 10 ,", fanOutFrames)
	if n == 0 {
		if err := t.post(ctx, "/a2a/v1/message:send", message(contextID, text), completed); err != nil {
			return 0, err
		}
		after, err := t.cpu()
		return after - before, err
	}
	_, id, err := t.begin(ctx, contextID, text)
	if err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for range n {
		wg.Go(func() { errs <- t.follow(ctx, id) })
	}
	wg.Wait()
	after, err := t.cpu()
	for range n {
		if e := <-errs; err == nil {
			err = e
		}
	}
	return after - before, err
}

// begin starts a task and does not wait for its end.
func (t *target) begin(ctx context.Context, contextID, text string) ([]byte, string, error) {
	body := bytes.Replace(message(contextID, text), []byte(`{"message"`), []byte(`{"configuration":{"returnImmediately":true},"message"`), 1)
	return t.sent(ctx, body)
}

// follow reads a task's stream to its end, and wants the numbers of its chunks without a gap
// from the snapshot's last one on.
func (t *target) follow(ctx context.Context, id string) error {
	last := 0
	return t.do(ctx, http.MethodGet, "/a2a/v1/tasks/"+id+":subscribe", nil, func(r io.Reader) error {
		in := bufio.NewReaderSize(r, 64<<10)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return err
			}
			doc, ok := bytes.CutPrefix(line, []byte("data: "))
			if !ok {
				continue
			}
			done, err := numbers(doc, &last)
			if err != nil || done {
				return err
			}
		}
	})
}

// numbers reads a frame's chunk, or the snapshot's text.
func numbers(doc []byte, last *int) (done bool, err error) {
	var f struct {
		Task *struct {
			Artifacts []artifact `json:"artifacts"`
		} `json:"task"`
		ArtifactUpdate *struct {
			Artifact artifact `json:"artifact"`
		} `json:"artifactUpdate"`
	}
	if err := json.Unmarshal(doc, &f); err != nil {
		return false, err
	}
	all := []artifact{}
	if f.Task != nil {
		all = f.Task.Artifacts
	}
	if f.ArtifactUpdate != nil {
		all = append(all, f.ArtifactUpdate.Artifact)
	}
	for _, a := range all {
		for _, p := range a.Parts {
			for n := range strings.SplitSeq(strings.TrimSuffix(p.Text, ","), ",") {
				i, err := strconv.Atoi(n)
				if err != nil || i != *last+1 {
					return false, fmt.Errorf("%q follows chunk %d", n, *last)
				}
				*last = i
			}
		}
	}
	done = bytes.Contains(doc, []byte("TASK_STATE_COMPLETED"))
	if done && *last != fanOutFrames {
		err = fmt.Errorf("the stream ends at chunk %d", *last)
	}
	return done, err
}

type artifact struct {
	Parts []struct {
		Text string `json:"text"`
	} `json:"parts"`
}

// longAnswer: 5 MB in 10,000 chunks, read by one client.
func (b *bench) longAnswer() error {
	const title = "a 5 MB answer in 10,000 chunks"
	if !b.wanted(title) {
		return nil
	}
	m := b.measure(title, "ms", "")
	m.less = true
	t, err := b.ours(filepath.Join(b.dir, "long.db"), "artifacts: {max_task_bytes: 67108864, max_answer_bytes: 67108864}\n")
	if err != nil {
		return err
	}
	defer t.stop()
	text := fmt.Sprintf("chunks 10000 0 %s", bytes.Repeat([]byte("x"), 500))
	for range b.o.rounds {
		began := time.Now()
		if err := t.post(b.ctx, "/a2a/v1/message:stream", message("long", text), completed); err != nil {
			return err
		}
		m.add("a2aserve", float64(time.Since(began).Milliseconds()))
	}
	return nil
}
