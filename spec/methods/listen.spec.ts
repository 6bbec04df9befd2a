/** `subscriptions/listen`: first the acknowledgement, then what was asked for and is permitted, nothing else. */
import { allow, deny } from 'express-mcp';
import type { McpServer, ReadAuthorizer } from 'express-mcp';
import { eventually } from '../support/eventually';
import { join } from '../support/memory';
import { modernRevision } from '../support/schema';
import { createServer, serve } from '../support/serve';
import type { Served } from '../support/serve';
import type { Message, Stream } from '../support/wire';
import { modern, modernRequest } from '../support/wire';

const run = () => 'x';
const idKey = 'io.modelcontextprotocol/subscriptionId';
const subscriptionOf = ({ params, result }: Message) =>
  ((params ?? result)?._meta as Record<string, unknown> | undefined)?.[idKey];
const isAck = ({ method }: Message) => method === 'notifications/subscriptions/acknowledged';

function registerAll(server: McpServer): void {
  server.registerTool('x', {}, run);
  server.registerPrompt('x', {}, run);
  server.registerResource('a', 'x:a', {}, run);
  server.registerResource('b', 'x:b', {}, run);
  server.registerResource('secret', 'x:secret', {}, run);
  server.registerResource('family', 'y:{id}', {}, run);
}

/** Nobody may know of the secret. */
const readAuthorizer: ReadAuthorizer = (call) => ('uri' in call && call.uri === 'x:secret' ? deny('secret') : allow());

let served: Served;
let open: Stream[];
beforeEach(async () => {
  open = [];
  served = await serve(registerAll, { server: { readAuthorizer } });
});
afterEach(async () => {
  for (const stream of open) stream.close();
  await served.close();
});

async function listen(notifications: unknown, id: unknown = 'l', target = served): Promise<Stream> {
  const stream = await modern(target).stream('subscriptions/listen', { notifications }, { id });
  open.push(stream);
  return stream;
}

/** What the stream says it honours. */
async function acknowledged(stream: Stream): Promise<unknown> {
  const first = await stream.next();
  expect(first?.message?.method).toBe('notifications/subscriptions/acknowledged');
  return first?.message?.params?.notifications;
}

/** Change everything; the last change is one that `filter` has asked for. */
function changeAll(server: McpServer): void {
  server.notifyPromptsChanged();
  server.notifyResourcesChanged();
  server.notifyResourceUpdated('x:a');
  server.notifyResourceUpdated('x:b');
  server.notifyResourceUpdated('x:secret');
  server.notify('notifications/custom', { a: 1 });
  server.notifyToolsChanged();
}

describe('the acknowledgement', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#acknowledgment
  it('MUST come first, however much changes meanwhile', async () => {
    let changes = 0;
    let stop = false;
    const changing = (async () => {
      while (!stop || changes < 1_000) {
        served.server.notifyToolsChanged();
        changes += 1;
        await new Promise(setImmediate);
      }
    })();
    for (let n = 0; n < 20; n += 1) {
      const stream = await listen({ toolsListChanged: true }, n);
      expect(await acknowledged(stream)).toEqual({ toolsListChanged: true });
      expect((await stream.next())?.message?.method).toBe('notifications/tools/list_changed');
      stream.close();
    }
    stop = true;
    await changing;
  });

  it('names what the server offers and nothing else', async () => {
    const target = await serve((server) => server.registerTool('x', {}, run));
    try {
      const everything = {
        toolsListChanged: true,
        promptsListChanged: true,
        resourcesListChanged: true,
        resourceSubscriptions: ['x:a'],
        taskIds: ['t'],
      };
      expect(await acknowledged(await listen(everything, 'l', target))).toEqual({ toolsListChanged: true });
    } finally {
      await target.close();
    }
  });

  it('names what was asked for', async () => {
    const asked = { promptsListChanged: true, resourcesListChanged: true, toolsListChanged: false };
    expect(await acknowledged(await listen(asked))).toEqual({ promptsListChanged: true, resourcesListChanged: true });
    expect(await acknowledged(await listen({}))).toEqual({});
  });

  it('names the resources that are there and permitted, each once', async () => {
    const uris = ['x:b', 'x:a', 'x:b', 'x:nope', 'x:secret', 'y:1', 'y:%', ''];
    expect(await acknowledged(await listen({ resourceSubscriptions: uris }))).toEqual({
      resourceSubscriptions: ['x:b', 'x:a', 'y:1'],
    });
    expect(served.errors).toEqual([]);
  });

  it('waits for the authorizer once, however many resources are asked for', async () => {
    const uris = Array.from({ length: 50 }, (_, n) => `y:${n}`);
    let asked = 0;
    let release!: () => void;
    const all = new Promise<void>((resolve) => (release = resolve));
    const target = await serve((server) => server.registerResource('family', 'y:{id}', {}, run), {
      server: {
        readAuthorizer: async () => {
          if ((asked += 1) === uris.length) release();
          await all;
          return allow();
        },
      },
    });
    try {
      expect(await acknowledged(await listen({ resourceSubscriptions: uris }, 'many', target))).toEqual({
        resourceSubscriptions: uris,
      });
    } finally {
      await target.close();
    }
  });

  it.each([0, 7, 's', '', '0'])('carries the id of its request in its own type: %j', async (id) => {
    const stream = await listen({ toolsListChanged: true }, id);
    await acknowledged(stream);
    served.server.notifyToolsChanged();
    await stream.find(({ method }) => method === 'notifications/tools/list_changed');
    expect(stream.events.map(({ message }) => subscriptionOf(message!))).toEqual([id, id]);
  });

  it.each<Record<string, unknown>>([
    { _meta: { a: 1 }, reason: 'x' },
    { _meta: undefined, reason: 'x' },
    { _meta: { 'io.modelcontextprotocol/subscriptionId': 5, a: 1 }, 0: 'x' },
    { _meta: null, reason: ':0}}}' },
  ])('comes with what an author says of a change, on every stream with its own id: %j', async ({ _meta, ...rest }) => {
    const streams = await Promise.all(['s', 0].map((id) => listen({ toolsListChanged: true }, id)));
    await Promise.all(streams.map(acknowledged));
    served.server.notify('notifications/tools/list_changed', { _meta, ...rest });
    for (const stream of streams) {
      const { params } = await stream.find(({ method }) => method === 'notifications/tools/list_changed');
      const { 'io.modelcontextprotocol/subscriptionId': _, ...meta } = (_meta ?? {}) as Record<string, unknown>;
      const id = stream === streams[0] ? 's' : 0;
      expect(params).toEqual({ ...rest, _meta: { ...meta, 'io.modelcontextprotocol/subscriptionId': id } });
    }
  });
});

