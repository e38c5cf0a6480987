package stdio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// recalled is the Nexus session that belongs to one of the server's; empty: none.
func recalled(dir, session string) (string, error) {
	if err := plain(session); err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, session))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(text))
	return id, plain(id)
}

// remember writes it down, wholly or not at all.
func remember(dir, session, id string) error {
	if err := errors.Join(plain(session), plain(id)); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(id + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, session))
}

// plain says that a name is one, and leads nowhere else.
func plain(name string) error {
	if name == "" || len(name) > 128 || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return fmt.Errorf("%q is no name of a session", name)
	}
	return nil
}
