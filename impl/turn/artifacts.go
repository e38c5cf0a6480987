package turn

import (
	"fmt"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
)

// toolResult publishes the result of a tool as an artifact of its own, and the files
// that it reports.
func (b *batch) toolResult(e event.ToolResult) {
	id := b.r.in.TaskID + "-tool-" + idPiece(e.CallID)
	if e.CallID == "" {
		id = fmt.Sprintf("%s-tool-seq-%d", b.r.in.TaskID, b.r.mapping.toolSeq)
		b.r.mapping.toolSeq++
	}
	limit := b.r.e.Artifacts.MaxToolOutputBytes
	text, shortened := e.Output, false
	// What failed is told by the metadata; the text is whatever there is to read.
	if e.Error != "" && text == "" {
		text = e.Error
	}
	text = clean(text)
	if limit > 0 && len(text) > limit {
		kept, _ := cut(text, limit)
		text, shortened = fmt.Sprintf("%s\n[truncated: %d of %d bytes shown]", kept, len(kept), len(text)), true
	}
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

// idPiece keeps an agent's id as it is where it can be a part of another id.
func idPiece(s string) string {
	if len(s) > 96 || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == '\uFFFD' }) {
		return hashed(s)
	}
	return s
}

// agentArtifact publishes an artifact that the agent made itself. One that continues
// nothing, or what was complete, begins anew: nothing said is lost, and the log tells.
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
	more := e.Append
	if more && (!known || complete) && !b.r.mapping.cutOff[a.ArtifactID] {
		b.r.e.Logger.Warn("a chunk continues no open artifact; it begins one", "task", b.rec.ID,
			"artifact", a.ArtifactID, "known", known, "complete", complete)
		more = false
	}
	if a.ArtifactID != b.r.mapping.response.id {
		b.extra(&a, more, e.LastChunk)
		return
	}
	b.publishHeld() // the agent makes the answer itself
	s := &b.r.mapping.response
	s.closed = true
	s.chunks++
	b.r.mapping.artifacts[a.ArtifactID] = e.LastChunk
	b.artifact(&a, more, e.LastChunk)
}

// extra publishes an artifact other than the answer, while the task has room for it
// (artifacts.max_task_bytes). One that began and does not fit ends with a note, so that
// its later chunks leave no gap; what is left out altogether is counted.
func (b *batch) extra(a *a2a.Artifact, more, last bool) {
	m := &b.r.mapping
	size := partBytes(a.Parts)
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
