/** Header lines that come twice: no first or last one wins where it decides who asks or what. */
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { latestLegacy, modernRevision } from '../support/schema';
import { legacySession, rawHttp, send } from '../support/wire';

let fixture: Fixture;
let guarded: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
  guarded = await createFixture({ bearer: true });
});
afterAll(() => Promise.all([fixture.close(), guarded.close()]));
beforeEach(() => {
  fixture.ran.splice(0);
  guarded.ran.splice(0);
});

const refused = (status: number) => status >= 400 && status < 500;

describe.each(eras)('two lines, %s era', (era) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect(era, fixture);
  });

  const own = era === 'modern' ? modernRevision : latestLegacy;
  it.each([
    [own, '2025-06-18'],
    ['2025-06-18', own],
    [own, '1999-01-01'],
    ['1999-01-01', own],
    [own, ''],
    ['', own],
  ])('of MCP-Protocol-Version, %j and %j, are refused', async (...versions) => {
    const reply = await client.callTool('echo', { text: 'a' }, { headers: { 'MCP-Protocol-Version': versions } });
    expect(refused(reply.status)).toBe(true);
    expect(fixture.ran).toEqual([]);
  });

  it('of MCP-Protocol-Version that agree are one, or refused', async () => {
    const headers = { 'MCP-Protocol-Version': [own, own] };
    const reply = await client.callTool('echo', { text: 'a' }, { headers });
    expect(reply.status === 200 || refused(reply.status)).toBe(true);
    expect(fixture.ran).toEqual(reply.status === 200 ? ['echo'] : []);
  });

  it.each([
    ['Bearer alice-token', 'Bearer bob-token'],
    ['Bearer bob-token', 'Bearer alice-token'],
    ['Bearer alice-token', 'Bearer wrong'],
    ['Bearer wrong', 'Bearer alice-token'],
    ['Bearer alice-token', 'Basic YTpi'],
    ['Bearer alice-token', ''],
  ])('of Authorization, %j and %j, name nobody', async (...tokens) => {
    const alice = await connect(era, guarded, { headers: { Authorization: 'Bearer alice-token' } });
    const reply = await alice.callTool('caller', {}, { headers: { Authorization: tokens } });
    expect(refused(reply.status)).toBe(true);
    expect(guarded.ran).toEqual([]);
  });

  it('of Content-Length reach no tool', async () => {
    const body = JSON.stringify(client.message('tools/call', { name: 'echo', arguments: { text: 'a' } }));
    const own = Object.entries(client.headers('tools/call', 'echo')).map(([name, value]) => `${name}: ${value}\r\n`);
    const fixed = 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n';
    const lengths = `Content-Length: ${body.length}\r\nContent-Length: 2\r\n`;
    const answer = await rawHttp(fixture.port, `${fixed}${own.join('')}${lengths}\r\n${body}`);
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 /);
    expect(fixture.ran).toEqual([]);
  });
});

describe('two lines of a modern request', () => {
  const call = (headers: Record<string, string[]>) =>
    connect('modern', fixture).then((client) => client.callTool('echo', { text: 'a' }, { headers }));

  it.each(['Mcp-Name', 'Mcp-Method'])('of %s that agree are one, or refused', async (name) => {
    const value = name === 'Mcp-Name' ? 'echo' : 'tools/call';
    const reply = await call({ [name]: [value, value] });
    expect([200, 400]).toContain(reply.status);
    expect(fixture.ran).toEqual(reply.status === 200 ? ['echo'] : []);
  });

  it.each([
    ['Mcp-Name', 'echo', 'destroy'],
    ['Mcp-Name', 'destroy', 'echo'],
    ['Mcp-Name', 'echo', ''],
    ['Mcp-Name', '', 'echo'],
    ['Mcp-Method', 'tools/call', 'tools/list'],
    ['Mcp-Method', 'tools/list', 'tools/call'],
  ])('of %s, %j and %j, are a mismatch', async (name, first, second) => {
    const reply = await call({ [name]: [first, second] });
    expect(reply.status).toBe(400);
    expect(reply.json?.error?.code).toBe(-32020);
    expect(fixture.ran).toEqual([]);
  });
});

describe('two lines of Mcp-Session-Id', () => {
  it('never name the first session or the second', async () => {
    const [a, b] = [await legacySession(fixture), await legacySession(fixture)];
    for (const ids of [
      [a.sessionId, b.sessionId],
      [b.sessionId, a.sessionId],
      [a.sessionId, 'unknown'],
      ['unknown', a.sessionId],
    ]) {
      const headers = { 'Mcp-Session-Id': ids };
      expect(refused((await a.callTool('echo', { text: 'a' }, { headers })).status)).toBe(true);
      const get = await send(fixture.url, { method: 'GET', headers: { ...a.headers, ...headers } });
      expect(refused(get.status)).toBe(true);
      expect(refused((await a.delete(headers)).status)).toBe(true);
    }
    expect(fixture.ran).toEqual([]);
    for (const session of [a, b]) expect((await session.request('ping')).status).toBe(200);
  });

  it('that agree are one session, or refused, and no failure', async () => {
    const session = await legacySession(fixture);
    const headers = { 'Mcp-Session-Id': [session.sessionId, session.sessionId] };
    const reply = await session.request('ping', {}, { headers });
    expect(reply.status === 200 || refused(reply.status)).toBe(true);
    expect((await session.request('ping')).status).toBe(200);
  });
});
