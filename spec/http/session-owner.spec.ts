/** A session is its principal's: nobody else can use it, or learn that it is there. */
import { MemorySessionStore } from 'express-mcp';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { legacySession, openStream, post, send, textOf } from '../support/wire';
import type { Headers, LegacySession, Reply } from '../support/wire';

const alice = { Authorization: 'Bearer alice-token' };
const bob = { Authorization: 'Bearer bob-token' };

/** Mounts that share a store of records: each makes live what it is asked for. */
describe('in a store of several mounts', () => {
  it('is not made live by somebody else who asks for it', async () => {
    const sessions = new MemorySessionStore();
    const [mine, other] = [
      await createFixture({ bearer: true, router: { sessions } }),
      await createFixture({ bearer: true, router: { sessions } }),
    ];
    try {
      const { headers } = await legacySession(mine, { headers: alice });
      const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
      expect((await post(other.url, ping, { ...headers, ...bob })).status).toBe(404);
      expect(other.router.stats().sessions).toBe(0);
      expect((await post(other.url, ping, headers)).status).toBe(200);
      expect(other.router.stats().sessions).toBe(1);
    } finally {
      await Promise.all([mine.close(), other.close()]);
    }
  });
});

/** What somebody can try with an id. */
const attempts: [string, (url: string, headers: Headers) => Promise<Reply>][] = [
  [
    'a tool call',
    (url, headers) => post(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'caller' } }, headers),
  ],
  ['a notification', (url, headers) => post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers)],
  [
    'a cancellation',
    (url, headers) =>
      post(url, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, headers),
  ],
  ['a response', (url, headers) => post(url, { jsonrpc: '2.0', id: 'q', result: {} }, headers)],
  ['GET', (url, headers) => send(url, { method: 'GET', headers: { Accept: 'text/event-stream', ...headers } })],
  ['DELETE', (url, headers) => send(url, { method: 'DELETE', headers })],
];

describe('with tokens', () => {
  let fixture: Fixture;
  let session: LegacySession;
  let mine: Headers;
  beforeEach(async () => {
    fixture = await createFixture({ bearer: true });
    session = await legacySession(fixture, { headers: alice });
    mine = session.headers;
    fixture.ran.splice(0);
  });
  afterEach(() => fixture.close());

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/security_best_practices#session-hijacking
  it.each(attempts)('another principal SHOULD get nothing out of the id: %s', async (_what, attempt) => {
    const stream = await session.get();
    const call = session.callTool('hold', undefined, { id: 1 });
    await fixture.until(() => fixture.ran.includes('hold'));
    const stolen = await attempt(fixture.url, { ...mine, ...bob });
    const unknown = await attempt(fixture.url, { ...mine, ...bob, 'Mcp-Session-Id': 'nope' });
    expect([stolen.status, stolen.text]).toEqual([404, unknown.text]);
    expect([fixture.ran, fixture.aborted]).toEqual([['hold'], []]);
    // Alice has noticed nothing.
    fixture.server.notifyToolsChanged();
    await stream.find(({ method }) => method === 'notifications/tools/list_changed');
    expect(textOf(await session.callTool('caller'))).toBe('alice');
    await session.delete();
    await Promise.all([call, stream.ended]);
  });

  it.each(attempts)('nobody at all gets as far as the session: %s', async (_what, attempt) => {
    const { Authorization: _, ...headers } = mine;
    expect((await attempt(fixture.url, headers)).status).toBe(401);
    expect((await session.request('ping')).status).toBe(200);
  });

  it('another token of the same principal is as good', async () => {
    const renewed = await createFixture({
      before: [
        (req, _res, next) => {
          req.headers.authorization = 'Bearer alice-token';
          next();
        },
      ],
      bearer: true,
    });
    const own = await legacySession(renewed, { headers: { Authorization: 'Bearer first' } });
    expect(textOf(await own.callTool('caller', {}, { headers: { Authorization: 'Bearer second' } }))).toBe('alice');
    await renewed.close();
  });

  it('its id in initialize opens a session of the other, and ends nothing', async () => {
    const theirs = await legacySession(fixture, { headers: { ...bob, 'Mcp-Session-Id': session.sessionId } }).catch(
      (error: unknown) => error,
    );
    // The helper lays the old id over the new one; what counts is that two sessions live.
    expect(fixture.router.stats().sessions).toBe(2);
    expect(String(theirs)).toMatch(/404/);
    expect(textOf(await session.callTool('caller'))).toBe('alice');
  });
});

describe('with the option principal', () => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await createFixture({ router: { principal: (req) => req.headers['x-user'] as string | undefined } });
  });
  afterEach(() => fixture.close());

  it('decides whose the session is', async () => {
    const session = await legacySession(fixture, { headers: { 'X-User': 'carol' } });
    expect(textOf(await session.callTool('caller'))).toBe('carol');
    for (const user of ['dave', undefined]) {
      const reply = await session.request('ping', undefined, { headers: { 'X-User': user } });
      expect(reply.status).toBe(404);
      const stream = await openStream(fixture.url, { headers: { ...session.headers, 'X-User': user } });
      expect(stream.status).toBe(404);
    }
  });

  it('a session that nobody opened is not for somebody', async () => {
    const session = await legacySession(fixture);
    expect((await session.request('ping', undefined, { headers: { 'X-User': 'carol' } })).status).toBe(404);
    expect((await session.request('ping')).status).toBe(200);
  });
});
