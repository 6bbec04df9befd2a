/** What the owner of a mount hears: faults, refusals, ends of sessions, numbers, log lines. */
import type { IncomingMessage } from 'node:http';
import type { HttpError } from '../../lib/http/http-error';
import { connect, eras } from '../support/eras';
import { eventually } from '../support/eventually';
import { send } from '../support/exchange';
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { initializeMessage, legacySession, modern, post } from '../support/wire';

let fixture: Fixture;
afterEach(() => fixture.close());
async function start(router: FixtureOptions['router'], rest: FixtureOptions = {}): Promise<void> {
  fixture = await createFixture({ router, ...rest });
}

describe.each(eras)('onError, %s era', (era) => {
  it('hears of what a handler threw, with the call; the onError of the server does not', async () => {
    const heard: unknown[][] = [];
    const server: unknown[] = [];
    await start(
      { onError: (error, context) => heard.push([error, context?.method, context?.requestId]) },
      { server: { onError: (error) => server.push(error) } },
    );
    await (await connect(era, fixture)).callTool('throws', {}, { id: 'e' });
    expect(heard).toEqual([[new Error('connect postgres://user:secret@host/db'), 'tools/call', 'e']]);
    expect(server).toEqual([]);
  });

  it('hears of an authorizer that failed', async () => {
    const heard: unknown[] = [];
    const authorizer = () => {
      throw new Error('no database');
    };
    await start({ onError: (error) => heard.push(error) }, { server: { authorizer } });
    await (await connect(era, fixture)).callTool('echo', { text: 'a' });
    expect((heard[0] as Error).cause).toEqual(new Error('no database'));
  });

  it('that throws does no harm', async () => {
    const print = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    await start({
      onError() {
        throw new Error('in onError');
      },
    });
    const reply = await (await connect(era, fixture)).callTool('throws');
    expect(reply.response?.error?.code).toBe(-32603);
    expect(print).toHaveBeenCalled();
    print.mockRestore();
  });

  it('is not bothered with what the caller did wrong', async () => {
    const heard: unknown[] = [];
    await start({ onError: (error) => heard.push(error) });
    const client = await connect(era, fixture);
    await client.request('no/such');
    await client.callTool('fails');
    await client.callTool('echo', { text: 5 });
    await client.request('tools/list', {}, { headers: { Accept: 'text/html' } });
    await client.post('{');
    expect(heard).toEqual([]);
  });
});

describe('onError', () => {
  it('is that of the server where the mount has none', async () => {
    const heard: unknown[] = [];
    fixture = await createFixture({
      server: { onError: (error) => heard.push(error) },
      router: { onError: undefined },
    });
    await modern(fixture).callTool('throws');
    expect(heard).toHaveLength(1);
  });

  it('hears of a store that fails, and the client is told nothing of it', async () => {
    const heard: unknown[] = [];
    const sessions = {
      create: () => Promise.reject(new Error('redis://secret is down')),
      get: () => Promise.reject(new Error('redis://secret is down')),
      update() {},
      delete() {},
    };
    await start({ sessions, onError: (error) => heard.push(error) });
    const opened = await post(fixture.url, initializeMessage());
    expect([opened.response?.error?.code, opened.text.includes('redis')]).toEqual([-32603, false]);
    const headers = { 'Mcp-Session-Id': 'x' };
    const found = await post(fixture.url, { jsonrpc: '2.0', id: 1, method: 'ping' }, headers, { validate: false });
    expect([found.status, found.json?.error?.message]).toEqual([500, 'Internal error']);
    expect(heard).toEqual([new Error('redis://secret is down'), new Error('redis://secret is down')]);
  });
});

describe('onReject', () => {
  it('hears of every request that was refused before it was carried out, and of no other', async () => {
    const heard: unknown[][] = [];
    const onReject = (refusal: HttpError, req: IncomingMessage) =>
      heard.push([req.method, refusal.status, refusal.code, refusal.id]);
    await start({ onReject });
    const session = await legacySession(fixture);
    await session.request('ping');
    await session.request('no/such');
    await session.callTool('throws');
    expect(heard).toEqual([]);
    await session.request('ping', undefined, { id: 'a', headers: { Accept: 'text/html' } });
    await session.post('{');
    await post(fixture.url, initializeMessage(), { Origin: 'https://evil.example' });
    await post(fixture.url, initializeMessage(), { Host: 'evil.example' });
    await send(fixture.url, { method: 'PUT' });
    await send(fixture.url, { method: 'DELETE', headers: { 'Mcp-Session-Id': 'nope' } });
    expect(heard).toEqual([
      ['POST', 406, -32600, 'a'],
      ['POST', 400, -32700, undefined],
      ['POST', 403, -32600, undefined],
      ['POST', 403, -32600, undefined],
      ['PUT', 405, -32600, undefined],
      ['DELETE', 404, -32600, undefined],
    ]);
  });

  it('that throws does no harm', async () => {
    const print = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    await start({
      onReject() {
        throw new Error('in onReject');
      },
    });
    expect((await send(fixture.url, { method: 'PUT' })).status).toBe(405);
    expect(print).toHaveBeenCalled();
    print.mockRestore();
  });
});

