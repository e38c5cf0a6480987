package binding

import (
	"sync"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"
)

// Streams counts those that are open. Each costs a connection or a part of one, and a
// goroutine, for as long as its client likes. Handlers may share one, so that a change
// of configuration does not forget those that go on.
type Streams struct {
	mu   sync.Mutex // guards what follows
	all  int
	each map[string]int // by principal; only those that have any
}

// enter takes a place if there is one, in all and for the principal; 0 sets no bound.
// Whoever got it leaves. Callers that nobody tells apart have no bound of their own.
func (s *Streams) enter(who string, most, mostEach int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case most > 0 && s.all >= most:
		return tooMany("Too many open streams: the server keeps %d", most)
	case mostEach > 0 && s.each[who] >= mostEach && who != call.Anonymous.ID:
		return tooMany("Too many open streams of this caller: the server keeps %d for each", mostEach)
	}
	if s.each == nil {
		s.each = map[string]int{}
	}
	s.all++
	s.each[who]++
	return nil
}

func (s *Streams) leave(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.each[who]--; s.each[who] == 0 {
		delete(s.each, who)
	}
}

// Open is how many streams are open.
func (s *Streams) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

func tooMany(text string, limit int) error {
	e := a2a.UnavailableError.Errorf(text, limit)
	e.RetryAfter = time.Second
	return e
}
