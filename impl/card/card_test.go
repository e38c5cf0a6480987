package card_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/config"
	"a2aserve/gen/op"
	"a2aserve/impl/card"
	"a2aserve/impl/decode"

	"github.com/go-json-experiment/json"
)

func options() card.Options {
	return card.Options{
		Card: &config.Card{Name: "Research agent", Description: "Runs research turns – with sources.", Version: "1.2.0",
			Skills: []config.Skill{{ID: "research", Name: "Research", Description: "Searches and sums up."}}},
		BaseURL: "https://agent.example.com", JSONRPCPath: "/a2a", RESTPrefix: "/a2a/v1",
		Wired: func(o *op.Operation) bool {
			return o.Capability != "pushNotifications" && o.Capability != "extendedAgentCard"
		},
		InputModes: []string{"text/plain", "application/json"}, OutputModes: []string{"text/plain"},
	}
}

func build(t *testing.T, o card.Options) (*card.Card, a2a.AgentCard) {
	t.Helper()
	c, err := card.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if bad := decode.Validate("AgentCard", c.JSON()); len(bad) > 0 {
		t.Errorf("the card breaks the schema: %v", bad)
	}
	var out a2a.AgentCard
	if err := json.Unmarshal(c.JSON(), &out); err != nil {
		t.Fatal(err)
	}
	return c, out
}

func TestCardIsDerivedFromWhatIsServed(t *testing.T) {
	c, got := build(t, options())
	want := `{"name":"Research agent","description":"Runs research turns – with sources.",` +
		`"supportedInterfaces":[{"url":"https://agent.example.com/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"},` +
		`{"url":"https://agent.example.com/a2a/v1","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],` +
		`"version":"1.2.0","capabilities":{"streaming":true,"pushNotifications":false,"extendedAgentCard":false},` +
		`"defaultInputModes":["text/plain","application/json"],"defaultOutputModes":["text/plain"],` +
		`"skills":[{"id":"research","name":"Research","description":"Searches and sums up.","tags":["research"]}]}`
	if string(c.JSON()) != want {
		t.Errorf("got\n%s\nwant\n%s", c.JSON(), want)
	}
	if got.SecuritySchemes != nil || got.SecurityRequirements != nil {
		t.Error("no authentication, but a scheme is declared")
	}

	o := options()
	o.Schemes, o.Requirements = bearer()
	o.Wired = func(o *op.Operation) bool { return o.Capability == "" }
	o.Card.Provider = &config.Provider{Organization: "Example"}
	o.Card.DefaultInputModes = []string{"text/markdown"}
	c, got = build(t, o)
	for _, part := range []string{
		`"securitySchemes":{"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}}`,
		`"securityRequirements":[{"schemes":{"bearer":{}}}]`,
		`"streaming":false`, `"defaultInputModes":["text/markdown"]`,
		`"provider":{"url":"https://agent.example.com","organization":"Example"}`,
	} {
		if !strings.Contains(string(c.JSON()), part) {
			t.Errorf("%s is missing in %s", part, c.JSON())
		}
	}
	if len(got.SecurityRequirements) != 1 {
		t.Errorf("got %v", got.SecurityRequirements)
	}
}

// One operation that is not wired takes its capability away.
func TestCapabilityNeedsAllItsOperations(t *testing.T) {
	o := options()
	o.Wired = func(o *op.Operation) bool { return o.Name != "SubscribeToTask" }
	if _, got := build(t, o); *got.Capabilities.Streaming || !*got.Capabilities.PushNotifications {
		t.Errorf("got %v", got.Capabilities)
	}
}

func TestModesAreNeverEmpty(t *testing.T) {
	o := options()
	o.InputModes, o.OutputModes = nil, nil
	if _, got := build(t, o); len(got.DefaultInputModes) != 1 || len(got.DefaultOutputModes) != 1 {
		t.Errorf("got %v and %v", got.DefaultInputModes, got.DefaultOutputModes)
	}
}

func TestCardFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "card.json")
	write := func(text string) card.Options {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o := options()
		o.Card, o.File = nil, path
		return o
	}
	// What the file claims of the server is replaced, and a signature over it left out.
	made, got := build(t, write(`{"name":"N","description":"D","version":"2","defaultInputModes":[],"skills":[{"id":"a","name":"A","description":"d","tags":["t"],
		"securityRequirements":[{"schemes":{"mtls":{}}}]}],"supportedInterfaces":[{"url":"https://wrong.example.com","protocolBinding":"GRPC","protocolVersion":"1.0"}],
		"capabilities":{"pushNotifications":true,"extensions":[{"uri":"x"}]},"securitySchemes":{"mtls":{"mtlsSecurityScheme":{}}},"securityRequirements":[{"schemes":{"mtls":{}}}],
		"signatures":[{"protected":"e30","signature":"AA"}],"preferredTransport":"GRPC"}`))
	if got.Name != "N" || len(got.SupportedInterfaces) != 2 || got.SupportedInterfaces[0].URL != "https://agent.example.com/a2a" ||
		*got.Capabilities.PushNotifications || got.Capabilities.Extensions != nil || got.SecuritySchemes != nil || got.Signatures != nil ||
		got.Skills[0].SecurityRequirements != nil || len(got.DefaultInputModes) != 2 {
		t.Errorf("got %+v", got)
	}
	if w := made.Warnings(); len(w) != 1 || !strings.HasPrefix(w[0], path+": signatures: left out") {
		t.Errorf("the dropped signature: %q", w)
	}

	for text, want := range map[string]string{
		"{\n\"name\": nope}":      path + ":2: not valid JSON: ",
		`["card"]`:                path + ":1: expected a JSON object, the Agent Card",
		`{"name":"a","name":"b"}`: path + ":1: not valid JSON: duplicate object member name",
		`{"name":5,"description":"D","version":"1","skills":[{"id":"a","name":"A","tags":["t"],"description":"d"}]}`:                                                        path + ": name: ",
		`{"name":"N","description":"D","version":"1","skills":[]}`:                                                                                                          path + ": skills: ",
		`{"name":"N","description":"D","version":"1","skills":[{"id":"a","name":"A","tags":["t"]}]}`:                                                                        path + ": skills[0].description: ",
		`{"name":"N","description":"D","version":"1","skills":[{"id":"a","name":"A","description":"d","tags":["t"]},{"id":"a","name":"A","description":"d","tags":["t"]}]}`: path + `: skills[1].id: "a" is also the id of skills[0]`,
	} {
		_, err := card.New(write(text))
		if _, ok := err.(*card.InvalidError); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	o := options()
	o.Card, o.File = nil, filepath.Join(t.TempDir(), "none.json")
	if _, err := card.New(o); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("got %v", err)
	}
}

