/** `handleMessage` and `subscribe`: the whole server without HTTP, for tests and other transports. */
import type { Connection, Context, McpServer } from 'express-mcp';
import * as z from 'zod';
import type { Message } from './support/exchange';
import { join, textOfMessage } from './support/memory';
import { latestLegacy, modernRevision, revisions } from './support/schema';
import { createServer } from './support/serve';
import { initializeMessage, modernRequest } from './support/wire';

/** Opened by the tool `release`. */
let release = (): void => undefined;
const aborted: unknown[] = [];

function registerAll(server: McpServer): void {
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => text);
  server.registerTool('who', {}, (_args, { transport, principal, auth, era, sessionId, request }) =>
    JSON.stringify({ transport, principal, scopes: auth?.scopes, era, sessionId, request: request !== undefined }),
  );
  server.registerTool('hold', {}, async (_args, { signal, progress }) => {
    progress(1);
    await new Promise<void>((resolve) => {
      release = resolve;
      signal.addEventListener('abort', () => {
        aborted.push(signal.reason);
        resolve();
      });
    });
    return 'released';
  });
  server.registerTool('release', {}, () => {
    release();
    return 'done';
  });
  server.registerTool('steps', {}, (_args, context) => {
    for (const step of [1, 2]) context.progress(step, 2);
    context.log('warning', 'careful');
    return 'done';
  });
  const schema = z.object({ name: z.string() });
  server.registerTool('ask', {}, async (_args, context: Context) =>
    JSON.stringify(await context.elicit('name', { message: 'Who?', schema })),
  );
  server.registerTool('ask-many', { inputSchema: z.object({ count: z.number() }) }, async ({ count }, context) => {
    const keys = Array.from({ length: count }, (_, index) => `q${index}`);
    const answers = await Promise.allSettled(keys.map((key) => context.elicit(key, { message: key, schema })));
    return answers.map(({ status }) => (status === 'fulfilled' ? 'answered' : 'not')).join();
  });
}

const request = (method: string, params?: object, id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params });
const forms = { elicitation: {} };
const isQuestion = ({ method, id }: Message) => method === 'elicitation/create' && id !== undefined;

let server: McpServer;
beforeEach(() => {
  server = createServer(registerAll);
  aborted.splice(0);
});

describe('without a connection', () => {
  it('ordinary requests work, in both eras', async () => {
    expect(await server.handleMessage(request('ping'))).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    const call = { name: 'echo', arguments: { text: 'hi' } };
    for (const message of [request('tools/call', call), modernRequest('tools/call', call).body]) {
      expect(textOfMessage((await server.handleMessage(message)) as Message)).toBe('hi');
    }
    const offer = (await server.handleMessage(initializeMessage())) as Message;
    expect(offer.result).toMatchObject({ protocolVersion: latestLegacy, capabilities: { tools: {} } });
  });

  it('nothing can be asked of a legacy client', async () => {
    await server.handleMessage(initializeMessage(latestLegacy, forms));
    const answer = (await server.handleMessage(request('tools/call', { name: 'ask' }))) as Message;
    expect(answer.result).toMatchObject({ isError: true });
  });

  it('one call knows nothing of another', async () => {
    await server.handleMessage(initializeMessage('2025-03-26'));
    expect(await server.handleMessage([request('ping')])).toMatchObject({ error: { code: -32600 } });
  });
});

