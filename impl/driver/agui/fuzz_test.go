package agui_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"a2aserve/impl/driver/agui"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

// utter is an agent that answers every run with the same bytes.
type utter string

func (u utter) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(u))), Request: r}, nil
}

// Whatever an agent sends, its task ends or waits for its user, and then it can be cancelled.
func FuzzRuns(f *testing.F) {
	event := func(all ...string) string { return "data: " + strings.Join(all, "\n\ndata: ") + "\n\n" }
	const begun, over = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
	f.Add(event(begun, `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"hi"}`, `{"type":"TEXT_MESSAGE_END","messageId":"m"}`, over))
	f.Add(event(begun, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"n","delta":"{"}`, `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"x"}`, `{"type":"CUSTOM","name":"subagent.started","value":{"spawn_id":"s"}}`, over))
	f.Add(event(begun, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"q","reason":"x","message":"Which?","responseSchema":{"enum":["a","b"]}}]}}`))
	f.Add(event(begun, `{"type":"RUN_ERROR","message":"no"}`) + "data: {")
	f.Add(": nothing\n\n")
	f.Fuzz(func(t *testing.T, said string) {
		d := agui.New(agui.Options{URL: "http://agent.test/agui", PerContext: true, Logger: slog.New(slog.DiscardHandler)})
		d.Through(utter(said))
		defer d.Close()
		b := drivertest.New(t, d, turn.Options{Artifacts: turn.DefaultArtifacts()})
		s := b.Send(drivertest.Text("go"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		rec, err := s.Await(ctx)
		if err != nil {
			t.Fatalf("%q: %v", said, err)
		}
		if rec.State.Terminal() {
			return
		}
		if rec, err = b.Engine.Cancel(ctx, "alice", rec.ID); err != nil || !rec.State.Terminal() {
			t.Fatalf("%q is cancelled as %s: %v", said, rec.State, err)
		}
	})
}
