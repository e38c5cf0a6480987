package validate

import (
	"fmt"
	"slices"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/gen/op"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// oldMethods are the methods of version 0.3.
var oldMethods = map[string]string{
	"message/send": "SendMessage", "message/stream": "SendStreamingMessage",
	"tasks/get": "GetTask", "tasks/list": "ListTasks", "tasks/cancel": "CancelTask", "tasks/resubscribe": "SubscribeToTask",
	"tasks/pushNotificationConfig/set":    "CreateTaskPushNotificationConfig",
	"tasks/pushNotificationConfig/get":    "GetTaskPushNotificationConfig",
	"tasks/pushNotificationConfig/list":   "ListTaskPushNotificationConfigs",
	"tasks/pushNotificationConfig/delete": "DeleteTaskPushNotificationConfig",
	"agent/getAuthenticatedExtendedCard":  "GetExtendedAgentCard",
}

// maxCalls bounds how many requests of a file are remembered to match responses with.
const maxCalls = 10_000

// maxID bounds the ids that are remembered at all, in bytes.
const maxID = 1000

// calls remembers the methods of a file's latest requests, by id.
type calls struct {
	methods map[string]string
	order   []string
}

func (c *calls) note(id jsontext.Value, method string) {
	if len(id) > maxID {
		return
	}
	key := string(id)
	if c.methods == nil {
		c.methods = map[string]string{}
	}
	if _, again := c.methods[key]; !again {
		if c.order = append(c.order, key); len(c.order) > maxCalls {
			delete(c.methods, c.order[0])
			c.order = c.order[1:]
		}
	}
	c.methods[key] = method
}

func envelope(def string, required []string, payload map[string]*node) *node {
	n := &node{kind: kindObject, def: def, required: required, members: map[string]*member{
		"jsonrpc": {"jsonrpc", "9.3", false, &node{kind: kindString, def: def}},
		"id":      {"id", "9.3", false, &node{kind: kindID, def: def}},
	}}
	for name, p := range payload {
		n.members[name] = &member{name, p.section(), name == "result" || name == "error", p}
	}
	return n
}

var anything = &node{kind: kindAny}

// request plans the reading of a JSON-RPC request: its parameters are those of its method.
func (f *file) request(o outline, p *plan) {
	name := o.text("method")
	operation, params := op.ByName(name), anything
	switch now := oldMethods[name]; {
	case operation != nil:
	case now != "":
		operation = op.ByName(now)
		p.later = append(p.later, problem{rule: "v03.method", pointer: "/method", expected: fmt.Sprintf("%q", now)})
	case o.holds("method", '"'):
		p.later = append(p.later, problem{rule: "rpc.method", pointer: "/method", expected: "a method of the protocol", hint: nearMethod(name)})
	}
	required := []string{"jsonrpc", "method"}
	p.kind = "JSON-RPC request"
	if operation != nil {
		params = definitions[operation.Request]
		if len(params.required) > 0 {
			required = append(required, "params")
		}
		if id, ok := o["id"]; ok {
			f.calls.note(id.value, operation.Name)
		}
	}
	if given := f.v.options.Type; given != "" {
		params = definitions[given]
	}
	if operation != nil {
		p.kind += ": " + operation.Name
	}
	p.by, p.from = "its member "+o.first("jsonrpc", "method"), Client
	p.node = envelope("a JSON-RPC request", required, map[string]*node{"method": {kind: kindString, def: p.kind}, "params": params})
	if !o.has("id") {
		p.later = append(p.later, problem{rule: "rpc.notification", expected: "an id", hint: "without one there is no answer"})
	}
}

// results are what the operations answer with. A message or an event stands there only in
// a member that says what it is (A2A §3.1.1, §3.2.3).
var results = func() map[string]string {
	as := map[string]string{"Message": "SendMessageResponse", "TaskStatusUpdateEvent": "StreamResponse", "TaskArtifactUpdateEvent": "StreamResponse"}
	for _, o := range op.Table {
		as[o.Response] = o.Response
	}
	return as
}()

// response plans the reading of a JSON-RPC response: its result is that of the request with
// the same id, else of the method that was given, else of the shape.
func (f *file) response(o outline, p *plan) {
	def, by := f.v.options.Type, "given"
	method := f.v.options.Method
	if m, ok := f.calls.methods[string(o["id"].value)]; ok {
		method = m
	}
	switch operation := op.ByName(method); {
	case def != "":
	case f.stream != nil:
		def, by = "StreamResponse", "its place in a stream"
	case operation != nil:
		def, by = operation.Response, "the method "+operation.Name
	case o.holds("result", '{'):
		result := sketch(o["result"].value)
		if def, by = recognise(result, results); len(result) == 0 {
			def, by = "Empty", "its result"
		}
	}
	p.kind, p.by, p.from = "JSON-RPC response", by, Server
	result := definitions[def]
	switch {
	case o.has("error") && !o.has("result"):
		p.kind, p.by = "JSON-RPC error", "its member error"
	case def == "Empty", result == nil:
	default:
		p.kind += ": " + def
		p.base, p.def = "/result", def
	}
	if result == nil {
		result = anything
		if o.has("result") && !o.holds("result", 'n') {
			p.later = append(p.later, unrecognised("/result", by))
		}
	}
	p.node = envelope("a JSON-RPC response", []string{"jsonrpc"}, map[string]*node{"result": result, "error": definitions["JSONRPCError"]})
	switch {
	case o.has("result") && o.has("error"):
		p.later = append(p.later, problem{rule: "rpc.outcome", expected: "either result or error", hint: "leave the other one out: null is there, too"})
	case o.holds("result", 'n'):
		p.later = append(p.later, problem{rule: "rpc.outcome", pointer: "/result", expected: "a result that is not null", hint: "where there is nothing to say it is {}"})
	case o.holds("error", 'n'):
		p.later = append(p.later, problem{rule: "rpc.outcome", pointer: "/error", expected: "an error that is not null"})
	case !o.has("result", "error"):
		p.later = append(p.later, problem{rule: "rpc.outcome", expected: "a result or an error"})
	}
	if !o.has("id") {
		p.later = append(p.later, problem{rule: "rpc.id", expected: "the id of the request"})
	}
	if o.holds("error", '{') {
		p.later = append(p.later, reasons(o["error"].value, "/error", "data", func(t *a2a.ErrorType) int { return t.Code })...)
	}
}

// rpcPlan is the plan for an envelope of either kind.
func (f *file) rpcPlan(o outline, p *plan) {
	if o.has("method") || !o.has("result", "error") && o.has("params") {
		f.request(o, p)
	} else {
		f.response(o, p)
	}
	if o.has("jsonrpc") && o.text("jsonrpc") != "2.0" && o.holds("jsonrpc", '"') {
		p.later = append(p.later, problem{rule: "rpc.version", pointer: "/jsonrpc", expected: "\"2.0\""})
	}
}

// first is the first of these names that is there, as it is written.
func (o outline) first(names ...string) string {
	for _, name := range names {
		if o.has(name) {
			return o[fold(name)].name
		}
	}
	return ""
}

func nearMethod(name string) string {
	for _, o := range op.Table {
		if fold(o.Name) == fold(name) || fold(o.Name) == fold(name[strings.LastIndexByte(name, '/')+1:]) {
			return "write " + o.Name
		}
	}
	return "an extension may add methods; nothing is known about this one's parameters"
}

// domain is that of the protocol's own errors.
const domain = "a2a-protocol.org"

// reasons holds the ErrorInfo of an error against the table of errors (A2A §5.4).
func reasons(value []byte, at, list string, code func(*a2a.ErrorType) int) (found []problem) {
	var e struct {
		Code    int    `json:"code"`
		Data    []info `json:"data"`
		Details []info `json:"details"`
	}
	if json.Unmarshal(value, &e, jsontext.AllowDuplicateNames(true)) != nil {
		return nil // what is of the wrong type is reported as such
	}
	for i, d := range append(e.Data, e.Details...) {
		if d.Domain != domain {
			continue
		}
		p := problem{rule: "error.reason", pointer: fmt.Sprintf("%s/%s/%d/reason", at, list, i)}
		k := slices.IndexFunc(a2a.ErrorTypes, func(t *a2a.ErrorType) bool { return t.Domain == domain && t.Reason == d.Reason })
		switch {
		case k < 0:
			p.expected = "the reason of one of the protocol's errors"
			if strings.HasSuffix(d.Reason, "Error") {
				p.hint = "it is written in upper case with underscores, without Error at the end: TASK_NOT_FOUND"
			}
		case code(a2a.ErrorTypes[k]) != e.Code:
			p.expected = fmt.Sprintf("a reason of code %d, or code %d", e.Code, code(a2a.ErrorTypes[k]))
		default:
			continue
		}
		found = append(found, p)
	}
	return found
}

type info struct {
	Reason string `json:"reason"`
	Domain string `json:"domain"`
}
