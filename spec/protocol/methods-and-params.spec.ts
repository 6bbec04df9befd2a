/** Methods that do not exist, and params of every wrong type. */
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

const unknown = ['no/such', 'tools', 'tools/', 'tools/call/x', 'TOOLS/LIST', ' tools/list', 'constructor', '__proto__'];
const inherited = ['toString', 'hasOwnProperty', 'valueOf', 'rpc.discover'];
const ofTheOtherEra = {
  legacy: ['server/discover', 'subscriptions/listen'],
  modern: ['ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'],
};

describe.each(eras)('a method that does not exist, %s era', (era) => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#protocol-version-header:
  // 404 Not Found and -32601
  it.each([...unknown, ...inherited, ...ofTheOtherEra[era]])('answers -32601 with its id: %j', async (method) => {
    const client = await connect(era, fixture);
    const headers = method.startsWith(' ') ? { 'Mcp-Method': method } : {};
    const reply = await client.request(method, {}, { id: 'abc', headers });
    // Blanks around a header's value are no part of it, so that method cannot be mirrored.
    if (era === 'modern' && method.startsWith(' ')) return expect(reply.status).toBe(400);
    expect(reply.status).toBe(era === 'modern' ? 404 : 200);
    expect(reply.response?.error?.code).toBe(-32601);
    expect(reply.response?.id).toBe('abc');
  });

  it('is told apart from a method by its type', async () => {
    const client = await connect(era, fixture);
    const reply = await client.post({ ...client.message('tools/list'), method: '' });
    expect([-32601, -32600, -32020]).toContain(reply.response?.error?.code);
  });
});

describe('a session', () => {
  it('is not gone for a client that asked for an unknown method', async () => {
    const session = await legacySession(fixture);
    await session.request('no/such');
    expect((await session.request('ping')).status).toBe(200);
  });
});

describe('params in the legacy era', () => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect('legacy', fixture);
  });
  const request = (method: string, params: unknown) => ({ jsonrpc: '2.0', id: 'abc', method, params });

  it.each([undefined, {}, null, { unknown: 1 }, { _meta: {} }])('of tools/list may be %j', async (params) => {
    const reply = await client.post(request('tools/list', params));
    expect(reply.status).toBe(200);
    expect(reply.json?.result).toHaveProperty('tools');
  });

  it.each([undefined, {}, null, { _meta: {} }])('of ping may be %j', async (params) => {
    expect((await client.post(request('ping', params))).json?.result).toEqual({});
  });

  it.each(['tools/list', 'ping', 'tools/call', 'no/such', 'initialize'])(
    'of %s that are no object answer -32602 or -32600 under the id',
    async (method) => {
      for (const params of [[], [1], 'x', '', 42, 0, true, false]) {
        const reply = await client.post(request(method, params));
        expect([200, 400]).toContain(reply.status);
        expect([-32602, -32600]).toContain(reply.json?.error?.code);
        expect(reply.json?.id).toBe('abc');
      }
    },
  );

  it.each([undefined, null, {}, { arguments: {} }])(
    'of tools/call without a name answer -32602: %j',
    async (params) => {
      const reply = await client.post(request('tools/call', params));
      expect(reply.json?.error?.code).toBe(-32602);
      expect(reply.json?.id).toBe('abc');
      expect(fixture.ran).toEqual([]);
    },
  );

  it.each(['x', 5, [], null, true])('with _meta %j answer -32602 or are served, with the id', async (_meta) => {
    const reply = await client.post(request('tools/list', { _meta }));
    expect([undefined, -32602, -32600]).toContain(reply.json?.error?.code);
    expect(reply.json?.id).toBe('abc');
  });

  it.each([undefined, null, [], 'x', 42, {}, { protocolVersion: '2025-11-25' }])(
    'of initialize, %j, open no session',
    async (params) => {
      const reply = await post(fixture.url, { ...initializeMessage(), params });
      expect([200, 400]).toContain(reply.status);
      expect([-32602, -32600]).toContain(reply.json?.error?.code);
      expect(reply.json?.id).toBe('init');
      expect(reply.headers).not.toHaveProperty('mcp-session-id');
    },
  );
});

describe('params in the modern era', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta: a request without its fields MUST be refused
  it.each([undefined, null, {}, [], [1], 'x', '', 42, true])(
    'that cannot carry _meta answer 400: %j',
    async (params) => {
      const client = await connect('modern', fixture);
      for (const method of ['tools/list', 'tools/call', 'server/discover']) {
        const body = { jsonrpc: '2.0', id: 'abc', method, params };
        const reply = await client.post(body, { method, ...(method === 'tools/call' ? { name: 'echo' } : {}) });
        expect(reply.status).toBe(400);
        expect(method === 'tools/call' ? [-32602, -32600, -32020] : [-32602, -32600]).toContain(
          reply.json?.error?.code,
        );
        expect(reply.json?.id).toBe('abc');
      }
      expect(fixture.ran).toEqual([]);
    },
  );

  it('of tools/list may have fields that are unknown', async () => {
    const client = await connect('modern', fixture);
    expect((await client.request('tools/list', { unknown: [1] })).status).toBe(200);
  });
});
