package conformance

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve/conformance/vector"
	"a2aserve/impl/app"
	"a2aserve/impl/card"
	"a2aserve/impl/decode"
)

// extendedCard writes a card for authenticated callers, and the key that names it.
func extendedCard(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "extended.json")
	text := `{"name":"Conformance agent","description":"For partners.","version":"1.0.0-partner","skills":[
		{"id":"demo","name":"Demo","description":"Does as it is told.","tags":["demo"]},
		{"id":"audit","name":"Audit","description":"For partners only.","tags":["partner"]}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "extended_card_file: " + path + "\n"
}

// Case AU-08: the four answers to GetExtendedAgentCard, on both bindings.
func TestExtendedCard(t *testing.T) {
	off := serve(t, tokens)
	unset, stop := startWith(t, filepath.Join(t.TempDir(), "tasks.db"), tokens, app.Options{Log: quiet(), ExtendedCard: true})
	t.Cleanup(stop)
	set := serve(t, tokens+extendedCard(t))
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		ask := func(target *vector.Target, who string) (*http.Response, string) {
			t.Helper()
			res, body, err := target.Exchange(t.Context(), b, "GetExtendedAgentCard", who, `{}`)
			if err != nil {
				t.Fatal(err)
			}
			return res, string(body)
		}
		status := func(rest int) int {
			if b == vector.JSONRPC {
				return http.StatusOK
			}
			return rest
		}
		for _, c := range []struct {
			name       string
			target     *vector.Target
			code       string
			reason     string
			capability string
		}{
			{"not offered", off, "-32004", "UNSUPPORTED_OPERATION", `"extendedAgentCard":false`},
			{"declared, none configured", unset, "-32007", "EXTENDED_AGENT_CARD_NOT_CONFIGURED", `"extendedAgentCard":true`},
		} {
			res, body := ask(c.target, "alice")
			if res.StatusCode != status(400) || !strings.Contains(body, c.reason) || b == vector.JSONRPC && !strings.Contains(body, `"code":`+c.code) {
				t.Errorf("%s: %d %s", c.name, res.StatusCode, body)
			}
			if public := publicCard(t, c.target); !strings.Contains(public, c.capability) {
				t.Errorf("%s: the card says %s", c.name, public)
			}
		}
		for _, who := range []string{"nobody", "mallory"} {
			set.Tokens["mallory"] = "tok-guessed"
			if res, body := ask(set, who); res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") == "" || strings.Contains(body, "audit") {
				t.Errorf("%s: %d %s", who, res.StatusCode, body)
			}
		}
		res, body := ask(set, "bob")
		if res.StatusCode != 200 || !strings.Contains(body, `"id":"audit"`) || !strings.Contains(body, `"securityRequirements":[{"schemes":{"bearer":{}}}]`) || !strings.Contains(body, set.Origin+"/a2a") {
			t.Errorf("got %d %s", res.StatusCode, body)
		}
		if h := res.Header; h.Get("Cache-Control") != "private, max-age=300" || !strings.Contains(strings.Join(h.Values("Vary"), ","), "Authorization") {
			t.Errorf("who may keep it: %v", h)
		}
	})
	if public := publicCard(t, set); strings.Contains(public, "audit") || !strings.Contains(public, `"extendedAgentCard":true`) {
		t.Errorf("the public card: %s", public)
	}
}

func publicCard(t *testing.T, target *vector.Target) string {
	t.Helper()
	_, body := fetch(t, target, card.Path)
	return body
}

// fetch gets a path with further headers, in pairs.
func fetch(t *testing.T, target *vector.Target, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", target.Origin+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, body, err := target.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// Whoever has the extended card asks whether it still holds (A2A §13.3), and is asked who
// it is before it hears so.
func TestExtendedCardIsRevalidated(t *testing.T) {
	target := serve(t, tokens+extendedCard(t))
	const path = "/a2a/v1/extendedAgentCard"
	first, body := fetch(t, target, path, "Authorization", "Bearer tok-a")
	tag := first.Header.Get("ETag")
	if first.StatusCode != 200 || tag == "" || strings.HasPrefix(tag, "W/") || len(decode.Validate("AgentCard", []byte(body))) > 0 {
		t.Fatalf("got %d %v %s", first.StatusCode, first.Header, body)
	}
	for _, match := range []string{tag, "W/" + tag, "*"} {
		if res, body := fetch(t, target, path, "Authorization", "Bearer tok-b", "If-None-Match", match); res.StatusCode != 304 || body != "" || res.Header.Get("Cache-Control") != "private, max-age=300" {
			t.Errorf("%s: %d %q %v", match, res.StatusCode, body, res.Header)
		}
	}
	if res, _ := fetch(t, target, path, "Authorization", "Bearer tok-b", "If-None-Match", `"old"`); res.StatusCode != 200 {
		t.Errorf("an old tag: %d", res.StatusCode)
	}
	if res, _ := fetch(t, target, path, "If-None-Match", tag); res.StatusCode != 401 {
		t.Errorf("without a token: %d", res.StatusCode)
	}
}

// Case CD-05: the tag is the same after a restart and on every replica, and another once
// the card has changed.
func TestCardTagOutlivesTheProcess(t *testing.T) {
	const at = "public_url: https://agent.example.com\n"
	tag := func(yaml string) string {
		target, stop := start(t, filepath.Join(t.TempDir(), "tasks.db"), yaml)
		defer stop()
		res, _ := fetch(t, target, card.Path)
		return res.Header.Get("ETag")
	}
	one := tag(tokens + at)
	if two := tag(tokens + at); one == "" || one != two {
		t.Errorf("got %s, and after a restart %s", one, two)
	}
	if changed := tag(at); changed == one {
		t.Error("the card has changed and the tag has not")
	}
}

// Case CD-04: whoever looks where older versions had the card hears that it is not there,
// also where callers must authenticate.
func TestCardHasOnePlace(t *testing.T) {
	target := serve(t, tokens)
	for _, path := range []string{"/.well-known/agent.json", "/a2a" + card.Path, "/a2a/v1" + card.Path} {
		res, _ := fetch(t, target, path, "Authorization", "Bearer tok-a")
		if res.StatusCode != 404 && res.StatusCode != 405 {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}
