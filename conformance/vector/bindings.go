package vector

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// routes are the operations of A2A §5.3, written down here again so that the
// generated table is not its own judge.
var routes = map[string]struct{ verb, path string }{
	"SendMessage":                      {"POST", "/message:send"},
	"SendStreamingMessage":             {"POST", "/message:stream"},
	"GetTask":                          {"GET", "/tasks/{id}"},
	"ListTasks":                        {"GET", "/tasks"},
	"CancelTask":                       {"POST", "/tasks/{id}:cancel"},
	"SubscribeToTask":                  {"POST", "/tasks/{id}:subscribe"},
	"CreateTaskPushNotificationConfig": {"POST", "/tasks/{taskId}/pushNotificationConfigs"},
	"GetTaskPushNotificationConfig":    {"GET", "/tasks/{taskId}/pushNotificationConfigs/{id}"},
	"ListTaskPushNotificationConfigs":  {"GET", "/tasks/{taskId}/pushNotificationConfigs"},
	"DeleteTaskPushNotificationConfig": {"DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}"},
	"GetExtendedAgentCard":             {"GET", "/extendedAgentCard"},
}

// errorTypes are the rows of A2A §5.4 and §9.5, likewise.
var errorTypes = map[string]struct {
	code, status int
	reason       string // of the ErrorInfo; empty where BadRequest is what matters
}{
	"TaskNotFoundError":                   {-32001, 404, "TASK_NOT_FOUND"},
	"TaskNotCancelableError":              {-32002, 400, "TASK_NOT_CANCELABLE"},
	"PushNotificationNotSupportedError":   {-32003, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
	"UnsupportedOperationError":           {-32004, 400, "UNSUPPORTED_OPERATION"},
	"ContentTypeNotSupportedError":        {-32005, 400, "CONTENT_TYPE_NOT_SUPPORTED"},
	"InvalidAgentResponseError":           {-32006, 500, "INVALID_AGENT_RESPONSE"},
	"ExtendedAgentCardNotConfiguredError": {-32007, 400, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"},
	"ExtensionSupportRequiredError":       {-32008, 400, "EXTENSION_SUPPORT_REQUIRED"},
	"VersionNotSupportedError":            {-32009, 400, "VERSION_NOT_SUPPORTED"},
	"InvalidParamsError":                  {-32602, 400, ""},
	"InternalError":                       {-32603, 500, ""},
}

// mediaTypes are those of an answer that is no stream (A2A §9.1, §11.1).
var mediaTypes = map[Binding]string{JSONRPC: "application/json", REST: "application/a2a+json"}

const requestID = `"vector-1"`

func (t *Target) rpcRequest(ctx context.Context, op, params string) (*http.Request, []byte, error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, requestID, op, params)
	req, err := http.NewRequestWithContext(ctx, "POST", t.Origin+t.RPC, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	return req, []byte(body), nil
}

// restRequest spells an operation's request as path, query and body (A2A §11.3, §11.5).
func (t *Target) restRequest(ctx context.Context, op, params string) (*http.Request, []byte, error) {
	route := routes[op]
	var members map[string]jsontext.Value
	if err := json.Unmarshal([]byte(params), &members); err != nil {
		return nil, nil, fmt.Errorf("the request is not a JSON object: %w", err)
	}
	path := route.path
	for _, name := range []string{"id", "taskId"} {
		if strings.Contains(path, "{"+name+"}") {
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(scalar(members[name])))
			if op != "CreateTaskPushNotificationConfig" {
				delete(members, name)
			}
		}
	}
	var body []byte
	var err error
	if route.verb == "POST" && op != "SubscribeToTask" {
		if body, err = json.Marshal(members, json.Deterministic(true)); err != nil {
			return nil, nil, err
		}
	} else if len(members) > 0 {
		q := url.Values{}
		for k, v := range members {
			q.Set(k, scalar(v))
		}
		path += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, route.verb, t.Origin+t.REST+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/a2a+json")
	}
	req.Header.Set("A2A-Version", "1.0")
	return req, body, nil
}

func scalar(v jsontext.Value) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// envelope is a JSON-RPC response.
type envelope struct {
	JSONRPC string                    `json:"jsonrpc"`
	ID      jsontext.Value            `json:"id"`
	Result  jsontext.Value            `json:"result"`
	Error   *status                   `json:"error"`
	Unknown map[string]jsontext.Value `json:",embed"`
}

// status is an error on either binding.
type status struct {
	Code    int              `json:"code"`
	Status  string           `json:"status"`
	Message string           `json:"message"`
	Details []jsontext.Value `json:"details"`
	Data    []jsontext.Value `json:"data"`
}

func (r *reply) envelope(b []byte) (*envelope, error) {
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return nil, fmt.Errorf("not a JSON-RPC response (%w): %.300s", err, b)
	}
	if e.JSONRPC != "2.0" || string(e.ID) != requestID || len(e.Unknown) > 0 {
		return nil, fmt.Errorf("not the response of this request: %.300s", b)
	}
	if (e.Result == nil) == (e.Error == nil) || string(e.Result) == "null" {
		return nil, fmt.Errorf("exactly one of result and error must be there: %.300s", b)
	}
	return &e, nil
}

