package demo

import (
	"strings"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json/jsontext"
)

// suites are the parts in the public conformance suites: the TCK names them by a prefix
// of the message's id, ACTS by the first word of the text.
var suites = map[string]func(p *act, rest string){
	"tck-complete-task":           says("Hello from TCK"),
	"tck-artifact-text":           publishes(text("Generated text content")),
	"tck-artifact-file":           publishes(outputFile),
	"tck-artifact-file-url":       publishes(outputURL),
	"tck-artifact-data":           publishes(outputData),
	"tck-message-response":        says("Direct message response"), // answered without a task before it gets here
	"tck-input-required":          (*act).tckInput,
	"tck-auth-required":           (*act).auth,
	"tck-reject-task":             (*act).echo, // vetoed before it gets here
	"tck-task-failure":            func(p *act, _ string) { p.fail("Failed as the suite asks") },
	"tck-delayed-complete":        (*act).tckDelayed,
	"tck-multi-turn":              (*act).tckMultiTurn,
	"tck-cancel":                  (*act).silent,
	"tck-long-running":            (*act).tckLongRunning,
	"tck-stream-basic":            publishes(text("Streamed output")),
	"tck-stream-chunked":          (*act).tckChunked,
	"tck-stream-001":              publishes(text("Stream hello from TCK")),
	"tck-stream-002":              func(*act, string) {},
	"tck-stream-003":              publishes(text("Stream task lifecycle")),
	"tck-stream-ordering-001":     publishes(text("Ordered output")),
	"tck-stream-artifact-text":    publishes(text("Streamed text content")),
	"tck-stream-artifact-file":    publishes(outputFile),
	"tck-stream-artifact-chunked": (*act).tckChunked,
	"test-resubscribe-message-id": (*act).tckLongRunning,
}

// suitePrefixes are the names of the suites' parts, a longer one before its own prefix.
var suitePrefixes = func() []string {
	names := make([]string, 0, len(suites))
	for name := range suites {
		at := 0
		for at < len(names) && !strings.HasPrefix(name, names[at]) {
			at++
		}
		names = append(names[:at], append([]string{name}, names[at:]...)...)
	}
	return names
}()

var (
	outputFile = a2a.Part{Raw: []byte("Content of the file"), Filename: "output.txt", MediaType: "text/plain"}
	outputURL  = a2a.Part{URL: ptr("https://example.com/output.txt"), Filename: "output.txt", MediaType: "text/plain"}
	outputData = a2a.Part{Data: jsontext.Value(`{"key":"value","count":42}`)}
)

func ptr(s string) *string { return &s }

// says and publishes make the simple parts: an answer, or one artifact.
func says(s string) func(*act, string) { return func(p *act, _ string) { p.say(s) } }

func publishes(parts ...a2a.Part) func(*act, string) {
	return func(p *act, _ string) { p.artifact("output", parts...) }
}

const (
	tckDelay = 2 * time.Second
	// tckLong outlasts twice the TCK's streaming time-out of 2 s.
	tckLong = 5 * time.Second
)

func (p *act) tckDelayed(string) {
	if p.sleep(tckDelay) {
		p.say("Done after delay")
	}
}

func (p *act) tckLongRunning(string) {
	if p.sleep(tckLong) {
		p.say("Finished")
	}
}

// tckInput asks once.
func (p *act) tckInput(string) {
	if told, ok := p.question("Please tell me more"); ok {
		p.say("You said: " + told)
	}
}

// tckMultiTurn waits until it is told "done". It waits without words: ACTS counts the
// messages of the history and has the third be the user's third.
func (p *act) tckMultiTurn(string) {
	for {
		p.asked++
		p.emit(event.HITLRequested{TurnID: p.turn, RequestID: p.in.TaskID + "/" + randomHex()})
		r, ok := p.hear()
		if !ok {
			return
		}
		if strings.EqualFold(strings.TrimSpace(r.FreeText), "done") {
			p.say("All turns are done")
			return
		}
	}
}

// tckChunked publishes one artifact in two chunks.
func (p *act) tckChunked(string) {
	for i, s := range []string{"chunk-1 ", "chunk-2"} {
		p.emit(event.Artifact{
			TurnID: p.turn, Append: i > 0, LastChunk: i == 1,
			Artifact: a2a.Artifact{ArtifactID: "chunked", Parts: []a2a.Part{text(s)}},
		})
	}
}
