package viewgen

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver whose bytecode is read is the one that runs
)

// schema is the database that the migrations make, in memory, with its b-trees by root page.
type schema struct {
	db    *sql.DB
	trees map[int]tree
}

// tree is a table's or an index's b-tree.
type tree struct {
	name, table string
	scoped      bool
	rowid       bool // a rowid table's own: reached only by rowids from its indexes
	place       int  // of the principal column in its records
}

// loadSchema runs the migrations up. Foreign keys stay off, so that programs hold only the
// statement's own work; faults checks the keys instead.
func loadSchema(ctx context.Context, paths []string) (*schema, error) {
	db, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	s := &schema{db: db, trees: map[int]tree{}}
	files, err := sqlFiles(paths)
	if err == nil {
		err = s.run(ctx, files)
	}
	if err == nil {
		err = s.readTrees(ctx)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *schema) close() { _ = s.db.Close() }

func sqlFiles(paths []string) ([]string, error) {
	var files []string
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !st.IsDir() {
			files = append(files, p)
			continue
		}
		found, err := filepath.Glob(filepath.Join(p, "*.sql"))
		if err != nil {
			return nil, err
		}
		slices.Sort(found) // goose orders by the number that names begin with
		files = append(files, found...)
	}
	return files, nil
}

// run stops where a migration's way down begins: sqlc and the proof see the schema as it is served.
func (s *schema) run(ctx context.Context, files []string) error {
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		up, _, _ := strings.Cut(string(b), "-- +goose Down")
		if _, err := s.db.ExecContext(ctx, up); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
	}
	return nil
}

// readTrees learns what is behind the root pages that instructions name, and where the principal is
// in each b-tree's records.
func (s *schema) readTrees(ctx context.Context) error {
	const all = `SELECT m.type = 'table', m.name, m.tbl_name, m.rootpage,
		EXISTS (SELECT 1 FROM pragma_table_xinfo(m.tbl_name) WHERE name = ?1),
		(SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = m.tbl_name),
		-- virtual generated columns (hidden = 2) are not stored
		(SELECT COUNT(*) FROM pragma_table_xinfo(m.tbl_name) x WHERE x.hidden <> 2 AND x.cid <
			(SELECT cid FROM pragma_table_xinfo(m.tbl_name) WHERE name = ?1))
		FROM sqlite_schema m WHERE m.rootpage > 0`
	rows, err := s.db.QueryContext(ctx, all, principalColumn)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var t tree
		var table, withoutRowid bool
		var root, place int
		if err := rows.Scan(&table, &t.name, &t.table, &root, &t.scoped, &withoutRowid, &place); err != nil {
			return err
		}
		if t.scoped && table && !withoutRowid {
			t.rowid, t.place = true, place
		}
		s.trees[root] = t
	}
	return rows.Err()
}

// faults lists what in the schema itself would let a proven statement reach further than
// its proof: each query returns a row for each fault.
func (s *schema) faults(ctx context.Context) ([]string, error) {
	var all []string
	for _, rule := range []struct{ text, sql string }{
		{"%s: the trigger would act outside of the proof",
			`SELECT name FROM sqlite_schema WHERE type = 'trigger' AND ?1 <> ''`},
		{"%s: " + principalColumn + " must be a stored TEXT column, NOT NULL, with the plain collation", `
			SELECT t.name FROM scoped t JOIN pragma_table_xinfo(t.name) x ON x.name = ?1
			WHERE x.type <> 'TEXT' OR x.hidden <> 0 OR x."notnull" = 0`},
		{"%s: a key or index does not begin with " + principalColumn + " under the plain collation", `
			SELECT t.name || '.' || i.name FROM scoped t, pragma_index_list(t.name) i, pragma_index_xinfo(i.name) x
			WHERE x.seqno = 0 AND (x.name IS NULL OR x.name <> ?1 OR x.coll <> 'BINARY')`},
		{"%s: its rowid is a column: rows could be named without " + principalColumn, `
			SELECT t.name FROM scoped t WHERE t.wr = 0 AND 1 = (SELECT COUNT(*) FROM pragma_table_xinfo(t.name) WHERE pk > 0)
			AND EXISTS (SELECT 1 FROM pragma_table_xinfo(t.name) WHERE pk > 0 AND upper(type) = 'INTEGER')`},
		{"%s: the foreign key does not tie the principals of both rows together", `
			SELECT t.name || ' -> ' || k."table" FROM scoped t, pragma_foreign_key_list(t.name) k GROUP BY t.name, k.id
			HAVING NOT max(k."from" = ?1 AND (k."to" = ?1 OR k."table" NOT IN (SELECT name FROM scoped)))`},
		{"%s: the foreign key may write another principal into a row", `
			SELECT t.name || ' -> ' || k."table" FROM scoped t, pragma_foreign_key_list(t.name) k
			WHERE ?1 <> '' AND (k.on_update NOT IN ('NO ACTION', 'RESTRICT') OR k.on_delete NOT IN ('NO ACTION', 'RESTRICT', 'CASCADE'))`},
	} {
		const scoped = `WITH scoped AS (SELECT l.name, l.wr FROM pragma_table_list l
			WHERE l.schema = 'main' AND l.type = 'table' AND EXISTS (SELECT 1 FROM pragma_table_xinfo(l.name) WHERE name = ?1)) `
		found, err := s.names(ctx, scoped+rule.sql)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			all = append(all, "schema: "+fmt.Sprintf(rule.text, name))
		}
	}
	return all, nil
}

// names runs one rule; what it finds is named to the developer.
func (s *schema) names(ctx context.Context, query string) ([]string, error) {
	rows, err := s.db.QueryContext(ctx, query, principalColumn)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, rows.Err()
}

// compile has SQLite translate a statement.
func (s *schema) compile(ctx context.Context, text string, params int) (*program, error) {
	rows, err := s.db.QueryContext(ctx, "EXPLAIN "+text, make([]any, params)...)
	if err != nil {
		return nil, fmt.Errorf("does not compile with the %d parameters that sqlc sees: %w", params, err)
	}
	defer rows.Close()
	p := &program{cursors: map[int]tree{}, trees: s.trees, params: params}
	for rows.Next() {
		var o op
		var p4, comment sql.NullString
		if err := rows.Scan(&o.addr, &o.name, &o.p1, &o.p2, &o.p3, &p4, &o.p5, &comment); err != nil {
			return nil, err
		}
		o.p4 = p4.String
		p.ops = append(p.ops, o)
	}
	return p, rows.Err()
}
