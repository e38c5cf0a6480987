package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve/impl/card"

	"github.com/go-json-experiment/json"
)

// command line, its standard output, standard error and exit code.
func commandLine(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return out.String(), errs.String(), code
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const cardConfig = `agent: {driver: demo}
bearer_token: s3cret
store: {path: never-made.db}
card: {name: Printed, description: D, version: "1", skills: [{id: a, name: A, description: d}]}
`

// What is printed is what a server of the same configuration serves, byte for byte.
func TestCardIsPrintedAsServed(t *testing.T) {
	extended := file(t, "extended.json", `{"name":"Fuller","description":"D","version":"1","skills":[{"id":"b","name":"B","description":"d","tags":["t"]}]}`)
	path := file(t, "a2aserve.yaml", strings.Replace(cardConfig, "never-made.db", filepath.Join(t.TempDir(), "x.db"), 1)+
		"public_url: https://agent.example.com/\nbind: 127.0.0.1:0\nextended_card_file: "+extended+"\n")
	out, errs, code := commandLine(t, "card", "--config", path)
	if code != 0 || errs != "" || !strings.Contains(out, `"url":"https://agent.example.com/a2a"`) {
		t.Fatalf("got %d %s%s", code, out, errs)
	}
	s := startServer(t, "--config", path)
	defer s.stop(t)
	_, body := call(t, "GET", "http://"+s.field(t, "Listening on")+card.Path, "")
	if body+"\n" != out {
		t.Errorf("printed\n%s\nserved\n%s", out, body)
	}
	if out, _, code := commandLine(t, "card", "--config", path, "--extended"); code != 0 || !strings.Contains(out, `"name":"Fuller"`) {
		t.Errorf("the extended card: %d %s", code, out)
	}
}

func TestCardWithoutAnAddress(t *testing.T) {
	for bind, want := range map[string]string{
		"127.0.0.1:0": `"url":"http://127.0.0.1/a2a"`,
		"0.0.0.0:80":  `"url":"http://localhost:80/a2a"`,
	} {
		path := file(t, "a2aserve.yaml", cardConfig+"bind: "+bind+"\nproxy: {trusted_cidrs: [10.0.0.0/8]}\n")
		out, errs, code := commandLine(t, "card", "--config", path)
		if code != 0 || !strings.Contains(out, want) || !strings.Contains(errs, "settled once the server runs") {
			t.Errorf("%s: %d %s%s", bind, code, out, errs)
		}
	}
	if _, err := os.Stat("never-made.db"); err == nil {
		t.Error("printing a card made a database")
	}
}

func TestCardOfABadConfiguration(t *testing.T) {
	if _, errs, code := commandLine(t, "card", "--config", file(t, "x.yaml", "agent: {driver: demo}\ncard_file: "+file(t, "c.json", `{"name":"N"}`)+"\n")); code != exitUsage || !strings.Contains(errs, "c.json: skills: is required") {
		t.Errorf("got %d %s", code, errs)
	}
	if _, errs, code := commandLine(t, "card", "--config", file(t, "x.yaml", cardConfig), "--extended"); code != exitUsage || !strings.Contains(errs, "extended_card_file") {
		t.Errorf("got %d %s", code, errs)
	}
}

func TestCardCheck(t *testing.T) {
	printed, _, _ := commandLine(t, "card", "--config", file(t, "a2aserve.yaml", cardConfig+"public_url: https://agent.example.com\n"))
	bad := strings.Replace(printed, `"version":"1",`, "", 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != card.Path {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(printed))
	}))
	defer srv.Close()
	for _, c := range []struct {
		name string
		args []string
		code int
		want string // on standard output, or else standard error
	}{
		{"a good file", []string{file(t, "card.json", printed)}, 0, "card.json follows the specification"},
		{"YAML", []string{file(t, "card.yaml", "name: N\n")}, 1, "error   /version: is required"},
		{"a bad file", []string{file(t, "bad.json", bad)}, 1, "error   /version: is required"},
		{"no JSON", []string{file(t, "none.json", "{")}, 1, "error   (the card): "},
		{"a server", []string{srv.URL}, 0, "follows the specification"},
		{"another path", []string{srv.URL + "/x"}, 2, "404"},
		{"no file", []string{"none"}, 2, "cannot read the card"},
		{"JSON", []string{file(t, "bad.json", bad), "--json"}, 1, `"valid":false,"findings":[{"level":"error","pointer":"/version","text":"is required"}]`},
		{"with a configuration", []string{"x.json", "--config", "y"}, 2, "leave out --config"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errs, code := commandLine(t, append([]string{"card", "--check"}, c.args...)...)
			if code != c.code || !strings.Contains(out+errs, c.want) {
				t.Errorf("got %d\n%s%s", code, out, errs)
			}
			if c.name == "JSON" {
				var v checkedCard
				if err := json.Unmarshal([]byte(out), &v); err != nil || v.Valid {
					t.Errorf("%v: %s", err, out)
				}
			}
		})
	}
}
