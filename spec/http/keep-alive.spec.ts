/** Comments on silent streams, and that nothing ticks for a stream that is gone. */
import { connect, eras } from '../support/eras';
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { legacySession, modern } from '../support/wire';
import type { Stream } from '../support/wire';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture({ router: { keepAliveMs: 40 } });
});
afterEach(() => fixture.close());

/** Resolves once so many more comments have come. */
async function comments(stream: Stream, count: number): Promise<void> {
  const before = stream.comments.length;
  await eventually(() => stream.comments.length >= before + count, `${count} comments`);
}

async function listen(era: (typeof eras)[number]): Promise<Stream> {
  return era === 'legacy'
    ? (await legacySession(fixture)).get()
    : modern(fixture).stream('subscriptions/listen', { notifications: { toolsListChanged: true } });
}

describe.each(eras)('a silent stream, %s era', (era) => {
  it('of a call gets comments, and no message', async () => {
    const client = await connect(era, fixture);
    const call = await client.stream('tools/call', { name: 'report-and-hold', _meta: { progressToken: 1 } });
    await call.find(() => true);
    await comments(call, 3);
    expect(call.events.filter(({ message }) => message !== undefined)).toHaveLength(1);
    call.close();
  });

  it('of a call that says nothing at all gets them too, from the moment it becomes a stream', async () => {
    const client = await connect(era, fixture);
    const call = await client.stream('tools/call', { name: 'hold' });
    await comments(call, 2);
    expect(call.events.filter(({ message }) => message !== undefined)).toEqual([]);
    call.close();
  });

  it('of a listener gets comments, before and after an event', async () => {
    const stream = await listen(era);
    await comments(stream, 2);
    fixture.server.notifyToolsChanged();
    await stream.find(({ method }) => method === 'notifications/tools/list_changed');
    await comments(stream, 2);
    stream.close();
  });

  it('gets none as JSON', async () => {
    const client = await connect(era, fixture);
    const reply = await client.callTool('slow', { ms: 200 }, { headers: { Accept: 'application/json' } });
    expect(reply.text).toBe(JSON.stringify(reply.json));
  });

  it('gets one about every keepAliveMs, no flood', async () => {
    const stream = await listen(era);
    const startedAt = performance.now();
    await comments(stream, 5);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(4 * 40);
    stream.close();
  });
});

describe.each(eras)('a stream whose socket was cut, %s era', (era) => {
  it('gets no comment, does no harm, and leaves no timer', async () => {
    const streams = await Promise.all(Array.from({ length: 10 }, () => listen(era)));
    const witness = await listen(era);
    streams.forEach((stream) => stream.close());
    await eventually(() => fixture.router.stats().streams === 1);
    await comments(witness, 3);
    // The runner fails a test during which an exception was not caught.
    expect(fixture.errors).toEqual([]);
    witness.close();
    await eventually(() => fixture.router.stats().streams === 0);
  });
});

describe('a stream that was reopened', () => {
  it('keeps its comments and events when the old one goes', async () => {
    const session = await legacySession(fixture);
    const first = await session.get();
    await comments(first, 1);
    first.close();
    const second = await session.get();
    await comments(second, 3);
    fixture.server.notifyToolsChanged();
    await second.find(({ method }) => method === 'notifications/tools/list_changed');
    await comments(second, 2);
    second.close();
  });

  it('keeps them when it replaced one that was open', async () => {
    const session = await legacySession(fixture);
    const first = await session.get();
    const second = await session.get();
    await first.ended;
    await comments(second, 3);
    second.close();
  });
});

describe('the clock of a mount', () => {
  it('stops with the last stream of a modern client', async () => {
    const started = jest.spyOn(globalThis, 'setInterval');
    const stopped = jest.spyOn(globalThis, 'clearInterval');
    const local = await createFixture({ router: { keepAliveMs: 40 } });
    const stream = await modern(local).stream('subscriptions/listen', { notifications: {} });
    await comments(stream, 1);
    const ours = started.mock.results.map(({ value }) => value as NodeJS.Timeout);
    expect([ours.length > 0, ours.some((timer) => timer.hasRef())]).toEqual([true, false]);
    stream.close();
    await eventually(() => ours.every((timer) => stopped.mock.calls.some(([cleared]) => cleared === timer)));
    jest.restoreAllMocks();
    await local.close();
  });
});
