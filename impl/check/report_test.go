package check

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// A hostile agent's words reach every format, and the credentials none.
func report(t *testing.T) *Report {
	t.Helper()
	b := broken{
		answer: func(r *http.Request, _ []byte, h http.Header, _ *int, body []byte) []byte {
			h.Set("X-Echo", r.Header.Get("Authorization")+" "+r.Header.Get("X-Key"))
			h.Set("Set-Cookie", "session=very-secret-cookie")
			if strings.HasSuffix(r.URL.Path, ".json") {
				return bytes.Replace(body, []byte(`"name":"Tried agent"`), []byte(`"name":"<script>alert(1)</script>\u001b[31m ]]>"`), 1)
			}
			return bytes.Replace(body, []byte(`"Task not found"`), []byte(`"<img src=x onerror=alert(1)> for `+r.Header.Get("Authorization")+`"`), 1)
		},
	}
	o := Options{
		URL: serve(t, ours(t, tokens), b), Token: "alice-token", SecondToken: "bob-token", Header: http.Header{"X-Key": {"key-of-mine"}}, Only: []string{"card", "version", "error", "subscribe", "wire"},
		Expect: &Expectations{[]Expectation{{ID: "version.absent", Binding: JSONRPC, Reason: "known <b>here</b>"}, {ID: "card.schema", Reason: "once it failed"}}},
	}
	return run(t, o)
}

var secrets = regexp.MustCompile(`alice-token|bob-token|key-of-mine|very-secret-cookie`)

func TestFormats(t *testing.T) {
	t.Parallel()
	r := report(t)
	if r.OK() || r.Summary.Expected != 1 || r.Summary.Unexpected != 1 || r.Summary.Must.Failed != 3 {
		t.Errorf("%+v", r.Summary)
	}
	out := map[string]string{}
	for name, write := range map[string]func(io.Writer) error{
		"json": r.JSON, "junit": r.JUnit, "html": r.HTML,
		"text":   func(w io.Writer) error { return r.Text(w, false, true) },
		"colour": func(w io.Writer) error { return r.Text(w, true, false) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = b.String()
		if s := secrets.FindString(out[name]); s != "" {
			t.Errorf("%s has the secret %s", name, s)
		}
	}
	t.Run("json", func(t *testing.T) {
		var back Report
		if err := json.Unmarshal([]byte(out["json"]), &back); err != nil || len(back.Results) != len(r.Results) || back.Summary != r.Summary {
			t.Errorf("%v %+v", err, back.Summary)
		}
		one := find(t, &back, "version.absent", REST)
		if one.Verdict != Fail || len(one.Exchanges) == 0 || one.Exchanges[0].Status != 404 || !strings.Contains(one.Exchanges[0].Answer, "TASK_NOT_FOUND") || one.Section != "3.6.2" {
			t.Errorf("%+v", one)
		}
	})
	t.Run("junit", func(t *testing.T) { junit(t, r, out["junit"]) })
	t.Run("html", func(t *testing.T) {
		page := out["html"]
		for _, bad := range []string{"<script", "<img", "<b>here", "<link", "<iframe", "javascript:", "@import", "url("} {
			if strings.Contains(page, bad) {
				t.Errorf("the page has %s", bad)
			}
		}
		if m := regexp.MustCompile(`(?i)<[a-z][^>]*\s(src|href|action|background|on[a-z]+)\s*=`).FindString(page); m != "" {
			t.Errorf("the page refers to something else:%s", m)
		}
		for _, want := range []string{"&lt;script&gt;alert(1)", "3 MUST of the specification failed", "prefers-color-scheme: dark", "Known deviations", "known &lt;b&gt;here", "subscribe.finished", "<pre>"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page has no %q", want)
			}
		}
		if path := os.Getenv("A2ASERVE_CHECK_PAGE"); path != "" { // to look at it
			_ = os.WriteFile(path, []byte(page), 0o600)
		}
	})
	t.Run("text", func(t *testing.T) {
		if strings.Contains(out["text"], "\x1b") {
			t.Error("a terminal could be played with")
		}
		for _, want := range []string{"FAIL  MUST   subscribe.finished (§3.1.6, JSONRPC)", "known MUST   version.absent (§3.6.2, JSONRPC)", "known: known <b>here</b>", "pass! MUST   card.schema", "3 MUST failed.", "1 failed as expected", "1 passed though a failure is expected"} {
			if !strings.Contains(out["text"], want) {
				t.Errorf("no %q in:\n%.3000s", want, out["text"])
			}
		}
		if !strings.Contains(out["colour"], "\x1b[31mFAIL \x1b[0m") || strings.Contains(out["colour"], "pass  ") || strings.Contains(out["colour"], "\x1b[31m ]]>") {
			t.Errorf("%.2000q", out["colour"])
		}
	})
}

