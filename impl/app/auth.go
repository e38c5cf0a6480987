package app

import (
	"a2aserve/impl/auth"
	"a2aserve/impl/call"
	"a2aserve/impl/config"
	"a2aserve/impl/edge"
)

// useAuth makes the chain that knows the callers. It asks no provider yet, so that one
// that is down does not keep the server from starting.
func (g *generation) useAuth() error {
	if !g.cfg.Authenticated() {
		return nil
	}
	static, err := auth.NewStatic(tokens(g.cfg.Identities))
	if err != nil {
		return err
	}
	g.auth, err = auth.New(auth.Options{Validators: []auth.Validator{static}, Log: g.log})
	if err != nil {
		return err
	}
	g.onClose(g.auth.Close)
	return nil
}

// authenticator is nil where nobody is asked who they are.
func (g *generation) authenticator() edge.Authenticator {
	if g.auth == nil {
		return nil // and not a nil chain, which the edge would ask
	}
	return g.auth
}

func tokens(identities []config.Identity) []auth.Token {
	out := make([]auth.Token, len(identities))
	for i, id := range identities {
		out[i] = auth.Token{Secret: id.Token.Reveal(), Principal: call.Principal{ID: id.Principal, Tenant: id.Tenant, Scopes: id.Scopes}}
	}
	return out
}
