package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// proof is a backticked name in the last column of a table: `vector NAME`, or
// `FOLDER.TestName`, where the folder is below the root of the repository.
var proof = regexp.MustCompile("`([^`]+)`")

// TestNamedProofsExist holds the ledgers against the tests that they name: a proof
// that is renamed or dropped shows here.
func TestNamedProofsExist(t *testing.T) {
	files, err := filepath.Glob("*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no ledgers", err)
	}
	files = append(files, "../docs/threat-model.md")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(string(text)) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|-") || strings.HasPrefix(line, "|---") || rows == 0 && strings.Contains(line, "Shown by") {
				continue
			}
			rows++
			last := strings.TrimSpace(cells[len(cells)-1])
			if last == "Shown by" {
				continue
			}
			names := proof.FindAllStringSubmatch(last, -1)
			if len(names) == 0 {
				t.Errorf("%s: no proof in: %s", f, line)
			}
			for _, n := range names {
				if !proved(t, n[1]) {
					t.Errorf("%s: there is no %s", f, n[1])
				}
			}
		}
		if rows < 5 {
			t.Errorf("%s: only %d rows were read", f, rows)
		}
	}
}

func proved(t *testing.T, name string) bool {
	if v, ok := strings.CutPrefix(name, "vector "); ok {
		_, err := os.Stat(filepath.Join("testdata/vectors", v+".txtar"))
		return err == nil
	}
	i := strings.LastIndex(name, ".")
	if i < 0 {
		return false
	}
	tests, err := filepath.Glob(filepath.Join("..", name[:i], "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tests {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "\nfunc "+name[i+1:]+"(") {
			return true
		}
	}
	return false
}
