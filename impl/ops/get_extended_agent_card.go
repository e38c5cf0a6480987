package ops

import (
	"context"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
	"a2aserve/impl/call"
)

// GetExtendedAgentCard gives the card that authenticated callers see (A2A §3.1.11, §13.3),
// at the address that they know the server by. The bindings refuse it where the capability
// is not declared; whoever declares it without a card gets the answer of A2A §3.3.4.
func (s *service) GetExtendedAgentCard(ctx context.Context, req *a2a.GetExtendedAgentCardRequest) (out op.Encoded[a2a.AgentCard], err error) {
	if err := checkTenant(req.Tenant); err != nil {
		return out, err
	}
	if s.ExtendedCard == nil {
		return out, &a2a.Error{Type: a2a.ExtendedAgentCardNotConfiguredError}
	}
	// The edge lets nobody through who has to authenticate and has not. Where it asks
	// nobody, this card is still for callers who are known.
	c := call.From(ctx)
	if c.Principal.ID == call.Anonymous.ID {
		return out, &a2a.Error{Type: a2a.UnauthenticatedError}
	}
	r := s.ExtendedCard.At(c.Base)
	return op.Encoded[a2a.AgentCard]{JSON: r.JSON, ETag: r.ETag}, nil
}
