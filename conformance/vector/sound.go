package vector

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// What holds of whatever the server says, whatever was asked: every answer and every frame
// that a test or a vector reads is held to it.

var (
	states = []string{"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED", "TASK_STATE_FAILED",
		"TASK_STATE_CANCELED", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_REJECTED", "TASK_STATE_AUTH_REQUIRED"}
	roles = []string{"ROLE_USER", "ROLE_AGENT"}
	arms  = []string{"task", "message", "statusUpdate", "artifactUpdate"}

	// Below these names are others' own words, or names that they chose.
	theirs = []string{"metadata", "data", "securitySchemes", "schemes", "scopes", "params", "header"}
)

// sound says what is wrong with an answer that is JSON.
func (t *Target) sound(req *http.Request, res *http.Response, body []byte) error {
	if len(body) == 0 || !strings.Contains(res.Header.Get("Content-Type"), "json") {
		return nil
	}
	v, err := parse(body)
	if err != nil {
		return fmt.Errorf("not JSON (%w): %.300s", err, body)
	}
	if req.URL.Path == t.RPC {
		if v, err = unwrapped(v); err != nil {
			return fmt.Errorf("%w: %.300s", err, body)
		}
	}
	if err := walk("$", v); err != nil {
		return fmt.Errorf("%w: %.300s", err, body)
	}
	return nil
}

// soundFrame says what is wrong with a frame of a stream.
func soundFrame(frame []byte, rpc bool) error {
	v, err := parse(frame)
	if err == nil && rpc {
		v, err = unwrapped(v)
	}
	if err != nil {
		return fmt.Errorf("%w: %.300s", err, frame)
	}
	m, _ := v.(map[string]any)
	if len(m) != 1 {
		return fmt.Errorf("a frame has one of %v: %.300s", arms, frame)
	}
	for k := range m {
		if !slices.Contains(arms, k) && !rpc {
			return fmt.Errorf("no frame has %s: %.300s", k, frame)
		}
	}
	if err := walk("$", v); err != nil {
		return fmt.Errorf("%w: %.300s", err, frame)
	}
	return nil
}

// unwrapped takes the result or the error out of a JSON-RPC response, of which one is
// there and the other's name is not (JSON-RPC 2.0 §5).
func unwrapped(v any) (any, error) {
	m, _ := v.(map[string]any)
	result, hasResult := m["result"]
	failure, hasError := m["error"]
	_, hasID := m["id"]
	switch {
	case m["jsonrpc"] != "2.0" || !hasID:
		return nil, fmt.Errorf("no JSON-RPC response")
	case hasResult == hasError:
		return nil, fmt.Errorf("result and error exclude each other")
	case hasResult && result == nil, hasError && failure == nil:
		return nil, fmt.Errorf("neither result nor error is ever null")
	case len(m) != 3:
		return nil, fmt.Errorf("a response has three members")
	case hasError:
		return map[string]any{"error": failure}, nil
	}
	return result, nil
}

func walk(at string, v any) error {
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			if err := walk(fmt.Sprintf("%s[%d]", at, i), x); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, x := range v {
			if err := member(at, k, x); err != nil {
				return err
			}
			if slices.Contains(theirs, k) && !strings.HasSuffix(at, ".error") {
				continue
			}
			if err := walk(at+"."+k, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// member judges one member by its name (A2A §5.5, §5.6.1, §4.2).
func member(at, k string, v any) error {
	s, isString := v.(string)
	ok := true
	switch {
	case strings.Contains(k, "_"):
		ok = false
	case v == nil:
		ok = k == "data"
	case k == "kind" || k == "final" || k == "stateTransitionHistory" || k == "supportsAuthenticatedExtendedCard":
		ok = false
	case k == "state":
		ok = isString && slices.Contains(states, s)
	case k == "role":
		ok = isString && slices.Contains(roles, s)
	case k == "timestamp":
		ok = isString && timestamp.MatchString(s)
	case k == "taskId" || k == "contextId" || k == "messageId" || k == "artifactId":
		ok = isString && s != ""
	}
	if !ok {
		return fmt.Errorf("%s.%s cannot be %.100v", at, k, v)
	}
	return nil
}
