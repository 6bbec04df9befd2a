/** Every refusal of a request that could be read carries that request's id. */
import { allow, deny } from 'express-mcp';
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { initializeMessage, legacySession, modern, post } from '../support/wire';
import type { Reply } from '../support/wire';

const id = 'abc';
let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture({
    server: {
      authorizer: ({ name, operation }) => (name === 'destroy' && operation === 'call' ? deny('Not today') : allow()),
    },
  });
});
afterAll(() => fixture.close());

type Refusal = [what: string, send: () => Promise<Reply>];

const legacyRefusals: Refusal[] = [
  ['an unknown method', async () => (await legacySession(fixture)).request('no/such', {}, { id })],
  ['params of a wrong type', async () => (await legacySession(fixture)).request('tools/list', [], { id })],
  ['a name of a wrong type', async () => (await legacySession(fixture)).request('tools/call', { name: 5 }, { id })],
  ['an unknown cursor', async () => (await legacySession(fixture)).request('tools/list', { cursor: 'x' }, { id })],
  ['a tool with a bug', async () => (await legacySession(fixture)).callTool('throws', {}, { id })],
  ['a second initialize', async () => (await legacySession(fixture)).post({ ...initializeMessage(), id })],
  ['initialize without params', () => post(fixture.url, { jsonrpc: '2.0', id, method: 'initialize' })],
  ['jsonrpc 1.0', async () => (await legacySession(fixture)).post({ jsonrpc: '1.0', id, method: 'ping' })],
  [
    'an unknown session',
    async () => (await legacySession(fixture)).request('ping', {}, { id, headers: { 'Mcp-Session-Id': 'unknown' } }),
  ],
  [
    'an ended session',
    async () => {
      const session = await legacySession(fixture);
      await session.delete();
      return session.request('ping', {}, { id });
    },
  ],
  ['no session', () => post(fixture.url, { jsonrpc: '2.0', id, method: 'ping' })],
  [
    'an unknown version header',
    async () =>
      (await legacySession(fixture)).request('ping', {}, { id, headers: { 'MCP-Protocol-Version': '1999-01-01' } }),
  ],
];

const modernRefusals: Refusal[] = [
  ['an unknown method', () => modern(fixture).request('no/such', {}, { id })],
  [
    'a header that does not match',
    () => modern(fixture).request('tools/list', {}, { id, headers: { 'Mcp-Method': 'x' } }),
  ],
  ['a missing header', () => modern(fixture).callTool('echo', {}, { id, headers: { 'Mcp-Name': undefined } })],
  ['no _meta', () => modern(fixture).request('tools/list', {}, { id, meta: null })],
  ['an unknown tool', () => modern(fixture).callTool('nope', {}, { id })],
  ['an unknown cursor', () => modern(fixture).request('tools/list', { cursor: 'x' }, { id })],
  ['a tool with a bug', () => modern(fixture).callTool('throws', {}, { id })],
  [
    'an unsupported version',
    () =>
      modern(fixture).request(
        'tools/list',
        {},
        {
          id,
          headers: { 'MCP-Protocol-Version': '2027-01-01' },
          meta: { 'io.modelcontextprotocol/protocolVersion': '2027-01-01' },
        },
      ),
  ],
];

// https://modelcontextprotocol.io/specification/2025-11-25/basic#error-responses
// https://modelcontextprotocol.io/specification/2026-07-28/basic#error-responses
describe.each([
  ['legacy', legacyRefusals],
  ['modern', modernRefusals],
])('an error response MUST include the id of its request, %s era', (_era, refusals) => {
  it.each(refusals)('for %s', async (_what, send) => {
    const reply = await send();
    expect(reply.response?.error).toBeDefined();
    expect(reply.response?.id).toBe(id);
  });
});

describe('a denied call', () => {
  it.each([
    ['legacy', async () => (await legacySession(fixture)).callTool('destroy', {}, { id })],
    ['modern', () => modern(fixture).callTool('destroy', {}, { id })],
  ])('is answered under its id, %s era', async (_era, send) => {
    const reply = await send();
    expect(reply.response?.id).toBe(id);
    expect(reply.response?.result?.isError).toBe(true);
  });
});

describe.each(eras)('a call beyond the cap, %s era', (era) => {
  it('is refused under its id', async () => {
    const narrow = await createFixture({ router: { maxCalls: 1 } });
    try {
      const client = await connect(era, narrow);
      const held = client.callTool('hold', {}).catch(() => undefined); // ends with the fixture
      await narrow.until(() => narrow.ran.includes('hold'));
      const reply = await client.callTool('echo', { text: 'a' }, { id });
      expect(reply.status).toBe(503);
      expect(reply.response?.error).toBeDefined();
      expect(reply.response?.id).toBe(id);
      expect(narrow.ran).toEqual(['hold']);
      await narrow.close();
      await held;
    } finally {
      await narrow.close();
    }
  });
});

describe('a request whose id cannot be read', () => {
  it.each(['{"jsonrpc":"2.0","id":"abc","method":', '[]', '7', '{"jsonrpc":"2.0","id":{},"method":"ping"}'])(
    'is refused without one, never with null: %s',
    async (body) => {
      const reply = await post(fixture.url, body);
      expect(reply.json?.error).toBeDefined();
      expect(reply.json).not.toHaveProperty('id');
    },
  );
});
