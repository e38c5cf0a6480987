package ops

import (
	"context"
	"strconv"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
	"a2aserve/impl/store"
	"a2aserve/impl/turn"
)

// listed writes a ListTasksResponse around tasks that are already encoded. They were checked
// when they were made; an encoder would read each of them again.
func listed(tasks [][]byte, next string, size, total int) []byte {
	b := turn.AppendArray([]byte{'{'}, "tasks", tasks)
	b = append(append(b, `,"nextPageToken":"`...), next...) // a token needs no escapes: it is base64url
	b = strconv.AppendInt(append(b, `","pageSize":`...), int64(size), 10)
	b = strconv.AppendInt(append(b, `,"totalSize":`...), int64(total), 10)
	return append(b, '}')
}

// ListTasks pages the caller's own tasks, the latest change first (A2A §3.1.4).
func (s *service) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (op.Encoded[a2a.ListTasksResponse], error) {
	var none op.Encoded[a2a.ListTasksResponse]
	if err := checkTenant(req.Tenant); err != nil {
		return none, err
	}
	view := s.Store.For(call.From(ctx).Principal.ID)
	f := filter(req)
	if req.PageToken != "" {
		cursor, err := view.ParseToken(f, req.PageToken)
		if err != nil {
			return none, invalid("pageToken", err.Error())
		}
		f.Before = &cursor
	}
	page, err := view.List(ctx, f)
	if err != nil {
		return none, err
	}
	tasks := make([][]byte, 0, len(page.Tasks))
	for _, rec := range page.Tasks {
		task, err := rec.JSON(req.HistoryLength, f.Artifacts)
		if err != nil {
			return none, a2a.InternalError.Errorf("The tasks could not be encoded").Because(err)
		}
		tasks = append(tasks, task)
	}
	next := ""
	if page.Next != nil {
		next = view.Token(f, *page.Next)
	}
	return op.JSON[a2a.ListTasksResponse](listed(tasks, next, f.PageSize, page.Total)), nil
}

func filter(req *a2a.ListTasksRequest) store.Filter {
	f := store.Filter{ContextID: req.ContextID, State: req.Status, PageSize: store.DefaultPageSize, History: req.HistoryLength}
	if req.PageSize != nil {
		f.PageSize = int(*req.PageSize)
	}
	if !req.StatusTimestampAfter.IsZero() {
		f.After = &req.StatusTimestampAfter.Time
	}
	if req.IncludeArtifacts != nil {
		f.Artifacts = *req.IncludeArtifacts
	}
	return f
}
