/** A legacy client is asked on the stream of its call, which waits for the answer and closes exactly once. */
import { allow, elicit } from 'express-mcp';
import type { ToolQuestion } from 'express-mcp';
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture, FixtureOptions } from '../support/fixture';
import { answer, createPolicy, denialIn, forms, notYes, questionOn, responseOn, yes } from '../support/questions';
import { legacySession, send } from '../support/wire';
import type { LegacyOptions, LegacySession, Message, Stream } from '../support/wire';

const policy = createPolicy<ToolQuestion>();
let fixture: Fixture;
let session: LegacySession;

async function start(options: Omit<FixtureOptions, 'bearer'> = {}): Promise<void> {
  policy.taken();
  policy.decide = ({ operation, name }) =>
    operation === 'call' && name === 'echo' ? elicit('Say it aloud?') : allow();
  fixture = await createFixture({
    ...options,
    bearer: true,
    server: { authorizer: policy.hook, ...options.server },
  });
  session = await sessionOf('alice');
}

const sessionOf = (principal: string, options: LegacyOptions = {}) =>
  legacySession(fixture, {
    capabilities: forms,
    ...options,
    headers: { Authorization: `Bearer ${principal}-token`, ...options.headers },
  });

/** A call that is parked, with its question. */
async function park(id: unknown = 7, by = session): Promise<{ stream: Stream; question: Message & { id: string } }> {
  const stream = await by.stream('tools/call', { name: 'echo', arguments: { text: 'aloud' } }, { id });
  return { stream, question: await questionOn(stream) };
}

const parked = () => fixture.router.stats().parked;

afterEach(async () => {
  await fixture.close();
  expect(fixture.router.stats()).toMatchObject({ parked: 0, calls: 0, streams: 0, sessions: 0 });
  expect(fixture.errors).toEqual([]);
});

