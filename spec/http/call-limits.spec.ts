/** How many calls and streams there can be at once, and how long a tool may take. */
import { connect, eras } from '../support/eras';
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { legacySession, modern, textOf } from '../support/wire';
import type { Reply } from '../support/wire';

const alice = { Authorization: 'Bearer alice-token' };
const bob = { Authorization: 'Bearer bob-token' };

let fixture: Fixture;
afterEach(() => fixture.close());
async function start(router: FixtureOptions['router'], rest: FixtureOptions = {}): Promise<void> {
  fixture = await createFixture({ router, ...rest });
}

const running = (count: number) => eventually(() => fixture.ran.filter((name) => name === 'hold').length === count);

function expectRefused(reply: Reply, status: number, id: unknown): void {
  expect([reply.status, reply.json?.error?.code, reply.json?.id]).toEqual([status, -32600, id]);
  expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
}

describe.each(eras)('calls at once, %s era', (era) => {
  it('are maxCalls in all: one more is 503 with Retry-After, under its id, and does not run', async () => {
    await start({ maxCalls: 2 });
    const client = await connect(era, fixture);
    const held = [client.stream('tools/call', { name: 'hold' }), client.stream('tools/call', { name: 'hold' })];
    await running(2);
    expectRefused(await client.callTool('echo', { text: 'a' }, { id: 'x' }), 503, 'x');
    expect(fixture.ran).toEqual(['hold', 'hold']);
    await fixture.router.close({ graceMs: 0 });
    await Promise.all(held);
  });

  it('have their place again when one has ended, failed or been refused', async () => {
    await start({ maxCalls: 1 });
    const client = await connect(era, fixture);
    for (const name of ['echo', 'throws', 'fails', 'no such tool', 'echo']) {
      expect((await client.callTool(name, { text: 'a' })).status).toBe(200);
    }
    await client.request('no/such');
    await client.callTool('echo', { text: 'a' }, { headers: { Accept: 'text/html' } });
    expect((await client.callTool('echo', { text: 'a' })).status).toBe(200);
    expect(fixture.router.stats().calls).toBe(0);
  });

  it('are maxCallsPerPrincipal: one more is 429 for this one, and served for another', async () => {
    await start({ maxCallsPerPrincipal: 1 }, { bearer: true });
    const [first, second] = [
      await connect(era, fixture, { headers: alice }),
      await connect(era, fixture, { headers: alice }),
    ];
    const other = await connect(era, fixture, { headers: bob });
    const held = first.stream('tools/call', { name: 'hold' });
    await running(1);
    expectRefused(await second.callTool('caller', {}, { id: 0 }), 429, 0);
    expect(textOf(await other.callTool('caller'))).toBe('bob');
    await fixture.router.close({ graceMs: 0 });
    await held;
  });

  it('are not limited per principal for callers without one', async () => {
    await start({ maxCallsPerPrincipal: 1 });
    const client = await connect(era, fixture);
    const held = client.stream('tools/call', { name: 'hold' });
    await running(1);
    expect((await client.callTool('caller')).status).toBe(200);
    await fixture.router.close({ graceMs: 0 });
    await held;
  });

  it('may take toolTimeoutMs each: then the signal aborts, and the caller gets an error', async () => {
    await start({ toolTimeoutMs: 50 });
    const client = await connect(era, fixture);
    const reply = await client.callTool('hold', {}, { id: 't' });
    expect(reply.status).toBe(200);
    expect(JSON.stringify(reply.response)).toMatch(/50 ms|too long|time/i);
    expect(reply.response?.result?.isError ?? reply.response?.error !== undefined).toBe(true);
    await fixture.until(() => fixture.aborted.includes('t'));
    expect(textOf(await client.callTool('echo', { text: 'a' }))).toBe('a');
  });

  it('may take as long as the tool itself says, whatever the mount does', async () => {
    await start(
      { toolTimeoutMs: 20 },
      {
        setup(server) {
          server.registerTool('patient', { timeoutMs: 10_000 }, async () => {
            await new Promise((resolve) => setTimeout(resolve, 60));
            return 'patient';
          });
        },
      },
    );
    expect(textOf(await (await connect(era, fixture)).callTool('patient'))).toBe('patient');
  });
});

describe('calls of one session at once', () => {
  it('are maxCallsPerSession: one more is 429, and served in another session', async () => {
    await start({ maxCallsPerSession: 2 });
    const session = await legacySession(fixture);
    const held = [1, 2].map((id) => session.callTool('hold', {}, { id }));
    await running(2);
    expectRefused(await session.callTool('caller', {}, { id: 3 }), 429, 3);
    expect((await (await legacySession(fixture)).callTool('caller')).status).toBe(200);
    await session.notify('notifications/cancelled', { requestId: 1 });
    await held[0];
    expect((await session.callTool('caller')).status).toBe(200);
    await session.delete();
    await Promise.all(held);
  });

  it('are counted one by one under a reused id', async () => {
    await start({ maxCallsPerSession: 2 });
    const session = await legacySession(fixture);
    const held = [1, 2].map(() => session.callTool('hold', {}, { id: 1 }));
    await running(2);
    expectRefused(await session.callTool('caller', {}, { id: 1 }), 429, 1);
    await session.delete();
    await Promise.all(held);
  });

  it('include those of a batch, each with an answer of its own', async () => {
    await start({ maxCallsPerSession: 1 });
    const session = await legacySession(fixture, { revision: '2025-03-26' });
    const call = (id: number) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'slow', arguments: { ms: 20 } },
    });
    const { status, messages } = await session.post([call(1), call(2)]);
    expect([status, messages.map(({ id, error }) => [id, error?.code])]).toEqual([
      200,
      [
        [1, undefined],
        [2, -32600],
      ],
    ]);
  });
});