describe('any value at all', () => {
  const deep = JSON.parse('['.repeat(5_000) + ']'.repeat(5_000)) as unknown;
  it.each([
    [undefined],
    [null],
    [5],
    ['text'],
    [true],
    [{}],
    [[]],
    [[[]]],
    [[1, 2]],
    [10n],
    [Symbol('x')],
    [() => undefined],
    [{ jsonrpc: '2.0' }],
    [{ jsonrpc: '2.0', id: 1 }],
    [{ jsonrpc: '2.0', id: null, method: 'ping' }],
    [{ jsonrpc: '2.0', id: 1, method: 'ping', params: [] }],
    [{ jsonrpc: '2.0', id: 1, method: 5 }],
    [{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { arguments: deep } }],
  ])('is answered with an error, never with a rejection: %p', async (message) => {
    for (const connection of [undefined, {}]) {
      const answer = (await server.handleMessage(message, connection)) as Message;
      expect(answer).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } });
    }
  });

  it.each([
    [{ jsonrpc: '2.0', method: 'notifications/cancelled' }],
    [{ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: {} } }],
    [{ jsonrpc: '2.0', method: 'notifications/none' }],
    [{ jsonrpc: '2.0', id: 'nobody asked', result: {} }],
    [{ jsonrpc: '2.0', id: 1, error: { code: 1, message: '' } }],
  ])('that wants no answer has none: %j', async (message) => {
    const client = await join(server);
    expect(await client.send(message)).toBeUndefined();
    expect(await server.handleMessage(message)).toBeUndefined();
    client.close();
  });
});

describe('an answer', () => {
  it.each(revisions)('is plain data, the second time too: %s', async (revision) => {
    const client = await join(server, { revision });
    const lists = [await client.request('tools/list'), await client.request('tools/list')];
    for (const list of lists) {
      expect(list.result?.tools).toHaveLength(7);
      expect(structuredClone(list)).toEqual(list);
      expect(JSON.parse(JSON.stringify(list))).toEqual(list);
    }
    client.close();
  });

  it('is its caller’s own: changing it changes no other', async () => {
    const client = await join(server);
    const first = await client.request('tools/list');
    (first.result!.tools as unknown[]).length = 0;
    expect((await client.request('tools/list')).result?.tools).toHaveLength(7);
    client.close();
  });
});

