package app

import (
	gen "a2aserve/gen/config"
	"a2aserve/impl/config"
	"a2aserve/impl/driver/agui"
)

// aguiDriver is a client of the AG-UI agent that agent.agui names.
func (a *App) aguiDriver(c *gen.AGUI) *agui.Driver {
	return agui.New(agui.Options{
		URL: c.URL, Token: a.cfg.AGUIToken.Reveal(), PerContext: c.Sessions == "per_context",
		StartTimeout: config.Span(c.StartTimeout), MaxEvent: c.MaxLineBytes, Logger: a.log,
	})
}
