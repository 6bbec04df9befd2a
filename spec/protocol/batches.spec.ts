/** Arrays of messages: served in 2025-03-26, refused everywhere else. */
import { allow, deny } from 'express-mcp';
import { connect } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { legacyRevisions, modernRevision } from '../support/schema';
import { initializeMessage, legacySession, modern, modernRequest, post } from '../support/wire';
import type { LegacySession, Message, Reply } from '../support/wire';

const ping = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'ping' });
const call = (id: unknown, name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

/** The answer to `id` in it, whether it came as JSON or on a stream. */
function answerTo(reply: Reply, id: unknown): Message | undefined {
  return reply.messages.flat().find((message) => message.id === id && !('method' in message));
}

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture({
    server: {
      authorizer: ({ name, operation }) => (name === 'destroy' && operation === 'call' ? deny('Not today') : allow()),
    },
  });
});
afterAll(() => fixture.close());
beforeEach(() => fixture.ran.splice(0));

describe('a batch in a session of 2025-03-26', () => {
  let session: LegacySession;
  beforeAll(async () => {
    session = await legacySession(fixture, { revision: '2025-03-26' });
  });

  // https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
  it('MUST be received: each request is answered', async () => {
    const reply = await session.post([ping(1), ping('1'), call(2, 'echo', { text: 'a' })]);
    expect(reply.status).toBe(200);
    expect(answerTo(reply, 1)?.result).toEqual({});
    expect(answerTo(reply, '1')?.result).toEqual({});
    expect(answerTo(reply, 2)?.result?.content).toEqual([{ type: 'text', text: 'a' }]);
    expect(reply.messages).toHaveLength(3);
  });

  it('of one request is answered as a batch', async () => {
    const reply = await session.post([ping(1)], { headers: { Accept: 'application/json' } });
    expect(JSON.parse(reply.text)).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
  });

  it('is served without a version header too', async () => {
    const reply = await session.post([ping(1), ping(2)], { headers: { 'MCP-Protocol-Version': undefined } });
    expect(reply.messages).toHaveLength(2);
  });

  it('answers the requests among its notifications and responses, and only those', async () => {
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'none' } };
    const response = { jsonrpc: '2.0', id: 'never asked', result: {} };
    const reply = await session.post([cancelled, ping(3), response]);
    expect(reply.messages).toEqual([{ jsonrpc: '2.0', id: 3, result: {} }]);
  });

  // https://modelcontextprotocol.io/specification/2025-03-26/basic/transports#sending-messages-to-the-server
  it('MUST be answered 202 without a body when it has no request', async () => {
    const notification = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
    expect((await session.post([notification, notification])).status).toBe(202);
    expect((await session.post([{ jsonrpc: '2.0', id: 'x', result: {} }])).status).toBe(202);
  });

  it('carries the notices of its calls before their answers', async () => {
    const first = {
      ...call(1, 'progress'),
      params: { name: 'progress', arguments: {}, _meta: { progressToken: 'a' } },
    };
    const reply = await session.post([first, ping(2)]);
    const tokens = reply.messages.filter(({ method }) => method === 'notifications/progress').map((m) => m.params);
    expect(tokens).toHaveLength(3);
    expect(tokens).toContainEqual(expect.objectContaining({ progressToken: 'a' }));
    expect(answerTo(reply, 1)?.result).toBeDefined();
    expect(answerTo(reply, 2)?.result).toBeDefined();
  });

  it('has each of its calls authorized on its own', async () => {
    const reply = await session.post([call(1, 'echo', { text: 'a' }), call(2, 'destroy'), call(3, 'nothing')]);
    expect(answerTo(reply, 1)?.result?.isError).toBeUndefined();
    expect(answerTo(reply, 2)?.result?.isError).toBe(true);
    expect(answerTo(reply, 3)?.result?.isError).toBeUndefined();
    expect(fixture.ran.sort()).toEqual(['echo', 'nothing']);
  });

  it('keeps the failure of one from the others', async () => {
    const reply = await session.post([call(1, 'throws'), { ...ping(2), method: 'no/such' }, ping(3)]);
    expect(answerTo(reply, 1)?.error?.code).toBe(-32603);
    expect(answerTo(reply, 2)?.error?.code).toBe(-32601);
    expect(answerTo(reply, 3)?.result).toEqual({});
  });

  // JSON-RPC 2.0, "Batch": an invalid element has its own error; refusing the whole is the other reading
  it.each([[42], [null], [[]], [[ping(9)]], [{}], [{ jsonrpc: '2.0', id: null, method: 'ping' }]])(
    'with the invalid element %j is refused, or answers the rest',
    async (element) => {
      const reply = await session.post([ping(1), element], { validate: false });
      if (reply.status === 200) expect(answerTo(reply, 1)?.result).toEqual({});
      else expect([reply.status, reply.json?.error?.code]).toEqual([400, -32600]);
    },
  );

  it.each([{ result: 'none' }, { error: 'none' }, { result: {}, error: { code: 1, message: '' } }, { result: 5 }])(
    'with the malformed response %j answers that without an id: a response has the server’s own',
    async (fields) => {
      const reply = await session.post([ping(1), { jsonrpc: '2.0', id: 'mine', ...fields }]);
      expect(reply.json).toEqual([
        { jsonrpc: '2.0', id: 1, result: {} },
        { jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) } },
      ]);
    },
  );

  it('with one id twice leaves nothing unanswered', async () => {
    const reply = await session.post([call(1, 'echo', { text: 'a' }), call(1, 'echo', { text: 'b' })]);
    expect([200, 400]).toContain(reply.status);
    if (reply.status === 200) expect(reply.messages).toHaveLength(2);
  });

  it('that is empty gets one -32600', async () => {
    const reply = await session.post([]);
    expect(reply.status).toBe(400);
    expect(reply.json?.error?.code).toBe(-32600);
    expect(Array.isArray(reply.json)).toBe(false);
  });

  // https://modelcontextprotocol.io/specification/2025-03-26/basic/lifecycle#initialization
  it('MUST NOT contain initialize', async () => {
    const inside = await session.post([initializeMessage('2025-03-26'), ping(1)]);
    expect(inside.headers).not.toHaveProperty('mcp-session-id');
    expect(answerTo(inside, 'init')?.result).toBeUndefined();
  });

  it('of a hundred is served, of one more it is refused, and the server lives on', async () => {
    const pings = (count: number) => Array.from({ length: count }, (_, n) => ping(n));
    expect((await session.post(pings(100))).messages).toHaveLength(100);
    for (const count of [101, 10_000]) {
      const reply = await session.post(pings(count));
      expect([400, 413]).toContain(reply.status);
      expect(reply.json?.error?.code).toBe(-32600);
    }
    expect((await session.request('ping')).status).toBe(200);
  });

  it('is bounded by maxBatch', async () => {
    const narrow = await createFixture({ router: { maxBatch: 2 } });
    try {
      const other = await legacySession(narrow, { revision: '2025-03-26' });
      expect((await other.post([ping(1), ping(2)])).messages).toHaveLength(2);
      expect((await other.post([ping(1), ping(2), ping(3)])).json?.error?.code).toBe(-32600);
    } finally {
      await narrow.close();
    }
  });
});

