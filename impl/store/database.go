package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"a2aserve/gen/db"
	"a2aserve/queries"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite" // also registers the driver
	sqlite3 "modernc.org/sqlite/lib"
)

// This file alone opens the database and holds what SQL is not in queries/: settings,
// transactions, checks.

// setting is a PRAGMA and the value it must have.
type setting struct {
	name  string
	value int64
}

// busyTimeout is how long, in milliseconds, a connection waits for another's lock. Within
// the process there is one writer, so it is for tools that look into a running file.
const busyTimeout = 5000

// Readers never write, whatever they are asked; memory mapping halves a point read.
var readerSettings = []setting{
	{"query_only", 1}, {"busy_timeout", busyTimeout}, {"mmap_size", 256 << 20},
}

// Cascades of an eviction rest on foreign_keys, which SQLite leaves off unless told.
func writerSettings(s Synchronous) []setting {
	return []setting{{"synchronous", int64(s)}, {"foreign_keys", 1}, {"busy_timeout", busyTimeout}}
}

// handle is one connection with its prepared statements. One goroutine at a time uses it.
type handle struct {
	path string
	pool *sql.DB // of this one connection
	conn *sql.Conn
	*db.Conn

	begin, commit, rollback, savepoint, release, undo, pages *sql.Stmt
}

// source is the connection string of a file; the path is escaped, since SQLite reads a URI.
func source(path, mode string, settings []setting) string {
	q := url.Values{"mode": {mode}}
	for _, s := range settings {
		q.Add("_pragma", fmt.Sprintf("%s(%d)", s.name, s.value))
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	return u.String()
}

// openWriter takes the write lock as a transaction begins: one that has read first could not take it
// later, if another had written meanwhile.
func openWriter(ctx context.Context, path string, sync Synchronous) (*handle, error) {
	return openHandle(ctx, path, "rw", "BEGIN IMMEDIATE", writerSettings(sync))
}

func openReader(ctx context.Context, path string) (*handle, error) {
	return openHandle(ctx, path, "ro", "BEGIN", readerSettings)
}

// guestMode is for those who look into a file without being its server: read-only beside
// one, or where one has left its log behind. Otherwise they make the log, and whoever may
// write takes it away again in the end.
func guestMode(path string) string {
	if logSize(path) > 0 {
		return "ro"
	}
	return "rw"
}

// openHandle opens one connection and prepares all there is on it, so that a statement that does not
// fit the file fails here and not under a request.
func openHandle(ctx context.Context, path, mode, begin string, settings []setting) (h *handle, err error) {
	pool, err := sql.Open("sqlite", source(path, mode, settings))
	if err != nil {
		return nil, refusal(path, err)
	}
	pool.SetMaxOpenConns(1)
	h = &handle{path: path, pool: pool}
	defer func() {
		if err != nil {
			_ = h.close()
			h = nil
		}
	}()
	if h.conn, err = pool.Conn(ctx); err != nil {
		return h, refusal(path, err)
	}
	if err = h.confirm(ctx, path, settings); err != nil {
		return h, err
	}
	if h.Conn, err = db.Prepare(ctx, h.conn); err != nil {
		return h, refusal(path, err)
	}
	for _, s := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&h.begin, begin}, {&h.commit, "COMMIT"}, {&h.rollback, "ROLLBACK"},
		{&h.savepoint, "SAVEPOINT job"}, {&h.release, "RELEASE job"}, {&h.undo, "ROLLBACK TO job"},
		{&h.pages, "SELECT (c.page_count - f.freelist_count) * s.page_size FROM pragma_page_count AS c, pragma_freelist_count AS f, pragma_page_size AS s"},
	} {
		if *s.to, err = h.conn.PrepareContext(ctx, s.text); err != nil {
			return h, refusal(path, err)
		}
	}
	return h, nil
}