describe('onSessionEnd', () => {
  it('hears of every end with its reason, and whose session it was', async () => {
    const ends: unknown[] = [];
    await start({ onSessionEnd: (end) => ends.push(end) }, { bearer: true });
    const session = await legacySession(fixture, { headers: { Authorization: 'Bearer alice-token' } });
    await session.delete();
    expect(ends).toEqual([{ sessionId: session.sessionId, principal: 'alice', reason: 'client' }]);
  });

  it('that throws does no harm', async () => {
    const print = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    await start({
      onSessionEnd() {
        throw new Error('in onSessionEnd');
      },
    });
    expect((await (await legacySession(fixture)).delete()).status).toBe(204);
    expect(print).toHaveBeenCalled();
    print.mockRestore();
  });
});

describe('an observer that is an async function', () => {
  it('and rejects, does no harm: the console hears of it', async () => {
    const print = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const rejecting = (name: string) => async () => Promise.reject(new Error(`in ${name}`));
    await start({
      onError: rejecting('onError'),
      onReject: rejecting('onReject'),
      onSessionEnd: rejecting('onSessionEnd'),
      onReady: rejecting('onReady'),
    });
    const session = await legacySession(fixture);
    await session.callTool('throws');
    await session.delete();
    await send(fixture.url, { method: 'PUT' });
    await eventually(() => print.mock.calls.length >= 4);
    const heard = print.mock.calls.map(([, error]) => (error as Error).message);
    print.mockRestore();
    expect(heard.sort()).toEqual(['in onError', 'in onReady', 'in onReject', 'in onSessionEnd']);
  });
});

describe('onReady', () => {
  it('hears once, at mount, what is served to whom', async () => {
    const onReady = jest.fn();
    await start({ onReady, origins: ['https://app.example'], allowedHosts: ['mcp.example'], maxSessions: 7 });
    await legacySession(fixture);
    expect(onReady).toHaveBeenCalledTimes(1);
    expect(onReady).toHaveBeenCalledWith(
      expect.objectContaining({
        eras: [expect.stringContaining('2025-11-25'), expect.stringContaining('2026-07-28')],
        origins: ['https://app.example'],
        allowedHosts: ['mcp.example'],
        authorizer: 'allowAll',
        readAuthorizer: 'allowAll',
        sensitiveTools: ['destroy'],
        sessionStore: 'MemorySessionStore',
        limits: expect.objectContaining({ maxSessions: 7, maxCalls: 1_000, keepAliveMs: 15_000 }),
      }),
    );
  });
});

describe('stats()', () => {
  it('counts requests by their status, streams and empty answers included', async () => {
    await start({});
    const session = await legacySession(fixture); // 200, 202
    await session.request('ping'); // 200
    await session.request('tools/call', { name: 'progress', arguments: {}, _meta: { progressToken: 1 } }); // 200
    await session.callTool('echo', { text: 'a' }, { headers: { Accept: 'text/event-stream' } }); // 200
    (await session.get()).close(); // 200
    await modern(fixture).request('no/such'); // 404
    await session.post('{'); // 400
    await send(fixture.url, { method: 'PUT' }); // 405
    const headers = { Origin: 'http://localhost', 'Access-Control-Request-Method': 'POST' };
    await send(fixture.url, { method: 'OPTIONS', headers }); // 204
    await post(fixture.url, {}, { Origin: 'https://evil.example' }); // 403
    await session.delete(); // 204
    const expected = { 200: 5, 202: 1, 204: 2, 400: 1, 403: 1, 404: 1, 405: 1 };
    expect(fixture.router.stats().requests).toEqual(expected);
  });

  it('counts what is open, running and waiting', async () => {
    await start({});
    const session = await legacySession(fixture, { capabilities: { elicitation: {} } });
    const silent = await legacySession(fixture);
    fixture.server.notifyToolsChanged();
    const get = await session.get();
    const call = await session.stream('tools/call', { name: 'ask', arguments: {} });
    const held = modern(fixture).stream('tools/call', { name: 'hold' });
    await fixture.until(() => fixture.ran.includes('hold'));
    await call.find(({ method }) => method === 'elicitation/create');
    expect(fixture.router.stats()).toMatchObject({ sessions: 2, streams: 2, calls: 2, parked: 1, inbox: 1 });
    await Promise.all([session.delete(), silent.delete()]);
    await Promise.all([get.ended, call.ended]);
    await fixture.router.close({ graceMs: 0 });
    await held;
    await eventually(() => fixture.router.stats().streams === 0);
    const { requests: _, ...rest } = fixture.router.stats();
    expect(rest).toEqual({
      ...{ sessions: 0, streams: 0, calls: 0, parked: 0, inbox: 0, undeliverable: 0 },
      sessionsEnded: { client: 2 },
    });
  });

  it('is a picture: what happens later does not change it', async () => {
    await start({});
    const before = fixture.router.stats();
    await legacySession(fixture);
    expect(before).toMatchObject({ sessions: 0, requests: {} });
  });
});
