package conformance

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"a2aserve/conformance/vector"
	"a2aserve/impl/app"

	"github.com/go-jose/go-jose/v4"
)

// request is one operation as each binding has it on the wire.
type request struct{ method, path, rpc, params string }

var requests = map[string]request{
	"send":      {"POST", "/message:send", "SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo hi"}]},"configuration":{"returnImmediately":true}}`},
	"stream":    {"POST", "/message:stream", "SendStreamingMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo hi"}]}}`},
	"get":       {"GET", "/tasks/ID", "GetTask", `{"id":"ID"}`},
	"list":      {"GET", "/tasks", "ListTasks", `{}`},
	"cancel":    {"POST", "/tasks/ID:cancel", "CancelTask", `{"id":"ID"}`},
	"subscribe": {"POST", "/tasks/ID:subscribe", "SubscribeToTask", `{"id":"ID"}`},
}

// operate sends an operation with the headers that are given, in pairs.
func operate(t *testing.T, target *vector.Target, b vector.Binding, what, id string, header ...string) (*http.Response, string) {
	t.Helper()
	r := requests[what]
	method, path, body := "POST", target.RPC, `{"jsonrpc":"2.0","id":7,"method":"`+r.rpc+`","params":`+r.params+`}`
	if b == vector.REST {
		if method, path, body = r.method, target.REST+r.path, r.params; method == "GET" || strings.Contains(path, "ID") {
			body = ""
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, target.Origin+strings.ReplaceAll(path, "ID", id), strings.NewReader(strings.ReplaceAll(body, "ID", id)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := target.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(answer)
}

// shape says whether a refusal is one of the binding.
func shape(b vector.Binding, status int, body string) bool {
	if b == vector.JSONRPC {
		return strings.HasPrefix(body, `{"jsonrpc":"2.0","id":`) && strings.Contains(body, `"error":{"code":-32000,`) && strings.Contains(body, `"domain":"a2aserve"`)
	}
	return strings.HasPrefix(body, fmt.Sprintf(`{"error":{"code":%d,"status":`, status)) && strings.Contains(body, `"domain":"a2aserve"`)
}

// logged is a log that may be read while the server still writes.
type logged struct {
	mu sync.Mutex // guards buf
	bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

func (l *logged) options() app.Options {
	return app.Options{Log: slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))}
}

// lacks fails where a secret is in the log.
func (l *logged) lacks(t *testing.T, secrets ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range secrets {
		if strings.Contains(l.String(), s) {
			t.Errorf("a credential is in the log: %s", s)
		}
	}
	if !strings.Contains(l.String(), "request") {
		t.Error("the log is empty")
	}
}

const bare, badToken = `Bearer realm="a2aserve"`, `Bearer realm="a2aserve", error="invalid_token"`

// AU-01, AU-09: who is not known gets 401, in the binding's shape, on every operation.
func TestUnauthenticated(t *testing.T) {
	log := &logged{}
	target, stop := startWith(t, filepath.Join(t.TempDir(), "tasks.db"), tokens, log.options())
	defer stop()
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		id := send(t, target, b, say("echo hi")).ID
		for name, test := range map[string]struct {
			header    []string
			challenge string
		}{
			"no header":       {nil, bare},
			"bad token":       {[]string{"Authorization", "Bearer sesame-bad"}, badToken},
			"no token":        {[]string{"Authorization", "Bearer"}, badToken},
			"another scheme":  {[]string{"Authorization", "Basic dG9rLWE="}, bare},
			"two headers":     {[]string{"Authorization", "Bearer tok-a", "Authorization", "Bearer tok-a"}, badToken},
			"two other users": {[]string{"Authorization", "Bearer tok-a", "Authorization", "Bearer tok-b"}, badToken},
			"cookie":          {[]string{"Cookie", "access_token=tok-a; Authorization=Bearer tok-a"}, bare},
		} {
			for what := range requests {
				res, body := operate(t, target, b, what, id, test.header...)
				if res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") != test.challenge || !shape(b, 401, body) || !strings.HasSuffix(res.Header.Get("Content-Type"), "json") {
					t.Errorf("%s, %s: %d %v %s", name, what, res.StatusCode, res.Header, body)
				}
			}
		}
		for _, value := range []string{"bearer tok-a", "BEARER  tok-a", "Bearer tok-a "} {
			if res, body := operate(t, target, b, "get", id, "Authorization", value); res.StatusCode != 200 {
				t.Errorf("%q: %d %s", value, res.StatusCode, body)
			}
		}
	})
	res, _ := post(t, target, target.REST+"/tasks?access_token=tok-a", "application/json", "", strings.NewReader(""))
	if res.StatusCode != 401 {
		t.Errorf("a token in the query: %d", res.StatusCode)
	}
	log.lacks(t, "tok-a", "tok-b", "sesame-bad", "dG9rLWE")
}