describe('a filter that is none', () => {
  it.each([
    undefined,
    null,
    [],
    'x',
    5,
    { toolsListChanged: 'yes' },
    { promptsListChanged: 1 },
    { resourcesListChanged: null },
    { resourceSubscriptions: 'x:a' },
    { resourceSubscriptions: [5] },
    { resourceSubscriptions: { 0: 'x:a' } },
    { resourceSubscriptions: Array.from({ length: 1_001 }, (_, index) => `x:${index}`) },
  ])('is -32602 and opens no stream: %j', async (notifications) => {
    const reply = await modern(served).request('subscriptions/listen', { notifications });
    expect(reply.headers['content-type']).toMatch(/^application\/json/);
    expect(reply.response?.error?.code).toBe(-32602);
  });

  it('a client that takes no stream is told so', async () => {
    const headers = { Accept: 'application/json' };
    const params = { notifications: { toolsListChanged: true } };
    const reply = await modern(served).request('subscriptions/listen', params, { headers });
    expect(reply.response?.error?.code).toBe(-32600);
  });
});

describe('a stream', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#opening-a-stream
  it.each([
    [{ toolsListChanged: true }, ['notifications/tools/list_changed']],
    [{ promptsListChanged: true }, ['notifications/prompts/list_changed']],
    [{ resourcesListChanged: true }, ['notifications/resources/list_changed']],
    [{ resourceSubscriptions: ['x:b', 'x:secret'] }, ['x:b']],
    [{ resourceSubscriptions: [] }, []],
    [{}, []],
  ])('MUST NOT carry what was not asked for: %j', async (filter, expected) => {
    const last = await listen({ toolsListChanged: true }, 'last');
    const stream = await listen(filter);
    await acknowledged(last);
    await acknowledged(stream);
    changeAll(served.server);
    await last.find(({ method }) => method === 'notifications/tools/list_changed');
    for (const wanted of expected) await stream.find(({ method, params }) => (params?.uri ?? method) === wanted);
    // Whatever else was on its way has come by the time the server ends the stream.
    await served.close();
    await stream.ended;
    const notices = stream.events.slice(1).filter(({ message }) => message?.method !== undefined);
    expect(notices.map(({ message }) => message?.params?.uri ?? message?.method)).toEqual(expected);
  });

  it('has what happens to its caller’s lists', async () => {
    const stream = await listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true });
    await acknowledged(stream);
    const handles = [
      served.server.registerTool('later', {}, run),
      served.server.registerPrompt('later', {}, run),
      served.server.registerResource('later', 'x:later', {}, run),
      served.server.registerResource('later', 'z:{id}', {}, run),
    ];
    for (const kind of ['tools', 'prompts', 'resources']) {
      await stream.find(({ method }) => method === `notifications/${kind}/list_changed`);
    }
    const seen = stream.events.length;
    handles[0]!.remove();
    await stream.find(({ method }) => method === 'notifications/tools/list_changed');
    expect(stream.events.length).toBeGreaterThan(seen);
  });

  it('ends for the server when the client closes it', async () => {
    const stream = await listen({ toolsListChanged: true });
    await acknowledged(stream);
    expect(served.router.stats().streams).toBe(1);
    stream.close();
    await eventually(() => served.router.stats().streams === 0);
    served.server.notifyToolsChanged();
    expect(served.errors).toEqual([]);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#graceful-closure
  it('that the server ends SHOULD have its result, and then be closed', async () => {
    const stream = await listen({ toolsListChanged: true }, 0);
    await acknowledged(stream);
    await served.close();
    await stream.ended;
    expect(stream.events.at(-1)?.message).toMatchObject({
      id: 0,
      result: { resultType: 'complete', _meta: { [idKey]: 0 } },
    });
  });
});

