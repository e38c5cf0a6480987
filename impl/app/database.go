package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"a2aserve/impl/call"
	"a2aserve/impl/config"
	"a2aserve/impl/store"
	"a2aserve/impl/turn"
)

// Anonymous is the id of the principal that all callers are where no identity is configured.
var Anonymous = call.Anonymous.ID

// openDatabase opens the configured database as serving would, without retention. No
// server may have the file; the error then names the process that has.
func openDatabase(ctx context.Context, cfg *config.Config, progress func(string)) (*store.Store, error) {
	if _, err := os.Stat(cfg.Store.Path); err != nil { // opening would make one
		return nil, fmt.Errorf("there is no database: %w", err)
	}
	return store.Open(ctx, store.Options{Path: cfg.Store.Path, Progress: progress})
}

// CheckDatabase opens the configured database, as serving would, and examines every page,
// index and reference of it. Progress is told of what takes long. No server may have the
// file; the error says what is wrong with it.
func CheckDatabase(ctx context.Context, cfg *config.Config, progress func(string)) error {
	s, err := openDatabase(ctx, cfg, progress)
	if err != nil {
		return err
	}
	progress("examining every page of " + cfg.Store.Path)
	err = s.Check(ctx)
	if closed := s.Close(); err == nil {
		err = closed
	}
	return err
}

// BackupDatabase copies the configured database to dest; see store.Backup.
func BackupDatabase(ctx context.Context, cfg *config.Config, dest string, progress func(string)) (bytes int64, err error) {
	return store.Backup(ctx, cfg.Store.Path, dest, progress)
}

// Census is what a database holds, in all or of one principal.
type Census = store.Census

// InspectDatabase counts what the configured database holds; see store.Inspect.
func InspectDatabase(ctx context.Context, cfg *config.Config, each func(principal string, c Census)) (store.FileCensus, error) {
	return store.Inspect(ctx, cfg.Store.Path, each)
}

// Pruning says what PruneDatabase takes out.
type Pruning struct {
	Principal string    // whose tasks; "": everybody's
	By        time.Time // tasks that had finished by then
	All       bool      // everything of the principal, its name included; By does not count
	Dry       bool      // only count
	Compact   bool      // write the file anew, so that nothing deleted stays in it
}

// PruneDatabase takes finished tasks out of the configured database. Tasks that the last
// run left unfinished fail first, as they would at the next start. No server may have the
// file. It returns the number of tasks that are gone, or would be.
func PruneDatabase(ctx context.Context, cfg *config.Config, p Pruning, progress func(string)) (n int64, err error) {
	s, err := openDatabase(ctx, cfg, progress)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if !p.Dry {
		if _, err := s.SettleOrphans(ctx, turn.OrphanStatus); err != nil {
			return 0, err
		}
	}
	last := time.Now()
	count := func(gone int64) {
		if time.Since(last) > time.Second {
			last = time.Now()
			progress(fmt.Sprintf("%d tasks are gone so far", gone))
		}
	}
	switch {
	case p.All && p.Dry:
		n, err = s.Prune(ctx, p.Principal, endOfTime, true, count)
	case p.All:
		n, _, err = s.Forget(ctx, p.Principal, count)
	default:
		n, err = s.Prune(ctx, p.Principal, p.By, p.Dry, count)
	}
	if err == nil && p.Compact && !p.Dry {
		progress("writing the file anew")
		err = s.Compact(ctx)
	}
	return n, err
}

// endOfTime is later than any task.
var endOfTime = time.UnixMilli(1 << 62)

// ReleaseSession frees the session of a one-session agent, whoever's context holds it, so
// that the next caller may claim it (decision 17). No server may have the file. It reports
// whether anybody held the session.
func ReleaseSession(ctx context.Context, cfg *config.Config, session string) (held bool, err error) {
	s, err := openDatabase(ctx, cfg, func(string) {})
	if err != nil {
		return false, err
	}
	held, err = s.Release(session)
	return held, errors.Join(err, s.Close())
}
