package app

import (
	"a2aserve/gen/a2a"
	"a2aserve/impl/card"
)

// security is what the card says of authentication: the schemes that are enforced, and
// which of them suffice. A validator that only a proxy can satisfy has no scheme.
func (g *generation) security() (map[string]a2a.SecurityScheme, []a2a.SecurityRequirement) {
	if !g.cfg.Authenticated() {
		return nil, nil
	}
	return card.Bearer()
}
