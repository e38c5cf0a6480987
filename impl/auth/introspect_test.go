package auth

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func newTestIntrospect(t *testing.T, c *clock, o IntrospectOptions) *Introspect {
	t.Helper()
	if o.Claims == (Claims{}) {
		o.Claims = testClaims
	}
	o.ClientID, o.ClientSecret, o.Log = "a2a server", "s3cr:t/", silent
	v, err := NewIntrospect(o)
	if err != nil {
		t.Fatal(err)
	}
	v.now = c.now
	t.Cleanup(v.Close)
	return v
}

func TestIntrospection(t *testing.T) {
	c := newClock()
	p := newIdentityProvider(t)
	now := c.now().Unix()
	for name, test := range map[string]struct{ answer, want string }{
		"active":             {`{"active":true,"sub":"alice","scope":"read send","org":"acme"}`, "alice"},
		"inactive":           {`{"active":false,"sub":"alice"}`, "invalid"},
		"active as text":     {`{"active":"true","sub":"alice"}`, "invalid"},
		"active as a number": {`{"active":1,"sub":"alice"}`, "invalid"},
		"no active":          {`{"sub":"alice"}`, "invalid"},
		"expired":            {fmt.Sprintf(`{"active":true,"sub":"alice","exp":%d}`, now-1), "invalid"},
		"odd expiry":         {`{"active":true,"sub":"alice","exp":"soon"}`, "invalid"},
		"no principal":       {`{"active":true}`, "invalid"},
		"odd scopes":         {`{"active":true,"sub":"alice","scope":{}}`, "invalid"},
		"no JSON":            {`<html>`, "unavailable"},
		"a list":             {`[]`, "unavailable"},
		"a name twice":       {`{"active":true,"sub":"alice","sub":"bob"}`, "unavailable"},
	} {
		p.answer("/introspect", says(test.answer))
		v := newTestIntrospect(t, c, IntrospectOptions{URL: p.URL + "/introspect"})
		if got := outcome(v.Authenticate(bearer("opaque"))); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	p.answer("/introspect", says(`{"active":true,"sub":7,"scope":["a","b"],"aud":["x","y"]}`))
	v := newTestIntrospect(t, c, IntrospectOptions{URL: p.URL + "/introspect", Audience: []string{"y"}})
	if who, err := v.Authenticate(bearer("opaque")); err != nil || who.ID != "7" || !slices.Equal(who.Scopes, []string{"a", "b"}) {
		t.Errorf("%+v %v", who, err)
	}
	v = newTestIntrospect(t, c, IntrospectOptions{URL: p.URL + "/introspect", Audience: []string{"z"}})
	if got := outcome(v.Authenticate(bearer("opaque"))); got != "invalid" {
		t.Errorf("another audience: %s", got)
	}
	if got := outcome(v.Authenticate(bearer(""))); got != "none" {
		t.Errorf("no token: %s", got)
	}
}

func TestIntrospectionRequest(t *testing.T) {
	c := newClock()
	p := newIdentityProvider(t)
	var form url.Values
	var header http.Header
	p.answer("/introspect", func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		form, header = r.PostForm, r.Header.Clone()
		fmt.Fprint(w, `{"active":true,"sub":"alice"}`)
	})
	ask := func(o IntrospectOptions) {
		t.Helper()
		o.URL = p.URL + "/introspect"
		if got := outcome(newTestIntrospect(t, c, o).Authenticate(bearer("opaque"))); got != "alice" {
			t.Error(got)
		}
	}
	ask(IntrospectOptions{TokenHint: "access_token"})
	user, secret, _ := (&http.Request{Header: header}).BasicAuth()
	if form.Encode() != "token=opaque&token_type_hint=access_token" || user != "a2a+server" || secret != "s3cr%3At%2F" {
		t.Errorf("basic: %v %s:%s", form, user, secret)
	}
	ask(IntrospectOptions{ClientAuth: ClientPost})
	if form.Encode() != "client_id=a2a+server&client_secret=s3cr%3At%2F&token=opaque" || header.Get("Authorization") != "" {
		t.Errorf("post: %v %v", form, header)
	}
}