// confirm reads the settings back: a PRAGMA that is misspelt or not possible fails silently.
func (h *handle) confirm(ctx context.Context, path string, settings []setting) error {
	var mode string
	if err := h.conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return refusal(path, err)
	}
	if mode != "wal" {
		return &OpenError{Path: path, Kind: ErrSettings, Detail: "journal_mode is " + mode + " and not wal"}
	}
	for _, s := range settings {
		var got int64
		err := h.conn.QueryRowContext(ctx, "PRAGMA "+s.name).Scan(&got)
		if s.name == "mmap_size" && (absent(err) || err == nil) {
			continue // a wish: some systems have none
		}
		if err != nil {
			return refusal(path, err)
		}
		if got != s.value {
			return &OpenError{Path: path, Kind: ErrSettings, Detail: fmt.Sprintf("%s is %d and not %d", s.name, got, s.value)}
		}
	}
	return nil
}

// close also takes a handle that is only half opened.
func (h *handle) close() error {
	var errs []error
	if h.Conn != nil {
		errs = append(errs, h.Conn.Close())
	}
	for _, s := range []*sql.Stmt{h.begin, h.commit, h.rollback, h.savepoint, h.release, h.undo, h.pages} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	if h.conn != nil {
		errs = append(errs, h.conn.Close())
	}
	return errors.Join(append(errs, h.pool.Close())...)
}

// step runs one of the handle's own statements. It takes no context: a transaction is
// ended whatever has become of the request.
func (h *handle) step(s *sql.Stmt) error {
	_, err := s.Exec()
	return err
}

// used is the number of bytes in the file that hold something.
func (h *handle) used() (n int64, err error) {
	err = h.pages.QueryRow().Scan(&n)
	return n, err
}

// emptyLog moves the write-ahead log into the file and cuts it to nothing. SQLite does the
// like by itself as long as there are moments without readers. It waits for those who read
// now, at most patience milliseconds for each, while writers wait: done says whether it
// came to that.
func (h *handle) emptyLog(ctx context.Context, patience int64) (done bool, err error) {
	var busy, pages, moved int64
	_, err = h.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", patience))
	if err == nil {
		err = h.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
	}
	_, restore := h.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout))
	return busy == 0, errors.Join(err, restore)
}

// absent reports that a statement found no row.
func absent(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// refusal says of an error of SQLite whether the file is at fault.
func refusal(path string, err error) error {
	kind := ErrUnusable
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			kind = ErrCorrupt
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			kind = ErrLocked
		}
	}
	return &OpenError{Path: path, Kind: kind, Cause: err}
}

// migrations leaves goose's global registry out: an embedder may have migrations of its own there.
func migrations(pool *sql.DB) (*goose.Provider, error) {
	dir, err := fs.Sub(queries.Schema, "schema")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, pool, dir, goose.WithDisableGlobalRegistry(true))
}

// create makes the database under another name and moves it into place, so that a file
// with its name is always whole and carries its identity in the header.
func create(ctx context.Context, path string) error {
	fail := func(err error) error { return &OpenError{Path: path, Kind: ErrUnusable, Cause: err} }
	fresh := path + ".new"
	for _, name := range []string{fresh, fresh + "-journal"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(err)
		}
	}
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // tasks are private
	if err != nil {
		return fail(err)
	}
	_ = f.Close()
	pool, err := sql.Open("sqlite", source(fresh, "rw", nil))
	if err != nil {
		return fail(err)
	}
	pool.SetMaxOpenConns(1)
	provider, err := migrations(pool)
	if err == nil {
		_, err = provider.Up(ctx)
	}
	if err == nil {
		_, err = pool.ExecContext(ctx, "PRAGMA journal_mode = WAL")
	}
	if err = errors.Join(err, pool.Close()); err != nil {
		return fail(err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return fail(err)
	}
	return syncFolder(path)
}

// syncFolder makes the new name durable; without it a power cut could take the whole file away.
func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return &OpenError{Path: path, Kind: ErrUnusable, Detail: "its folder", Cause: err}
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return &OpenError{Path: path, Kind: ErrUnusable, Detail: "its folder", Cause: err}
	}
	return nil
}

