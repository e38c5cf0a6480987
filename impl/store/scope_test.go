package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/db"
	"a2aserve/impl/turn"
)

// viewCases has one call for each method of the generated View: what the method is asked to
// do exists under the same ids for both principals.
var viewCases = map[string]func(context.Context, db.View) (any, error){
	"AddPrincipal": func(ctx context.Context, v db.View) (any, error) { return nil, v.AddPrincipal(ctx) },
	"AddTask": func(ctx context.Context, v db.View) (any, error) {
		return nil, v.AddTask(ctx, db.AddTaskParams{ID: "new", ContextID: "c1", State: 1, StatusTS: 9, CreatedTS: 9, Status: []byte("{}"), Trail: "1:9;"})
	},
	"SetStatus": func(ctx context.Context, v db.View) (any, error) {
		return v.SetStatus(ctx, db.SetStatusParams{ID: "live", ContextID: "c1", State: 10, StatusTS: 9, Status: []byte("{}"), Steps: "10:9;"})
	},
	"AddStatus": func(ctx context.Context, v db.View) (any, error) {
		return nil, v.AddStatus(ctx, db.AddStatusParams{TaskID: "live", Seq: 7, Doc: []byte("{}")})
	},
	"AddMessage": func(ctx context.Context, v db.View) (any, error) {
		return nil, v.AddMessage(ctx, db.AddMessageParams{TaskID: "live", Seq: 7, Doc: []byte("{}")})
	},
	"AddArtifact": func(ctx context.Context, v db.View) (any, error) {
		return nil, v.AddArtifact(ctx, db.AddArtifactParams{TaskID: "live", Seq: 7, ArtifactID: "a", Doc: []byte("{}")})
	},
	"NextStatusSeq": func(ctx context.Context, v db.View) (any, error) { return v.NextStatusSeq(ctx, "live") },
	"PutCounters": func(ctx context.Context, v db.View) (any, error) {
		return nil, v.PutCounters(ctx, db.PutCountersParams{ContextID: "c1", Rev: 50, Completed: 5, AllCompleted: 9})
	},
	"ClaimSession": func(ctx context.Context, v db.View) (any, error) {
		return nil, v.ClaimSession(ctx, db.ClaimSessionParams{ID: "free", ContextID: "c1"})
	},
	"SessionContext": func(ctx context.Context, v db.View) (any, error) { return v.SessionContext(ctx, "bob's") },
	"Whole":          func(ctx context.Context, v db.View) (any, error) { return v.Whole(ctx, "live") },
	"Trail":          func(ctx context.Context, v db.View) (any, error) { return v.Trail(ctx, "live") },
	"Statuses":       func(ctx context.Context, v db.View) (any, error) { return v.Statuses(ctx, "live") },
	"Page": func(ctx context.Context, v db.View) (any, error) {
		return v.Page(ctx, db.PageParams{BeforeTS: 1 << 60, N: 99})
	},
	"PageOfContext": func(ctx context.Context, v db.View) (any, error) {
		return v.PageOfContext(ctx, db.PageOfContextParams{ContextID: "c1", BeforeTS: 1 << 60, N: 99})
	},
	"PageOfContextInState": func(ctx context.Context, v db.View) (any, error) {
		return v.PageOfContextInState(ctx, db.PageOfContextInStateParams{ContextID: "c1", State: 10, BeforeTS: 1 << 60, N: 99})
	},
	"PageOfDone": func(ctx context.Context, v db.View) (any, error) {
		return v.PageOfDone(ctx, db.PageOfDoneParams{State: 10, BeforeTS: 1 << 60, N: 99})
	},
	"PageOfLive": func(ctx context.Context, v db.View) (any, error) {
		return v.PageOfLive(ctx, db.PageOfLiveParams{State: 3, BeforeTS: 1 << 60, N: 99})
	},
	"MessagesOf": func(ctx context.Context, v db.View) (any, error) {
		return v.MessagesOf(ctx, []string{"live", "done", "bob's"})
	},
	"LastMessagesOf": func(ctx context.Context, v db.View) (any, error) {
		return v.LastMessagesOf(ctx, db.LastMessagesOfParams{N: 1, Ids: []string{"live", "done", "bob's"}})
	},
	"ArtifactsOf": func(ctx context.Context, v db.View) (any, error) {
		return v.ArtifactsOf(ctx, []string{"live", "done", "bob's"})
	},
	"Counters":           func(ctx context.Context, v db.View) (any, error) { return v.Counters(ctx, "c1") },
	"Totals":             func(ctx context.Context, v db.View) (any, error) { return v.Totals(ctx) },
	"CountLive":          func(ctx context.Context, v db.View) (any, error) { return v.CountLive(ctx) },
	"CountLiveOfContext": func(ctx context.Context, v db.View) (any, error) { return v.CountLiveOfContext(ctx, "c1") },
	"CountLiveSince": func(ctx context.Context, v db.View) (any, error) {
		return v.CountLiveSince(ctx, db.CountLiveSinceParams{})
	},
	"CountSince": func(ctx context.Context, v db.View) (any, error) { return v.CountSince(ctx, 0) },
	"CountOfContextSince": func(ctx context.Context, v db.View) (any, error) {
		return v.CountOfContextSince(ctx, db.CountOfContextSinceParams{ContextID: "c1"})
	},
	"LiveTasks": func(ctx context.Context, v db.View) (any, error) { return v.LiveTasks(ctx, 99) },
	"Expired": func(ctx context.Context, v db.View) (any, error) {
		return v.Expired(ctx, db.ExpiredParams{Cutoff: 1 << 60, N: 99})
	},
	"OldestOfContext": func(ctx context.Context, v db.View) (any, error) {
		return v.OldestOfContext(ctx, db.OldestOfContextParams{ContextID: "c1", N: 99})
	},
	"ContextsAfter": func(ctx context.Context, v db.View) (any, error) {
		return v.ContextsAfter(ctx, db.ContextsAfterParams{N: 99})
	},
	"Evict":         func(ctx context.Context, v db.View) (any, error) { return v.Evict(ctx, "done") },
	"CountContexts": func(ctx context.Context, v db.View) (any, error) { return v.CountContexts(ctx) },
	"CountExpired":  func(ctx context.Context, v db.View) (any, error) { return v.CountExpired(ctx, 1<<60) },
	"DropCounters":  func(ctx context.Context, v db.View) (any, error) { return nil, v.DropCounters(ctx) },
	"ReleaseOwned":  func(ctx context.Context, v db.View) (any, error) { return v.ReleaseOwned(ctx) },
	"DropPrincipal": func(ctx context.Context, v db.View) (any, error) {
		if _, err := v.SetStatus(ctx, db.SetStatusParams{ID: "live", ContextID: "c1", State: 10, StatusTS: 9, Status: []byte("{}"), Steps: "10:9;"}); err != nil {
			return nil, err
		}
		for _, id := range []string{"live", "done"} {
			if _, err := v.Evict(ctx, id); err != nil {
				return nil, err
			}
		}
		if err := v.DropCounters(ctx); err != nil {
			return nil, err
		}
		return v.DropPrincipal(ctx)
	},
	"DropEmptyCounters": func(ctx context.Context, v db.View) (any, error) {
		return nil, v.DropEmptyCounters(ctx, 99)
	},
}

