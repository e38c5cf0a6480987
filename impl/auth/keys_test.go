package auth

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func TestKeysRotate(t *testing.T) {
	c := newClock()
	p := newIdentityProvider(t, webKey("old", rsaKey()))
	v := newTestJWKS(t, c, JWKSOptions{URL: p.URL + "/keys"})
	before, after := sign(t, jose.RS256, rsaKey(), "old", good(c.now(), nil)), sign(t, jose.RS256, otherKey(), "new", good(c.now(), nil))
	for range 3 {
		if got := outcome(v.Authenticate(bearer(before))); got != "alice" {
			t.Fatal(got)
		}
	}
	if n := p.fetches.Load(); n != 1 {
		t.Errorf("%d fetches for one key", n)
	}
	p.rotate(webKey("new", otherKey()))
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			if got := outcome(v.Authenticate(bearer(after))); got != "alice" {
				t.Errorf("after the change: %s", got)
			}
		})
	}
	all.Wait()
	if n := p.fetches.Load(); n != 2 {
		t.Errorf("%d fetches, want one more for all callers", n-1)
	}
	if got := outcome(v.Authenticate(bearer(before))); got != "invalid" {
		t.Errorf("the key that is gone: %s", got)
	}
}

func TestUnknownKeysAreRemembered(t *testing.T) {
	c := newClock()
	p := newIdentityProvider(t, webKey("rs", rsaKey()))
	v := newTestJWKS(t, c, JWKSOptions{URL: p.URL + "/keys"})
	token := func(kid string) string { return sign(t, jose.RS256, otherKey(), kid, good(c.now(), nil)) }
	ask := func(kid string, want string, fetches int64) {
		t.Helper()
		if got := outcome(v.Authenticate(bearer(token(kid)))); got != want || p.fetches.Load() != fetches {
			t.Errorf("%s: %s with %d fetches, want %s with %d", kid, got, p.fetches.Load(), want, fetches)
		}
	}
	ask("a", "invalid", 1)
	ask("a", "invalid", 1)
	ask("b", "invalid", 2)
	ask("a", "invalid", 2)
	// Made-up ids run out of fetches, and known ones go on.
	for i := range 40 {
		ask(fmt.Sprint("made-up-", i), "invalid", min(int64(3+i), 1+missBurst))
	}
	if got := outcome(v.Authenticate(bearer(sign(t, jose.RS256, rsaKey(), "rs", good(c.now(), nil))))); got != "alice" {
		t.Errorf("meanwhile: %s", got)
	}
	p.rotate(webKey("a", otherKey()))
	c.advance(DefaultNegativeTTL - time.Second)
	ask("a", "invalid", 1+missBurst)
	c.advance(2 * time.Second)
	ask("a", "alice", 2+missBurst)
	for i := range 2 * maxUnknown {
		v.keys.remember(fmt.Sprint(i))
	}
	if n := len(v.keys.unknown); n > maxUnknown {
		t.Errorf("%d key ids are remembered", n)
	}
}

func TestOldKeysAreRenewedBehind(t *testing.T) {
	c := newClock()
	p := newIdentityProvider(t, webKey("rs", rsaKey()))
	v := newTestJWKS(t, c, JWKSOptions{URL: p.URL + "/keys", CacheTTL: time.Minute})
	fetched := make(chan bool, 10)
	token := func() string {
		return sign(t, jose.RS256, rsaKey(), "rs", good(c.now(), map[string]any{"exp": c.now().Add(time.Hour).Unix()}))
	}
	if got := outcome(v.Authenticate(bearer(token()))); got != "alice" {
		t.Fatal(got)
	}
	// The provider is down: keys that are known go on for a day, and no longer.
	p.answer("/keys", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fetched <- true
	})
	c.advance(2 * time.Minute)
	for range 5 {
		if got := outcome(v.Authenticate(bearer(token()))); got != "alice" {
			t.Errorf("with an old key: %s", got)
		}
	}
	<-fetched
	if len(fetched) > 0 {
		t.Error("each request has the keys fetched")
	}
	c.advance(maxStale)
	if got := outcome(v.Authenticate(bearer(token()))); got != "unavailable" {
		t.Errorf("with a key of yesterday: %s", got)
	}
	p.answer("/keys", nil)
	if got := outcome(v.Authenticate(bearer(token()))); got != "alice" {
		t.Errorf("the provider is back: %s", got)
	}
}

