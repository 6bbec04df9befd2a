/** Two hundred sessions at once, each with calls of its own in flight, and what is left when they are gone. */
import { createHook } from 'node:async_hooks';
import type { AsyncHook } from 'node:async_hooks';
import path from 'node:path';
import { eventually } from './support/eventually';
import { createFixture } from './support/fixture';
import type { Fixture } from './support/fixture';
import { legacySession, modern, textOf } from './support/wire';
import type { LegacySession, Stream } from './support/wire';

const sessionCount = 200;
// Some 1,600 exchanges, each checked against the schema: seconds, and more on a busy machine.
jest.setTimeout(120_000);

const lib = path.join(__dirname, '../lib') + path.sep;

/** Timers that `lib/` started and nobody has ended, unref'd ones too, by the stack that started them. */
const timers = new Map<number, string>();
/** Sockets, of the server and of its clients, that are not closed yet. */
const sockets = new Set<number>();
let onSocketClosed = (): void => undefined;
let hook: AsyncHook;
let fixture: Fixture;
let tcpBefore: number;

beforeAll(async () => {
  tcpBefore = tcpResources();
  hook = createHook({
    init(id, type) {
      if (type === 'TCPWRAP' || type === 'TCPSERVERWRAP') sockets.add(id);
      if (type !== 'Timeout' && type !== 'Immediate') return;
      const { stack = '' } = new Error();
      // Node keeps the date of its header lines for a second, by a timer of its own.
      if (stack.includes(lib) && !stack.includes('utcDate')) timers.set(id, stack);
    },
    destroy(id) {
      timers.delete(id);
      if (sockets.delete(id)) onSocketClosed();
    },
  }).enable();
  fixture = await createFixture();
});

afterAll(async () => {
  hook.disable();
  await fixture.close();
});

/** Everything of the kind in this process: another spec file of the same worker may have left some. */
function tcpResources(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind.startsWith('TCP')).length;
}

function allSocketsClosed(): Promise<void> {
  return new Promise((resolve) => {
    onSocketClosed = () => {
      if (sockets.size === 0) resolve();
    };
    onSocketClosed();
  });
}

/** Five calls of one session in flight together. Every session uses the same ids: only the session tells them apart. */
async function interleave(session: LegacySession, name: string): Promise<void> {
  const pause = () => Math.floor(Math.random() * 20);
  const calls = [1, 2, 3, 4].map((id) =>
    id % 2 === 0
      ? session.callTool('echo', { text: `${name}/${id}` }, { id })
      : session.callTool('slow', { ms: pause(), text: `${name}/${id}` }, { id }),
  );
  const reporting = await session.stream(
    'tools/call',
    { name: 'progress', arguments: {}, _meta: { progressToken: name } },
    { id: 5 },
  );
  const reported = [];
  for await (const { message } of reporting) reported.push(message?.params?.progressToken ?? message?.id);
  expect(reported.filter((what) => what !== undefined)).toEqual([name, name, name, 5]);
  for (const [index, call] of calls.entries()) {
    const reply = await call;
    expect([reply.response?.id, textOf(reply)]).toEqual([index + 1, `${name}/${index + 1}`]);
  }
}

describe('two hundred sessions at once', () => {
  const sessions: LegacySession[] = [];
  const streams: Stream[] = [];

  it('open, each with an id of its own', async () => {
    sessions.push(...(await Promise.all(Array.from({ length: sessionCount }, () => legacySession(fixture)))));
    expect(new Set(sessions.map(({ sessionId }) => sessionId)).size).toBe(sessionCount);
  });

  it('are counted', () => {
    expect(fixture.router.stats().sessions).toBe(sessionCount);
  });

  it('get each its own answers while all of them call, and modern clients with them', async () => {
    streams.push(
      ...(await Promise.all(sessions.filter((_, index) => index % 4 === 0).map((session) => session.get()))),
    );
    await Promise.all([
      ...sessions.map((session, index) => interleave(session, `session ${index}`)),
      ...Array.from({ length: 20 }, async (_, index) => {
        const reply = await modern(fixture).callTool('slow', { ms: 10, text: `modern ${index}` }, { id: 1 });
        expect(textOf(reply)).toBe(`modern ${index}`);
      }),
    ]);
  });

  it('leave no session, stream or call behind when they end', async () => {
    const replies = await Promise.all(sessions.map((session) => session.delete()));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([204]));
    await Promise.all(streams.map(({ ended }) => ended));
    await eventually(() => fixture.router.stats().sessions === 0);
    const stats = fixture.router.stats();
    expect(stats).toMatchObject({ sessions: 0, streams: 0, calls: 0, parked: 0, inbox: 0 });
    expect(stats.sessionsEnded).toEqual({ client: sessionCount });
  });

  it('leave no timer and no socket behind when the mount has closed', async () => {
    expect(sockets.size).toBeGreaterThan(0);
    await fixture.close();
    await allSocketsClosed();
    expect([...timers.values()]).toEqual([]);
    expect(tcpResources()).toBeLessThanOrEqual(tcpBefore);
  });
});
