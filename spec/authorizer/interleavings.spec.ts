/** Whatever happens to calls that wait for a yes, in whatever order: each ends once, runs at most once, and leaves nothing. */
import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { allow, elicit } from 'express-mcp';
import type { ToolQuestion } from 'express-mcp';
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { answer, approvalOf, asker, createPolicy, forms, questionOn, questionsIn, yes } from '../support/questions';
import { watchTimers } from '../support/timers';
import { legacySession, modern } from '../support/wire';
import type { LegacySession, Reply, Stream } from '../support/wire';

const policy = createPolicy<ToolQuestion>(({ operation, name }) =>
  operation === 'call' && name === 'echo' ? elicit('Say it aloud?') : allow(),
);
const bearer = (principal: string) => ({ Authorization: `Bearer ${principal}-token` });

/** What keeps the process running: servers, sockets, timers. */
const resources = () => process.getActiveResourcesInfo().filter((name) => /TCP|Timeout/.test(name)).length;

describe('legacy calls', () => {
  const noes = {
    decline: { result: { action: 'decline' } },
    cancel: { result: { action: 'cancel' } },
    'accept without approval': { result: { action: 'accept', content: {} } },
    error: { error: { code: -1, message: 'No user here' } },
  };
  const ofCall = ['approve', ...Object.keys(noes), 'cancel the call', 'disconnect'] as const;
  const strangers = ['approve in another session', 'approve as bob', 'approve as bob in the session'] as const;
  const ofAll = ['DELETE', 'close'] as const;
  /** Those after which a call does not wait any more. */
  const settling = new Set<string>(['approve', ...Object.keys(noes), 'cancel the call', ...ofAll]);

  interface Event {
    readonly what: string;
    /** Which call; of no meaning for what happens to all. */
    readonly call: number;
  }
  interface Scene {
    readonly fixture: Fixture;
    readonly session: LegacySession;
    readonly other: LegacySession;
    readonly bob: LegacySession;
    readonly calls: { readonly stream: Stream; readonly question: string; isOpen: boolean }[];
  }

  async function carryOut({ what, call }: Event, { fixture, session, other, bob, calls }: Scene): Promise<unknown> {
    const { stream, question } = calls[call]!;
    switch (what) {
      case 'approve':
        return answer(session, question, yes);
      case 'approve in another session':
        return answer(other, question, yes);
      case 'approve as bob':
        return answer(bob, question, yes);
      case 'approve as bob in the session':
        return session.post({ jsonrpc: '2.0', id: question, result: yes }, { headers: bearer('bob') });
      case 'cancel the call':
        return session.notify('notifications/cancelled', { requestId: call });
      case 'disconnect':
        calls[call]!.isOpen = false;
        return stream.close();
      case 'DELETE':
        return session.delete();
      case 'close':
        return fixture.router.close({ graceMs: 5_000 });
      default:
        return session.post({ jsonrpc: '2.0', id: question, ...noes[what as keyof typeof noes] });
    }
  }

  /** May this call have run, and must it have, if no time limit came first? */
  function expected(call: number, groups: readonly (readonly Event[])[]): { may: boolean; must: boolean } {
    const concerns = ({ what, call: of }: Event) =>
      settling.has(what) && (of === call || ofAll.some((event) => event === what));
    const first = groups.map((group) => group.filter(concerns)).find((group) => group.length > 0) ?? [];
    const may = first.some(({ what }) => what === 'approve');
    return { may, must: may && first.every(({ what }) => what === 'approve') };
  }

  async function play(count: number, groups: readonly (readonly Event[])[], timeoutMs: number): Promise<void> {
    const before = resources();
    const timers = watchTimers();
    policy.taken();
    const signals: AbortSignal[] = [];
    policy.decide = ({ operation, name }, { signal }) => {
      signals.push(signal);
      return operation === 'call' && name === 'echo' ? elicit('Say it aloud?') : allow();
    };
    const fixture = await createFixture({
      bearer: true,
      server: { authorizer: policy.hook, elicitationTimeoutMs: timeoutMs },
    });
    try {
      const sessionOf = (principal: string) =>
        legacySession(fixture, { capabilities: forms, headers: bearer(principal) });
      const [session, other, bob] = await Promise.all([sessionOf('alice'), sessionOf('alice'), sessionOf('bob')]);
      const calls = await Promise.all(
        Array.from({ length: count }, async (_, id) => {
          const params = { name: 'echo', arguments: { text: `${id}` }, _meta: { progressToken: id } };
          const stream = await session.stream('tools/call', params, { id });
          return { stream, question: (await questionOn(stream)).id, isOpen: true };
        }),
      );
      const scene = { fixture, session, other, bob, calls };
      for (const group of groups) await Promise.all(group.map((event) => carryOut(event, scene)));
      // Who has had no answer by now gets none: the session ends.
      await fixture.router.close({ graceMs: 5_000 });
      await Promise.all(calls.map(({ stream }) => stream.ended));

      expect(fixture.router.stats()).toMatchObject({ parked: 0, calls: 0, streams: 0, sessions: 0, inbox: 0 });
      for (const [call, { stream, isOpen }] of calls.entries()) {
        const runs = fixture.calls.filter(({ args }) => (args as { text: string }).text === `${call}`).length;
        const responses = stream.events.filter(({ message }) => message && !('method' in message));
        const { may, must } = expected(call, groups);
        expect(runs).toBeLessThanOrEqual(may ? 1 : 0);
        if (must && timeoutMs > 1_000) expect(runs).toBe(1);
        expect(responses.length).toBeLessThanOrEqual(1);
        const isCancelled = groups.flat().some((event) => event.what === 'cancel the call' && event.call === call);
        if (isOpen && !isCancelled) expect(responses.length).toBe(1);
        // What its client sees is what happened.
        if (responses.length === 1) expect(responses[0]!.message?.result?.isError === true).toBe(runs === 0);
      }
      expect(signals.flatMap((signal) => getEventListeners(signal, 'abort')).length).toBe(fixture.ran.length);
      expect(fixture.errors).toEqual([]);
    } finally {
      await fixture.close();
      timers.restore();
    }
    expect(timers.pending()).toEqual([]);
    await eventually(() => resources() <= before);
  }

  const anEvent = (count: number) =>
    fc.record({
      what: fc.oneof(
        { weight: 4, arbitrary: fc.constant('approve') },
        { weight: 8, arbitrary: fc.constantFrom<string>(...ofCall) },
        { weight: 3, arbitrary: fc.constantFrom<string>(...strangers) },
        { weight: 1, arbitrary: fc.constantFrom<string>(...ofAll) },
      ),
      call: fc.nat({ max: count - 1 }),
    });
  const aScene = fc.integer({ min: 1, max: 3 }).chain((count) =>
    fc.tuple(
      fc.constant(count),
      // One group after the other; what is in a group happens at once.
      fc.array(fc.array(anEvent(count), { minLength: 1, maxLength: 4 }), { maxLength: 4 }),
      fc.constantFrom(30, 60_000),
    ),
  );

  it('end once each, run at most once and only after a yes, and leave neither timer nor listener', async () => {
    await fc.assert(
      fc.asyncProperty(aScene, ([count, groups, timeoutMs]) => play(count, groups, timeoutMs)),
      { numRuns: 40, endOnFailure: true },
    );
  }, 120_000);
});

