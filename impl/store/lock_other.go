//go:build !unix

package store

import (
	"errors"
	"os"
)

// tryLock refuses: without a lock two processes could serve one file.
func tryLock(*os.File) (bool, error) {
	return false, errors.New("file locks are not built for this system")
}
