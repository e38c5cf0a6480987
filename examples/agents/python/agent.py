"""An agent that echoes, asks and waits: a line of JSON in, lines of JSON out."""
import json
import sys


def send(kind, **payload):
    print(json.dumps({"type": kind, "payload": payload}), flush=True)


def finish(turn, text):
    send("io.output", turnId=turn, role="assistant", content=text)
    send("agent.turn.end", turnId=turn)


turn = None
for line in sys.stdin:
    event = json.loads(line)
    kind, payload = event["type"], event["payload"]
    if kind == "server.hello":
        modes = ["text/plain"]
        send("agent.hello", protocol=1, inputModes=modes, outputModes=modes,
             cancel=True, questions=True)
    elif kind == "io.input":
        turn = payload["taskId"]
        send("agent.turn.start", turnId=turn, taskId=turn)
        if payload["text"] == "ask":
            send("hitl.requested", turnId=turn, requestId=turn + "-1", prompt="Who are you?")
        elif payload["text"] != "wait":  # that one is there to be cancelled
            finish(turn, "You said: " + payload["text"])
    elif kind == "hitl.responded":
        finish(turn, "Hello, " + payload.get("freeText", "stranger"))
    elif kind == "cancel.request" and payload["taskId"] == turn:
        send("cancel.complete", turnId=turn)
