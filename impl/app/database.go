package app

import (
	"context"
	"fmt"
	"os"

	"a2aserve/impl/config"
	"a2aserve/impl/store"
)

// CheckDatabase opens the configured database, as serving would, and examines every page,
// index and reference of it. Progress is told of what takes long. No server may have the
// file; the error says what is wrong with it.
func CheckDatabase(ctx context.Context, cfg *config.Config, progress func(string)) error {
	if _, err := os.Stat(cfg.Store.Path); err != nil { // opening would make one
		return fmt.Errorf("there is no database to check: %w", err)
	}
	s, err := store.Open(ctx, store.Options{Path: cfg.Store.Path, Progress: progress})
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
