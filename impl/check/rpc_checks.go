package check

import (
	"fmt"
	"net/http"

	"a2aserve/gen/a2a"
)

var rpcChecks = []*Check{
	{ID: "rpc.parse", Level: Must, Section: "9.5", Title: "What is no JSON is JSONParseError (-32700)", Each: true, Needs: []Need{OnlyRPC}, run: rpcParse},
	{ID: "rpc.request", Level: Must, Section: "9.5", Title: "What is no JSON-RPC 2.0 request is InvalidRequestError (-32600)", Each: true, Needs: []Need{OnlyRPC}, run: rpcRequest},
	{ID: "rpc.invalid-params", Level: Must, Section: "9.5", Title: "Parameters that are refused as invalid are InvalidParamsError (-32602)", Each: true, Needs: []Need{OnlyRPC}, run: rpcInvalidParams},
	{ID: "rpc.method", Level: Must, Section: "9.5", Title: "An unknown method is MethodNotFoundError (-32601)", Each: true, Needs: []Need{OnlyRPC}, run: rpcMethod},
	{ID: "rpc.old-methods", Level: Must, Section: "9.1", Title: "Methods have the names of version 1.0, in their case", Each: true, Needs: []Need{OnlyRPC}, run: rpcOldMethods},
	{ID: "rpc.id", Level: Must, Section: "9.3", Title: "The answer has the id of the request, in its type", Each: true, Needs: []Need{OnlyRPC}, run: rpcID},
	{ID: "rpc.absent-params", Level: Should, Section: "9.4.8", Title: "params that are absent are as good as empty ones", Each: true, Needs: []Need{OnlyRPC}, run: rpcAbsentParams},
	{ID: "rpc.batch", Level: May, Section: "JSON-RPC §6", Title: "A batch is answered as one, or refused", Each: true, Needs: []Need{OnlyRPC}, run: rpcBatch},
	{ID: "rpc.notification", Level: May, Section: "JSON-RPC §4.1", Title: "A request without an id is not answered, or refused", Each: true, Needs: []Need{OnlyRPC}, run: rpcNotification},
	{ID: "rpc.get", Level: May, Section: "RFC 9110 §15.5.6", Title: "Only POST leads to a method", Each: true, Needs: []Need{OnlyRPC}, run: rpcGet},
}

// post sends a JSON-RPC body as it is.
func (f *face) post(body string) *reply { return f.raw(http.MethodPost, "", body) }

// The id of what cannot be read is not known, so it is null (JSON-RPC §5).
func rpcParse(t *trial) {
	for what, body := range ordered(map[string]string{"a body cut off": `{"jsonrpc":"2.0",`, "a body that is no JSON": `tasks please`}) {
		r := t.on.post(body)
		if bad := r.is(a2a.JSONParseError); bad != "" {
			t.mistake("%s: %s", what, bad)
		} else if m := object(parse(r.body)); m["id"] != nil {
			t.mistake("%s: the answer's id is %s; null is expected", what, encode(m["id"]))
		}
	}
}

// Each is JSON, and each lacks something of a request that JSON-RPC 2.0 asks for.
func rpcRequest(t *trial) {
	params := `"params":{"id":"` + newID() + `"}`
	for what, body := range ordered(map[string]string{
		"jsonrpc is 1.0":     `{"jsonrpc":"1.0","id":1,"method":"GetTask",` + params + `}`,
		"no jsonrpc":         `{"id":1,"method":"GetTask",` + params + `}`,
		"no method":          `{"jsonrpc":"2.0","id":1,` + params + `}`,
		"method is a number": `{"jsonrpc":"2.0","id":1,"method":7,` + params + `}`,
	}) {
		if bad := t.on.post(body).is(a2a.InvalidRequestError); bad != "" {
			t.mistake("%s: %s", what, bad)
		}
	}
}

