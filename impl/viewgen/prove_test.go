package viewgen

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

var (
	namedParam = regexp.MustCompile(`@(\w+)|sqlc\.slice\('(\w+)'\)`)
	wantLine   = regexp.MustCompile(`-- want: (.*)`)
)

// statements reads a file of queries the way sqlc hands them on.
func statements(t *testing.T, path string) []query {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []query
	for _, part := range strings.Split("\n"+string(b), "\n-- name: ")[1:] {
		head, text, _ := strings.Cut(part, "\n")
		q := query{Name: strings.Fields(head)[0], Filename: filepath.Base(path)}
		var body []string
		for line := range strings.Lines(text) {
			if c, ok := strings.CutPrefix(line, "--"); ok {
				q.Comments = append(q.Comments, strings.TrimSuffix(c, "\n"))
				continue
			}
			body = append(body, line)
		}
		q.Text = q.number(strings.TrimSuffix(strings.TrimSpace(strings.Join(body, "")), ";"))
		all = append(all, q)
	}
	return all
}

func (q *query) number(text string) string {
	var names []string
	return namedParam.ReplaceAllStringFunc(text, func(s string) string {
		m := namedParam.FindStringSubmatch(s)
		name := m[1] + m[2]
		i := slices.Index(names, name)
		if i < 0 {
			names, i = append(names, name), len(names)
			p := param{Number: i + 1}
			p.Column.Name, p.Column.NotNull, p.Column.Slice = name, true, m[2] != ""
			q.Params = append(q.Params, p)
		}
		if m[2] != "" {
			return "/*SLICE:" + name + "*/?"
		}
		return fmt.Sprintf("?%d", i+1)
	})
}

