package store

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// clean is what the lock file says while nobody serves the database and the last one who
// did closed it in order.
const clean = "clean\n"

// lock is the side file that keeps a second process away. The lock itself lies on a file of
// its own: SQLite's own locks on the database would be lost with any descriptor closed.
type lock struct {
	file    *os.File
	unclean bool // the last holder did not close the database in order
}

// acquire takes the lock of the database at path, or names the holder.
func acquire(path string) (*lock, error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, &OpenError{Path: path, Kind: ErrUnusable, Detail: "its lock file", Cause: err}
	}
	held, err := tryLock(f)
	if err != nil {
		_ = f.Close()
		return nil, &OpenError{Path: path, Kind: ErrUnusable, Detail: "its lock file", Cause: err}
	}
	// The text is for people and for the next start; the lock is what keeps others out.
	said, _ := io.ReadAll(io.LimitReader(f, 256))
	if held {
		_ = f.Close()
		return nil, &OpenError{Path: path, Kind: ErrLocked, Detail: holder(said) + " (" + name + ")"}
	}
	l := &lock{file: f, unclean: len(said) > 0 && string(said) != clean}
	if err := l.write(fmt.Sprintf("pid %d since %s\n", os.Getpid(), time.Now().UTC().Format(time.RFC3339))); err != nil {
		_ = f.Close()
		return nil, &OpenError{Path: path, Kind: ErrUnusable, Detail: "its lock file", Cause: err}
	}
	return l, nil
}

// holder is what the one who has the lock wrote of itself; it may be just about to.
func holder(said []byte) string {
	if s := strings.TrimSpace(string(said)); s != "" && string(said) != clean {
		return s
	}
	return "holder unknown"
}

func (l *lock) write(s string) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(s), 0)
	return err
}

// release gives the lock up, and leaves word whether the next holder must check the pages.
// The file stays: removing it would race with that holder.
func (l *lock) release(closedInOrder bool) error {
	var err error
	if closedInOrder {
		err = l.write(clean)
	}
	if e := l.file.Close(); err == nil {
		err = e
	}
	return err
}
