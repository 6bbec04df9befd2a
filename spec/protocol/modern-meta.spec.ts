/** What each modern request says about its client, and how the server introduces itself. */
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { modernRevision } from '../support/schema';
import { legacySession, modern, send } from '../support/wire';
import type { ModernClient } from '../support/wire';

let fixture: Fixture;
let client: ModernClient;
beforeAll(async () => {
  fixture = await createFixture();
  client = modern(fixture);
});
afterAll(() => fixture.close());
beforeEach(() => fixture.ran.splice(0));

const prefix = 'io.modelcontextprotocol';

describe('_meta of a request', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta
  it.each<[string, Record<string, unknown> | null]>([
    ['without it', null],
    ['without protocolVersion', { [`${prefix}/protocolVersion`]: undefined }],
    ['with protocolVersion 5', { [`${prefix}/protocolVersion`]: 5 }],
    ['with protocolVersion null', { [`${prefix}/protocolVersion`]: null }],
    ['without clientCapabilities', { [`${prefix}/clientCapabilities`]: undefined }],
    ['with clientCapabilities "x"', { [`${prefix}/clientCapabilities`]: 'x' }],
    ['with clientCapabilities null', { [`${prefix}/clientCapabilities`]: null }],
    ['with clientCapabilities []', { [`${prefix}/clientCapabilities`]: [] }],
    ['with clientCapabilities 5', { [`${prefix}/clientCapabilities`]: 5 }],
  ])('MUST be complete: %s, the answer is 400 with -32602, and nothing runs', async (_what, meta) => {
    for (const reply of [
      await client.request('tools/list', {}, { id: 'abc', meta }),
      await client.request('server/discover', {}, { id: 'abc', meta }),
      await client.callTool('echo', { text: 'a' }, { id: 'abc', meta }),
    ]) {
      expect(reply.status).toBe(400);
      expect(reply.json).toMatchObject({ id: 'abc', error: { code: -32602 } });
      expect(reply.headers).not.toHaveProperty('mcp-session-id');
    }
    expect(fixture.ran).toEqual([]);
  });

  it.each(['x', 5, [], null, true])('MUST be an object: %j', async (_meta) => {
    const headers = { 'MCP-Protocol-Version': modernRevision, 'Mcp-Method': 'tools/list' };
    const body = { jsonrpc: '2.0', id: 'abc', method: 'tools/list', params: { _meta } };
    const reply = await send(fixture.url, { method: 'POST', headers, body, revision: modernRevision });
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject({ id: 'abc', error: { code: -32602 } });
  });

  it('may go without clientInfo', async () => {
    const reply = await client.request('tools/list', {}, { meta: { [`${prefix}/clientInfo`]: undefined } });
    expect(reply.status).toBe(200);
    expect(reply.headers).not.toHaveProperty('mcp-session-id');
  });

  it('may carry more than the specification names', async () => {
    const reply = await client.request('tools/list', {}, { meta: { 'example.com/trace': [1], plain: null } });
    expect(reply.status).toBe(200);
  });
});

describe('server/discover', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/server/discover
  it('as the very first request MUST be answered: versions, capabilities, how long they hold', async () => {
    const fresh = await createFixture();
    try {
      const reply = await modern(fresh).request('server/discover');
      expect(reply.status).toBe(200);
      expect(reply.headers).not.toHaveProperty('mcp-session-id');
      expect(reply.json?.result).toMatchObject({
        resultType: 'complete',
        supportedVersions: [modernRevision],
        capabilities: { tools: { listChanged: true } },
        instructions: 'For specs.',
        ttlMs: expect.any(Number),
        cacheScope: expect.stringMatching(/^(private|public)$/),
        _meta: { [`${prefix}/serverInfo`]: { name: 'fixture', version: '1.2.3' } },
      });
    } finally {
      await fresh.close();
    }
  });

  it('is no part of the legacy era', async () => {
    const session = await legacySession(fixture);
    expect((await session.request('server/discover')).json?.error?.code).toBe(-32601);
  });
});
