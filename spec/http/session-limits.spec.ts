/** How many sessions there can be, and for how long nobody needs to use one. */
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { initializeMessage, legacySession, post } from '../support/wire';

const alice = { Authorization: 'Bearer alice-token' };
const bob = { Authorization: 'Bearer bob-token' };

let fixture: Fixture;
afterEach(() => fixture.close());
async function start(router: FixtureOptions['router'], rest: FixtureOptions = {}): Promise<Fixture> {
  return (fixture = await createFixture({ router, ...rest }));
}

describe('maxSessions', () => {
  it('is the end of opening: 503 with Retry-After', async () => {
    await start({ maxSessions: 2 });
    const first = await legacySession(fixture);
    await legacySession(fixture);
    const reply = await post(fixture.url, initializeMessage());
    expect([reply.status, reply.json?.error?.code, reply.json?.id]).toEqual([503, -32600, 'init']);
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    expect(reply.headers).not.toHaveProperty('mcp-session-id');
    expect((await first.request('ping')).status).toBe(200);
  });

  it('does not count what it refuses', async () => {
    await start({ maxSessions: 1 });
    await legacySession(fixture);
    expect((await post(fixture.url, initializeMessage())).status).toBe(503);
    expect(fixture.router.stats().sessions).toBe(1);
  });

  it('is counted by those that live', async () => {
    await start({ maxSessions: 1 });
    for (let n = 0; n < 3; n++) {
      const session = await legacySession(fixture);
      expect((await post(fixture.url, initializeMessage())).status).toBe(503);
      await session.delete();
    }
    expect(fixture.router.stats()).toMatchObject({ sessions: 0, sessionsEnded: { client: 3 } });
  });

  it('holds against a flood of clients that never say goodbye', async () => {
    await start({ maxSessions: 100 });
    const statuses: number[] = [];
    for (let n = 0; n < 40; n++) {
      const replies = await Promise.all(Array.from({ length: 50 }, () => post(fixture.url, initializeMessage())));
      statuses.push(...replies.map(({ status }) => status));
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(100);
    expect(statuses.filter((status) => status === 503)).toHaveLength(1_900);
    expect(fixture.router.stats().sessions).toBe(100);
  }, 60_000);

  it('lets the one that has been idle for longest go, once that is a minute', async () => {
    const ended: unknown[] = [];
    await start({ maxSessions: 2, onSessionEnd: ({ sessionId, reason }) => ended.push([sessionId, reason]) });
    const older = await legacySession(fixture);
    const newer = await legacySession(fixture);
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_001);
    await newer.request('ping');
    const newest = await legacySession(fixture);
    clock.mockRestore();
    expect(ended).toEqual([[older.sessionId, 'evicted']]);
    expect((await older.request('ping')).status).toBe(404);
    for (const session of [newer, newest]) expect((await session.request('ping')).status).toBe(200);
  });
});

describe('maxSessionsPerPrincipal', () => {
  it('is the end of opening for one principal, not for another', async () => {
    await start({ maxSessionsPerPrincipal: 1 }, { bearer: true });
    await legacySession(fixture, { headers: alice });
    const reply = await post(fixture.url, initializeMessage(), alice);
    expect([reply.status, Number(reply.headers['retry-after']) > 0]).toEqual([503, true]);
    expect((await post(fixture.url, initializeMessage(), bob)).status).toBe(200);
  });

  it('does not apply to callers without a principal', async () => {
    await start({ maxSessionsPerPrincipal: 1 });
    for (let n = 0; n < 3; n++) expect((await post(fixture.url, initializeMessage())).status).toBe(200);
  });
});

describe('what a client says of itself', () => {
  it('is kept as long as its session, and so has 64 Ki characters at most', async () => {
    await start({});
    const reply = await post(
      fixture.url,
      initializeMessage('2025-11-25', { experimental: { a: { b: 'x'.repeat(65_536) } } }),
    );
    expect([reply.status, reply.json?.error?.code, reply.json?.id]).toEqual([200, -32602, 'init']);
    expect(reply.headers).not.toHaveProperty('mcp-session-id');
    expect(fixture.router.stats().sessions).toBe(0);
    expect(
      await post(fixture.url, initializeMessage('2025-11-25', { experimental: { a: { b: 'x'.repeat(60_000) } } })),
    ).toMatchObject({ status: 200, json: { result: {} } });
  });
});

describe('sessionIdleMs', () => {
  it('is how long a session lives that nobody uses; then its id is 404', async () => {
    const ended: unknown[] = [];
    await start({ sessionIdleMs: 1_000, onSessionEnd: ({ reason }) => ended.push(reason) });
    const sessions = await Promise.all([legacySession(fixture), legacySession(fixture)]);
    await eventually(() => fixture.router.stats().sessions === 0);
    expect(ended).toEqual(['idle', 'idle']);
    for (const session of sessions) expect((await session.request('ping')).status).toBe(404);
  });

  it('does not run while a stream is open, and runs when it is not', async () => {
    await start({ sessionIdleMs: 1_500 });
    const [listening, silent] = [await legacySession(fixture), await legacySession(fixture)];
    const stream = await listening.get();
    await eventually(() => fixture.router.stats().sessions === 1);
    expect((await silent.request('ping')).status).toBe(404);
    expect((await listening.request('ping')).status).toBe(200);
    stream.close();
    await eventually(() => fixture.router.stats().sessions === 0);
  });

  it('does not run while a call runs, and begins anew when it has ended', async () => {
    await start({ sessionIdleMs: 1_500 });
    const [calling, silent] = [await legacySession(fixture), await legacySession(fixture)];
    const call = calling.callTool('hold', undefined, { id: 1 });
    await eventually(() => fixture.router.stats().sessions === 1);
    expect((await silent.request('ping')).status).toBe(404);
    await calling.notify('notifications/cancelled', { requestId: 1 });
    await call;
    expect((await calling.request('ping')).status).toBe(200);
    await eventually(() => fixture.router.stats().sessions === 0);
  });

  it('does not run while a call waits for the human', async () => {
    await start({ sessionIdleMs: 1_500 });
    const asking = await legacySession(fixture, { capabilities: { elicitation: {} } });
    const silent = await legacySession(fixture);
    const call = await asking.stream('tools/call', { name: 'ask', arguments: {} });
    const { id } = await call.find(({ method }) => method === 'elicitation/create');
    await eventually(() => fixture.router.stats().sessions === 1);
    expect((await silent.request('ping')).status).toBe(404);
    const result = { action: 'accept', content: { name: 'Ada' } };
    expect((await asking.post({ jsonrpc: '2.0', id, result })).status).toBe(202);
    expect((await call.find((message) => 'result' in message)).result?.isError).toBeUndefined();
  });

  it('leaves no timer behind when the last session has ended', async () => {
    const started = jest.spyOn(globalThis, 'setInterval');
    const stopped = jest.spyOn(globalThis, 'clearInterval');
    await start({ sessionIdleMs: 1_500 });
    await legacySession(fixture);
    const ours = started.mock.results.map(({ value }) => value as NodeJS.Timeout);
    expect(ours.some((timer) => timer.hasRef())).toBe(false);
    await eventually(() => fixture.router.stats().sessions === 0);
    await eventually(() => ours.every((timer) => stopped.mock.calls.some(([cleared]) => cleared === timer)));
    jest.restoreAllMocks();
  });
});
