/** What a yes carries: the fields asked for, over all rounds of its call, under keys that rotate. */
import { allow, elicit, McpServer } from 'express-mcp';
import type { McpServerOptions, ToolQuestion } from 'express-mcp';
import * as z from 'zod';
import { serve } from '../support/serve';
import type { Served } from '../support/serve';
import {
  answer,
  approvalKey,
  approvalOf,
  asker,
  createPolicy,
  denialIn,
  forms,
  questionOn,
  questionsIn,
  responseOn,
  yes,
} from '../support/questions';
import { legacySession, modern, textOf } from '../support/wire';
import type { Reply } from '../support/wire';

const policy = createPolicy<ToolQuestion>();
/** What each run of a tool was given. */
const runs: { tool: string; approval: unknown; effects?: number; name?: unknown }[] = [];
let effects = 0;
const served: Served[] = [];

function register(server: McpServer): void {
  server.registerTool('pay', { inputSchema: z.object({ to: z.string() }) }, ({ to }, { approval }) => {
    runs.push({ tool: 'pay', approval });
    return `paid ${to}`;
  });
  server.registerTool('book', { inputSchema: z.object({ to: z.string() }) }, async ({ to }, ctx) => {
    const count = await ctx.once('count', () => ++effects);
    const { content } = await ctx.elicit('name', { message: 'Whose name?', schema: z.object({ name: z.string() }) });
    const seat = await ctx.elicit('seat', { message: 'Which seat?', schema: z.object({ seat: z.string() }) });
    runs.push({ tool: 'book', approval: ctx.approval, effects: count, name: content?.name });
    return `booked ${to} for ${content?.name} at ${seat.content?.seat}`;
  });
}

async function start(options: McpServerOptions = {}): Promise<Served> {
  const made = await serve(register, { server: { authorizer: policy.hook, ...options } });
  served.push(made);
  return made;
}

beforeEach(() => {
  policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure?') : allow());
  policy.taken();
  runs.splice(0);
  effects = 0;
});
afterEach(async () => {
  const errors = served.flatMap((one) => one.errors);
  await Promise.all(served.splice(0).map((one) => one.close()));
  expect(errors).toEqual([]);
});

const keysOf = (reply: Reply): string[] => Object.keys(questionsIn(reply).requests);
const isAsking = ({ response }: Reply): boolean => response?.result?.resultType === 'input_required';
const accept = (content: object) => ({ action: 'accept', content });

describe('a handler that asks after the approval', () => {
  it('has the approval for all its rounds, one question at a time, and runs its effects once', async () => {
    const { call } = asker(modern(await start()));
    const args = { to: 'Rome' };
    const first = await call('book', args);
    expect(keysOf(first)).toEqual([approvalKey]);
    expect(effects).toBe(0);
    const second = await call('book', args, approvalOf(first));
    expect(keysOf(second)).toEqual(['name']);
    const third = await call('book', args, {
      requestState: questionsIn(second).requestState,
      inputResponses: { name: accept({ name: 'Ann' }) },
    });
    expect(keysOf(third)).toEqual(['seat']);
    const last = await call('book', args, {
      requestState: questionsIn(third).requestState,
      inputResponses: { seat: accept({ seat: '1A' }) },
    });
    expect(textOf(last)).toBe('booked Rome for Ann at 1A');
    expect(runs).toEqual([{ tool: 'book', approval: undefined, effects: 1, name: 'Ann' }]);
    // Every round has asked the authorizer.
    expect(policy.taken()).toEqual(Array(4).fill('call book'));
  });

  it('has it once: each of its states is spent by its use', async () => {
    const { call } = asker(modern(await start()));
    const args = { to: 'Rome' };
    const second = await call('book', args, approvalOf(await call('book', args)));
    const state = questionsIn(second).requestState;
    const both = { name: accept({ name: 'Ann' }), seat: accept({ seat: '1A' }) };
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => call('book', args, { requestState: state, inputResponses: both })),
    );
    expect(runs).toHaveLength(1);
    expect(replies.filter(isAsking)).toHaveLength(9);
    for (const reply of replies.filter(isAsking)) expect(keysOf(reply)).toEqual([approvalKey]);
    // A state that was not answered is spent too: its successor has taken its place.
    const again = await call('book', args, approvalOf(replies.find(isAsking)!));
    // Of the answers given beside the spent approval, the one that had been asked for was kept.
    expect(keysOf(again)).toEqual(['seat']);
    const { requestState } = questionsIn(again);
    const last = await call('book', args, { requestState, inputResponses: { seat: both.seat } });
    expect(textOf(last)).toBe('booked Rome for Ann at 1A');
    expect(runs).toHaveLength(2);
  });

  it('loses it to another question of the authorizer, and keeps the answers it has', async () => {
    const { call } = asker(modern(await start()));
    const args = { to: 'Rome' };
    const second = await call('book', args, approvalOf(await call('book', args)));
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure, at this price?') : allow());
    const third = await call('book', args, {
      requestState: questionsIn(second).requestState,
      inputResponses: { name: accept({ name: 'Ann' }) },
    });
    expect(keysOf(third)).toEqual([approvalKey]);
    expect(runs).toEqual([]);
    const fourth = await call('book', args, approvalOf(third));
    expect(keysOf(fourth)).toEqual(['seat']);
    expect(effects).toBe(1);
  });

  it('cannot put a question under the key of the approval', async () => {
    const errors: unknown[] = [];
    const one = await serve(
      (server) =>
        server.registerTool('forge', {}, async (_args, ctx) => {
          await ctx.elicit(approvalKey, { message: 'Fine?', schema: z.object({}) });
        }),
      { server: { authorizer: policy.hook }, errors },
    );
    try {
      const { call } = asker(modern(one));
      policy.decide = () => allow();
      expect((await call('forge')).response?.error?.code).toBe(-32603);
      expect((await call('forge', {}, { inputResponses: { [approvalKey]: yes } })).response?.error?.code).toBe(-32603);
      expect(errors).toHaveLength(2);
    } finally {
      await one.close();
    }
  });
});

