package turn

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// response is the answer's artifact while it is being made.
type response struct {
	id      string
	said    strings.Builder // the text so far, published or held; no more than MaxAnswerBytes
	held    strings.Builder // the end of said that no chunk has carried yet
	rest    string          // the first bytes of a character whose others are still to come
	chunks  int             // published
	size    int             // bytes of the parts that the agent made itself
	dropped int             // bytes beyond MaxAnswerBytes
	closed  bool            // the last chunk is out: what follows is another answer
	open    bool            // the agent makes the answer itself, and more chunks of it may follow
}

func (s *response) begun() bool { return s.chunks > 0 || s.held.Len() > 0 }

// holdUntil is how much text, in bytes, a chunk carries at least once a task's frames
// fill half of their room.
const holdUntil = 1 << 10

// output takes an answer that has passed the agent's gates. Only what the assistant says
// in the bound turn is one (decision 22).
func (b *batch) output(e event.Output) {
	b.r.mapping.outputs = true
	if e.Role != "assistant" && e.Role != "" {
		return
	}
	if len(e.Parts) > 0 {
		b.answerParts(e.Parts)
		return
	}
	b.answerText(e.Content)
}

// outputDelta takes the next piece of an answer. Pieces become a chunk at the end of
// the batch, so that an agent that outruns the store makes few large ones.
func (b *batch) outputDelta(e event.OutputDelta) {
	s := &b.r.mapping.response
	if s.closed {
		*s = response{id: s.id}
	}
	text := s.rest + e.Text
	n := len(text) - incomplete(text)
	s.rest = text[n:]
	b.addText(clean(text[:n]))
}

// addText adds to the answer what the bound leaves room for.
func (b *batch) addText(text string) {
	s := &b.r.mapping.response
	if limit := b.r.e.Artifacts.MaxAnswerBytes; limit > 0 {
		kept, over := cut(text, limit-s.said.Len())
		if s.dropped > 0 {
			kept, over = "", true
		}
		if over {
			s.dropped += len(text) - len(kept)
		}
		text = kept
	}
	s.said.WriteString(text)
	s.held.WriteString(text)
}

// publishHeld sends what has gathered as a chunk, unless the frame log is half full and
// it is not worth one.
func (b *batch) publishHeld() {
	if b.r.logBytes+b.bytes() > b.r.e.MaxLogBytes/2 && b.r.mapping.response.held.Len() < holdUntil {
		return
	}
	b.publishText()
}

// publishText sends what has gathered, however little it is.
func (b *batch) publishText() {
	s := &b.r.mapping.response
	if s.held.Len() == 0 || s.closed {
		return
	}
	text := s.held.String()
	s.held.Reset()
	b.responseChunk([]a2a.Part{{Text: &text}}, s.chunks > 0, false)
}

// flush completes what a turn publishes: an answer that came in pieces only gets its
// last, and what was left out is told.
func (b *batch) flush() {
	b.truncationNotice()
	s := &b.r.mapping.response
	if s.open && s.dropped > 0 {
		b.responseChunk([]a2a.Part{s.note()}, s.chunks > 0, true)
		s.open = false
	}
	if s.closed || s.rest == "" && !s.begun() {
		return
	}
	b.addText(clean(s.rest))
	s.rest = ""
	b.closeResponse()
}

// answerText takes the whole text of an answer. Pieces of it that are out already are
// not repeated; a text that differs from them replaces them.
func (b *batch) answerText(text string) {
	s := &b.r.mapping.response
	text = clean(text)
	if text == "" && !s.begun() {
		s.rest = ""
		return
	}
	said := s.said.String()
	// A gate may have changed the text after its pieces went out: the gated one counts.
	if s.closed || !strings.HasPrefix(text, said) {
		*s = response{id: s.id}
		b.addText(text)
		b.closeResponse()
		return
	}
	s.rest, s.dropped = "", 0
	b.addText(text[len(said):])
	b.closeResponse()
}

// closeResponse publishes the answer's last chunk: what is held, and the document that
// the text is.
func (b *batch) closeResponse() {
	s := &b.r.mapping.response
	text := s.held.String()
	if s.dropped > 0 {
		text += "\n" + truncated(s.said.Len(), s.said.Len()+s.dropped)
	}
	s.held.Reset()
	var parts []a2a.Part
	if text != "" || s.chunks == 0 {
		parts = append(parts, a2a.Part{Text: &text})
	}
	if s.dropped == 0 {
		if doc, ok := document(s.said.String()); ok && accepts(b.r.modes, textJSON) {
			parts = append(parts, a2a.Part{Data: doc, MediaType: textJSON})
		}
	}
	if len(parts) == 0 { // all is out: a chunk has to have a part (A2A §4.1.7)
		parts = append(parts, a2a.Part{Text: &text})
	}
	s.closed = true
	b.responseChunk(parts, s.chunks > 0, true)
}

// answerParts takes an answer that is not only text.
func (b *batch) answerParts(parts []a2a.Part) {
	if err := checkParts(parts); err != nil {
		b.invalid("an answer that is not valid", err)
		return
	}
	s := &b.r.mapping.response
	*s = response{id: s.id, closed: true}
	b.responseChunk(b.room(fit(parts, b.r.modes), true), false, true)
}

