/** The handshake of the legacy era: once per session, and many sessions per server. */
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { initializeMessage, legacySession, post, textOf } from '../support/wire';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

describe('initialize', () => {
  it('names the server, its capabilities and its instructions', async () => {
    const { initializeReply } = await legacySession(fixture);
    expect(initializeReply.response?.result).toMatchObject({
      serverInfo: { name: 'fixture', version: '1.2.3' },
      capabilities: { tools: { listChanged: true } },
      instructions: 'For specs.',
    });
  });

  it('has nothing of the modern era in its answer', async () => {
    const { initializeReply } = await legacySession(fixture);
    expect(Object.keys(initializeReply.response?.result ?? {}).sort()).toEqual(
      ['capabilities', 'instructions', 'protocolVersion', 'serverInfo'].sort(),
    );
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization: the first interaction
  it.each(['initialized', 'not yet initialized'])(
    'on a session that is %s answers 400, and leaves it alone',
    async (state) => {
      const session = await legacySession(fixture, { initialized: state === 'initialized' });
      const reply = await session.post({ ...initializeMessage('2025-06-18'), id: 'again' });
      expect(reply.status).toBe(400);
      expect(reply.json).toMatchObject({ id: 'again', error: { code: -32600 } });
      expect([undefined, session.sessionId]).toContain(reply.headers['mcp-session-id']);
      await session.notify('notifications/initialized');
      expect(textOf(await session.callTool('era'))).toBe('legacy 2025-11-25');
    },
  );

  it('twice, without a session id, opens two sessions that work side by side', async () => {
    const [first, second] = await Promise.all([legacySession(fixture), legacySession(fixture)]);
    expect(first.sessionId).not.toBe(second.sessionId);
    for (const session of [first, second, first]) expect((await session.request('tools/list')).status).toBe(200);
  });

  it('many times gives every session an id of its own, in visible ASCII', async () => {
    const sessions = await Promise.all(Array.from({ length: 50 }, () => legacySession(fixture)));
    const ids = sessions.map(({ sessionId }) => sessionId);
    expect(new Set(ids).size).toBe(50);
    // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management 1
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{21,}$/);
  });

  it.each(['unknown', 'a'.repeat(21), '0', '__proto__', '../../etc'])(
    'with the unknown session id %j never adopts it: 404, or a new session',
    async (stale) => {
      const reply = await post(fixture.url, initializeMessage(), { 'Mcp-Session-Id': stale });
      expect([200, 404]).toContain(reply.status);
      if (reply.status === 200) expect(reply.headers['mcp-session-id']).not.toBe(stale);
      else expect(reply.json).toMatchObject({ id: 'init', error: { code: -32600 } });
      const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
      expect((await post(fixture.url, ping, { 'Mcp-Session-Id': stale })).status).toBe(404);
    },
  );

  it('with the id of a session that has ended is treated like an unknown one', async () => {
    const session = await legacySession(fixture);
    await session.delete();
    const reply = await post(fixture.url, initializeMessage(), { 'Mcp-Session-Id': session.sessionId });
    expect([200, 404]).toContain(reply.status);
    expect(reply.headers['mcp-session-id']).not.toBe(session.sessionId);
    expect((await session.request('ping')).status).toBe(404);
  });

  it('works again for a client that drops its stale id, as 404 tells it to', async () => {
    const session = await legacySession(fixture);
    await session.delete();
    expect((await session.request('tools/list')).status).toBe(404);
    const fresh = await legacySession(fixture);
    expect((await fresh.request('tools/list')).status).toBe(200);
  });
});

describe('before notifications/initialized', () => {
  it('ping is answered', async () => {
    const session = await legacySession(fixture, { initialized: false });
    expect((await session.request('ping')).json?.result).toEqual({});
  });

  it('tools/list and tools/call are answered or refused at once', async () => {
    const session = await legacySession(fixture, { initialized: false });
    for (const reply of [await session.request('tools/list'), await session.callTool('echo', { text: 'a' })]) {
      expect([200, 400]).toContain(reply.status);
      expect(reply.response).toBeDefined();
    }
  });

  it('the session is completed late, and twice', async () => {
    const session = await legacySession(fixture, { initialized: false });
    await session.request('ping');
    expect((await session.notify('notifications/initialized')).status).toBe(202);
    expect((await session.notify('notifications/initialized')).status).toBe(202);
    expect((await session.request('tools/list')).status).toBe(200);
  });
});
