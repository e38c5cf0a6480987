package card_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve/impl/card"
)

// good is a card that nothing is said of.
const good = `{"name":"N","description":"D","version":"1","supportedInterfaces":[{"url":"https://agent.example.com/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
 "capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
 "securitySchemes":{"b.c/d":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}},"securityRequirements":[{"schemes":{"b.c/d":{}}}],
 "skills":[{"id":"a","name":"A","description":"d","tags":["t"]}]}`

// Case CD-06, for the card of any server.
func TestCheck(t *testing.T) {
	if found := card.Check([]byte(good)); len(found) > 0 {
		t.Errorf("a good card: %v", found)
	}
	own, _ := build(t, options())
	if found := card.Check(own.JSON()); len(found) > 0 {
		t.Errorf("our own card: %v", found)
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"not JSON", good, `{"name":`, "error :"},
		{"no object", good, `["card"]`, "error : must be an object"},
		{"missing member", `"version":"1",`, ``, "error /version: is required"},
		{"wrong type", `"name":"N"`, `"name":5`, "error /name: must be a string"},
		{"empty modes", `"defaultInputModes":["text/plain"]`, `"defaultInputModes":[]`, "error /defaultInputModes: must not be empty"},
		{"in an element", `"tags":["t"]`, `"tags":[]`, "error /skills/0/tags: must not be empty"},
		{"tags are no list", `"tags":["t"]`, `"tags":"t"`, "error /skills/0/tags: must be an array"},
		{"below a name with dots", `{"scheme":"Bearer"}`, `{}`, "error /securitySchemes/b.c~1d/httpAuthSecurityScheme/scheme: is required"},
		{"a scheme of 0.3", `{"httpAuthSecurityScheme":{"scheme":"Bearer"}}`, `{"type":"http","scheme":"bearer"}`, "error /securitySchemes/b.c~1d: exactly one of"},
		{"duplicate member", `"version":"1"`, `"version":"1","version":"2"`, "error "},

		{"the same skill twice", `"skills":[`, `"skills":[{"id":"a","name":"A","description":"d","tags":["t"]},`, `advice /skills/1/id: "a" is also the id of skills[0]`},
		{"empty modes of a skill", `"tags":["t"]`, `"tags":["t"],"inputModes":[]`, "advice /skills/0/inputModes: empty"},
		{"unknown scheme", `"securityRequirements":[{"schemes":{"b.c/d"`, `"securityRequirements":[{"schemes":{"oauth"`, "advice /securityRequirements/0/schemes/oauth: no such scheme"},
		{"unknown scheme of a skill", `"tags":["t"]`, `"tags":["t"],"securityRequirements":[{"schemes":{"x/y":{}}}]`, "advice /skills/0/securityRequirements/0/schemes/x~1y: no such scheme"},
		{"wildcard", `https://agent.example.com/a2a`, `http://0.0.0.0:8080/a2a`, "advice /supportedInterfaces/0/url: stands for every interface"},
		{"IPv6 wildcard", `https://agent.example.com/a2a`, `http://[::]:8080/a2a`, "advice /supportedInterfaces/0/url: stands for every interface"},
		{"port 0", `https://agent.example.com/a2a`, `https://agent.example.com:0/a2a`, "advice /supportedInterfaces/0/url: port 0"},
		{"loopback", `https://agent.example.com/a2a`, `http://localhost:8080/a2a`, "advice /supportedInterfaces/0/url: reaches clients on the same machine only"},
		{"in the clear", `https://agent.example.com/a2a`, `http://agent.example.com/a2a`, "advice /supportedInterfaces/0/url: https is expected"},
		{"relative", `https://agent.example.com/a2a`, `/a2a`, "advice /supportedInterfaces/0/url: an absolute URL"},
		{"patch number", `"protocolVersion":"1.0"`, `"protocolVersion":"1.0.1"`, "advice /supportedInterfaces/0/protocolVersion: major and minor"},
		{"old version only", `"protocolVersion":"1.0"`, `"protocolVersion":"0.3"`, "advice /supportedInterfaces: no interface speaks version 1.0"},
		{"spelling", `"defaultInputModes"`, `"default_input_modes"`, "advice /default_input_modes: JSON names"},

		{"0.3 at the top", `"name":"N"`, `"name":"N","url":"https://x.example/","preferredTransport":"JSONRPC"`, "note /preferredTransport: of version 0.3, harmless"},
		{"0.3 capability", `"streaming":true`, `"streaming":true,"stateTransitionHistory":false`, "note /capabilities/stateTransitionHistory: of version 0.3"},
	} {
		doc := strings.Replace(good, c.from, c.to, 1)
		if doc == good {
			t.Fatalf("%s: nothing was changed", c.name)
		}
		found := card.Check([]byte(doc))
		if len(found) == 0 || !strings.HasPrefix(fmt.Sprintf("%s %s: %s", found[0].Level, found[0].Pointer, found[0].Text), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, found, c.want)
		}
	}
	// All at once, what matters first.
	found := card.Check([]byte(strings.NewReplacer(`"name":"N"`, `"url":"x"`, `"tags":["t"]`, `"tags":[]`).Replace(good)))
	if len(found) != 3 || found[0].Pointer != "/name" || found[1].Pointer != "/skills/0/tags" || found[2].Level != card.Note {
		t.Errorf("got %v", found)
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "card.yaml")
	if err := os.WriteFile(path, []byte("name: N\ndescription: D\nversion: \"1\"\nskills:\n  - {id: a, name: A, description: d, tags: [t]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, _, err := card.Load(t.Context(), path)
	if err != nil || !strings.Contains(string(doc), `"skills": [{"id": "a"`) {
		t.Errorf("YAML: %s, %v", doc, err)
	}
	if _, _, err := card.Load(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}

	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server was asked") }))
	defer other.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case card.Path, "/x/card.json":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "public, max-age=300")
			w.Header().Set("ETag", `"1"`)
			fmt.Fprint(w, good)
		case "/plain":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, good)
		case "/moved":
			http.Redirect(w, r, card.Path, http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/away":
			http.Redirect(w, r, other.URL+card.Path, http.StatusFound)
		case "/large":
			fmt.Fprint(w, strings.Repeat(" ", card.MaxBytes+1))
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	for path, want := range map[string]string{
		"": "", "/": "", "/x/card.json": "", "/moved": "",
		"/plain": "", "/away": "redirects to another server", "/loop": "too many redirections",
		"/large": "larger than", "/none": "404",
	} {
		doc, found, err := card.Load(t.Context(), srv.URL+path)
		switch {
		case want == "" && (err != nil || string(doc) != good):
			t.Errorf("%q: %v", path, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got %v, want %s", path, err, want)
		case path == "/plain" && len(found) != 2 || path == "" && len(found) != 0:
			t.Errorf("%q: %v", path, found)
		}
	}
}