describe('modern calls', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await createFixture({ bearer: true, server: { authorizer: policy.hook } });
  });
  afterAll(() => fixture.close());

  const answers = {
    approve: yes,
    decline: { action: 'decline' },
    'accept without approval': { action: 'accept', content: {} },
  };
  const ways = ['with its state', 'without a state', 'with other arguments', 'as bob'] as const;

  interface Retry {
    readonly answer: keyof typeof answers;
    readonly way: (typeof ways)[number];
    /** Which of the questions. */
    readonly question: number;
  }

  function carryOut({ answer: given, way, question }: Retry, questions: readonly Reply[]): Promise<Reply> {
    const { requestState, inputResponses } = approvalOf(questions[question]!, answers[given]);
    const { call } = asker(modern(fixture, bearer(way === 'as bob' ? 'bob' : 'alice')));
    const text = way === 'with other arguments' ? 'other' : `${question}`;
    return call('echo', { text }, way === 'without a state' ? { inputResponses } : { requestState, inputResponses });
  }

  function outcomeOf(reply: Reply): 'ran' | 'asked' | 'denied' | 'refused' {
    const { result, error } = reply.response!;
    if (error !== undefined) return 'refused';
    if (result?.resultType === 'input_required') return 'asked';
    return result?.isError === true ? 'denied' : 'ran';
  }

  async function play(count: number, groups: readonly (readonly Retry[])[]): Promise<void> {
    fixture.calls.splice(0);
    policy.decide = ({ operation, name }) =>
      operation === 'call' && name === 'echo' ? elicit('Say it aloud?') : allow();
    const { call } = asker(modern(fixture, bearer('alice')));
    const questions = await Promise.all(Array.from({ length: count }, (_, n) => call('echo', { text: `${n}` })));
    questions.forEach(questionsIn);
    const answered = new Set<number>();
    const ran = new Map<number, number>();
    for (const group of groups) {
      const outcomes = await Promise.all(group.map(async (retry) => outcomeOf(await carryOut(retry, questions))));
      const counted = group.map((retry, index) => ({ ...retry, outcome: outcomes[index]! }));
      for (const { way, outcome } of counted) {
        if (way === 'without a state') expect(outcome).toBe('asked');
        if (way === 'with other arguments' || way === 'as bob') expect(outcome).toBe('refused');
      }
      for (let question = 0; question < count; question += 1) {
        const own = counted.filter((retry) => retry.way === 'with its state' && retry.question === question);
        const runs = own.filter(({ outcome }) => outcome === 'ran');
        expect(runs.every(({ answer: given }) => given === 'approve')).toBe(true);
        expect(own.every(({ answer: given, outcome }) => given === 'approve' || outcome === 'denied')).toBe(true);
        if (answered.has(question)) expect(runs).toEqual([]);
        else if (own.length > 0 && own.every(({ answer: given }) => given === 'approve')) expect(runs).toHaveLength(1);
        if (own.length > 0) answered.add(question);
        ran.set(question, (ran.get(question) ?? 0) + runs.length);
      }
    }
    for (const runs of ran.values()) expect(runs).toBeLessThanOrEqual(1);
    expect(fixture.calls).toHaveLength([...ran.values()].reduce((sum, runs) => sum + runs, 0));
    expect(fixture.router.stats()).toMatchObject({ parked: 0, calls: 0, streams: 0 });
  }

  const aScene = fc.integer({ min: 1, max: 3 }).chain((count) => {
    const retry = fc.record({
      answer: fc.constantFrom(...(Object.keys(answers) as (keyof typeof answers)[])),
      way: fc.oneof({ weight: 3, arbitrary: fc.constant(ways[0]) }, { weight: 1, arbitrary: fc.constantFrom(...ways) }),
      question: fc.nat({ max: count - 1 }),
    });
    return fc.tuple(fc.constant(count), fc.array(fc.array(retry, { minLength: 1, maxLength: 5 }), { maxLength: 4 }));
  });

  it('run at most once for each question, and only for a yes to it', async () => {
    await fc.assert(
      fc.asyncProperty(aScene, ([count, groups]) => play(count, groups)),
      { numRuns: 40, endOnFailure: true },
    );
    expect(fixture.errors).toEqual([]);
  }, 120_000);
});
