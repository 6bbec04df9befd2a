/** The headers that mirror a modern request, and what is left of the legacy ones. */
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { latestLegacy, modernRevision } from '../support/schema';
import { legacySession, modern, post, send } from '../support/wire';
import type { ModernClient } from '../support/wire';

let fixture: Fixture;
let client: ModernClient;
beforeAll(async () => {
  fixture = await createFixture();
  client = modern(fixture);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.ran.splice(0));

const versionKey = 'io.modelcontextprotocol/protocolVersion';
const call = (headers: Record<string, string | undefined>) =>
  client.callTool('echo', { text: 'a' }, { id: 'abc', headers });

// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation
describe('a call MUST be refused with 400 and -32020, and not run,', () => {
  it.each<[string, Record<string, string | undefined>]>([
    ['without MCP-Protocol-Version', { 'MCP-Protocol-Version': undefined }],
    ['without Mcp-Method', { 'Mcp-Method': undefined }],
    ['without Mcp-Name', { 'Mcp-Name': undefined }],
    ['without any of them', { 'MCP-Protocol-Version': undefined, 'Mcp-Method': undefined, 'Mcp-Name': undefined }],
    ['with an empty MCP-Protocol-Version', { 'MCP-Protocol-Version': '' }],
    ['with an empty Mcp-Method', { 'Mcp-Method': '' }],
    ['with an empty Mcp-Name', { 'Mcp-Name': '' }],
    ['with another revision in the header', { 'MCP-Protocol-Version': latestLegacy }],
    ['with an unknown revision in the header', { 'MCP-Protocol-Version': '2027-01-01' }],
    ['with another method in the header', { 'Mcp-Method': 'tools/list' }],
    ['with the method in another case', { 'Mcp-Method': 'Tools/Call' }],
    ['with the method encoded, which only names may be', { 'Mcp-Method': '=?base64?dG9vbHMvY2FsbA==?=' }],
    ['with another name in the header', { 'Mcp-Name': 'nothing' }],
    ['with the name in another case', { 'Mcp-Name': 'ECHO' }],
    ['with the name quoted', { 'Mcp-Name': '"echo"' }],
    ['with the name twice', { 'Mcp-Name': 'echo, echo' }],
  ])('%s', async (_what, headers) => {
    const reply = await call(headers);
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject({ id: 'abc', error: { code: -32020 } });
    expect(fixture.ran).toEqual([]);
    expect(reply.headers).not.toHaveProperty('mcp-session-id');
  });
});

// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation
describe('a name in the header alone', () => {
  it.each([{}, { name: 5 }, { name: null }])('MUST be refused with 400 and -32020: %j', async (params) => {
    const reply = await client.request('tools/call', params, { headers: { 'Mcp-Name': 'echo' }, validate: false });
    expect([reply.status, reply.json?.error?.code]).toEqual([400, -32020]);
  });
});

// https://modelcontextprotocol.io/specification/2026-07-28/basic#meta
describe('a request that says it is modern in other ways than by its revision', () => {
  it.each<[string, object, Record<string, string>]>([
    ['by Mcp-Method', {}, { 'Mcp-Method': 'tools/list' }],
    ['by its capabilities', { _meta: { 'io.modelcontextprotocol/clientCapabilities': {} } }, {}],
  ])('MUST be refused with 400 and -32602, naming what is missing: %s', async (_, params, headers) => {
    const reply = await post(fixture.url, { jsonrpc: '2.0', id: 1, method: 'tools/list', params }, headers);
    expect([reply.status, reply.json?.error?.code]).toEqual([400, -32602]);
    expect(reply.json?.error?.message).toContain(versionKey);
  });
});

// The same: what is required is required of requests.
describe('a notification', () => {
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };

  it.each<[string, object, Record<string, string>]>([
    ['in the header alone', {}, { 'MCP-Protocol-Version': modernRevision }],
    ['in the body alone', { _meta: { [versionKey]: modernRevision } }, {}],
    ['in both', { _meta: { [versionKey]: modernRevision } }, { 'MCP-Protocol-Version': modernRevision }],
  ])('that names its revision %s is taken', async (_, meta, headers) => {
    const params = { ...cancelled.params, ...meta };
    expect((await post(fixture.url, { ...cancelled, params }, headers)).status).toBe(202);
  });

  it.each<[number, string, string]>([
    [-32020, modernRevision, latestLegacy],
    [-32020, '2027-01-01', modernRevision],
    [-32022, '2027-01-01', '2027-01-01'],
  ])('is refused with %d where the body says %s and the header %s', async (code, version, header) => {
    const params = { _meta: { [versionKey]: version } };
    const reply = await post(fixture.url, { ...cancelled, params }, { 'MCP-Protocol-Version': header });
    expect([reply.status, reply.json?.error?.code]).toEqual([400, code]);
  });
});