var perRequest = regexp.MustCompile(`"timestamp":"[^"]*"|"id":(7|null)`)

// AU-02: a refusal is the same whatever the request was about.
func TestRefusalsAreTheSameWhateverWasAsked(t *testing.T) {
	target := serve(t, tokens)
	id := send(t, target, vector.REST, say("slow 60000 x", "", now)).ID
	for _, token := range []string{"", "Bearer bad"} {
		first := map[string]string{}
		see := func(path, body string) {
			t.Helper()
			res, answer := post(t, target, path, "application/json", token, strings.NewReader(body))
			got := fmt.Sprint(res.StatusCode, res.Header.Get("WWW-Authenticate"), perRequest.ReplaceAllString(string(answer), ""))
			kind := path[:4]
			if strings.HasPrefix(path, target.REST) {
				kind = "rest"
			}
			if first[kind] == "" {
				first[kind] = got
			}
			if first[kind] != got || res.StatusCode != 401 {
				t.Errorf("%s %.40s: %s\nwant %s", path, body, got, first[kind])
			}
		}
		for _, body := range []string{"{", "", `{"jsonrpc":"2.0","id":7,"method":"Nope"}`, `{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"` + id + `"}}`,
			`{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"nope"}}`, strings.Repeat(" ", 5<<20)} {
			see(target.RPC, body)
		}
		for _, b := range bindings {
			res, answer := operate(t, target, b, "get", id, "Authorization", token, "A2A-Version", "9.9")
			if res.StatusCode != 401 || strings.Contains(answer, "VERSION") {
				t.Errorf("a version that is not served: %d %s", res.StatusCode, answer)
			}
		}
		for _, path := range []string{"/message:send", "/tasks/" + id + ":cancel", "/tasks/nope:cancel", "/nope", "/tasks/" + id + ":subscribe", "/tasks/nope:subscribe", "/tasks?A2A-Version=0.3"} {
			see(target.REST+path, "{")
		}
	}
	if got := get(t, target, vector.REST, id); got.Status.State == "TASK_STATE_CANCELED" {
		t.Error("a refused request has cancelled the task")
	}
	target.Call(t.Context(), vector.REST, "CancelTask", "alice", `{"id":"`+id+`"}`)
}

// AU-06: scopes are asked for by class of operations.
func TestRequiredScopes(t *testing.T) {
	target := serve(t, `
auth:
  validators:
    - type: static
      tokens:
        - {token: tok-a, principal: alice, scopes: ["tasks:read", "tasks:send", "beta"]}
        - {token: tok-r, principal: alice, scopes: ["tasks:read"]}
        - {token: tok-0, principal: alice}
  required_scopes: {read: ["tasks:read"], send: ["tasks:send", beta], cancel: ["tasks:cancel"]}
`)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		id := send(t, target, b, say("echo hi")).ID
		for what, scope := range map[string]string{"send": "tasks:send beta", "stream": "tasks:send beta", "cancel": "tasks:cancel"} {
			for _, task := range []string{id, "nope"} {
				res, body := operate(t, target, b, what, task, "Authorization", "Bearer tok-r")
				want := `Bearer realm="a2aserve", error="insufficient_scope", scope="` + scope + `"`
				if res.StatusCode != 403 || res.Header.Get("WWW-Authenticate") != want || !shape(b, 403, body) || !strings.Contains(body, scope) {
					t.Errorf("%s: %d %v %s", what, res.StatusCode, res.Header, body)
				}
				if b == vector.JSONRPC && !strings.Contains(body, `"id":7,`) {
					t.Errorf("%s: the answer does not name the request: %s", what, body)
				}
			}
		}
		for _, what := range []string{"get", "list", "subscribe"} {
			if res, body := operate(t, target, b, what, id, "Authorization", "Bearer tok-0"); res.StatusCode != 403 {
				t.Errorf("%s: %d %s", what, res.StatusCode, body)
			}
			if res, body := operate(t, target, b, what, id, "Authorization", "Bearer tok-r"); res.StatusCode != 200 || strings.Contains(body, `"error"`) {
				t.Errorf("%s: %d %s", what, res.StatusCode, body)
			}
		}
		_, body := operate(t, target, b, "get", "nope", "Authorization", "Bearer tok-r")
		if !strings.Contains(body, "TASK_NOT_FOUND") {
			t.Errorf("an unknown task: %s", body)
		}
	})
}