describe.each([latestLegacy, modernRevision] as const)('a connection, %s', (revision) => {
  it('is read on while a call is pending', async () => {
    const client = await join(server, { revision });
    const held = client.callTool('hold', {}, { meta: { progressToken: 1 } });
    await client.find(({ method }) => method === 'notifications/progress');
    expect(textOfMessage(await client.callTool('echo', { text: 'meanwhile' }))).toBe('meanwhile');
    await client.callTool('release');
    expect(textOfMessage(await held)).toBe('released');
    client.close();
  });

  it('hears progress and logs before the answer', async () => {
    const client = await join(server, { revision });
    const meta = { progressToken: 't', 'io.modelcontextprotocol/logLevel': 'warning' };
    await client.callTool('steps', {}, { meta });
    expect(client.heard.map(({ params }) => params?.progress ?? params?.data)).toEqual([1, 2, 'careful']);
    client.close();
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation
  it('cancels a call: its signal aborts, and it SHOULD NOT be answered', async () => {
    const client = await join(server, { revision });
    const held = client.callTool('hold', {}, { id: 'h', meta: { progressToken: 1 } });
    await client.find(({ method }) => method === 'notifications/progress');
    await client.notify('notifications/cancelled', { requestId: 'other', reason: 'no such call' });
    expect(aborted).toEqual([]);
    await client.notify('notifications/cancelled', { requestId: 'h', reason: 'changed my mind' });
    await expect(held).rejects.toThrow('tools/call was not answered');
    expect(aborted).toEqual([new Error('changed my mind')]);
    client.close();
  });

  it('cannot cancel a call of another', async () => {
    const [client, other] = [await join(server, { revision }), await join(server, { revision })];
    const held = client.callTool('hold', {}, { id: 'h', meta: { progressToken: 1 } });
    await client.find(({ method }) => method === 'notifications/progress');
    await other.notify('notifications/cancelled', { requestId: 'h' });
    expect(aborted).toEqual([]);
    release();
    expect(textOfMessage(await held)).toBe('released');
    client.close();
    other.close();
  });

  it('takes what it has running with it when it closes', async () => {
    const client = await join(server, { revision });
    const held = client.callTool('hold', {}, { meta: { progressToken: 1 } });
    await client.find(({ method }) => method === 'notifications/progress');
    client.close();
    client.close();
    await expect(held).rejects.toThrow('was not answered');
    expect(aborted).toHaveLength(1);
  });

  it('says who it is, and nothing it has not said', async () => {
    const auth = { principal: 'alice', scopes: ['read'] };
    const said = async (connection: Connection) => {
      const client = await join(server, { revision, connection });
      const { sessionId, ...rest } = JSON.parse(textOfMessage(await client.callTool('who'))!) as Record<
        string,
        unknown
      >;
      expect(sessionId === undefined).toBe(revision === modernRevision);
      client.close();
      return rest;
    };
    const era = revision === modernRevision ? 'modern' : 'legacy';
    expect(await said({})).toEqual({ transport: 'memory', era, request: false });
    expect(await said({ transport: 'stdio', principal: 'bob' })).toEqual({
      transport: 'stdio',
      principal: 'bob',
      era,
      request: false,
    });
    expect(await said({ auth })).toEqual({
      transport: 'memory',
      principal: 'alice',
      scopes: ['read'],
      era,
      request: false,
    });
  });

  it('is served beside one of the other era on the same object', async () => {
    const connection = {};
    const legacy = await join(server, { connection });
    const modern = await join(server, { connection, revision: modernRevision, listening: false });
    expect(textOfMessage(await modern.callTool('who'))).toContain('"modern"');
    expect(textOfMessage(await legacy.callTool('who'))).toContain('"legacy"');
    legacy.close();
  });
});

describe('a question', () => {
  it('reaches a legacy client while its call is pending, and the answer comes as another message', async () => {
    const client = await join(server, { capabilities: forms });
    const call = client.callTool('ask');
    const { id, params } = await client.find(isQuestion);
    expect(params).toMatchObject({ message: 'Who?' });
    const result = { action: 'accept', content: { name: 'Ada' } };
    expect(await client.send({ jsonrpc: '2.0', id, result })).toBeUndefined();
    expect(JSON.parse(textOfMessage(await call)!)).toEqual(result);
    client.close();
  });

  it('is answered by the client that was asked, and by no other', async () => {
    const [client, other] = [await join(server, { capabilities: forms }), await join(server, { capabilities: forms })];
    const call = client.callTool('ask');
    const { id } = await client.find(isQuestion);
    await other.send({ jsonrpc: '2.0', id, result: { action: 'accept', content: { name: 'Eve' } } });
    await client.send({ jsonrpc: '2.0', id, result: { action: 'decline' } });
    expect(textOfMessage(await call)).toBe('{"action":"decline"}');
    client.close();
    other.close();
  });

  it('is an answer to a modern client, which calls again', async () => {
    const client = await join(server, { revision: modernRevision, capabilities: forms });
    const { result } = await client.callTool('ask');
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { name: { method: 'elicitation/create' } },
    });
    const again = await client.request('tools/call', {
      name: 'ask',
      inputResponses: { name: { action: 'accept', content: { name: 'Ada' } } },
      requestState: result?.requestState,
    });
    expect(textOfMessage(again)).toBe('{"action":"accept","content":{"name":"Ada"}}');
    client.close();
  });

  it('that nobody listens to is not asked', async () => {
    const deaf = await join(server, { capabilities: forms, listening: false });
    expect((await deaf.callTool('ask')).result).toMatchObject({ isError: true });
  });

  it('goes with its connection', async () => {
    const client = await join(server, { capabilities: forms });
    const call = client.callTool('ask');
    await client.find(isQuestion);
    client.close();
    await expect(call).rejects.toThrow('was not answered');
  });

  it('may be one of sixteen', async () => {
    const client = await join(server, { capabilities: forms });
    const call = client.callTool('ask-many', { count: 17 });
    for (let n = 0; n < 16; n += 1) {
      const { id } = await client.find(isQuestion);
      await client.send({ jsonrpc: '2.0', id, result: { action: 'accept', content: { name: 'x' } } });
    }
    expect(textOfMessage(await call)).toBe(`${'answered,'.repeat(16)}not`);
    client.close();
  });
});

