/** Cancelling a call while its question is open: the client's ids and the server's are two things. */
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { legacySession, textOf } from '../support/wire';
import type { LegacySession, Stream } from '../support/wire';

let fixture: Fixture;
let session: LegacySession;
beforeEach(async () => {
  fixture = await createFixture();
  session = await legacySession(fixture, { capabilities: { elicitation: {} } });
});
afterEach(() => fixture.close());

/** Call `ask` under this id, up to its question. */
async function ask(id: unknown, from = session): Promise<{ call: Stream; questionId: unknown }> {
  const call = await from.stream('tools/call', { name: 'ask', arguments: {} }, { id });
  const question = await call.find(({ method }) => method === 'elicitation/create');
  return { call, questionId: question.id };
}

const accept = { action: 'accept', content: { name: 'Ada' } };

describe.each([0, 1, ''])('a client cancels its call %j while the question is open', (id) => {
  it('and the call stops at once: its question is withdrawn, and it gets no answer', async () => {
    const { call, questionId } = await ask(id);
    expect((await session.notify('notifications/cancelled', { requestId: id })).status).toBe(202);
    await fixture.until(() => fixture.aborted.length === 1);
    await call.ended;
    const after = call.events.flatMap(({ message }) => message ?? []).slice(1);
    expect(after.map(({ method, params }) => [method, params?.requestId])).toEqual([
      ['notifications/cancelled', questionId],
    ]);
    expect(fixture.router.stats()).toMatchObject({ calls: 0, parked: 0 });
  });

  it('and the next call of that id has a question of its own', async () => {
    const first = await ask(id);
    await session.notify('notifications/cancelled', { requestId: id });
    await first.call.ended;
    const second = await ask(id);
    expect(second.questionId).not.toBe(first.questionId);
    // The answer to the first question comes late, and is none to the second.
    const late = await session.post({ jsonrpc: '2.0', id: first.questionId, result: accept });
    expect([late.status, fixture.router.stats().parked]).toEqual([202, 1]);
    await session.post({ jsonrpc: '2.0', id: second.questionId, result: accept });
    const { result } = await second.call.find((message) => 'result' in message);
    expect(JSON.stringify(result)).toMatch(/Ada/);
  });
});

describe('a cancellation', () => {
  it('that names the id of a question stops nothing: it is the server’s', async () => {
    const { call, questionId } = await ask(0);
    await session.notify('notifications/cancelled', { requestId: questionId });
    expect([fixture.aborted, fixture.router.stats().parked]).toEqual([[], 1]);
    await session.post({ jsonrpc: '2.0', id: questionId, result: accept });
    expect((await call.find((message) => 'result' in message)).id).toBe(0);
  });

  it('of another session reaches neither the call nor its question', async () => {
    const other = await legacySession(fixture, { capabilities: { elicitation: {} } });
    const { call, questionId } = await ask(1);
    const theirs = await ask(1, other);
    await other.notify('notifications/cancelled', { requestId: 1 });
    await theirs.call.ended;
    expect(fixture.router.stats()).toMatchObject({ calls: 1, parked: 1 });
    await session.post({ jsonrpc: '2.0', id: questionId, result: accept });
    expect((await call.find((message) => 'result' in message)).id).toBe(1);
  });

  it('of one call does not touch another of the same client', async () => {
    const { call, questionId } = await ask(0);
    const held = session.callTool('hold', {}, { id: '0' });
    await fixture.until(() => fixture.ran.includes('hold'));
    await session.notify('notifications/cancelled', { requestId: '0' });
    await held;
    expect(fixture.aborted).toEqual(['0']);
    await session.post({ jsonrpc: '2.0', id: questionId, result: accept });
    await call.ended;
  });
});

describe('an answer', () => {
  it('from another session is none', async () => {
    const other = await legacySession(fixture, { capabilities: { elicitation: {} } });
    const { questionId } = await ask(0);
    expect((await other.post({ jsonrpc: '2.0', id: questionId, result: accept })).status).toBe(202);
    expect(fixture.router.stats().parked).toBe(1);
    await session.delete();
    await eventually(() => fixture.router.stats().parked === 0);
  });

  it('is taken once', async () => {
    const { call, questionId } = await ask(0);
    const answers = await Promise.all(
      [1, 2, 3].map(() => session.post({ jsonrpc: '2.0', id: questionId, result: accept })),
    );
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    await call.ended;
    expect(call.events.filter(({ message }) => message && 'result' in message)).toHaveLength(1);
    expect(textOf(await session.callTool('echo', { text: 'a' }))).toBe('a');
  });
});