func TestDiscovery(t *testing.T) {
	c := newClock()
	p := newIdentityProvider(t, webKey("rs", rsaKey()))
	for name, test := range map[string]struct {
		path, at, doc string // what the issuer's path is, and what is found where
		want          string
	}{
		"OpenID":                 {"", "/.well-known/openid-configuration", `{"issuer":"URL","jwks_uri":"URL/keys"}`, "alice"},
		"OpenID with a path":     {"/realms/one", "/realms/one/.well-known/openid-configuration", `{"issuer":"URL/realms/one","jwks_uri":"URL/keys"}`, "alice"},
		"a slash at the end":     {"/", "/.well-known/openid-configuration", `{"issuer":"URL/","jwks_uri":"URL/keys"}`, "alice"},
		"RFC 8414":               {"", "/.well-known/oauth-authorization-server", `{"issuer":"URL","jwks_uri":"URL/keys"}`, "alice"},
		"RFC 8414 with a path":   {"/one", "/.well-known/oauth-authorization-server/one", `{"issuer":"URL/one","jwks_uri":"URL/keys"}`, "alice"},
		"another issuer":         {"", "/.well-known/openid-configuration", `{"issuer":"https://evil.example.com","jwks_uri":"URL/keys"}`, "unavailable"},
		"keys without TLS":       {"", "/.well-known/openid-configuration", `{"issuer":"URL","jwks_uri":"http://id.example.com/keys"}`, "unavailable"},
		"keys with a password":   {"", "/.well-known/openid-configuration", `{"issuer":"URL","jwks_uri":"https://u:p@id.example.com/keys"}`, "unavailable"},
		"no keys":                {"", "/.well-known/openid-configuration", `{"issuer":"URL"}`, "unavailable"},
		"no JSON":                {"", "/.well-known/openid-configuration", `<html>`, "unavailable"},
		"nothing to be found at": {"", "/elsewhere", `{}`, "unavailable"},
	} {
		p.mu.Lock()
		clear(p.serve)
		p.mu.Unlock()
		p.answer(test.at, says(strings.ReplaceAll(test.doc, "URL", p.URL)))
		v := newTestJWKS(t, c, JWKSOptions{Issuer: p.URL + test.path})
		token := sign(t, jose.RS256, rsaKey(), "rs", good(c.now(), map[string]any{"iss": p.URL + test.path}))
		if got := outcome(v.Authenticate(bearer(token))); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestProvidersThatFail(t *testing.T) {
	c := newClock()
	elsewhere := newIdentityProvider(t, webKey("rs", rsaKey()))
	release := make(chan bool)
	for name, h := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"no keys":  says(`{}`),
		"too much": says(`{"keys":[],"x":"` + strings.Repeat("x", maxAnswer) + `"}`),
		"too slow": func(http.ResponseWriter, *http.Request) { <-release },
		"another host": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/keys", http.StatusFound)
		},
		"in a circle": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/keys", http.StatusFound) },
		"another host, forever": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/keys", http.StatusPermanentRedirect)
		},
	} {
		p := newIdentityProvider(t)
		p.answer("/keys", h)
		v := newTestJWKS(t, c, JWKSOptions{URL: p.URL + "/keys", HTTPTimeout: map[bool]time.Duration{true: 50 * time.Millisecond}[name == "too slow"]})
		if got := outcome(v.Authenticate(bearer(sign(t, jose.RS256, rsaKey(), "rs", good(c.now(), nil))))); got != "unavailable" {
			t.Errorf("%s: %s", name, got)
		}
	}
	close(release)
	if n := elsewhere.fetches.Load(); n != 0 {
		t.Errorf("a redirect to another host has been followed %d times", n)
	}
	p := newIdentityProvider(t, webKey("rs", rsaKey()))
	p.answer("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/keys", http.StatusFound) })
	v := newTestJWKS(t, c, JWKSOptions{URL: p.URL + "/moved"})
	if got := outcome(v.Authenticate(bearer(sign(t, jose.RS256, rsaKey(), "rs", good(c.now(), nil))))); got != "alice" {
		t.Errorf("a redirect on the same host: %s", got)
	}
}

// A caller that leaves ends nothing for the others, and closing ends everything.
func TestLeavingAndClosing(t *testing.T) {
	c := newClock()
	p := newIdentityProvider(t, webKey("rs", rsaKey()))
	asked, release := make(chan bool, 1), make(chan bool)
	p.answer("/keys", func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		select {
		case <-release:
		case <-r.Context().Done():
		}
		w.Write(keySetOf(webKey("rs", rsaKey())))
	})
	v := newTestJWKS(t, c, JWKSOptions{URL: p.URL + "/keys"})
	r := bearer(sign(t, jose.RS256, rsaKey(), "rs", good(c.now(), nil)))
	ctx, leave := context.WithCancel(t.Context())
	stays := make(chan string, 1)
	left := make(chan string, 1)
	go func() { left <- outcome(v.Authenticate(r.WithContext(ctx))) }()
	<-asked
	go func() { stays <- outcome(v.Authenticate(r)) }()
	leave()
	if got := <-left; got != "unavailable" {
		t.Errorf("who left: %s", got)
	}
	close(release)
	if got := <-stays; got != "alice" {
		t.Errorf("who stayed: %s", got)
	}
	v.Close()
	if err := v.keys.fetch(t.Context(), 1, false); err == nil {
		t.Error("a closed validator fetches keys")
	}
}

// What fails for every request is told once, with what is needed to mend it.
func TestAFailingProviderIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	p := newProvider("jwks", 0, slog.New(slog.NewTextHandler(&log, nil)))
	defer p.close()
	for _, err := range []error{errTooLarge, errTooLarge, nil, nil, errRedirect} {
		p.run(func(context.Context) error { return err })
	}
	if n := strings.Count(log.String(), "cannot be asked"); n != 2 || strings.Count(log.String(), "answers again") != 1 || !strings.Contains(log.String(), "validator=jwks") {
		t.Errorf("logged:\n%s", log.String())
	}
}
