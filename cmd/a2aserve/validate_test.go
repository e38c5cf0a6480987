package main

import (
	"bytes"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
)

// validateFiles writes the files and runs validate in their folder.
func validateFiles(t *testing.T, files map[string]string, args ...string) (code int, out, err string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if e := os.MkdirAll(filepath.Dir(name), 0o755); e != nil {
			t.Fatal(e)
		}
		write(t, name, text)
	}
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), append([]string{"validate"}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

const (
	validTask   = `{"id":"t","status":{"state":"TASK_STATE_WORKING"}}`
	invalidTask = `{"id":"t","status":{"state":"working"}}`
)

func TestValidateExitCodes(t *testing.T) {
	files := map[string]string{"good.json": validTask, "bad.json": invalidTask, "empty/x.txt": "", "esc.json": `{"id":"t","metadata":{"\u001b[31m":{"a":1,"a":2}}}`, "deep/a/b.jsonl": validTask + "\n", "deep/.hidden/c.json": invalidTask}
	for _, v := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"good.json"}, 0, "good.json: Task (its member id): valid"},
		{[]string{"-q", "good.json"}, 0, ""},
		{[]string{"good.json", "bad.json"}, 1, "bad.json:1:29: error: /status/state: expected one of TASK_STATE_SUBMITTED"},
		{[]string{"bad.json"}, 1, "    write TASK_STATE_WORKING"},
		{[]string{"--allow", "enum", "bad.json"}, 0, "valid"},
		{[]string{"deep"}, 0, filepath.Join("deep", "a", "b.jsonl") + ": Task"},
		{[]string{"bad.json", "none.json"}, 2, "none.json: could not be read"},
		{[]string{"empty"}, 2, "no file ending in .json"},
		{[]string{"--max-document", "10", "good.json"}, 2, "document too large"},
		{[]string{"esc.json"}, 1, "/metadata/\ufffd[31m/a"},
		{[]string{}, 2, ""},
		{[]string{"--type", "Tusk", "good.json"}, 2, ""},
		{[]string{"--format", "xml", "good.json"}, 2, ""},
		{[]string{"--list-types"}, 0, "TaskStatusUpdateEvent"},
	} {
		if code, out, err := validateFiles(t, files, v.args...); code != v.code || !strings.Contains(out, v.want) || v.want == "" && out != "" {
			t.Errorf("%v: exit code %d, want %d and %q in:\n%s%s", v.args, code, v.code, v.want, out, err)
		}
	}
}

// The standard input is read as it comes, and nothing is coloured where nobody sees it.
func TestValidateStandardInput(t *testing.T) {
	c := command(t, "validate", "-")
	c.Stdin = strings.NewReader("data: {\"task\":" + validTask + "}\n\n")
	out, _ := c.CombinedOutput()
	if code := c.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "<stdin>:1:1: error: expected a frame with a terminal state") || strings.Contains(string(out), "\x1b") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestValidateJSONLines(t *testing.T) {
	_, out, _ := validateFiles(t, map[string]string{"a.jsonl": validTask + "\n" + invalidTask + "\n"}, "--format", "json", "a.jsonl", "none")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 4 {
		t.Fatalf("not 4 lines:\n%s", out)
	}
	var second struct {
		File     string `json:"file"`
		Line     int    `json:"line"`
		Type     string `json:"type"`
		Valid    bool   `json:"valid"`
		Findings []struct {
			Rule, Pointer, Section, Hint string
		} `json:"findings"`
	}
	if err := json.Unmarshal([]byte(lines[1]), &second, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if second.Line != 2 || second.Valid || len(second.Findings) != 1 || second.Findings[0].Section != "4.1.3" {
		t.Errorf("%+v", second)
	}
	if !strings.Contains(lines[2], `"error":`) || lines[3] != `{"summary":{"files":2,"documents":2,"invalid":1,"warnings":0,"unreadable":1}}` {
		t.Errorf("%s\n%s", lines[2], lines[3])
	}
}

// What SARIF 2.1.0 requires of the members that are written, and that the parts fit together.
func TestValidateSARIF(t *testing.T) {
	_, out, _ := validateFiles(t, map[string]string{"a b.json": invalidTask}, "--format", "sarif", "a b.json", "none")
	var log struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name  string `json:"name"`
					Rules []struct {
						ID      string                 `json:"id"`
						Short   struct{ Text string }  `json:"shortDescription"`
						Default struct{ Level string } `json:"defaultConfiguration"`
					} `json:"rules"`
				} `json:"driver"`
			} `json:"tool"`
			ColumnKind  string `json:"columnKind"`
			Invocations []struct {
				OK    *bool `json:"executionSuccessful"`
				Notes []struct {
					Message struct{ Text string } `json:"message"`
				} `json:"toolExecutionNotifications"`
			} `json:"invocations"`
			Results []struct {
				RuleID    string                `json:"ruleId"`
				RuleIndex int                   `json:"ruleIndex"`
				Level     string                `json:"level"`
				Message   struct{ Text string } `json:"message"`
				Locations []struct {
					Physical struct {
						Artifact struct {
							URI string `json:"uri"`
						} `json:"artifactLocation"`
						Region struct{ StartLine, StartColumn int } `json:"region"`
					} `json:"physicalLocation"`
				} `json:"locations"`
			} `json:"results"`
		} `json:"runs"`
	}
	if err := json.Unmarshal([]byte(out), &log, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("%v in:\n%s", err, out)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || !strings.Contains(log.Schema, "2.1.0") {
		t.Fatalf("%.200s", out)
	}
	r := log.Runs[0]
	rules := r.Tool.Driver.Rules
	for i, rule := range rules {
		if rule.ID == "" || rule.Short.Text == "" || !slices.Contains([]string{"error", "warning", "none"}, rule.Default.Level) {
			t.Errorf("rule %d: %+v", i, rule)
		}
	}
	if len(r.Results) != 1 || len(r.Invocations) != 1 || *r.Invocations[0].OK || len(r.Invocations[0].Notes) != 1 || r.ColumnKind != "unicodeCodePoints" {
		t.Fatalf("%+v", r)
	}
	x := r.Results[0]
	where := x.Locations[0].Physical
	if rules[x.RuleIndex].ID != x.RuleID || x.Level != "error" || x.Message.Text == "" || where.Artifact.URI != "a%20b.json" || where.Region.StartLine != 1 || where.Region.StartColumn != 29 {
		t.Errorf("%+v", x)
	}
}