describe('the fields of a prompt', () => {
  const fields = z.object({
    reason: z.string().min(3),
    amount: z.number().max(10).optional(),
    day: z
      .string()
      .optional()
      .transform((day) => (day === undefined ? undefined : new Date(day))),
  });
  beforeEach(() => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit({ message: 'Sure?', fields }) : allow());
  });

  it('are asked for beside the approval', async () => {
    const { call } = asker(modern(await start()));
    const { requests } = questionsIn(await call('pay', { to: 'Bob' }));
    expect(requests[approvalKey]?.params.requestedSchema).toEqual({
      type: 'object',
      properties: {
        approve: { type: 'boolean', title: 'Approve' },
        reason: { type: 'string', minLength: 3 },
        amount: { type: 'number', maximum: 10 },
        day: { type: 'string' },
      },
      required: ['approve', 'reason'],
    });
  });

  const good = { approve: true, reason: 'rent', amount: 7, day: '2026-01-02' };
  const parsed = { reason: 'rent', amount: 7, day: new Date('2026-01-02') };
  const bad: [string, object][] = [
    ['lacks one', { approve: true }],
    ['has one of a wrong type', { ...good, amount: '7' }],
    ['has one that is too short', { ...good, reason: 'x' }],
    ['has one that is too large', { ...good, amount: 11 }],
    ['has all of them and no yes', { ...good, approve: false }],
    ['has one that no form can hold', { ...good, reason: { length: 4 } }],
  ];

  describe('modern era', () => {
    it('reach the handler as the schema makes them, and nothing else does', async () => {
      const { call } = asker(modern(await start()));
      const given = accept({ ...good, role: 'admin', constructor: 'x' });
      await call('pay', { to: 'Bob' }, approvalOf(await call('pay', { to: 'Bob' }), given));
      expect(runs).toEqual([{ tool: 'pay', approval: parsed }]);
    });

    it.each(bad)('deny when the answer %s', async (_what, content) => {
      const { call } = asker(modern(await start()));
      const reply = await call('pay', { to: 'Bob' }, approvalOf(await call('pay', { to: 'Bob' }), accept(content)));
      expect(denialIn(reply.response)).toMatchObject({ code: 'authorization_denied', prompt: 'Sure?' });
      expect(runs).toEqual([]);
    });

    it('are the same in all rounds of a call', async () => {
      const { call } = asker(modern(await start()));
      const args = { to: 'Rome' };
      let reply = await call('book', args, approvalOf(await call('book', args), accept({ ...good, role: 'admin' })));
      for (const inputResponses of [{ name: accept({ name: 'Ann' }) }, { seat: accept({ seat: '1A' }) }])
        reply = await call('book', args, { requestState: questionsIn(reply).requestState, inputResponses });
      expect(textOf(reply)).toBe('booked Rome for Ann at 1A');
      expect(runs).toEqual([{ tool: 'book', approval: parsed, effects: 1, name: 'Ann' }]);
    });
  });

  describe('legacy era', () => {
    const payFrom = async (content: object) => {
      const session = await legacySession(await start(), { capabilities: forms });
      const stream = await session.stream('tools/call', { name: 'pay', arguments: { to: 'Bob' } });
      await answer(session, (await questionOn(stream)).id, accept(content));
      return responseOn(stream);
    };

    it('reach the handler as the schema makes them, and nothing else does', async () => {
      await payFrom({ ...good, role: 'admin', constructor: 'x' });
      expect(runs).toEqual([{ tool: 'pay', approval: parsed }]);
    });

    it.each(bad)('deny when the answer %s', async (_what, content) => {
      expect(denialIn(await payFrom(content))).toMatchObject({ code: 'authorization_denied', prompt: 'Sure?' });
      expect(runs).toEqual([]);
    });
  });

  it('of a plain JSON Schema let no key through that was not asked for', async () => {
    const plain = { type: 'object', properties: { note: { type: 'string' } } } as const;
    policy.decide = ({ operation }) => (operation === 'call' ? elicit({ message: 'Sure?', fields: plain }) : allow());
    const { call } = asker(modern(await start()));
    const content = JSON.parse('{"approve":true,"note":"n","__proto__":{"role":"admin"},"constructor":"x"}') as object;
    await call('pay', { to: 'Bob' }, approvalOf(await call('pay', { to: 'Bob' }), accept(content)));
    expect(runs).toEqual([{ tool: 'pay', approval: { note: 'n' } }]);
    const approval = runs[0]!.approval as object;
    expect([Object.keys(approval), Object.getPrototypeOf(approval)]).toEqual([['note'], Object.prototype]);
    expect((approval as { role?: string }).role).toBeUndefined();
  });
});

