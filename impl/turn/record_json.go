package turn

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"a2aserve/gen/a2a"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON encodes the task: id, contextId, status, artifacts, history. Artifacts are left
// out when there are none or they are not asked for (A2A §3.1.4), history when there is
// none or *history is 0; otherwise the last *history messages are given, all when
// history is nil (A2A §3.2.4). Documents are copied as they are: only an artifact that
// came in chunks is decoded, to be put together.
func (r Record) JSON(history *int32, artifacts bool) ([]byte, error) {
	var docs [][]byte
	if artifacts && len(r.Artifacts) > 0 {
		var err error
		if docs, err = mergeArtifacts(r.Artifacts); err != nil {
			return nil, err
		}
	}
	msgs := r.History
	if history != nil {
		msgs = msgs[len(msgs)-min(len(msgs), max(0, int(*history))):]
	}
	room := 128 + len(r.ID) + len(r.ContextID) + len(r.Status)
	b := make([]byte, 0, room+total(docs)+total(msgs))
	b = appendMember(append(b, '{'), "id", r.ID)
	b = appendMember(append(b, ','), "contextId", r.ContextID)
	b = append(b, `,"status":`...)
	b = append(b, r.Status...)
	if len(docs) > 0 {
		b = AppendArray(append(b, ','), "artifacts", docs)
	}
	if len(msgs) > 0 {
		b = AppendArray(append(b, ','), "history", msgs)
	}
	return append(b, '}'), nil
}

// appendMember writes "name":"value". Ids may hold any characters that clients chose.
func appendMember(b []byte, name, value string) []byte {
	b = append(append(append(b, '"'), name...), `":`...)
	out, err := jsontext.AppendQuote(b, value)
	if err != nil { // not UTF-8: AppendQuote has written replacement characters
		return out
	}
	return out
}

// total is how much room documents take in an array.
func total(docs [][]byte) (n int) {
	for _, d := range docs {
		n += len(d) + 1
	}
	return n
}

// AppendArray writes a member whose value is an array of documents that are encoded already.
// The name needs no escapes.
func AppendArray(b []byte, name string, docs [][]byte) []byte {
	b = slices.Grow(b, len(name)+len(`"":[]`)+total(docs))
	b = append(append(append(b, '"'), name...), `":[`...)
	for i, d := range docs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, d...)
	}
	return append(b, ']')
}

// mergeArtifacts gives each artifact as one document, in the order in which they first
// came. A document that does not continue its artifact replaces it in place.
func mergeArtifacts(docs []ArtifactDoc) ([][]byte, error) {
	at := make(map[string]int, len(docs))
	var parts [][][]byte // of each artifact, its chunks
	for _, d := range docs {
		i, seen := at[d.ID]
		switch {
		case !seen:
			at[d.ID] = len(parts)
			parts = append(parts, [][]byte{d.JSON})
		case d.Append:
			parts[i] = append(parts[i], d.JSON)
		default:
			parts[i] = [][]byte{d.JSON}
		}
	}
	out := make([][]byte, len(parts))
	for i, chunks := range parts {
		if len(chunks) == 1 {
			out[i] = chunks[0]
			continue
		}
		doc, err := mergeChunks(chunks)
		if err != nil {
			return nil, err
		}
		out[i] = doc
	}
	return out, nil
}

// mergeChunks puts an artifact together. Where a chunk begins with plain text and the
// artifact so far ends in plain text, the two become one part, so that a client reads
// the same text as one that followed the stream.
func mergeChunks(chunks [][]byte) ([]byte, error) {
	var whole a2a.Artifact
	var text []string // the open plain text at the end of whole.Parts
	// Joining once per run of chunks keeps a long answer from being copied per chunk.
	settle := func() {
		if len(text) > 1 {
			s := strings.Join(text, "")
			whole.Parts[len(whole.Parts)-1].Text = &s
		}
		text = nil
	}
	for i, c := range chunks {
		var a a2a.Artifact
		if err := json.Unmarshal(c, &a); err != nil {
			return nil, err
		}
		if i == 0 {
			whole = a
			whole.Parts = slices.Clone(a.Parts)
		} else {
			if text != nil && len(a.Parts) > 0 && plainText(a.Parts[0]) {
				text = append(text, *a.Parts[0].Text)
				a.Parts = a.Parts[1:]
			}
			if err := mergeHead(&whole, a); err != nil {
				return nil, err
			}
		}
		if i == 0 || len(a.Parts) > 0 {
			if i > 0 {
				settle()
				whole.Parts = append(whole.Parts, a.Parts...)
			}
			text = nil
			if n := len(whole.Parts); n > 0 && plainText(whole.Parts[n-1]) {
				text = []string{*whole.Parts[n-1].Text}
			}
		}
	}
	settle()
	return json.Marshal(&whole)
}

