package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Backup copies the database at path to dest, which must not exist yet, as the database is
// at one moment. A server may serve it meanwhile. The copy is checked, page by page, before
// it gets its name: what is at dest is whole. It must not run in the process that serves the
// database, whose locks it would drop. Progress is told of what takes long. It returns the
// size of the copy in bytes.
func Backup(ctx context.Context, path, dest string, progress func(line string)) (bytes int64, err error) {
	path, err = existing(path)
	if err != nil {
		return 0, err
	}
	if dest, err = filepath.Abs(dest); err != nil {
		return 0, err
	}
	if err := unused(dest); err != nil {
		return 0, err
	}
	// In the same folder, so that the last step is a rename; private, as tasks are.
	f, err := os.CreateTemp(filepath.Dir(dest), "."+filepath.Base(dest)+".*.partial")
	if err != nil {
		return 0, err
	}
	partial := f.Name()
	defer func() { _ = os.Remove(partial) }() // gone already when all went well
	defer f.Close()
	if err := copying(ctx, path, partial, progress); err != nil {
		return 0, err
	}
	progress("checking every page of the copy")
	if err := errors.Join(examine(ctx, partial), confirmCopy(partial)); err != nil {
		return 0, fmt.Errorf("the copy is not good and has been removed: %w", err)
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if err := unused(dest); err != nil {
		return 0, err
	}
	if err := os.Rename(partial, dest); err != nil {
		return 0, err
	}
	return st.Size(), syncFolder(dest)
}

// existing is the path of a database that is there, and is ours.
func existing(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", &OpenError{Path: path, Kind: ErrUnusable, Cause: err}
	}
	fresh, err := inspect(abs)
	if err == nil && fresh {
		err = &OpenError{Path: abs, Kind: ErrNotDatabase, Detail: "it is empty"}
	}
	return abs, err
}

func confirmCopy(path string) error {
	_, err := existing(path)
	return err
}

func unused(dest string) error {
	_, err := os.Lstat(dest)
	if err == nil {
		return fmt.Errorf("%s: %w", dest, fs.ErrExist)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// copying copies, and says every few seconds how far it has come.
func copying(ctx context.Context, path, to string, progress func(string)) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	progress(fmt.Sprintf("copying %s (%s)", path, megabytes(st.Size())))
	done := make(chan error, 1)
	go func() { done <- copyInto(ctx, path, to) }()
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if st, err := os.Stat(to); err == nil {
				progress(fmt.Sprintf("%s copied", megabytes(st.Size())))
			}
		}
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