// populate gives a principal a live and a finished task, an empty context and a session.
func populate(t *testing.T, s *Store, p string, extra int) {
	put(t, s, created(p, "live", "c1", extra), message(p, "live", 0), artifact(p, "live", 0))
	asked := status(p, "live", "c1", a2a.TaskStateInputRequired, 1+extra)
	asked.Message = true
	put(t, s, asked)
	claims := created(p, "done", "c1", 2)
	claims.Session = p + "'s"
	put(t, s, claims, message(p, "done", 0))
	put(t, s, status(p, "done", "c1", a2a.TaskStateCompleted, 3+extra))
	for i := range extra {
		id := fmt.Sprintf("%s's %d", p, i)
		put(t, s, created(p, id, "c1", 4+i), message(p, id, 0), status(p, id, "c1", a2a.TaskStateCompleted, 5+i))
	}
	on(t, s, p, func(ctx context.Context, v account) error {
		return v.PutCounters(ctx, db.PutCountersParams{ContextID: "empty", Rev: int64(0)})
	})
}

// Whatever a View is asked for ann: bob's rows stay as they are, and the answer is the one
// that a file without bob gives.
func TestViewKeepsToItsPrincipal(t *testing.T) {
	alone, shared := open(t, Options{}), open(t, Options{})
	populate(t, alone, "ann", 0)
	populate(t, shared, "ann", 0)
	populate(t, shared, "bob", 3)
	undo := errors.New("each case finds the rows as they were")
	for method := range reflect.TypeFor[db.View]().Methods() {
		call, ok := viewCases[method.Name]
		if !ok {
			t.Errorf("View.%s has no case here", method.Name)
			continue
		}
		t.Run(method.Name, func(t *testing.T) {
			var want, got any
			var wantErr, gotErr error
			_ = alone.writer.submit(func(ctx context.Context, h *handle) error {
				want, wantErr = call(ctx, h.View("ann"))
				return undo
			})
			_ = shared.writer.submit(func(ctx context.Context, h *handle) error {
				before := dump(t, h, "bob")
				if !strings.Contains(before, "bob's 2") {
					t.Error("bob has no rows to protect")
				}
				got, gotErr = call(ctx, h.View("ann"))
				if after := dump(t, h, "bob"); after != before {
					t.Errorf("bob's rows were\n%s\nand are\n%s", before, after)
				}
				return undo
			})
			if !reflect.DeepEqual(want, got) || fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
				t.Errorf("alone: %v, %v\nbeside bob: %v, %v", want, wantErr, got, gotErr)
			}
			if wantErr != nil && !absent(wantErr) {
				t.Errorf("the case does not work: %v", wantErr)
			}
		})
	}
	if n := reflect.TypeFor[db.View]().NumMethod(); n != len(viewCases) {
		t.Errorf("%d methods, %d cases", n, len(viewCases))
	}
}

