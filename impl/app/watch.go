package app

import (
	"context"
	"crypto/sha256"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// quiet is how long the files have to be left alone before they are read again: editors
// and deployment tools write in several steps.
const quiet = 200 * time.Millisecond

// watch reloads whenever the configuration's files change, until ctx ends. Folders are
// watched and not files, since most tools replace a file by another of its name.
func (a *App) watch(ctx context.Context) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		a.log.Warn("the configuration's files are not watched; SIGHUP has them read again", "error", err)
		return
	}
	defer w.Close()
	files := a.follow(w)
	seen := since(files, a.asRead)
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-w.Events:
			if concerns(e, files) {
				timer.Reset(quiet)
			}
		case err := <-w.Errors:
			// Events were lost, perhaps the one that counts.
			a.log.Debug("watching the configuration", "error", err)
			timer.Reset(quiet)
		case <-timer.C:
			now := fingerprints(files)
			if maps.Equal(now, seen) {
				continue
			}
			_ = a.Reload() // which logs
			// Nobody tells of what has changed before its folder was watched: look again.
			files = a.follow(w)
			seen = since(files, now)
			timer.Reset(quiet)
		}
	}
}

// follow watches the folders of all files that the configuration in use was made of, and
// those of the files that links lead to. It returns the files.
func (a *App) follow(w *fsnotify.Watcher) (files []string) {
	for _, abs := range absolute(a.current.Load().cfg.Files) {
		files = append(files, abs)
		if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
			files = append(files, real)
		}
	}
	for _, f := range files {
		if err := w.Add(filepath.Dir(f)); err != nil {
			a.log.Warn("a file of the configuration is not watched; SIGHUP has it read again", "file", f, "error", err)
		}
	}
	return files
}

func absolute(files []string) (all []string) {
	for _, f := range files {
		if abs, err := filepath.Abs(f); err == nil {
			all = append(all, abs)
		}
	}
	return all
}

// concerns keeps writes to other files of the folder apart, the database's among them.
// A name that comes or goes may be a link that one of the files is reached by.
func concerns(e fsnotify.Event, files []string) bool {
	return slices.Contains(files, e.Name) || e.Has(fsnotify.Create|fsnotify.Rename|fsnotify.Remove) && !strings.HasSuffix(e.Name, "-wal")
}

// fingerprints are the files' contents as they are now; a file that cannot be read has an
// empty one.
func fingerprints(files []string) map[string][sha256.Size]byte {
	m := make(map[string][sha256.Size]byte, len(files))
	for _, f := range files {
		m[f] = [sha256.Size]byte{}
		if b, err := os.ReadFile(f); err == nil {
			m[f] = sha256.Sum256(b)
		}
	}
	return m
}

// since are the files' contents as they were at an earlier look, where that saw them: what
// has changed meanwhile differs.
func since(files []string, earlier map[string][sha256.Size]byte) map[string][sha256.Size]byte {
	m := fingerprints(files)
	for f := range m {
		if sum, known := earlier[f]; known {
			m[f] = sum
		}
	}
	return m
}
