/** A modern client is asked by its call's result, and calls again with the answer and the sealed state. */
import { allow, deny, elicit } from 'express-mcp';
import type { Context, ToolQuestion } from 'express-mcp';
import * as z from 'zod';
import { eventually } from '../support/eventually';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { approvalKey, approvalOf, asker, createPolicy, denialIn, notYes, questionsIn, yes } from '../support/questions';
import { modern, textOf } from '../support/wire';
import type { Reply } from '../support/wire';

const policy = createPolicy<ToolQuestion>();
let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture({
    bearer: true,
    server: { authorizer: policy.hook },
    setup(server) {
      server.registerTool('greet', { inputSchema: z.object({ text: z.string() }) }, () => 'greeted');
      server.registerPrompt('echo', { argsSchema: z.object({ text: z.string() }) }, () => 'the prompt echo');
    },
  });
});
afterAll(() => fixture.close());
beforeEach(() => {
  policy.decide = ({ operation, name }) =>
    operation === 'call' && name === 'echo' ? elicit('Say it aloud?') : allow();
  policy.taken();
  fixture.ran.splice(0);
});
afterEach(() => {
  expect(fixture.router.stats()).toMatchObject({ parked: 0, calls: 0, streams: 0, sessions: 0 });
  expect(fixture.errors).toEqual([]);
});

const as = (principal: string) => asker(modern(fixture, { Authorization: `Bearer ${principal}-token` }));
const ask = (args: object = { text: 'aloud' }): Promise<Reply> => as('alice').call('echo', args);
const retry = (rounds: object, args: object = { text: 'aloud' }): Promise<Reply> =>
  as('alice').call('echo', args, rounds);

const denied = { code: 'authorization_denied', reason: expect.stringMatching(/approved/), prompt: 'Say it aloud?' };

/** It asks again, and nothing has run. */
function expectAsked(reply: Reply): void {
  expect(Object.keys(questionsIn(reply).requests)).toEqual([approvalKey]);
  expect(fixture.ran).toEqual([]);
}

/** -32602 and nothing more. */
function expectRefused({ status, response }: Reply): void {
  expect([status, response?.error?.code]).toEqual([200, -32602]);
  expect(fixture.ran).toEqual([]);
}

describe('a call that needs approval', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
  it('is answered with the question and a sealed state, and nothing waits', async () => {
    const reply = await ask();
    expect(reply.headers['content-type']).toMatch(/^application\/json/);
    const { requests, requestState } = questionsIn(reply);
    expect(requests).toEqual({
      [approvalKey]: {
        method: 'elicitation/create',
        params: {
          mode: 'form',
          message: 'Say it aloud?',
          requestedSchema: {
            type: 'object',
            properties: { approve: { type: 'boolean', title: 'Approve' } },
            required: ['approve'],
          },
        },
      },
    });
    // Sealed: neither the tool nor the question can be read in it.
    expect(Buffer.from(requestState, 'base64url').toString('latin1')).not.toMatch(/aloud|alice|echo|approval/);
    expect(fixture.ran).toEqual([]);
  });

  it('runs once, on the retry with the yes, after the authorizer was asked again', async () => {
    const asked = await ask();
    expect(textOf(await retry(approvalOf(asked)))).toBe('aloud');
    expect(fixture.ran).toEqual(['echo']);
    expect(policy.taken()).toEqual(['call echo', 'call echo']);
  });

  it.each(notYes)('is denied by: %s', async (_what, given) => {
    const reply = await retry(approvalOf(await ask(), given));
    expect(denialIn(reply.response)).toEqual(denied);
    expect(fixture.ran).toEqual([]);
  });

  it.each([
    ['a list', []],
    ['a string', 'x'],
    ['a number', 1],
    ['a boolean', true],
    ['null', null],
    ['an answer that is a string', { [approvalKey]: 'yes' }],
    ['an answer that is true', { [approvalKey]: true }],
    ['an answer that is null', { [approvalKey]: null }],
    ['an answer that is a list', { [approvalKey]: [yes] }],
    ['a wrong answer beside a good one', { [approvalKey]: yes, other: 1 }],
  ])('MUST be refused with -32602 when inputResponses is %s', async (_what, inputResponses) => {
    const { requestState } = questionsIn(await ask());
    expectRefused(await retry({ requestState, inputResponses }));
  });

  it.each([
    ['without any', (state: string) => ({ requestState: state })],
    ['with none', (state: string) => ({ requestState: state, inputResponses: {} })],
    [
      'with answers to other questions',
      (state: string) => ({ requestState: state, inputResponses: { approval: yes } }),
    ],
    [
      'under an inherited name',
      (state: string) => ({
        requestState: state,
        inputResponses: JSON.parse(`{"__proto__":{"${approvalKey}":${JSON.stringify(yes)}}}`) as object,
      }),
    ],
  ])('SHOULD be asked again when the retry comes %s', async (_what, rounds) => {
    expectAsked(await retry(rounds(questionsIn(await ask()).requestState)));
  });

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'SHOULD ignore the unknown answer %s',
    async (key) => {
      const { requestState } = questionsIn(await ask());
      const inputResponses = JSON.parse(
        `{"${key}":${JSON.stringify(yes)},"${approvalKey}":${JSON.stringify(yes)}}`,
      ) as object;
      expect(textOf(await retry({ requestState, inputResponses }))).toBe('aloud');
    },
  );
});

