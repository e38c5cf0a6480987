package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
)

// CardPath is where an agent's card is found (A2A §8.2).
const CardPath = "/.well-known/agent-card.json"

// Discover reads the card of the agent at an address. The address is the agent's, or the
// card's own.
func Discover(ctx context.Context, address string, o Options) (*a2a.AgentCard, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("client: %q is not an address", address)
	}
	if !strings.HasSuffix(u.Path, ".json") {
		u = u.JoinPath(CardPath)
	}
	c, err := New(a2a.AgentInterface{URL: u.String(), ProtocolBinding: REST}, o)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.send(r, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := c.readAll(resp)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("client: there is no Agent Card at %s: %w", u.Redacted(), refusal(resp, body))
	}
	card := new(a2a.AgentCard)
	if err := json.Unmarshal(body, card); err != nil {
		return nil, fmt.Errorf("client: what is at %s is no Agent Card: %w", u.Redacted(), err)
	}
	return card, nil
}

// Dial reads the agent's card and returns a client of the interface that it prefers, or of
// its first one with the given binding.
func Dial(ctx context.Context, address, binding string, o Options) (*Client, *a2a.AgentCard, error) {
	card, err := Discover(ctx, address, o)
	if err != nil {
		return nil, nil, err
	}
	i, err := Select(card, binding)
	if err != nil {
		return nil, card, err
	}
	if o.Token != "" && !sameOrigin(address, i.URL) {
		return nil, card, fmt.Errorf("client: the card sends callers to %s, which is not where it was read; the token stays here (name the interface's own address to send it there)", i.URL)
	}
	c, err := New(i, o)
	return c, card, err
}

// sameOrigin says whether a credential meant for one address may go to the other.
func sameOrigin(a, b string) bool {
	if !strings.Contains(a, "://") {
		a = "http://" + a
	}
	x, err := url.Parse(a)
	y, err2 := url.Parse(b)
	return err == nil && err2 == nil && x.Hostname() == y.Hostname() && (x.Scheme == y.Scheme || y.Scheme == "https")
}
