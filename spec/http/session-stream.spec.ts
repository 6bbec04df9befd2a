/** GET: the session's own stream, one at a time. */
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { legacySession, openStream, send, textOf } from '../support/wire';
import type { LegacySession, Message, Stream } from '../support/wire';
import { legacyRevisions } from '../support/schema';

let fixture: Fixture;
let session: LegacySession;
afterEach(() => fixture.close());
async function start(router: FixtureOptions['router'] = {}): Promise<void> {
  fixture = await createFixture({ router });
  session = await legacySession(fixture);
}

const toolsChanged = ({ method }: Message) => method === 'notifications/tools/list_changed';

const hasHeard = ({ events }: Stream, from = 0) =>
  events.slice(from).some(({ message }) => message !== undefined && toolsChanged(message));

/** Say that the tools have changed, and wait until `expected` have heard. @returns The streams, of these and `others`, that have. */
async function told(expected: Stream[], others: Stream[] = []): Promise<Stream[]> {
  const all = [...others, ...expected];
  const before = new Map(all.map((stream) => [stream, stream.events.length]));
  fixture.server.notifyToolsChanged();
  await eventually(() => expected.every((stream) => hasHeard(stream, before.get(stream))));
  // Served after the notice: whoever was to hear of it has it on the way.
  await session.request('ping');
  return all.filter((stream) => hasHeard(stream, before.get(stream)));
}

describe('GET', () => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
  it.each(legacyRevisions)(
    'MUST open an event stream that says what the server says on its own: %s',
    async (revision) => {
      await start();
      session = await legacySession(fixture, { revision });
      const stream = await session.get();
      expect([stream.status, stream.headers['content-type']]).toEqual([200, 'text/event-stream']);
      expect(await told([stream])).toEqual([stream]);
      stream.close();
    },
  );

  it('gives what came while nobody listened, one notice of each kind', async () => {
    await start();
    for (let n = 0; n < 5; n++) {
      fixture.server.notifyToolsChanged();
      fixture.server.notifyPromptsChanged();
    }
    const stream = await session.get();
    const kinds = ['notifications/prompts/list_changed', 'notifications/tools/list_changed'];
    await eventually(() => stream.events.filter(({ message }) => message !== undefined).length >= kinds.length);
    expect(stream.events.flatMap(({ message }) => message?.method ?? []).sort()).toEqual(kinds);
    stream.close();
  });

  it('gives each session its own notices, and those of nobody else', async () => {
    await start();
    const other = await legacySession(fixture);
    const streams = [await session.get(), await other.get()];
    expect(await told(streams)).toEqual(streams);
    expect(streams.map(({ events }) => events.filter(({ message }) => message !== undefined).length)).toEqual([1, 1]);
    streams.forEach((stream) => stream.close());
  });

  it('tells nothing before the client has said that it is initialized', async () => {
    await start();
    const early = await legacySession(fixture, { initialized: false });
    const stream = await early.get();
    fixture.server.notifyToolsChanged();
    await early.notify('notifications/initialized');
    fixture.server.notifyPromptsChanged();
    expect((await stream.find(() => true)).method).toBe('notifications/prompts/list_changed');
    stream.close();
  });
});

describe('answers', () => {
  // "The server MUST NOT send a JSON-RPC response on the stream unless resuming"
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
  it.each([true, false])('MUST go to their own POST, with a GET stream open: %s', async (listening) => {
    await start();
    const stream = listening ? await session.get() : undefined;
    expect((await session.request('tools/list')).response?.result).toHaveProperty('tools');
    const params = { name: 'progress', arguments: {}, _meta: { progressToken: 1 } };
    expect((await session.request('tools/call', params)).messages).toHaveLength(4);
    await stream?.close();
    expect(stream?.events.filter(({ message }) => message !== undefined) ?? []).toEqual([]);
  });
});