func oidcConfig(p *openID, more string) string {
	return fmt.Sprintf(`
auth:
  validators:
    - type: jwks
      issuer: %s
      audience: a2a
      principal_claim: sub
      clock_skew: 0s
%s
  required_scopes: {read: ["tasks:read"], send: ["tasks:send"]}
`, p.issuer, more)
}

func authorization(token string) []string { return []string{"Authorization", "Bearer " + token} }

// A real OpenID provider's tokens, found by its issuer alone.
func TestOpenIDProvider(t *testing.T) {
	p := newOpenID(t)
	log := &logged{}
	target, stop := startWith(t, filepath.Join(t.TempDir(), "tasks.db"), oidcConfig(p, ""), log.options())
	defer stop()
	token := p.token(t, "service-a", "tasks:read", "tasks:send")
	reader := p.token(t, "service-a", "tasks:read")
	other := p.token(t, "service-b", "tasks:read", "tasks:send")
	target.Tokens["alice"] = token
	claims := func(change ...string) string {
		return strings.NewReplacer(change...).Replace(fmt.Sprintf(`{"iss":%q,"aud":["a2a"],"sub":"service-a","scope":"tasks:read tasks:send","exp":%d}`, p.issuer, time.Now().Add(time.Hour).Unix()))
	}
	p.set(func() { p.audience = []string{"billing"} })
	wrongAudience := p.token(t, "service-a", "tasks:read", "tasks:send")
	p.set(func() { p.audience, p.lifetime = []string{"billing", "a2a"}, -time.Minute })
	expired := p.token(t, "service-a", "tasks:read", "tasks:send")
	public, err := x509.MarshalPKIXPublicKey(&p.keys[0].key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	asSecret := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	encode := base64.RawURLEncoding.EncodeToString
	bad := map[string]string{
		"expired": expired, "wrong audience": wrongAudience,
		"wrong issuer":          p.signed(t, jose.RS256, nil, claims(p.issuer, "https://evil.example.com")),
		"another's signature":   p.signed(t, jose.RS256, newKey(t).key, claims()),
		"HMAC by public key":    p.signed(t, jose.HS256, asSecret, claims()),
		"alg none":              encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(claims())) + ".",
		"no signature":          token[:strings.LastIndexByte(token, '.')+1],
		"an algorithm not used": p.signed(t, jose.RS512, nil, claims()),
		"opaque":                "sesame-bad",
	}
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		id := send(t, target, b, say("echo hi")).ID
		if got := get(t, target, b, id); got.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("got %+v", got)
		}
		for name, token := range bad {
			for what := range requests {
				res, body := operate(t, target, b, what, id, authorization(token)...)
				if res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") != badToken || !shape(b, 401, body) {
					t.Errorf("%s, %s: %d %v %s", name, what, res.StatusCode, res.Header, body)
				}
			}
		}
		if res, body := operate(t, target, b, "send", "", authorization(reader)...); res.StatusCode != 403 || !strings.Contains(res.Header.Get("WWW-Authenticate"), `scope="tasks:send"`) {
			t.Errorf("a reader sends: %d %s", res.StatusCode, body)
		}
		// The principal owns the task, not the token.
		if _, body := operate(t, target, b, "get", id, authorization(reader)...); !strings.Contains(body, "TASK_STATE_COMPLETED") {
			t.Errorf("another token of the same service: %s", body)
		}
		if _, body := operate(t, target, b, "get", id, authorization(other)...); !strings.Contains(body, "TASK_NOT_FOUND") {
			t.Errorf("another service: %s", body)
		}
	})
	if n := p.fetches.Load(); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
	all := []string{token, reader, other}
	for _, s := range bad {
		all = append(all, s)
	}
	log.lacks(t, all...)
}

