/** Clients that do not read: what waits for them is bounded, and others do not notice. */
import type { ServerResponse } from 'node:http';
import type { SessionEnd } from '../../lib/http/options';
import { eras } from '../support/eras';
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { closeStalled, openStalled } from '../support/stalled';
import type { Stalled } from '../support/stalled';
import { legacySession, modernRequest, textOf } from '../support/wire';
import type { LegacySession } from '../support/wire';

const kilobyte = 'x'.repeat(1_000);
/** More than the buffers between two sockets hold. */
const many = 50_000;

let fixture: Fixture;
let session: LegacySession;
let ends: SessionEnd[];
/** The responses, as the server sees them. */
let responses: ServerResponse[];
afterEach(() => {
  closeStalled();
  return fixture.close();
});
async function start(router: FixtureOptions['router'] = {}, setup?: FixtureOptions['setup']): Promise<void> {
  ends = [];
  responses = [];
  fixture = await createFixture({
    router: { onSessionEnd: (end) => ends.push(end), ...router },
    before: [(_req, res, next) => next(void responses.push(res))],
    setup,
  });
  session = await legacySession(fixture);
}

/** Tell every session `count` things of a kilobyte each. */
async function say(count: number, until: () => boolean = () => false): Promise<void> {
  for (let n = 0; n < count && !until(); n++) {
    fixture.server.notify('notifications/message', { level: 'info', data: `${n} ${kilobyte}` });
    // The sockets get their turn, as they would between two requests.
    if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

function get(from = session): Promise<Stalled> {
  return openStalled(fixture.url, { headers: from.headers, validate: false });
}

/** Bytes that wait on the socket of the last response. */
const waitingBytes = () => responses.at(-1)!.writableLength;

describe('a GET stream that nobody reads', () => {
  it('holds maxSocketBytes on its socket, then the inbox fills, then the session fails', async () => {
    await start({ maxSocketBytes: 64_000, inboxLimit: 100 });
    const stalled = await get();
    let most = 0;
    let waited = 0;
    await say(many, () => {
      most = Math.max(most, waitingBytes());
      waited = Math.max(waited, fixture.router.stats().inbox);
      return ends.length > 0;
    });
    expect(ends.map(({ reason }) => reason)).toEqual(['inbox-full']);
    expect(most).toBeGreaterThan(32_000);
    expect(most).toBeLessThan(66_000);
    expect(waited).toBe(100);
    expect((await session.request('ping')).status).toBe(404);
    stalled.close();
  }, 60_000);

  it('is bounded by default too, and no other client notices', async () => {
    await start();
    const reader = await legacySession(fixture);
    const reading = await reader.get();
    let most = 0;
    const stalled = await get();
    await say(many, () => {
      most = Math.max(most, waitingBytes());
      return ends.length > 0;
    });
    expect(ends.map(({ sessionId }) => sessionId)).toEqual([session.sessionId]);
    expect(most).toBeLessThan(1024 * 1024 + 2_000);
    expect(textOf(await reader.callTool('echo', { text: 'a' }))).toBe('a');
    fixture.server.notifyToolsChanged();
    await reading.find(({ method }) => method === 'notifications/tools/list_changed');
    stalled.close();
    reading.close();
  }, 60_000);

  it('gets everything, once and in order, when it reads on in time', async () => {
    await start({ maxSocketBytes: 10_000, inboxLimit: many, inboxBytes: 100_000_000, historyLimit: 1 });
    const stalled = await get();
    const count = 15_000;
    await say(count);
    expect(fixture.router.stats().inbox).toBeGreaterThan(0);
    const reading = stalled.read();
    await eventually(() => fixture.router.stats().inbox === 0);
    await fixture.router.close({ graceMs: 5_000 });
    const said = (await reading).messages.map(({ params }) => Number.parseInt(String(params?.data)));
    expect(said).toEqual(Array.from({ length: count }, (_, n) => n));
  }, 60_000);

  it('drains a socket that may hold less than Node thinks worth an event', async () => {
    await start({ maxSocketBytes: 1, keepAliveMs: 200 });
    const stream = await session.get();
    await say(20);
    await stream.find(({ params }) => String(params?.data).startsWith('19 '));
    stream.close();
  });

  it('is cut when its session has failed and nothing leaves for twice keepAliveMs', async () => {
    await start({ maxSocketBytes: 64_000, inboxLimit: 10, keepAliveMs: 100 });
    await get();
    await say(many, () => ends.length > 0);
    await eventually(() => fixture.router.stats().streams === 0);
    expect(fixture.router.stats()).toMatchObject({ sessions: 0, inbox: 0 });
  }, 60_000);

  it('is dead after twice keepAliveMs: who replaces it is not the newer of two', async () => {
    await start({ maxSocketBytes: 64_000, inboxLimit: many, inboxBytes: 100_000_000, keepAliveMs: 100 });
    const witness = await (await legacySession(fixture, { initialized: false })).get();
    await get();
    await say(many, () => fixture.router.stats().inbox > 0);
    // A comment elsewhere: the mount has looked at this stream, too.
    const { length } = witness.comments;
    await eventually(() => witness.comments.length > length + 1);
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 200);
    const [second, third, fourth] = [await get(), await get(), await get()];
    clock.mockRestore();
    expect([second.status, third.status, fourth.status]).toEqual([200, 200, 409]);
    witness.close();
    third.close();
  }, 60_000);
});

describe('a call whose stream nobody reads', () => {
  function chatty(server: Fixture['server']): void {
    server.registerTool('chatty', {}, async (_args, ctx) => {
      for (let n = 1; n <= many && !ctx.signal.aborted; n++) {
        ctx.progress(n, undefined, kilobyte);
        if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      return 'the result';
    });
  }
  const params = { name: 'chatty', arguments: {}, _meta: { progressToken: 1 } };

  it.each(eras)(
    'still gets its result, whatever became of its reports, which are counted: %s era',
    async (era) => {
      await start({ maxSocketBytes: 64_000, inboxLimit: 100 }, chatty);
      const legacy = { headers: session.headers, body: { jsonrpc: '2.0', id: 'm', method: 'tools/call', params } };
      const request = era === 'legacy' ? legacy : modernRequest('tools/call', params, { id: 'm' });
      const stalled = await openStalled(fixture.url, { method: 'POST', ...request, validate: false });
      await eventually(() => fixture.router.stats().calls === 0);
      expect(fixture.router.stats().undeliverable).toBeGreaterThan(0);
      const { messages, response } = await stalled.read();
      expect(response?.result?.content).toEqual([{ type: 'text', text: 'the result' }]);
      expect(messages.length).toBe(many + 1 - fixture.router.stats().undeliverable);
      expect(ends).toEqual([]);
    },
    60_000,
  );
});

describe('a listen stream that nobody reads', () => {
  it('ends when its inbox is full, and leaves nothing behind', async () => {
    await start({ maxSocketBytes: 64_000, inboxLimit: 3, keepAliveMs: 100 });
    const uris = Array.from({ length: 10 }, (_, n) => `item://${n}${'x'.repeat(30_000)}`);
    const request = modernRequest('subscriptions/listen', { notifications: { resourceSubscriptions: uris } });
    const stalled = await openStalled(fixture.url, { method: 'POST', ...request, validate: false });
    expect(stalled.status).toBe(200);
    let most = 0;
    for (let n = 0; n < many && !responses.at(-1)!.writableEnded; n++) {
      fixture.server.notifyResourceUpdated(uris[n % uris.length]!);
      most = Math.max(most, waitingBytes());
      if (n % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(responses.at(-1)!.writableEnded).toBe(true);
    expect(most).toBeLessThan(64_000 + 2 * 31_000);
    await eventually(() => fixture.router.stats().streams === 0);
    expect(ends).toEqual([]);
  }, 60_000);
});
