package client

import (
	"fmt"
	"net/http"
	"strings"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// RemoteError is the agent's refusal.
type RemoteError struct {
	Type       *a2a.ErrorType // nil where the agent's error is none that the specification names
	Code       int            // JSON-RPC error code; 0 over HTTP+JSON
	HTTP       int            // status of the response
	Reason     string         // ErrorInfo.reason, where it was sent
	Message    string
	Metadata   map[string]string // ErrorInfo.metadata
	Violations []a2a.Violation
}

func (e *RemoteError) Error() string {
	var b strings.Builder
	switch {
	case e.Type != nil:
		b.WriteString(e.Type.Name)
	case e.Code != 0:
		fmt.Fprintf(&b, "JSON-RPC error %d", e.Code)
	default:
		fmt.Fprintf(&b, "HTTP status %d", e.HTTP)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	for _, v := range e.Violations {
		fmt.Fprintf(&b, "\n  %s: %s", v.Field, v.Description)
	}
	return b.String()
}

// detail is an entry of an error's details, of any of the known types (A2A §9.5, §11.6).
type detail struct {
	Type       string            `json:"@type"`
	Reason     string            `json:"reason"`
	Metadata   map[string]string `json:"metadata"`
	Violations []a2a.Violation   `json:"fieldViolations"`
}

// rpcError is JSON-RPC's error object; restError is google.rpc.Status under "error".
type rpcError struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data"`
}

type restError struct {
	Error struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Details jsontext.Value `json:"details"`
	} `json:"error"`
}

type rpcResponse struct {
	Result jsontext.Value `json:"result"`
	Error  *rpcError      `json:"error"`
}

// result is the document of an operation's response, out of its envelope.
func (c *Client) result(resp *http.Response, body []byte) ([]byte, error) {
	if c.iface.ProtocolBinding == REST {
		if resp.StatusCode/100 != 2 {
			return nil, refusal(resp, body)
		}
		return body, nil
	}
	return unwrap(resp, body)
}

// unwrap opens a JSON-RPC envelope.
func unwrap(resp *http.Response, body []byte) ([]byte, error) {
	var r rpcResponse
	if err := json.Unmarshal(body, &r); err != nil || r.Error == nil && r.Result == nil {
		if resp.StatusCode/100 != 2 {
			return nil, refusal(resp, body)
		}
		return nil, fmt.Errorf("client: what came back is no JSON-RPC response: %s", excerpt(body))
	}
	if r.Error != nil {
		e := &RemoteError{Code: r.Error.Code, HTTP: resp.StatusCode, Message: r.Error.Message}
		e.read(r.Error.Data)
		for _, t := range a2a.ErrorTypes {
			if e.Type == nil && t.Code == e.Code && t.Section != "ours" {
				e.Type = t
			}
		}
		return nil, e
	}
	return r.Result, nil
}

// refusal reads an HTTP response that is no success.
func refusal(resp *http.Response, body []byte) *RemoteError {
	var r restError
	e := &RemoteError{HTTP: resp.StatusCode}
	if json.Unmarshal(body, &r) == nil && r.Error.Message != "" {
		e.Message = r.Error.Message
		e.read(r.Error.Details)
		return e
	}
	e.Message = http.StatusText(resp.StatusCode)
	if len(body) > 0 {
		e.Message = excerpt(body)
	}
	return e
}

// read takes what is known out of an error's details. Agents that send something else
// there are read all the same.
func (e *RemoteError) read(details jsontext.Value) {
	var all []jsontext.Value
	if json.Unmarshal(details, &all) != nil {
		return
	}
	for _, doc := range all {
		var d detail
		if json.Unmarshal(doc, &d) != nil {
			continue
		}
		e.Violations = append(e.Violations, d.Violations...)
		if d.Reason == "" {
			continue
		}
		e.Reason, e.Metadata = d.Reason, d.Metadata
		for _, t := range a2a.ErrorTypes {
			if t.Reason == d.Reason {
				e.Type = t
			}
		}
	}
}

// excerpt is the beginning of something that was not understood.
func excerpt(b []byte) string {
	const most = 200
	text := strings.TrimSpace(strings.ToValidUTF8(string(b[:min(len(b), most)]), "\uFFFD"))
	if len(b) > most {
		text += "…"
	}
	return text
}
