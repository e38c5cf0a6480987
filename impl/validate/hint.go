package validate

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// leftovers are members of version 0.3 that 1.0 does not know, with what to do about them.
// The definition * stands for all.
var leftovers = map[string]string{
	"*.kind": "leave it out: the member that is set says what an object is",

	"Part.type":          "leave it out: the member that is set says what a part is",
	"Part.file":          "put the file's content into raw, or its address into url, beside filename and mediaType",
	"Part.mimeType":      "the name is mediaType",
	"Part.name":          "the name is filename",
	"Part.bytes":         "the name is raw",
	"Part.fileWithBytes": "the name is raw",
	"Part.uri":           "the name is url",
	"Part.fileWithUri":   "the name is url",

	"TaskStatusUpdateEvent.final":                       "leave it out: a stream ends with a terminal state",
	"SendMessageConfiguration.blocking":                 "the name is returnImmediately, and it means the opposite",
	"SendMessageConfiguration.pushNotificationConfig":   "the name is taskPushNotificationConfig",
	"AuthenticationInfo.schemes":                        "the name is scheme, a single one",
	"TaskPushNotificationConfig.pushNotificationConfig": "put its members into the object itself",

	"AgentInterface.transport": "the name is protocolBinding",

	"SecurityScheme.type":             "wrap the scheme: {\"httpAuthSecurityScheme\": {…}}, or apiKey…, oauth2…, openIdConnect… or mtlsSecurityScheme",
	"SecurityScheme.scheme":           "put it into httpAuthSecurityScheme",
	"SecurityScheme.bearerFormat":     "put it into httpAuthSecurityScheme",
	"SecurityScheme.in":               "put it into apiKeySecurityScheme, under the name location",
	"SecurityScheme.flows":            "put it into oauth2SecurityScheme",
	"SecurityScheme.openIdConnectUrl": "put it into openIdConnectSecurityScheme",
	"APIKeySecurityScheme.in":         "the name is location",
}

// oldCard are members of a 0.3 card. A card may have them for clients of that version, so
// they are no errors.
var oldCard = map[string]string{
	"AgentCard.url":                               "1.0 has supportedInterfaces",
	"AgentCard.protocolVersion":                   "1.0 has supportedInterfaces, each with its version",
	"AgentCard.preferredTransport":                "1.0 has supportedInterfaces, preferred first",
	"AgentCard.additionalInterfaces":              "1.0 has supportedInterfaces",
	"AgentCard.security":                          "1.0 has securityRequirements",
	"AgentCard.supportsAuthenticatedExtendedCard": "1.0 has capabilities.extendedAgentCard",
	"AgentCard.supportsExtendedAgentCard":         "1.0 has capabilities.extendedAgentCard",
	"AgentCapabilities.stateTransitionHistory":    "1.0 has nothing in its place",
	"AgentSkill.security":                         "1.0 has securityRequirements",
}

// unknown reports a member that the definition does not have.
func (w *walker) unknown(n *node, name string, at int) {
	p := problem{rule: "unknown", offset: at, pointer: string(w.path), expected: "a member of " + n.def}
	if text, ok := oldCard[n.def+"."+name]; ok {
		p.rule, p.expected, p.hint = "v03.card", "no member of version 0.3", text
	} else if text, ok := leftover(n.def, name); ok {
		p.rule, p.expected, p.hint = "v03", "no member of version 0.3", text
	} else if near := n.near(name); near != "" {
		p.rule, p.expected = "name.case", fmt.Sprintf("%q", near)
		p.hint = "readers skip the name as it is written"
	}
	w.report(p)
}

func leftover(def, name string) (string, bool) {
	text, ok := leftovers[def+"."+name]
	if !ok {
		text, ok = leftovers["*."+name]
	}
	return text, ok
}

// near is the member whose name differs in case and word breaks only, or "".
func (n *node) near(name string) string {
	for _, m := range n.members {
		if fold(m.name) == fold(name) {
			return m.name
		}
	}
	return ""
}

// folded holds the names of the schema, which are folded again and again.
var folded = func() map[string]string {
	all := map[string]string{}
	for _, n := range definitions {
		for name := range n.members {
			all[name] = plainly(name)
		}
	}
	return all
}()

// fold takes case and word breaks out of a name.
func fold(name string) string {
	if f, ok := folded[name]; ok {
		return f
	}
	return plainly(name)
}

func plainly(name string) string {
	b := make([]byte, 0, len(name))
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_', c == '-':
		case 'A' <= c && c <= 'Z':
			b = append(b, c-'A'+'a')
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// enumHint finds the name that was meant: completed, input-required, Cancelled.
func enumHint(names []string, s string) string {
	short := strings.ToUpper(strings.ReplaceAll(strings.ReplaceAll(s, "-", "_"), " ", "_"))
	short = strings.Replace(short, "CANCELLED", "CANCELED", 1)
	for _, name := range names {
		if name == short || strings.HasSuffix(name, "_"+short) && short != "REQUIRED" {
			return "write " + name
		}
	}
	return ""
}

func mismatchHint(n *node, k jsontext.Kind) string {
	switch {
	case n.def == "StringList" && n.kind == kindObject && k == '[':
		return "write {\"list\": […]}"
	case n.def == "Part" && n.kind == kindObject && k == '"':
		return "write {\"text\": …}"
	case n.kind == kindTime && k == '0':
		return "numbers of seconds are not read: write the time out"
	case n.kind == kindString && (k == '0' || k == 't' || k == 'f'):
		return "write it in quotes"
	case n.def == "TaskStatus" && n.kind == kindObject && k == '"':
		return "write {\"state\": …}"
	}
	return ""
}

func nullHint(m *member) string {
	switch {
	case m.kind == kindArray && m.nonEmpty:
		return "null counts as absent: send an array with at least one element"
	case m.kind == kindArray:
		return "null counts as absent: send [] or leave it out"
	}
	return "null counts as absent"
}

var missing = map[string]string{
	"Message.messageId":               "the sender makes one up, such as a UUID",
	"AgentCard.supportedInterfaces":   "write [{\"url\": …, \"protocolBinding\": \"JSONRPC\", \"protocolVersion\": \"1.0\"}]",
	"ListTasksResponse.nextPageToken": "write \"\" where there are no more pages",
	"ListTasksResponse.tasks":         "write [] where there are none",
	"AgentCard.capabilities":          "write {} where there are none",
}

func missingHint(def, name string) string { return missing[def+"."+name] }

func oneofHint(def string) string {
	switch def {
	case "SendMessageResponse", "StreamResponse":
		return "wrap the object in a member that says what it is: {\"task\": {…}}"
	case "Part":
		return "an empty text is {\"text\": \"\"}; a file has raw or url"
	case "SecurityScheme":
		return "wrap the scheme: {\"httpAuthSecurityScheme\": {…}}"
	}
	return ""
}

// timeHint looks for the forms that libraries write by default.
func timeHint(s string) string {
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return "write " + t.UTC().Format("2006-01-02T15:04:05.000Z") + ", if the time is in UTC"
		}
	}
	return ""
}
