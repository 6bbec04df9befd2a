/** The answer to a POST: JSON, or a stream from the first thing that must come before the result. */
import { connect, eras } from '../support/eras';
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { initializeMessage, legacySession, post, textOf } from '../support/wire';

let fixture: Fixture;
afterEach(() => fixture.close());
async function start(router: FixtureOptions['router'] = {}, rest: FixtureOptions = {}): Promise<void> {
  fixture = await createFixture({ router, ...rest });
}

const progress = { name: 'progress', arguments: {}, _meta: { progressToken: 't' } };

describe.each(eras)('an answer, %s era', (era) => {
  /** Streams are worth starting for clients that can resume them; for others the answer keeps its own status. */
  const type = era === 'legacy' ? 'text/event-stream' : 'application/json';

  it('is JSON of known length where nothing comes before it', async () => {
    await start();
    const client = await connect(era, fixture);
    for (const reply of [await client.request('tools/list'), await client.callTool('echo', { text: 'ü' })]) {
      expect(reply.headers['content-type']).toBe('application/json');
      expect(reply.headers['content-length']).toBe(String(reply.bytes.length));
    }
  });

  it('is a stream where something does, and ends with the result', async () => {
    await start();
    const reply = await (await connect(era, fixture)).request('tools/call', progress);
    expect(reply.headers['content-type']).toBe('text/event-stream');
    expect(reply.messages.map(({ method }) => method)).toEqual([...Array(3).fill('notifications/progress'), undefined]);
    expect(textOf(reply)).toBe('reported');
  });

  it('is JSON without what would come before it, where the client takes JSON only', async () => {
    await start();
    const client = await connect(era, fixture);
    const reply = await client.request('tools/call', progress, { headers: { Accept: 'application/json' } });
    expect(reply.headers['content-type']).toBe('application/json');
    expect(textOf(reply)).toBe('reported');
    expect(fixture.errors).toEqual([]);
  });

  it('is a stream that holds only the result, where the client takes nothing else', async () => {
    await start();
    const client = await connect(era, fixture);
    const reply = await client.callTool('echo', { text: 'a' }, { headers: { Accept: 'text/event-stream' } });
    expect([reply.status, reply.messages.length, textOf(reply)]).toEqual([200, 1, 'a']);
  });

  it('is an error in the same manner as a result', async () => {
    await start();
    const client = await connect(era, fixture);
    const reply = await client.callTool('throws');
    expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/json']);
    expect(reply.response?.error?.code).toBe(-32603);
  });

  it('becomes a stream when none has come within keepAliveMs, and ends with the result', async () => {
    await start({ keepAliveMs: 40 });
    const reply = await (await connect(era, fixture)).callTool('slow', { ms: 150, text: 'late' });
    expect(reply.headers['content-type']).toBe('text/event-stream');
    expect([reply.messages.length, textOf(reply)]).toEqual([1, 'late']);
  });

  it('stays JSON however late, where the client takes JSON only', async () => {
    await start({ keepAliveMs: 40 });
    const client = await connect(era, fixture);
    const reply = await client.callTool('slow', { ms: 150, text: 'late' }, { headers: { Accept: 'application/json' } });
    expect([reply.headers['content-type'], textOf(reply)]).toEqual(['application/json', 'late']);
  });

  it(`is ${type} from the start with stream: always, an error too`, async () => {
    await start({ stream: 'always' });
    const client = await connect(era, fixture);
    for (const name of ['echo', 'throws']) {
      const reply = await client.callTool(name, { text: 'a' });
      expect(reply.headers['content-type']).toBe(type);
      expect(reply.messages).toHaveLength(1);
    }
  });

  it('is JSON even with stream: always, where the client takes JSON only', async () => {
    await start({ stream: 'always' });
    const client = await connect(era, fixture);
    const reply = await client.callTool('echo', { text: 'a' }, { headers: { Accept: 'application/json' } });
    expect(reply.headers['content-type']).toBe('application/json');
  });

  it(`is ${type} from the start where the tool says so`, async () => {
    await start({}, { setup: (server) => void server.registerTool('streams', { stream: 'always' }, () => 'done') });
    const client = await connect(era, fixture);
    expect((await client.callTool('streams')).headers['content-type']).toBe(type);
    expect((await client.callTool('echo', { text: 'a' })).headers['content-type']).toBe('application/json');
  });

  it('that JSON cannot carry is an error that the client hears of', async () => {
    const circular: { content: unknown[]; self?: unknown } = { content: [] };
    circular.self = circular;
    await start({}, { setup: (server) => void server.registerTool('circular', {}, () => circular as never) });
    const client = await connect(era, fixture);
    const reply = await client.callTool('circular', {}, { id: 'c' });
    expect([reply.status, reply.response?.id, reply.response?.error?.code]).toEqual([200, 'c', -32603]);
    expect(String(fixture.errors[0])).toMatch(/circular/i);
  });
});

