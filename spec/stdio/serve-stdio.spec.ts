/** serveStdio over two pipes: both eras, questions, subscriptions, the end. */
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { allowAll, deny, McpServer } from 'express-mcp';
import type { Context, McpServerOptions } from 'express-mcp';
import { serveStdio } from 'express-mcp/stdio';
import * as z from 'zod';
import { initialize, serveLines } from '../support/lines';
import { textOfMessage } from '../support/memory';
import { modernRevision, revisions } from '../support/schema';
import type { Revision } from '../support/schema';
import { registerFeatures, registerTools } from '../support/tools';
import type { Probe } from '../support/tools';
import { watchTimers } from '../support/timers';

interface TestServer extends Probe {
  server: McpServer;
  /** Resolves when a tool starts, ends or is aborted so that `condition` holds. */
  until(condition: () => boolean): Promise<void>;
}

function createServer(options: McpServerOptions = {}): TestServer {
  const looks = new Set<() => void>();
  const probe: Probe = { ran: [], ended: [], aborted: [], calls: [], changed: () => looks.forEach((look) => look()) };
  const server = new McpServer(
    { name: 'lines', version: '1.0.0' },
    { authorizer: allowAll, readAuthorizer: allowAll, ...options },
  );
  registerTools(server, probe);
  registerFeatures(server);
  const until = (condition: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!condition()) return;
        looks.delete(look);
        resolve();
      };
      looks.add(look);
      look();
    });
  return { ...probe, server, until };
}

