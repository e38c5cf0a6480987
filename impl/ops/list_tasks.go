package ops

import (
	"context"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
	"a2aserve/impl/store"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// listed is a ListTasksResponse whose tasks are already encoded.
type listed struct {
	Tasks         []jsontext.Value `json:"tasks"`
	NextPageToken string           `json:"nextPageToken"`
	PageSize      int              `json:"pageSize"`
	TotalSize     int              `json:"totalSize"`
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
	out := listed{Tasks: make([]jsontext.Value, 0, len(page.Tasks)), PageSize: f.PageSize, TotalSize: page.Total}
	for _, rec := range page.Tasks {
		task, err := rec.JSON(req.HistoryLength, f.Artifacts)
		if err != nil {
			return none, a2a.InternalError.Errorf("The tasks could not be encoded").Because(err)
		}
		out.Tasks = append(out.Tasks, task)
	}
	if page.Next != nil {
		out.NextPageToken = view.Token(f, *page.Next)
	}
	b, err := json.Marshal(&out, jsontext.AllowDuplicateNames(true)) // the documents were checked when they were made
	if err != nil {
		return none, a2a.InternalError.Errorf("The tasks could not be encoded").Because(err)
	}
	return op.JSON[a2a.ListTasksResponse](b), nil
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
