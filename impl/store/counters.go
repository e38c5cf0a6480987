package store

import (
	"context"

	"a2aserve/gen/db"
)

// tally is a number of finished tasks, or a difference of such, by state from firstDone on.
type tally [4]int64

func (t tally) sum() int64 { return t[0] + t[1] + t[2] + t[3] }

func (t tally) plus(o tally) tally {
	for i := range t {
		t[i] += o[i]
	}
	return t
}

// countersOf reads a context's counters; a context without finished tasks may have no row.
func countersOf(ctx context.Context, v db.View, contextID string) (tally, error) {
	r, err := v.Counters(ctx, contextID)
	if err != nil && !absent(err) {
		return tally{}, err
	}
	return tally{r.Completed, r.Failed, r.Canceled, r.Rejected}, nil
}

// totals reads the principal's counters from its newest row, and that row's revision, 0 if none.
func totals(ctx context.Context, v db.View) (all tally, rev int64, err error) {
	r, err := v.Totals(ctx)
	if err != nil && !absent(err) {
		return tally{}, 0, err
	}
	return tally{r.AllCompleted, r.AllFailed, r.AllCanceled, r.AllRejected}, r.Rev, nil
}
