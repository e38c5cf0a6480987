package auth

import (
	"crypto/sha256"
	"maps"
	"sync"
	"time"
)

// cache remembers what is known of a token, under the token's digest, for a while.
type cache[T any] struct {
	max int

	mu      sync.Mutex // guards entries
	entries map[[sha256.Size]byte]entry[T]
}

type entry[T any] struct {
	value T
	until time.Time
}

func newCache[T any](max int) *cache[T] {
	return &cache[T]{max: max, entries: map[[sha256.Size]byte]entry[T]{}}
}

func (c *cache[T]) get(key [sha256.Size]byte, now time.Time) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok || !now.Before(e.until) {
		var none T
		return none, false
	}
	return e.value, true
}

// put makes room first: of what is out of date, and else of anything, since an answer
// that is forgotten can be had again. It makes room for many, so that it seldom has to.
func (c *cache[T]) put(key [sha256.Size]byte, value T, now, until time.Time) {
	if !now.Before(until) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= c.max {
		maps.DeleteFunc(c.entries, func(_ [sha256.Size]byte, e entry[T]) bool { return !now.Before(e.until) })
		for k := range c.entries {
			if len(c.entries) < c.max*15/16 {
				break
			}
			delete(c.entries, k)
		}
	}
	c.entries[key] = entry[T]{value, until}
}
