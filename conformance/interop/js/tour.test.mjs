// The official JavaScript client drives every operation, over both bindings. Two servers
// are running: one that everybody may call, and one that knows alice and bob.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { GetTaskRequest, ListTasksRequest, Role, SendMessageRequest, TaskState } from '@a2a-js/sdk';
import {
  ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory,
  RestTransportFactory, createAuthenticatingFetchWithRetry,
} from '@a2a-js/sdk/client';
import * as errors from '@a2a-js/sdk/errors';

const open = process.env.A2ASERVE_OPEN;
const closed = process.env.A2ASERVE_CLOSED;
const telemetry = 'https://github.com/frankbardon/nexus/a2a/extensions/agent-events/v1';

// client makes itself from the card, as an application does.
function client(origin, binding, fetchImpl = fetch) {
  return new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    preferredTransports: [binding],
    transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
  })).createFromUrl(origin);
}

// as is a fetch that presents a token.
const as = (token) => createAuthenticatingFetchWithRetry(fetch, {
  headers: async () => ({ Authorization: `Bearer ${token}` }),
  shouldRetryWithHeaders: async () => undefined,
});

function say(text, message = {}, configuration = undefined) {
  return SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...message },
    ...(configuration && { configuration }),
  });
}

const inTask = (task) => ({ taskId: task.id, contextId: task.contextId });
const texts = (parts) => parts.map((p) => (p.content?.$case === 'text' ? p.content.value : '')).join('');
const answer = (task) => task.artifacts.map((a) => texts(a.parts)).join('');

// follow reads a stream to its end; seen is called with each state.
async function follow(stream, seen = () => {}) {
  const got = { first: undefined, states: [], text: '', updates: [] };
  for await (const { payload } of stream) {
    got.first ??= payload;
    switch (payload.$case) {
      case 'task':
      case 'statusUpdate':
        got.states.push(payload.value.status.state);
        got.updates.push(payload.value);
        seen(payload.value.status.state, got);
        break;
      case 'artifactUpdate':
        got.text += texts(payload.value.artifact.parts);
    }
  }
  return got;
}

// typed accepts an error of this class only.
const typed = (type) => (e) => e instanceof type || assert.fail(`${e?.name}: ${e?.message}`);

