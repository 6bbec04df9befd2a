/** Log lines: one record per event, in our own words, with nothing in them that a client could forge. */
import type { Logger } from '../../lib/http/options';
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { legacySession, modern, post } from '../support/wire';

interface Line {
  level: keyof Logger;
  record: Record<string, unknown>;
  message: string;
}

let fixture: Fixture;
let lines: Line[];
afterEach(() => fixture.close());
async function start(options: FixtureOptions = {}): Promise<void> {
  lines = [];
  const write = (level: keyof Logger) => (record: object, message: string) =>
    void lines.push({ level, record: record as Line['record'], message });
  const logger = { info: write('info'), warn: write('warn'), error: write('error') };
  fixture = await createFixture({ ...options, router: { logger, ...options.router } });
}

describe('the logger', () => {
  it('gets one line for each event', async () => {
    await start();
    const session = await legacySession(fixture);
    await session.request('ping');
    await session.callTool('throws');
    await session.request('ping', undefined, { headers: { Accept: 'text/html' } });
    await session.delete();
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ['info', 'MCP endpoint ready'],
      ['info', 'session opened'],
      ['error', 'fault'],
      ['warn', 'request refused'],
      ['info', 'session ended'],
    ]);
    expect(lines[3]?.record).toEqual({
      status: 406,
      code: -32600,
      reason: 'Accept must list application/json and text/event-stream',
      method: 'POST',
    });
    expect(lines[4]?.record).toMatchObject({ reason: 'client' });
  });

  it('gets the error itself, for those who may see it', async () => {
    await start();
    await modern(fixture).callTool('throws');
    expect(lines.at(-1)?.record).toMatchObject({ err: expect.any(Error), method: 'tools/call' });
  });

  it('never gets a whole session id: who reads logs must not be able to use it', async () => {
    await start();
    const session = await legacySession(fixture);
    await session.request('ping', undefined, { headers: { Accept: 'text/html' } });
    await session.delete();
    expect(JSON.stringify(lines)).not.toContain(session.sessionId);
    expect(JSON.stringify(lines)).toContain(session.sessionId.slice(0, 6));
  });

  it('is called as a method: loggers use this', async () => {
    class Counting implements Logger {
      count = 0;
      info(): void {
        this.count += 1;
      }
      warn(): void {
        this.count += 1;
      }
      error(): void {
        this.count += 1;
      }
    }
    const logger = new Counting();
    await start({ router: { logger } });
    await (await legacySession(fixture)).delete();
    expect(logger.count).toBe(3);
  });

  it('that throws does no harm', async () => {
    const print = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const fail = () => {
      throw new Error('disk full');
    };
    await start({ router: { logger: { info: fail, warn: fail, error: fail } } });
    const session = await legacySession(fixture);
    expect((await session.callTool('throws')).response?.error?.code).toBe(-32603);
    expect((await session.delete()).status).toBe(204);
    print.mockRestore();
  });
});

describe.each(eras)('what clients say, %s era', (era) => {
  const forged = 'x\r\n[info] all good \u001b[31m\u2028"}';
  const mark = /all good/;

  it('is in no line, wherever they say it', async () => {
    await start({ bearer: true });
    const headers = { Authorization: 'Bearer alice-token' };
    const client = await connect(era, fixture, { headers });
    await client.callTool(forged, { secret: 'all good' });
    await client.callTool('echo', { text: 5, [forged]: forged });
    await client.callTool('throws', { [forged]: forged }, { id: forged });
    await client.request(forged);
    await client.request('tools/list', { cursor: forged });
    await client.request('resources/read', { uri: forged });
    await client.request('prompts/get', { name: forged });
    await client.notify('notifications/cancelled', { requestId: forged, reason: forged });
    await client.notify(`notifications/${forged}`);
    await client.post({ jsonrpc: forged, id: forged, method: forged });
    await client.post(forged);
    const encoded = `=?base64?${Buffer.from(forged).toString('base64')}?=`;
    for (const name of ['Mcp-Session-Id', 'Mcp-Name', 'MCP-Protocol-Version', 'Accept', 'Content-Type', 'Origin']) {
      await client.callTool('echo', { text: 'a' }, { headers: { [name]: encoded } });
      await client.callTool('echo', { text: 'a' }, { headers: { [name]: 'all good' } });
    }
    await client.callTool('echo', { text: 'a' }, { headers: { Authorization: 'Bearer all good' } });
    expect(lines.length).toBeGreaterThan(5);
    for (const { record, message } of lines) {
      expect(message).toMatch(/^[\w ]+$/);
      expect(JSON.stringify(record)).not.toMatch(mark);
      expect(JSON.stringify(record)).not.toMatch(/alice-token|secret/);
    }
  });

  it('of themselves is in no line either', async () => {
    await start();
    const clientInfo = { name: forged, version: forged };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const { headers } = await post(fixture.url, { jsonrpc: '2.0', id: 1, method: 'initialize', params });
    expect(headers).toHaveProperty('mcp-session-id');
    await modern(fixture).request('tools/list', {}, { meta: { 'io.modelcontextprotocol/clientInfo': clientInfo } });
    expect(JSON.stringify(lines)).not.toMatch(mark);
  });
});