describe('a request without a name', () => {
  it.each(['tools/list', 'server/discover'])('needs Mcp-Method: %s', async (method) => {
    const reply = await client.request(method, {}, { headers: { 'Mcp-Method': undefined } });
    expect(reply.status).toBe(400);
    expect(reply.json?.error?.code).toBe(-32020);
  });

  it.each(['tools/list', 'server/discover'])('needs no Mcp-Name: %s', async (method) => {
    expect((await client.request(method)).status).toBe(200);
  });
});

// https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#protocol-version-negotiation
describe('a version that is not implemented', () => {
  it.each(['2027-01-01', '1900-01-01', 'v999.0.0', '2026-07-28 beta', '2025-11-25', '2024-11-05'])(
    'MUST be answered 400 with -32022, naming what is supported: %s',
    async (version) => {
      for (const method of ['tools/list', 'server/discover', 'no/such', 'initialize']) {
        const options = { id: 'abc', headers: { 'MCP-Protocol-Version': version }, meta: { [versionKey]: version } };
        const reply = await client.request(method, {}, options);
        expect(reply.status).toBe(400);
        expect(reply.json).toMatchObject({ id: 'abc', error: { code: -32022, data: { requested: version } } });
        expect((reply.json?.error?.data as { supported: string[] }).supported).toEqual([modernRevision]);
        expect(reply.headers).not.toHaveProperty('mcp-session-id');
      }
    },
  );

  it('MUST be answered so before a call is run', async () => {
    const options = { headers: { 'MCP-Protocol-Version': '2027-01-01' }, meta: { [versionKey]: '2027-01-01' } };
    expect((await client.callTool('echo', { text: 'a' }, options)).json?.error?.code).toBe(-32022);
    expect(fixture.ran).toEqual([]);
  });
});

// https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#earlier-streamable-http-revisions
describe('marks of the legacy era on a modern request', () => {
  it.each<[string, () => Promise<Record<string, string>>]>([
    ['junk', async () => ({ 'Mcp-Session-Id': 'junk', 'Last-Event-ID': '5' })],
    ['a live session', async () => ({ 'Mcp-Session-Id': (await legacySession(fixture)).sessionId })],
    ['an empty session id', async () => ({ 'Mcp-Session-Id': '' })],
  ])('SHOULD be ignored: %s', async (_what, marks) => {
    const headers = await marks();
    const list = await client.request('tools/list', {}, { headers });
    expect(list.status).toBe(200);
    expect(list.headers).not.toHaveProperty('mcp-session-id');
    const params = { name: 'progress', arguments: {}, _meta: { progressToken: 't' } };
    const streamed = await client.request('tools/call', params, { headers });
    expect(streamed.events?.length).toBe(4);
    expect(streamed.text).not.toMatch(/^id:/m);
    expect(streamed.headers).not.toHaveProperty('mcp-session-id');
  });

  it.each(['GET', 'DELETE'] as const)('SHOULD be answered 405 when it is a %s', async (method) => {
    for (const extra of [{}, { 'Mcp-Session-Id': 'junk' }]) {
      const headers = { 'MCP-Protocol-Version': modernRevision, ...extra };
      const reply = await send(fixture.url, { method, headers });
      expect(reply.status).toBe(405);
      expect(reply.headers.allow).toContain('POST');
    }
  });

  it('HEAD is answered 405, without a body', async () => {
    const reply = await send(fixture.url, { method: 'HEAD', headers: { 'MCP-Protocol-Version': modernRevision } });
    expect(reply.status).toBe(405);
    expect(reply.headers.allow).toContain('POST');
    expect(reply.bytes).toHaveLength(0);
  });
});

describe('a modern request', () => {
  it.each(['tools/list', 'server/discover', 'no/such', 'ping', 'initialize'])(
    'never opens a session: %s',
    async (method) => {
      const before = fixture.router.stats().sessions;
      const reply = await client.request(method);
      expect(reply.headers).not.toHaveProperty('mcp-session-id');
      expect(fixture.router.stats().sessions).toBe(before);
    },
  );
});
