package app

import (
	"context"
	"slices"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
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
	o := auth.Options{MaxFailures: g.cfg.MaxFailures(), Proxies: g.cfg.TrustedProxies()}
	for _, v := range g.cfg.Validators {
		made, err := g.validator(v)
		if err != nil {
			return err
		}
		g.onClose(made.Close)
		o.Validators = append(o.Validators, made)
	}
	if g.cfg.ClientCertificates() {
		certificates, err := auth.NewMTLS(g.cfg.TLS.ClientPrincipal)
		if err != nil {
			return err
		}
		o.Validators = append(o.Validators, certificates)
	}
	var err error
	g.auth, err = auth.New(o)
	return err
}

// validator maps the configuration of one validator to its options.
func (g *generation) validator(v config.Validator) (auth.Validator, error) {
	claims := auth.Claims{Principal: v.PrincipalClaim, Tenant: v.TenantClaim, Scopes: v.ScopesClaim}
	switch v.Type {
	case "jwks":
		return auth.NewJWKS(auth.JWKSOptions{
			Issuer: v.Issuer, URL: v.JWKSURL, Audience: v.Audience, Algorithms: v.Algorithms, Claims: claims,
			ClockSkew: config.Span(v.ClockSkew), CacheTTL: config.Span(v.CacheTTL), NegativeTTL: config.Span(v.NegativeCacheTTL),
			HTTPTimeout: config.Span(v.HTTPTimeout), Log: g.log,
		})
	case "introspect":
		return auth.NewIntrospect(auth.IntrospectOptions{
			URL: v.IntrospectionURL, ClientID: v.ClientID, ClientSecret: v.Secret.Reveal(), ClientAuth: v.ClientAuth,
			TokenHint: v.TokenTypeHint, Audience: v.Audience, Claims: claims,
			ActiveTTL: config.Span(v.CacheTTL), InactiveTTL: config.Span(v.NegativeCacheTTL),
			HTTPTimeout: config.Span(v.HTTPTimeout), Log: g.log,
		})
	case "proxy_headers":
		return auth.NewProxy(auth.ProxyOptions{
			Trusted: v.Networks(), Principal: v.PrincipalHeader, Tenant: v.TenantHeader, Scopes: v.ScopesHeader,
		})
	}
	tokens := make([]auth.Token, len(v.Identities))
	for i, id := range v.Identities {
		tokens[i] = auth.Token{Secret: id.Token.Reveal(), Principal: call.Principal{ID: id.Principal, Tenant: id.Tenant, Scopes: id.Scopes}}
	}
	return auth.NewStatic(tokens)
}

// authenticator is nil where nobody is asked who they are.
func (g *generation) authenticator() edge.Authenticator {
	if g.auth == nil {
		return nil // and not a nil chain, which the edge would ask
	}
	return g.auth
}

// ways are the validators in words, and whether a bearer token may satisfy one of them.
func (g *generation) ways() (words []string, bearer bool) {
	for _, v := range g.cfg.Validators {
		word := map[string]string{
			"static": "bearer token", "jwks": "signed token of " + v.Issuer,
			"introspect": "token that the provider knows", "proxy_headers": "headers of a trusted proxy",
		}[v.Type]
		bearer = bearer || v.Type != "proxy_headers"
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if g.cfg.ClientCertificates() {
		words = append(words, "client certificate")
	}
	return words, bearer
}

// permit asks for the scopes of an operation's class.
func (g *generation) permit(ctx context.Context, o *op.Operation) error {
	return auth.Scopes(g.cfg.RequiredScopes()).Permit(call.From(ctx).Principal, o.Access)
}

// security is what the card says of authentication; nothing where nobody is asked.
func (g *generation) security() (map[string]a2a.SecurityScheme, []a2a.SecurityRequirement) {
	if g.auth == nil {
		return nil, nil
	}
	return g.auth.Security()
}
