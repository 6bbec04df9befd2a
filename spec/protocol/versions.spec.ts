/** Which revision a legacy client gets, and what its version header may say. */
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { latestLegacy, legacyRevisions, modernRevision } from '../support/schema';
import { initializeMessage, legacySession, post, send, textOf } from '../support/wire';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

describe('initialize', () => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation
  it.each(legacyRevisions)('MUST be answered with the version asked for, if it is supported: %s', async (revision) => {
    const session = await legacySession(fixture, { revision });
    expect(session.initializeReply.response?.result?.protocolVersion).toBe(revision);
    expect(textOf(await session.callTool('era'))).toBe(`legacy ${revision}`);
  });

  const others = ['2099-01-01', '2025-12-31', '2024-10-07', '2026-07-28', '1.0.0', 'DRAFT', '', ' ', '2025-11-25 '];

  it.each(others)('MUST be answered with another version, the latest legacy one, for %j', async (version) => {
    const reply = await post(fixture.url, initializeMessage(version));
    expect(reply.status).toBe(200);
    expect(reply.response?.result?.protocolVersion).toBe(latestLegacy);
    const headers = { 'Mcp-Session-Id': reply.headers['mcp-session-id'] as string };
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const versioned = { ...headers, 'MCP-Protocol-Version': latestLegacy };
    expect((await post(fixture.url, ping, versioned)).status).toBe(200);
  });

  it.each([[5], [null], [{}], [[]], [['2025-11-25']], [true], [undefined]])(
    'answers -32602 to a version that is no string: %j',
    async (version) => {
      const message = initializeMessage();
      const params = { ...message.params, protocolVersion: version };
      const reply = await post(fixture.url, { ...message, params });
      expect([200, 400]).toContain(reply.status);
      expect(reply.json?.error?.code).toBe(-32602);
      expect(reply.headers).not.toHaveProperty('mcp-session-id');
    },
  );

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#compatibility-matrix
  it('is served exactly as the legacy SDK sends it, without the headers of the modern era', async () => {
    const message = {
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'sdk', version: '1.0.0' },
      },
      jsonrpc: '2.0',
      id: 0,
    };
    const reply = await post(fixture.url, JSON.stringify(message), {
      Accept: undefined,
      'Content-Type': undefined,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'user-agent': 'node',
    });
    expect(reply.status).toBe(200);
    expect(reply.response?.id).toBe(0);
    expect(reply.headers['mcp-session-id']).toMatch(/^[\x21-\x7e]{21,}$/);
  });

  it.each(['initialize', 'tools/list', ''])('is legacy, whatever Mcp-Method it carries: %j', async (method) => {
    const headers = { 'Mcp-Method': method, 'MCP-Protocol-Version': latestLegacy };
    expect((await post(fixture.url, initializeMessage(), headers)).status).toBe(200);
  });

  it.each([
    [latestLegacy, latestLegacy],
    ['2025-06-18', latestLegacy],
    [latestLegacy, '2025-06-18'],
    ['2024-11-05', '2025-03-26'],
    ['2027-01-01', latestLegacy],
    ['1999-01-01-nonsense', latestLegacy],
    ['', latestLegacy],
  ])('negotiates from its body, whatever the header says: header %j, body %s', async (header, body) => {
    const reply = await post(fixture.url, initializeMessage(body), { 'MCP-Protocol-Version': header });
    expect(reply.status).toBe(200);
    expect(reply.response?.result?.protocolVersion).toBe(body);
  });
});

describe('MCP-Protocol-Version without a session', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#protocol-version-header
  it.each(['2099-01-01', '2025-11-2', 'latest', ''])(
    'that names no revision of ours MUST be answered 400 with those that can be had: %j',
    async (requested) => {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
      const headers = { 'MCP-Protocol-Version': requested };
      const reply = await post(fixture.url, body, headers, { revision: modernRevision });
      expect(reply.status).toBe(400);
      expect(reply.response).toMatchObject({ id: 1, error: { code: -32022, data: { requested } } });
      expect(reply.response!.error!.data).toHaveProperty('supported', [modernRevision]);
    },
  );

  it.each(legacyRevisions)('that names one with sessions asks for one: %s', async (revision) => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const reply = await post(fixture.url, body, { 'MCP-Protocol-Version': revision });
    expect(reply.status).toBe(400);
    expect(reply.response?.error?.message).toContain('Mcp-Session-Id');
  });
});

describe('MCP-Protocol-Version in a session', () => {
  const nonsense = ['1999-01-01-nonsense', '2099-01-01', '2025-11-2', 'latest', '2025-11-25, 2025-11-25', '0'];

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header
  it.each(nonsense)(
    'MUST be answered 400 when it is invalid or unsupported, and the session goes on: %s',
    async (bad) => {
      const session = await legacySession(fixture);
      const headers = { 'MCP-Protocol-Version': bad };
      expect((await session.request('tools/list', {}, { headers })).status).toBe(400);
      expect((await session.callTool('echo', { text: 'a' }, { headers })).status).toBe(400);
      expect((await session.notify('notifications/initialized', {}, { headers })).status).toBe(400);
      expect((await session.post({ jsonrpc: '2.0', id: 1, result: {} }, { headers })).status).toBe(400);
      const get = await send(fixture.url, { method: 'GET', headers: { ...session.headers, ...headers } });
      expect(get.status).toBe(400);
      expect((await session.delete(headers)).status).toBe(400);
      expect((await session.request('ping')).status).toBe(200);
    },
  );

  it.each(legacyRevisions)('may be missing, since the negotiated version is known: %s', async (revision) => {
    const session = await legacySession(fixture, { revision });
    const headers = { 'MCP-Protocol-Version': undefined };
    expect((await session.request('tools/list', {}, { headers })).status).toBe(200);
    expect(textOf(await session.callTool('era', {}, { headers }))).toBe(`legacy ${revision}`);
    expect((await session.notify('notifications/initialized', {}, { headers })).status).toBe(202);
    const stream = await session.get(headers);
    expect(stream.status).toBe(200);
    stream.close();
    expect((await session.delete(headers)).status).toBe(204);
  });
});
