package turn

import (
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	textPlain = "text/plain"
	textJSON  = "application/json"
	bytesType = "application/octet-stream"
)

// checkModes refuses what the agent cannot read, and requests that accept nothing that
// it can write (A2A §3.3.2, decisions 25 and 29). Text of any kind can be read as plain
// text, by the agent and by the client.
func (e *Engine) checkModes(in Input) error {
	for i, p := range in.Message.Parts {
		for _, t := range mediaTypes(p) {
			if p.Text != nil && isText(t) && accepts(e.agent.InputModes, textPlain) {
				continue
			}
			if !accepts(e.agent.InputModes, t) {
				return a2a.ContentTypeNotSupportedError.Errorf("The agent does not read %s", t).
					With("field", fmt.Sprintf("message.parts[%d]", i)).With("mediaType", t)
			}
		}
	}
	// Without a list the client takes anything; an agent without one may write anything.
	if len(in.AcceptedOutputModes) == 0 || len(e.agent.OutputModes) == 0 {
		return nil
	}
	// What an agent that writes text says comes as text first, and so do all notes.
	if accepts(e.agent.OutputModes, textPlain) {
		if slices.ContainsFunc(in.AcceptedOutputModes, isText) || accepts(in.AcceptedOutputModes, textPlain) {
			return nil
		}
	} else if slices.ContainsFunc(e.agent.OutputModes, func(t string) bool { return accepts(in.AcceptedOutputModes, t) }) {
		return nil
	}
	return a2a.ContentTypeNotSupportedError.Errorf("The agent writes none of the accepted output modes; it writes %s",
		strings.Join(e.agent.OutputModes, ", ")).With("field", "configuration.acceptedOutputModes")
}

// mediaTypes are the types that a part is said to have: its own, or what follows from
// its content, and one named in its metadata, as some clients do.
func mediaTypes(p a2a.Part) []string {
	t := p.MediaType
	switch {
	case t != "":
	case p.Text != nil:
		t = textPlain
	case p.Data != nil:
		t = textJSON
	default:
		t = bytesType
	}
	types := []string{t}
	var named struct {
		ContentType jsontext.Value `json:"contentType"`
	}
	if p.Metadata != nil && json.Unmarshal(p.Metadata, &named) == nil && named.ContentType.Kind() == '"' {
		var s string
		if json.Unmarshal(named.ContentType, &s) == nil && s != "" {
			types = append(types, s)
		}
	}
	return types
}

// accepts reports whether one of modes covers the media type. Parameters do not matter,
// "*/*" and "image/*" cover what they say, and no modes at all cover everything.
func accepts(modes []string, mediaType string) bool {
	if len(modes) == 0 {
		return true
	}
	t := bareType(mediaType)
	major, minor, _ := strings.Cut(t, "/")
	for _, m := range modes {
		mMajor, mMinor, _ := strings.Cut(bareType(m), "/")
		if (mMajor == "*" || mMajor == major || major == "*") && (mMinor == "*" || mMinor == minor || minor == "*") {
			return true
		}
	}
	return false
}

func isText(mediaType string) bool { return strings.HasPrefix(bareType(mediaType), "text/") }

// acceptsBytes reports whether a file of the media type may be sent with its content.
// Where all modes are text it may not, not even a text file.
func acceptsBytes(modes []string, mediaType string) bool {
	textOnly := len(modes) > 0 && !slices.ContainsFunc(modes, func(m string) bool { return !isText(m) })
	return !textOnly && accepts(modes, mediaType)
}

// bareType is a media type in lower case, without parameters; of what is none, the
// best guess.
func bareType(s string) string {
	if t, _, err := mime.ParseMediaType(s); err == nil {
		return t
	}
	s, _, _ = strings.Cut(s, ";")
	return strings.ToLower(strings.TrimSpace(s))
}

// checkParts says what is wrong with parts that an agent made (A2A §4.1.6).
func checkParts(parts []a2a.Part) error {
	if len(parts) == 0 {
		return errors.New("there are no parts")
	}
	for i, p := range parts {
		n := 0
		for _, set := range []bool{p.Text != nil, p.Raw != nil, p.URL != nil, p.Data != nil} {
			if set {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("parts[%d] must have exactly one of text, raw, url and data", i)
		}
		if p.Data != nil && !p.Data.IsValid() {
			return fmt.Errorf("parts[%d].data is not JSON", i)
		}
		if err := checkObject(p.Metadata); err != nil {
			return fmt.Errorf("parts[%d].metadata %w", i, err)
		}
	}
	return nil
}

// checkObject says what is wrong with metadata that an agent made.
func checkObject(v a2a.Struct) error {
	if v != nil && (!v.IsValid() || v.Kind() != '{') {
		return errors.New("is not a JSON object")
	}
	return nil
}
