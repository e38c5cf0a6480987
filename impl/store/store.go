// Package store keeps tasks in a SQLite file. One goroutine writes, in groups that share a
// commit; several connections read. Whoever reads does so through a View, which reaches the
// tasks of one principal only.
package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"a2aserve/gen/db"
	"a2aserve/impl/turn"
)

// Synchronous is SQLite's setting of that name.
type Synchronous int

// What an acknowledged change survives.
const (
	NORMAL Synchronous = 1 // the end of the process
	FULL   Synchronous = 2 // a power cut: every commit waits for the disk
)

// Options say where tasks are kept and for how long.
type Options struct {
	Path            string        // of the file; folders are made
	Synchronous     Synchronous   // 0 means FULL
	Readers         int           // connections that read; 0 means 4
	TTL             time.Duration // finished tasks older than this are evicted; 0 keeps them
	MaxPerContext   int           // tasks kept a context, the oldest finished ones evicted; 0 keeps all
	MaxPerPrincipal int           // the same for a principal
	MaxBytes        int64         // new tasks are refused while the file holds more; 0 is no bound
	SweepEvery      time.Duration // how often all principals' expired tasks are looked for; 0 means 1 h

	// Progress is told of checks and migrations, which may take long, and of retention that
	// fails. It may be nil; it is called from several goroutines.
	Progress func(line string)

	Observe Observer
}

// Store is an open database. It is safe for concurrent use.
type Store struct {
	opts    Options
	path    string
	lock    *lock
	writer  *writer
	readers chan *handle // those not in use
	secret  []byte       // signs page tokens

	closing chan struct{}
	sweeper sync.WaitGroup
	once    sync.Once
	closed  error // what Close found; set by once
}

var _ turn.Journal = (*Store)(nil)

// Open opens the database, making or migrating it where needed. It takes as long for a
// large file as for a small one, unless the last process ended without closing it: then the
// pages are checked first, which takes about 2 s per GB. Its error is an *OpenError.
func Open(ctx context.Context, opts Options) (_ *Store, err error) {
	opts = opts.withDefaults()
	path, err := locate(opts.Path)
	if err != nil {
		return nil, err
	}
	l, err := acquire(path)
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, path: path, lock: l, readers: make(chan *handle, opts.Readers), closing: make(chan struct{})}
	defer func() {
		if err != nil {
			_ = l.release(!l.unclean) // a refused file is as it was
		}
	}()
	if err := s.prepareFile(ctx); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	s.startSweeper()
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Synchronous == 0 {
		o.Synchronous = FULL
	}
	if o.Readers <= 0 {
		o.Readers = 4
	}
	if o.SweepEvery <= 0 {
		o.SweepEvery = time.Hour
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

// prepareFile leaves a file that is ours, whole, and of this release's version.
func (s *Store) prepareFile(ctx context.Context) error {
	unclean := s.lock.unclean || logSize(s.path) > 0
	fresh, err := inspect(s.path)
	if err != nil {
		return err
	}
	if fresh {
		return create(ctx, s.path)
	}
	return upgrade(ctx, s.path, unclean, s.report)
}

// report tells of a long step when it begins, every few seconds, and when it ends.
func (s *Store) report(step string) (stop func(error)) {
	s.opts.Progress(step)
	began, done := time.Now(), make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				s.opts.Progress(fmt.Sprintf("%s: %s so far", step, time.Since(began).Round(time.Second)))
			}
		}
	})
	return func(err error) {
		close(done)
		wait.Wait()
		if err == nil {
			s.opts.Progress(fmt.Sprintf("%s: in order after %s", step, time.Since(began).Round(time.Millisecond)))
		}
	}
}

// connect opens the connections and starts the writer.
func (s *Store) connect(ctx context.Context) (err error) {
	w, err := openWriter(ctx, s.path, s.opts.Synchronous)
	if err != nil {
		return err
	}
	opened := []*handle{w}
	defer func() {
		if err != nil {
			for _, h := range opened {
				_ = h.close()
			}
		}
	}()
	for range s.opts.Readers {
		r, err := openReader(ctx, s.path)
		if err != nil {
			return err
		}
		opened = append(opened, r)
		s.readers <- r
	}
	if s.secret, err = readSecret(ctx, w.Conn); err != nil {
		return refusal(s.path, err)
	}
	s.writer = startWriter(w, s.committed)
	return nil
}

// readSecret returns the key that signs page tokens, made with the file, so that tokens
// outlive a restart.
func readSecret(ctx context.Context, c *db.Conn) ([]byte, error) {
	const name = "page_token_secret"
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // never fails
	if err := c.AddMeta(ctx, db.AddMetaParams{Name: name, Value: fresh}); err != nil {
		return nil, err
	}
	return c.Meta(ctx, name)
}

// Path is where the file lies, links resolved.
func (s *Store) Path() string { return s.path }

// Close waits for queued writes and running reads and closes the file. Calling it again
// does nothing more.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.closing)
		s.sweeper.Wait()
		w := s.writer.stop()
		var errs []error
		for range cap(s.readers) {
			errs = append(errs, (<-s.readers).close())
		}
		// The writer's connection goes last: it can empty the log into the file.
		errs = append(errs, w.close())
		err := errors.Join(errs...)
		s.closed = errors.Join(err, s.lock.release(err == nil))
	})
	return s.closed
}

// borrow runs f on a reading connection, for a single statement: each sees a state of its own.
func (s *Store) borrow(ctx context.Context, f func(*handle) error) error {
	select {
	case <-s.closing:
		return ErrClosed
	default:
	}
	var h *handle
	select {
	case h = <-s.readers:
	case <-s.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.readers <- h }()
	return f(h)
}

// read runs f on a reading connection, in one transaction: all of it sees one state.
func (s *Store) read(ctx context.Context, f func(*handle) error) error {
	return s.borrow(ctx, func(h *handle) error {
		if err := h.step(h.begin); err != nil {
			return fmt.Errorf("store: begin reading: %w", err)
		}
		err := f(h)
		if err == nil {
			return h.step(h.commit)
		}
		if undo := h.step(h.rollback); undo != nil {
			return errors.Join(err, undo)
		}
		return err
	})
}

// Check examines every page, index and reference of the file, which takes seconds per GB.
// Its error is an *OpenError that says what is broken.
func (s *Store) Check(ctx context.Context) error {
	return s.read(ctx, func(h *handle) error {
		if err := inspectPages(ctx, h.conn, s.path, "integrity_check"); err != nil {
			return err
		}
		return inspectPages(ctx, h.conn, s.path, "foreign_key_check")
	})
}

// View reads the tasks of one principal.
type View struct {
	s         *Store
	principal string
}

// For returns the view of a principal, which is not looked up: who has no tasks sees none.
func (s *Store) For(principal string) View { return View{s, principal} }