func TestValidateJUnit(t *testing.T) {
	many := strings.Repeat(validTask+"\n", 1500) + strings.Repeat(invalidTask+"\n", 5)
	_, out, _ := validateFiles(t, map[string]string{"a&b.json": invalidTask, "many.jsonl": many}, "--format", "junit", "a&b.json", "many.jsonl", "none")
	var report struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Errors   int    `xml:"errors,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
				Error *struct{} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v in:\n%.300s", err, out)
	}
	if len(report.Suites) != 3 {
		t.Fatalf("%d suites", len(report.Suites))
	}
	for i, want := range []struct{ tests, failures, errors int }{{1, 1, 0}, {1002, 1, 0}, {1, 0, 1}} {
		s := report.Suites[i]
		failures, faults := 0, 0
		for _, c := range s.Cases {
			if c.Failure != nil {
				failures++
			}
			if c.Error != nil {
				faults++
			}
		}
		if s.Tests != want.tests || len(s.Cases) != want.tests || s.Failures != want.failures || failures != want.failures || s.Errors != want.errors || faults != want.errors {
			t.Errorf("%s: %d tests, %d failures, %d errors; %d cases", s.Name, s.Tests, s.Failures, s.Errors, len(s.Cases))
		}
	}
	if f := report.Suites[0].Cases[0].Failure; !strings.Contains(f.Text, "a&b.json:1:29: error: /status/state") || !strings.Contains(f.Message, "/status/state") {
		t.Errorf("%+v", f)
	}
}

// GitHub ends a command at a line break, and a property at a colon or comma.
func TestValidateGitHub(t *testing.T) {
	_, out, _ := validateFiles(t, map[string]string{"a,b:c%.json": `{"id":"t","metadata":{"x\n::y":{"a":1,"a":2}},"status":{"state":"TASK_STATE_WORKING","message":null}}`}, "--format", "github", "a,b:c%.json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "::error file=a%2Cb%3Ac%25.json,line=1,col=39,title=A2A duplicate::/metadata/x%0A::y/a: expected") ||
		!strings.HasPrefix(lines[1], "::warning file=") || !strings.HasPrefix(lines[2], "1 document") {
		t.Errorf("%s", out)
	}
}

// The hook and the action run what they say they run.
func TestHookAndAction(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	parse := func(name string, into any) {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = yaml.Unmarshal(b, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var hooks []struct{ ID, Entry, Language, Files string }
	parse(".pre-commit-hooks.yaml", &hooks)
	for _, h := range hooks {
		if args := strings.Fields(h.Entry); h.Language != "golang" || args[0] != "a2aserve" || run(t.Context(), append(args[1:], "--list-types"), &bytes.Buffer{}, os.Stderr) != 0 {
			t.Errorf("%+v", h)
		}
	}
	var action struct {
		Runs struct {
			Using string
			Steps []struct {
				ID, Run, Shell string
				Env            map[string]string
			}
		}
	}
	parse(".ci/action/action.yml", &action)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "my task.json"), validTask)
	write(t, filepath.Join(dir, "bad.json"), invalidTask)
	last := action.Runs.Steps[len(action.Runs.Steps)-1]
	if action.Runs.Using != "composite" || last.Shell != "bash" {
		t.Fatalf("%+v", action)
	}
	for files, want := range map[string]string{"my task.json": "all valid", "my task.json\nbad.json\n": "::error file=bad.json", "none.json": "could not be read", "*.json": "2 documents in 2 files"} {
		c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", last.Run)
		c.Dir = dir
		c.Env = append(os.Environ(), "A2ASERVE="+exe, "A2ASERVE_TEST_COMMAND=1", "INPUT_FILES="+files, "INPUT_ARGS=--from server", "INPUT_TYPE=", "INPUT_STRICT=true", "INPUT_ALLOW=null")
		out, err := c.CombinedOutput()
		if !strings.Contains(string(out), want) || (err == nil) != (want == "all valid") {
			t.Errorf("%q: %v, want %q in:\n%s", files, err, want, out)
		}
	}
	for name := range last.Env {
		if !strings.HasPrefix(name, "INPUT_") && name != "A2ASERVE" {
			t.Errorf("the action sets %s, which this test does not", name)
		}
	}
}