// A foreign task and one that does not exist cannot be told apart (A2A §13.1).
func TestForeignTaskIsUnknown(t *testing.T) {
	s := open(t, Options{})
	put(t, s, created("ann", "hers", "c1", 0))
	bob := s.For("bob")
	_, foreign := bob.Get(t.Context(), "hers")
	_, unknown := bob.Get(t.Context(), "nobody's")
	if e, ok := errors.AsType[*a2a.Error](foreign); !ok || e.Type != a2a.TaskNotFoundError {
		t.Errorf("foreign: %v", foreign)
	}
	if !reflect.DeepEqual(foreign, unknown) {
		t.Errorf("foreign %#v, unknown %#v", foreign, unknown)
	}
	_, foreign = bob.Transitions(t.Context(), "hers")
	if !reflect.DeepEqual(foreign, unknown) {
		t.Errorf("transitions: %#v", foreign)
	}
	if p, err := bob.List(t.Context(), Filter{ContextID: "c1"}); err != nil || p.Total != 0 || len(p.Tasks) != 0 {
		t.Errorf("list: %+v, %v", p, err)
	}
	if err := s.Append(changes(status("bob", "hers", "c1", a2a.TaskStateCanceled, 1))); err == nil {
		t.Error("bob changed ann's task")
	}
	if err := s.Append(changes(message("bob", "hers", 0))); err == nil {
		t.Error("bob wrote into ann's task")
	}
	if r, err := s.For("ann").Get(t.Context(), "hers"); err != nil || r.State != a2a.TaskStateSubmitted || len(r.History) != 0 {
		t.Errorf("ann's task: %+v, %v", r, err)
	}
}

func TestClaim(t *testing.T) {
	s := open(t, Options{})
	check := func(principal, session, context, bound string, mine bool) {
		t.Helper()
		for range 2 { // looking changes nothing
			b, m, err := s.Bound(principal, session, context)
			if err != nil || b != bound || m != mine {
				t.Errorf("%s asks about %s for %s: %q, %v, %v; want %q, %v", principal, session, context, b, m, err, bound, mine)
			}
		}
	}
	claim := func(principal, session, context, task string, want error) {
		t.Helper()
		c := created(principal, task, context, 1)
		c.Session = session
		if err := s.Append(changes(c)); !errors.Is(err, want) {
			t.Errorf("%s claims %s for %s: %v, want %v", principal, session, context, err, want)
		}
		if _, err := s.For(principal).Get(t.Context(), task); (err == nil) != (want == nil) {
			t.Errorf("the task of a claim that ended as %v: %v", want, err)
		}
	}
	check("ann", "s1", "c1", "c1", true)
	check("bob", "s1", "c2", "c2", true) // still free
	claim("ann", "s1", "c1", "t1", nil)
	claim("ann", "s1", "c1", "t2", nil)
	check("ann", "s1", "c2", "c1", true) // the caller is told to which it is bound
	check("bob", "s1", "c1", "", false)  // nothing is told
	claim("ann", "s1", "c2", "t3", turn.ErrBound)
	claim("bob", "s1", "c1", "t4", turn.ErrBound)
	claim("bob", "s2", "c1", "t5", nil) // other sessions are free
	if held, err := s.Release("s1"); err != nil || !held {
		t.Errorf("release: %v, %v", held, err)
	}
	if held, err := s.Release("s1"); err != nil || held {
		t.Errorf("second release: %v, %v", held, err)
	}
	claim("bob", "s1", "c9", "t6", nil)
	check("ann", "s1", "c1", "", false)
}