describe('a batch', () => {
  const pings = (count: number) => Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));

  it('may have maxBatch messages; with one more, none is carried out', async () => {
    await start({ maxBatch: 3 });
    const session = await legacySession(fixture, { revision: '2025-03-26' });
    expect((await session.post(pings(3))).messages).toHaveLength(3);
    const reply = await session.post(pings(4));
    expect([reply.status, reply.json?.error?.code]).toEqual([400, -32600]);
  });

  it('may have a hundred by default', async () => {
    await start({});
    const session = await legacySession(fixture, { revision: '2025-03-26' });
    expect((await session.post(pings(100))).messages).toHaveLength(100);
    expect((await session.post(pings(101))).status).toBe(400);
  });
});

describe('streams at once', () => {
  it('are maxStreamsPerPrincipal for each, of both eras together: one more is 429, for another they are not', async () => {
    await start({ maxStreamsPerPrincipal: 2 }, { bearer: true });
    const listen = (headers: typeof alice) =>
      modern(fixture, headers).stream('subscriptions/listen', { notifications: {} }, { id: 'l' });
    const session = await legacySession(fixture, { headers: alice });
    const [get, first] = [await session.get(), await listen(alice)];
    const second = await listen(alice);
    expect([second.status, Number(second.headers['retry-after']) > 0]).toEqual([429, true]);
    const other = await legacySession(fixture, { headers: alice });
    const refused = await other.get();
    expect([refused.status, (await other.request('ping')).status]).toEqual([429, 200]);
    const theirs = await listen(bob);
    expect(theirs.status).toBe(200);
    first.close();
    await eventually(() => fixture.router.stats().streams === 2);
    const third = await listen(alice);
    expect(third.status).toBe(200);
    for (const stream of [get, theirs, third]) stream.close();
  });

  it('are maxStreams for all together: one more is 503', async () => {
    await start({ maxStreams: 1 }, { bearer: true });
    const get = await (await legacySession(fixture, { headers: alice })).get();
    const listening = await modern(fixture, bob).stream('subscriptions/listen', { notifications: {} }, { id: 'l' });
    expect([listening.status, Number(listening.headers['retry-after']) > 0]).toEqual([503, true]);
    get.close();
    await eventually(() => fixture.router.stats().streams === 0);
    const again = await modern(fixture, bob).stream('subscriptions/listen', { notifications: {} }, { id: 'l' });
    expect(again.status).toBe(200);
    again.close();
  });

  it('do not include the streams of calls', async () => {
    await start({ maxStreamsPerPrincipal: 1 }, { bearer: true });
    const session = await legacySession(fixture, { headers: alice });
    const get = await session.get();
    const params = { name: 'progress', arguments: {}, _meta: { progressToken: 1 } };
    expect((await session.request('tools/call', params)).events?.length).toBeGreaterThan(1);
    get.close();
  });

  it('are not limited for callers without a principal', async () => {
    await start({ maxStreamsPerPrincipal: 1 });
    const streams = [await (await legacySession(fixture)).get(), await (await legacySession(fixture)).get()];
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    streams.forEach((stream) => stream.close());
  });
});

describe('calls that wait for the human', () => {
  const ask = { name: 'ask', arguments: {} };
  const answer = { action: 'accept', content: { name: 'Ada' } };

  it.each([
    ['maxParked', {}, {}],
    ['maxParkedPerPrincipal', alice, alice],
  ] as const)('are %s at once: one more is not asked, and told so', async (option, firstHeaders, secondHeaders) => {
    await start({ [option]: 1 }, { bearer: option === 'maxParkedPerPrincipal' });
    const open = (headers: object) =>
      legacySession(fixture, { headers: { ...headers }, capabilities: { elicitation: {} } });
    const [first, second] = [await open(firstHeaders), await open(secondHeaders)];
    const parked = await first.stream('tools/call', ask);
    const { id } = await parked.find(({ method }) => method === 'elicitation/create');
    expect(fixture.router.stats().parked).toBe(1);
    const refused = await second.request('tools/call', ask);
    expect([refused.messages.length, refused.response?.result?.isError]).toEqual([1, true]);
    await first.post({ jsonrpc: '2.0', id, result: answer });
    await parked.ended;
    expect(fixture.router.stats().parked).toBe(0);
    const again = await second.stream('tools/call', ask);
    await again.find(({ method }) => method === 'elicitation/create');
    await second.delete();
    await again.ended;
  });
});
