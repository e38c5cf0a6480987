package check

import (
	"fmt"
	"net/http"

	"a2aserve/gen/a2a"
)

var restChecks = []*Check{
	{ID: "rest.parse", Level: Must, Section: "3.3.2", Title: "A body that is no JSON is refused with status 400", Each: true, Needs: []Need{OnlyREST}, run: restParse},
	{ID: "rest.media-types", Level: Should, Section: "11.1", Title: "Requests are read as application/a2a+json and as application/json", Each: true, Needs: []Need{OnlyREST}, run: restMediaTypes},
	{ID: "rest.answer-type", Level: Should, Section: "11.1", Title: "Answers are of type application/a2a+json", Each: true, Needs: []Need{OnlyREST}, run: restAnswerType},
	{ID: "rest.query-names", Level: Must, Section: "11.5", Title: "Query parameters have their names in camelCase, and values that are escaped", Each: true, Needs: []Need{OnlyREST}, run: restQuery},
	{ID: "rest.query-all", Level: Should, Section: "3.3.2", Title: "All wrong query parameters are named at once", Each: true, Needs: []Need{OnlyREST}, run: restQueryAll},
	{ID: "rest.empty-body", Level: Should, Section: "11.3.2", Title: "CancelTask needs no body", Each: true, Needs: []Need{OnlyREST}, run: restEmptyBody},
	{ID: "rest.verbs", Level: May, Section: "RFC 9110 §15.5.6", Title: "Unknown paths are 404, wrong verbs 405 or 404", Each: true, Needs: []Need{OnlyREST}, run: restVerbs},
	{ID: "rest.subscribe-verbs", Level: Should, Section: "11.3.2", Title: "SubscribeToTask takes POST, as the prose says, and GET, as the proto does", Each: true, Needs: []Need{OnlyREST, Streams}, run: restSubscribeVerbs},
}

// The status is all there is to tell: no error of A2A's is meant for this.
func restParse(t *trial) {
	for what, body := range ordered(map[string]string{"a body cut off": `{"message":`, "a body that is no JSON": `tasks please`, "a list": `[]`}) {
		if r := t.on.raw(http.MethodPost, "/message:send", body); r.Status != http.StatusBadRequest {
			t.mistake("%s: status %d", what, r.Status)
		}
	}
}

// Parameters of a media type do not change what it is.
func restMediaTypes(t *trial) {
	for _, m := range []string{"application/a2a+json", "application/json", "application/json; charset=utf-8"} {
		r := t.on.raw(http.MethodPost, "/tasks/"+newID()+":cancel", `{}`, with("Content-Type", m))
		if bad := r.is(a2a.TaskNotFoundError); bad != "" {
			t.mistake("%s: %s", m, bad)
		}
	}
}

// It is asked for by name, so that nothing speaks for another type.
func restAnswerType(t *trial) {
	r := t.list(obj{"contextId": newID()}, with("Accept", "application/a2a+json"))
	if m := r.mediaType(); m != "application/a2a+json" {
		t.fail("with Accept: application/a2a+json the answer is %q", m)
	}
}

// An & that is not kept inside its value would set another parameter.
func restQuery(t *trial) {
	context := newID() + "&pageSize=1000"
	if r := t.list(obj{"contextId": context, "pageSize": 7, "includeArtifacts": false}); r.err != nil {
		t.fail("contextId with an escaped &, pageSize=7, includeArtifacts=false: %s", r.err)
	} else if n := object(r.result)["pageSize"]; n != nil && number(n) != 7 {
		t.fail("pageSize=7 was read as %v", n)
	}
	if r := t.list(obj{"contextId": newID(), "includeArtifacts": "yes"}); r.Status != http.StatusBadRequest {
		t.fail("includeArtifacts=yes: status %d; only true and false are booleans", r.Status)
	}
}

// The specification's own example names three (A2A §6.5).
func restQueryAll(t *trial) {
	r := t.list(obj{"contextId": newID(), "pageSize": 150, "historyLength": -5, "status": "TASK_STATE_RUNNING"})
	if r.invalid() != "" {
		t.na("it is not refused as invalid")
	}
	found := map[string]bool{}
	for _, d := range r.err.details {
		for _, v := range list(object(d)["fieldViolations"]) {
			found[text(object(v)["field"])] = true
		}
	}
	for _, name := range []string{"pageSize", "historyLength", "status"} {
		if !found[name] {
			t.mistake("the violations do not name %s", name)
		}
	}
}

// All that the operation needs is in the path.
func restEmptyBody(t *trial) {
	r := t.on.raw(http.MethodPost, "/tasks/"+newID()+":cancel", "")
	t.must(r.is(a2a.TaskNotFoundError), "POST without body and Content-Type, an unknown task")
}

// Routers differ in whether a path with another verb is there.
func restVerbs(t *trial) {
	for _, v := range []struct {
		method, path string
		codes        []int
	}{
		{http.MethodGet, "/no-such-path-" + newID(), []int{404}},
		{http.MethodPut, "/tasks/" + newID(), []int{404, 405}},
		{http.MethodGet, "/message:send", []int{404, 405}},
	} {
		r := t.on.raw(v.method, v.path, "", beyond)
		ok := false
		for _, code := range v.codes {
			ok = ok || r.Status == code
		}
		if !ok {
			t.mistake("%s %s: status %d", v.method, v.path, r.Status)
		}
	}
}

// An error that comes within a stream shows that the verb was understood all the same.
func restSubscribeVerbs(t *trial) {
	var answers []string
	for _, v := range []string{http.MethodGet, http.MethodPost} {
		st := t.on.open("SubscribeToTask", obj{"id": newID()}, verb(v))
		st.close()
		if bad := st.is(a2a.TaskNotFoundError); bad != "" && (st.err == nil || !st.err.streamed) {
			answers = append(answers, fmt.Sprintf("%s of an unknown task: %s", v, bad))
		}
	}
	for _, a := range answers {
		t.mistake("%s", a)
	}
}
