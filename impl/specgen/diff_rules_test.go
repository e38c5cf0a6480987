package specgen

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// judged compares the pinned definition with an edited one and gives a line a change.
func judged(t *testing.T, from, to string) (lines []string, all []*Change) {
	t.Helper()
	var sides [2]*source
	for i, p := range []string{from, to} {
		var err error
		if sides[i], err = compileProto(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	word := map[bool]string{true: "breaks", false: "fits"}
	all = compare(sides[0], sides[1], mustTables(t))
	for _, c := range all {
		lines = append(lines, fmt.Sprintf("%s %s %s: clients %s, stored %s", c.Kind, c.Name, c.Change, word[c.Clients.Breaking], word[c.Stored.Breaking]))
	}
	return lines, all
}

func TestJudgements(t *testing.T) {
	const must = " [(google.api.field_behavior) = REQUIRED]"
	old := writeProto(t)
	for _, x := range []struct {
		about string
		edits []string
		want  []string
	}{
		{"nothing", nil, nil},
		{"required in a request",
			[]string{"  bool return_immediately = 4;", "  bool return_immediately = 4" + must + ";"},
			[]string{"field SendMessageConfiguration.returnImmediately changed: clients breaks, stored fits"}},
		{"required in what is stored",
			[]string{"  repeated string reference_task_ids = 8;", "  repeated string reference_task_ids = 8" + must + ";"},
			[]string{"field Message.referenceTaskIds changed: clients breaks, stored breaks"}},
		{"required in an answer only",
			[]string{"message ListTasksResponse {\n", "message ListTasksResponse {\n  string cursor = 9" + must + ";\n"},
			[]string{"field ListTasksResponse.cursor added: clients fits, stored fits"}},
		{"required in a card: operators have card files",
			[]string{"message AgentSkill {\n", "message AgentSkill {\n  string owner = 19" + must + ";\n"},
			[]string{"field AgentSkill.owner added: clients fits, stored breaks"}},
		{"no longer required in a request",
			[]string{"  .lf.a2a.v1.Message message = 2" + must + ";\n  .lf.a2a.v1.SendMessageConfiguration", "  .lf.a2a.v1.Message message = 2;\n  .lf.a2a.v1.SendMessageConfiguration"},
			[]string{"field SendMessageRequest.message changed: clients fits, stored fits"}},
		{"no longer required in an answer",
			[]string{"  .lf.a2a.v1.TaskState state = 1" + must + ";", "  .lf.a2a.v1.TaskState state = 1;"},
			[]string{"field TaskStatus.state changed: clients breaks, stored fits"}},
		{"another number", []string{"  bool return_immediately = 4;", "  bool return_immediately = 14;"},
			[]string{"field SendMessageConfiguration.returnImmediately changed: clients fits, stored fits"}},
		{"another type", []string{"  bool return_immediately = 4;", "  string return_immediately = 4;"},
			[]string{"field SendMessageConfiguration.returnImmediately changed: clients breaks, stored fits"}},
		{"a list for one value", []string{"  bool return_immediately = 4;", "  repeated bool return_immediately = 4;"},
			[]string{"field SendMessageConfiguration.returnImmediately changed: clients breaks, stored fits"}},
		{"another kind of the same JSON", []string{"  optional int32 history_length = 3;\n  bool", "  optional sint32 history_length = 3;\n  bool"}, nil},
		{"presence", []string{"  bool return_immediately = 4;", "  optional bool return_immediately = 4;"},
			[]string{"field SendMessageConfiguration.returnImmediately changed: clients fits, stored fits"}},
		{"deprecated", []string{"  bool return_immediately = 4;", "  bool return_immediately = 4 [deprecated = true];"},
			[]string{"field SendMessageConfiguration.returnImmediately changed: clients fits, stored fits"}},
		{"removed and its number reused for something else",
			[]string{"  bool return_immediately = 4;", "  string priority = 4;"},
			[]string{"field SendMessageConfiguration.returnImmediately removed: clients breaks, stored fits", "field SendMessageConfiguration.priority added: clients fits, stored fits"}},
		{"a oneof that grows, in what the server sends",
			[]string{"  .lf.a2a.v1.TaskArtifactUpdateEvent artifact_update = 4;", "  .lf.a2a.v1.TaskArtifactUpdateEvent artifact_update = 4;\n    string heartbeat = 5;"},
			[]string{"field StreamResponse.heartbeat added: clients breaks, stored fits"}},
		{"a oneof around a field",
			[]string{"  bool return_immediately = 4;", "  oneof waiting {\n    bool return_immediately = 4;\n  }"},
			[]string{"oneof SendMessageConfiguration.waiting added: clients fits, stored fits", "field SendMessageConfiguration.returnImmediately changed: clients breaks, stored fits"}},
		{"a state", []string{"  TASK_STATE_REJECTED = 7;", "  TASK_STATE_REJECTED = 7;\n  TASK_STATE_PAUSED = 9;"},
			[]string{"value TaskState.TASK_STATE_PAUSED added: clients breaks, stored fits"}},
		{"a renamed role", []string{"  ROLE_AGENT = 2;", "  ROLE_SERVER = 2;"},
			[]string{"value Role.ROLE_AGENT renamed: clients breaks, stored breaks"}},
		{"a renumbered role", []string{"  ROLE_AGENT = 2;", "  ROLE_AGENT = 3;"},
			[]string{"value Role.ROLE_AGENT changed: clients breaks, stored fits"}},
		{"a message nobody uses", []string{"message Task {\n", "message Bill {\n  string total = 1;\n}\nmessage Task {\n"},
			[]string{"message Bill added: clients fits, stored fits"}},
		{"an operation of another name", []string{"  rpc CancelTask(", "  rpc StopTask("},
			[]string{"operation CancelTask renamed: clients breaks, stored fits"}},
		{"an operation that streams", []string{"(.lf.a2a.v1.GetTaskRequest) returns (.lf.a2a.v1.Task)", "(.lf.a2a.v1.GetTaskRequest) returns (stream .lf.a2a.v1.Task)"},
			[]string{"operation GetTask changed: clients breaks, stored fits"}},
		{"another verb", []string{`{get: "/extendedAgentCard"`, `{post: "/extendedAgentCard"`},
			[]string{"route GetExtendedAgentCard changed: clients breaks, stored fits"}},
		{"a tenant's route", []string{`additional_bindings {get: "/{tenant}/extendedAgentCard"}`, ""},
			[]string{"route GetExtendedAgentCard removed: clients fits, stored fits"}},
		{"another package", []string{"package lf.a2a.v1;\n", "package lf.a2a.v1;\noption deprecated = true;\n"}, nil},
	} {
		got, _ := judged(t, old, writeProto(t, x.edits...))
		if !slices.Equal(got, x.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", x.about, strings.Join(got, "\n     "), strings.Join(x.want, "\n     "))
		}
	}
}

// A removed field breaks whoever spoke it, in whichever direction the revisions are read.
func TestRemovalIsTheOppositeOfAnAddition(t *testing.T) {
	old, grown := writeProto(t), writeProto(t, "  bool return_immediately = 4;", "  bool return_immediately = 4;\n  string priority = 5;")
	added, _ := judged(t, old, grown)
	removed, _ := judged(t, grown, old)
	if len(added) != 1 || !strings.Contains(added[0], "added: clients fits") || len(removed) != 1 || !strings.Contains(removed[0], "removed: clients breaks") {
		t.Errorf("got %q and %q", added, removed)
	}
}

// Renamed messages are one change, and no change of the fields that hold them.
func TestRenamedMessage(t *testing.T) {
	text, err := os.ReadFile(writeProto(t))
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy.proto")
	renamed := regexp.MustCompile(`\bArtifact\b`).ReplaceAllString(string(text), "Result")
	if err := os.WriteFile(to, []byte(renamed), 0o644); err != nil {
		t.Fatal(err)
	}
	got, all := judged(t, writeProto(t), to)
	if !slices.Equal(got, []string{"message Artifact renamed: clients fits, stored fits"}) {
		t.Fatalf("got %q", got)
	}
	r := &Report{Changes: all}
	affectedTables(r, mustSource(t), mustSource(t), mustTables(t), root)
	for _, want := range []string{"spec/descriptions.yaml: rename Artifact", "spec/stored.yaml: rename Artifact"} {
		if !slices.Contains(all[0].Tables, want) {
			t.Errorf("%q is not in %q", want, all[0].Tables)
		}
	}
}

// What a report names in the tables and in the ledger is there.
func TestAffectedRows(t *testing.T) {
	_, all := judged(t, writeProto(t), writeProto(t,
		"  rpc CancelTask(", "  rpc StopTask(",
		"  TASK_STATE_REJECTED = 7;", "  TASK_STATE_REFUSED = 7;",
		"  optional int32 history_length = 3;\n  bool", "  optional int32 history_size = 3;\n  bool"))
	dir := t.TempDir()
	ledger := `sections:
  - {section: "3.1.5", title: Cancel Task, rows: [{id: R-1, says: x}]}
  - {section: "4.1.3", title: TaskState, rows: [{id: R-2, says: x}]}
  - {section: "9", title: Other, rows: [{id: R-3, says: "at most historyLength messages"}, {id: R-4, says: of the state}]}
`
	if err := writeFile(dir, "conformance/requirements.yaml", []byte(ledger)); err != nil {
		t.Fatal(err)
	}
	r := &Report{Changes: all}
	affectedTables(r, mustSource(t), mustSource(t), mustTables(t), root)
	if err := affectedLedger(r, mustSource(t), mustTables(t), dir); err != nil {
		t.Fatal(err)
	}
	want := map[string]struct{ ledger, row string }{
		"CancelTask":                             {"R-1", "spec/operations.yaml: rename CancelTask"},
		"TaskState.TASK_STATE_REJECTED":          {"R-2", "spec/states.yaml: rename TASK_STATE_REJECTED, its class and 1 transition"},
		"SendMessageConfiguration.historyLength": {"R-3", "spec/constraints.yaml: rename SendMessageConfiguration.history_length"},
	}
	for _, c := range all {
		w := want[c.Name]
		if !slices.Equal(c.Ledger, []string{w.ledger}) || !slices.Contains(c.Tables, w.row) {
			t.Errorf("%s: ledger %q, tables %q", c.Name, c.Ledger, c.Tables)
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("nothing said of %v", want)
	}
	r = &Report{Changes: all}
	if err := affectedLedger(r, mustSource(t), mustTables(t), t.TempDir()); err != nil || len(r.Unread) != 1 {
		t.Errorf("without a ledger: %v, %q", err, r.Unread)
	}
}

// Columns are made by the migrations, and files are keys of the configuration.
func TestWhatIsStoredIsThere(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(root, "queries/schema/*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string]bool{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?ms)^CREATE TABLE (\w+) \((.*?)^\)`).FindAllStringSubmatch(string(b), -1) {
			for _, c := range regexp.MustCompile(`(?m)^  (\w+) +(?:TEXT|BLOB|INTEGER)`).FindAllStringSubmatch(m[2], -1) {
				columns[m[1]+"."+c[1]] = true
			}
		}
	}
	var config struct {
		Defs struct {
			Config struct {
				Properties map[string]any `json:"properties"`
			}
		} `json:"$defs"`
	}
	b, err := os.ReadFile(filepath.Join(root, "spec/config.schema.json"))
	if err == nil {
		err = json.Unmarshal(b, &config)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := mustTables(t).Stored
	said := map[string]bool{}
	for _, kind := range []map[string][]string{s.Documents, s.Codes} {
		for name, places := range kind {
			for _, p := range places {
				said[p] = true
				if !columns[p] {
					t.Errorf("%s: no column %s", name, p)
				}
			}
		}
	}
	for name, keys := range s.Files {
		for _, k := range keys {
			if config.Defs.Config.Properties[k] == nil {
				t.Errorf("%s: no key %s", name, k)
			}
		}
	}
	for c := range columns {
		if strings.HasSuffix(c, ".doc") && !said[c] {
			t.Errorf("spec/stored.yaml does not say what is in %s", c)
		}
	}
}
