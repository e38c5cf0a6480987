package check

import (
	"strings"

	"a2aserve/gen/a2a"
)

// These ask for tasks that do not exist: whatever the answer is, nothing is made.
var versionChecks = []*Check{
	{ID: "version.unsupported", Level: Must, Section: "3.6.2", Title: "A version that is not supported is refused with VersionNotSupportedError", Each: true, run: versionUnsupported},
	{ID: "version.absent", Level: Must, Section: "3.6.2", Title: "A request without a version is one of version 0.3", Each: true, run: versionAbsent},
	{ID: "version.patch", Level: Must, Section: "3.6", Title: "Patch numbers do not matter", Each: true, run: versionPatch},
	{ID: "version.parameter", Level: Should, Section: "3.6.1", Title: "The version can be a query parameter", Each: true, Needs: []Need{OnlyREST}, run: versionParameter},
	{ID: "version.stream", Level: Must, Section: "3.6.2", Title: "A stream of a version that is not supported is refused too", Each: true, Needs: []Need{Streams}, run: versionStream},
	{ID: "version.names", Level: Should, Section: "3.3.2", Title: "The refusal of a version says which are supported", Each: true, run: versionNames},
}

// An old, a new and a far version: servers that only compare major numbers pass one of them.
func versionUnsupported(t *trial) {
	for _, v := range []string{"99.0", "0.5", "2.0"} {
		if declared(t, v) {
			continue
		}
		if bad := t.on.call("GetTask", obj{"id": newID()}, version(v)).is(a2a.VersionNotSupportedError); bad != "" {
			t.mistake("A2A-Version: %s: %s", v, bad)
		}
	}
}

// declared reports whether the card has the version on the same binding.
func declared(t *trial, v string) bool {
	for _, one := range t.card.Interfaces {
		if one.ProtocolBinding == t.on.binding && (one.ProtocolVersion == v || strings.HasPrefix(one.ProtocolVersion, v+".")) {
			return true
		}
	}
	return false
}

// Where 0.3 is served on the binding, an answer in its terms is right.
func versionAbsent(t *trial) {
	if declared(t, "0.3") {
		t.na("the card declares version 0.3, so a request without a version is served")
	}
	t.must(t.on.call("GetTask", obj{"id": newID()}, version("")).is(a2a.VersionNotSupportedError), "without A2A-Version")
}

// The task does not exist, so being told so means that the version was taken.
func versionPatch(t *trial) {
	t.must(t.on.call("GetTask", obj{"id": newID()}, version("1.0.1")).is(a2a.TaskNotFoundError), "A2A-Version: 1.0.1, a task that does not exist")
}

func versionParameter(t *trial) {
	// A server that takes requests without a version proves nothing by taking this one,
	// so it is also asked with one that it cannot support.
	t.must(t.on.call("GetTask", obj{"id": newID()}, version(""), query("A2A-Version", current)).is(a2a.TaskNotFoundError), "?A2A-Version=1.0, a task that does not exist")
	if bad := t.on.call("GetTask", obj{"id": newID()}, version(""), query("A2A-Version", "99.0")).is(a2a.VersionNotSupportedError); bad != "" {
		t.fail("?A2A-Version=99.0: %s", bad)
	}
}

// A server that opens the stream first can only refuse within it.
func versionStream(t *trial) {
	st := t.on.open("SubscribeToTask", obj{"id": newID()}, version("99.0"))
	defer st.close()
	t.must(st.is(a2a.VersionNotSupportedError), "A2A-Version: 99.0")
}

// A client that is refused can only go on if it knows what to ask for.
func versionNames(t *trial) {
	r := t.on.call("GetTask", obj{"id": newID()}, version("99.0"))
	if r.is(a2a.VersionNotSupportedError) != "" {
		t.na("it is not refused with VersionNotSupportedError: see version.unsupported")
	}
	said := r.err.message + string(encode(r.err.details))
	for _, one := range t.card.Interfaces {
		if one.ProtocolBinding == t.on.binding && strings.Contains(said, one.ProtocolVersion) {
			return
		}
	}
	t.fail("neither the message nor the details name a supported version: %s", r.err)
}
