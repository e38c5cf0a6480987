package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"a2aserve/impl/config"
)

// Check makes all that serving cfg would make, except that it opens no database, listens
// nowhere and asks no other server: the card, the callers, the files that cfg names. An
// agent of agent.child with JSON lines is started once, to say what its card must say. It
// returns what would be served.
func Check(cfg *config.Config, o Options) (string, error) {
	a := &App{cfg: cfg, log: cmp.Or(o.Log, slog.Default())}
	var err error
	if a.wired, err = wiring(o.Unwired); err != nil {
		return "", err
	}
	if err := checkFiles(cfg); err != nil {
		return "", err
	}
	a.useDriver(o.Driver)
	defer a.undrive()
	g, err := a.newGeneration(cfg)
	if err != nil {
		return "", err
	}
	defer g.close()
	database, err := filepath.Abs(cfg.Store.Path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the configuration is in order; agent %q (A2A 1.0) would be served\n\n%s", g.card.Name(), g.table(cfg.Bind, database)), nil
}

// checkFiles looks at what serving would read, and where it would write, all at once.
func checkFiles(cfg *config.Config) error {
	var errs []error
	for _, f := range cfg.Files {
		r, err := os.Open(f)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_ = r.Close()
	}
	if dir := cfg.Artifacts.FileBaseDir; dir != "" {
		if st, err := os.Stat(dir); err != nil {
			errs = append(errs, fmt.Errorf("artifacts.file_base_dir: %w", err))
		} else if !st.IsDir() {
			errs = append(errs, fmt.Errorf("artifacts.file_base_dir: %s is no folder", dir))
		}
	}
	return errors.Join(append(errs, checkDatabasePath(cfg.Store.Path))...)
}

// checkDatabasePath wants a file, or a place where one can be made.
func checkDatabasePath(path string) error {
	st, err := os.Stat(path)
	switch {
	case err == nil && !st.Mode().IsRegular():
		return fmt.Errorf("store.path: %s is no file", path)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("store.path: %w", err)
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		switch {
		case err == nil && st.IsDir():
			return nil
		case err == nil:
			return fmt.Errorf("store.path: %s is no folder", dir)
		case !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir):
			return fmt.Errorf("store.path: %w", err)
		}
	}
}
