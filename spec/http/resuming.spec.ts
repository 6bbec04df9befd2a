/** Coming back for what is missing, with the last event's id. */
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { legacySession, textOf } from '../support/wire';
import type { LegacySession, SseEvent, Stream } from '../support/wire';
import { legacyRevisions } from '../support/schema';

let fixture: Fixture;
let session: LegacySession;
let release: () => void;
afterEach(() => fixture.close());

/** A tool that reports three times, waits for `release`, reports a fourth time and returns. */
async function start(router: FixtureOptions['router'] = {}): Promise<void> {
  const released = new Promise<void>((resolve) => (release = resolve));
  fixture = await createFixture({
    router,
    setup(server) {
      server.registerTool('steps', {}, async (_args, ctx) => {
        for (const step of [1, 2, 3]) ctx.progress(step);
        await released;
        ctx.progress(4);
        return 'finished';
      });
    },
  });
  session = await legacySession(fixture);
}

const params = { name: 'steps', arguments: {}, _meta: { progressToken: 't' } };

/** Start `steps` and cut the connection; the events that came, as if those after the `count`th progress had not. */
async function cutAfter(count: number): Promise<SseEvent[]> {
  const call = await session.stream('tools/call', params, { id: 'call' });
  await call.find((message) => message.params?.progress === 3);
  call.close();
  await call.ended;
  return call.events.slice(0, 1 + call.events.findIndex(({ message }) => message?.params?.progress === count));
}

function lastId(events: SseEvent[]): string {
  return events[events.length - 1]!.id!;
}

/** What a stream says, in short: the progress, or the text of the result. */
function contentOf(events: SseEvent[]): unknown[] {
  return events.flatMap(({ message }) => {
    if (message === undefined) return [];
    const content = message.result?.content as { text: string }[] | undefined;
    return [content?.[0]?.text ?? message.params?.progress ?? message.method];
  });
}

async function resume(id: string): Promise<Stream> {
  const stream = await session.get({ 'Last-Event-ID': id });
  expect(stream.status).toBe(200);
  return stream;
}

/** Everything after `id`, to the end of the stream. */
async function readAfter(id: string): Promise<unknown[]> {
  const stream = await resume(id);
  await stream.ended;
  return contentOf(stream.events);
}

describe('a call whose connection was cut', () => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
  it.each(legacyRevisions)('goes on, and its client gets the rest, the result included: %s', async (revision) => {
    await start();
    session = await legacySession(fixture, { revision });
    const call = await cutAfter(2);
    release();
    expect(await readAfter(lastId(call))).toEqual([3, 4, 'finished']);
    expect(fixture.aborted).toEqual([]);
  });

  it('can be resumed before it is over', async () => {
    await start();
    const stream = await resume(lastId(await cutAfter(3)));
    release();
    await stream.ended;
    expect(contentOf(stream.events)).toEqual([4, 'finished']);
  });

  it('can be resumed although the old connection is not known to be dead', async () => {
    await start();
    const call = await session.stream('tools/call', params);
    await call.find((message) => message.params?.progress === 3);
    const stream = await resume(lastId(call.events));
    await call.ended;
    release();
    await stream.ended;
    expect([contentOf(call.events), contentOf(stream.events)]).toEqual([
      [1, 2, 3],
      [4, 'finished'],
    ]);
  });

  it('can be resumed from any event, again and again', async () => {
    await start();
    const call = await cutAfter(3);
    release();
    const ids = call.map(({ id }) => id!);
    expect(await readAfter(ids[0]!)).toEqual([1, 2, 3, 4, 'finished']);
    expect(await readAfter(ids[1]!)).toEqual([2, 3, 4, 'finished']);
    expect(await readAfter(ids[0]!)).toEqual([1, 2, 3, 4, 'finished']);
    const all = await resume(ids[3]!);
    await all.ended;
    expect(await readAfter(lastId(all.events))).toEqual([]);
  });

  it('gives each event once to a client that comes back with its last id, wherever it is cut', async () => {
    await start();
    const seen: unknown[] = [];
    let last = lastId(await cutAfter(1));
    release();
    for (let n = 0; n < 10 && !seen.includes('finished'); n++) {
      const stream = await resume(last);
      // The priming event, and one more.
      await stream.next();
      await stream.next();
      stream.close();
      last = stream.events[1]?.id ?? last;
      seen.push(...contentOf(stream.events.slice(0, 2)));
    }
    expect(seen).toEqual([2, 3, 4, 'finished']);
  });

  it('is primed with where the client is, not with where the stream is', async () => {
    await start();
    const call = await cutAfter(3);
    release();
    const first = call[1]!.id!;
    const stream = await resume(first);
    const primed = (await stream.next())!;
    expect([primed.id, primed.data]).toEqual([first, '']);
    stream.close();
    expect(await readAfter(primed.id!)).toEqual([2, 3, 4, 'finished']);
  });

  it('is resumed by several calls of one session, each by its own', async () => {
    await start();
    const [first, second] = [await cutAfter(1), await cutAfter(2)];
    release();
    expect(await readAfter(lastId(second))).toEqual([3, 4, 'finished']);
    expect(await readAfter(lastId(first))).toEqual([2, 3, 4, 'finished']);
  });
});

