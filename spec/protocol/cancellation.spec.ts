/** `notifications/cancelled`: which call it stops. */
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { legacySession, textOf } from '../support/wire';
import type { LegacySession } from '../support/wire';

let fixture: Fixture;
let session: LegacySession;
beforeEach(async () => {
  fixture = await createFixture();
  session = await legacySession(fixture);
});
afterEach(() => fixture.close());

const running = (count: number) => fixture.until(() => fixture.ran.filter((name) => name === 'hold').length === count);

describe('cancelling a running call', () => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#behavior-requirements
  it.each([0, '', 1, -1, '0', 'req-abc', 2 ** 31, '__proto__'])('SHOULD stop its work: id %j', async (id) => {
    const call = await startHold(id);
    const reply = await session.notify('notifications/cancelled', { requestId: id, reason: 'enough' });
    expect(reply.status).toBe(202);
    await fixture.until(() => fixture.ended.includes('hold'));
    expect(fixture.aborted).toEqual([id]);
    await call.over;
    expect((await session.request('ping')).status).toBe(200);
  });

  it.each<[unknown, unknown]>([
    [1, '1'],
    ['0', 0],
    [0, ''],
    ['', 0],
    ['', 'x'],
    [0, null],
    [0, false],
    ['undefined', undefined],
  ])('leaves %j alone when %j is named', async (id, named) => {
    const call = await startHold(id);
    await session.notify('notifications/cancelled', { requestId: named });
    // Served after the notification, so that one has had its effect.
    expect((await session.request('ping')).status).toBe(200);
    expect(fixture.aborted).toEqual([]);
    await session.notify('notifications/cancelled', { requestId: id });
    await call.over;
    expect(fixture.aborted).toEqual([id]);
  });

  it('frees the id for the next call', async () => {
    for (let n = 1; n <= 3; n++) {
      const call = await startHold(0, n);
      await session.notify('notifications/cancelled', { requestId: 0 });
      await call.over;
    }
    expect(fixture.aborted).toEqual([0, 0, 0]);
    expect(textOf(await session.callTool('echo', { text: 'a' }, { id: 0 }))).toBe('a');
  });

  // "invalid cancellation notifications SHOULD be ignored": unknown ids, finished requests, malformed ones
  it.each([{ requestId: 'never sent' }, { requestId: null }, {}, { requestId: {} }])(
    'SHOULD be ignored when nothing of that id runs: %j',
    async (params) => {
      await session.callTool('echo', { text: 'a' }, { id: 5 });
      const reply = await session.notify('notifications/cancelled', params);
      expect([202, 400]).toContain(reply.status);
      expect((await session.notify('notifications/cancelled', { requestId: 5 })).status).toBe(202);
      expect((await session.request('ping')).status).toBe(200);
    },
  );

  it('does not reach a call of another session under the same id', async () => {
    const other = await legacySession(fixture);
    const mine = await startHold(1);
    const slow = other.callTool('slow', { ms: 50, text: 'other' }, { id: 1 });
    await fixture.until(() => fixture.ran.includes('slow'));
    await session.notify('notifications/cancelled', { requestId: 1 });
    await mine.over;
    expect(textOf(await slow)).toBe('other');
    expect(fixture.aborted).toEqual([1]);
  });
});

/** Start `hold` under that id and wait until it runs; `over` settles when its POST is. */
async function startHold(id: unknown, count = 1): Promise<{ over: Promise<unknown> }> {
  const over = session.callTool('hold', undefined, { id });
  await running(count);
  return { over };
}
