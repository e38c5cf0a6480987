// Command go is an agent that echoes, asks and waits: a line of JSON in, lines of JSON out.
package main

import (
	"fmt"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var in, out = jsontext.NewDecoder(os.Stdin), jsontext.NewEncoder(os.Stdout)

func send(kind string, p any) { json.MarshalEncode(out, map[string]any{"type": kind, "payload": p}) }

func finish(turn any, text string) {
	send("io.output", map[string]any{"turnId": turn, "role": "assistant", "content": text})
	send("agent.turn.end", map[string]any{"turnId": turn})
}

func main() {
	for e := map[string]any{}; json.UnmarshalDecode(in, &e) == nil; e = nil {
		switch p, _ := e["payload"].(map[string]any); e["type"] {
		case "server.hello":
			send("agent.hello", map[string]any{"protocol": 1, "inputModes": []string{"text/plain"}, "cancel": true, "questions": true})
		case "hitl.responded":
			finish(p["requestId"], fmt.Sprint("Hello, ", p["freeText"]))
		case "cancel.request":
			send("cancel.complete", map[string]any{"turnId": p["taskId"]})
		case "io.input": // a task has one turn here, and one question of the same id
			send("agent.turn.start", map[string]any{"turnId": p["taskId"], "taskId": p["taskId"]})
			if p["text"] == "ask" {
				send("hitl.requested", map[string]any{"turnId": p["taskId"], "requestId": p["taskId"], "prompt": "Who are you?"})
			} else if p["text"] != "wait" { // that one is there to be cancelled
				finish(p["taskId"], fmt.Sprint("You said: ", p["text"]))
			}
		}
	}
}
