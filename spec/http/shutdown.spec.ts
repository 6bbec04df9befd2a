/** close(): new work is refused, running work may finish, and nothing is left open. */
import { connect as connectSocket } from 'node:net';
import { inspect } from 'node:util';
import { mcpRouter, MemorySessionStore } from 'express-mcp';
import { connect, eras } from '../support/eras';
import { eventually } from '../support/eventually';
import { send } from '../support/exchange';
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { closeStalled, openStalled } from '../support/stalled';
import { initializeMessage, legacySession, modern, modernRequest, post, textOf } from '../support/wire';

let fixture: Fixture;
let release: () => void;
beforeEach(() => start());
afterEach(() => {
  closeStalled();
  return fixture.close();
});

async function start(router: FixtureOptions['router'] = {}): Promise<void> {
  const released = new Promise<void>((resolve) => (release = resolve));
  await fixture?.close();
  fixture = await createFixture({
    router,
    setup(server) {
      server.registerTool('work', {}, async () => {
        await released;
        return 'worked';
      });
      server.registerTool('ask-late', {}, async (_args, ctx) => {
        await released;
        return JSON.stringify(await ctx.elicit('late', { message: 'Late?', url: 'https://example.com' }));
      });
    },
  });
}

const calls = (count: number) => eventually(() => fixture.router.stats().calls === count);

/** How long the host's server takes to close, once the mount has. */
async function closeHttpServer(): Promise<number> {
  const startedAt = performance.now();
  await new Promise((resolve) => fixture.httpServer.close(resolve));
  return performance.now() - startedAt;
}

