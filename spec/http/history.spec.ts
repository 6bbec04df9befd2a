/** How much of a stream is kept for a client that resumes, for how long, and when a stream is closed to be resumed. */
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { legacySession, modern } from '../support/wire';
import type { LegacySession, Reply, SseEvent } from '../support/wire';
import { legacyRevisions } from '../support/schema';

let fixture: Fixture;
let session: LegacySession;
afterEach(() => fixture.close());
async function start(router: FixtureOptions['router']): Promise<void> {
  fixture = await createFixture({ router });
  session = await legacySession(fixture);
}

const params = { name: 'progress', arguments: {}, _meta: { progressToken: 't' } };

/** What is said after the priming event: three reports and the result. */
function replayed(events: readonly SseEvent[]): unknown[] {
  return events.flatMap(({ message }) => (message === undefined ? [] : [message.params?.progress ?? 'result']));
}

/** Everything that is still kept of that reply's stream. */
async function resumed(reply: Reply): Promise<unknown[]> {
  const stream = await session.get({ 'Last-Event-ID': reply.events![0]!.id! });
  expect(stream.status).toBe(200);
  await stream.ended;
  return replayed(stream.events);
}

/** Resolves once that stream cannot be resumed any more. */
async function forgotten([primed]: readonly SseEvent[]): Promise<void> {
  for (let status = 200; status !== 400;) {
    const stream = await session.get({ 'Last-Event-ID': primed!.id! });
    await stream.ended;
    ({ status } = stream);
  }
}

describe('the history', () => {
  it('is the whole stream by default', async () => {
    await start({});
    expect(await resumed(await session.request('tools/call', params))).toEqual([1, 2, 3, 'result']);
  });

  it('keeps historyLimit messages, the newest', async () => {
    await start({ historyLimit: 2 });
    expect(await resumed(await session.request('tools/call', params))).toEqual([3, 'result']);
  });

  it('keeps historyBytes, the newest', async () => {
    await start({ historyBytes: 250 });
    expect(await resumed(await session.request('tools/call', params))).toEqual([3, 'result']);
  });

  it('keeps a stream for historyMs after its end, no longer', async () => {
    await start({ historyMs: 200, keepAliveMs: 200 });
    const finishedAt = performance.now();
    const { events } = await session.request('tools/call', params);
    await forgotten(events!);
    expect(performance.now() - finishedAt).toBeGreaterThanOrEqual(200);
    expect((await session.request('ping')).status).toBe(200);
  });

  it('keeps the stream of a call that runs, however long', async () => {
    await start({ historyMs: 50, keepAliveMs: 200 });
    const call = await session.stream('tools/call', { ...params, name: 'report-and-hold' }, { id: 1 });
    await call.find(() => true);
    call.close();
    await forgotten((await session.request('tools/call', params)).events!);
    const stream = await session.get({ 'Last-Event-ID': call.events[0]!.id! });
    expect(stream.status).toBe(200);
    await session.notify('notifications/cancelled', { requestId: 1 });
    await stream.ended;
    expect(replayed(stream.events)).toEqual([1]);
  });
});

describe('the priming event', () => {
  // "The server SHOULD immediately send an SSE event consisting of an event ID and an empty data field"
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
  it('SHOULD open every stream of 2025-11-25, with retryMs and up to half as much again', async () => {
    await start({ retryMs: 2_000 });
    const retries: number[] = [];
    for (let n = 0; n < 20; n++) {
      const [primed] = (await session.request('tools/call', params)).events!;
      expect([primed?.data, typeof primed?.id]).toEqual(['', 'string']);
      retries.push(primed!.retry!);
    }
    const stream = await session.get();
    retries.push((await stream.next())!.retry!);
    stream.close();
    expect(Math.min(...retries)).toBeGreaterThanOrEqual(2_000);
    expect(Math.max(...retries)).toBeLessThanOrEqual(3_000);
    expect(new Set(retries).size).toBeGreaterThan(1);
  });

  it.each(legacyRevisions.slice(0, 3))('is not sent to clients of %s', async (revision) => {
    await start({});
    session = await legacySession(fixture, { revision });
    const reply = await session.request('tools/call', params);
    expect(replayed(reply.events!)).toEqual([1, 2, 3, 'result']);
    expect(reply.events).toHaveLength(4);
    expect(reply.text).not.toMatch(/retry/);
    const stream = await session.get();
    fixture.server.notifyToolsChanged();
    expect((await stream.next())?.message).toBeDefined();
    stream.close();
  });

  // "Resumable SSE streams via Last-Event-ID are not supported."
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages
  it('is not sent to modern clients, nor any event id', async () => {
    await start({});
    const reply = await modern(fixture).request('tools/call', params);
    expect(replayed(reply.events!)).toEqual([1, 2, 3, 'result']);
    expect(reply.text).not.toMatch(/^(id|retry):/m);
  });
});

describe('maxStreamAgeMs', () => {
  const long = { ...params, name: 'report-and-hold' };

  // "If the server does close the connection prior to terminating the SSE stream, it SHOULD send an SSE event with a
  // standard retry field before closing the connection."
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
  it('closes the stream of a long call, which SHOULD be told when to come back, and goes on', async () => {
    await start({ maxStreamAgeMs: 100, keepAliveMs: 200, retryMs: 500 });
    const call = await session.stream('tools/call', long, { id: 1 });
    await call.ended;
    expect(fixture.aborted).toEqual([]);
    const stream = await session.get({ 'Last-Event-ID': call.events.at(-1)!.id! });
    await session.notify('notifications/cancelled', { requestId: 1 });
    await stream.ended;
    expect(fixture.aborted).toEqual([1]);
  });

  it('closes the GET stream, and what is said meanwhile waits', async () => {
    await start({ maxStreamAgeMs: 100, keepAliveMs: 200 });
    const first = await session.get();
    const primed = (await first.next())!;
    await first.ended;
    fixture.server.notifyToolsChanged();
    const second = await session.get({ 'Last-Event-ID': primed.id! });
    expect((await second.find(() => true)).method).toBe('notifications/tools/list_changed');
    await second.ended;
  });

  it('sends the time to come back last', async () => {
    await start({ maxStreamAgeMs: 100, keepAliveMs: 200, retryMs: 500 });
    const reply = await session.request('tools/call', long, { id: 1 });
    expect(reply.text.trimEnd()).toMatch(/\n\nretry: \d{3}$/);
    await session.notify('notifications/cancelled', { requestId: 1 });
  });

  it('leaves alone what cannot be resumed', async () => {
    await start({ maxStreamAgeMs: 60, keepAliveMs: 200 });
    const older = await legacySession(fixture, { revision: '2025-06-18' });
    const [call, listen] = await Promise.all([
      older.stream('tools/call', long, { id: 1 }),
      modern(fixture).stream('subscriptions/listen', { notifications: { toolsListChanged: true } }),
    ]);
    // Closed by age, while the others live on.
    await (
      await session.get()
    ).ended;
    await (
      await session.get()
    ).ended;
    fixture.server.notifyToolsChanged();
    await listen.find(({ method }) => method === 'notifications/tools/list_changed');
    await older.notify('notifications/cancelled', { requestId: 1 });
    await fixture.until(() => fixture.ended.includes('report-and-hold'));
    await call.ended;
    listen.close();
  });
});