describe('a parked call', () => {
  beforeEach(() => start());

  // https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#form-mode-elicitation-requests
  it('asks for an explicit yes, on its own stream, under an id that nobody can guess', async () => {
    const { stream, question } = await park();
    expect(question.params).toEqual({
      mode: 'form',
      message: 'Say it aloud?',
      requestedSchema: {
        type: 'object',
        properties: { approve: { type: 'boolean', title: 'Approve' } },
        required: ['approve'],
      },
    });
    expect(question.id).toMatch(/^[\w.-]{21,}$/);
    expect(stream.headers['content-type']).toMatch(/^text\/event-stream/);
    expect(parked()).toBe(1);
    stream.close();
  });

  it('is asked without the word "mode" where the revision has none', async () => {
    session = await sessionOf('alice', { revision: '2025-06-18' });
    const { stream, question } = await park();
    expect(question.params).not.toHaveProperty('mode');
    await answer(session, question.id, yes);
    expect((await responseOn(stream)).result?.content).toEqual([{ type: 'text', text: 'aloud' }]);
  });

  it('runs once, after the yes', async () => {
    const { stream, question } = await park();
    expect(fixture.ran).toEqual([]);
    const posted = await answer(session, question.id, yes);
    expect([posted.status, posted.text]).toEqual([202, '']);
    expect((await responseOn(stream)).result?.content).toEqual([{ type: 'text', text: 'aloud' }]);
    await stream.ended;
    expect(fixture.ran).toEqual(['echo']);
    expect(policy.taken()).toEqual(['call echo']);
  });

  it.each(notYes)('is denied by: %s', async (_what, given) => {
    const { stream, question } = await park();
    await answer(session, question.id, given);
    const response = await responseOn(stream);
    expect(denialIn(response)).toEqual(denied);
    expect(response.result?.content).toEqual([{ type: 'text', text: expect.stringMatching(/approved/) }]);
    expect(fixture.ran).toEqual([]);
  });

  it('is denied by an error', async () => {
    const { stream, question } = await park();
    await session.post({ jsonrpc: '2.0', id: question.id, error: { code: -1, message: 'No user here' } });
    expect(denialIn(await responseOn(stream))).toEqual(denied);
    expect(fixture.ran).toEqual([]);
  });

  it('ends with its session: denied, and later answers find nothing', async () => {
    const { stream, question } = await park();
    expect((await session.delete()).status).toBe(204);
    expect(denialIn(await responseOn(stream))).toEqual(denied);
    expect(parked()).toBe(0);
    expect((await answer(session, question.id, yes)).status).toBe(404);
    expect(fixture.ran).toEqual([]);
  });

  it('is denied when the server closes, and does not hold it up', async () => {
    const { stream } = await park();
    await fixture.router.close({ graceMs: 10_000 });
    expect(denialIn(await responseOn(stream))).toEqual(denied);
    expect(fixture.ran).toEqual([]);
  });

  it('is not parked at all when the server closes before the authorizer has answered', async () => {
    let decided!: () => void;
    const deciding = new Promise<void>((begun) => {
      policy.decide = () => {
        begun();
        return new Promise((resolve) => (decided = () => resolve(elicit('Say it aloud?'))));
      };
    });
    const reply = session.callTool('echo', { text: 'aloud' });
    await deciding;
    const closed = fixture.router.close({ graceMs: 10_000 });
    decided();
    expect(denialIn((await reply).response)).toEqual(denied);
    await closed;
  });

  it('outlives the connection: its client resumes, answers and has the result', async () => {
    const { stream, question } = await park();
    const last = stream.events.findLast(({ id }) => id !== undefined)!;
    stream.close();
    await stream.ended;
    await answer(session, question.id, yes);
    const resumed = await session.get({ 'Last-Event-ID': last.id });
    expect((await responseOn(resumed)).result?.content).toEqual([{ type: 'text', text: 'aloud' }]);
    expect(fixture.ran).toEqual(['echo']);
  });

  it('sees only the first of two answers', async () => {
    const first = await park(1);
    expect((await answer(session, first.question.id, { action: 'decline' })).status).toBe(202);
    expect((await answer(session, first.question.id, yes)).status).toBe(202);
    expect(denialIn(await responseOn(first.stream))).toEqual(denied);
    expect(fixture.ran).toEqual([]);

    const second = await park(2);
    const both = await Promise.all([
      answer(session, second.question.id, yes),
      answer(session, second.question.id, yes),
    ]);
    expect(both.map(({ status }) => status)).toEqual([202, 202]);
    expect((await responseOn(second.stream)).result?.isError).toBeUndefined();
    expect(fixture.ran).toEqual(['echo']);
  });

  it('is not reached by other sessions, of the same principal or another, nor by nobody', async () => {
    const { stream, question } = await park();
    const mine = await sessionOf('alice');
    const bobs = await sessionOf('bob');
    expect((await answer(mine, question.id, yes)).status).toBe(202);
    expect((await answer(bobs, question.id, yes)).status).toBe(202);
    const stolen = { ...bobs.headers, 'Mcp-Session-Id': session.sessionId };
    const body = { jsonrpc: '2.0', id: question.id, result: yes };
    expect((await send(fixture.url, { method: 'POST', headers: stolen, body })).status).toBe(404);
    const nobody = { ...session.headers, Authorization: undefined };
    expect((await send(fixture.url, { method: 'POST', headers: nobody, body })).status).toBe(401);
    const modern = { ...session.headers, 'MCP-Protocol-Version': '2026-07-28' };
    expect((await send(fixture.url, { method: 'POST', headers: modern, body })).status).toBe(400);
    // All of them have been served by now, and none was heard.
    expect([parked(), fixture.ran]).toEqual([1, []]);
    await answer(session, question.id, yes);
    expect((await responseOn(stream)).result?.isError).toBeUndefined();
    expect(fixture.ran).toEqual(['echo']);
  });

  it('is not reached by ids that are near its question’s', async () => {
    const { stream, question } = await park(0);
    for (const id of [0, '0', 7, question.id.slice(1), `${question.id} `, question.id.toLowerCase() + 'x', '__proto__'])
      expect((await answer(session, id, yes)).status).toBe(202);
    expect([parked(), fixture.ran]).toEqual([1, []]);
    stream.close();
  });

  it('has a question of its own among several', async () => {
    const calls = [await park(1), await park(2), await park(3)];
    expect(new Set(calls.map(({ question }) => question.id)).size).toBe(3);
    await answer(session, calls[1]!.question.id, yes);
    expect((await responseOn(calls[1]!.stream)).id).toBe(2);
    await answer(session, calls[0]!.question.id, { action: 'decline' });
    expect((await responseOn(calls[0]!.stream)).id).toBe(1);
    expect([parked(), fixture.ran]).toEqual([1, ['echo']]);
    calls[2]!.stream.close();
  });
});

const denied = { code: 'authorization_denied', reason: expect.stringMatching(/approved/), prompt: 'Say it aloud?' };

describe('a parked call that its client cancels', () => {
  beforeEach(() => start());

  // The server's own questions have ids of their own: a client that counts from 0 cancels its call, and nothing else.
  it('takes its question along, and frees its id', async () => {
    const { stream, question } = await park(0);
    await session.notify('notifications/cancelled', { requestId: 0, reason: 'enough' });
    const withdrawn = await stream.find(({ method }) => method === 'notifications/cancelled');
    expect(withdrawn.params).toMatchObject({ requestId: question.id });
    await stream.ended;
    expect(stream.events.filter(({ message }) => message && 'result' in message)).toEqual([]);
    expect((await answer(session, question.id, yes)).status).toBe(202);
    expect([parked(), fixture.ran]).toEqual([0, []]);

    const again = await park(0);
    await answer(session, again.question.id, yes);
    expect(await responseOn(again.stream)).toMatchObject({ id: 0, result: { content: [{ text: 'aloud' }] } });
    expect(fixture.ran).toEqual(['echo']);
  });

  it('is another than the call that its question’s id would name', async () => {
    const { stream, question } = await park(0);
    await session.notify('notifications/cancelled', { requestId: question.id });
    expect(parked()).toBe(1);
    await answer(session, question.id, yes);
    expect((await responseOn(stream)).result?.isError).toBeUndefined();
  });
});