describe('without HTTP', () => {
  const start = () => join(createServer(registerAll), { revision: modernRevision });

  it('two share a connection, told apart by their ids', async () => {
    const server = createServer(registerAll);
    const client = await join(server, { revision: modernRevision });
    const listening = [
      client.request('subscriptions/listen', { notifications: { toolsListChanged: true } }, { id: 0 }),
      client.request('subscriptions/listen', { notifications: { resourceSubscriptions: ['x:a'] } }, { id: '0' }),
    ];
    await client.find((message) => isAck(message) && subscriptionOf(message) === 0);
    await client.find((message) => isAck(message) && subscriptionOf(message) === '0');
    changeAll(server);
    await client.find(({ method }) => method === 'notifications/tools/list_changed');
    expect(
      client.heard.slice(2).map((message) => [message.params?.uri ?? message.method, subscriptionOf(message)]),
    ).toEqual([
      ['x:a', '0'],
      ['notifications/tools/list_changed', 0],
    ]);
    client.close();
    const results = await Promise.all(listening);
    expect(results.map((message) => subscriptionOf(message))).toEqual([0, '0']);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#cancellation
  it('ends without an answer when the client cancels it', async () => {
    const client = await start();
    const message = { notifications: { toolsListChanged: true } };
    const listening = client.request('subscriptions/listen', message, { id: 7 });
    await client.find(isAck);
    await client.notify('notifications/cancelled', { requestId: 7 });
    await expect(listening).rejects.toThrow('subscriptions/listen was not answered');
    client.close();
  });

  /** A server that decides about reads when it is told to. */
  function createUndecided(): { server: McpServer; decide: () => void } {
    let decide = (): void => undefined;
    const waiting = new Promise<void>((resolve) => (decide = resolve));
    const slow: ReadAuthorizer = async () => {
      await waiting;
      return allow();
    };
    return { server: createServer(registerAll, { server: { readAuthorizer: slow } }), decide };
  }

  it('ends when it is cancelled before it began', async () => {
    const { server, decide } = createUndecided();
    const client = await join(server, { revision: modernRevision });
    const params = { notifications: { resourceSubscriptions: ['x:a'] } };
    const listening = client.request('subscriptions/listen', params, { id: 7 });
    await client.notify('notifications/cancelled', { requestId: 7 });
    decide();
    await expect(listening).rejects.toThrow('subscriptions/listen was not answered');
    server.notifyResourceUpdated('x:a');
    expect(client.heard).toEqual([]);
    client.close();
  });

  it('ends when its connection closes before it began, and whoever listens there next hears nothing of it', async () => {
    const { server, decide } = createUndecided();
    const client = await join(server, { revision: modernRevision });
    const params = { notifications: { resourceSubscriptions: ['x:a'] } };
    const listening = client.request('subscriptions/listen', params);
    client.close();
    const next = await join(server, { revision: modernRevision, connection: client.connection });
    decide();
    await expect(listening).rejects.toThrow('subscriptions/listen was not answered');
    server.notifyResourceUpdated('x:a');
    expect(next.heard).toEqual([]);
    next.close();
  });

  it('ends at once with its connection: whoever listens there next hears nothing of it', async () => {
    const server = createServer(registerAll);
    const client = await join(server, { revision: modernRevision });
    const listening = client.request('subscriptions/listen', { notifications: { toolsListChanged: true } }, { id: 7 });
    await client.find(isAck);
    client.close();
    const heard: unknown[] = [];
    const stop = server.subscribe((message) => heard.push(message), client.connection);
    server.notifyToolsChanged();
    expect(subscriptionOf(await listening)).toBe(7);
    expect(heard).toEqual([]);
    stop();
  });

  it('ends when its listener goes as the acknowledgement comes', async () => {
    const server = createServer(registerAll);
    const connection = {};
    const stop = server.subscribe(() => stop(), connection);
    const { body } = modernRequest('subscriptions/listen', { notifications: { toolsListChanged: true } });
    expect(await server.handleMessage(body, connection)).toBeUndefined();
  });
});
