package app

import (
	gen "a2aserve/gen/config"
	"a2aserve/impl/config"
	"a2aserve/impl/driver/agui"
)

// aguiDriver is a client of the AG-UI agent that agent.agui names.
func (a *App) aguiDriver(c *gen.AGUI) *agui.Driver {
	o := agui.Options{
		URL: c.URL, Token: a.cfg.AGUIToken.Reveal(), PerContext: c.Sessions == "per_context",
		StartTimeout: config.Span(c.StartTimeout), MaxEvent: c.MaxLineBytes, Logger: a.log,
	}
	if l := c.Control; l != nil {
		o.Control = &agui.Control{Bind: l.Bind, LeaseID: l.LeaseID, Secret: a.cfg.AGUIControl.Reveal()}
		o.CancelTimeout = config.Span(l.CancelTimeout)
	}
	return agui.New(o)
}
