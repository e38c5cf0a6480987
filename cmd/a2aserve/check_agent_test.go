package main

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve/impl/check"

	"github.com/go-json-experiment/json"
)

// checkedAgent runs the command and gives its exit code and output.
func checkedAgent(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), append([]string{"check"}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// The server of the README, with and without the deviations that it owns up to, in every
// format.
func TestCheckingAnAgent(t *testing.T) {
	s := startServer(t, "--bind", "127.0.0.1:0", "--db", filepath.Join(t.TempDir(), "x.db"))
	defer s.stop(t)
	url := strings.TrimSuffix(s.field(t, "Agent Card"), "/.well-known/agent-card.json")
	known := filepath.Join("..", "..", "conformance", "expect", "default.yaml")
	dir := t.TempDir()
	scenario := filepath.Join(dir, "scenario.yaml")
	write(t, scenario, "messages: {complete: echo hi}\n")

	code, out, errs := checkedAgent(t, url, "--scenario", scenario)
	if code != 1 || !strings.Contains(out, "FAIL  MUST   version.absent") || !strings.Contains(out, "4 MUST failed.") || !strings.Contains(errs, "does not keep to the specification") {
		t.Errorf("%d\n%s\n%s", code, out, errs)
	}
	code, out, errs = checkedAgent(t, url, "--scenario", scenario, "--expect", known, "--format", "json")
	var r check.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || r.Summary.Expected != 4 || !r.OK() {
		t.Errorf("%d %v %+v %s", code, err, r.Summary, errs)
	}
	for format, begins := range map[string]string{"html": "<!doctype html>", "junit": xml.Header, "json": "{", "text": "a2aserve demo agent at http"} {
		file := filepath.Join(dir, "report."+format)
		code, out, errs = checkedAgent(t, url, "--scenario", scenario, "--expect", known, "--format", format, "--out", file, "--read-only")
		b, err := os.ReadFile(file)
		if code != 0 || err != nil || !strings.HasPrefix(string(b), begins) || !strings.Contains(out, "The report is in "+file) {
			t.Errorf("%s: %d %v %s %s\n%.100s", format, code, err, out, errs, b)
		}
	}
}

// What cannot be tried is told from what fails.
func TestCheckExitCodes(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	write(t, bad, "expect: [{id: no.such-check, reason: x}]\n")
	t.Setenv("A2ASERVE_TEST_TOKEN", "from-the-environment")
	for _, v := range []struct {
		args []string
		want string
	}{
		{nil, "takes the address of one agent"},
		{[]string{"a", "b"}, "takes the address of one agent"},
		{[]string{"http://127.0.0.1:1"}, "could not be tried"},
		{[]string{"http://127.0.0.1:1", "--only", "list,lists"}, `no check or group "lists"`},
		{[]string{"agent.example.com"}, "no http or https URL"},
		{[]string{"http://127.0.0.1:1", "--format", "xml"}, "--format: \"xml\""},
		{[]string{"http://127.0.0.1:1", "--expect", bad}, bad + ": expectations: expect[0].id: there is no check"},
		{[]string{"http://127.0.0.1:1", "--scenario", filepath.Join(dir, "none.yaml")}, "none.yaml"},
		{[]string{"http://127.0.0.1:1", "--scenario", bad}, "scenario: "},
		{[]string{"http://127.0.0.1:1", "--token-env", "A2ASERVE_TEST_NO_TOKEN"}, "A2ASERVE_TEST_NO_TOKEN is not set"},
		{[]string{"http://127.0.0.1:1", "--token", "x", "--token-env", "A2ASERVE_TEST_TOKEN"}, "the same twice"},
		{[]string{"http://127.0.0.1:1", "--token-env", "A2ASERVE_TEST_TOKEN", "--second-token", "from-the-environment"}, "another caller's is needed"},
		{[]string{"http://127.0.0.1:1", "--header", "X"}, "--header"},
		{[]string{"http://127.0.0.1:1", "--ca", bad}, "no certificate in PEM"},
		{[]string{"http://127.0.0.1:1", "--timeout", "0s"}, "must be above 0"},
		{[]string{"http://127.0.0.1:1", "--max-requests", "x"}, "max-requests"},
	} {
		code, _, errs := checkedAgent(t, v.args...)
		if code != exitUsage || !strings.Contains(errs, v.want) || strings.Contains(errs, "from-the-environment") {
			t.Errorf("%v: %d %s", v.args, code, errs)
		}
	}
	if code, out, _ := checkedAgent(t, "--list"); code != 0 || strings.Count(out, "\n") != len(check.Catalogue()) || !strings.Contains(out, "list.paging") {
		t.Errorf("%d %s", code, out)
	}
}
