package drivertest

import (
	"path"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"a2aserve/impl/turn"
)

// Subject is a driver that the suite tries.
type Subject struct {
	// New makes the driver of one part, which ends it with the test. Its agent understands
	// the commands of package plain, holds a conversation per context, and writes its files
	// below the given folder.
	New func(t *testing.T, files string) turn.Driver

	// Rest makes a driver whose agent goes to rest between turns: its process ends, its
	// connections close. The function it returns waits until that is so.
	Rest func(t *testing.T) (turn.Driver, func())

	// Except names the parts that the transport has no means for, and why. A name covers
	// what lies below it: "cancel" is every "cancel/…".
	Except map[string]string

	// Lags says why the agent may refuse turns for a moment after one that was cut off. The
	// tasks that it refuses have to say so; empty: the next turn works.
	Lags string
}

// part is one thing that a driver must do.
type part struct {
	name string
	opts turn.Options // Driver, Journal and the file base are filled in
	test func(t *testing.T, b *Bench)
}

// Suite is what every driver must do, whatever its transport. In the end no goroutine, no
// process and no file descriptor is left.
func Suite(t *testing.T, s Subject) {
	parts := slices.Concat(turnParts(), questionParts(), endParts(), failureParts(), sessionParts())
	used := map[string]bool{}
	few(t, s, "first")
	before := count(t)
	t.Run("parts", func(t *testing.T) {
		for _, p := range parts {
			t.Run(p.name, func(t *testing.T) {
				s.skip(t, p.name)
				t.Parallel()
				files := t.TempDir()
				p.test(t, s.bench(t, p, s.New(t, files), files))
			})
			s.mark(p.name, used)
			s.mark(p.name+"/next", used)
		}
		t.Run("rest", func(t *testing.T) {
			s.skip(t, "rest")
			t.Parallel()
			d, rest := s.Rest(t)
			resting(t, s.bench(t, part{name: "rest"}, d, t.TempDir()), rest)
		})
		s.mark("rest", used)
	})
	for name := range s.Except {
		if !used[name] {
			t.Errorf("there is no part %q to be excepted", name)
		}
	}
	// A collection closes files that nobody has closed: without one, it is seen.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	few(t, s, "last")
	before.nothingIsLeft(t)
}

// few runs a few turns of a driver of their own. The first of all bring about what lasts
// for the life of the process, before anything is counted.
func few(t *testing.T, s Subject, name string) {
	t.Run(name, func(t *testing.T) {
		files := t.TempDir()
		b := s.bench(t, part{name: name}, s.New(t, files), files)
		for range 3 {
			b.cancel(b.Send(in("c", "silent")))
			b.nextAtLast(t)
		}
	})
}

func (s Subject) bench(t *testing.T, p part, d turn.Driver, files string) *Bench {
	o := p.opts
	if o.CancelGrace == 0 {
		o.CancelGrace = 10 * time.Second
	}
	if a := turn.DefaultArtifacts(); o.Artifacts.MaxFileBytes == 0 {
		o.Artifacts = a
	}
	o.Artifacts.FileBaseDir = files
	b := New(t, d, o)
	b.lags = s.Lags != ""
	b.sub = func(t *testing.T, name string, test func(*testing.T)) {
		t.Run(name, func(t *testing.T) {
			s.skip(t, p.name+"/"+name)
			outer := b.T
			defer func() { b.T = outer }()
			b.T = t
			test(t)
		})
	}
	return b
}

// skip ends the test of a part that is excepted.
func (s Subject) skip(t *testing.T, name string) {
	for at := name; at != "."; at = path.Dir(at) {
		if why, ok := s.Except[at]; ok {
			t.Skipf("no means for it: %s", why)
		}
	}
}

// mark notes the exceptions that a part's name falls under.
func (s Subject) mark(name string, used map[string]bool) {
	for at := name; at != "."; at = path.Dir(at) {
		used[at] = true
	}
}

// in is a message to one context.
func in(context, text string) turn.Input {
	i := Text(text)
	i.ContextID = context
	return i
}