func TestIntrospectionIsRemembered(t *testing.T) {
	c := newClock()
	p := newIdentityProvider(t)
	v := newTestIntrospect(t, c, IntrospectOptions{URL: p.URL + "/introspect", ActiveTTL: time.Minute, InactiveTTL: 30 * time.Second})
	ask := func(token, want string, asked int64) {
		t.Helper()
		if got := outcome(v.Authenticate(bearer(token))); got != want || p.fetches.Load() != asked {
			t.Errorf("%s: %s after %d questions, want %s after %d", token, got, p.fetches.Load(), want, asked)
		}
	}
	p.answer("/introspect", says(`{"active":true,"sub":"alice"}`))
	ask("good", "alice", 1)
	ask("good", "alice", 1)
	p.answer("/introspect", says(`{"active":false}`))
	ask("good", "alice", 1) // revoked, which shows once the answer is old
	ask("bad", "invalid", 2)
	ask("bad", "invalid", 2)
	c.advance(31 * time.Second)
	ask("bad", "invalid", 3)
	c.advance(30 * time.Second)
	ask("good", "invalid", 4)
	// A token's own end comes before that of the answer.
	p.answer("/introspect", says(fmt.Sprintf(`{"active":true,"sub":"alice","exp":%d}`, c.now().Unix()+10)))
	ask("short", "alice", 5)
	c.advance(11 * time.Second)
	ask("short", "invalid", 6)
	// No answer is not remembered.
	p.answer("/introspect", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	ask("late", "unavailable", 7)
	p.answer("/introspect", says(`{"active":true,"sub":"alice"}`))
	ask("late", "alice", 8)
	for i := range 2 * maxActive {
		v.active.put([32]byte{byte(i), byte(i >> 8)}, who("x"), c.now(), c.now().Add(time.Minute))
	}
	if n := len(v.active.entries); n > maxActive {
		t.Errorf("%d answers are remembered", n)
	}
}

func TestOneQuestionForAll(t *testing.T) {
	c := newClock()
	p := newIdentityProvider(t)
	asked, release := make(chan bool), make(chan bool)
	p.answer("/introspect", func(w http.ResponseWriter, _ *http.Request) {
		asked <- true
		<-release
		fmt.Fprint(w, `{"active":true,"sub":"alice"}`)
	})
	v := newTestIntrospect(t, c, IntrospectOptions{URL: p.URL + "/introspect", ActiveTTL: time.Minute})
	var all sync.WaitGroup
	one := func() {
		if got := outcome(v.Authenticate(bearer("opaque"))); got != "alice" {
			t.Error(got)
		}
	}
	all.Go(one)
	<-asked
	for range 20 {
		all.Go(one)
	}
	close(release)
	all.Wait()
	if n := p.fetches.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// A redirect would hand the token and the server's secret to somebody else.
func TestIntrospectionIsNotRedirected(t *testing.T) {
	c := newClock()
	elsewhere := newIdentityProvider(t)
	p := newIdentityProvider(t)
	for _, to := range []string{elsewhere.URL + "/introspect", "/other"} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			p.answer("/introspect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) })
			p.answer("/other", says(`{"active":true,"sub":"mallory"}`))
			v := newTestIntrospect(t, c, IntrospectOptions{URL: p.URL + "/introspect"})
			if got := outcome(v.Authenticate(bearer("opaque"))); got != "unavailable" {
				t.Errorf("%d to %s: %s", status, to, got)
			}
		}
	}
	if n := elsewhere.fetches.Load(); n != 0 {
		t.Errorf("followed %d times", n)
	}
}

func TestNewIntrospectRefuses(t *testing.T) {
	base := IntrospectOptions{URL: "https://id.example.com/i", ClientID: "a", ClientSecret: "hush", Claims: testClaims}
	for name, change := range map[string]func(*IntrospectOptions){
		"no secret":    func(o *IntrospectOptions) { o.ClientSecret = "" },
		"no client":    func(o *IntrospectOptions) { o.ClientID = "" },
		"no principal": func(o *IntrospectOptions) { o.Claims = Claims{} },
		"client auth":  func(o *IntrospectOptions) { o.ClientAuth = "tls" },
		"long ttl":     func(o *IntrospectOptions) { o.ActiveTTL = 16 * time.Minute },
		"http":         func(o *IntrospectOptions) { o.URL = "http://id.example.com/i" },
		"password":     func(o *IntrospectOptions) { o.URL = "https://u:hush@id.example.com/i" },
	} {
		o := base
		change(&o)
		if _, err := NewIntrospect(o); err == nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), base64.StdEncoding.EncodeToString([]byte("a:hush"))) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