describe('the answer to initialize', () => {
  const slowly = (ms: number) => {
    const records = new Map<string, never>();
    return {
      create: async (record: { id: string }) => {
        await new Promise((resolve) => setTimeout(resolve, ms));
        records.set(record.id, record as never);
      },
      get: (id: string) => records.get(id),
      update() {},
      delete: (id: string) => void records.delete(id),
    };
  };

  it('carries the session id with stream: always', async () => {
    await start({ stream: 'always' });
    const session = await legacySession(fixture);
    expect((await session.request('ping')).status).toBe(200);
  });

  it('carries the session id although the store is slower than keepAliveMs', async () => {
    await start({ keepAliveMs: 40, sessions: slowly(200) });
    const session = await legacySession(fixture);
    expect(session.initializeReply.headers['content-type']).toBe('application/json');
    expect((await session.request('ping')).status).toBe(200);
  });

  it('carries the session id in a stream, where the client takes nothing else', async () => {
    await start({ keepAliveMs: 40, sessions: slowly(200) });
    const reply = await post(fixture.url, initializeMessage(), { Accept: 'text/event-stream' });
    expect([reply.headers['content-type'], typeof reply.headers['mcp-session-id']]).toEqual([
      'text/event-stream',
      'string',
    ]);
  });
});

describe('a batch', () => {
  const batch = (...names: string[]) =>
    names.map((name, id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { ...progress, name } }));

  it('is answered with an array', async () => {
    await start();
    const session = await legacySession(fixture, { revision: '2025-03-26' });
    const reply = await session.post(batch('nothing', 'caller'));
    expect(reply.headers['content-type']).toBe('application/json');
    expect(reply.messages.map(({ id }) => id).sort()).toEqual([0, 1]);
  });

  it('is answered with a stream where something comes before a result', async () => {
    await start();
    const session = await legacySession(fixture, { revision: '2025-03-26' });
    const reply = await session.post(batch('progress', 'nothing'));
    expect(reply.headers['content-type']).toBe('text/event-stream');
    expect(reply.messages).toHaveLength(5);
  });

  it('of one is answered with an array of one, whatever becomes of it', async () => {
    await start();
    const session = await legacySession(fixture, { revision: '2025-03-26' });
    expect(Array.isArray((await session.post(batch('nothing'))).json)).toBe(true);
    const held = session.post(batch('hold'), { validate: false });
    await fixture.until(() => fixture.ran.includes('hold'));
    await fixture.router.close({ graceMs: 0 });
    expect(Array.isArray((await held).json)).toBe(true);
  });

  it('all of whose calls were cancelled is answered with 202', async () => {
    await start();
    const session = await legacySession(fixture, { revision: '2025-03-26' });
    const held = session.post(batch('hold', 'hold'));
    await eventually(() => fixture.ran.length === 2);
    for (const requestId of [0, 1]) await session.notify('notifications/cancelled', { requestId });
    expect([(await held).status, (await held).text]).toEqual([202, '']);
  });
});
