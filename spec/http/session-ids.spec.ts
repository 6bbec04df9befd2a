/** Session ids: given by `initialize`, due afterwards, and worth nothing once the session is over or was never there. */
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { initializeMessage, legacySession, post, send, textOf } from '../support/wire';
import type { Exchange } from '../support/exchange';
import { legacyRevisions } from '../support/schema';
import type { Headers } from '../support/wire';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

const version = { 'MCP-Protocol-Version': '2025-11-25' };

/** Everything a client can send within a session. */
const kinds: [string, Exchange][] = [
  ['POST of a request', { method: 'POST', body: { jsonrpc: '2.0', id: 'r', method: 'tools/list' } }],
  [
    'POST of a tool call',
    {
      method: 'POST',
      body: { jsonrpc: '2.0', id: 'r', method: 'tools/call', params: { name: 'echo', arguments: { text: 'a' } } },
    },
  ],
  ['POST of a ping', { method: 'POST', body: { jsonrpc: '2.0', id: 'r', method: 'ping' } }],
  ['POST of a notification', { method: 'POST', body: { jsonrpc: '2.0', method: 'notifications/initialized' } }],
  ['POST of a response', { method: 'POST', body: { jsonrpc: '2.0', id: 'q', result: {} } }],
  ['POST of an error response', { method: 'POST', body: { jsonrpc: '2.0', id: 'q', error: { code: 1, message: '' } } }],
  ['POST of a batch', { method: 'POST', body: [{ jsonrpc: '2.0', id: 'r', method: 'ping' }] }],
  ['GET', { method: 'GET', headers: { Accept: 'text/event-stream' } }],
  ['GET that resumes', { method: 'GET', headers: { Accept: 'text/event-stream', 'Last-Event-ID': 'a.0.1' } }],
  ['DELETE', { method: 'DELETE' }],
];

function exchange(kind: Exchange, headers: Headers) {
  return send(fixture.url, { ...kind, headers: { ...version, ...kind.headers, ...headers } });
}

describe.each(kinds)('%s', (_name, kind) => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
  it.each(['nope', 'V1StGXR8_Z5jdHi6B-myT', '__proto__', '0', 'x'.repeat(4_000), '../../etc', "' OR 1=1"])(
    'MUST be answered with 404 where there is no such session: %s',
    async (id) => {
      fixture.ran.splice(0);
      const reply = await exchange(kind, { 'Mcp-Session-Id': id });
      expect([reply.status, reply.json?.error?.code]).toEqual([404, -32600]);
      expect(reply.headers['content-type']).toBe('application/json');
      expect(fixture.ran).toEqual([]);
    },
  );

  it('MUST be answered with 404 once the session has ended', async () => {
    const session = await legacySession(fixture);
    await session.delete();
    const reply = await exchange(kind, { 'Mcp-Session-Id': session.sessionId });
    expect([reply.status, reply.json?.error?.code]).toEqual([404, -32600]);
  });

  it.each([{}, { 'Mcp-Session-Id': '' }])('SHOULD be answered with 400 without a session id: %j', async (headers) => {
    const reply = await exchange(kind, headers);
    expect([reply.status, reply.json?.error?.code]).toEqual([400, -32600]);
  });

  it('carries the id of the request where it has one, and no other', async () => {
    const reply = await exchange(kind, { 'Mcp-Session-Id': 'nope' });
    const { body } = kind as { body?: { id?: string; method?: string } };
    expect(reply.json?.id).toBe(body?.method === undefined ? undefined : body.id);
  });
});

describe('the session id', () => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
  it.each(legacyRevisions)('MUST be visible ASCII, and SHOULD be unguessable: %s', async (revision) => {
    const ids = await Promise.all(
      Array.from({ length: 5 }, async () => (await legacySession(fixture, { revision })).sessionId),
    );
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{21,}$/);
    expect(new Set(ids).size).toBe(5);
  });

  it.each(['MCP-SESSION-ID', 'mcp-session-id', 'Mcp-session-ID'])('may be sent as %s', async (name) => {
    const { sessionId } = await legacySession(fixture);
    const reply = await exchange(kinds[0]![1], { [name]: sessionId });
    expect(reply.status).toBe(200);
  });

  it('is compared to the letter', async () => {
    const { sessionId } = await legacySession(fixture);
    const swapped = sessionId.replace(/[a-z]/i, (letter) =>
      letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase(),
    );
    for (const id of [swapped, sessionId.slice(0, -1), `${sessionId}x`]) {
      expect((await exchange(kinds[0]![1], { 'Mcp-Session-Id': id })).status).toBe(404);
    }
  });

  it('is not needed for initialize, and an empty one does not hinder it', async () => {
    for (const headers of [{}, { 'Mcp-Session-Id': '' }]) {
      const reply = await post(fixture.url, initializeMessage(), headers);
      expect([reply.status, typeof reply.headers['mcp-session-id']]).toEqual([200, 'string']);
    }
  });

  it('is never taken from the client', async () => {
    const reply = await post(fixture.url, initializeMessage(), { 'Mcp-Session-Id': 'chosen-by-the-client-000000' });
    expect(reply.status).toBe(200);
    expect(reply.headers['mcp-session-id']).not.toBe('chosen-by-the-client-000000');
    const again = await exchange(kinds[0]![1], { 'Mcp-Session-Id': 'chosen-by-the-client-000000' });
    expect(again.status).toBe(404);
  });

  it.each([
    ['no params', { jsonrpc: '2.0', id: 1, method: 'initialize' }],
    ['a version that is no string', initializeMessage(5)],
    ['no JSON-RPC version', { ...initializeMessage(), jsonrpc: '1.0' }],
  ])('is not given for an initialize that fails: %s', async (_what, message) => {
    const before = fixture.router.stats().sessions;
    const reply = await post(fixture.url, message);
    expect(reply.response?.error).toBeDefined();
    expect(reply.headers).not.toHaveProperty('mcp-session-id');
    expect(fixture.router.stats().sessions).toBe(before);
  });

  it('is known to the tools of its session', async () => {
    const local = await createFixture({
      setup(server) {
        server.registerTool('session', {}, (_args, { sessionId }) => sessionId ?? 'none');
      },
    });
    const session = await legacySession(local);
    expect(textOf(await session.callTool('session'))).toBe(session.sessionId);
    await local.close();
  });
});
