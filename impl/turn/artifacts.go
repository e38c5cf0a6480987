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
	if a.ArtifactID == b.r.mapping.response.id {
		b.publishHeld()
		b.r.mapping.response.closed = true
	}
	a.Parts = fit(a.Parts, b.r.modes)
	complete, known := b.r.mapping.artifacts[a.ArtifactID]
	more := e.Append
	if more && (!known || complete) {
		b.r.e.Logger.Warn("a chunk continues no open artifact; it begins one", "task", b.rec.ID,
			"artifact", a.ArtifactID, "known", known, "complete", complete)
		more = false
	}
	b.extra(&a, more, e.LastChunk)
}

// extra publishes an artifact other than the answer, while the task has room for it
// (artifacts.max_task_bytes). What is left out is counted in an artifact of its own.
func (b *batch) extra(a *a2a.Artifact, more, last bool) {
	m := &b.r.mapping
	size := 0
	for _, p := range a.Parts {
		size += len(p.Raw) + len(p.Data)
		if p.Text != nil {
			size += len(*p.Text)
		}
	}
	if limit := b.r.e.Artifacts.MaxTaskBytes; limit > 0 && m.spent+size > limit {
		m.withheld++
		b.truncationNotice(limit)
		return
	}
	m.spent += size
	m.artifacts[a.ArtifactID] = last
	b.artifact(a, more, last)
}

// truncationNotice says how many artifacts or chunks were left out so far.
func (b *batch) truncationNotice(limit int) {
	m := &b.r.mapping
	id := b.r.in.TaskID + "-artifacts-truncated"
	text := fmt.Sprintf("[left out: %d artifacts or chunks; a task may publish %d bytes besides its answer]", m.withheld, limit)
	m.artifacts[id] = true
	b.artifact(&a2a.Artifact{
		ArtifactID: id, Parts: []a2a.Part{{Text: &text}},
		Metadata: object(map[string]any{"nexus.artifact.suppressedCount": m.withheld}),
	}, false, true)
}