// Keys may change while the server runs.
func TestProviderRotatesItsKeys(t *testing.T) {
	p := newOpenID(t)
	target := serve(t, oidcConfig(p, ""))
	for _, b := range bindings {
		token := p.token(t, "service-a", "tasks:read")
		if res, body := operate(t, target, b, "list", "", authorization(token)...); res.StatusCode != 200 {
			t.Fatalf("%d %s", res.StatusCode, body)
		}
		p.rotate(t)
		after := p.token(t, "service-a", "tasks:read")
		if res, body := operate(t, target, b, "list", "", authorization(after)...); res.StatusCode != 200 {
			t.Errorf("a new key: %d %s", res.StatusCode, body)
		}
		if res, _ := operate(t, target, b, "list", "", authorization(token)...); res.StatusCode != 401 {
			t.Errorf("a key that is gone: %d", res.StatusCode)
		}
	}
}

// A provider that cannot be asked says nothing of the token: 503, and no challenge.
func TestProviderDown(t *testing.T) {
	elsewhere := newOpenID(t)
	release := make(chan bool)
	for name, temper := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"refuses": nil,
		"slow": func(_ http.ResponseWriter, r *http.Request) bool {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return true
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, elsewhere.issuer+r.URL.Path, http.StatusFound)
			return true
		},
		"floods": func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/keys" {
				return false
			}
			io.WriteString(w, `{"keys":[],"x":"`+strings.Repeat("x", 1<<20)+`"}`)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newOpenID(t)
			token := p.token(t, "service-a", "tasks:read")
			p.set(func() { p.temper = temper })
			if temper == nil {
				p.server.Close()
			}
			target := serve(t, oidcConfig(p, "      http_timeout: 200ms"))
			for _, b := range bindings {
				res, body := operate(t, target, b, "list", "", authorization(token)...)
				if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || res.Header.Get("WWW-Authenticate") != "" || !shape(b, 503, body) {
					t.Errorf("%d %v %s", res.StatusCode, res.Header, body)
				}
				// What is wrong in itself is told all the same.
				if res, _ := operate(t, target, b, "list", "", authorization("opaque")...); res.StatusCode != 401 {
					t.Errorf("a bad token: %d", res.StatusCode)
				}
			}
		})
	}
	close(release)
	if elsewhere.fetches.Load() != 0 {
		t.Error("keys were taken from where the provider redirects to")
	}
}

// Introspection learns of a revoked token; a chain falls back on it.
func TestIntrospectionBehindSignedTokens(t *testing.T) {
	p := newOpenID(t)
	t.Setenv("TEST_GATEWAY_SECRET", gatewaySecret)
	log := &logged{}
	yaml := oidcConfig(p, fmt.Sprintf(`
    - type: introspect
      introspection_url: %s/oauth/introspect
      client_id: %s
      client_secret_env: TEST_GATEWAY_SECRET
      audience: [a2a]
      principal_claim: sub
      cache_ttl: 0s
      negative_cache_ttl: 0s
`, p.issuer, gatewayID))
	target, stop := startWith(t, filepath.Join(t.TempDir(), "tasks.db"), yaml, log.options())
	defer stop()
	var seen []string
	for _, b := range bindings {
		p.set(func() { p.opaque = true })
		token := p.token(t, "service-a", "tasks:read", "tasks:send")
		p.set(func() { p.opaque = false })
		signed := p.token(t, "service-a", "tasks:read")
		seen = append(seen, token, signed)
		target.Tokens["alice"] = token
		id := send(t, target, b, say("echo hi")).ID
		// Two validators that name one principal mean one principal.
		if _, body := operate(t, target, b, "get", id, authorization(signed)...); !strings.Contains(body, id) {
			t.Errorf("the same principal by another validator: %s", body)
		}
		p.revoke(t, token)
		if res, body := operate(t, target, b, "get", id, authorization(token)...); res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") != badToken {
			t.Errorf("a revoked token: %d %s", res.StatusCode, body)
		}
		p.set(func() {
			p.temper = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return true }
		})
		if res, body := operate(t, target, b, "get", id, authorization(token)...); res.StatusCode != 503 || res.Header.Get("WWW-Authenticate") != "" {
			t.Errorf("the provider fails: %d %s", res.StatusCode, body)
		}
		if res, body := operate(t, target, b, "get", id); res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") != bare {
			t.Errorf("no token, the provider fails: %d %s", res.StatusCode, body)
		}
		p.set(func() { p.temper = nil })
	}
	log.lacks(t, append(seen, gatewaySecret, "gate%3Away%2Fsecret")...)
}