// plainText reports whether joining a part's text to another's loses nothing.
func plainText(p a2a.Part) bool {
	return p.Text != nil && p.Metadata == nil && p.Filename == "" && p.MediaType == ""
}

// mergeHead takes over what a chunk says of the artifact besides its parts.
func mergeHead(whole *a2a.Artifact, chunk a2a.Artifact) error {
	if chunk.Name != "" {
		whole.Name = chunk.Name
	}
	if chunk.Description != "" {
		whole.Description = chunk.Description
	}
	for _, x := range chunk.Extensions {
		if !slices.Contains(whole.Extensions, x) {
			whole.Extensions = append(whole.Extensions, x)
		}
	}
	if chunk.Metadata == nil {
		return nil
	}
	if whole.Metadata == nil {
		whole.Metadata = chunk.Metadata
		return nil
	}
	members := map[string]jsontext.Value{}
	for _, doc := range []a2a.Struct{whole.Metadata, chunk.Metadata} {
		if err := json.Unmarshal(doc, &members); err != nil {
			return err
		}
	}
	merged, err := json.Marshal(members, json.Deterministic(true))
	whole.Metadata = merged
	return err
}

// The frames, each put together from documents that are encoded already. Members that
// are false stay out, as ProtoJSON has it.

// taskFrame is the StreamResponse that opens a stream (A2A §3.1.2).
func taskFrame(task []byte) []byte {
	return append(append(append(make([]byte, 0, len(task)+16), `{"task":`...), task...), '}')
}

// statusDoc encodes a TaskStatus. Each turn has several without a message; they are written
// here, since marshalling costs the owner's small stack a growth besides.
func statusDoc(state a2a.TaskState, msg *a2a.Message, at time.Time) ([]byte, error) {
	if msg != nil {
		return json.Marshal(&a2a.TaskStatus{State: state, Message: msg, Timestamp: a2a.Timestamp{Time: at}})
	}
	b := append(make([]byte, 0, 80), `{"state":"`...)
	b = append(append(b, state...), `","timestamp":"`...)
	return append(at.UTC().AppendFormat(b, a2a.TimestampLayout), `"}`...), nil
}

// room is a buffer for a frame around a document, so that it is not moved as it grows.
func (r *Record) room(doc []byte) []byte {
	return make([]byte, 0, len(r.ID)+len(r.ContextID)+len(doc)+112)
}

// statusFrame is a TaskStatusUpdateEvent (A2A §4.2.1).
func statusFrame(r *Record, status []byte) []byte {
	b := appendMember(append(r.room(status), `{"statusUpdate":{`...), "taskId", r.ID)
	b = appendMember(append(b, ','), "contextId", r.ContextID)
	b = append(append(b, `,"status":`...), status...)
	return append(b, "}}"...)
}

// artifactFrame is a TaskArtifactUpdateEvent (A2A §4.2.2); more is its append.
func artifactFrame(r *Record, artifact []byte, more, last bool) []byte {
	b := appendMember(append(r.room(artifact), `{"artifactUpdate":{`...), "taskId", r.ID)
	b = appendMember(append(b, ','), "contextId", r.ContextID)
	b = append(append(b, `,"artifact":`...), artifact...)
	if more {
		b = strconv.AppendBool(append(b, `,"append":`...), true)
	}
	if last {
		b = strconv.AppendBool(append(b, `,"lastChunk":`...), true)
	}
	return append(b, "}}"...)
}
