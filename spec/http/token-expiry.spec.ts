/** What becomes of open streams when their caller's token expires. */
import { bearerAuth } from 'express-mcp';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { legacySession, modern } from '../support/wire';

let fixture: Fixture;
let release: () => void;
beforeEach(async () => {
  const released = new Promise<void>((resolve) => (release = resolve));
  fixture = await createFixture({
    // The clock goes four times as often.
    router: { keepAliveMs: 200 },
    before: [
      bearerAuth({
        verify: (token) => ({
          principal: 'alice',
          scopes: [],
          // At least one second from now, for the first of them.
          ...(token === 'short' ? { expiresAt: Math.floor(Date.now() / 1000) + 2 } : undefined),
        }),
      }),
    ],
    setup(server) {
      server.registerTool('report-and-wait', {}, async (_, ctx) => {
        ctx.progress(1);
        await released;
        return 'done';
      });
    },
  });
});
afterEach(() => {
  release();
  return fixture.close();
});

const short = { Authorization: 'Bearer short' };
const call = { name: 'report-and-wait', arguments: {}, _meta: { progressToken: 't' } };

// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#graceful-closure
it('a subscription SHOULD end with its result', async () => {
  const stream = await modern(fixture, short).stream(
    'subscriptions/listen',
    { notifications: { toolsListChanged: true } },
    { id: 'l' },
  );
  await stream.ended;
  expect(stream.events.at(-1)?.message).toMatchObject({ id: 'l', result: { resultType: 'complete' } });
  expect(fixture.router.stats()).toMatchObject({ streams: 0, calls: 0 });
});

it('a modern call that was allowed is answered: nobody could come back for its result', async () => {
  const expired = new Promise((resolve) => setTimeout(resolve, 2_200));
  const stream = await modern(fixture, short).stream('tools/call', call, { id: 7 });
  await expired;
  release();
  expect((await stream.find(({ id }) => id === 7)).result).toMatchObject({ content: [{ text: 'done' }] });
  expect(fixture.aborted).toEqual([]);
});

it('a reply that can be resumed is closed, and its client comes back with another token', async () => {
  const session = await legacySession(fixture, { headers: short });
  const stream = await session.stream('tools/call', call, { id: 7 });
  await stream.ended;
  expect(stream.events.some(({ message }) => message?.id === 7)).toBe(false);
  const resumed = await session.get({ Authorization: 'Bearer other', 'Last-Event-ID': stream.events.at(-1)!.id! });
  release();
  expect((await resumed.find(({ id }) => id === 7)).result).toMatchObject({ content: [{ text: 'done' }] });
});