describe('silence', () => {
  beforeEach(() => start({ server: { elicitationTimeoutMs: 60 } }));

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#timeouts
  it('is no consent: after elicitationTimeoutMs the question is withdrawn and the call denied', async () => {
    const { stream, question } = await park();
    const withdrawn = await stream.find(({ method }) => method === 'notifications/cancelled');
    expect(withdrawn.params?.requestId).toBe(question.id);
    expect(denialIn(await responseOn(stream))).toEqual(denied);
    expect((await answer(session, question.id, yes)).status).toBe(202);
    expect([parked(), fixture.ran]).toEqual([0, []]);
  });

  it('is no consent either when the client has gone meanwhile', async () => {
    const { stream } = await park();
    const last = stream.events.findLast(({ id }) => id !== undefined)!;
    stream.close();
    await stream.ended;
    const resumed = await session.get({ 'Last-Event-ID': last.id });
    expect(denialIn(await responseOn(resumed))).toEqual(denied);
    expect([parked(), fixture.ran]).toEqual([0, []]);
  });
});

describe('a stream that waits for the human', () => {
  it('shows that it lives', async () => {
    await start({ router: { keepAliveMs: 80 } });
    const { stream, question } = await park();
    await eventually(() => stream.comments.length >= 2);
    await answer(session, question.id, yes);
    expect((await responseOn(stream)).result?.isError).toBeUndefined();
  });
});

describe('a client that takes JSON only', () => {
  const json = { Accept: 'application/json' };

  it('is asked on its GET stream', async () => {
    await start();
    const get = await session.get();
    const reply = session.callTool('echo', { text: 'aloud' }, { headers: json });
    const question = await questionOn(get);
    await answer(session, question.id, yes);
    const { headers, response } = await reply;
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(response?.result?.content).toEqual([{ type: 'text', text: 'aloud' }]);
    get.close();
  });

  it('stays with JSON however long it waits', async () => {
    await start({ router: { keepAliveMs: 20 }, server: { elicitationTimeoutMs: 200 } });
    const get = await session.get();
    const reply = await session.callTool('echo', { text: 'aloud' }, { headers: json });
    expect(reply.headers['content-type']).toMatch(/^application\/json/);
    expect(denialIn(reply.response)).toEqual(denied);
    get.close();
  });

  it.each([
    ['has no GET stream', async () => undefined],
    [
      'has closed its GET stream',
      async () => {
        const get = await session.get();
        get.close();
        await eventually(() => fixture.router.stats().streams === 0);
      },
    ],
    ['has a GET stream in another session only', async () => void (await (await sessionOf('alice')).get())],
  ])('cannot be asked when it %s', async (_what, before) => {
    await start();
    await before();
    const reply = await session.callTool('echo', { text: 'aloud' }, { headers: json });
    expect(denialIn(reply.response)).toMatchObject({ code: 'authorization_required', prompt: 'Say it aloud?' });
    expect([parked(), fixture.ran]).toEqual([0, []]);
  });

  it('cannot be asked where the mount offers no GET stream', async () => {
    await start({ router: { serverMessages: false } });
    const reply = await session.callTool('echo', { text: 'aloud' }, { headers: json });
    expect(denialIn(reply.response)).toMatchObject({ code: 'authorization_required' });
    expect(fixture.ran).toEqual([]);
  });
});

describe('the places for parked calls', () => {
  it('are limited per principal, whatever the session: maxParkedPerPrincipal', async () => {
    await start({ router: { maxParkedPerPrincipal: 1 } });
    const { stream, question } = await park();
    const reply = await (await sessionOf('alice')).callTool('echo', { text: 'aloud' });
    expect(denialIn(reply.response)).toMatchObject({ code: 'authorization_denied' });
    const bobs = await sessionOf('bob');
    const bob = await park(7, bobs);
    await answer(session, question.id, { action: 'decline' });
    await responseOn(stream);
    const again = await park();
    expect(parked()).toBe(2);
    again.stream.close();
    bob.stream.close();
    expect(fixture.ran).toEqual([]);
  });

  it('are limited per mount, whoever calls: maxParked', async () => {
    await start({ router: { maxParked: 1 } });
    const { stream, question } = await park();
    const reply = await (await sessionOf('bob')).callTool('echo', { text: 'aloud' });
    expect(denialIn(reply.response)).toMatchObject({ code: 'authorization_denied' });
    expect((await session.callTool('nothing')).response?.result?.isError).toBeUndefined();
    await answer(session, question.id, yes);
    expect((await responseOn(stream)).result?.isError).toBeUndefined();
    expect(fixture.ran).toEqual(['nothing', 'echo']);
  });
});
