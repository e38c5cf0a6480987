package specgen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustTables(t *testing.T) *tables {
	t.Helper()
	tab, err := loadTables(root)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func mustSource(t *testing.T) *source {
	t.Helper()
	s, err := loadSource(t.Context(), Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each edit of a table makes it name something that is not there, or leaves
// something without a row; the error must say which.
func TestRowsThatMatchNothing(t *testing.T) {
	for want, edit := range map[string]func(*tables){
		"descriptions.yaml: Tsak names nothing": func(t *tables) { t.Descriptions.Messages["Tsak"] = described{About: "x"} },
		"descriptions.yaml: Task.idd names nothing": func(t *tables) {
			t.Descriptions.Messages["Task"].Fields["idd"] = "x"
		},
		"descriptions.yaml: Role.ROLE_BOSS names nothing": func(t *tables) {
			t.Descriptions.Enums["Role"].Values["ROLE_BOSS"] = "x"
		},
		"descriptions.yaml: operation SendMail names nothing": func(t *tables) { t.Descriptions.Operations["SendMail"] = description{} },
		"descriptions.yaml: common nobody names nothing":      func(t *tables) { t.Descriptions.Common["nobody"] = "x" },
		"constraints.yaml: Task.size matches no field": func(t *tables) {
			t.Constraints.Fields["Task.size"] = fieldRule{Section: "1"}
		},
		"constraints.yaml: Task.content matches no oneof": func(t *tables) {
			t.Constraints.Oneofs["Task.content"] = oneofRule{Rule: "exactly_one", Section: "1"}
		},
		"no row for the oneof Part.content": func(t *tables) { delete(t.Constraints.Oneofs, "Part.content") },
		"errors.yaml: TaskNotFoundError: twice": func(t *tables) {
			t.Errors = append(t.Errors, t.Errors[0])
		},
		"errors.yaml: TaskNotFoundError: no section": func(t *tables) { t.Errors[0].Section = "" },
		"errors.yaml: TaskNotFoundError: section is ours, but no why": func(t *tables) {
			t.Errors[0].Section = "ours"
		},
		"operations.yaml: SendMail: matches no operation": func(t *tables) {
			t.Operations = append(t.Operations, operationRow{Name: "SendMail", Section: "1"})
		},
		`operations.yaml: SendMessage: access is "own", not read`: func(t *tables) { t.Operations[0].Access = "own" },
		"operations.yaml: no row for SendMessage":                 func(t *tables) { t.Operations = t.Operations[1:] },
		"operations.yaml: SendMessage: NoSuchError matches no error": func(t *tables) {
			t.Operations[0].Errors = append(t.Operations[0].Errors, "NoSuchError")
		},
		"capabilities.yaml: teleport: matches no field": func(t *tables) { t.Capabilities[0].Capability = "teleport" },
		"capabilities.yaml: streaming: SendMail matches no operation": func(t *tables) {
			t.Capabilities[0].Operations = append(t.Capabilities[0].Operations, "SendMail")
		},
		"capabilities.yaml: streaming: NoSuchError matches no error": func(t *tables) { t.Capabilities[0].Error = "NoSuchError" },
		"states.yaml: TASK_STATE_ASLEEP matches no state": func(t *tables) {
			t.States = append(t.States, stateRow{Name: "TASK_STATE_ASLEEP", Class: "active", Section: "1"})
		},
		"states.yaml: no row for TASK_STATE_SUBMITTED": func(t *tables) { t.States = t.States[1:] },
		"states.yaml: TASK_STATE_FAILED to TASK_STATE_WORKING: TASK_STATE_FAILED is terminal": func(t *tables) {
			t.Transitions = append(t.Transitions, transitionRow{From: []string{"TASK_STATE_FAILED"}, To: "TASK_STATE_WORKING", Section: "1"})
		},
		"stored.yaml: Tsak matches no message":               func(t *tables) { t.Stored.Documents["Tsak"] = []string{"tasks.status"} },
		"stored.yaml: Role matches no message":               func(t *tables) { t.Stored.Files["Role"] = nil },
		"stored.yaml: Task matches no enum":                  func(t *tables) { t.Stored.Codes["Task"] = nil },
		"states.yaml: no transition to TASK_STATE_SUBMITTED": func(t *tables) { t.Transitions = t.Transitions[1:] },
	} {
		tab := mustTables(t)
		edit(tab)
		_, err := checkTables(mustSource(t), tab)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in the error, got: %v", want, err)
		}
	}
}

func TestTablesMatchTheDescriptor(t *testing.T) {
	tab := mustTables(t)
	if _, err := checkTables(mustSource(t), tab); err != nil {
		t.Fatal(err)
	}
	for _, e := range tab.Errors {
		a2a := e.Code <= -32001 && e.Code >= -32099
		if a2a != (e.Domain == "a2a-protocol.org") {
			t.Errorf("%s: code %d and domain %s", e.Name, e.Code, e.Domain)
		}
		if !a2a {
			continue
		}
		var want strings.Builder // A2A §11.6: the name in capitals, without Error
		for i, r := range strings.TrimSuffix(e.Name, "Error") {
			if i > 0 && r >= 'A' && r <= 'Z' {
				want.WriteByte('_')
			}
			want.WriteRune(r)
		}
		if e.Reason != strings.ToUpper(want.String()) {
			t.Errorf("%s: reason %s", e.Name, e.Reason)
		}
	}
}

func TestUnknownKeyInATable(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"descriptions", "constraints", "errors", "capabilities", "operations", "states", "stored"} {
		b, err := os.ReadFile(filepath.Join(root, "spec", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if name == "errors" {
			b = append(b, "  - {nmae: X}\n"...)
		}
		if err := writeFile(dir, "spec/"+name+".yaml", b); err != nil {
			t.Fatal(err)
		}
	}
	_, err := loadTables(dir)
	if err == nil || !strings.Contains(err.Error(), "spec/errors.yaml") || !strings.Contains(err.Error(), "nmae") {
		t.Errorf("got %v, want the file and the key", err)
	}
}
