package conformance

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"

	"a2aserve/conformance/vector"
	"a2aserve/gen/a2a"
	"a2aserve/gen/agentevents"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

const agentEvents = "https://github.com/frankbardon/nexus/a2a/extensions/agent-events/v1"

// asking is a target whose requests name the telemetry extension.
func asking(target *vector.Target) *vector.Target {
	out := *target
	out.Header = http.Header{"A2a-Extensions": {agentEvents}}
	return &out
}

// told is a status update with telemetry, as a client reads it.
type told struct {
	StatusUpdate struct {
		Status struct {
			State string `json:"state"`
		} `json:"status"`
		Metadata map[string]stdjson.RawMessage `json:"metadata"`
	} `json:"statusUpdate"`
}

// payloadSchema is what a client would hold payloads against.
func payloadSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	for id, doc := range map[string][]byte{"a2aserve:///spec/a2a.schema.json": a2a.Schema, agentevents.SchemaID: agentevents.Schema} {
		if err := c.AddResource(id, bytes.NewReader(doc)); err != nil {
			t.Fatal(err)
		}
	}
	return c.MustCompile(agentevents.SchemaID)
}

// telemetry returns the number of the payload that a frame carries, or 0.
func telemetry(t *testing.T, schema *jsonschema.Schema, raw []byte) int {
	t.Helper()
	f, err := parseAs[told](raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	doc := f.StatusUpdate.Metadata[agentEvents]
	if doc == nil {
		if bytes.Contains(raw, []byte(agentEvents)) {
			t.Errorf("the extension where it does not belong: %s", raw)
		}
		return 0
	}
	var v any
	if err := stdjson.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%v in %s", err, doc)
	}
	var p struct {
		Sequence int `json:"sequence"`
	}
	if err := stdjson.Unmarshal(doc, &p); err != nil {
		t.Fatal(err)
	}
	if f.StatusUpdate.Status.State != "TASK_STATE_WORKING" {
		t.Errorf("%s", raw)
	}
	return p.Sequence
}

// VX-05: telemetry is for the streams that asked. One that joins mid-turn gets what
// follows, others and the stored task never hear of it, and nothing comes after the end.
func TestTelemetryIsForWhoAsked(t *testing.T) {
	target := serve(t, tokens)
	schema := payloadSchema(t)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		s, err := asking(target).Open(t.Context(), b, "SendStreamingMessage", "alice", say("think 10000 2"))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Header.Get("A2A-Extensions"); got != agentEvents {
			t.Errorf("activated %q", got)
		}
		first, err := parseAs[frame](s.Next())
		if err != nil || first.Task == nil {
			t.Fatalf("opens with %+v: %v", first, err)
		}
		seen := follow(t, s, schema, 0, 3)
		sub := `{"id":"` + first.Task.ID + `"}`
		plain, err := target.Open(t.Context(), b, "SubscribeToTask", "alice", sub)
		if err != nil {
			t.Fatal(err)
		}
		if got := plain.Header.Values("A2A-Extensions"); got != nil {
			t.Errorf("activated %q", got)
		}
		late, err := asking(target).Open(t.Context(), b, "SubscribeToTask", "alice", sub)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := late.Next(); err != nil || telemetry(t, schema, f) != 0 || !bytes.Contains(f, []byte(`"task"`)) {
			t.Fatalf("opens with %s: %v", f, err)
		}
		joined := follow(t, late, schema, seen, 1)
		follow(t, s, schema, seen, joined-seen+5)
		s.Close() // the other watcher is not affected
		for _, call := range []struct{ op, params string }{{"GetTask", sub}, {"ListTasks", `{"includeArtifacts":true}`}, {"CancelTask", sub}} {
			answer, err := asking(target).Call(t.Context(), b, call.op, "alice", call.params)
			if err != nil || bytes.Contains(answer, []byte(agentEvents)) || bytes.Contains(answer, []byte("step 1")) {
				t.Errorf("%s: %s %v", call.op, answer, err)
			}
		}
		last := follow(t, late, schema, joined, 1<<20)
		if last < joined {
			t.Errorf("the last payload was %d after %d", last, joined)
		}
		raw, err := plain.All()
		if err != nil || len(raw) != 2 || bytes.Contains(bytes.Join(raw, nil), []byte(`"metadata"`)) {
			t.Errorf("others see %s: %v", raw, err)
		}
	})
}

// follow reads so many payloads, or up to the end, where the last frame must be the
// terminal one. It returns the number of the last payload.
func follow(t *testing.T, s *vector.Stream, schema *jsonschema.Schema, last, count int) int {
	t.Helper()
	var raw []byte
	for count > 0 {
		id, _ := strconv.Atoi(s.ID)
		next, err := s.Next()
		if errors.Is(err, io.EOF) {
			if f, _ := parseAs[told](raw, nil); f.StatusUpdate.Status.State != "TASK_STATE_CANCELED" {
				t.Errorf("ends with %s", raw)
			}
			return last
		}
		if err != nil {
			t.Fatal(err)
		}
		raw = next
		if now, err := strconv.Atoi(s.ID); err != nil || now != id+1 {
			t.Errorf("frame %s after %d", s.ID, id)
		}
		if n := telemetry(t, schema, raw); n > 0 {
			if n <= last {
				t.Errorf("payload %d after %d", n, last)
			}
			last, count = n, count-1
		}
	}
	return last
}

// A watcher that reads slowly still gets every frame of the task, and its connection
// bounds what is kept for it.
func TestTelemetryFlood(t *testing.T) {
	target := serve(t, tokens)
	schema := payloadSchema(t)
	eachBinding(t, func(t *testing.T, b vector.Binding) {
		s, err := asking(target).Open(t.Context(), b, "SendStreamingMessage", "alice", say("think 2000"))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := s.All()
		if err != nil {
			t.Fatal(err)
		}
		last, states := 0, ""
		for _, f := range raw {
			if n := telemetry(t, schema, f); n > 0 {
				if n <= last {
					t.Errorf("payload %d after %d", n, last)
				}
				last = n
				continue
			}
			v, err := parseAs[frame](f, nil)
			switch {
			case err != nil:
				t.Fatal(err)
			case v.Task != nil:
				states += v.Task.Status.State
			case v.StatusUpdate != nil:
				states += " " + v.StatusUpdate.Status.State
			case v.ArtifactUpdate != nil:
				states += " artifact"
			}
		}
		if want := "TASK_STATE_SUBMITTED TASK_STATE_WORKING artifact TASK_STATE_COMPLETED"; states != want || last != 2001 {
			t.Errorf("%s, the last payload is %d", states, last)
		}
		if got := fmt.Sprint(s.Header["A2a-Extensions"]); got != "["+agentEvents+"]" {
			t.Errorf("activated %s", got)
		}
	})
}
