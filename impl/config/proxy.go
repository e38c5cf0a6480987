package config

import (
	"net/netip"
)

// isCIDR wants the bits to the right of the mask to be zero: who writes 10.0.0.5/8 may
// mean one machine, and would trust sixteen million.
func isCIDR(s string) bool {
	p, err := netip.ParsePrefix(s)
	return err == nil && p == p.Masked() && !p.Addr().Is4In6()
}

// checkProxy notes an extended card that nobody could get.
func (d *document) checkProxy() {
	if d.has("/extended_card_file") && !d.authenticates() {
		d.problem("/extended_card_file", "needs bearer_token, bearer_token_env, auth or tls.client_ca_file: the extended card is for authenticated callers only")
	}
}

// behindProxies says whether there is somebody who may say which address clients use.
func (d *document) behindProxies() bool {
	return len(texts(lookup(d.root, "/proxy/trusted_cidrs"))) > 0
}

// TrustedProxies are the ranges of proxy.trusted_cidrs.
func (c Config) TrustedProxies() (out []netip.Prefix) {
	for _, s := range c.Proxy.TrustedCIDRs {
		if p, err := netip.ParsePrefix(s); err == nil { // the schema lets nothing else through
			out = append(out, p)
		}
	}
	return out
}