func testSchema(t *testing.T, paths ...string) *schema {
	t.Helper()
	s, err := loadSchema(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func TestHonestStatementsPass(t *testing.T) {
	s := testSchema(t, "testdata/schema")
	if faults, err := s.faults(t.Context()); err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
	for _, q := range statements(t, "testdata/honest.sql") {
		if faults := s.examine(t.Context(), q); len(faults) > 0 {
			t.Errorf("%s: %q", q.Name, faults)
		}
	}
}

func TestHostileStatementsAreRefused(t *testing.T) {
	s := testSchema(t, "testdata/schema")
	b, _ := os.ReadFile("testdata/hostile.sql")
	wants := wantLine.FindAllStringSubmatch(string(b), -1)
	all := statements(t, "testdata/hostile.sql")
	if len(wants) != len(all) || len(all) < 30 {
		t.Fatalf("%d statements, %d wants", len(all), len(wants))
	}
	for i, q := range all {
		faults := strings.Join(s.examine(t.Context(), q), "; ")
		if !strings.Contains(faults, wants[i][1]) {
			t.Errorf("%s: refused with %q, want %q in it", q.Name, faults, wants[i][1])
		}
		if strings.Contains(faults, "does not compile") {
			t.Errorf("%s: proves nothing: %s", q.Name, faults)
		}
	}
}

// The product's own statements, without sqlc in between.
func TestOwnStatementsPass(t *testing.T) {
	s := testSchema(t, "../../queries/schema")
	if faults, err := s.faults(t.Context()); err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
	files, _ := filepath.Glob("../../queries/*.sql")
	n := 0
	for _, f := range files {
		for _, q := range statements(t, f) {
			n++
			if faults := s.examine(t.Context(), q); len(faults) > 0 {
				t.Errorf("%s: %s: %q", f, q.Name, faults)
			}
		}
	}
	if n == 0 {
		t.Error("no statements found")
	}
}

func TestParametersThatSqlcGetsWrong(t *testing.T) {
	s := testSchema(t, "testdata/schema")
	text := "SELECT id FROM jobs WHERE principal_id = ?1 AND id = ?2"
	principal := param{Number: 1}
	principal.Column.Name, principal.Column.NotNull = principalColumn, true
	id := param{Number: 2}
	id.Column.Name, id.Column.NotNull = "id", true
	with := func(change func(p, i *param)) []param {
		p, i := principal, id
		change(&p, &i)
		return []param{p, i}
	}
	for _, c := range []struct {
		name, want string
		query
	}{
		{"dropped in an upsert", "does not compile", query{Text: text, Params: []param{principal}}},
		{"dropped by name", "does not compile", query{Text: text + " AND note = @lost", Params: []param{principal, id}}},
		{"twice", "two parameters", query{Text: text, Params: with(func(_, i *param) { i.Column.Name = principalColumn })}},
		{"renamed", "name it @principal_id", query{Text: text, Params: with(func(_, i *param) { i.Column.OriginalName = principalColumn })}},
		{"a list", "one value", query{Text: text, Params: with(func(p, _ *param) { p.Column.Slice = true })}},
		{"nullable", "one value", query{Text: text, Params: with(func(p, _ *param) { p.Column.NotNull = false })}},
	} {
		faults := strings.Join(s.examine(t.Context(), c.query), "; ")
		if !strings.Contains(faults, c.want) {
			t.Errorf("%s: %q, want %q", c.name, faults, c.want)
		}
	}
}

func TestSchemaFaults(t *testing.T) {
	const good = `CREATE TABLE t (principal_id TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (principal_id, id)) STRICT;`
	for _, c := range []struct{ name, sql, want string }{
		{"trigger", good + `CREATE TRIGGER tr AFTER INSERT ON t BEGIN DELETE FROM t; END;`, "tr: the trigger"},
		{"index", good + `CREATE INDEX t_by_id ON t (id);`, "t.t_by_id: a key or index"},
		{"index on an expression", good + `CREATE INDEX t_x ON t (lower(principal_id), id);`, "t.t_x: a key or index"},
		{"unique key", `CREATE TABLE t (principal_id TEXT NOT NULL, id TEXT NOT NULL UNIQUE, PRIMARY KEY (principal_id, id)) STRICT;`, "a key or index"},
		{"collation", `CREATE TABLE t (principal_id TEXT NOT NULL COLLATE NOCASE, id TEXT NOT NULL, PRIMARY KEY (principal_id, id)) STRICT;`, "a key or index"},
		{"rowid alias", `CREATE TABLE t (id INTEGER PRIMARY KEY, principal_id TEXT NOT NULL) STRICT;`, "t: its rowid is a column"},
		{"nullable", `CREATE TABLE t (principal_id TEXT, id TEXT NOT NULL, UNIQUE (principal_id, id)) STRICT;`, "t: principal_id must be"},
		{"number", `CREATE TABLE t (principal_id INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY (principal_id, id)) STRICT;`, "t: principal_id must be"},
		{"computed", `CREATE TABLE t (id TEXT NOT NULL, principal_id TEXT NOT NULL AS (lower(id)) STORED, UNIQUE (principal_id, id)) STRICT;`, "t: principal_id must be"},
		{"without rowid", `CREATE TABLE t (principal_id TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (id, principal_id)) STRICT, WITHOUT ROWID;`, "a key or index"},
		{"foreign key", good + `CREATE TABLE u (principal_id TEXT NOT NULL, id TEXT NOT NULL, of TEXT NOT NULL, whose TEXT NOT NULL, PRIMARY KEY (principal_id, id),
			FOREIGN KEY (whose, of) REFERENCES t (principal_id, id) ON DELETE CASCADE) STRICT;`, "u -> t: the foreign key does not tie"},
		{"crossed foreign key", good + `CREATE TABLE u (principal_id TEXT NOT NULL, of TEXT NOT NULL, PRIMARY KEY (principal_id, of),
			FOREIGN KEY (of, principal_id) REFERENCES t (principal_id, id)) STRICT;`, "u -> t: the foreign key does not tie"},
		{"moving foreign key", `CREATE TABLE o (id TEXT NOT NULL PRIMARY KEY) STRICT; CREATE TABLE t (principal_id TEXT NOT NULL REFERENCES o (id) ON UPDATE CASCADE,
			id TEXT NOT NULL, PRIMARY KEY (principal_id, id)) STRICT;`, "t -> o: the foreign key may write"},
	} {
		path := filepath.Join(t.TempDir(), "schema.sql")
		if err := os.WriteFile(path, []byte("-- +goose Up\n"+c.sql+"\n-- +goose Down\nDROP TABLE t;"), 0o600); err != nil {
			t.Fatal(err)
		}
		faults, err := testSchema(t, path).faults(t.Context())
		if err != nil || !strings.Contains(strings.Join(faults, "\n"), c.want) {
			t.Errorf("%s: %q, %v; want %q", c.name, faults, err, c.want)
		}
	}
}

// What a developer sees who adds an unscoped statement: file, statement and table.
func TestPluginNamesFileStatementAndTable(t *testing.T) {
	var req request
	req.Settings.Schema = []string{"testdata/schema"}
	req.Queries = statements(t, "testdata/honest.sql")
	ask := func() error {
		b, err := json.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		return Plugin(bytes.NewReader(b), &bytes.Buffer{})
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	req.Queries = append(req.Queries, query{Filename: "write.sql", Name: "Oops", Text: "DELETE FROM jobs WHERE id = 'x'"})
	err := ask()
	if err == nil || !strings.Contains(err.Error(), "write.sql: Oops: reaches jobs without a parameter @principal_id") {
		t.Errorf("got %v", err)
	}
}
