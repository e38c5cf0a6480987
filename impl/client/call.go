package client

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"a2aserve/gen/op"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// rpcRequest is the envelope of the JSON-RPC binding (A2A §9.1).
type rpcRequest struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      string         `json:"id"`
	Method  string         `json:"method"`
	Params  jsontext.Value `json:"params"`
}

// do sends the request of an operation. The caller closes the response's body.
func (c *Client) do(ctx context.Context, o *op.Operation, request any) (*http.Response, error) {
	doc, err := json.Marshal(request, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("client: the request of %s cannot be written: %w", o.Name, err)
	}
	if c.iface.Tenant != "" { // the value that the interface declares (A2A §8.3.2)
		if doc, err = withMember(doc, "tenant", c.iface.Tenant); err != nil {
			return nil, err
		}
	}
	var r *http.Request
	if c.iface.ProtocolBinding == JSONRPC {
		if doc, err = json.Marshal(rpcRequest{"2.0", uuid.NewString(), o.Name, doc}); err != nil {
			return nil, err
		}
		r, err = http.NewRequestWithContext(ctx, http.MethodPost, c.base.String(), bytes.NewReader(doc))
	} else {
		r, doc, err = c.restRequest(ctx, o, doc)
	}
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if len(doc) > 0 {
		r.Header.Set("Content-Type", c.mediaType())
	}
	r.Header.Set("Accept", c.mediaType())
	if o.Streaming {
		r.Header.Set("Accept", "text/event-stream")
	}
	return c.send(r, doc)
}

// mediaType labels requests (A2A §9.1, §11.1).
func (c *Client) mediaType() string {
	if c.iface.ProtocolBinding == JSONRPC {
		return "application/json"
	}
	return "application/a2a+json"
}

// restRequest lays a request document out as path, query and body (A2A §11.3).
func (c *Client) restRequest(ctx context.Context, o *op.Operation, doc []byte) (*http.Request, []byte, error) {
	members, order, err := split(doc)
	if err != nil {
		return nil, nil, err
	}
	take := func(name string) (string, error) {
		v, ok := members[name]
		delete(members, name)
		if !ok {
			return "", nil
		}
		return plain(v)
	}
	path := o.Path
	for _, name := range []string{"id", "taskId"} {
		if mark := "{" + name + "}"; strings.Contains(path, mark) {
			v, err := take(name)
			if err != nil || v == "" {
				return nil, nil, fmt.Errorf("%s needs %s", o.Name, name)
			}
			path = strings.ReplaceAll(path, mark, url.PathEscape(v))
		}
	}
	if tenant, err := take("tenant"); err == nil && tenant != "" {
		path = "/" + url.PathEscape(tenant) + path
	}
	to := *c.base
	to.RawPath = strings.TrimSuffix(c.base.EscapedPath(), "/") + path
	if to.Path, err = url.PathUnescape(to.RawPath); err != nil {
		return nil, nil, err
	}
	if o.Body {
		body, err := json.Marshal(members, json.Deterministic(true))
		if err != nil {
			return nil, nil, err
		}
		r, err := http.NewRequestWithContext(ctx, o.Verb, to.String(), bytes.NewReader(body))
		return r, body, err
	}
	query := to.Query()
	for _, name := range order {
		if v, ok := members[name]; ok {
			text, err := plain(v)
			if err != nil {
				return nil, nil, fmt.Errorf("%s cannot carry %s in an address", o.Name, name)
			}
			query.Set(name, text)
		}
	}
	to.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, o.Verb, to.String(), nil)
	return r, nil, err
}

// split takes a JSON object apart.
func split(doc []byte) (map[string]jsontext.Value, []string, error) {
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(doc, &members); err != nil {
		return nil, nil, err
	}
	var order []string
	for name := range members {
		order = append(order, name)
	}
	slices.Sort(order)
	return members, order, nil
}

// withMember adds a member to a JSON object.
func withMember(doc []byte, name, value string) ([]byte, error) {
	members, _, err := split(doc)
	if err != nil {
		return nil, err
	}
	if members[name], err = json.Marshal(value); err != nil {
		return nil, err
	}
	return json.Marshal(members, json.Deterministic(true))
}

// plain is a scalar as an address carries it.
func plain(v jsontext.Value) (string, error) {
	switch v.Kind() {
	case '"':
		var s string
		return s, json.Unmarshal(v, &s)
	case '0', 't', 'f':
		return v.String(), nil
	}
	return "", fmt.Errorf("%s is no scalar", v)
}

// send adds what every request has, and sends it.
func (c *Client) send(r *http.Request, body []byte) (*http.Response, error) {
	r.Header.Set("A2A-Version", Version)
	for name, values := range c.o.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if len(c.o.Extensions) > 0 {
		r.Header.Set("A2A-Extensions", strings.Join(c.o.Extensions, ", "))
	}
	if c.o.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.o.Token)
	}
	c.wire.request(r, body)
	resp, err := c.o.HTTP.Do(r)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return resp, nil
}
