// An agent that echoes, asks and waits: a line of JSON in, lines of JSON out.
const send = (type, payload) =>
  process.stdout.write(JSON.stringify({ type, payload }) + "\n");

const finish = (turnId, content) => {
  send("io.output", { turnId, role: "assistant", content });
  send("agent.turn.end", { turnId });
};

let turn = "";
const handlers = {
  "server.hello": () => {
    const modes = ["text/plain"];
    const able = { cancel: true, questions: true };
    send("agent.hello", { protocol: 1, inputModes: modes, outputModes: modes, ...able });
  },
  "io.input": ({ taskId, text }) => {
    turn = taskId;
    send("agent.turn.start", { turnId: turn, taskId });
    if (text === "ask") {
      send("hitl.requested", { turnId: turn, requestId: turn + "-1", prompt: "Who are you?" });
    } else if (text !== "wait") { // that one is there to be cancelled
      finish(turn, "You said: " + text);
    }
  },
  "hitl.responded": ({ freeText }) => finish(turn, "Hello, " + (freeText ?? "stranger")),
  "cancel.request": ({ taskId }) => taskId === turn && send("cancel.complete", { turnId: turn }),
};

require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { type, payload } = JSON.parse(line);
  handlers[type]?.(payload);
});
