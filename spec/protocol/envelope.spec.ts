/** Requests whose envelope is wrong: what is missing, and what is too much. */
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { initializeMessage, legacySession, modernRequest, post } from '../support/wire';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.ran.splice(0));

/** What the defect does to a call. */
const defects: [string, (message: object) => object][] = [
  ['no method', (message) => ({ ...message, method: undefined })],
  ['method 7', (message) => ({ ...message, method: 7 })],
  ['method null', (message) => ({ ...message, method: null })],
  ['method ["tools/call"]', (message) => ({ ...message, method: ['tools/call'] })],
  ['method {}', (message) => ({ ...message, method: {} })],
  ['jsonrpc "1.0"', (message) => ({ ...message, jsonrpc: '1.0' })],
  ['jsonrpc 2', (message) => ({ ...message, jsonrpc: 2 })],
  ['jsonrpc "2.00"', (message) => ({ ...message, jsonrpc: '2.00' })],
  ['jsonrpc null', (message) => ({ ...message, jsonrpc: null })],
  ['jsonrpc missing', (message) => ({ ...message, jsonrpc: undefined })],
  ['a result as well', (message) => ({ ...message, result: {} })],
  ['an error as well', (message) => ({ ...message, error: { code: 1, message: 'a' } })],
  ['a result and an error as well', (message) => ({ ...message, result: {}, error: { code: 1, message: 'a' } })],
];

describe.each(eras)('%s era', (era) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect(era, fixture);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic#messages: all messages MUST follow JSON-RPC 2.0
  describe.each(defects)('a call with %s', (_what, bend) => {
    it.each(['abc', 0, '', 42])('answers 400 with -32600 under its id %j, and runs nothing', async (id) => {
      const message = client.message('tools/call', { name: 'echo', arguments: { text: 'a' } }, id);
      const reply = await client.post(bend(message), { method: 'tools/call', name: 'echo' });
      expect(reply.status).toBe(400);
      expect(reply.json?.error?.code).toBe(-32600);
      expect(reply.json?.id).toBe(id);
      expect(fixture.ran).toEqual([]);
    });

    it('and a broken id answers 400 with -32600, without one', async () => {
      const message = client.message('tools/call', { name: 'echo', arguments: { text: 'a' } }, { not: 'an id' });
      const reply = await client.post(bend(message), { method: 'tools/call', name: 'echo' });
      expect(reply.status).toBe(400);
      expect(reply.json?.error?.code).toBe(-32600);
      expect(reply.json).not.toHaveProperty('id');
    });
  });

  it('fields that JSON-RPC does not know are no defect', async () => {
    const reply = await client.post({ ...client.message('tools/list'), extra: { deep: [1] }, ID: 2, Method: 'x' });
    expect(reply.status).toBe(200);
  });

  it('a field that is there twice counts once, and the last of them', async () => {
    const text = JSON.stringify(client.message('tools/list', {}, 'last')).replace('"id"', '"id":"first","id"');
    const reply = await client.post(text);
    expect(reply.status).toBe(200);
    expect(reply.json?.id).toBe('last');
  });
});

describe('initialize', () => {
  it.each(defects)('with %s opens no session', async (_what, bend) => {
    const reply = await post(fixture.url, bend(initializeMessage()));
    expect(reply.status).toBe(400);
    expect(reply.json?.error?.code).toBe(-32600);
    expect(reply.headers).not.toHaveProperty('mcp-session-id');
  });
});

describe('a client that posts a response', () => {
  const responses = [
    { jsonrpc: '2.0', id: 'never asked', result: {} },
    { jsonrpc: '2.0', id: 0, result: { action: 'accept' } },
    { jsonrpc: '2.0', id: 1, error: { code: -1, message: 'no' } },
  ];
  const malformed = [
    { jsonrpc: '2.0', id: 1, result: {}, error: { code: 1, message: 'a' } },
    { jsonrpc: '2.0', id: 1 },
    { jsonrpc: '2.0', result: {} },
    { jsonrpc: '2.0', id: null, result: {} },
    { jsonrpc: '2.0', id: 1, result: 'x' },
    { jsonrpc: '2.0', id: 1, error: 'x' },
    { jsonrpc: '2.0', id: {}, result: {} },
    { id: 1, result: {} },
  ];

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server 4
  it.each(responses)('to nothing it was asked is answered 202 in a session: %j', async (response) => {
    const session = await legacySession(fixture);
    expect((await session.post(response)).status).toBe(202);
    expect((await session.post(response)).status).toBe(202);
    expect((await session.request('ping')).status).toBe(200);
  });

  it.each(malformed)('that is malformed is refused in a session, which goes on: %j', async (response) => {
    const session = await legacySession(fixture);
    const reply = await session.post(response);
    expect(reply.status).toBe(400);
    // `{ id: 1 }` alone could have been a request; a response's id is not the client's.
    if ('result' in response || 'error' in response) expect(reply.json).not.toHaveProperty('id');
    expect((await session.request('ping')).status).toBe(200);
  });

  it.each(responses)('on an ended session or an unknown one MUST be answered 404: %j', async (response) => {
    const session = await legacySession(fixture);
    expect((await session.post(response, { headers: { 'Mcp-Session-Id': 'unknown' } })).status).toBe(404);
    await session.delete();
    expect((await session.post(response)).status).toBe(404);
  });

  it.each(responses)('without a session is answered 400: %j', async (response) => {
    expect((await post(fixture.url, response)).status).toBe(400);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#sending-messages 4:
  // the client MUST NOT send responses
  it.each([...responses, ...malformed])('is refused with 400 and -32600 in the modern era: %j', async (response) => {
    const { headers } = modernRequest('tools/list');
    for (const sent of [headers, { 'MCP-Protocol-Version': headers['MCP-Protocol-Version'] }]) {
      const reply = await post(fixture.url, response, sent);
      expect(reply.status).toBe(400);
      expect(reply.json?.error?.code).toBe(-32600);
    }
  });
});
