package check

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Answers are read with patience: a wrong member must not keep the other checks from
// seeing the rest. These functions give the zero value for what is not there.

type obj = map[string]any

func object(v any) obj  { m, _ := v.(obj); return m }
func list(v any) []any  { l, _ := v.([]any); return l }
func text(v any) string { s, _ := v.(string); return s }

func has(m obj, name string) bool { _, there := m[name]; return there }

// parse reads any JSON, or gives nil. Who gives a name twice is told by another check.
func parse(b []byte) any {
	var v any
	if json.Unmarshal(b, &v, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	return v
}

// encode writes a document with its members in order.
func encode(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic("check: " + err.Error()) // all documents are our own maps
	}
	return b
}

// task is what is used of a Task.
type task struct {
	ID, Context string
	State       a2a.TaskState
	Time        string // of the status, as it was sent
	Said        string // text of the status message
	HasMessage  bool
	Artifacts   []artifact
	History     []any
	Members     obj
}

type artifact struct {
	ID   string
	Text string
}

func readTask(v any) *task {
	m, ok := v.(obj)
	if !ok {
		return nil
	}
	status := object(m["status"])
	t := &task{
		ID: text(m["id"]), Context: text(m["contextId"]), State: a2a.TaskState(text(status["state"])), Time: text(status["timestamp"]),
		Said: words(status["message"]), HasMessage: status["message"] != nil, History: list(m["history"]), Members: m,
	}
	for _, a := range list(m["artifacts"]) {
		t.Artifacts = append(t.Artifacts, artifact{text(object(a)["artifactId"]), words(a)})
	}
	return t
}

// words are the texts of a message's or an artifact's parts, one after the other.
func words(v any) string {
	var b strings.Builder
	for _, p := range list(object(v)["parts"]) {
		b.WriteString(text(object(p)["text"]))
	}
	return b.String()
}

// sent is what became of a message.
type sent struct {
	*reply
	task    *task
	message obj
}

// when reads a timestamp; the zero time is one that cannot be read.
func when(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// same compares two documents, whatever the order of their members.
func same(a, b any) bool { return string(encode(a)) == string(encode(b)) }

// difference names the first members in which two objects differ.
func difference(a, b obj) string {
	var out []string
	for name := range a {
		if !same(a[name], b[name]) {
			out = append(out, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

// names of a map for a sentence.
func names[K cmp.Ordered, V any](m map[K]V) (out []K) {
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// ordered walks a map by its names, so that two runs do the same in the same order.
func ordered[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range names(m) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

// member is the text of a member of an object as it was written.
func member(doc []byte, name string) ([]byte, bool) {
	var m map[string]jsontext.Value
	if json.Unmarshal(doc, &m, jsontext.AllowDuplicateNames(true)) != nil {
		return nil, false
	}
	v, ok := m[name]
	return v, ok
}