describe.each(eras)('while a mount closes, %s era', (era) => {
  it('a running call may finish within the grace, and is answered', async () => {
    const client = await connect(era, fixture);
    const call = client.callTool('work');
    await calls(1);
    const closing = fixture.router.close({ graceMs: 10_000 });
    release();
    expect(textOf(await call)).toBe('worked');
    await closing;
    expect(await closeHttpServer()).toBeLessThan(2_000);
  });

  it.each([2 ** 31, Infinity])('a grace of %d ms is as long as it takes', async (graceMs) => {
    const client = await connect(era, fixture);
    const call = client.callTool('work');
    await calls(1);
    const closing = fixture.router.close({ graceMs });
    expect((await client.request('tools/list')).status).toBe(503);
    release();
    expect(textOf(await call)).toBe('worked');
    await closing;
  });

  it('new work is refused with 503 and Retry-After', async () => {
    const client = await connect(era, fixture);
    const call = client.callTool('work');
    await calls(1);
    const closing = fixture.router.close({ graceMs: 10_000 });
    for (const reply of [
      await client.callTool('echo', { text: 'a' }),
      await client.notify('notifications/cancelled', { requestId: 'x' }),
      await post(fixture.url, initializeMessage()),
      await send(fixture.url, { method: 'GET', headers: { Accept: 'text/event-stream' } }),
      await send(fixture.url, { method: 'DELETE' }),
    ]) {
      expect([reply.status, reply.json?.error?.code]).toEqual([503, -32600]);
      expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect(fixture.ran).toEqual([]);
    release();
    await Promise.all([call, closing]);
  });

  it('a call that takes longer than the grace is aborted, and told', async () => {
    const client = await connect(era, fixture);
    const replies = [client.callTool('work', {}, { id: 'w' }), client.callTool('hold', {}, { id: 'h' })];
    await calls(2);
    await fixture.router.close({ graceMs: 20 });
    for (const [n, reply] of (await Promise.all(replies)).entries()) {
      expect([reply.status, reply.response?.id]).toEqual([503, ['w', 'h'][n]]);
      expect(reply.response?.error).toEqual({ code: -32603, message: 'The server is shutting down' });
    }
    expect(fixture.aborted).toEqual(['h']);
    expect(await closeHttpServer()).toBeLessThan(2_000);
    release();
  });

  it('a call that had become a stream is told there', async () => {
    const client = await connect(era, fixture);
    const call = await client.stream('tools/call', { name: 'report-and-hold', _meta: { progressToken: 1 } });
    await call.find(() => true);
    await fixture.router.close({ graceMs: 0 });
    expect((await call.find(({ error }) => error !== undefined)).error?.message).toBe('The server is shutting down');
    await call.ended;
    expect(await closeHttpServer()).toBeLessThan(2_000);
  });

  it('twice, or again afterwards, it is the same end', async () => {
    const client = await connect(era, fixture);
    const call = client.callTool('work');
    await calls(1);
    const closings = [fixture.router.close({ graceMs: 10_000 }), fixture.router.close()];
    release();
    await Promise.all([...closings, call]);
    await fixture.router.close({ graceMs: 0 });
    expect((await client.request('tools/list')).status).toBe(503);
  });

  it('a preflight and other origins are answered as ever', async () => {
    await fixture.router.close();
    const headers = { Origin: 'http://localhost:5173', 'Access-Control-Request-Method': 'POST' };
    expect((await send(fixture.url, { method: 'OPTIONS', headers })).status).toBe(204);
    const evil = { ...(await connect('modern', fixture)).headers('tools/list'), Origin: 'https://evil.example' };
    expect((await post(fixture.url, {}, evil)).status).toBe(403);
  });
});

describe('a grace that is none', () => {
  it.each([-1, NaN, '5', null])('is refused, and closes nothing: %p', async (graceMs) => {
    await expect(fixture.router.close({ graceMs: graceMs as number })).rejects.toThrow(
      new RangeError(
        `close({ graceMs }): graceMs must be milliseconds from 0 up, or Infinity, got ${inspect(graceMs)}`,
      ),
    );
    expect((await modern(fixture).request('tools/list')).status).toBe(200);
  });
});

describe('what listens when a mount closes', () => {
  it('ends at once: GET and listen streams do not use up the grace', async () => {
    const get = await (await legacySession(fixture)).get();
    const listening = await modern(fixture).stream('subscriptions/listen', { notifications: {} }, { id: 'l' });
    await listening.next();
    const startedAt = performance.now();
    await fixture.router.close({ graceMs: 10_000 });
    await Promise.all([get.ended, listening.ended]);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(fixture.router.stats()).toMatchObject({ sessions: 0, streams: 0, calls: 0 });
    expect(await closeHttpServer()).toBeLessThan(2_000);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
  it.each(['l', 0])('SHOULD be sent its completion result: id %j', async (id) => {
    const listening = await modern(fixture).stream('subscriptions/listen', { notifications: {} }, { id });
    await listening.next();
    await fixture.router.close({ graceMs: 10_000 });
    const { result } = await listening.find((message) => 'result' in message);
    expect(result).toMatchObject({ _meta: { 'io.modelcontextprotocol/subscriptionId': id } });
    await listening.ended;
    expect(listening.events.at(-1)?.message?.result).toBe(result);
  });

  it('does not hold it up when it does not read', async () => {
    await start({ maxSocketBytes: 64_000, inboxLimit: 100_000, inboxBytes: 100_000_000 });
    const session = await legacySession(fixture);
    await openStalled(fixture.url, { headers: session.headers, validate: false });
    const data = 'x'.repeat(100_000);
    for (let n = 0; n < 1_000 && fixture.router.stats().inbox === 0; n++) {
      fixture.server.notify('notifications/message', { level: 'info', data });
      await new Promise((resolve) => setImmediate(resolve));
    }
    await fixture.router.close({ graceMs: 50 });
    expect(await closeHttpServer()).toBeLessThan(2_000);
  });
});

describe('what waits for the human when a mount closes', () => {
  it('is denied, and its caller told', async () => {
    const session = await legacySession(fixture, { capabilities: { elicitation: {} } });
    const call = await session.stream('tools/call', { name: 'ask', arguments: {} });
    await call.find(({ method }) => method === 'elicitation/create');
    await fixture.router.close({ graceMs: 10_000 });
    const { result } = await call.find((message) => 'result' in message);
    expect(result?.isError).toBe(true);
    await call.ended;
    expect(fixture.router.stats().parked).toBe(0);
  });

  it('is not asked any more during the grace: no answer could come in', async () => {
    const session = await legacySession(fixture, { capabilities: { elicitation: { url: {} } } });
    const call = session.callTool('ask-late');
    await calls(1);
    const closing = fixture.router.close({ graceMs: 10_000 });
    release();
    const reply = await call;
    expect([reply.messages.length, reply.response?.result?.isError]).toEqual([1, true]);
    await closing;
  });
});

describe('the sessions of a mount that closes', () => {
  it('end, and their owner hears why', async () => {
    const ends: unknown[] = [];
    await start({ onSessionEnd: (end) => ends.push(end) });
    const { sessionId } = await legacySession(fixture);
    await fixture.router.close();
    expect(ends).toEqual([{ sessionId, principal: undefined, reason: 'shutdown' }]);
    expect(fixture.router.stats()).toMatchObject({ sessions: 0, sessionsEnded: { shutdown: 1 } });
  });

  it('are not those of another mount of the same server', async () => {
    const second = mcpRouter(fixture.server);
    fixture.app.use('/second', second);
    const session = await legacySession({ url: fixture.url.replace('/mcp', '/second') });
    await fixture.router.close();
    const stream = await session.get();
    fixture.server.notifyToolsChanged();
    await stream.find(({ method }) => method === 'notifications/tools/list_changed');
    await second.close();
    await stream.ended;
  });
});

describe('a mount that has closed', () => {
  it('hears nothing of its server any more', async () => {
    const stopped = jest.spyOn(globalThis, 'clearInterval');
    await legacySession(fixture);
    await fixture.router.close();
    expect(stopped).toHaveBeenCalled();
    stopped.mockRestore();
    fixture.server.notifyToolsChanged();
    expect(fixture.router.stats()).toMatchObject({ inbox: 0, undeliverable: 0 });
  });

  it('with nothing open closes without waiting', async () => {
    const startedAt = performance.now();
    await fixture.router.close({ graceMs: 60_000 });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});

describe('what came in before a mount closed, and is whole only afterwards,', () => {
  /** The head and the first bytes of a POST; call the answer for the rest. */
  function upload(headers: Record<string, string>, message: object): { finish(): void; answer: Promise<string> } {
    const body = JSON.stringify(message);
    const head = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers };
    const lines = Object.entries({ ...head, Host: '127.0.0.1', Connection: 'close', 'Content-Length': body.length });
    const socket = connectSocket(fixture.port, '127.0.0.1');
    socket.write(`POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
    socket.write(body.slice(0, 10));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    const answer = new Promise<string>((resolve) =>
      socket.on('close', () => resolve(Buffer.concat(chunks).toString())),
    );
    return { finish: () => void socket.write(body.slice(10)), answer };
  }

  it.each<[string, object, Record<string, string>]>([
    ['a call', ...requestOf('echo')],
    ['initialize', initializeMessage(), {}],
  ])('is refused: %s', async (_, message, headers) => {
    const { finish, answer } = upload(headers, message);
    // Until the head has come through.
    await send(fixture.url, { method: 'OPTIONS' });
    await fixture.router.close();
    finish();
    expect(await answer).toMatch(/^HTTP\/1.1 503 .*"code":-32600/s);
    expect(fixture.ran).toEqual([]);
    expect(fixture.router.stats()).toMatchObject({ sessions: 0, calls: 0 });
  });

  function requestOf(name: string): [object, Record<string, string>] {
    const { body, headers } = modernRequest('tools/call', { name, arguments: { text: 'a' } });
    return [body, headers as Record<string, string>];
  }
});

describe('a session store that fails', () => {
  it('does not keep a mount from closing', async () => {
    const store = new MemorySessionStore();
    await start({ sessions: store });
    const session = await legacySession(fixture);
    const stream = await session.get();
    store.delete = (() => Promise.reject(new Error('no such table'))) as unknown as typeof store.delete;
    await fixture.router.close({ graceMs: 0 });
    await stream.ended;
    expect(fixture.router.stats()).toMatchObject({ sessions: 0, streams: 0 });
    expect(fixture.errors.splice(0)).toEqual([expect.objectContaining({ message: 'no such table' })]);
  });
});
