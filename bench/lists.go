package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"
	"a2aserve/impl/store"
	"a2aserve/impl/turn"
)

// fill makes a store with finished tasks of the anonymous caller, as the server would have
// written them.
func fill(ctx context.Context, path string, tasks int) error {
	s, err := store.Open(ctx, store.Options{Path: path, Synchronous: store.NORMAL})
	if err != nil {
		return err
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	began := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	for range 16 * runtime.NumCPU() {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1))
				if i > tasks {
					return
				}
				if i%100_000 == 0 {
					progress("  %d tasks", i)
				}
				if e := s.Append(finished(i, began)); e != nil {
					once.Do(func() { err = e })
					return
				}
			}
		})
	}
	wg.Wait()
	if e := s.Close(); err == nil {
		err = e
	}
	return err
}

// finished is everything of one turn.
func finished(i int, began time.Time) []turn.Change {
	id, contextID := fmt.Sprintf("0190c2e0-0000-7000-8000-%012d", i), fmt.Sprintf("context-%d", i%1000)
	at := began.Add(time.Duration(i) * time.Millisecond)
	status := func(s a2a.TaskState) []byte {
		return fmt.Appendf(nil, `{"state":%q,"timestamp":%q}`, s, at.UTC().Format(a2a.TimestampLayout))
	}
	head := turn.Change{Principal: call.Anonymous.ID, Task: id, Context: contextID, At: at}
	created, working, done, message, artifact := head, head, head, head, head
	created.Kind, created.State, created.Doc = turn.TaskCreated, a2a.TaskStateSubmitted, status(a2a.TaskStateSubmitted)
	message.Kind, message.Doc = turn.MessageAdded, fmt.Appendf(nil, `{"messageId":"m-%d","contextId":%q,"taskId":%q,"role":"ROLE_USER","parts":[{"text":"echo hello"}]}`, i, contextID, id)
	working.Kind, working.State, working.Seq, working.Doc = turn.StatusChanged, a2a.TaskStateWorking, 1, status(a2a.TaskStateWorking)
	artifact.Kind, artifact.ArtifactID, artifact.Doc = turn.ArtifactAdded, id+"-response", fmt.Appendf(nil, `{"artifactId":"%s-response","parts":[{"text":"hello"}]}`, id)
	done.Kind, done.State, done.Seq, done.Doc = turn.StatusChanged, a2a.TaskStateCompleted, 2, status(a2a.TaskStateCompleted)
	return []turn.Change{created, message, working, artifact, done}
}

// lists: pages of 50 in stores of three sizes, the first and a deep one; and how long a
// server takes to start on each.
func (b *bench) lists() error {
	sizes := slices.Compact([]int{min(1000, b.o.tasks), min(100_000, b.o.tasks), b.o.tasks})
	if !b.wanted("ListTasks and start-up") {
		return nil
	}
	first, deep, start := b.measure("ListTasks of 50, first page, 1 client", "pages/s", "within 2x at all sizes"),
		b.measure("ListTasks of 50, a page from the middle, 1 client", "pages/s", "within 2x at all sizes"), b.measure("start-up, until the first answer", "ms", "under 1000")
	start.less = true
	of, ofDeep := calls{}, calls{}
	for _, n := range sizes {
		path, err := b.filled(n)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("a2aserve, %d tasks", n)
		t, err := b.startUps(path, name, start)
		if err != nil {
			return err
		}
		defer t.stop()
		token, err := t.middle(b.ctx, n)
		if err != nil {
			return err
		}
		of[name], ofDeep[name] = t.page(""), t.page(token)
	}
	if err := b.rounds(first, 1, of); err != nil {
		return err
	}
	return b.rounds(deep, 1, ofDeep)
}

// filled is a store with that many tasks. It is made once where stores are kept.
func (b *bench) filled(tasks int) (string, error) {
	dir := b.o.stores
	if dir == "" {
		dir = b.dir
	}
	path := filepath.Join(dir, fmt.Sprintf("list%d.db", tasks))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	progress("filling a store with %d tasks", tasks)
	if err := fill(b.ctx, path+".part", tasks); err != nil {
		return "", err
	}
	return path, os.Rename(path+".part", path)
}

// startUps starts a server on a store several times, and leaves the last one running.
func (b *bench) startUps(path, name string, m *measure) (*target, error) {
	for i := range b.o.rounds {
		began := time.Now()
		t, err := b.ours(path, "")
		if err != nil {
			return nil, err
		}
		m.add(name, float64(time.Since(began).Microseconds())/1000)
		if i == b.o.rounds-1 {
			return t, nil
		}
		t.stop()
	}
	return nil, nil
}

func (t *target) page(token string) func(context.Context, int) error {
	return func(ctx context.Context, _ int) error {
		return t.do(ctx, http.MethodGet, "/a2a/v1/tasks?pageSize=50&pageToken="+url.QueryEscape(token), nil, holds("TASK_STATE_COMPLETED"))
	}
}

// middle reads pages of 100 up to the middle of the store.
func (t *target) middle(ctx context.Context, tasks int) (token string, err error) {
	for range tasks / 200 {
		var page struct {
			NextPageToken string `json:"nextPageToken"`
		}
		err := t.do(ctx, http.MethodGet, "/a2a/v1/tasks?pageSize=100&pageToken="+url.QueryEscape(token), nil, func(r io.Reader) error {
			return json.NewDecoder(r).Decode(&page)
		})
		if err != nil {
			return "", err
		}
		token = page.NextPageToken
	}
	return token, nil
}
