package validate

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// outline is the members of an object, by folded name: enough to tell what it is.
type outline map[string]entry

type entry struct {
	name  string // as it is written
	at    int    // where the name begins
	value jsontext.Value
}

// sketch reads the outline of a document as far as it is JSON; nil if it is no object.
func sketch(text []byte) outline {
	w := newWalker(text, "", nil)
	if w.in.PeekKind() != '{' {
		return nil
	}
	w.in.ReadToken()
	all := outline{}
	for w.in.PeekKind() == '"' {
		at := w.start()
		t, err := w.in.ReadToken()
		if err != nil {
			break
		}
		name := t.String()
		from := w.start()
		if w.in.SkipValue() != nil {
			break
		}
		if _, twice := all[fold(name)]; !twice {
			all[fold(name)] = entry{name, at, jsontext.Value(text[from:w.in.InputOffset()])}
		}
	}
	return all
}

// has reports whether one of these names is there.
func (o outline) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, ok := o[fold(name)]; return ok })
}

// holds reports whether the member is there and of that kind.
func (o outline) holds(name string, k jsontext.Kind) bool {
	e, ok := o[fold(name)]
	return ok && e.value.Kind() == k
}

// text is the member's value if that is a string.
func (o outline) text(name string) string {
	e, ok := o[fold(name)]
	if !ok || e.value.Kind() != '"' {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, e.value)
	if err != nil {
		return ""
	}
	return string(b)
}

// rpc reports whether the object is a JSON-RPC envelope, be it an incomplete one.
func (o outline) rpc() bool {
	return o.has("jsonrpc") || o.has("method") && o.has("params", "id") || o.has("id") && o.has("result", "error")
}

// telling are members that only one definition has, or that tell it from others. The first
// row that fits decides.
var telling = []struct {
	def  string
	any  []string          // one of these is there
	also map[string]string // and these are, of these kinds
}{
	{"StreamResponse", []string{"statusUpdate", "artifactUpdate"}, nil},
	{"HTTPError", []string{"error"}, map[string]string{"error": "{"}},
	{"SendMessageRequest", []string{"configuration"}, map[string]string{"message": "{"}},
	{"SendMessageResponse", []string{"task"}, map[string]string{"task": "{"}},
	{"AgentCard", []string{"supportedInterfaces", "skills", "capabilities", "defaultInputModes", "defaultOutputModes", "preferredTransport"}, nil},
	{"ListTasksResponse", []string{"tasks", "totalSize"}, nil},
	{"ListTaskPushNotificationConfigsResponse", []string{"configs"}, nil},
	{"TaskArtifactUpdateEvent", []string{"artifact"}, nil},
	{"TaskStatusUpdateEvent", []string{"taskId", "final"}, map[string]string{"status": "{"}},
	{"Artifact", []string{"artifactId"}, nil},
	{"Message", []string{"messageId"}, nil},
	{"Message", []string{"role"}, map[string]string{"parts": "["}},
	{"Task", []string{"history", "artifacts"}, nil},
	{"Task", []string{"id", "contextId"}, map[string]string{"status": "{"}},
	{"TaskPushNotificationConfig", []string{"token", "authentication"}, map[string]string{"url": "\""}},
	{"Part", []string{"text", "raw", "data", "file"}, nil},
	{"Part", []string{"mediaType", "filename"}, map[string]string{"url": "\""}},
	{"TaskStatus", []string{"state"}, nil},
}

// old are the kinds of 0.3.
var old = map[string]string{
	"task": "Task", "message": "Message", "status-update": "TaskStatusUpdateEvent", "artifact-update": "TaskArtifactUpdateEvent",
	"text": "Part", "file": "Part", "data": "Part",
}

// recognise tells the definition by the shape, and by what it did; "" if it could be several.
// If as is not nil, only what it names may stand there, and counts as what as says.
func recognise(o outline, as map[string]string) (def, by string) {
	if def, ok := old[o.text("kind")]; ok && (as == nil || as[def] != "") {
		return cmp.Or(as[def], def), "its kind"
	}
rows:
	for _, row := range telling {
		if as != nil && as[row.def] == "" {
			continue
		}
		for name, k := range row.also {
			if !o.holds(name, jsontext.Kind(k[0])) {
				continue rows
			}
		}
		for _, name := range row.any {
			if o.has(name) {
				return cmp.Or(as[row.def], row.def), "its member " + o[fold(name)].name
			}
		}
	}
	if o.holds("message", '{') {
		if as != nil {
			return "SendMessageResponse", "its member message"
		}
		return aboutMessage(sketch(o["message"].value))
	}
	return fitting(o, as)
}

// aboutMessage tells a request from a response by who speaks: both may hold nothing else.
func aboutMessage(m outline) (def, by string) {
	if strings.Contains(strings.ToLower(m.text("role")), "agent") {
		return "SendMessageResponse", "its member message, of an agent"
	}
	return "SendMessageRequest", "its member message"
}

// fitting is the one definition that has all these members, or of several such the one
// whose required members are all there.
func fitting(o outline, as map[string]string) (def, by string) {
	var all, whole []string
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		n := definitions[name]
		if as != nil && as[name] != name {
			continue
		}
		if n.kind != kindObject || len(o) == 0 || slices.ContainsFunc(slices.Collect(maps.Keys(o)), func(name string) bool { return n.near(name) == "" }) {
			continue
		}
		all = append(all, name)
		if !slices.ContainsFunc(n.required, func(name string) bool { return !o.has(name) }) {
			whole = append(whole, name)
		}
	}
	switch {
	case len(all) == 1:
		return all[0], "its members"
	case len(whole) == 1:
		return whole[0], "its members"
	}
	return "", strings.Join(all, ", ")
}

// sender is who sends documents of a definition; of a message it depends on the role.
func sender(def string, o outline) Sender {
	switch {
	case strings.HasSuffix(def, "Request"), def == "SendMessageConfiguration", def == "TaskPushNotificationConfig", def == "AuthenticationInfo",
		def == "Message" && strings.Contains(strings.ToLower(o.text("role")), "user"):
		return Client
	}
	return Server
}

// offsetOf is where the value at a pointer begins, or the innermost one that is there.
func offsetOf(text []byte, pointer string) int {
	w := newWalker(text, "", nil)
	at := w.start()
	for _, step := range strings.Split(pointer, "/")[1:] {
		if !w.descend(unescape.Replace(step)) {
			break
		}
		at = w.start()
	}
	return at
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// descend moves to a member, in whatever spelling, or to an element.
func (w *walker) descend(step string) bool {
	t, err := w.in.ReadToken()
	if err != nil {
		return false
	}
	switch t.Kind() {
	case '{':
		for w.in.PeekKind() == '"' {
			if t, err = w.in.ReadToken(); err != nil || fold(t.String()) == fold(step) {
				return err == nil
			}
			if w.in.SkipValue() != nil {
				return false
			}
		}
	case '[':
		i, err := strconv.Atoi(step)
		for ; i > 0 && err == nil; i-- {
			err = w.in.SkipValue()
		}
		return err == nil
	}
	return false
}