describe('a server over stdio', () => {
  it.each(revisions)('serves a client of %s', async (revision) => {
    const client = serveLines(createServer().server, { revision });
    if (revision !== modernRevision) {
      const { result } = await initialize(client, revision);
      expect(result).toMatchObject({ protocolVersion: revision, capabilities: { tools: { listChanged: true } } });
    }
    const list = await client.request('tools/list');
    expect(list.result?.tools).toContainEqual(expect.objectContaining({ name: 'echo' }));
    const call = await client.request('tools/call', { name: 'echo', arguments: { text: 'hi' } });
    expect(textOfMessage(call)).toBe('hi');
    const read = await client.request('resources/read', { uri: 'item://7' });
    expect(read.result?.contents).toEqual([{ uri: 'item://7', mimeType: 'text/plain', text: 'Item 7' }]);
    await client.serving.close();
    expect(client.errors).toEqual([]);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
  it('serves both eras on one pair of streams', async () => {
    const { server } = createServer();
    const client = serveLines(server, { revision: '2025-11-25' });
    await initialize(client);
    const era = { name: 'era', arguments: {} };
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': modernRevision,
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    expect(textOfMessage(await client.request('tools/call', era))).toBe('legacy 2025-11-25');
    expect(textOfMessage(await client.request('tools/call', { ...era, _meta }))).toBe('modern 2026-07-28');
    expect(textOfMessage(await client.request('tools/call', era))).toBe('legacy 2025-11-25');
    await client.serving.close();
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic#meta
  it('MUST reject with -32602 a request that has neither initialize before it nor the fields in _meta', async () => {
    const { server, ran } = createServer();
    const client = serveLines(server, { revision: '2025-11-25' });
    const call = { name: 'echo', arguments: { text: 'hi' } };
    expect((await client.request('tools/call', call)).error?.code).toBe(-32602);
    expect((await client.request('server/discover')).error?.code).toBe(-32602);
    expect((await client.request('ping')).result).toEqual({});
    expect(ran).toEqual([]);
    await client.serving.close();
  });

  it('tells the authorizer the transport, and who was said to be the client', async () => {
    const seen: (readonly [Context['transport'], string | undefined])[] = [];
    const authorizer = (_call: unknown, { transport, principal }: Context) => {
      seen.push([transport, principal]);
      return deny('Only for the record');
    };
    const { server } = createServer({ authorizer });
    const client = serveLines(server, { principal: 'ada' });
    await client.request('tools/list');
    expect(new Set(seen.map(String))).toEqual(new Set(['stdio,ada']));
    await client.serving.close();
  });

  it('carries what a call sends before its result, in that order', async () => {
    const client = serveLines(createServer().server);
    const _meta = { progressToken: 0 };
    await client.request('tools/call', { name: 'progress', arguments: {}, _meta }, { id: 'p' });
    expect(client.received.map(({ id, params }) => id ?? params?.progress)).toEqual([1, 2, 3, 'p']);
    await client.serving.close();
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#cancellation
  it('MUST NOT send any further messages for a request that the client cancels', async () => {
    const { server, until, ran, aborted } = createServer();
    const client = serveLines(server);
    void client.request('tools/call', { name: 'hold', arguments: {} }, { id: 7 });
    await until(() => ran.length === 1);
    client.notify('notifications/cancelled', { requestId: 7 });
    await until(() => aborted.includes(7));
    await client.request('tools/call', { name: 'nothing', arguments: {} }, { id: 8 });
    expect(client.received.map(({ id }) => id)).toEqual([8]);
    await client.serving.close();
  });

  it('serves batches as lines, to clients of 2025-03-26 alone', async () => {
    const { server } = createServer();
    const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });
    const batching = serveLines(server, { revision: '2025-03-26' });
    await initialize(batching, '2025-03-26');
    batching.send([ping(1), { jsonrpc: '2.0', method: 'notifications/x' }, ping(2)]);
    const batch = (await batching.next(Array.isArray)) as unknown;
    expect(batch).toEqual([1, 2].map((id) => ({ jsonrpc: '2.0', id, result: {} })));
    await batching.serving.close();

    const other = serveLines(server, { revision: '2025-06-18' });
    await initialize(other, '2025-06-18');
    other.send([ping(1), ping(2)]);
    const refusal = await other.next(({ error }) => error !== undefined);
    expect([refusal.id, refusal.error?.code]).toEqual([undefined, -32600]);
    await other.serving.close();
  });
});

describe('a question over stdio', () => {
  const asking = () => {
    const { server } = createServer();
    server.registerTool('deploy', { inputSchema: z.object({ env: z.string() }) }, async ({ env }, ctx) => {
      const schema = z.object({ ok: z.boolean() });
      const [first, second] = await Promise.all([
        ctx.elicit('first', { message: `Deploy to ${env}?`, schema }),
        ctx.elicit('second', { message: 'Really?', schema }),
      ]);
      return `${first.content?.ok} ${second.content?.ok}`;
    });
    return server;
  };
  const call = { name: 'deploy', arguments: { env: 'prod' } };
  const answer = { action: 'accept', content: { ok: true } };

  it('is a request of its own to a legacy client, whose answer overtakes the call that waits for it', async () => {
    const client = serveLines(asking(), { revision: '2025-11-25' });
    await initialize(client, '2025-11-25', { elicitation: {} });
    const deploying = client.request('tools/call', call);
    for (const message of ['Deploy to prod?', 'Really?']) {
      const question = await client.next(({ method }) => method === 'elicitation/create');
      expect(question.params?.message).toBe(message);
      client.send({ jsonrpc: '2.0', id: question.id, result: answer });
    }
    expect(textOfMessage(await deploying)).toBe('true true');
    await client.serving.close();
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#receiving-messages
  it('MUST NOT be a request to a modern client: the result asks, and the retry answers', async () => {
    const client = serveLines(asking(), { capabilities: { elicitation: {} } });
    const { result } = await client.request('tools/call', call);
    expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { first: {}, second: {} } });
    const inputResponses = { first: answer, second: answer };
    const retry = await client.request('tools/call', { ...call, inputResponses, requestState: result?.requestState });
    expect(textOfMessage(retry)).toBe('true true');
    expect(client.received.filter(({ method }) => method !== undefined)).toEqual([]);
    await client.serving.close();
  });

  it('is denied when the client goes before it has answered', async () => {
    const { server, ran } = createServer({
      authorizer: () => ({ decision: 'elicit', prompt: { message: 'May it?' } }),
    });
    const client = serveLines(server, { revision: '2025-11-25' });
    await initialize(client, '2025-11-25', { elicitation: {} });
    void client.request('tools/call', { name: 'nothing', arguments: {} });
    await client.next(({ method }) => method === 'elicitation/create');
    client.stdin.end();
    await client.serving.closed;
    expect(ran).toEqual([]);
  });
});

describe('changes over stdio', () => {
  it('reach an initialized legacy client by themselves', async () => {
    const { server } = createServer();
    const client = serveLines(server, { revision: '2025-11-25' });
    await initialize(client);
    await client.request('resources/subscribe', { uri: 'file:///readme.txt' });
    server.notifyResourceUpdated('file:///other.txt');
    server.notifyResourceUpdated('file:///readme.txt');
    server.notifyToolsChanged();
    await client.next(({ method }) => method === 'notifications/tools/list_changed');
    const updates = client.received.filter(({ method }) => method === 'notifications/resources/updated');
    expect(updates.map(({ params }) => params?.uri)).toEqual(['file:///readme.txt']);
    await client.serving.close();
  });

  const listening = async () => {
    const { server } = createServer();
    const client = serveLines(server);
    const result = client.request('subscriptions/listen', { notifications: { toolsListChanged: true } }, { id: 0 });
    await client.next(({ method }) => method === 'notifications/subscriptions/acknowledged');
    server.notifyToolsChanged();
    const notice = await client.next(({ method }) => method === 'notifications/tools/list_changed');
    // Clients tell subscriptions apart by it: 0 stays a number.
    expect(notice.params?._meta).toEqual({ 'io.modelcontextprotocol/subscriptionId': 0 });
    return { server, client, result };
  };

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#graceful-closure
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation
  it('SHOULD end with a result, and MUST send notifications/cancelled, when the server closes', async () => {
    const { client, result } = await listening();
    await client.serving.close();
    expect((await result).result).toMatchObject({
      resultType: 'complete',
      _meta: { 'io.modelcontextprotocol/subscriptionId': 0 },
    });
    expect(client.received.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 0 } });
  });

  it('end without a word when the client cancels', async () => {
    const { server, client } = await listening();
    const before = client.received.length;
    client.notify('notifications/cancelled', { requestId: 0 });
    await client.request('tools/list', {}, { id: 1 });
    server.notifyToolsChanged();
    await client.request('tools/list', {}, { id: 2 });
    await client.serving.close();
    expect(client.received.slice(before).map(({ id }) => id)).toEqual([1, 2]);
  });
});

describe('the end of stdio', () => {
  it.each(['legacy', 'modern'])('cancels what runs when stdin ends (%s)', async (era) => {
    const { server, until, ran, aborted } = createServer();
    const revision: Revision = era === 'legacy' ? '2025-11-25' : modernRevision;
    const client = serveLines(server, { revision });
    if (era === 'legacy') await initialize(client);
    void client.request('tools/call', { name: 'hold', arguments: {} }, { id: 3 });
    await until(() => ran.length === 1);
    client.stdin.end();
    await client.serving.closed;
    expect(aborted).toEqual([3]);
    expect(client.received.filter(({ id }) => id === 3)).toEqual([]);
  });

  it('waits for running calls on close(), refuses new ones, and lets questions be answered', async () => {
    const { server } = createServer();
    const client = serveLines(server, { revision: '2025-11-25' });
    await initialize(client, '2025-11-25', { elicitation: {} });
    const asked = client.request('tools/call', { name: 'ask', arguments: {} });
    const question = await client.next(({ method }) => method === 'elicitation/create');
    const closed = client.serving.close();
    expect((await client.request('ping')).error).toEqual({ code: -32600, message: 'The server is shutting down' });
    client.send({ jsonrpc: '2.0', id: question.id, result: { action: 'decline' } });
    expect(textOfMessage(await asked)).toBe('{"action":"decline"}');
    await closed;
  });

  it('cancels running calls on close() once the grace has passed', async () => {
    const { server, until, ran, aborted } = createServer();
    const client = serveLines(server);
    void client.request('tools/call', { name: 'hold', arguments: {} }, { id: 3 });
    await until(() => ran.length === 1);
    await client.serving.close({ graceMs: 1 });
    expect(aborted).toEqual([3]);
  });

  it('waits on close() as long as it takes, where the grace is that', async () => {
    const { server } = createServer();
    const client = serveLines(server, { revision: '2025-11-25' });
    await initialize(client, '2025-11-25', { elicitation: {} });
    const asked = client.request('tools/call', { name: 'ask', arguments: {} });
    const question = await client.next(({ method }) => method === 'elicitation/create');
    const timers = watchTimers();
    const closed = client.serving.close({ graceMs: Infinity });
    expect(timers.pending()).toEqual([2 ** 31 - 1]);
    timers.restore();
    client.send({ jsonrpc: '2.0', id: question.id, result: { action: 'decline' } });
    expect(textOfMessage(await asked)).toBe('{"action":"decline"}');
    await closed;
  });

  it.each([-1, NaN, '5', null])('is not begun by close() with a grace of %p', async (graceMs) => {
    const client = serveLines(createServer().server);
    await expect(client.serving.close({ graceMs: graceMs as number })).rejects.toThrow(RangeError);
    expect((await client.request('tools/list')).result).toBeDefined();
    await client.serving.close();
  });

  it('comes once, whoever asks, and leaves nothing on the streams', async () => {
    const { server } = createServer();
    const client = serveLines(server);
    const before = new PassThrough();
    await Promise.all([client.serving.close(), client.serving.close(), client.serving.closed]);
    await client.serving.close();
    expect(client.stdin.eventNames()).toEqual(before.eventNames());
    expect(client.stdin.isPaused()).toBe(true);
    expect(client.stdout.listenerCount('error')).toBe(0);
    client.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
    await new Promise(setImmediate);
    expect(client.received).toEqual([]);
  });

  it('comes at once on streams that have ended before', async () => {
    const { server } = createServer();
    const stdin = Readable.from([]);
    stdin.resume();
    await once(stdin, 'end');
    await serveStdio(server, { stdin, stdout: new PassThrough() }).closed;
  });

  it.each(['stdin', 'stdout'] as const)('comes with a broken %s, and onError hears why', async (name) => {
    const client = serveLines(createServer().server);
    client[name].destroy(new Error('broken'));
    await client.serving.closed;
    expect(client.errors).toEqual([new Error('broken')]);
  });

  it('takes a client that has gone (EPIPE) for an ordinary end', async () => {
    const client = serveLines(createServer().server);
    client.stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    await client.serving.closed;
    expect(client.errors).toEqual([]);
  });
});

describe('serveStdio()', () => {
  it('throws while a sensitive tool is registered and nobody has decided', () => {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough() };
    for (const options of [{}, { authorizer: allowAll, authorizerSource: 'default' }] as const) {
      const server = new McpServer({ name: 'x', version: '1' }, options);
      server.registerTool('wipe', { annotations: { destructiveHint: true } }, () => 'gone');
      expect(() => serveStdio(server, streams)).toThrow(/^serveStdio: "wipe" may do harm/);
    }
    // Nothing has been taken by the attempts.
    const decided = new McpServer({ name: 'x', version: '1' }, { authorizer: allowAll });
    decided.registerTool('wipe', { annotations: { destructiveHint: true } }, () => 'gone');
    return serveStdio(decided, streams).close();
  });

  it('denies a sensitive tool that comes later, while nobody has decided', async () => {
    const server = new McpServer({ name: 'x', version: '1' });
    const client = serveLines(server);
    server.registerTool('wipe', { sensitive: true }, () => 'gone');
    const { result } = await client.request('tools/call', { name: 'wipe', arguments: {} });
    expect(result).toMatchObject({ isError: true });
    await client.serving.close();
  });

  it('serves a pair of streams once at a time', async () => {
    const { server } = createServer();
    const { serving, stdin, stdout } = serveLines(server);
    expect(() => serveStdio(server, { stdin, stdout: new PassThrough() })).toThrow(/being served already/);
    expect(() => serveStdio(server, { stdin: new PassThrough(), stdout })).toThrow(/being served already/);
    await serving.close();
    await serveStdio(server, { stdin, stdout }).close();
  });

  it.each([
    [{ maxLineBytes: 0 }, 'serveStdio(…, { maxLineBytes }): must be a positive integer, got 0'],
    [{ maxCalls: 1.5 }, 'serveStdio(…, { maxCalls }): must be a positive integer, got 1.5'],
    [{ maxWaitingBytes: -1 }, 'serveStdio(…, { maxWaitingBytes }): must be a positive integer, got -1'],
    [{ principal: '' }, 'serveStdio(…, { principal }): must be a name'],
  ])('refuses %j', (options, message) => {
    const { server } = createServer();
    const streams = { stdin: new PassThrough(), stdout: new PassThrough() };
    expect(() => serveStdio(server, { ...streams, ...options })).toThrow(message);
  });

  it('refuses what is no McpServer', () => {
    expect(() => serveStdio({} as McpServer)).toThrow(TypeError);
  });
});