// room keeps of the parts of an answer what MaxAnswerBytes leaves room for; the last
// ones end with a note of what is missing.
func (b *batch) room(parts []a2a.Part, last bool) []a2a.Part {
	s := &b.r.mapping.response
	if limit := b.r.e.Artifacts.MaxAnswerBytes; limit > 0 {
		left := limit - s.said.Len() - s.size
		if s.dropped > 0 {
			left = 0 // nothing that follows a gap
		}
		var over int
		parts, over = shorten(parts, left)
		s.dropped += over
	}
	s.size += partBytes(parts)
	if last && s.dropped > 0 {
		parts = append(parts, s.note())
	}
	return parts
}

// shorten keeps the first parts, of n bytes together: of a text its beginning, anything
// else whole or not at all. It returns how many bytes are left out.
func shorten(parts []a2a.Part, n int) (kept []a2a.Part, over int) {
	for _, p := range parts {
		size := partBytes([]a2a.Part{p})
		switch {
		case over > 0:
		case size <= n:
			kept = append(kept, p)
			n -= size
			continue
		case p.Text != nil:
			if text, _ := cut(*p.Text, n); text != "" {
				p.Text = &text
				kept = append(kept, p)
				size -= len(text)
			}
		}
		over += size
	}
	return kept, over
}

// note says what MaxAnswerBytes has cut from an answer in parts.
func (s *response) note() a2a.Part {
	shown := s.said.Len() + s.size
	text := truncated(shown, shown+s.dropped)
	return a2a.Part{Text: &text}
}

// truncated is how every cut shows.
func truncated(shown, total int) string {
	return fmt.Sprintf("[truncated: %d of %d bytes shown]", shown, total)
}

// responseChunk publishes a piece of the answer. The schema that the model was given goes
// with the last: only then is it known to be the last request's.
func (b *batch) responseChunk(parts []a2a.Part, more, last bool) {
	m := &b.r.mapping
	a := a2a.Artifact{ArtifactID: m.response.id, Parts: parts}
	meta := map[string]any{}
	if last && m.schema != "" {
		meta["nexus.output.schema"] = clean(m.schema)
	}
	if last && m.response.dropped > 0 {
		meta["nexus.artifact.truncated"] = true
	}
	if len(meta) > 0 {
		a.Metadata = object(meta)
	}
	m.response.chunks++
	m.artifacts[a.ArtifactID] = last
	b.artifact(&a, more, last)
}

// document returns the JSON object or array that a text is, by itself or as its one
// fenced block.
func document(text string) (jsontext.Value, bool) {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "```"); ok {
		lang, body, ok := strings.Cut(rest, "\n")
		body, closed := strings.CutSuffix(body, "```")
		if !ok || !closed || strings.Contains(body, "```") || strings.ContainsAny(strings.TrimSpace(lang), "{[ ") {
			return nil, false
		}
		text = strings.TrimSpace(body)
	}
	v := jsontext.Value(text)
	if k := v.Kind(); (k != '{' && k != '[') || !v.IsValid() {
		return nil, false
	}
	v = v.Clone()
	return v, v.Compact() == nil
}

// fit makes parts of what the agent made and the request accepts: documents become
// text, files become notes, where only text is wanted (decision 29).
func fit(parts []a2a.Part, modes []string) []a2a.Part {
	out := make([]a2a.Part, 0, len(parts))
	for _, p := range parts {
		types := mediaTypes(p)
		switch {
		case p.Text != nil:
			text := clean(*p.Text)
			p.Text = &text
		case p.Raw == nil && accepts(modes, types[0]), acceptsBytes(modes, types[0]):
		case p.Data != nil:
			text := string(p.Data)
			p = a2a.Part{Text: &text, Metadata: p.Metadata}
		default:
			text := fmt.Sprintf("[left out: %s, %s; the request does not accept it]", fileLabel(p), types[0])
			p = a2a.Part{Text: &text, Metadata: object(map[string]any{"nexus.artifact.omitted": true})}
		}
		out = append(out, p)
	}
	return out
}

// fileLabel names a file in a note.
func fileLabel(p a2a.Part) string {
	label := "a file"
	if p.Filename != "" {
		label = "file " + clean(p.Filename)
	}
	if p.Raw != nil {
		label += fmt.Sprintf(" of %d bytes", len(p.Raw))
	}
	if p.URL != nil {
		label += " at " + clean(*p.URL)
	}
	return label
}

// object encodes a metadata object of our own, which cannot fail.
func object(members map[string]any) a2a.Struct {
	doc, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return doc
}

// cut shortens s to at most n bytes, between characters. It reports whether it did.
func cut(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], true
}

// incomplete is how many bytes at the end of s begin a character that is not complete.
func incomplete(s string) int {
	for i := 1; i <= min(len(s), utf8.UTFMax-1); i++ {
		if c := s[len(s)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-i:]) {
				return i
			}
			return 0
		}
	}
	return 0
}
