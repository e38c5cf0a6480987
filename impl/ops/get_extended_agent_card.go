package ops

import (
	"context"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"
)

// GetExtendedAgentCard is refused by the bindings until a card is configured; whoever
// wires it without one gets the answer of A2A §3.3.4.
func (s *service) GetExtendedAgentCard(_ context.Context, req *a2a.GetExtendedAgentCardRequest) (op.Encoded[a2a.AgentCard], error) {
	if err := checkTenant(req.Tenant); err != nil {
		return op.Encoded[a2a.AgentCard]{}, err
	}
	return op.Encoded[a2a.AgentCard]{}, &a2a.Error{Type: a2a.ExtendedAgentCardNotConfiguredError}
}
