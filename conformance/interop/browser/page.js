// A page of another origin calls the server as a browser lets it, and posts what it found
// to where it came from. In a frame it is a page whose origin the server does not allow.
const server = new URLSearchParams(location.search).get('server');
const refused = location.hash === '#refused';
const rest = `${server}/a2a/v1`;
const alice = { Authorization: 'Bearer tok-a', 'A2A-Version': '1.0', 'Content-Type': 'application/a2a+json' };

const say = (text, more = {}) => ({ message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more } });
const post = (url, body, more = {}) => fetch(url, { method: 'POST', headers: alice, body: JSON.stringify(body), ...more });
const rpc = (method, params, more) => post(`${server}/a2a`, { jsonrpc: '2.0', id: 1, method, params }, { headers: { ...alice, 'Content-Type': 'application/json' }, ...more });
const shown = (res, ...names) => Object.fromEntries(names.map((n) => [n, res.headers.get(n)]));

// frames reads a response's events while they come.
async function* frames(res) {
  const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let buffer = ''; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (buffer + value).split('\n\n');
    buffer = events.pop();
    for (const e of events) {
      const data = e.split('\n').filter((l) => l.startsWith('data: ')).map((l) => l.slice(6)).join('\n');
      if (data) yield JSON.parse(data);
    }
  }
}

// converse answers the question of a stream while the stream is open: that works only if
// its frames come as they are written.
async function converse(res, unwrap) {
  const seen = [];
  let task;
  for await (const raw of frames(res)) {
    const f = unwrap(raw);
    task ??= f.task;
    const state = (f.task ?? f.statusUpdate)?.status.state;
    seen.push(state ?? f.artifactUpdate.artifact.parts[0].text);
    if (state === 'TASK_STATE_INPUT_REQUIRED') {
      const told = await post(`${rest}/message:send`, say('yes', { taskId: task.id, contextId: task.contextId }));
      seen.push(`answered ${told.status}`);
    }
  }
  return seen;
}

const steps = {
  card: async () => (await fetch(`${server}/.well-known/agent-card.json`)).json(),
  send: async () => {
    const res = await post(`${rest}/message:send`, say('echo hello'));
    return { status: res.status, ...shown(res, 'A2A-Version', 'X-Request-Id'), task: (await res.json()).task };
  },
  rest: async () => converse(await post(`${rest}/message:stream`, say('ask Really?')), (f) => f),
  jsonrpc: async () => converse(await rpc('SendStreamingMessage', say('ask Really?')), (f) => f.result),
  unauthenticated: async () => {
    const res = await post(`${rest}/message:send`, say('echo x'), { headers: { ...alice, Authorization: 'Bearer tok-x' } });
    return { status: res.status, ...shown(res, 'WWW-Authenticate'), error: (await res.json()).error };
  },
  push: async () => {
    const res = await fetch(`${rest}/tasks/t/pushNotificationConfigs/p`, { method: 'DELETE', headers: alice });
    return { status: res.status, error: (await res.json()).error };
  },
  extension: async () => {
    const uri = 'https://github.com/frankbardon/nexus/a2a/extensions/agent-events/v1';
    const res = await post(`${rest}/message:stream`, say('think 2'), { headers: { ...alice, 'A2A-Extensions': uri } });
    let thoughts = 0;
    for await (const f of frames(res)) thoughts += f.statusUpdate?.metadata?.[uri]?.kind === 'thinking' ? 1 : 0;
    return { ...shown(res, 'A2A-Extensions'), thoughts };
  },
  leaving: async () => {
    const leave = new AbortController();
    const res = await post(`${rest}/message:stream`, say('slow 600000 x'), { signal: leave.signal });
    let id;
    for await (const f of frames(res)) {
      id = f.task.id;
      break;
    }
    leave.abort();
    const kept = await (await fetch(`${rest}/tasks/${id}`, { headers: alice })).json();
    const ended = await (await post(`${rest}/tasks/${id}:cancel`, {})).json();
    return [kept.status.state === 'TASK_STATE_SUBMITTED' ? 'TASK_STATE_WORKING' : kept.status.state, ended.status.state];
  },
  cookies: async () => post(`${rest}/message:send`, say('echo x'), { credentials: 'include' }).then((res) => res.status),
};

const found = {};
for (const [name, step] of Object.entries(refused ? { send: steps.send, card: steps.card } : steps)) {
  try {
    found[name] = await step();
  } catch (e) {
    found[name] = { blocked: String(e) };
  }
}
await fetch(refused ? '/refused' : '/found', { method: 'POST', body: JSON.stringify(found) });
