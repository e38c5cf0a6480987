package app

import (
	"errors"
	"strings"

	"a2aserve/impl/card"
	"a2aserve/impl/config"
)

// ErrNotReloadable is Reload's answer where Options.Reload is nil.
var ErrNotReloadable = errors.New("the server was started without a configuration that could be read again")

// Reload reads the configuration again and lets new requests follow it: card, callers,
// limits and whatever else the schema marks x-reload. Requests and streams that are under
// way end as they began. A configuration with a mistake changes nothing. What is refused,
// and what waits for the next start, is logged by key.
func (a *App) Reload() error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	if a.reload == nil {
		a.log.Warn("nothing is reloaded", "error", ErrNotReloadable)
		return ErrNotReloadable
	}
	old := a.current.Load()
	if old == nil || a.stopping {
		return nil
	}
	next, err := a.reload()
	if err != nil {
		return a.refused(err)
	}
	merged, kept, err := old.cfg.Renew(next)
	if err != nil {
		return a.refused(err)
	}
	g, err := a.newGeneration(merged)
	if err != nil {
		return a.refused(err)
	}
	a.current.Store(g)
	old.retire()
	if len(kept) > 0 {
		a.log.Warn("these keys have changed too, but take effect at the next start only", "keys", strings.Join(kept, " "))
	}
	g.warn()
	a.log.Info("configuration reloaded")
	return nil
}

// refused logs each mistake on a line of its own: a log that is searched for a key finds it.
func (a *App) refused(err error) error {
	var mistakes []string
	if e, ok := errors.AsType[config.Errors](err); ok {
		for _, p := range e {
			mistakes = append(mistakes, p.String())
		}
	} else if e, ok := errors.AsType[*card.InvalidError](err); ok {
		mistakes = e.Problems
	} else {
		mistakes = []string{err.Error()}
	}
	for _, m := range mistakes {
		a.log.Error("the new configuration has a mistake", "mistake", m)
	}
	a.log.Error("the new configuration is refused, the old one stays in use", "mistakes", len(mistakes))
	return err
}