describe('the keys that seal a question: secrets', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((letter) => letter.repeat(32)) as [string, string, string];
  const ask = (one: Served, rounds?: object) => asker(modern(one)).call('pay', { to: 'Bob' }, rounds);

  it('rotate: the first seals, and all open', async () => {
    const before = approvalOf(await ask(await start({ secrets: [a] })));
    const during = await start({ secrets: [b, a] });
    expect(textOf(await ask(during, before))).toBe('paid Bob');
    const sealedDuring = approvalOf(await ask(during));
    expect(isAsking(await ask(await start({ secrets: [a] }), sealedDuring))).toBe(true);
    expect(textOf(await ask(await start({ secrets: [b] }), sealedDuring))).toBe('paid Bob');
    expect(runs).toHaveLength(2);
  });

  it('that are gone leave a question to be asked anew', async () => {
    const approval = approvalOf(await ask(await start({ secrets: [a] })));
    const after = await start({ secrets: [c] });
    const again = await ask(after, approval);
    expect(isAsking(again)).toBe(true);
    expect(runs).toEqual([]);
    expect(textOf(await ask(after, approvalOf(again)))).toBe('paid Bob');
  });

  it('may be bytes', async () => {
    const approval = approvalOf(await ask(await start({ secrets: [Buffer.from(a)] })));
    expect(textOf(await ask(await start({ secrets: [a] }), approval))).toBe('paid Bob');
  });

  it('that several servers of a process share let an approval be spent at one of them only', async () => {
    const [one, other] = [await start({ secrets: [a] }), await start({ secrets: [a] })];
    const approval = approvalOf(await ask(one));
    const replies = await Promise.all([ask(one, approval), ask(other, approval)]);
    expect(replies.filter(isAsking)).toHaveLength(1);
    expect(runs).toHaveLength(1);
    // The same without any: made up once for the process.
    const [third, fourth] = [await start(), await start()];
    const made = approvalOf(await ask(third));
    await ask(fourth, made);
    expect(isAsking(await ask(third, made))).toBe(true);
    expect(runs).toHaveLength(2);
  });

  it.each([[[]], [['short']], [[a, 'short']], [[Buffer.alloc(31)]], [[32]]])(
    'that are too few or too short are refused at once: %j',
    (secrets) => {
      const make = () => new McpServer({ name: 's', version: '1' }, { secrets: secrets as string[] });
      expect(make).toThrow(TypeError);
      expect(make).toThrow(/secrets/);
    },
  );
});
