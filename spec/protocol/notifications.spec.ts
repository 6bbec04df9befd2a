/** Messages without an id, and those that should have had one. */
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { initializeMessage, legacySession, post } from '../support/wire';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.ran.splice(0));

describe.each(eras)('%s era', (era) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect(era, fixture);
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server 4
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages 5
  it.each([
    'notifications/initialized',
    'notifications/cancelled',
    'notifications/progress',
    'notifications/roots/list_changed',
  ])('%s MUST be answered 202 with no body', async (method) => {
    const params = { requestId: 'none', progressToken: 'none', progress: 1 };
    const reply = await client.notify(method, params);
    expect(reply.status).toBe(202);
    expect(reply.bytes).toHaveLength(0);
  });

  it.each(['notifications/foo/bar', 'notifications/', 'notifications/__proto__', 'foo', 'constructor'])(
    'an unknown one, %s, is ignored',
    async (method) => {
      expect((await client.notify(method)).status).toBe(202);
      expect((await client.request('tools/list')).status).toBe(200);
    },
  );

  it.each(['notifications/initialized', 'notifications/cancelled', 'notifications/foo'])(
    '%s with an id is a request, and answered with an error under that id',
    async (method) => {
      for (const id of [7, 0, '']) {
        const reply = await client.request(method, { requestId: 'none' }, { id });
        expect(reply.status).not.toBe(202);
        expect([-32601, -32600]).toContain(reply.response?.error?.code);
        expect(reply.response?.id).toBe(id);
      }
    },
  );

  it.each(['echo', 'destroy'])('tools/call of %s without an id runs nothing and answers nothing', async (name) => {
    const reply = await client.notify('tools/call', { name, arguments: { text: 'a' } });
    expect([202, 400]).toContain(reply.status);
    expect(reply.messages.filter((message) => 'result' in message)).toEqual([]);
    expect((await client.request('tools/list')).status).toBe(200);
    expect(fixture.ran).toEqual([]);
  });

  it.each(['tools/list', 'ping', 'server/discover', 'initialize', 'subscriptions/listen'])(
    '%s without an id answers no result',
    async (method) => {
      const reply = await client.notify(method);
      expect([202, 400]).toContain(reply.status);
      expect(reply.messages.filter((message) => 'result' in message)).toEqual([]);
    },
  );

  it.each(['x', 5, []])('one whose params are %j is refused or ignored, and does no harm', async (params) => {
    const reply = await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    expect([202, 400]).toContain(reply.status);
    expect((await client.request('tools/list')).status).toBe(200);
  });
});

describe('without a session', () => {
  it('initialize without an id opens none', async () => {
    const { id: _id, ...notification } = initializeMessage();
    const reply = await post(fixture.url, notification);
    expect([202, 400]).toContain(reply.status);
    expect(reply.headers).not.toHaveProperty('mcp-session-id');
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
  it('a notification SHOULD be answered 400, since the session id is due', async () => {
    const reply = await post(fixture.url, { jsonrpc: '2.0', method: 'notifications/initialized' });
    expect(reply.status).toBe(400);
  });

  it('and under one that is unknown MUST be 404', async () => {
    const session = await legacySession(fixture);
    const headers = { 'Mcp-Session-Id': 'unknown' };
    expect((await session.notify('notifications/initialized', {}, { headers })).status).toBe(404);
  });
});
