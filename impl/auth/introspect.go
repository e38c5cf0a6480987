package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"

	"golang.org/x/sync/singleflight"
)

// Bounds of an introspection.
const (
	MaxIntrospectTTL = 15 * time.Minute

	maxActive   = 3072 // remembered tokens, 4,096 in all: bad ones cannot push out good ones
	maxInactive = 1024
	maxAsking   = 64 // questions under way at once
)

// How the server authenticates itself to the provider (RFC 6749 §2.3.1).
const (
	ClientBasic = "basic"
	ClientPost  = "post"
)

// IntrospectOptions configure an introspection.
type IntrospectOptions struct {
	URL          string
	ClientID     string
	ClientSecret string
	ClientAuth   string   // ClientBasic (also for an empty string) or ClientPost
	TokenHint    string   // token_type_hint; empty: none is sent
	Audience     []string // a token is for one of them; empty: not checked
	Claims       Claims
	ActiveTTL    time.Duration // how long a good token is not asked about again; 0: not at all
	InactiveTTL  time.Duration // the same for a bad one
	HTTPTimeout  time.Duration // 0: DefaultHTTPTimeout
	Log          *slog.Logger
}

// Introspect asks the provider about each token (RFC 7662), and so learns of revoked ones.
type Introspect struct {
	o        IntrospectOptions
	provider *provider
	now      func() time.Time
	flight   singleflight.Group
	asking   chan struct{}
	active   *cache[call.Principal]
	inactive *cache[error]
}

// NewIntrospect asks nothing yet.
func NewIntrospect(o IntrospectOptions) (*Introspect, error) {
	switch {
	case o.ClientID == "" || o.ClientSecret == "":
		return nil, errors.New("introspect: no client id or no client secret")
	case o.Claims.Principal == "":
		return nil, errors.New("introspect: no principal claim")
	case o.ClientAuth != "" && o.ClientAuth != ClientBasic && o.ClientAuth != ClientPost:
		return nil, fmt.Errorf("introspect: client authentication %q is not known", o.ClientAuth)
	case min(o.ActiveTTL, o.InactiveTTL) < 0 || max(o.ActiveTTL, o.InactiveTTL) > MaxIntrospectTTL:
		return nil, fmt.Errorf("introspect: answers are remembered for 0 to %v", MaxIntrospectTTL)
	}
	if err := CheckURL(o.URL); err != nil {
		return nil, fmt.Errorf("introspect: the address of the provider %w", err)
	}
	return &Introspect{
		o: o, provider: newProvider("introspect", o.HTTPTimeout, o.Log), now: time.Now, asking: make(chan struct{}, maxAsking),
		active: newCache[call.Principal](maxActive), inactive: newCache[error](maxInactive),
	}, nil
}

// Authenticate looks the bearer token up, or asks about it, once for all who wait.
func (v *Introspect) Authenticate(r *http.Request) (call.Principal, error) {
	token, err := Bearer(r)
	if err != nil {
		return call.Principal{}, err
	}
	sum := sha256.Sum256([]byte(token)) // what is remembered is of no use to a thief
	now := v.now()
	if p, ok := v.active.get(sum, now); ok {
		return p, nil
	}
	if err, ok := v.inactive.get(sum, now); ok {
		return call.Principal{}, refuse(Invalid, err)
	}
	select {
	case res := <-v.flight.DoChan(string(sum[:]), func() (any, error) { return v.ask(token, sum) }):
		if res.Err != nil {
			return call.Principal{}, res.Err
		}
		return res.Val.(call.Principal), nil
	case <-r.Context().Done():
		return call.Principal{}, refuse(Unavailable, errLeft)
	}
}

// ask puts the question and remembers the answer. That there was none is not remembered:
// the next request may find the provider back.
func (v *Introspect) ask(token string, sum [sha256.Size]byte) (call.Principal, error) {
	var doc claims
	err := v.provider.run(func(ctx context.Context) (err error) {
		select {
		case v.asking <- struct{}{}:
			defer func() { <-v.asking }()
		case <-ctx.Done():
			return ctx.Err()
		}
		doc, err = v.question(ctx, token)
		return err
	})
	if err != nil {
		return call.Principal{}, refuse(Unavailable, err)
	}
	now := v.now()
	p, until, err := v.judge(doc, now)
	if err != nil {
		v.inactive.put(sum, err, now, now.Add(v.o.InactiveTTL))
		return call.Principal{}, refuse(Invalid, err)
	}
	v.active.put(sum, p, now, until)
	return p, nil
}

// question is the exchange with the provider (RFC 7662 §2.1).
func (v *Introspect) question(ctx context.Context, token string) (claims, error) {
	form := url.Values{"token": {token}}
	if v.o.TokenHint != "" {
		form.Set("token_type_hint", v.o.TokenHint)
	}
	if v.o.ClientAuth == ClientPost {
		form.Set("client_id", v.o.ClientID)
		form.Set("client_secret", v.o.ClientSecret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, v.o.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if v.o.ClientAuth != ClientPost {
		r.SetBasicAuth(url.QueryEscape(v.o.ClientID), url.QueryEscape(v.o.ClientSecret))
	}
	status, body, err := v.provider.do(r)
	if err != nil {
		return nil, err
	}
	// 401 is about the server's own credentials, so it says nothing of the token.
	if status != http.StatusOK {
		return nil, fmt.Errorf("the introspection is answered with status %d", status)
	}
	return readClaims(body)
}

// judge says whom a token stands for, and until when that may be believed.
func (v *Introspect) judge(doc claims, now time.Time) (p call.Principal, until time.Time, err error) {
	if doc["active"].Kind() != 't' {
		return p, until, errors.New("the provider says that the token is not active")
	}
	if len(v.o.Audience) > 0 && !doc.audience(v.o.Audience) {
		return p, until, errors.New("the token is for another audience")
	}
	until = now.Add(v.o.ActiveTTL)
	if doc.present("exp") {
		expires, err := doc.time("exp")
		if err != nil {
			return p, until, err
		}
		if !now.Before(expires) {
			return p, until, errors.New("the token has expired")
		}
		if expires.Before(until) {
			until = expires
		}
	}
	p, err = doc.principal(v.o.Claims)
	return p, until, err
}

// Type is "introspect".
func (v *Introspect) Type() string { return "introspect" }

// Scheme is HTTP's Bearer.
func (v *Introspect) Scheme() (string, a2a.SecurityScheme) { return bearerScheme() }

// Close ends the questions that are under way.
func (v *Introspect) Close() { v.provider.close() }