describe('what was said on the standalone stream', () => {
  it('is said again to a client that missed it, and nothing that it has seen', async () => {
    await start();
    const first = await session.get();
    fixture.server.notifyToolsChanged();
    await first.find(() => true);
    fixture.server.notifyPromptsChanged();
    await first.find(() => true);
    const [, tools, prompts] = first.events;
    first.close();
    await eventually(() => fixture.router.stats().streams === 0);
    fixture.server.notifyResourcesChanged();
    const again = await resume(tools!.id!);
    await again.find(({ method }) => method === 'notifications/resources/list_changed');
    expect(contentOf(again.events)).toEqual([
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
    ]);
    expect(again.events[1]?.id).toBe(prompts!.id);
    again.close();
  });

  it('includes what was written to a connection that nobody knew to be dead', async () => {
    await start();
    const first = await session.get();
    const primed = (await first.next())!;
    fixture.server.notifyToolsChanged();
    const second = await resume(primed.id!);
    expect((await second.find(() => true)).method).toBe('notifications/tools/list_changed');
    second.close();
  });
});

describe('an event id', () => {
  it('MUST be unique across the streams of a session', async () => {
    await start();
    const get = await session.get();
    fixture.server.notifyToolsChanged();
    await get.find(() => true);
    const ids = get.events.map(({ id }) => id);
    release();
    for (let n = 0; n < 3; n++) ids.push(...(await session.request('tools/call', params)).events!.map(({ id }) => id));
    expect(ids).not.toContain(undefined);
    expect(new Set(ids).size).toBe(ids.length);
    get.close();
  });

  // "The server MUST NOT replay messages that would have been delivered on a different stream."
  it('MUST NOT bring back what belongs to another stream', async () => {
    await start();
    const get = await session.get();
    fixture.server.notifyToolsChanged();
    await get.find(() => true);
    const call = await cutAfter(1);
    release();
    expect(await readAfter(lastId(call))).toEqual([2, 3, 4, 'finished']);
    get.close();
    const again = await resume(get.events[0]!.id!);
    await again.find(() => true);
    expect(contentOf(again.events)).toEqual(['notifications/tools/list_changed']);
    again.close();
  });

  it('of another session is worth nothing', async () => {
    await start();
    const other = await legacySession(fixture);
    const mine = await session.get();
    fixture.server.notifyToolsChanged();
    await mine.find(() => true);
    const call = await cutAfter(1);
    release();
    for (const id of [...mine.events, ...call].map((event) => event.id!)) {
      const stream = await other.get({ 'Last-Event-ID': id });
      expect(stream.status).toBe(400);
      await stream.ended;
    }
    expect((await other.request('ping')).status).toBe(200);
    mine.close();
  });

  it.each(['zzz', '999999999999', '0', 'x'.repeat(4_096), 'a\u00e9', '....', 'a.0.0', '__proto__.0.1', '-1', '1e3'])(
    'that was never given is 400, and harms nothing: %j',
    async (id) => {
      await start();
      const stream = await session.get({ 'Last-Event-ID': id });
      expect(stream.status).toBe(400);
      await stream.ended;
      expect((await session.request('ping')).status).toBe(200);
    },
  );

  it.each([
    (prefix: string) => `${prefix}.0.99`,
    (prefix: string) => `${prefix}.0.-1`,
    (prefix: string) => `${prefix}.0.1.1`,
    (prefix: string) => `${prefix}.0.`,
    (prefix: string) => `${prefix}.0`,
    (prefix: string) => `${prefix}.0.1e0`,
    (prefix: string) => `${prefix}.0.${'9'.repeat(400)}`,
    (prefix: string) => `${prefix}.zz.0`,
    (prefix: string) => `${prefix}.__proto__.0`,
    (prefix: string) => `${prefix}..0`,
  ])('that was bent is 400, and harms nothing: %s', async (bend) => {
    await start();
    const prefix = session.sessionId.slice(0, 6);
    const stream = await session.get({ 'Last-Event-ID': bend(prefix) });
    expect(stream.status).toBe(400);
    await stream.ended;
    expect((await session.request('ping')).status).toBe(200);
  });

  it('that is empty opens the standalone stream', async () => {
    await start();
    const stream = await session.get({ 'Last-Event-ID': '' });
    expect(stream.status).toBe(200);
    fixture.server.notifyToolsChanged();
    expect((await stream.find(() => true)).method).toBe('notifications/tools/list_changed');
    stream.close();
  });

  it('in a POST changes nothing', async () => {
    await start();
    const reply = await session.callTool('echo', { text: 'a' }, { headers: { 'Last-Event-ID': 'zzz' } });
    expect(textOf(reply)).toBe('a');
  });
});