// A signature over what is served holds, and is served, at the address that it names.
func TestSignatureThatHoldsIsKept(t *testing.T) {
	plain, _ := build(t, options())
	signed := strings.TrimSuffix(string(plain.JSON()), "}") + `,"signatures":[{"protected":"e30","signature":"AA"}]}`
	path := filepath.Join(t.TempDir(), "card.json")
	if err := os.WriteFile(path, []byte(signed), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Card, o.File = nil, path
	c, got := build(t, o)
	if len(got.Signatures) != 1 || len(c.Warnings()) != 0 {
		t.Errorf("got %v, warnings %q", got.Signatures, c.Warnings())
	}
	if elsewhere := string(c.At("https://other.example.com").JSON); strings.Contains(elsewhere, "signatures") {
		t.Errorf("the signature does not cover %s", elsewhere)
	}
}

// Behind proxies the card names the address that its caller used (CD-01).
func TestCardNamesTheOuterAddress(t *testing.T) {
	o := options()
	o.Card.Provider = &config.Provider{Organization: "Example"}
	o.Base = func(r *http.Request) string { return r.Header.Get("Test-Base") }
	o.Vary = "Forwarded, X-Forwarded-Host"
	c, _ := build(t, o)
	ask := func(base, match string) *http.Response {
		r := httptest.NewRequest("GET", card.Path, nil)
		r.Header.Set("Test-Base", base)
		r.Header.Set("If-None-Match", match)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		return w.Result()
	}
	tags := map[string]bool{}
	for base, want := range map[string]string{"": "https://agent.example.com", "https://one.example.com": "https://one.example.com", "http://two.example.com:81/p": "http://two.example.com:81/p"} {
		for range 2 { // rendered, and from what is kept
			res := ask(base, "")
			var got a2a.AgentCard
			if err := json.UnmarshalRead(res.Body, &got); err != nil {
				t.Fatal(err)
			}
			if got.SupportedInterfaces[0].URL != want+"/a2a" || got.SupportedInterfaces[1].URL != want+"/a2a/v1" || got.Provider.URL != want || res.Header.Get("Vary") != o.Vary {
				t.Errorf("%q: %v %v", base, got, res.Header)
			}
			tags[res.Header.Get("ETag")] = true
			if again := ask(base, res.Header.Get("ETag")); again.StatusCode != 304 || again.Header.Get("Vary") != o.Vary {
				t.Errorf("%q: %d %v", base, again.StatusCode, again.Header)
			}
			if elsewhere := ask("https://three.example.com", res.Header.Get("ETag")); elsewhere.StatusCode != 200 {
				t.Errorf("the tag of %q holds elsewhere", base)
			}
		}
	}
	if len(tags) != 3 {
		t.Errorf("%d tags for three cards", len(tags))
	}
}

// Callers who make up host names cannot fill the memory, nor push out the card's own address.
func TestRenderingsAreBounded(t *testing.T) {
	c, _ := build(t, options())
	own := c.At("")
	first := c.At("https://h0.example.com")
	for i := range 10_000 {
		c.At("https://h" + strconv.Itoa(i) + ".example.com")
	}
	if c.At("https://agent.example.com") != own {
		t.Error("the card's own address was rendered again")
	}
	if again := c.At("https://h0.example.com"); again == first || string(again.JSON) != string(first.JSON) || again.ETag != first.ETag {
		t.Error("every rendering is kept, or a second one differs")
	}
}

// Cases CD-05 and CD-09.
func TestServe(t *testing.T) {
	c, _ := build(t, options())
	etag := c.ETag()
	for _, v := range []struct {
		name, method string
		header       http.Header
		status       int
		body         bool
	}{
		{"plain", "GET", nil, 200, true},
		{"head", "HEAD", nil, 200, false},
		{"fresh", "GET", http.Header{"If-None-Match": {etag}}, 304, false},
		{"fresh head", "HEAD", http.Header{"If-None-Match": {etag}}, 304, false},
		{"weak", "GET", http.Header{"If-None-Match": {"W/" + etag}}, 304, false},
		{"any", "GET", http.Header{"If-None-Match": {"*"}}, 304, false},
		{"one of several", "GET", http.Header{"If-None-Match": {`"old", ` + etag}}, 304, false},
		{"in a second line", "GET", http.Header{"If-None-Match": {`"old"`, etag}}, 304, false},
		{"stale", "GET", http.Header{"If-None-Match": {`"0123"`}}, 200, true},
		{"other version", "GET", http.Header{"A2a-Version": {"0.3"}}, 200, true},
		{"unknown version", "GET", http.Header{"A2a-Version": {"9.9"}}, 200, true},
	} {
		t.Run(v.name, func(t *testing.T) {
			r := httptest.NewRequest(v.method, card.Path, nil)
			r.Header = v.header
			w := httptest.NewRecorder()
			c.ServeHTTP(w, r)
			body, _ := io.ReadAll(w.Body)
			h := w.Result().Header
			if w.Code != v.status || (len(body) > 0) != v.body || h.Get("ETag") != etag || h.Get("Cache-Control") != "public, max-age=300" {
				t.Errorf("got %d, %d bytes, %v", w.Code, len(body), h)
			}
			if v.status == 200 && h.Get("Content-Type") != "application/json" {
				t.Errorf("got %s", h.Get("Content-Type"))
			}
		})
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(method, card.Path, nil))
		if w.Code != 405 || w.Result().Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: got %d, %v", method, w.Code, w.Result().Header)
		}
	}
}

func TestETagFollowsTheContent(t *testing.T) {
	a, _ := build(t, options())
	b, _ := build(t, options())
	o := options()
	o.Card.Version = "1.2.1"
	changed, _ := build(t, o)
	if a.ETag() != b.ETag() || a.ETag() == changed.ETag() {
		t.Errorf("got %s, %s and after a change %s", a.ETag(), b.ETag(), changed.ETag())
	}
}

func TestPrivateCardStaysOutOfSharedCaches(t *testing.T) {
	o := options()
	o.Private = true
	c, _ := build(t, o)
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequest("GET", card.Path, nil))
	if h := w.Result().Header; h.Get("Cache-Control") != "private, max-age=300" || h.Get("Vary") != "Authorization" {
		t.Errorf("got %v", h)
	}
}

// bearer is the security of a server that takes bearer tokens of its own.
func bearer() (map[string]a2a.SecurityScheme, []a2a.SecurityRequirement) {
	return map[string]a2a.SecurityScheme{"bearer": {HTTPAuthSecurityScheme: &a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}},
		[]a2a.SecurityRequirement{{Schemes: map[string]a2a.StringList{"bearer": {}}}}
}
