package store

import (
	"context"
	"math"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/db"
	"a2aserve/impl/turn"
)

// Bounds of a page (A2A §3.1.4).
const (
	DefaultPageSize = 50
	MaxPageSize     = 100
)

// Filter says which tasks are listed, and how much of each. Zero fields do not filter.
type Filter struct {
	ContextID string
	State     a2a.TaskState
	After     *time.Time // inclusive

	Before    *Cursor // where the previous page ended
	PageSize  int     // 0 means DefaultPageSize; more than MaxPageSize is MaxPageSize
	History   *int32  // at most so many latest messages; nil is all retained
	Artifacts bool
}

// Cursor is a place in the order of a list: the last task of a page.
type Cursor struct {
	StatusMS int64 // its status timestamp, in milliseconds
	ID       string
}

// Page is one page of a list, read from one state of the store.
type Page struct {
	Tasks []turn.Record // by status timestamp, newest first, then id (A2A §3.1.4)
	Next  *Cursor       // nil on the last page
	Total int           // tasks that the filter matches, on all pages
}

// List returns a page of the principal's tasks. Tasks that come, go or change while pages
// are read neither repeat nor hide any other.
func (v View) List(ctx context.Context, f Filter) (Page, error) {
	l, err := newListing(f)
	if err != nil {
		return Page{}, err
	}
	var page Page
	err = v.s.read(ctx, func(h *handle) error {
		q := h.View(v.principal)
		rows, err := l.rows(ctx, q)
		if err != nil {
			return err
		}
		if page, err = l.page(ctx, q, rows); err != nil {
			return err
		}
		page.Total, err = l.total(ctx, q)
		return err
	})
	if err != nil {
		return Page{}, err
	}
	return page, nil
}

// listing is a filter in the file's terms.
type listing struct {
	Filter
	state  int64 // 0: any
	after  int64
	before Cursor
	size   int
}

// newListing fills in bounds that always hold where nothing was asked, so that one statement serves
// with and without them and needs no OR, which would cost it its index.
func newListing(f Filter) (listing, error) {
	l := listing{Filter: f, after: math.MinInt64, before: Cursor{StatusMS: math.MaxInt64}, size: f.PageSize}
	if f.State != "" {
		code, ok := codes[f.State]
		if !ok {
			e := a2a.InvalidParamsError.Errorf("Invalid parameters")
			e.Violations = []a2a.Violation{{Field: "status", Description: "must be a task state"}}
			return l, e
		}
		l.state = code
	}
	if f.After != nil {
		// Timestamps here are whole milliseconds: a fraction excludes the one it falls into.
		l.after = f.After.UnixMilli()
		if f.After.Sub(time.UnixMilli(l.after)) > 0 {
			l.after++
		}
	}
	if f.Before != nil {
		l.before = *f.Before
	}
	if l.size <= 0 {
		l.size = DefaultPageSize
	}
	l.size = min(l.size, MaxPageSize)
	return l, nil
}

// rows reads one row more than the page has, to know whether there is another page.
// Finished and live tasks are in indexes of their own, each in the page's order.
func (l listing) rows(ctx context.Context, q db.View) ([]db.PageRow, error) {
	n := l.size + 1
	done, err := l.done(ctx, q, int64(n))
	if err != nil || l.state >= firstDone {
		return done, err
	}
	rows, err := q.PageOfLive(ctx, db.PageOfLiveParams{ContextID: l.ContextID, State: l.state, After: l.after, BeforeTS: l.before.StatusMS, BeforeID: l.before.ID, N: int64(n)})
	return newest(same(rows, func(r db.PageOfLiveRow) db.PageRow { return db.PageRow(r) }), done, n), err
}

// done reads finished tasks.
func (l listing) done(ctx context.Context, q db.View, n int64) ([]db.PageRow, error) {
	switch {
	case l.state != 0 && l.state < firstDone:
		return nil, nil
	case l.ContextID != "" && l.state != 0:
		rows, err := q.PageOfContextInState(ctx, db.PageOfContextInStateParams{ContextID: l.ContextID, State: l.state, After: l.after, BeforeTS: l.before.StatusMS, BeforeID: l.before.ID, N: n})
		return same(rows, func(r db.PageOfContextInStateRow) db.PageRow { return db.PageRow(r) }), err
	case l.ContextID != "":
		rows, err := q.PageOfContext(ctx, db.PageOfContextParams{ContextID: l.ContextID, After: l.after, BeforeTS: l.before.StatusMS, BeforeID: l.before.ID, N: n})
		return same(rows, func(r db.PageOfContextRow) db.PageRow { return db.PageRow(r) }), err
	case l.state != 0:
		rows, err := q.PageOfDone(ctx, db.PageOfDoneParams{State: l.state, After: l.after, BeforeTS: l.before.StatusMS, BeforeID: l.before.ID, N: n})
		return same(rows, func(r db.PageOfDoneRow) db.PageRow { return db.PageRow(r) }), err
	}
	return q.Page(ctx, db.PageParams{After: l.after, BeforeTS: l.before.StatusMS, BeforeID: l.before.ID, N: n})
}