// result is the operation's response, out of its envelope.
func (r *reply) result() ([]byte, error) {
	if r.frames != nil {
		return nil, fmt.Errorf("an event stream of %d frames where one answer belongs", len(r.frames))
	}
	if got, want := r.res.Header.Get("Content-Type"), mediaTypes[r.binding]; got != want {
		return nil, fmt.Errorf("Content-Type %q, want %q", got, want)
	}
	if r.binding == REST {
		return r.body, nil
	}
	e, err := r.envelope(r.body)
	if err != nil {
		return nil, err
	}
	if e.Error != nil {
		return nil, fmt.Errorf("refused: %s", r.body)
	}
	return e.Result, nil
}

func (r *reply) unwrap(s Step, frame []byte) ([]byte, error) {
	if r.binding == REST || s.Verb == "http" {
		return frame, nil
	}
	e, err := r.envelope(frame)
	if err != nil {
		return nil, err
	}
	if e.Error != nil {
		return nil, fmt.Errorf("an error in the stream: %s", frame)
	}
	return e.Result, nil
}

// detail is one object of error.data or error.details.
type detail struct {
	Type       string            `json:"@type"`
	Reason     string            `json:"reason"`
	Domain     string            `json:"domain"`
	Metadata   map[string]string `json:"metadata"`
	Violations []struct {
		Field       string `json:"field"`
		Description string `json:"description"`
	} `json:"fieldViolations"`
}

// checkError expects `error TYPE [FIELD …]`; the body is a pattern of {message, metadata}.
func (r *reply) checkError(x Expect, vars Vars) error {
	want, ok := errorTypes[x.Args[0]]
	if !ok {
		return fmt.Errorf("no error type %s", x.Args[0])
	}
	st, details, err := r.status(want.status)
	if err != nil {
		return err
	}
	code := want.status
	if r.binding == JSONRPC {
		code = want.code
	}
	if st.Code != code || st.Message == "" {
		return fmt.Errorf("code %d, message %q; want %d: %s", st.Code, st.Message, code, r.body)
	}
	var fields []string
	var metadata map[string]string
	found := want.reason == ""
	for _, d := range details {
		if d.Type == "" {
			return fmt.Errorf("a detail without @type: %s", r.body)
		}
		if d.Reason != "" {
			found = found || d.Reason == want.reason && d.Domain == "a2a-protocol.org" && strings.HasSuffix(d.Type, "google.rpc.ErrorInfo")
			metadata = d.Metadata
		}
		for _, v := range d.Violations {
			if !strings.HasSuffix(d.Type, "google.rpc.BadRequest") {
				return fmt.Errorf("violations in a %s: %s", d.Type, r.body)
			}
			if v.Description == "" {
				return fmt.Errorf("%s is refused without a reason: %s", v.Field, r.body)
			}
			fields = append(fields, v.Field)
		}
	}
	if !found {
		return fmt.Errorf("no ErrorInfo with reason %s: %s", want.reason, r.body)
	}
	for _, f := range x.Args[1:] {
		if !slices.Contains(fields, f) {
			return fmt.Errorf("field %s is not named, only %q: %s", f, fields, r.body)
		}
	}
	if p := strings.TrimSpace(string(x.Body)); p != "" {
		got, err := json.Marshal(map[string]any{"message": st.Message, "metadata": metadata, "fields": fields}, json.Deterministic(true))
		if err != nil {
			return err
		}
		return Match(p, got, vars)
	}
	return nil
}

func (r *reply) status(httpStatus int) (*status, []detail, error) {
	var st *status
	var raw []jsontext.Value
	if r.frames != nil {
		return nil, nil, fmt.Errorf("an event stream instead of an error: %s", bytes.Join(r.frames, []byte("\n")))
	}
	if got := r.res.Header.Get("Content-Type"); got != mediaTypes[r.binding] {
		return nil, nil, fmt.Errorf("an error of type %q, want %q: %.300s", got, mediaTypes[r.binding], r.body)
	}
	if r.binding == JSONRPC {
		e, err := r.envelope(r.body)
		if err != nil {
			return nil, nil, err
		}
		if e.Error == nil || r.res.StatusCode != http.StatusOK {
			return nil, nil, fmt.Errorf("want an error with HTTP 200, got HTTP %d: %s", r.res.StatusCode, r.body)
		}
		st, raw = e.Error, e.Error.Data
	} else {
		var b struct {
			Error *status `json:"error"`
		}
		if err := json.Unmarshal(r.body, &b); err != nil || b.Error == nil {
			return nil, nil, fmt.Errorf("HTTP %d is not a google.rpc.Status (%v): %s", r.res.StatusCode, err, r.body)
		}
		if r.res.StatusCode != httpStatus || b.Error.Status == "" {
			return nil, nil, fmt.Errorf("HTTP %d, want %d: %s", r.res.StatusCode, httpStatus, r.body)
		}
		st, raw = b.Error, b.Error.Details
	}
	var details []detail
	for _, d := range raw {
		var x detail
		if err := json.Unmarshal(d, &x); err != nil {
			return nil, nil, fmt.Errorf("a detail that is not an object with strings (%w): %s", err, d)
		}
		details = append(details, x)
	}
	return st, details, nil
}
