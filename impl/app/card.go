package app

import (
	"cmp"
	"log/slog"

	"a2aserve/impl/card"
	"a2aserve/impl/config"
)

// Cards are the Agent Card and the extended one (nil where there is none) as serving cfg
// would make them. Nothing is opened. Port 0 and a wildcard address are no address yet:
// the card names what stands in until a client asks.
func Cards(cfg *config.Config, o Options) (public, extended *card.Card, err error) {
	a := &App{cfg: cfg, log: cmp.Or(o.Log, slog.Default()), extendedWired: o.ExtendedCard}
	if a.wired, err = wiring(o.Unwired); err != nil {
		return nil, nil, err
	}
	a.useDriver(o.Driver)
	defer a.undrive()
	// The rest of a generation is not needed, and would want a store.
	g := &generation{App: a, cfg: cfg}
	defer g.close()
	if err := g.useAuth(); err != nil {
		return nil, nil, err
	}
	err = g.useCards(g.url())
	return g.card, g.extended, err
}
