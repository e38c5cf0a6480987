package conformance

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// caseRow is one case of CASES.md.
type caseRow struct{ verdict, proofs string }

func loadCases(t *testing.T) (ids []string, rows map[string]caseRow) {
	t.Helper()
	text, err := os.ReadFile("CASES.md")
	if err != nil {
		t.Fatal(err)
	}
	rows = map[string]caseRow{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|--") || strings.HasPrefix(line, "| Case ") {
			continue
		}
		if len(cells) != 6 {
			t.Fatalf("no row of four: %s", line)
		}
		id := strings.TrimSpace(cells[1])
		ids = append(ids, id)
		rows[id] = caseRow{strings.TrimSpace(cells[3]), cells[4]}
	}
	return ids, rows
}

// Each case that was collected has its row, once, in the order of the collection, with one
// of the three verdicts; what is not as the case has it is a choice that is written down; and
// a vector that says which cases it proves is named there.
func TestCasesAreComplete(t *testing.T) {
	data, err := os.ReadFile("testdata/case-ids.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(data))
	got, rows := loadCases(t)
	if len(want) != 96 || !slices.Equal(got, want) {
		for _, id := range want {
			if !slices.Contains(got, id) {
				t.Errorf("%s has no row", id)
			}
		}
		t.Errorf("%d rows for %d cases, or in another order, or twice", len(got), len(want))
	}
	choices := topics(t)
	number := regexp.MustCompile(`\((\d+)\)`)
	for id, row := range rows {
		chosen := number.FindStringSubmatch(row.verdict)
		switch {
		case strings.HasPrefix(row.verdict, "passes"):
		case !strings.HasPrefix(row.verdict, "another answer") && !strings.HasPrefix(row.verdict, "not offered"):
			t.Errorf("%s: %q is no verdict", id, row.verdict)
		case chosen == nil:
			t.Errorf("%s: names no row of spec/DIVERGENCES.md", id)
		default:
			if n, err := strconv.Atoi(chosen[1]); err != nil || choices[n] == "" {
				t.Errorf("%s: spec/DIVERGENCES.md has no row %s", id, chosen[1])
			}
		}
	}
	for _, v := range loadVectors(t) {
		for _, id := range v.Cases {
			if row, ok := rows[id]; !ok || !strings.Contains(row.proofs, "`vector "+v.Name+"`") {
				t.Errorf("vector %s proves %s, whose row does not name it", v.Name, id)
			}
		}
	}
}
