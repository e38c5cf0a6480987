// Package client calls agents that speak the A2A protocol 1.0, ours and others', over
// JSON-RPC and over HTTP+JSON. It is small on purpose: for trying servers, and for the
// commands send and tasks.
package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"

	"github.com/go-json-experiment/json"
)

// The protocol bindings that the client speaks, as cards name them (A2A §4.4.6).
const (
	JSONRPC = "JSONRPC"
	REST    = "HTTP+JSON"
)

// Version is the protocol version that requests name (A2A §3.6.1).
const Version = "1.0"

// DefaultMaxBytes bounds a response, and one event of a stream.
const DefaultMaxBytes = 64 << 20

// Options say how an agent is called. The zero value is ready to use.
type Options struct {
	HTTP       *http.Client // nil: one without an overall time-out, since streams last
	Token      string       // sent as a bearer token to the card's origin and nowhere else
	Header     http.Header  // further headers of every request
	Extensions []string     // URIs that are asked for (A2A §3.2.6)
	MaxBytes   int          // of a response or an event; 0: DefaultMaxBytes
	Raw        io.Writer    // gets what goes over the wire, without the values of credentials; nil: nobody does
}

// Client calls one interface of an agent. It is safe for concurrent use, unless Raw is not.
type Client struct {
	iface a2a.AgentInterface
	base  *url.URL
	o     Options
	wire  *tap
}

// New returns a client of an interface, as a card names it.
func New(i a2a.AgentInterface, o Options) (*Client, error) {
	base, err := url.Parse(i.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("client: %q is not the address of an interface", i.URL)
	}
	if i.ProtocolBinding != JSONRPC && i.ProtocolBinding != REST {
		return nil, fmt.Errorf("client: the binding %q is not spoken here, only %s and %s", i.ProtocolBinding, JSONRPC, REST)
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	return &Client{iface: i, base: base, o: o, wire: &tap{w: o.Raw}}, nil
}

// Interface is the one that is called.
func (c *Client) Interface() a2a.AgentInterface { return c.iface }

// SendMessage sends a message and waits until its task ends or asks for something, unless
// the configuration says to return at once.
func (c *Client) SendMessage(ctx context.Context, r *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	return unary[a2a.SendMessageResponse](ctx, c, "SendMessage", r)
}

// GetTask reads a task.
func (c *Client) GetTask(ctx context.Context, r *a2a.GetTaskRequest) (*a2a.Task, error) {
	return unary[a2a.Task](ctx, c, "GetTask", r)
}

// ListTasks reads a page of the caller's tasks.
func (c *Client) ListTasks(ctx context.Context, r *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return unary[a2a.ListTasksResponse](ctx, c, "ListTasks", r)
}

// CancelTask asks for a task to be cancelled, and returns it as it stands then.
func (c *Client) CancelTask(ctx context.Context, r *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return unary[a2a.Task](ctx, c, "CancelTask", r)
}

// GetExtendedAgentCard reads the card for authenticated callers.
func (c *Client) GetExtendedAgentCard(ctx context.Context, r *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return unary[a2a.AgentCard](ctx, c, "GetExtendedAgentCard", r)
}

// operation finds a row of the operation table.
func operation(name string) *op.Operation {
	for i := range op.Table {
		if op.Table[i].Name == name {
			return &op.Table[i]
		}
	}
	return nil
}

// unary calls an operation and reads its one response.
func unary[T any](ctx context.Context, c *Client, name string, request any) (*T, error) {
	resp, err := c.do(ctx, operation(name), request)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := c.readAll(resp)
	if err != nil {
		return nil, err
	}
	doc, err := c.result(resp, body)
	if err != nil {
		return nil, err
	}
	out := new(T)
	if err := json.Unmarshal(doc, out); err != nil {
		return nil, fmt.Errorf("client: the agent's answer to %s is no %T: %w", name, *out, err)
	}
	return out, nil
}

// readAll reads a response, within the bound.
func (c *Client) readAll(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(c.o.MaxBytes)+1))
	if err != nil {
		return nil, fmt.Errorf("client: the response broke off: %w", err)
	}
	if len(body) > c.o.MaxBytes {
		return nil, fmt.Errorf("client: the response is larger than %d bytes", c.o.MaxBytes)
	}
	c.wire.response(resp, body)
	return body, nil
}

// Select picks the interface to call: the card's first one that this client speaks, or
// the first of the given binding (A2A §8.3.2, the card's order is the agent's preference).
func Select(card *a2a.AgentCard, binding string) (a2a.AgentInterface, error) {
	var offered []string
	for _, i := range card.SupportedInterfaces {
		offered = append(offered, i.ProtocolBinding+" "+i.ProtocolVersion)
		spoken := i.ProtocolBinding == JSONRPC || i.ProtocolBinding == REST
		if spoken && (binding == "" || binding == i.ProtocolBinding) && major(i.ProtocolVersion) == major(Version) {
			return i, nil
		}
	}
	if len(offered) == 0 {
		return a2a.AgentInterface{}, errors.New("client: the card names no interface")
	}
	return a2a.AgentInterface{}, fmt.Errorf("client: none of the card's interfaces is spoken here: %s", strings.Join(offered, ", "))
}

func major(version string) string {
	m, _, _ := strings.Cut(version, ".")
	return m
}
