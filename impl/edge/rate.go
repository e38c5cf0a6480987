package edge

import (
	"cmp"
	"container/list"
	"math"
	"net/netip"
	"sync"
	"time"

	"a2aserve/gen/a2a"

	"golang.org/x/time/rate"
)

// DefaultCallers is how many callers a Rate tells apart where nothing else is said.
const DefaultCallers = 100_000

// RateOptions bound how often each caller may call.
type RateOptions struct {
	PerMinute int              // requests, on average; 0 sets no bound
	Burst     int              // requests at once after silence; 0: what 10 seconds allow, at least 1
	Callers   int              // callers told apart; 0: DefaultCallers
	Now       func() time.Time // nil: time.Now
}

// Rate gives each caller a bucket of its own. A bucket that is full again is forgotten, since
// a new one would be the same. Where there are more callers than it tells apart, the one
// that has been quiet longest is forgotten early: it may gain a burst, and nobody is
// refused for what others do.
type Rate struct {
	limit   rate.Limit
	burst   int
	callers int
	refill  time.Duration // an unused bucket is full after this
	now     func() time.Time

	mu     sync.Mutex               // guards what follows
	recent *list.List               // of *bucket, the one used last in front
	byKey  map[string]*list.Element // into recent
}

type bucket struct {
	key  string
	used time.Time
	rate.Limiter
}

// NewRate is nil where no bound is set.
func NewRate(o RateOptions) *Rate {
	if o.PerMinute <= 0 {
		return nil
	}
	r := &Rate{
		limit: rate.Limit(float64(o.PerMinute) / 60), burst: cmp.Or(o.Burst, max(1, o.PerMinute/6)),
		callers: cmp.Or(o.Callers, DefaultCallers), now: o.Now,
		recent: list.New(), byKey: map[string]*list.Element{},
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.refill = time.Duration(math.Ceil(float64(r.burst) / float64(r.limit) * float64(time.Second)))
	return r
}

// sweep is how many buckets one call forgets at most: more than it can make, so that they
// dwindle, and so few that no caller waits for the others' buckets.
const sweep = 16

// take lets one request of the caller through, or says how long it is too early.
func (r *Rate) take(key string) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	e := r.byKey[key]
	if e == nil {
		e = r.recent.PushFront(&bucket{key: key, Limiter: *rate.NewLimiter(r.limit, r.burst)})
		r.byKey[key] = e
	}
	r.recent.MoveToFront(e)
	b := e.Value.(*bucket)
	b.used = now
	for range sweep {
		last := r.recent.Back()
		old := last.Value.(*bucket)
		if r.recent.Len() <= r.callers && now.Sub(old.used) < r.refill || last == e {
			break
		}
		r.recent.Remove(last)
		delete(r.byKey, old.key)
	}
	if b.AllowN(now, 1) {
		return 0
	}
	return time.Duration((1 - b.TokensAt(now)) / float64(r.limit) * float64(time.Second))
}

// check refuses a caller that calls too often. No Rate lets everybody through.
func (r *Rate) check(key, whose string) error {
	if r == nil {
		return nil
	}
	wait := r.take(key)
	if wait <= 0 {
		return nil
	}
	return &a2a.Error{
		Type:       a2a.TooManyRequestsError,
		Message:    "Too many requests from this " + whose + "; try again after the time in Retry-After",
		RetryAfter: wait,
	}
}

// network is what an address stands for when callers are counted. One subscriber has a
// whole IPv6 /64, so its addresses count as one.
func network(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
