// Command go is an agent that echoes, asks and waits: a line of JSON in, lines of JSON out.
package main

import (
	"fmt"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

type object = map[string]any

func send(kind string, payload object) {
	line, _ := json.Marshal(object{"type": kind, "payload": payload}) // maps of text always encode
	fmt.Printf("%s\n", line)
}

func finish(turn any, text string) {
	send("io.output", object{"turnId": turn, "role": "assistant", "content": text})
	send("agent.turn.end", object{"turnId": turn})
}

func main() {
	modes, e := []string{"text/plain"}, object{}
	for in := jsontext.NewDecoder(os.Stdin); json.UnmarshalDecode(in, &e) == nil; e = nil {
		p, _ := e["payload"].(object)
		switch turn := p["taskId"]; { // a task has one turn here, and one question of the same id
		case e["type"] == "server.hello":
			send("agent.hello", object{"protocol": 1, "inputModes": modes, "outputModes": modes, "cancel": true})
		case e["type"] == "hitl.responded":
			finish(p["requestId"], fmt.Sprint("Hello, ", p["freeText"]))
		case e["type"] == "cancel.request":
			send("cancel.complete", object{"turnId": turn})
		case e["type"] == "io.input":
			send("agent.turn.start", object{"turnId": turn, "taskId": turn})
			if p["text"] == "ask" {
				send("hitl.requested", object{"turnId": turn, "requestId": turn, "prompt": "Who are you?"})
			} else if p["text"] != "wait" { // that one is there to be cancelled
				finish(turn, fmt.Sprint("You said: ", p["text"]))
			}
		}
	}
}
