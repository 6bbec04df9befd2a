/** Which answer a client gets for what it says it accepts. */
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { initializeMessage, legacySession, openStream, post, send } from '../support/wire';
import type { Headers } from '../support/wire';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.ran.splice(0));

const progressParams = { name: 'progress', arguments: {}, _meta: { progressToken: 't' } };

describe.each(eras)('POST, %s era', (era) => {
  it.each<Headers[string]>([
    '*/*',
    undefined,
    'application/*, text/*',
    '*/*;q=0.1',
    'text/html, */*;q=0.8',
    'Text/Event-Stream;q=0.9 , APPLICATION/JSON',
    'application/json; charset=utf-8, text/event-stream',
    'application/json,text/event-stream',
    'application/json;q=1.0,text/event-stream;q=0.001',
    ' , application/json, , text/event-stream,',
  ])('serves Accept: %s', async (accept) => {
    const client = await connect(era, fixture);
    const reply = await client.request('tools/list', {}, { headers: { Accept: accept } });
    expect(reply.status).toBe(200);
    expect(reply.response?.result).toHaveProperty('tools');
  });

  it('takes two Accept lines for one list', async () => {
    const client = await connect(era, fixture);
    const headers = { Accept: ['application/json', 'text/event-stream'] };
    const reply = await client.request('tools/call', progressParams, { headers });
    expect(reply.status).toBe(200);
    expect(reply.events?.length).toBeGreaterThan(1);
  });

  it.each([
    'application/json',
    'application/*',
    'application/json, text/event-stream;q=0',
    'application/json, text/event-stream; q=0.000',
    'application/json, */*;q=0',
    'application/json;x="text/event-stream"',
    'application/json;x=",text/event-stream,"',
    'application/json, text/event-stream-bogus',
  ])('answers JSON, never an event stream, for Accept: %s', async (Accept) => {
    const client = await connect(era, fixture);
    for (const reply of [
      await client.request('tools/list', {}, { headers: { Accept } }),
      await client.request('tools/call', progressParams, { headers: { Accept } }),
    ]) {
      expect(reply.status).toBe(200);
      expect(reply.headers['content-type']).toMatch(/^application\/json/);
      expect(reply.messages).toHaveLength(1);
    }
  });

  it.each(['text/event-stream', 'text/*', 'application/json;q=0, */*', 'text/event-stream, application/jsonx'])(
    'answers an event stream, never JSON, for Accept: %s',
    async (Accept) => {
      const client = await connect(era, fixture);
      const reply = await client.request('tools/list', {}, { headers: { Accept } });
      expect(reply.status).toBe(200);
      expect(reply.headers['content-type']).toMatch(/^text\/event-stream/);
      expect(reply.response?.result).toHaveProperty('tools');
    },
  );

  it.each([
    'application/jsonx, text/event-stream-bogus',
    'xapplication/json, xtext/event-stream',
    'text/html',
    'image/*',
    'application/json;q=0, text/event-stream;q=0',
    '*/*;q=0',
    'text/html;x="application/json"',
    'text/html;x=",application/json,"',
  ])('answers 406, and runs nothing, for Accept: %s', async (Accept) => {
    const client = await connect(era, fixture);
    const reply = await client.callTool('echo', { text: 'a' }, { headers: { Accept } });
    expect(reply.status).toBe(406);
    expect(reply.json?.error?.code).toBe(-32600);
    expect(fixture.ran).toEqual([]);
  });

  it.each<Headers[string]>([undefined, '*/*', 'application/json', 'text/event-stream'])(
    'takes a notification with Accept: %s',
    async (accept) => {
      const client = await connect(era, fixture);
      const reply = await client.notify('notifications/cancelled', { requestId: 'x' }, { headers: { Accept: accept } });
      expect(reply.status).toBe(202);
    },
  );
});

describe('initialize', () => {
  it.each<[number, Headers[string]]>([
    [200, '*/*'],
    [200, undefined],
    [200, 'application/json'],
    [200, 'text/event-stream'],
    [406, 'application/jsonx, text/event-stream-bogus'],
    [406, 'application/json;q=0'],
  ])('answers %i for Accept: %s', async (status, accept) => {
    const reply = await post(fixture.url, initializeMessage(), { Accept: accept });
    expect(reply.status).toBe(status);
    expect('mcp-session-id' in reply.headers).toBe(status === 200);
  });

  it('is completed by notifications/initialized without an Accept header', async () => {
    const session = await legacySession(fixture, { initialized: false });
    const reply = await session.notify('notifications/initialized', undefined, { headers: { Accept: undefined } });
    expect(reply.status).toBe(202);
    expect((await session.request('tools/list')).status).toBe(200);
  });
});

describe('GET', () => {
  it.each(['text/event-stream', '*/*', undefined, 'TEXT/Event-Stream;q=0.5', 'text/*'])(
    'opens the stream for Accept: %s',
    async (accept) => {
      const session = await legacySession(fixture);
      const stream = await session.get({ Accept: accept });
      expect(stream.status).toBe(200);
      expect(stream.headers['content-type']).toMatch(/^text\/event-stream/);
      stream.close();
    },
  );

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
  it.each(['text/event-stream-bogus', 'application/json', 'text/event-stream;q=0', 'text/html'])(
    'MUST answer an event stream or 405, so refuses Accept: %s',
    async (Accept) => {
      const session = await legacySession(fixture);
      const headers = { ...session.headers, Accept };
      const reply = await send(fixture.url, { method: 'GET', headers });
      expect([405, 406]).toContain(reply.status);
      expect((await session.request('ping')).status).toBe(200);
    },
  );

  it('offers no stream to Accept: text/event-stream without a session', async () => {
    const stream = await openStream(fixture.url);
    expect(stream.status).toBe(400);
    stream.close();
  });
});