// newest merges two lists that are in the page's order and keeps the first n.
func newest(a, b []db.PageRow, n int) []db.PageRow {
	if len(a) == 0 {
		return b
	}
	out := make([]db.PageRow, 0, min(n, len(a)+len(b)))
	for len(out) < n && len(a)+len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && comesFirst(a[0], b[0]) {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return out
}

func comesFirst(a, b db.PageRow) bool {
	return a.StatusTS > b.StatusTS || a.StatusTS == b.StatusTS && a.ID > b.ID
}

// same maps the row types, one for each statement, onto one: they differ by name only.
func same[R any](rows []R, to func(R) db.PageRow) []db.PageRow {
	out := make([]db.PageRow, len(rows))
	for i, r := range rows {
		out[i] = to(r)
	}
	return out
}

// page fills the rows' tasks, with one statement for all messages and one for all artifacts.
func (l listing) page(ctx context.Context, q db.View, rows []db.PageRow) (Page, error) {
	p := Page{Tasks: make([]turn.Record, 0, min(len(rows), l.size))}
	if len(rows) > l.size {
		rows = rows[:l.size]
		last := rows[l.size-1]
		p.Next = &Cursor{last.StatusTS, last.ID}
	}
	at := make(map[string]*turn.Record, len(rows))
	ids := make([]string, 0, len(rows))
	for _, r := range rows {
		rec, err := record(r)
		if err != nil {
			return Page{}, err
		}
		p.Tasks = append(p.Tasks, rec)
		at[r.ID] = &p.Tasks[len(p.Tasks)-1]
		ids = append(ids, r.ID)
	}
	if len(ids) == 0 {
		return p, nil
	}
	if err := l.history(ctx, q, ids, at); err != nil {
		return Page{}, err
	}
	if !l.Artifacts {
		return p, nil
	}
	artifacts, err := q.ArtifactsOf(ctx, ids)
	for _, a := range artifacts {
		rec := at[a.TaskID]
		rec.Artifacts = append(rec.Artifacts, turn.ArtifactDoc{ID: a.ArtifactID, Append: a.Append != 0, JSON: a.Doc})
	}
	return p, err
}

// history leaves what was not asked for in the file; the encoder would only cut it off again.
func (l listing) history(ctx context.Context, q db.View, ids []string, at map[string]*turn.Record) error {
	if l.History == nil {
		rows, err := q.MessagesOf(ctx, ids)
		for _, m := range rows {
			at[m.TaskID].History = append(at[m.TaskID].History, m.Doc)
		}
		return err
	}
	if *l.History <= 0 {
		return nil
	}
	rows, err := q.LastMessagesOf(ctx, db.LastMessagesOfParams{N: int64(*l.History), Ids: ids})
	for _, m := range rows {
		at[m.TaskID].History = append(at[m.TaskID].History, m.Doc)
	}
	return err
}

// total counts what the filter matches: finished tasks by their counters, live ones over an
// index of only those. With a timestamp there is no way but to count.
func (l listing) total(ctx context.Context, q db.View) (int, error) {
	count := map[int64]int64{}
	if l.After != nil {
		if err := l.countSince(ctx, q, count); err != nil {
			return 0, err
		}
	} else {
		if err := l.countLive(ctx, q, count); err != nil {
			return 0, err
		}
		done, err := l.countDone(ctx, q)
		if err != nil {
			return 0, err
		}
		for i, n := range done {
			count[firstDone+int64(i)] = n
		}
	}
	if l.state != 0 {
		return int(count[l.state]), nil
	}
	n := int64(0)
	for _, c := range count {
		n += c
	}
	return int(n), nil
}

func (l listing) countDone(ctx context.Context, q db.View) (tally, error) {
	if l.ContextID != "" {
		return countersOf(ctx, q, l.ContextID)
	}
	all, _, err := totals(ctx, q)
	return all, err
}

func (l listing) countLive(ctx context.Context, q db.View, count map[int64]int64) error {
	if l.ContextID != "" {
		rows, err := q.CountLiveOfContext(ctx, l.ContextID)
		for _, r := range rows {
			count[r.State] = r.N
		}
		return err
	}
	rows, err := q.CountLive(ctx)
	for _, r := range rows {
		count[r.State] = r.N
	}
	return err
}

// countSince reads an index each of finished and of live tasks, and no row of the former.
func (l listing) countSince(ctx context.Context, q db.View, count map[int64]int64) error {
	live, err := q.CountLiveSince(ctx, db.CountLiveSinceParams{After: l.after, ContextID: l.ContextID})
	if err != nil {
		return err
	}
	for _, r := range live {
		count[r.State] = r.N
	}
	if l.ContextID != "" {
		rows, err := q.CountOfContextSince(ctx, db.CountOfContextSinceParams{ContextID: l.ContextID, After: l.after})
		for _, r := range rows {
			count[r.State] = r.N
		}
		return err
	}
	rows, err := q.CountSince(ctx, l.after)
	for _, r := range rows {
		count[r.State] = r.N
	}
	return err
}