// Whether these have to be refused is for other checks; here it is about the code, which
// clients act on.
func rpcInvalidParams(t *trial) {
	tried := 0
	for about, r := range ordered(map[string]*reply{
		"an id that is an object": t.on.call("GetTask", obj{"id": obj{}}),
		"a pageSize of -1":        t.on.call("ListTasks", obj{"contextId": newID(), "pageSize": -1}),
		"a made-up pageToken":     t.on.call("ListTasks", obj{"contextId": newID(), "pageToken": "a2a-check-no-such-token"}),
		"an unknown state":        t.on.call("ListTasks", obj{"contextId": newID(), "status": "TASK_STATE_RUNNING"}),
	}) {
		if r.err == nil || r.unauthenticated() {
			continue // whether it has to be refused, other checks ask
		}
		tried++
		if bad := r.is(a2a.InvalidParamsError); bad != "" {
			t.mistake("%s: %s", about, bad)
		}
	}
	if tried == 0 {
		t.skip("nothing was refused")
	}
}

// The name is none of any version's.
func rpcMethod(t *trial) {
	t.must(t.on.post(`{"jsonrpc":"2.0","id":1,"method":"NoSuchMethod","params":{}}`).is(a2a.MethodNotFoundError), "NoSuchMethod")
}

// The version of the request is 1.0, where these names mean nothing.
func rpcOldMethods(t *trial) {
	for _, m := range []string{"tasks/get", "getTask"} {
		if bad := t.on.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"id":%q}}`, m, newID())).is(a2a.MethodNotFoundError); bad != "" {
			t.mistake("%s, with A2A-Version 1.0: %s", m, bad)
		}
	}
}

// Clients match answers by the id, 7 and "7" being two.
func rpcID(t *trial) {
	for _, id := range []string{`"a2a-check"`, `7`, `"7"`} {
		r := t.on.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"GetTask","params":{"id":%q}}`, id, newID()))
		m := object(parse(r.body))
		if got := string(encode(m["id"])); got != id {
			t.mistake("the request had id %s, its answer has %s", id, got)
		}
	}
}

func rpcAbsentParams(t *trial) {
	// The extended card is the operation that needs no parameter and lists nobody's tasks.
	bare := t.on.post(`{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`)
	empty := t.on.post(`{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard","params":{}}`)
	if (bare.err == nil) != (empty.err == nil) || bare.err != nil && bare.err.code != empty.err.code {
		t.fail("without params: %s; with {}: %s", bare.err, empty.err)
	}
}

// A2A does not mention batches: support and refusal are both right, half of it is not.
func rpcBatch(t *trial) {
	one := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"GetTask","params":{"id":%q}}`, id, newID())
	}
	r := t.on.post("[" + one(1) + "," + one(2) + "]")
	switch answers, isList := parse(r.body).([]any); {
	case isList && len(answers) == 2:
	case isList:
		t.fail("a batch of 2 has %d answers", len(answers))
	case r.err == nil || r.err.raw == nil || r.Status >= 500:
		t.fail("got HTTP status %d with neither a batch of answers nor an error", r.Status)
	case r.err.code == a2a.TaskNotFoundError.Code:
		t.fail("only one request of the batch was answered")
	}
}

// Nothing may be made by a request whose sender can never learn of it.
func rpcNotification(t *trial) {
	r := t.on.post(fmt.Sprintf(`{"jsonrpc":"2.0","method":"GetTask","params":{"id":%q}}`, newID()))
	switch {
	case r.Status == 0:
		t.fail("no answer at all: %s", r.Error)
	case len(r.body) == 0 && r.Status < 300:
	case r.err != nil && r.err.raw != nil && r.err.code == a2a.InvalidRequestError.Code:
	default:
		t.fail("it was answered as a request: %s", r.err)
	}
}

// A GET that runs a method could be sent by any link on any page.
func rpcGet(t *trial) {
	if r := t.on.raw(http.MethodGet, "", "", beyond); r.Status < 400 || r.Status >= 500 {
		t.fail("GET answers %d", r.Status)
	}
}
