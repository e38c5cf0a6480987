package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// measure is one figure for the servers that it was taken of.
type measure struct {
	Name  string               `json:"name"`
	Unit  string               `json:"unit"`
	Aim   string               `json:"aim,omitempty"`
	Took  map[string][]float64 `json:"rounds"` // by server
	Ratio float64              `json:"ratio,omitempty"`
	Note  string               `json:"note,omitempty"`
	less  bool                 // less is better
}

func (b *bench) measure(name, unit, aim string) *measure {
	m := &measure{Name: name, Unit: unit, Aim: aim, Took: map[string][]float64{}}
	b.measures = append(b.measures, m)
	return m
}

func (m *measure) add(server string, v float64) { m.Took[server] = append(m.Took[server], v) }

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// wanted says whether a measure was asked for, and shows that it is being taken.
func (b *bench) wanted(name string) bool {
	if !b.o.only.MatchString(name) || b.ctx.Err() != nil {
		return false
	}
	progress("%s", name)
	return true
}

// rate keeps n clients calling for as long as a round takes, and returns calls a second.
// The first error ends it.
func (b *bench) rate(n int, call func(ctx context.Context, client int) error) (float64, error) {
	ctx, cancel := context.WithTimeout(b.ctx, b.o.span)
	defer cancel()
	var done atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	var failed error
	began := time.Now()
	for i := range n {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := call(b.ctx, i); err != nil {
					once.Do(func() { failed = err; cancel() })
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(done.Load()) / time.Since(began).Seconds(), failed
}

// rounds takes a measure of several servers by turns.
func (b *bench) rounds(m *measure, n int, of map[string]func(ctx context.Context, client int) error) error {
	for range b.o.rounds {
		for _, name := range sorted(of) {
			v, err := b.rate(n, of[name])
			if err != nil {
				return fmt.Errorf("%s on %s: %w", m.Name, name, err)
			}
			m.add(name, v)
		}
	}
	return nil
}

func sorted[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// post sends a request body and hands the response to read.
func (t *target) post(ctx context.Context, path string, body []byte, read func(io.Reader) error) error {
	return t.do(ctx, http.MethodPost, path, body, read)
}

func (t *target) do(ctx context.Context, verb, path string, body []byte, read func(io.Reader) error) error {
	r, err := http.NewRequestWithContext(ctx, verb, t.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header["Content-Type"] = []string{"application/json"}
	r.Header["A2a-Version"] = []string{"1.0"}
	resp, err := t.http.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Errorf("%s %s: %s %s", verb, path, resp.Status, text)
	}
	if err := read(resp.Body); err != nil {
		return fmt.Errorf("%s %s: %w", verb, path, err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

var ids atomic.Int64

// message is a request to send a text in a context.
func message(contextID, text string) []byte {
	return fmt.Appendf(nil, `{"message":{"messageId":"m-%d","contextId":%q,"role":"ROLE_USER","parts":[{"text":%q}]}}`, ids.Add(1), contextID, text)
}

// completed wants a response that tells of a completed task.
func completed(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err == nil && !bytes.Contains(b, []byte("TASK_STATE_COMPLETED")) {
		err = fmt.Errorf("the task is not completed: %s", b)
	}
	return err
}

// progress tells people at a terminal what is going on.
func progress(format string, args ...any) {
	fmt.Fprintf(stderr, "%s  "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}