describe('a second GET', () => {
  it('right after the first one was cut gets the messages', async () => {
    await start();
    const first = await session.get();
    first.close();
    const second = await session.get();
    expect(second.status).toBe(200);
    expect(await told([second])).toEqual([second]);
    second.close();
  });

  // "The server MUST send each of its JSON-RPC messages on only one of the connected streams"
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#multiple-connections
  it('beside a live one replaces it, and each message MUST go to one stream only', async () => {
    await start();
    const first = await session.get();
    const second = await session.get();
    expect(second.status).toBe(200);
    await first.ended;
    expect(await told([second], [first])).toEqual([second]);
    second.close();
  });

  it('is refused with 409 when it comes back within a minute against its successor, which notices nothing', async () => {
    await start();
    const first = await session.get();
    const second = await session.get();
    await first.ended;
    const back = await session.get();
    expect(back.status).toBe(409);
    await back.ended;
    expect(await told([second])).toEqual([second]);
    second.close();
  });

  it('wins again after that minute', async () => {
    await start();
    await session.get();
    const second = await session.get();
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_000);
    const third = await session.get();
    clock.mockRestore();
    expect(third.status).toBe(200);
    await second.ended;
    third.close();
  });

  it('is welcome at any time once its successor has gone', async () => {
    await start();
    await session.get();
    const second = await session.get();
    second.close();
    await eventually(() => fixture.router.stats().streams === 0);
    const third = await session.get();
    expect(await told([third])).toEqual([third]);
    third.close();
  });

  it('of another session has nothing to do with it', async () => {
    await start();
    const other = await legacySession(fixture);
    const streams = [await session.get(), await other.get(), await (await legacySession(fixture)).get()];
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await told(streams)).toEqual(streams);
    streams.forEach((stream) => stream.close());
  });

  /** Open so many streams, while calls run. */
  async function disturbsNoCall(statuses: number[]): Promise<void> {
    await start();
    const plain = session.callTool('slow', { ms: 100, text: 'plain' });
    const params = { name: 'report-and-hold', arguments: {}, _meta: { progressToken: 1 } };
    const streamed = await session.stream('tools/call', params, { id: 'streamed' });
    await streamed.find(({ method }) => method === 'notifications/progress');
    const streams: Stream[] = [];
    for (const _status of statuses) streams.push(await session.get());
    expect(streams.map(({ status }) => status)).toEqual(statuses);
    expect(textOf(await plain)).toBe('plain');
    expect(fixture.aborted).toEqual([]);
    await session.notify('notifications/cancelled', { requestId: 'streamed' });
    await streamed.ended;
    expect((await session.request('ping')).status).toBe(200);
    streams.forEach((stream) => stream.close());
  }

  it('disturbs no running call', () => disturbsNoCall([200, 200]));

  it('that is refused disturbs no running call', () => disturbsNoCall([200, 200, 409]));

  it('takes the place of the first one in the count of its principal', async () => {
    fixture = await createFixture({ bearer: true, router: { maxStreamsPerPrincipal: 1 } });
    session = await legacySession(fixture, { headers: { Authorization: 'Bearer alice-token' } });
    await session.get();
    const second = await session.get();
    expect(second.status).toBe(200);
    second.close();
  });
});

describe('where no stream is offered', () => {
  // "MUST either return Content-Type: text/event-stream …, or else return HTTP 405 Method Not Allowed"
  it('GET MUST be 405, with the methods that are allowed', async () => {
    await start({ serverMessages: false });
    const reply = await send(fixture.url, {
      method: 'GET',
      headers: { ...session.headers, Accept: 'text/event-stream' },
    });
    expect([reply.status, reply.headers.allow]).toEqual([405, 'POST, DELETE']);
    const noSession = await send(fixture.url, { method: 'GET', headers: { Accept: 'text/event-stream' } });
    expect(noSession.status).toBe(405);
  });

  it('nothing is promised, kept, or made to look as if it could be resumed', async () => {
    await start({ serverMessages: false });
    const { capabilities } = session.initializeReply.response?.result as { capabilities: object };
    expect(JSON.stringify(capabilities)).not.toMatch(/listChanged|subscribe/);
    fixture.server.notifyToolsChanged();
    expect(fixture.router.stats().inbox).toBe(0);
    const params = { name: 'progress', arguments: {}, _meta: { progressToken: 1 } };
    const reply = await session.request('tools/call', params);
    expect(reply.events?.map(({ id }) => id)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it.each(['GET', 'DELETE', 'HEAD'] as const)('%s stamped modern is 405, at once', async (method) => {
    await start();
    for (const headers of [{}, { 'Mcp-Session-Id': session.sessionId }]) {
      const reply = await send(fixture.url, {
        method,
        headers: { Accept: 'text/event-stream', 'MCP-Protocol-Version': '2026-07-28', ...headers },
      });
      expect([reply.status, reply.headers.allow]).toEqual([405, 'POST, GET, DELETE']);
    }
    expect((await session.request('ping')).status).toBe(200);
  });

  it.each(['HEAD', 'PUT', 'PATCH', 'OPTIONS'] as const)('%s is 405, and the session lives', async (method) => {
    await start();
    for (const headers of [{}, session.headers]) {
      const reply = await send(fixture.url, { method, headers: { Accept: 'text/event-stream', ...headers } });
      expect([reply.status, reply.headers.allow]).toEqual([405, 'POST, GET, DELETE']);
    }
    expect((await session.request('ping')).status).toBe(200);
  });

  it('GET for JSON only is refused at once', async () => {
    await start();
    const stream = await openStream(fixture.url, { headers: { ...session.headers, Accept: 'application/json' } });
    expect([stream.status, stream.headers['content-type']]).toEqual([406, 'application/json']);
    await stream.ended;
  });
});
