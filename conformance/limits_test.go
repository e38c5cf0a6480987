package conformance

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"a2aserve/conformance/vector"
)

// post sends a body as it is and returns status and answer.
func post(t *testing.T, target *vector.Target, path, contentType, authorization string, body io.Reader) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", target.Origin+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
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
	return res, answer
}

// LU-02: 200 levels come back as they were; absurd ones are refused, nothing crashes.
func TestNesting(t *testing.T) {
	target := serve(t, tokens)
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		data := func(n int) string {
			return fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":%s}]}}`, nested(n))
		}
		out, err := target.Call(t.Context(), b, "SendMessage", "alice", data(200))
		if err != nil || !bytes.Contains(out, []byte(nested(200))) {
			t.Fatalf("200 levels: %v %.200s", err, out)
		}
		for _, n := range []int{300, 5_000, 100_000} {
			path, body := target.REST+"/message:send", data(n)
			if b == vector.JSONRPC {
				path, body = target.RPC, `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":`+body+`}`
			}
			res, answer := post(t, target, path, "application/json", "Bearer tok-a", strings.NewReader(body))
			if !regexp.MustCompile(`"code":(-32700|-32602|400)\b`).Match(answer) {
				t.Errorf("%d levels: %d %.300s", n, res.StatusCode, answer)
			}
		}
		var keys strings.Builder
		for i := range 200_000 {
			fmt.Fprintf(&keys, `"k%d":1,`, i)
		}
		wide := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo hi"}],"metadata":{` + keys.String() + `"z":1}}}`
		if _, err := target.Call(t.Context(), b, "SendMessage", "alice", wide); err != nil {
			refused(t, err)
		}
		parts := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + strings.Repeat(`{"text":5},`, 20_000) + `{"text":"x"}]}}`
		_, err = target.Call(t.Context(), b, "SendMessage", "alice", parts)
		if r := refused(t, err); len(r.Body) > 64<<10 {
			t.Errorf("the refusal of 20,000 bad parts is %d bytes long", len(r.Body))
		}
		// As many good ones are taken, kept and listed, or refused.
		parts = fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","contextId":"wide-%s","parts":[%s{"text":"x"}]}}`, b, strings.Repeat(`{"text":"x"},`, 20_000))
		if got, err := parseAs[sent](target.Call(t.Context(), b, "SendMessage", "alice", parts)); err != nil {
			refused(t, err)
		} else if p := list(t, target, b, fmt.Sprintf(`{"contextId":"wide-%s","includeArtifacts":true}`, b)); p.Total != 1 || p.Tasks[0].ID != got.Task.ID || got.Task.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("20,000 parts: %+v, %d listed", got.Task.Status, p.Total)
		}
	})
}

// JR-09: a body over the bound is 413 in the binding's shape and media type, said or not
// said beforehand.
func TestBodyTooLarge(t *testing.T) {
	target := serve(t, tokens)
	big := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + strings.Repeat("x", 5<<20) + `"}]}}}`
	for path, mediaType := range map[string]string{target.RPC: "application/json", target.REST + "/message:send": "application/a2a+json"} {
		for name, body := range map[string]io.Reader{"said": strings.NewReader(big), "chunked": io.MultiReader(strings.NewReader(big))} {
			res, answer := post(t, target, path, "application/json", "Bearer tok-a", body)
			if res.StatusCode != http.StatusRequestEntityTooLarge || res.Header.Get("Content-Type") != mediaType || !bytes.Contains(answer, []byte(`"error"`)) {
				t.Errorf("%s %s: %d %.200s", path, name, res.StatusCode, answer)
			}
		}
	}
	if p := list(t, target, vector.REST, `{}`); p.Total != 0 {
		t.Errorf("%d tasks were made", p.Total)
	}
}

// AU-02: a bad token gives the same answer whatever else is wrong, and before the body
// is looked at.
func TestAuthenticationComesFirst(t *testing.T) {
	target := serve(t, tokens)
	for _, path := range []string{target.RPC, target.REST + "/message:send"} {
		var want string
		for name, body := range map[string]io.Reader{
			"malformed": strings.NewReader(`{"jsonrpc":`),
			"unknown":   strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"Nope"}`),
			"task":      strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}`),
			"large":     strings.NewReader(strings.Repeat("x", 30<<20)),
		} {
			for _, authorization := range []string{"Bearer bad", "bearer  bad "} {
				res, answer := post(t, target, path, "application/json", authorization, body)
				if res.StatusCode != http.StatusUnauthorized || !strings.Contains(res.Header.Get("WWW-Authenticate"), "invalid_token") {
					t.Errorf("%s %s: %d %q %.200s", path, name, res.StatusCode, res.Header.Get("WWW-Authenticate"), answer)
				}
				got := stripTimestamp(answer)
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s %s: %s, elsewhere %s", path, name, got, want)
				}
				break // a reader is read once
			}
		}
	}
}

// An id that is not the caller's and one that never was differ in nothing but the id.
func TestForeignAndUnknownAreOneAnswer(t *testing.T) {
	target := serve(t, tokens)
	id := send(t, target, vector.REST, say("ask Colour?")).ID
	unknown := "01890000-0000-7000-8000-000000000000"
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		for _, op := range []string{"GetTask", "CancelTask", "SubscribeToTask"} {
			answer := func(id string) string {
				_, err := target.Call(t.Context(), b, op, "bob", `{"id":"`+id+`"}`)
				r := refused(t, err)
				return fmt.Sprint(r.HTTP, " ", strings.ReplaceAll(stripTimestamp(r.Body), id, "ID"))
			}
			if foreign, none := answer(id), answer(unknown); foreign != none {
				t.Errorf("%s: %s\nagainst %s", op, foreign, none)
			}
		}
	})
}

func stripTimestamp(b []byte) string {
	s := string(b)
	if i := strings.Index(s, `"timestamp":"`); i >= 0 {
		s = s[:i] + s[i+len(`"timestamp":"2006-01-02T15:04:05.000Z"`):]
	}
	return s
}
