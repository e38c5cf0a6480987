package conformance

import (
	"errors"
	"fmt"
	"testing"

	"a2aserve/conformance/vector"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

var bindings = []vector.Binding{vector.JSONRPC, vector.REST}

// eachBinding runs a test over both bindings.
func eachBinding(t *testing.T, f func(t *testing.T, b vector.Binding)) {
	for _, b := range bindings {
		t.Run(string(b), func(t *testing.T) { f(t, b) })
	}
}

// say is a SendMessageRequest; extra members of the message and of the request may follow.
func say(text string, extra ...string) string {
	message, request := "", ""
	if len(extra) > 0 && extra[0] != "" {
		message = "," + extra[0]
	}
	if len(extra) > 1 {
		request = "," + extra[1]
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%s}]%s}%s}`, uuid.NewString(), quoted, message, request)
}

const now = `"configuration":{"returnImmediately":true}`

// task is what the tests look at.
type task struct {
	ID        string `json:"id"`
	ContextID string `json:"contextId"`
	Status    struct {
		State     string `json:"state"`
		Timestamp string `json:"timestamp"`
	} `json:"status"`
	Artifacts []struct {
		ID    string `json:"artifactId"`
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	} `json:"artifacts"`
	History []struct {
		ID string `json:"messageId"`
	} `json:"history"`
}

func (t task) text() (s string) {
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			s += p.Text
		}
	}
	return s
}

func (t task) terminal() bool {
	switch t.Status.State {
	case "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED":
		return true
	}
	return false
}

// sent is a SendMessageResponse with a task.
type sent struct {
	Task task `json:"task"`
}

// frame is one StreamResponse.
type frame struct {
	Task         *task `json:"task"`
	StatusUpdate *struct {
		TaskID string `json:"taskId"`
		Status struct {
			State string `json:"state"`
		} `json:"status"`
	} `json:"statusUpdate"`
	ArtifactUpdate *struct {
		TaskID    string `json:"taskId"`
		Append    bool   `json:"append"`
		LastChunk bool   `json:"lastChunk"`
		Artifact  struct {
			ID    string `json:"artifactId"`
			Parts []struct {
				Text string `json:"text"`
			} `json:"parts"`
		} `json:"artifact"`
	} `json:"artifactUpdate"`
}

func parseAs[T any](data []byte, err error) (T, error) {
	var v T
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("%w: %s", err, data)
	}
	return v, nil
}

// ends reads a stream to its end and returns its frames and the last state in it.
func ends(s *vector.Stream) (frames []frame, state string, err error) {
	raw, err := s.All()
	for _, b := range raw {
		f, err := parseAs[frame](b, nil)
		if err != nil {
			return frames, state, err
		}
		if f.Task != nil {
			state = f.Task.Status.State
		}
		if f.StatusUpdate != nil {
			state = f.StatusUpdate.Status.State
		}
		frames = append(frames, f)
	}
	return frames, state, err
}

// refused returns the refusal that err is, or fails.
func refused(t *testing.T, err error) *vector.Refusal {
	t.Helper()
	r, ok := errors.AsType[*vector.Refusal](err)
	if !ok {
		t.Fatalf("not refused, but: %v", err)
	}
	return r
}

// send sends a message and returns the task.
func send(t *testing.T, target *vector.Target, b vector.Binding, params string) task {
	t.Helper()
	r, err := parseAs[sent](target.Call(t.Context(), b, "SendMessage", "alice", params))
	if err != nil {
		t.Fatal(err)
	}
	return r.Task
}

func get(t *testing.T, target *vector.Target, b vector.Binding, id string) task {
	t.Helper()
	got, err := parseAs[task](target.Call(t.Context(), b, "GetTask", "alice", `{"id":"`+id+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	return got
}
