package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/store"
	"a2aserve/impl/turn"

	"github.com/go-json-experiment/json"
)

// db runs a db command on a database.
func db(t *testing.T, path string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), append(append([]string{"db"}, args...), "--db", path), &o, &e)
	return code, o.String(), e.String()
}

// sent has a server carry out a task and returns its id.
func sent(t *testing.T, s *server, text string) string {
	t.Helper()
	_, body := call(t, "POST", s.field(t, "HTTP+JSON")+"/message:send",
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"`+text+`"}]}}`)
	var out struct {
		Task struct {
			ID string `json:"id"`
		} `json:"task"`
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil || out.Task.ID == "" {
		t.Fatalf("send: %v %s", err, body)
	}
	return out.Task.ID
}

// A backup of a running server, put in the place of the database, is what was there then;
// what deletes and frees waits until the server has stopped, and says who has the file.
func TestBackupAndRestore(t *testing.T) {
	dir := t.TempDir()
	path, copy := filepath.Join(dir, "tasks.db"), filepath.Join(dir, "copy.db")
	s := startServer(t, "--bind", "127.0.0.1:0", "--db", path)
	before := sent(t, s, "echo before")
	code, out, errs := db(t, path, "backup", copy, "--json")
	if code != 0 || !strings.Contains(out, `"to":"`+copy) || !strings.Contains(errs, "checking every page") {
		t.Fatalf("backup: exit code %d, %q, %q", code, out, errs)
	}
	if code, _, errs := db(t, path, "backup", copy); code != exitFailure || !strings.Contains(errs, "exists") {
		t.Errorf("a second time: exit code %d, %q", code, errs)
	}
	after := sent(t, s, "echo after")
	if code, out, errs := db(t, path, "stats"); code != 0 || !strings.Contains(out, "2 (completed 2)") {
		t.Errorf("stats beside the server: exit code %d, %q %q", code, out, errs)
	}
	for _, args := range [][]string{{"prune", "--older-than", "0s"}, {"release", "s1"}, {"check"}} {
		if code, _, errs := db(t, path, args...); code != exitFailure || !strings.Contains(errs, "pid ") {
			t.Errorf("%q beside the server: exit code %d, %q", args, code, errs)
		}
	}
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if err := os.Rename(copy, path); err != nil {
		t.Fatal(err)
	}
	s = startServer(t, "--bind", "127.0.0.1:0", "--db", path)
	defer s.stop(t)
	tasks := s.field(t, "HTTP+JSON") + "/tasks/"
	if status, body := call(t, "GET", tasks+before, ""); status != 200 || !strings.Contains(body, "TASK_STATE_COMPLETED") {
		t.Errorf("the task before the copy: %d %s", status, body)
	}
	if status, _ := call(t, "GET", tasks+after, ""); status != 404 {
		t.Errorf("the task after the copy: %d", status)
	}
}

