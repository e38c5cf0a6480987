package store

import "errors"

// Why a file is not served. Open's error is one of these under errors.Is.
var (
	ErrLocked      = errors.New("another process serves it")
	ErrForeign     = errors.New("it belongs to another program")
	ErrNotDatabase = errors.New("it is not a database")
	ErrCorrupt     = errors.New("it is damaged")
	ErrNewer       = errors.New("a newer release wrote it")
	ErrSettings    = errors.New("SQLite did not take the settings asked for")
	ErrUnusable    = errors.New("it cannot be opened or made")
)

// ErrClosed answers everything asked of a closed store.
var ErrClosed = errors.New("the store is closed")

// OpenError says which file is not served, why, and what can be done.
type OpenError struct {
	Path   string
	Kind   error  // one of the errors above
	Detail string // for the operator; may be empty
	Cause  error  // may be nil
}

func (e *OpenError) Error() string {
	s := "store " + e.Path + ": " + e.Kind.Error()
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the kind and the cause.
func (e *OpenError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}
