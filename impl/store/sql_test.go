package store

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// What tests do to files behind the store's back.

// plain opens a file as any program would and runs statements on it.
func plain(t testing.TB, path string, statements ...string) {
	t.Helper()
	pool, err := sql.Open("sqlite", source(path, "rwc", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, s := range statements {
		if _, err := pool.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// oldFile makes a file as the first version of the schema was, with statements run on it.
func oldFile(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "old.db")
	pool, err := sql.Open("sqlite", source(path, "rwc", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	p, err := migrations(pool)
	if err == nil {
		_, err = p.UpTo(t.Context(), 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := pool.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return path
}

// number reads one number on the writing connection.
func number(t testing.TB, s *Store, query string) (n int64) {
	t.Helper()
	err := s.writer.submit(func(ctx context.Context, h *handle) error {
		return h.conn.QueryRowContext(ctx, query).Scan(&n)
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

const (
	rowWrites    = "SELECT total_changes()"
	pageCount    = "PRAGMA page_count"
	synchronous  = "PRAGMA synchronous"
	maxPages     = "PRAGMA max_page_count = %d"
	countersRows = "SELECT COUNT(*) FROM counters"
	newerVersion = "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)"
	otherProgram = "CREATE TABLE accounts (id INTEGER PRIMARY KEY)"
	oldPrincipal = "INSERT INTO principals (id) VALUES ('ann'), ('bob')"
	oldTask      = "INSERT INTO tasks VALUES ('%s', 't%d', 'c%d', %d, %d, 0, x'7b7d', '1:0;')"
	endOfGroup   = "ROLLBACK"
	// A reference to a task that is not there, which is looked at in the end.
	brokenAtCommit = "PRAGMA defer_foreign_keys = ON; INSERT INTO messages VALUES ('ann', 'nobody', 0, x'7b7d')"
	removeParent   = "DELETE FROM tasks"
	principalsAdd  = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO principals SELECT printf('p%%07d', i) FROM n"
)

// dump is every row that belongs to a principal, in every table that has owners.
func dump(t testing.TB, h *handle, principal string) string {
	t.Helper()
	var b strings.Builder
	for _, table := range []struct{ name, owner string }{
		{"tasks", "principal_id"}, {"statuses", "principal_id"}, {"messages", "principal_id"},
		{"artifacts", "principal_id"}, {"counters", "principal_id"}, {"principals", "id"}, {"sessions", "owner"},
	} {
		rows, err := h.conn.QueryContext(t.Context(), fmt.Sprintf("SELECT * FROM %s WHERE %s = ? ORDER BY 1, 2, 3", table.name, table.owner), principal)
		if err != nil {
			// principals has one column only
			rows, err = h.conn.QueryContext(t.Context(), fmt.Sprintf("SELECT * FROM %s WHERE %s = ?", table.name, table.owner), principal)
		}
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := rows.Columns()
		for rows.Next() {
			values := make([]any, len(columns))
			into := make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %s\n", table.name, fmt.Sprint(values...))
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// on runs f in the writer with the account of a principal.
func on(t testing.TB, s *Store, principal string, f func(context.Context, account) error) {
	t.Helper()
	err := s.writer.submit(func(ctx context.Context, h *handle) error { return f(ctx, s.writer.account(h, principal)) })
	if err != nil {
		t.Fatal(err)
	}
}

// execute runs a statement as a job of the writer.
func execute(statement string) func(context.Context, *handle) error {
	return func(ctx context.Context, h *handle) error {
		_, err := h.conn.ExecContext(ctx, statement)
		return err
	}
}
