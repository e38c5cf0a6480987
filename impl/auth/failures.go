package auth

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxAddresses bounds the table, whoever fills it: about 10 MB.
const maxAddresses = 1 << 16

// failures counts invalid credentials by address. A host of IPv6 has a whole /64 to
// come from, so that is what is counted there.
type failures struct {
	perMinute int // 0: nothing is counted
	now       func() time.Time

	mu    sync.Mutex // guards table
	table map[netip.Prefix]*rate.Limiter
}

func newFailures(perMinute int) *failures {
	return &failures{perMinute: perMinute, now: time.Now, table: map[netip.Prefix]*rate.Limiter{}}
}

// wait is how long an address has to stay away: zero while it may fail once more.
func (f *failures) wait(from netip.Addr) time.Duration {
	if f.perMinute == 0 || !from.IsValid() {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.table[network(from)]
	if l == nil {
		return 0
	}
	missing := 1 - l.TokensAt(f.now())
	if missing <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(missing * 60 / float64(f.perMinute) * float64(time.Second)))
}

// note counts one failure.
func (f *failures) note(from netip.Addr) {
	if f.perMinute == 0 || !from.IsValid() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, key := f.now(), network(from)
	l := f.table[key]
	if l == nil {
		if len(f.table) >= maxAddresses {
			f.makeRoomLocked(now)
		}
		l = rate.NewLimiter(rate.Limit(float64(f.perMinute)/60), f.perMinute)
		f.table[key] = l
	}
	l.AllowN(now, 1)
}

// makeRoomLocked forgets addresses that have been quiet for a minute, and a few others
// where there are none: an attacker with that many addresses is not stopped by counting.
func (f *failures) makeRoomLocked(now time.Time) {
	for a, l := range f.table {
		if l.TokensAt(now) >= float64(f.perMinute) {
			delete(f.table, a)
		}
	}
	for a := range f.table {
		if len(f.table) < maxAddresses*15/16 {
			return
		}
		delete(f.table, a)
	}
}

func network(a netip.Addr) netip.Prefix {
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, _ := a.Prefix(bits) // the length fits
	return p
}