// upgrade checks the schema's version, which takes no longer for a large file, and brings
// an older one up. With check set the file's pages are checked first. report is told when a
// step that may take long begins, and gives what to call when it ends.
func upgrade(ctx context.Context, path string, check bool, report func(string) func(error)) (err error) {
	pool, err := sql.Open("sqlite", source(path, "rw", writerSettings(FULL)))
	if err != nil {
		return refusal(path, err)
	}
	pool.SetMaxOpenConns(1)
	defer func() {
		if e := pool.Close(); err == nil && e != nil {
			err = refusal(path, e)
		}
	}()
	if check {
		done := report("checking " + path + " after an unclean stop (about 2 s per GB)")
		err := inspectPages(ctx, pool, path, "quick_check")
		done(err)
		if err != nil {
			return err
		}
	}
	// A file that a tool has put back into another journal mode serves as well.
	if _, err := pool.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return refusal(path, err)
	}
	provider, err := migrations(pool)
	if err != nil {
		return refusal(path, err)
	}
	sources := provider.ListSources()
	latest := sources[len(sources)-1].Version
	have, err := provider.GetDBVersion(ctx)
	if err != nil {
		return refusal(path, err)
	}
	if have > latest {
		return &OpenError{Path: path, Kind: ErrNewer, Detail: fmt.Sprintf("its schema is version %d, this release knows %d", have, latest)}
	}
	if have == latest {
		return nil
	}
	step := fmt.Sprintf("migrating %s from version %d to %d", path, have, latest)
	done := report(step)
	_, err = provider.Up(ctx)
	done(err)
	if err != nil {
		return refusal(path, fmt.Errorf("%s: %w", step, err))
	}
	return nil
}

// copyInto writes the file, as it is at one moment, into the empty file at to. It holds no
// lock that writers wait for, so that a server may go on; what the server writes meanwhile
// stays in its log until the copy is done.
func copyInto(ctx context.Context, path, to string) error {
	return withFile(path, source(path, guestMode(path), []setting{{"busy_timeout", busyTimeout}}), func(pool *sql.DB) error {
		_, err := pool.ExecContext(ctx, "VACUUM INTO ?", to)
		return err
	})
}

// examine checks every page, index and reference of a file that nobody serves.
func examine(ctx context.Context, path string) error {
	return withFile(path, source(path, "ro", nil), func(pool *sql.DB) error {
		if err := inspectPages(ctx, pool, path, "integrity_check"); err != nil {
			return err
		}
		return inspectPages(ctx, pool, path, "foreign_key_check")
	})
}

// withFile runs f on a connection of its own.
func withFile(path, source string, f func(*sql.DB) error) error {
	pool, err := sql.Open("sqlite", source)
	if err != nil {
		return refusal(path, err)
	}
	pool.SetMaxOpenConns(1)
	if err := errors.Join(f(pool), pool.Close()); err != nil {
		if _, told := errors.AsType[*OpenError](err); told {
			return err
		}
		return refusal(path, err)
	}
	return nil
}

// compact writes the file anew without what has been deleted, and empties the log.
func (h *handle) compact(ctx context.Context) error {
	if _, err := h.conn.ExecContext(ctx, "VACUUM"); err != nil {
		return refusal(h.path, err)
	}
	if done, err := h.emptyLog(ctx, busyTimeout); err != nil || !done {
		return refusal(h.path, fmt.Errorf("the log could not be emptied: %w", cmp.Or(err, errors.New("somebody is reading"))))
	}
	return nil
}

// inspectPages runs one of SQLite's checks and reports what it finds, up to a number of
// lines: one broken page can make thousands.
func inspectPages(ctx context.Context, q interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, path, check string) error {
	const most = 20
	text := fmt.Sprintf("SELECT * FROM pragma_%s LIMIT %d", check, most)
	if check == "foreign_key_check" {
		text = fmt.Sprintf(`SELECT "table" || ' without its ' || parent FROM pragma_%s LIMIT %d`, check, most)
	}
	rows, err := q.QueryContext(ctx, text)
	if err != nil {
		return refusal(path, err)
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return refusal(path, err)
		}
		if line != "ok" {
			found = append(found, line)
		}
	}
	if err := rows.Err(); err != nil {
		return refusal(path, err)
	}
	if len(found) > 0 {
		return &OpenError{Path: path, Kind: ErrCorrupt, Detail: check + " found " + strings.Join(found, "; ")}
	}
	return nil
}
