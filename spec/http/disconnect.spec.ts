/** Clients that hang up: in the middle of a request, of a call, of a stream. */
import { EventEmitter, once } from 'node:events';
import { MemorySessionStore } from 'express-mcp';
import type { SessionStore } from 'express-mcp';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { eventually } from '../support/eventually';
import { beginRequest, mergeHeaders } from '../support/exchange';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { legacySession, modern, textOf } from '../support/wire';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture({ router: { keepAliveMs: 60_000 } });
});
afterEach(async () => {
  // The runner fails a test during which a rejection or an exception was left to the process.
  expect(fixture.errors).toEqual([]);
  await fixture.close();
});

/** Send a tool call without waiting for its answer. */
function send(client: EraClient, name: string, args: object = {}, id: string | number = 'c', accept?: string) {
  const body = JSON.stringify(client.message('tools/call', { name, arguments: args }, id));
  const headers = mergeHeaders(client.headers('tools/call', name), {
    ...(accept === undefined ? {} : { Accept: accept }),
    'Content-Length': String(Buffer.byteLength(body)),
  });
  const req = beginRequest(fixture.url, { headers });
  req.on('error', () => undefined);
  req.end(body);
  return req;
}

async function nothingIsLeft(): Promise<void> {
  await eventually(() => {
    const { streams, calls, parked } = fixture.router.stats();
    return streams + calls + parked === 0;
  });
}

describe.each(eras)('a client that hangs up, %s era', (era) => {
  it('half-way through its body is forgotten', async () => {
    const client = await connect(era, fixture);
    for (let n = 0; n < 20; n++) {
      const body = JSON.stringify(client.message('tools/call', { name: 'echo', arguments: { text: 'a' } }));
      const headers = mergeHeaders(client.headers('tools/call', 'echo'), { 'Content-Length': String(body.length) });
      const req = beginRequest(fixture.url, { headers });
      req.on('error', () => undefined);
      req.write(body.slice(0, 20));
      await once(req, 'socket');
      await new Promise<void>((resolve) => req.write(body.slice(20, 30), () => resolve()));
      req.destroy();
    }
    expect(textOf(await client.callTool('echo', { text: 'next' }))).toBe('next');
    expect(fixture.ran).toEqual(['echo']);
    await nothingIsLeft();
  });

  it('just when the result is written hurts nobody, a hundred times', async () => {
    const client = await connect(era, fixture);
    for (let n = 0; n < 100; n++) {
      const req = send(client, 'slow', { ms: n % 5 });
      await fixture.until(() => fixture.ran.length === n + 1);
      if (n % 2 === 0) await fixture.until(() => fixture.ended.length === n + 1);
      req.destroy();
    }
    expect(textOf(await client.callTool('echo', { text: 'next' }))).toBe('next');
    await nothingIsLeft();
  });

  it('before a slow call reports leaves no stream behind', async () => {
    const client = await connect(era, fixture);
    let report!: () => void;
    const reported = new Promise<void>((resolve) => (report = resolve));
    const gone = new Promise((resolve) => {
      fixture.server.registerTool('late', {}, async (_args, ctx) => {
        ctx.request!.socket.on('close', resolve);
        await reported;
        ctx.progress(1);
        return 'done';
      });
    });
    const body = client.message('tools/call', { name: 'late', arguments: {} });
    (body.params as { _meta: object })._meta = { ...(body.params as { _meta?: object })._meta, progressToken: 1 };
    const req = beginRequest(fixture.url, { headers: client.headers('tools/call', 'late') });
    req.on('error', () => undefined);
    req.end(JSON.stringify(body));
    await eventually(() => fixture.router.stats().calls === 1);
    req.destroy();
    await gone;
    report();
    await nothingIsLeft();
  });

  it('three hundred times while it listens leaves nothing open', async () => {
    for (let round = 0; round < 6; round++) {
      const streams = await Promise.all(
        Array.from({ length: 50 }, async () =>
          era === 'legacy'
            ? (await legacySession(fixture)).get()
            : modern(fixture).stream('subscriptions/listen', { notifications: { toolsListChanged: true } }),
        ),
      );
      expect(fixture.router.stats().streams).toBe(50);
      streams.forEach((stream) => stream.close());
      await nothingIsLeft();
    }
    // Nobody listens any more, and telling does no harm.
    fixture.server.notifyToolsChanged();
    await nothingIsLeft();
  }, 60_000);
});

describe('a client that hangs up while its session is looked up', () => {
  it('gets no stream', async () => {
    const sessions = new MemorySessionStore();
    const opener = await createFixture({ router: { sessions } });
    const { sessionId } = await legacySession(opener);
    const events = new EventEmitter();
    const [asked, found, gone] = ['asked', 'found', 'gone'].map((event) => once(events, event));
    const slow: SessionStore = {
      create: (record) => sessions.create(record),
      update: (record) => sessions.update(record),
      delete: (id) => sessions.delete(id),
      async get(id) {
        events.emit('asked');
        await found;
        return sessions.get(id);
      },
    };
    const other = await createFixture({
      router: { sessions: slow },
      before: [
        (_req, res, next) => {
          res.on('close', () => events.emit('gone'));
          next();
        },
      ],
    });
    const req = beginRequest(other.url, { method: 'GET', headers: { 'Mcp-Session-Id': sessionId } });
    req.on('error', () => undefined);
    req.end();
    await asked;
    req.destroy();
    await gone;
    events.emit('found');
    await eventually(() => other.router.stats().sessions === 1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(other.router.stats().streams).toBe(0);
    await other.close();
    await opener.close();
  });
});

describe('a call whose client hangs up', () => {
  // "Closing the SSE response stream MUST be treated by the server as cancellation of that request."
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#cancellation
  it('MUST be cancelled in the modern era, when it has become a stream', async () => {
    const call = await modern(fixture).stream(
      'tools/call',
      { name: 'report-and-hold', _meta: { progressToken: 1 } },
      { id: 'm' },
    );
    await call.find(() => true);
    call.close();
    await fixture.until(() => fixture.ended.includes('report-and-hold'));
    expect(fixture.aborted).toEqual(['m']);
    await nothingIsLeft();
  });

  it.each([undefined, 'application/json'])(
    'is cancelled in the modern era before that, with Accept: %s',
    async (accept) => {
      const req = send(await connect('modern', fixture), 'hold', {}, 'm', accept);
      await fixture.until(() => fixture.ran.includes('hold'));
      req.destroy();
      await fixture.until(() => fixture.ended.includes('hold'));
      expect(fixture.aborted).toEqual(['m']);
      await nothingIsLeft();
    },
  );

  // "Disconnection SHOULD NOT be interpreted as the client cancelling its request."
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
  it('SHOULD NOT be cancelled in a session', async () => {
    const client = await connect('legacy', fixture);
    const call = await client.stream(
      'tools/call',
      { name: 'report-and-hold', _meta: { progressToken: 1 } },
      { id: 's' },
    );
    await call.find(() => true);
    call.close();
    const req = send(client, 'hold', {}, 'j');
    await fixture.until(() => fixture.ran.includes('hold'));
    req.destroy();
    await eventually(() => fixture.router.stats().streams === 0);
    expect((await client.request('ping')).status).toBe(200);
    expect([fixture.aborted, fixture.router.stats().calls]).toEqual([[], 2]);
    for (const requestId of ['s', 'j']) await client.notify('notifications/cancelled', { requestId });
    await nothingIsLeft();
    expect(fixture.aborted).toEqual(['s', 'j']);
  });
});
