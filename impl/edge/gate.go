package edge

import (
	"sync/atomic"
	"time"

	"a2aserve/gen/a2a"
)

// Gate counts the requests that are being served. Handlers may share one, so that a
// change of configuration does not forget those under way.
type Gate struct{ inside atomic.Int64 }

// enter lets one request in, if fewer than limit are inside; 0 sets no bound. leave may
// be called more than once.
func (g *Gate) enter(limit int) (leave func(), err error) {
	if n := g.inside.Add(1); limit > 0 && n > int64(limit) {
		g.inside.Add(-1)
		return nil, &a2a.Error{Type: a2a.UnavailableError, RetryAfter: time.Second,
			Message: "The server is serving as many requests at once as it may"}
	}
	left := false
	return func() {
		if !left {
			left = true
			g.inside.Add(-1)
		}
	}, nil
}
