/** The same id at the same time: in one session, in two, and across clients. */
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { legacySession, modern, textOf } from '../support/wire';

const alice = { Authorization: 'Bearer alice-token' };
const bob = { Authorization: 'Bearer bob-token' };

describe('twelve calls of one session under one id', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await createFixture();
  });
  afterAll(() => fixture.close());

  it.each([1, 0, '', 'x'])('each get their own answer or a refusal, and the next one is served: id %j', async (id) => {
    const session = await legacySession(fixture);
    const texts = Array.from({ length: 12 }, (_, n) => `text ${n}`);
    const calls = texts.map((text) => session.callTool('slow', { ms: 50, text }, { id }));
    const replies = await Promise.all(calls);
    replies.forEach((reply, n) => {
      expect(reply.response?.id).toBe(id);
      if (reply.response?.error === undefined) expect(textOf(reply)).toBe(texts[n]);
      else expect([reply.status, reply.response.error.code]).toEqual([400, -32600]);
    });
    expect(replies.some(({ response }) => response?.result !== undefined)).toBe(true);
    expect(textOf(await session.callTool('echo', { text: 'after' }, { id }))).toBe('after');
  });

  it('are no twins when one id is a number and the other its digits', async () => {
    const session = await legacySession(fixture);
    const calls = [1, '1', 0, '0', ''].map((id) =>
      session.callTool('slow', { ms: 50, text: `${typeof id} ${id}` }, { id }),
    );
    const texts = (await Promise.all(calls)).map(textOf);
    expect(texts).toEqual(['number 1', 'string 1', 'number 0', 'string 0', 'string ']);
  });

  it('are all served to modern clients, whose ids are their own', async () => {
    const client = modern(fixture);
    const texts = Array.from({ length: 12 }, (_, n) => `text ${n}`);
    const replies = await Promise.all(texts.map((text) => client.callTool('slow', { ms: 50, text }, { id: 1 })));
    expect(replies.map(textOf)).toEqual(texts);
  });

  it('leave the id free again after a refusal, an error and a cancel', async () => {
    const session = await legacySession(fixture);
    await session.callTool('throws', {}, { id: 1 });
    await session.request('no/such', {}, { id: 1 });
    const held = session.callTool('hold', {}, { id: 1 });
    await fixture.until(() => fixture.ran.includes('hold'));
    await session.notify('notifications/cancelled', { requestId: 1 });
    await held;
    expect(textOf(await session.callTool('echo', { text: 'free' }, { id: 1 }))).toBe('free');
  });
});

describe.each(eras)('two callers with the same ids, %s era', (era) => {
  it('fifty calls each name their own caller', async () => {
    const fixture = await createFixture({ bearer: true });
    try {
      const clients = [await connect(era, fixture, { headers: alice }), await connect(era, fixture, { headers: bob })];
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, n) => clients[n % 2]?.callTool('caller', {}, { id: Math.floor(n / 2) })),
      );
      replies.forEach((reply, n) => {
        if (reply === undefined) throw new Error('no reply');
        expect(textOf(reply)).toBe(n % 2 === 0 ? 'alice' : 'bob');
        expect(reply.response?.id).toBe(Math.floor(n / 2));
      });
    } finally {
      await fixture.close();
    }
  });
});
