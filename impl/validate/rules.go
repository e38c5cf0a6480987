package validate

// Level says how much a finding matters.
type Level string

// The levels. Only errors make a document invalid.
const (
	Off     Level = ""
	Warning Level = "warning"
	Error   Level = "error"
)

// Rule is one row of the table of rules.
type Rule struct {
	ID      string
	Section string // of the specification; "": that of the definition; "ours": the specification is silent
	Server  Level  // in what a server sends
	Client  Level  // in what a client sends
	Strict  Level  // of both, where Options.Strict is set
	Reader  bool   // a ProtoJSON reader refuses the document, too
	Text    string
}

// Rules lists all rules. Validity equals that of ProtoJSON's readers but for the errors whose
// Reader is false, and the warnings whose Reader is true.
var Rules = []Rule{
	{"json", "9.5", Error, Error, Error, true, "the text is JSON in UTF-8"},
	{"duplicate", "5.5", Error, Error, Error, true, "no object has a member twice, in either spelling"},
	{"depth", "ours", Warning, Warning, Warning, false, "nesting stays within what readers take, 256 levels"},
	{"unrecognised", "4", Error, Error, Error, false, "the document is of a type of the protocol"},

	{"type", "", Error, Error, Error, true, "the value is of the member's type"},
	{"required", "5.7", Error, Error, Error, false, "a required member is there; null is none"},
	{"empty", "5.7", Error, Error, Error, false, "a required string, array or object is not empty"},
	{"oneof.none", "", Error, Error, Error, false, "one of the alternatives is set"},
	{"oneof.many", "", Error, Error, Error, true, "only one of the alternatives is set"},
	{"enum", "", Error, Error, Error, true, "the name is one of the enum's"},
	{"enum.unspecified", "", Error, Error, Error, false, "the value is not the enum's UNSPECIFIED"},
	{"enum.undefined", "", Error, Error, Error, false, "the number is one of the enum's"},
	{"range", "", Error, Error, Error, false, "the number is within its bounds"},
	{"pattern", "", Error, Error, Error, false, "the string has the form that the section names"},
	{"base64", "", Error, Error, Error, true, "bytes are in base64"},
	// Our server keeps such a number as it is written; a google.protobuf.Value cannot.
	{"number", "", Warning, Warning, Error, true, "a number in free-form data fits into a double"},
	{"timestamp", "5.6.1", Error, Error, Error, true, "a time is in ISO 8601"},
	{"timestamp.offset", "5.6.1", Error, Error, Error, false, "a time is in UTC and ends in Z"},

	{"name.snake", "5.5", Error, Warning, Error, false, "names are in camelCase"},
	{"enum.number", "5.5", Error, Warning, Error, false, "enum values are names"},
	{"integer.form", "5.5", Error, Warning, Error, false, "integers are numbers without fraction and exponent"},
	{"base64.form", "5.5", Error, Warning, Error, false, "bytes are in the standard alphabet, with padding"},
	{"null", "5.5", Warning, Warning, Error, false, "a member without a value is left out"},
	{"null.array", "5.5", Error, Warning, Error, false, "an array or map is never null"},

	{"unknown", "5.7", Off, Off, Error, false, "the member is one of the definition's"},
	{"name.case", "5.5", Warning, Warning, Error, false, "names are in the exact case"},
	{"v03", "A.2.1", Error, Warning, Error, false, "nothing of version 0.3 is left"},
	{"v03.card", "A.2.2", Warning, Warning, Error, false, "no member of a 0.3 card is left"},

	{"rpc.version", "9.3", Error, Error, Error, false, "jsonrpc is \"2.0\""},
	{"rpc.id", "9.3", Error, Error, Error, false, "the id is a string, a whole number or null"},
	{"rpc.notification", "9.3", Warning, Warning, Error, false, "a request has an id"},
	{"rpc.method", "5.3", Warning, Warning, Error, false, "the method is one of the protocol's"},
	{"v03.method", "5.3", Error, Error, Error, false, "the method has its name of 1.0"},
	{"rpc.outcome", "9.5", Error, Error, Error, false, "a response has either a result or an error, and the result is no null"},
	{"error.reason", "5.4", Error, Error, Error, false, "an error's reason is one of the protocol's and fits its code"},
	{"list.order", "3.1.4", Error, Error, Error, false, "tasks are listed newest status first"},

	{"sse.cut", "11.7", Warning, Warning, Error, false, "each event of a stream ends with an empty line"},
	{"sse.event", "11.7", Warning, Warning, Error, false, "events have no name"},
	{"stream.first", "3.1.2", Error, Error, Error, false, "a stream begins with a task or a message"},
	{"stream.message", "3.1.2", Error, Error, Error, false, "a message is alone in its stream"},
	{"stream.task", "3.1.2", Error, Error, Error, false, "the task comes first, and again only as the last snapshot"},
	{"stream.ids", "4.2.1", Error, Error, Error, false, "all frames are about one task and one context"},
	{"stream.transition", "ours", Warning, Warning, Error, false, "the task's states follow each other as in the table of transitions"},
	{"stream.after-end", "3.1.2", Error, Error, Error, false, "nothing follows the terminal frame but one snapshot of the task"},
	{"stream.no-end", "3.1.2", Error, Error, Error, false, "a stream ends with a terminal or interrupted state"},
	{"stream.append", "4.2.2", Error, Error, Error, false, "what is appended to has been sent before"},
	{"stream.last-chunk", "4.2.2", Error, Error, Error, false, "nothing is appended after an artifact's last chunk"},
	{"stream.open-chunk", "4.2.2", Warning, Warning, Error, false, "an artifact in pieces has a last chunk"},
	{"stream.rpc-id", "9.4.2", Error, Error, Error, false, "all frames answer the same request"},
	{"stream.mixed", "9.4.2", Error, Error, Error, false, "all frames of a stream are wrapped in JSON-RPC, or none"},
}

var ruleByID = func() map[string]*Rule {
	m := make(map[string]*Rule, len(Rules))
	for i := range Rules {
		m[Rules[i].ID] = &Rules[i]
	}
	return m
}()

// level is how much a breach matters in what this sender sends.
func (r *Rule) level(from Sender, strict bool) Level {
	switch {
	case strict:
		return r.Strict
	case from == Client:
		return r.Client
	}
	return r.Server
}