describe('a batch', () => {
  const batch = [
    request('ping', {}, 1),
    { jsonrpc: '2.0', method: 'notifications/none' },
    request('tools/call', { name: 'echo', arguments: { text: 'hi' } }, 'two'),
    5,
    request('no/such', {}, 3),
  ];

  // https://modelcontextprotocol.io/specification/2025-03-26/basic#batching: MUST support receiving batches
  it('of 2025-03-26 MUST be served, each element on its own', async () => {
    const client = await join(server, { revision: '2025-03-26' });
    expect(await client.send(batch)).toEqual([
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 'two', result: { content: [{ type: 'text', text: 'hi' }] } },
      { jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) } },
      { jsonrpc: '2.0', id: 3, error: { code: -32601, message: expect.any(String) } },
    ]);
    client.close();
  });

  it('of what wants no answer has none', async () => {
    const client = await join(server, { revision: '2025-03-26' });
    expect(await client.send([batch[1], { jsonrpc: '2.0', id: 9, result: {} }])).toBeUndefined();
    client.close();
  });

  it('runs its elements beside each other', async () => {
    const client = await join(server, { revision: '2025-03-26' });
    const held = request('tools/call', { name: 'hold', _meta: { progressToken: 1 } }, 1);
    const answer = client.send([held, request('tools/call', { name: 'release' }, 2)]);
    expect((await answer) as Message[]).toHaveLength(2);
    client.close();
  });

  it.each([0, 101])('of %i is one -32600', async (length) => {
    const client = await join(server, { revision: '2025-03-26' });
    const answer = await client.send(Array.from({ length }, (_, index) => request('ping', {}, index)));
    expect(answer).toEqual({ jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) } });
    expect(await client.send(Array.from({ length: 100 }, (_, index) => request('ping', {}, index)))).toHaveLength(100);
    client.close();
  });

  it.each(revisions.filter((revision) => revision !== '2025-03-26'))(
    'of %s is one -32600, and nothing of it runs',
    async (revision) => {
      const client = await join(server, { revision });
      expect(await client.send(batch)).toMatchObject({ error: { code: -32600 } });
      client.close();
    },
  );
});

describe('a listener', () => {
  it('that throws harms neither the call nor the others', async () => {
    const errors: unknown[] = [];
    const faulty = createServer(registerAll, { errors });
    const connection = {};
    const failure = new Error('listener');
    const stop = faulty.subscribe(() => {
      throw failure;
    }, connection);
    const client = await join(faulty, { connection });
    const answer = await client.callTool('steps', {}, { meta: { progressToken: 1 } });
    expect(textOfMessage(answer)).toBe('done');
    expect(client.heard).toHaveLength(3);
    expect(errors).toEqual([failure, failure, failure]);
    stop();
    client.close();
  });

  it('may go while another stays', async () => {
    const connection = {};
    const heard: unknown[] = [];
    const stop = server.subscribe((message) => heard.push(message), connection);
    const client = await join(server, { connection });
    stop();
    stop();
    server.notifyToolsChanged();
    expect(heard).toEqual([]);
    expect(client.heard).toHaveLength(1);
    client.close();
  });
});

describe('initialize', () => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization: MUST be the first interaction
  it('happens once per connection', async () => {
    const client = await join(server);
    expect(await client.send(initializeMessage())).toMatchObject({ id: 'init', error: { code: -32600 } });
    expect((await client.request('ping')).result).toEqual({});
    client.close();
  });

  it('begins again where the connection has closed', async () => {
    const first = await join(server, { revision: '2025-03-26' });
    first.close();
    const second = await join(server, { connection: first.connection });
    expect(second.initializeResult).toMatchObject({ protocolVersion: latestLegacy });
    server.notifyToolsChanged();
    expect(second.heard).toHaveLength(1);
    second.close();
  });
});
