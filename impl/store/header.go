package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// applicationID marks our files in SQLite's header; the first migration writes it.
const applicationID = 0x61326173 // "a2as"

const magic = "SQLite format 3\x00"

// locate makes the folder of the database and returns the one path that all names of the
// file lead to, so that they share a lock.
func locate(path string) (string, error) {
	if path == "" || path == ":memory:" {
		return "", &OpenError{Path: path, Kind: ErrUnusable, Detail: "a path to a file is needed; tasks are not kept in memory only"}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", &OpenError{Path: path, Kind: ErrUnusable, Cause: err}
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return "", &OpenError{Path: abs, Kind: ErrUnusable, Detail: "its folder", Cause: err}
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", &OpenError{Path: abs, Kind: ErrUnusable, Detail: "its folder", Cause: err}
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}

// inspect reads the header of the file, in constant time and without SQLite, which would
// make a journal beside a file that is none of ours. It reports whether there is no
// database yet. The write-ahead log never holds a newer identity: files are born with it.
func inspect(path string) (absent bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, strayLog(path)
	}
	if err != nil {
		return false, &OpenError{Path: path, Kind: ErrUnusable, Cause: err}
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false, &OpenError{Path: path, Kind: ErrUnusable, Cause: err}
	}
	if !st.Mode().IsRegular() {
		return false, &OpenError{Path: path, Kind: ErrNotDatabase, Detail: "it is not a regular file"}
	}
	if st.Size() == 0 {
		return true, strayLog(path)
	}
	var h [100]byte
	if _, err := io.ReadFull(f, h[:]); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, &OpenError{Path: path, Kind: ErrUnusable, Cause: err}
	}
	if string(h[:len(magic)]) != magic {
		return false, &OpenError{Path: path, Kind: ErrNotDatabase}
	}
	if id := binary.BigEndian.Uint32(h[68:]); id != applicationID {
		return false, &OpenError{Path: path, Kind: ErrForeign, Detail: fmt.Sprintf("its application id is %#x", id)}
	}
	return false, truncated(path, st.Size(), h)
}

// strayLog refuses to make a database beside the log of a lost one, whose pages SQLite
// would write into the new file.
func strayLog(path string) error {
	if logSize(path) == 0 {
		return nil
	}
	return &OpenError{Path: path, Kind: ErrCorrupt, Detail: "the file is gone, but its log " + path + "-wal is there; bring the file back or move the log away"}
}

// truncated compares the file's size with the one its header gives. With a log the two may
// differ, and the log makes up for it.
func truncated(path string, size int64, h [100]byte) error {
	pageSize := int64(binary.BigEndian.Uint16(h[16:]))
	if pageSize == 1 {
		pageSize = 65536
	}
	pages := int64(binary.BigEndian.Uint32(h[28:]))
	current := binary.BigEndian.Uint32(h[24:]) == binary.BigEndian.Uint32(h[92:])
	if current && size < pages*pageSize && logSize(path) == 0 {
		return &OpenError{Path: path, Kind: ErrCorrupt, Detail: fmt.Sprintf("%d bytes of %d are there", size, pages*pageSize)}
	}
	return nil
}

// logSize is the size of the write-ahead log, which a clean close removes.
func logSize(path string) int64 {
	st, err := os.Stat(path + "-wal")
	if err != nil {
		return 0
	}
	return st.Size()
}
