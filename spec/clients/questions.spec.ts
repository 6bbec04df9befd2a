/** A handler written once asks its questions of clients of both eras, and gives the same results. */
import * as z from 'zod';
import type { Context, McpServer } from 'express-mcp';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { closeClients, connect, kinds } from './connect';
import type { Answers, ElicitAnswer } from './connect';

/** Effects of the handlers, which a re-run must not repeat. */
let effects: string[];
let fixture: Fixture;

const name = z.object({ name: z.string() });
const color = z.object({ color: z.enum(['red', 'blue']) });
const order = (id: string): string => {
  effects.push(id);
  return `order ${effects.length}`;
};

const handlers: Record<string, (ctx: Context) => Promise<unknown>> = {
  async one(ctx) {
    const answer = await ctx.elicit('name', { message: 'Name?', schema: name });
    return answer.action === 'accept' ? answer.content.name : answer.action;
  },
  async sequential(ctx) {
    const first = await ctx.elicit('name', { message: 'Name?', schema: name });
    if (first.action !== 'accept') return first.action;
    const second = await ctx.elicit('color', { message: `Color, ${first.content.name}?`, schema: color });
    return [first.content.name, second.content];
  },
  async parallel(ctx) {
    const [user, model, { roots }] = await Promise.all([
      ctx.elicit('name', { message: 'Name?', schema: name }),
      ctx.sample('model', { messages: [], maxTokens: 1 }),
      ctx.listRoots(),
    ]);
    return [user, model.content, roots];
  },
  async once(ctx) {
    const id = await ctx.once('order', () => order('placed'));
    const answer = await ctx.elicit('name', { message: `Name for ${id}?`, schema: name });
    const receipt = await ctx.once('receipt', async () => order('receipt'));
    const again = await ctx.elicit('color', { message: 'Color?', schema: color });
    return [id, answer.content, receipt, again.content];
  },
  async mixed(ctx) {
    const model = await ctx.sample('model', { messages: [], maxTokens: 1 });
    const answers = await Promise.all([
      ctx.elicit('name', { message: 'Name?', schema: name }),
      ctx.elicit('color', { message: 'Color?', schema: color }),
    ]);
    return [model.content, answers.map(({ action }) => action)];
  },
  async caught(ctx) {
    try {
      const answer = await ctx.elicit('name', { message: 'Name?', schema: name });
      return answer.content;
    } catch {
      return 'swallowed';
    }
  },
};

function setup(server: McpServer): void {
  for (const [tool, handler] of Object.entries(handlers))
    server.registerTool(tool, { description: 'Asks' }, async (_args, ctx) => JSON.stringify(await handler(ctx)));
}

beforeAll(async () => {
  fixture = await createFixture({ setup });
});
beforeEach(() => {
  effects = [];
});
afterEach(closeClients);
afterAll(() => fixture.close());

/** What a user, a model and a host answer who are all willing; and what they were asked. */
function willing(): { answers: Answers; asked: string[] } {
  const asked: string[] = [];
  const answers: Answers = {
    elicit({ message }): ElicitAnswer {
      asked.push(message);
      if (message.startsWith('Color')) return { action: 'accept', content: { color: 'blue' } };
      return { action: 'accept', content: { name: 'Alice' } };
    },
    sample() {
      asked.push('model');
      return 'Hello';
    },
    roots() {
      asked.push('roots');
      return ['file:///home'];
    },
  };
  return { answers, asked };
}

const hello = { type: 'text', text: 'Hello' };

describe.each(kinds)('%s', (kind) => {
  async function run(tool: string, answers: Answers): Promise<unknown> {
    const client = await connect(kind, fixture, answers);
    const { content, isError } = await client.callTool(tool);
    const [{ text = '' } = {}] = content;
    return isError ? { isError, text } : JSON.parse(text);
  }

  it('answers one question', async () => {
    const { answers, asked } = willing();
    expect(await run('one', answers)).toBe('Alice');
    expect(asked).toEqual(['Name?']);
  });

  it('declines one question', async () => {
    expect(await run('one', { elicit: () => ({ action: 'decline' }) })).toBe('decline');
  });

  it('answers one question after the other, each once, the second in knowledge of the first', async () => {
    const { answers, asked } = willing();
    expect(await run('sequential', answers)).toEqual(['Alice', { color: 'blue' }]);
    expect(asked).toEqual(['Name?', 'Color, Alice?']);
  });

  it('is not asked the second question after it has declined the first', async () => {
    const asked: string[] = [];
    const elicit = ({ message }: { message: string }) => (asked.push(message), { action: 'cancel' as const });
    expect(await run('sequential', { elicit })).toBe('cancel');
    expect(asked).toEqual(['Name?']);
  });

  it('answers questions that are asked at once, each once', async () => {
    const { answers, asked } = willing();
    expect(await run('parallel', answers)).toEqual([
      { action: 'accept', content: { name: 'Alice' } },
      hello,
      [{ uri: 'file:///home' }],
    ]);
    expect(asked.sort()).toEqual(['Name?', 'model', 'roots']);
  });

  it('answers one question and then two at once', async () => {
    const { answers, asked } = willing();
    expect(await run('mixed', answers)).toEqual([hello, ['accept', 'accept']]);
    expect(asked.sort()).toEqual(['Color?', 'Name?', 'model']);
  });

  it('causes effects once, however many questions follow them', async () => {
    const { answers, asked } = willing();
    expect(await run('once', answers)).toEqual(['order 1', { name: 'Alice' }, 'order 2', { color: 'blue' }]);
    expect(asked).toEqual(['Name for order 1?', 'Color?']);
    expect(effects).toEqual(['placed', 'receipt']);
  });

  it('is asked even by a handler that catches everything', async () => {
    const { answers } = willing();
    expect(await run('caught', answers)).toEqual({ name: 'Alice' });
  });
});
