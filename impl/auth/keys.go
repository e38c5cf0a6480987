package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
)

const (
	maxUnknown = 1024           // key ids that are remembered as unknown
	maxStale   = 24 * time.Hour // age at which keys no longer count, however down the provider is
	behindGap  = 10 * time.Second
	missGap    = 10 * time.Second // between fetches for unknown key ids, once missBurst are used up
	missBurst  = 6
)

var (
	errUnknownKey = errors.New("the token's key is unknown")
	errLeft       = errors.New("the caller has left")
)

// keySet is a provider's keys, as fresh as they need to be. Whoever finds a key missing
// has the set fetched again, once for all who wait, so that a provider may change its
// keys at any time.
type keySet struct {
	provider    *provider
	issuer, url string
	ttl         time.Duration
	negativeTTL time.Duration
	now         func() time.Time
	flight      singleflight.Group
	misses      *rate.Limiter // made-up key ids must not turn into as many fetches

	mu      sync.Mutex // guards what follows
	keys    []jose.JSONWebKey
	fetched time.Time
	version int       // counts fetches; 0: there have been none
	tried   time.Time // when keys were last fetched behind the callers' backs
	unknown map[string]time.Time
}

func newKeySet(o JWKSOptions) *keySet {
	s := &keySet{
		provider: newProvider("jwks", o.HTTPTimeout, o.Log), issuer: o.Issuer, url: o.URL,
		ttl: o.CacheTTL, negativeTTL: o.NegativeTTL, now: time.Now,
		misses: rate.NewLimiter(rate.Every(missGap), missBurst), unknown: map[string]time.Time{},
	}
	if s.ttl <= 0 {
		s.ttl = DefaultKeysTTL
	}
	if s.negativeTTL <= 0 {
		s.negativeTTL = DefaultNegativeTTL
	}
	return s
}

// find gives the keys that may have signed. Its errors are *Refusal.
func (s *keySet) find(ctx context.Context, kid string, algorithm jose.SignatureAlgorithm) ([]any, error) {
	keys, version, age := s.snapshot()
	if version == 0 || age >= maxStale {
		if err := s.fetch(ctx, version, false); err != nil {
			return nil, refuse(Unavailable, err)
		}
		keys, _, _ = s.snapshot()
		if found, known := pick(keys, kid, algorithm); known {
			return found, nil
		}
		s.remember(kid)
		return nil, refuse(Invalid, errUnknownKey)
	}
	found, known := pick(keys, kid, algorithm)
	if known {
		if age >= s.ttl {
			s.fetchBehind(version)
		}
		return found, nil
	}
	if s.isUnknown(kid) {
		return nil, refuse(Invalid, errUnknownKey)
	}
	switch err := s.fetch(ctx, version, true); {
	case errors.Is(err, errUnknownKey):
		return nil, refuse(Invalid, err)
	case err != nil:
		return nil, refuse(Unavailable, err)
	}
	keys, _, _ = s.snapshot()
	if found, known = pick(keys, kid, algorithm); known {
		return found, nil
	}
	s.remember(kid)
	return nil, refuse(Invalid, errUnknownKey)
}

// pick finds keys by id. A token that names none can only mean the only one there is.
func pick(keys []jose.JSONWebKey, kid string, algorithm jose.SignatureAlgorithm) (found []any, known bool) {
	if kid == "" && len(keys) != 1 {
		return nil, false
	}
	for _, k := range keys {
		if kid != "" && k.KeyID != kid {
			continue
		}
		known = true
		if fits(k, algorithm) {
			found = append(found, k.Key)
		}
	}
	return found, known
}

func (s *keySet) snapshot() (keys []jose.JSONWebKey, version int, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys, s.version, s.now().Sub(s.fetched)
}

func (s *keySet) isUnknown(kid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.unknown[kid]
	return ok && s.now().Before(until)
}

// remember notes that a key is unknown.
func (s *keySet) remember(kid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if len(s.unknown) >= maxUnknown {
		maps.DeleteFunc(s.unknown, func(_ string, until time.Time) bool { return !now.Before(until) })
		for k := range s.unknown {
			if len(s.unknown) < maxUnknown*15/16 {
				break
			}
			delete(s.unknown, k)
		}
	}
	s.unknown[kid] = now.Add(s.negativeTTL)
}

// fetchBehind renews keys that are old but still there, while they go on being used.
func (s *keySet) fetchBehind(version int) {
	s.mu.Lock()
	now := s.now()
	soon := now.Sub(s.tried) < behindGap
	if !soon {
		s.tried = now
	}
	s.mu.Unlock()
	if !soon {
		s.flight.DoChan("keys", s.renew(version, false))
	}
}

// fetch waits for keys that are newer than version.
func (s *keySet) fetch(ctx context.Context, version int, miss bool) error {
	select {
	case res := <-s.flight.DoChan("keys", s.renew(version, miss)):
		return res.Err
	case <-ctx.Done():
		return errLeft
	}
}

// renew is the one fetch that all share. It serves nobody in particular, so it does not
// end when one caller leaves.
func (s *keySet) renew(version int, miss bool) func() (any, error) {
	return func() (any, error) {
		if _, v, _ := s.snapshot(); v != version {
			return nil, nil // somebody else's fetch has just ended
		}
		if miss && !s.misses.AllowN(s.now(), 1) {
			return nil, errUnknownKey
		}
		return nil, s.provider.run(func(ctx context.Context) error {
			keys, err := s.load(ctx)
			if err != nil {
				return err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.keys, s.fetched = keys, s.now()
			s.version++
			return nil
		})
	}
}

// load gets the key set from where it is.
func (s *keySet) load(ctx context.Context) ([]jose.JSONWebKey, error) {
	address := s.url
	if address == "" {
		var err error
		if address, err = s.provider.discover(ctx, s.issuer); err != nil {
			return nil, err
		}
	}
	status, body, err := s.provider.get(ctx, address)
	if err != nil {
		return nil, err
	}
	if status != 200 {
		return nil, fmt.Errorf("the key set is answered with status %d", status)
	}
	return readKeys(body)
}