for (const binding of ['JSONRPC', 'HTTP+JSON']) {
  describe(binding, { concurrency: true }, () => {
    it('reads the card', async () => {
      const card = await new DefaultAgentCardResolver().resolve(closed);
      assert.equal(card.name, 'Interop agent');
      assert.ok(card.capabilities.streaming && card.capabilities.extendedAgentCard);
      assert.deepEqual(card.supportedInterfaces.map((i) => i.protocolVersion), ['1.0', '1.0']);
      const [scheme] = Object.keys(card.securityRequirements[0].schemes);
      assert.equal(card.securitySchemes[scheme].scheme.$case, 'httpAuthSecurityScheme');
    });

    it('sends', async () => {
      const c = await client(open, binding);
      assert.equal(c.transport.protocolName, binding);
      const task = await c.sendMessage(say('echo hello'));
      assert.equal(task.status.state, TaskState.TASK_STATE_COMPLETED);
      assert.equal(answer(task), 'hello');
      assert.ok(task.contextId && task.status.timestamp && task.history.length);

      const direct = await c.sendMessage(say('direct hello'));
      assert.equal(direct.role, Role.ROLE_AGENT);
      assert.equal(texts(direct.parts), 'hello');

      const mixed = await c.sendMessage(say('', {
        parts: [
          { text: 'echo all' }, { data: { n: 1.5, nothing: null, list: [true] } },
          { raw: Buffer.from([0, 1, 255]).toString('base64'), mediaType: 'application/octet-stream', filename: 'x.bin' },
          { url: 'https://example.com/picture.png', mediaType: 'image/png' },
        ],
      }));
      const [text, data, raw, url] = mixed.artifacts[0].parts;
      assert.equal(text.content.value, 'all');
      assert.deepEqual(data.content.value, { n: 1.5, nothing: null, list: [true] });
      assert.deepEqual([...raw.content.value], [0, 1, 255]);
      assert.equal(raw.filename, 'x.bin');
      assert.equal(url.content.value, 'https://example.com/picture.png');

      assert.equal((await c.sendMessage(say('fail'))).status.state, TaskState.TASK_STATE_FAILED);
      assert.equal((await c.sendMessage(say('reject'))).status.state, TaskState.TASK_STATE_REJECTED);
    });

    it('streams', async () => {
      const c = await client(open, binding);
      const got = await follow(c.sendMessageStream(say('chunks 4 0 .')));
      assert.equal(got.first.$case, 'task');
      assert.equal(got.text, '1.2.3.4.');
      assert.equal(got.states.at(-1), TaskState.TASK_STATE_COMPLETED);
      const stored = await c.getTask(GetTaskRequest.fromJSON({ id: got.first.value.id }));
      assert.equal(answer(stored), got.text);
      const direct = await follow(c.sendMessageStream(say('direct hello')));
      assert.equal(texts(direct.first.value.parts), 'hello');
    });

    it('answers questions', async () => {
      const c = await client(open, binding);
      const asked = await c.sendMessage(say('ask Which colour? [red|blue]'));
      assert.equal(asked.status.state, TaskState.TASK_STATE_INPUT_REQUIRED);
      assert.match(texts(asked.status.message.parts), /Which colour\?/);
      const told = await c.sendMessage(say('blue', inTask(asked)));
      assert.equal(told.id, asked.id);
      assert.equal(answer(told), 'You said: blue');

      // On a stream the question comes while the stream stays open.
      let answered;
      const got = await follow(c.sendMessageStream(say('ask Really?')), (state, { first }) => {
        if (state === TaskState.TASK_STATE_INPUT_REQUIRED) answered = c.sendMessage(say('yes', inTask(first.value)));
      });
      assert.equal((await answered).status.state, TaskState.TASK_STATE_COMPLETED);
      assert.equal(got.text, 'You said: yes');

      const auth = await c.sendMessage(say('auth'));
      assert.equal(auth.status.state, TaskState.TASK_STATE_AUTH_REQUIRED);
      assert.equal((await c.sendMessage(say('done', inTask(auth)))).status.state, TaskState.TASK_STATE_COMPLETED);
    });

    it('follows and cancels', async () => {
      const c = await client(open, binding);
      const task = await c.sendMessage(say('slow 600000 x', {}, { returnImmediately: true }));
      const leaving = new AbortController();
      for await (const { payload } of c.resubscribeTask({ id: task.id, tenant: '' }, { signal: leaving.signal })) {
        assert.equal(payload.value.id, task.id);
        break; // who leaves ends nothing
      }
      leaving.abort();
      let cancelled;
      const got = await follow(c.resubscribeTask({ id: task.id, tenant: '' }), () => {
        cancelled ??= c.cancelTask({ id: task.id, tenant: '', metadata: undefined });
      });
      assert.equal((await cancelled).status.state, TaskState.TASK_STATE_CANCELED);
      assert.equal(got.states.at(-1), TaskState.TASK_STATE_CANCELED);
    });

    it('lists', async () => {
      const c = await client(closed, binding, as('tok-a'));
      const before = (await c.listTasks(ListTasksRequest.fromJSON({}))).totalSize;
      const sent = new Set();
      const contextId = randomUUID();
      for (let i = 0; i < 5; i++) sent.add((await c.sendMessage(say('echo listed', { contextId }))).id);
      let pageToken = '';
      do {
        const page = await c.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 2, pageToken }));
        assert.equal(page.totalSize, 5);
        for (const t of page.tasks) assert.ok(sent.delete(t.id) && t.artifacts.length === 0);
        pageToken = page.nextPageToken;
      } while (pageToken);
      assert.equal(sent.size, 0);
      assert.ok((await c.listTasks(ListTasksRequest.fromJSON({}))).totalSize >= before + 5);
      const whole = await c.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 1, includeArtifacts: true, status: 'TASK_STATE_COMPLETED' }));
      assert.equal(answer(whole.tasks[0]), 'listed');
      const later = new Date(Date.now() + 3_600_000).toISOString();
      assert.equal((await c.listTasks(ListTasksRequest.fromJSON({ statusTimestampAfter: later }))).tasks.length, 0);
      const bare = await c.getTask(GetTaskRequest.fromJSON({ id: whole.tasks[0].id, historyLength: 0 }));
      assert.equal(bare.history.length, 0);
    });

    it('tells errors apart', async () => {
      const c = await client(open, binding);
      const done = await c.sendMessage(say('echo done'));
      const busy = await c.sendMessage(say('slow 600000 x', {}, { returnImmediately: true }));
      const none = { id: 'no-such-task', tenant: '' };
      const film = say('', { parts: [{ raw: 'eA==', mediaType: 'video/mp4' }] });
      const push = { taskId: busy.id, id: 'p', tenant: '', url: 'https://example.com/hook', token: '', authentication: undefined };
      for (const [call, type] of [
        [() => c.getTask(none), errors.TaskNotFoundError],
        [() => c.cancelTask(none), errors.TaskNotFoundError],
        [() => follow(c.resubscribeTask(none)), errors.TaskNotFoundError],
        [() => c.sendMessage(say('x', { taskId: none.id })), errors.TaskNotFoundError],
        [() => follow(c.sendMessageStream(say('x', { taskId: none.id }))), errors.TaskNotFoundError],
        [() => c.cancelTask({ id: done.id, tenant: '' }), errors.TaskNotCancelableError],
        [() => c.sendMessage(say('x', inTask(done))), errors.UnsupportedOperationError],
        [() => follow(c.sendMessageStream(say('x', inTask(done)))), errors.UnsupportedOperationError],
        [() => follow(c.resubscribeTask({ id: done.id, tenant: '' })), errors.UnsupportedOperationError], // strictly
        [() => c.sendMessage(film), errors.ContentTypeNotSupportedError],
        [() => follow(c.sendMessageStream(film)), errors.ContentTypeNotSupportedError],
        // The client refuses push by the card; its transport asks.
        [() => c.transport.createTaskPushNotificationConfig(push), errors.PushNotificationNotSupportedError],
        [() => c.transport.getTaskPushNotificationConfig(push), errors.PushNotificationNotSupportedError],
        [() => c.transport.listTaskPushNotificationConfig({ taskId: busy.id, tenant: '', pageSize: 0, pageToken: '' }), errors.PushNotificationNotSupportedError],
        [() => c.deleteTaskPushNotificationConfig(push), errors.PushNotificationNotSupportedError],
        [() => c.transport.getExtendedAgentCard({ tenant: '' }), errors.UnsupportedOperationError],
        [() => c.transport.getTask(none, { serviceParameters: { 'A2A-Version': '7.0' } }), errors.VersionNotSupportedError],
        [() => c.sendMessage(say('x', { parts: [] })), errors.RequestMalformedError],
      ]) {
        await assert.rejects(call, typed(type), `${call}`);
      }
      const problem = await c.getTask(none).catch((e) => e);
      // Over JSON-RPC the client leaves the metadata where it came.
      assert.ok((problem.metadata ?? problem.data[0].metadata).timestamp && problem.message);
      await c.cancelTask({ id: busy.id, tenant: '' });
    });

    it('authenticates', async () => {
      const alice = await client(closed, binding, as('tok-a'));
      const bob = await client(closed, binding, as('tok-b'));
      const mine = await alice.sendMessage(say('echo mine'));
      await assert.rejects(bob.getTask(GetTaskRequest.fromJSON({ id: mine.id })), typed(errors.TaskNotFoundError));
      assert.equal((await alice.getAgentCard()).name, 'Interop agent, extended');
      for (const c of [await client(closed, binding), await client(closed, binding, as('tok-x'))]) {
        await assert.rejects(c.sendMessage(say('echo x')), /Credentials are missing or not valid/);
        await assert.rejects(follow(c.sendMessageStream(say('echo x'))), /Credentials are missing or not valid/);
      }
      // A 401 comes with what a handler needs to fetch a token and try again.
      let challenge;
      const renewing = createAuthenticatingFetchWithRetry(fetch, {
        headers: async () => ({ Authorization: 'Bearer expired' }),
        shouldRetryWithHeaders: async (_, response) => {
          if (response.status !== 401) return undefined;
          challenge = response.headers.get('WWW-Authenticate');
          return { Authorization: 'Bearer tok-a' };
        },
      });
      const renewed = await client(closed, binding, renewing);
      assert.equal(answer(await renewed.sendMessage(say('echo renewed'))), 'renewed');
      assert.match(challenge, /^Bearer /);
    });

    it('activates the extension', async () => {
      const c = await client(open, binding);
      const thoughts = async (options) => (await follow(c.sendMessageStream(say('think 2'), options)))
        .updates.filter((u) => u.metadata?.[telemetry]?.kind === 'thinking').length;
      assert.equal(await thoughts({ serviceParameters: { 'A2A-Extensions': telemetry } }), 2);
      assert.equal(await thoughts(), 0);
    });
  });
}
