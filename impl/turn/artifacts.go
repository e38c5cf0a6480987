package turn

import (
	"fmt"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// toolResult publishes the result of a tool as an artifact of its own, and the files
// that it reports.
func (b *batch) toolResult(e event.ToolResult) {
	b.telemetryToolResult(e)
	id := b.r.in.TaskID + "-tool-" + idPiece(e.CallID)
	if e.CallID == "" {
		id = fmt.Sprintf("%s-tool-seq-%d", b.r.in.TaskID, b.r.mapping.toolSeq)
		b.r.mapping.toolSeq++
	}
	id = b.r.mapping.unused(id)
	limit := b.r.e.Artifacts.MaxToolOutputBytes
	// What failed is told by the metadata; the text is all that there is to read.
	text := clean(e.Output)
	if e.Error != "" {
		text = strings.TrimPrefix(text+"\n"+clean(e.Error), "\n")
	}
	text, shortened := abridged(text, limit)
	var data []a2a.Part
	if e.Structured != nil && accepts(b.r.modes, textJSON) {
		switch {
		case !e.Structured.IsValid():
			b.invalid("a tool result whose structured output is not JSON", nil)
			return
		case limit > 0 && len(e.Structured) > limit:
			text += fmt.Sprintf("\n[truncated: structured output of %d bytes left out]", len(e.Structured))
			shortened = true
		default:
			data = append(data, a2a.Part{Data: e.Structured, MediaType: textJSON})
		}
	}
	meta := map[string]any{"nexus.tool.name": clean(e.Name), "nexus.tool.callId": clean(e.CallID)}
	if e.Error != "" {
		meta["nexus.tool.failed"] = true
	}
	if shortened {
		meta["nexus.artifact.truncated"] = true
	}
	b.extra(&a2a.Artifact{
		ArtifactID: id, Name: clean(e.Name), Metadata: object(meta),
		Parts: append([]a2a.Part{{Text: &text}}, data...),
	}, false, true)
	b.reportedFiles(e)
}

// unused is an id for another artifact: agents' call ids are not always unique, and an
// artifact of a known id would replace the one before.
func (m *mapping) unused(id string) string {
	for base := id; ; id = fmt.Sprintf("%s-%d", base, m.repeats[base]+1) {
		if _, taken := m.artifacts[id]; !taken {
			return id
		}
		m.repeats[base]++
	}
}

// abridged is a text of at most limit bytes and a note of what is missing. 0 is no bound.
func abridged(text string, limit int) (string, bool) {
	if limit <= 0 || len(text) <= limit {
		return text, false
	}
	kept, _ := cut(text, limit)
	return kept + "\n" + truncated(len(kept), len(text)), true
}

// idPiece keeps an agent's id as it is where it can be a part of another id.
func idPiece(s string) string {
	if len(s) > 96 || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == '\uFFFD' }) {
		return hashed(s)
	}
	return s
}

// agentArtifact publishes an artifact that the agent made itself. A chunk that continues
// nothing begins an artifact, one that comes after the last still continues it: nothing
// that was said is lost, and the log tells.
func (b *batch) agentArtifact(e event.Artifact) {
	a := e.Artifact
	if a.ArtifactID == "" {
		b.invalid("an artifact without an id", nil)
		return
	}
	err := checkParts(a.Parts)
	if err == nil {
		err = checkObject(a.Metadata)
	}
	if err != nil {
		b.invalid("an artifact that is not valid", err)
		return
	}
	a.Parts = fit(a.Parts, b.r.modes)
	complete, known := b.r.mapping.artifacts[a.ArtifactID]
	answer := a.ArtifactID == b.r.mapping.response.id
	known = known || answer && b.r.mapping.response.open // begun, but for what had no room
	more := e.Append
	if more && (!known || complete) && !b.r.mapping.cutOff[a.ArtifactID] {
		b.r.e.Logger.Warn("a chunk continues no open artifact", "task", b.rec.ID,
			"artifact", a.ArtifactID, "known", known, "complete", complete)
		more = known
	}
	if !answer {
		b.extra(&a, more, e.LastChunk)
		return
	}
	b.ownAnswer(&a, more, e.LastChunk)
}

// ownAnswer publishes the answer, or a chunk of it, as the agent made it.
func (b *batch) ownAnswer(a *a2a.Artifact, more, last bool) {
	s := &b.r.mapping.response
	if more {
		b.publishText()
	} else {
		*s = response{id: s.id}
	}
	s.closed, s.open = true, !last
	a.Parts = b.room(a.Parts, last)
	if len(a.Parts) == 0 {
		return // its end tells that it is missing
	}
	if last && s.dropped > 0 {
		a.Metadata = withTrue(a.Metadata, "nexus.artifact.truncated")
	}
	b.r.mapping.artifacts[a.ArtifactID] = last
	b.artifact(a, s.chunks > 0, last)
	s.chunks++
}

// withTrue sets a member of an agent's metadata, which is known to be an object.
func withTrue(meta a2a.Struct, name string) a2a.Struct {
	members := map[string]any{}
	var agents map[string]jsontext.Value
	if json.Unmarshal(meta, &agents) == nil {
		for k, v := range agents {
			members[k] = v
		}
	}
	members[name] = true
	return object(members)
}

// extra publishes an artifact other than the answer, while the task has room for it
// (artifacts.max_task_bytes). One that began and does not fit ends with a note, so that
// its later chunks leave no gap; what is left out altogether is counted.
func (b *batch) extra(a *a2a.Artifact, more, last bool) {
	m := &b.r.mapping
	size := partBytes(a.Parts) + len(a.Name) + len(a.Description) + len(a.Metadata)
	limit := b.r.e.Artifacts.MaxTaskBytes
	switch {
	case more && m.cutOff[a.ArtifactID]:
		return
	case limit <= 0 || m.spent+size <= limit:
		delete(m.cutOff, a.ArtifactID)
		m.spent += size
		m.artifacts[a.ArtifactID] = last
		b.artifact(a, more, last)
	case more:
		m.cutOff[a.ArtifactID] = true
		m.artifacts[a.ArtifactID] = true
		note := fmt.Sprintf("[truncated: a task may publish %d bytes besides its answer]", limit)
		b.artifact(&a2a.Artifact{
			ArtifactID: a.ArtifactID, Parts: []a2a.Part{{Text: &note}},
			Metadata: object(map[string]any{"nexus.artifact.truncated": true}),
		}, true, true)
	default:
		m.cutOff[a.ArtifactID] = true
		m.withheld++
	}
}

// truncationNotice says, at the end of a turn, how many artifacts were left out.
func (b *batch) truncationNotice() {
	m := &b.r.mapping
	if m.withheld == 0 {
		return
	}
	text := fmt.Sprintf("[left out: %d artifacts; a task may publish %d bytes besides its answer]",
		m.withheld, b.r.e.Artifacts.MaxTaskBytes)
	b.artifact(&a2a.Artifact{
		ArtifactID: b.r.in.TaskID + "-artifacts-truncated", Parts: []a2a.Part{{Text: &text}},
		Metadata: object(map[string]any{"nexus.artifact.suppressedCount": m.withheld}),
	}, false, true)
	m.withheld = 0
}
