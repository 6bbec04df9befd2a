/** A call that lets its connection go: the client comes back for the rest, where it can. */
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { legacySession, modern, textOf } from '../support/wire';
import type { Reply, Stream } from '../support/wire';

let fixture: Fixture;
/** Lets the tool go on, once for each time it waits. */
let goOn: () => void;
/** What `closeStream` answered, each time. */
let closed: boolean[];

async function start(router = {}): Promise<void> {
  closed = [];
  fixture = await createFixture({
    router: { retryMs: 100, ...router },
    setup(server) {
      server.registerTool('leave', { description: 'Closes its connection twice' }, async (_args, ctx) => {
        for (let times = 0; times < 2; times += 1) {
          closed.push(ctx.closeStream());
          await new Promise<void>((resolve) => (goOn = resolve));
          ctx.progress(times + 1);
        }
        return 'left';
      });
      server.registerTool('try', { description: 'Tries to' }, (_args, ctx) => String(ctx.closeStream()));
    },
  });
}

afterEach(() => fixture.close());

const params = { name: 'leave', arguments: {}, _meta: { progressToken: 't' } };

async function idsUntilEnd(stream: Stream): Promise<string[]> {
  for await (const event of stream) void event;
  return stream.events.map(({ id }) => id!);
}

describe('closeStream', () => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
  it('SHOULD leave the client an event id and a retry time, and then close; the client resumes by GET', async () => {
    await start();
    const session = await legacySession(fixture);
    const first = await session.stream('tools/call', params, { id: 'call' });
    const [primed] = await idsUntilEnd(first);
    expect(first.events).toMatchObject([{ data: '', retry: expect.any(Number) }]);
    expect(fixture.router.stats().calls).toBe(1);

    const second = await session.get({ 'Last-Event-ID': primed });
    goOn();
    const progress = await second.find(({ method }) => method === 'notifications/progress');
    expect(progress.params).toMatchObject({ progress: 1 });
    const last = (await idsUntilEnd(second)).at(-1)!;
    expect(closed).toEqual([true, true]);

    // What happens while nobody is connected waits.
    goOn();
    const third = await session.get({ 'Last-Event-ID': last });
    expect(await third.find(({ id }) => id === 'call')).toMatchObject({ result: { content: [{ text: 'left' }] } });
    await third.ended;
    expect(third.events.map(({ message }) => message?.params?.progress)).toEqual([undefined, 2, undefined]);
  });

  it('closes nothing for a revision whose streams do not begin with an event', async () => {
    await start();
    const session = await legacySession(fixture, { revision: '2025-06-18' });
    expectJson(await session.callTool('try'));
  });

  it('closes nothing for a modern client, to whom a closed stream is a cancelled call', async () => {
    await start();
    expectJson(await modern(fixture).callTool('try'));
  });

  it('closes nothing where there is no GET to come back with', async () => {
    await start({ serverMessages: false });
    const session = await legacySession(fixture);
    expect(textOf(await session.callTool('try'))).toBe('false');
  });

  it('closes nothing for a client that takes JSON only', async () => {
    await start();
    const session = await legacySession(fixture);
    expectJson(await session.callTool('try', {}, { headers: { Accept: 'application/json' } }));
  });
});

function expectJson(reply: Reply): void {
  expect(reply.headers['content-type']).toBe('application/json');
  expect(textOf(reply)).toBe('false');
}