func junit(t *testing.T, r *Report, doc string) {
	var all struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Class   string  `xml:"classname,attr"`
				Name    string  `xml:"name,attr"`
				Failure *string `xml:"failure"`
				Skipped *struct {
					Message string `xml:"message,attr"`
				} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(doc), &all); err != nil {
		t.Fatal(err)
	}
	if all.Tests != len(r.Results) || all.Failures != 3 || len(all.Suites) != 3 {
		t.Errorf("%d tests, %d failures, %d suites", all.Tests, all.Failures, len(all.Suites))
	}
	seen := 0
	for _, s := range all.Suites {
		for _, c := range s.Cases {
			switch {
			case c.Name == "subscribe.finished" && c.Failure != nil:
				if !strings.Contains(*c.Failure, "< 200") || !strings.Contains(*c.Failure, "> POST ") && !strings.Contains(*c.Failure, "> GET ") {
					t.Errorf("%s", *c.Failure)
				}
				seen++
			case c.Name == "version.absent" && c.Skipped != nil && strings.HasPrefix(c.Skipped.Message, "known: known"):
				seen++
			case c.Name == "card.cors" && c.Skipped != nil && strings.HasPrefix(c.Skipped.Message, "MAY failed: "):
				seen++
			}
		}
	}
	if seen != 4 {
		t.Errorf("%d of the expected cases in %.3000s", seen, doc)
	}
}

func TestScenarioFiles(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"messages: {complete: hi, answer: {parts: [{data: {n: 2}}], metadata: {a: 1}}}": "",
		"messages: {compleet: hi}":             `messages.compleet: no such behaviour; there are complete, message`,
		"messages: {complete: ''}":             "messages.complete: the text is empty",
		"messages: {complete: {text: hi}}":     "messages.complete: parts are expected",
		"messages: {complete: [hi]}":           "messages.complete: a text or an object",
		"messages: {}":                         "at least one is expected",
		"complete: hi":                         "unknown field",
		"messages: {complete: hi":              "scenario: ",
		"messages: {fail: 1}":                  "messages.fail: a text or an object",
		"messages: {long-running: work on it}": "",
	} {
		s, err := ReadScenario([]byte(in))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
		if s != nil && s.Messages[Answer] != nil {
			m := s.message(Answer)
			if !strings.Contains(string(encode(m)), `"metadata":{"a":1},"parts":[{"data":{"n":2}}],"role":"ROLE_USER"`) || m["messageId"] == "" {
				t.Errorf("%s", encode(m))
			}
		}
	}
}

// What a scenario does not name is skipped, with a word on what to do.
func TestScenarioLeavesOut(t *testing.T) {
	t.Parallel()
	r := run(t, Options{URL: ours(t, strict), Scenario: &Scenario{map[Behaviour]any{Complete: obj{"parts": []any{obj{"text": "echo x"}}}, InputRequired: "echo y"}}})
	if !r.OK() {
		compare(t, r, nil)
	}
	verdicts(t, r, Pass, "send.answer", "get.same", "list.paging")
	verdicts(t, r, Skip, "cancel.running", "stream.message", "turn.question")
	if got := find(t, r, "cancel.running", REST).Reason; got != `the scenario names no message that provokes "long-running"` {
		t.Error(got)
	}
	if got := find(t, r, "turn.question", REST).Reason; !strings.Contains(got, `input-required was not provoked: "echo y" was answered with a task in TASK_STATE_COMPLETED`) {
		t.Error(got)
	}
}

func TestExpectationFiles(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"expect: [{id: version.absent, binding: JSONRPC, reason: so}]": "",
		"expect: [{id: version.absense, reason: so}]":                  `expect[0].id: there is no check "version.absense"`,
		"expect: [{id: version.absent}]":                               "expect[0].reason: is required",
		"expect: [{reason: so}]":                                       "expect[0].id: is required",
		"expect: [{id: version.absent, binding: GRPC, reason: so}]":    "expect[0].binding: must be JSONRPC or HTTP+JSON",
		"expected: []": "unknown field",
	} {
		_, err := ReadExpectations([]byte(in))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// The ledger of requirements and people's files refer to ids, levels and sections.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range Catalogue() {
		if seen[c.ID] {
			t.Errorf("two checks are called %s", c.ID)
		}
		seen[c.ID] = true
		if !regexp.MustCompile(`^[a-z-]+\.[a-z0-9-]+$`).MatchString(c.ID) || c.Title == "" || c.Section == "" || c.run == nil {
			t.Errorf("%+v", c)
		}
		if c.Level != May && !regexp.MustCompile(`^([0-9A-Z]+)(\.[0-9]+)*$`).MatchString(c.Section) {
			t.Errorf("%s is a %s of %q, which is not the specification", c.ID, c.Level, c.Section)
		}
		if ByID(c.ID) != c {
			t.Errorf("%s is not found", c.ID)
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d checks", len(seen))
	}
}