describe('an approval', () => {
  it('is worth nothing without the state it answers', async () => {
    const { inputResponses } = approvalOf(await ask());
    expectAsked(await retry({ inputResponses }));
    expectAsked(await retry({ inputResponses: { [approvalKey]: yes, approve: yes } }));
  });

  it('is spent by its first use', async () => {
    const approval = approvalOf(await ask());
    expect(textOf(await retry(approval))).toBe('aloud');
    fixture.ran.splice(0);
    const again = await retry(approval);
    expectAsked(again);
    // What it asks anew is a question like the first.
    expect(textOf(await retry(approvalOf(again)))).toBe('aloud');
    expect(fixture.ran).toEqual(['echo']);
  });

  it('is spent by a no: a yes after it is asked for anew', async () => {
    const asked = await ask();
    denialIn((await retry(approvalOf(asked, { action: 'decline' }))).response);
    expectAsked(await retry(approvalOf(asked)));
    denialIn((await retry(approvalOf(asked, { action: 'cancel' }))).response);
    expect(fixture.ran).toEqual([]);
  });

  it('runs one of many calls that use it at once', async () => {
    const approval = approvalOf(await ask());
    const replies = await Promise.all(Array.from({ length: 20 }, () => retry(approval)));
    expect(fixture.ran).toEqual(['echo']);
    const asking = replies.filter(({ response }) => response?.result?.resultType === 'input_required');
    expect(asking).toHaveLength(19);
  });

  it('is one of several that were asked for, each for one run', async () => {
    const [first, second] = [await ask(), await ask()];
    expect(textOf(await retry(approvalOf(second)))).toBe('aloud');
    expect(textOf(await retry(approvalOf(first)))).toBe('aloud');
    expect(fixture.ran).toEqual(['echo', 'echo']);
  });

  it.each([
    ['other arguments', (rounds: object) => retry(rounds, { text: 'loud' })],
    ['more arguments', (rounds: object) => retry(rounds, { text: 'aloud', times: 2 })],
    ['arguments of another type', (rounds: object) => retry(rounds, { text: ['aloud'] })],
    ['no arguments', (rounds: object) => retry(rounds, {})],
    ['another tool', (rounds: object) => as('alice').call('greet', { text: 'aloud' }, rounds)],
    ['another principal', (rounds: object) => as('bob').call('echo', { text: 'aloud' }, rounds)],
    [
      'another method',
      (rounds: object) => as('alice').request('prompts/get', { name: 'echo', arguments: { text: 'aloud' }, ...rounds }),
    ],
    ['another resource', (rounds: object) => as('alice').request('resources/read', { uri: 'item://echo', ...rounds })],
  ])('MUST be refused with -32602 for %s', async (_what, call) => {
    const approval = approvalOf(await ask());
    expectRefused(await call(approval));
    // It is none the worse for that.
    expect(textOf(await retry(approval))).toBe('aloud');
  });

  it('belongs to its arguments in any order of their keys', async () => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Go?') : allow());
    const approval = approvalOf(await as('alice').call('anything', { value: { a: 1, b: [1, 2] }, more: null }));
    expectRefused(await as('alice').call('anything', { value: { a: 1, b: [2, 1] }, more: null }, approval));
    const reply = await as('alice').call('anything', { more: null, value: { b: [1, 2], a: 1 } }, approval);
    expect(reply.response?.result?.isError).toBeUndefined();
    expect(fixture.ran).toEqual(['anything']);
  });

  it('is bound to keys that only look special', async () => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Go?') : allow());
    const special = JSON.parse('{"value":1,"__proto__":{"value":2}}') as object;
    const approval = approvalOf(await as('alice').call('anything', { value: 1 }));
    expectRefused(await as('alice').call('anything', special, approval));
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#server-requirements
  it('MUST be refused with -32602 when its state was changed', async () => {
    const { requestState, inputResponses } = approvalOf(await ask());
    const flip = (at: number) => {
      const bytes = Buffer.from(requestState, 'base64url');
      bytes[at] = bytes[at]! ^ 1;
      return bytes.toString('base64url');
    };
    const { length } = Buffer.from(requestState, 'base64url');
    for (const changed of [
      flip(9),
      flip(21),
      flip(length - 1),
      flip(length >> 1),
      requestState.slice(0, -4),
      `${requestState}AAAA`,
      `${requestState}=`,
      ` ${requestState}`,
      '',
      'x',
      1,
      null,
      {},
      [requestState],
    ])
      expectRefused(await retry({ requestState: changed, inputResponses }));
    expect(textOf(await retry({ requestState, inputResponses }))).toBe('aloud');
  });

  it('expires: after ten minutes it is asked for anew', async () => {
    const approval = approvalOf(await ask());
    const now = Date.now();
    const clock = jest.spyOn(Date, 'now').mockReturnValue(now + 600_001);
    try {
      expectAsked(await retry(approval));
    } finally {
      clock.mockRestore();
    }
    expect(textOf(await retry(approval))).toBe('aloud');
  });

  it('cannot outvote an authorizer that has changed its mind', async () => {
    const approval = approvalOf(await ask());
    policy.decide = ({ operation }) => (operation === 'call' ? deny('Not today') : allow());
    expect(denialIn((await retry(approval)).response)).toEqual({ code: 'authorization_denied', reason: 'Not today' });
    policy.decide = () => deny('Not for you');
    expectRefused(await retry(approval));
    policy.decide = () => {
      throw new Error('down');
    };
    expectRefused(await retry(approval));
    expect(fixture.errors.splice(0)).not.toEqual([]);
    expect(fixture.ran).toEqual([]);
  });

  it('answers one question: for another one it is asked for anew', async () => {
    const approval = approvalOf(await ask());
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Say it aloud, at night?') : allow());
    const again = await retry(approval);
    expectAsked(again);
    expect(questionsIn(again).requests[approvalKey]?.params.message).toBe('Say it aloud, at night?');
    policy.decide = ({ operation }) =>
      operation === 'call' ? elicit({ message: 'Say it aloud?', fields: z.object({ where: z.string() }) }) : allow();
    expectAsked(await retry(approval));
  });

  it('is not needed any more when the authorizer allows', async () => {
    const approval = approvalOf(await ask());
    policy.decide = () => allow();
    expect(textOf(await retry(approval))).toBe('aloud');
  });
});

describe('a client that goes', () => {
  it('between its yes and the run has cancelled the call', async () => {
    let checking!: () => void;
    let checked!: () => void;
    const begun = new Promise<void>((resolve) => (checking = resolve));
    const gate = new Promise<void>((resolve) => (checked = resolve));
    const fields = z.object({ where: z.string().optional() }).refine(async () => {
      checking();
      await gate;
      return true;
    });
    policy.decide = ({ operation }) => (operation === 'call' ? elicit({ message: 'Say it?', fields }) : allow());
    const approval = approvalOf(await ask());
    const gone = retry(approval).catch(() => 'gone');
    await begun;
    fixture.httpServer.closeAllConnections();
    expect(await gone).toBe('gone');
    // What handlers see as an aborted signal; looking at that would make the server watch.
    const call = policy.asked.at(-1)!.context as Context & { cancelled: boolean };
    await eventually(() => call.cancelled);
    checked();
    await eventually(() => fixture.router.stats().calls === 0);
    expect(fixture.ran).toEqual([]);
  });
});