// peopled is a database with finished tasks of two callers and one without an identity, and
// a task that its server left unfinished.
func peopled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasks.db")
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	add := func(principal, id string, states ...a2a.TaskState) {
		c := turn.Change{Kind: turn.TaskCreated, Principal: principal, Task: id, Context: "c", State: a2a.TaskStateSubmitted, At: time.Now().Add(-time.Minute), Doc: []byte("{}")}
		if id == "a1" {
			c.Session = "the-session"
		}
		all := []turn.Change{c}
		for _, s := range states {
			all = append(all, turn.Change{Kind: turn.StatusChanged, Principal: principal, Task: id, Context: "c", State: s, At: time.Now().Add(-time.Minute), Doc: []byte("{}")})
		}
		if err := s.Append(all); err != nil {
			t.Fatal(err)
		}
	}
	add("ann", "a1", a2a.TaskStateCompleted)
	add("ann", "a2", a2a.TaskStateWorking)
	add("bob", "b1", a2a.TaskStateFailed)
	add("\x01anonymous", "n1", a2a.TaskStateCompleted)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDBStats(t *testing.T) {
	path := peopled(t)
	code, out, errs := db(t, path, "stats", "--each")
	for _, want := range []string{"Callers     3", "4 (completed 2, failed 1, working 1)", "Claimed     the-session", "ann: contexts 1, tasks 2 (completed 1, working 1)", "(without an identity): contexts 1, tasks 1"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d %s, no %q in:\n%s", code, errs, want, out)
		}
	}
	code, out, _ = db(t, path, "stats", "--json", "--principal", "bob")
	var got struct {
		Principals int64 `json:"principals"`
		Each       []struct {
			Principal string           `json:"principal"`
			Tasks     map[string]int64 `json:"tasks"`
		} `json:"each"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || got.Principals != 3 || len(got.Each) != 1 || got.Each[0].Tasks["TASK_STATE_FAILED"] != 1 {
		t.Errorf("exit code %d, %v in %s", code, err, out)
	}
	if code, _, errs := db(t, path, "stats", "--principal", "zoe"); code != exitFailure || !strings.Contains(errs, "no such caller") {
		t.Errorf("unknown caller: exit code %d, %q", code, errs)
	}
}

func TestDBPrune(t *testing.T) {
	path := peopled(t)
	for _, v := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--older-than", "0s", "--dry-run"}, 0, "3 tasks would be deleted"},
		{[]string{"--older-than", "1000000h"}, 0, "0 tasks deleted"},
		{[]string{"--older-than", "0s", "--principal", "bob"}, 0, "1 tasks deleted"},
		{[]string{"--all-of-principal", "--principal", "ann", "--json"}, 0, `{"tasks":2,"compacted":true}`},
		{[]string{"--older-than", "0s", "--anonymous", "--compact"}, 0, "1 tasks deleted"},
		{nil, exitUsage, "either --older-than or --all-of-principal"},
		{[]string{"--all-of-principal"}, exitUsage, "needs --principal"},
		{[]string{"--older-than", "0s", "--principal", ""}, exitUsage, "expected a name"},
		{[]string{"--older-than", "0s", "--principal", "x", "--anonymous"}, exitUsage, "exclude each other"},
		{[]string{"--older-than", "-1h"}, exitUsage, "length of time"},
	} {
		if code, out, errs := db(t, path, append([]string{"prune"}, v.args...)...); code != v.code || !strings.Contains(out+errs, v.want) {
			t.Errorf("%q: exit code %d, want %d and %q in %q %q", v.args, code, v.code, v.want, out, errs)
		}
	}
	// bob's name is kept with his context's counters; ann is forgotten, session included.
	if _, out, _ := db(t, path, "stats", "--each"); strings.Contains(out, "ann") || strings.Contains(out, "the-session") || !strings.Contains(out, "bob: contexts 0, tasks 0") {
		t.Errorf("what is left:\n%s", out)
	}
}

func TestDBRelease(t *testing.T) {
	path := peopled(t)
	if code, out, _ := db(t, path, "release", "the-session"); code != 0 || !strings.Contains(out, "is free") {
		t.Errorf("exit code %d, %q", code, out)
	}
	if code, out, errs := db(t, path, "release", "the-session", "--json"); code != exitFailure || !strings.Contains(out, `"held":false`) || !strings.Contains(errs, "no context") {
		t.Errorf("again: exit code %d, %q, %q", code, out, errs)
	}
	if code, _, errs := db(t, path, "release"); code != exitUsage || !strings.Contains(errs, "the id of the session") {
		t.Errorf("without a session: exit code %d, %q", code, errs)
	}
	if code, _, errs := db(t, filepath.Join(t.TempDir(), "none.db"), "release", "x"); code != exitFailure || !strings.Contains(errs, "no database") {
		t.Errorf("without a database: exit code %d, %q", code, errs)
	}
}