describe('a batch elsewhere', () => {
  const others = legacyRevisions.filter((revision) => revision !== '2025-03-26');

  it.each(others)('is refused with 400 and -32600 in a session of %s, which goes on', async (revision) => {
    const session = await legacySession(fixture, { revision });
    for (const body of [[ping(1), ping(2)], [ping(1)], [], [call(1, 'echo', { text: 'a' })]]) {
      const reply = await session.post(body);
      expect(reply.status).toBe(400);
      expect(reply.json?.error?.code).toBe(-32600);
    }
    expect(fixture.ran).toEqual([]);
    expect((await session.request('ping')).status).toBe(200);
  });

  it('is refused in a session of 2025-11-25, whatever version the header names', async () => {
    const session = await legacySession(fixture);
    const reply = await session.post([ping(1)], { headers: { 'MCP-Protocol-Version': '2025-03-26' } });
    expect(reply.status).toBe(400);
  });

  it('is refused with modern headers, by its headers or by its elements', async () => {
    const { headers, body } = modernRequest('tools/call', { name: 'echo', arguments: { text: 'a' } });
    const client = await connect('modern', fixture);
    for (const batch of [[body], [body, body], []]) {
      const reply = await client.post(batch, { method: 'tools/call', name: 'echo' });
      expect([reply.status, reply.json?.error?.code]).toEqual([400, -32600]);
    }
    const bare = await post(fixture.url, [body], {}, { revision: modernRevision });
    expect(bare.status).toBe(400);
    expect(headers).toBeDefined();
    expect(fixture.ran).toEqual([]);
    expect((await modern(fixture).request('tools/list')).status).toBe(200);
  });

  it.each([
    ['initialize and a ping', () => [initializeMessage('2025-03-26'), ping(1)]],
    ['initialize alone', () => [initializeMessage('2025-03-26')]],
    ['a ping', () => [ping(1)]],
  ])('without a session is refused: %s', async (_what, body) => {
    const reply = await post(fixture.url, body());
    expect(reply.status).toBe(400);
    expect(reply.json?.error?.code).toBe(-32600);
    expect(reply.headers).not.toHaveProperty('mcp-session-id');
  });
});