// from makes all connections of a listener come from one address.
type from struct {
	net.Listener
	addr net.Addr
}

type fromConn struct {
	net.Conn
	addr net.Addr
}

func (l from) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return fromConn{c, l.addr}, nil
}

func (c fromConn) RemoteAddr() net.Addr { return c.addr }

func startFrom(t *testing.T, addr, yaml string) *vector.Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	peer, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	target, stop := startWith(t, filepath.Join(t.TempDir(), "tasks.db"), yaml, app.Options{Log: quiet(), Listener: from{l, peer}})
	t.Cleanup(stop)
	return target
}

// Guessing is slowed down before any validator is asked.
func TestFailedLoginsAreSlowed(t *testing.T) {
	yaml := strings.TrimRight(tokens, "\n") + "\n  max_failures_per_minute: 3\n"
	target := startFrom(t, "192.0.2.7:4000", yaml)
	for i := range 5 {
		b := bindings[i%2]
		res, body := operate(t, target, b, "list", "", authorization("guess")...)
		want := map[bool]int{true: 401, false: 429}[i < 3]
		if res.StatusCode != want || !shape(b, want, body) || (res.Header.Get("Retry-After") != "") != (want == 429) {
			t.Errorf("guess %d: %d %v %s", i, res.StatusCode, res.Header, body)
		}
	}
	if res, _ := operate(t, target, vector.REST, "list", "", authorization("tok-a")...); res.StatusCode != 429 {
		t.Errorf("the right token among guesses: %d", res.StatusCode)
	}
	// On this machine there is a proxy, or somebody who could do worse.
	local := serve(t, yaml)
	for range 6 {
		if res, _ := operate(t, local, vector.REST, "list", "", authorization("guess")...); res.StatusCode != 401 {
			t.Errorf("from this machine: %d", res.StatusCode)
		}
	}
}

const proxied = `
auth:
  validators:
    - type: proxy_headers
      trusted_proxy_cidrs: ["192.0.2.0/24"]
      principal_header: X-User
      scopes_header: X-Scopes
  required_scopes: {send: [send]}
`

// A proxy that authenticates callers is believed, where it is; the card promises nothing.
func TestProxyHeaders(t *testing.T) {
	trusted, stranger := startFrom(t, "192.0.2.7:4000", proxied), startFrom(t, "198.51.100.7:4000", proxied)
	for _, b := range bindings {
		if res, body := operate(t, trusted, b, "send", "", "X-User", "alice", "X-Scopes", "read,send"); res.StatusCode != 200 {
			t.Errorf("%d %s", res.StatusCode, body)
		}
		if res, _ := operate(t, trusted, b, "send", "", "X-User", "alice"); res.StatusCode != 403 {
			t.Errorf("without the scope: %d", res.StatusCode)
		}
		if res, _ := operate(t, trusted, b, "list", "", "X-User", "alice", "X-User", "bob"); res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") != badToken {
			t.Errorf("twice: %d", res.StatusCode)
		}
		if res, _ := operate(t, stranger, b, "list", "", "X-User", "alice", "X-Forwarded-For", "192.0.2.7"); res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") != bare {
			t.Errorf("from elsewhere: %d", res.StatusCode)
		}
	}
	if card := cardOf(t, trusted); strings.Contains(card, "security") {
		t.Errorf("the card promises what no client can do: %s", card)
	}
}

func cardOf(t *testing.T, target *vector.Target) string {
	t.Helper()
	res, err := target.Client.Get(target.Origin + "/.well-known/agent-card.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What is declared is what is enforced.
func TestCardDeclaresTheChain(t *testing.T) {
	p := newOpenID(t)
	card := cardOf(t, serve(t, oidcConfig(p, "    - type: static\n      tokens: [{token: tok-a, principal: alice}]")))
	for _, want := range []string{`"jwt":{"httpAuthSecurityScheme":{`, `"bearerFormat":"JWT"`, `"scheme":"Bearer"`, p.issuer, `"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}`,
		`"securityRequirements":[{"schemes":{"jwt":{}}},{"schemes":{"bearer":{}}}]`} {
		if !strings.Contains(card, want) {
			t.Errorf("%s is not in %s", want, card)
		}
	}
}
