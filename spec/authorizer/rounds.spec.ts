/** What a modern call carries from round to round, what it runs once, and when its questions go out. */
import { elicit, allow } from 'express-mcp';
import type { McpServer, ToolQuestion, McpError } from 'express-mcp';
import * as z from 'zod';
import { connect } from '../support/eras';
import { approvalKey, createPolicy, questionsIn, yes } from '../support/questions';
import { serve } from '../support/serve';
import type { Served } from '../support/serve';
import { modern, textOf } from '../support/wire';
import type { Reply } from '../support/wire';

const form = z.object({ text: z.string() });
const policy = createPolicy<ToolQuestion>();
let effects = 0;

function registerAll(server: McpServer): void {
  server.registerTool('write', {}, async (_args, { elicit }) => {
    const first = await elicit('first', { message: 'First?', schema: form });
    const second = await elicit('second', { message: 'Second?', schema: form });
    return `${first.content?.text.length} ${second.content?.text.length}`;
  });
  server.registerTool('remember', {}, async (_args, { elicit, once }) => {
    await once('much', () => 'x'.repeat(70_000));
    await elicit('first', { message: 'First?', schema: form });
  });
  server.registerTool('hang', { timeoutMs: 50 }, async (_args, { elicit, once }) => {
    await Promise.all([once('hang', () => new Promise(() => undefined)), elicit('q', { message: 'Q?', schema: form })]);
  });
  server.registerTool('hang-stopped', { timeoutMs: 50 }, async (_args, { elicit, once }) => {
    const question = elicit('q', { message: 'Q?', schema: form });
    await Promise.all([question, once('hang', () => new Promise(() => undefined))]);
  });
  server.registerTool('twice', {}, async (_args, { once }) => {
    const effect = () => Promise.resolve((effects += 1));
    const both = await Promise.all([once('n', effect), once('n', effect)]);
    return JSON.stringify([...both, await once('n', effect)]);
  });
  server.registerTool('retry', {}, async (_args, { once }) => {
    const fail = () => {
      throw new Error('not yet');
    };
    const failed = await Promise.allSettled([once('n', fail), once('n', fail)]);
    return JSON.stringify([...failed.map(({ status }) => status), await once('n', () => 'done')]);
  });
  const sample = { messages: [], maxTokens: 1 };
  server.registerTool('beside', {}, async (_args, ctx) => {
    await Promise.all([
      ctx.elicit('q', { message: 'Q?', schema: form }),
      ctx.sample('s', sample),
      ctx.elicit('p', { message: 'P', url: 'https://example.com/' }),
      ctx.listRoots(),
    ]);
  });
  server.registerTool('without', {}, async (_args, ctx) => {
    const [answer, said] = await Promise.all([
      ctx.elicit('q', { message: 'Q?', schema: form }),
      ctx.sample('s', sample).catch((error: unknown) => (error as McpError).code),
    ]);
    return `${answer.content?.text} ${JSON.stringify(said)}`;
  });
}

let served: Served;
beforeAll(async () => {
  served = await serve(registerAll, { server: { authorizer: policy.hook } });
});
afterAll(() => served.close());
beforeEach(() => {
  policy.decide = () => allow();
  effects = 0;
});
afterEach(() => expect(served.errors.splice(0)).toEqual([]));

const call = (name: string, rounds: object = {}, capabilities: object = { elicitation: {} }): Promise<Reply> =>
  modern(served).request('tools/call', { name, ...rounds }, { capabilities });
const text = (length: number) => ({ action: 'accept', content: { text: 'x'.repeat(length) } });

describe('answers', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#error-handling
  it('that were not asked for SHOULD be ignored, however large', async () => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Write?') : allow());
    const { requestState } = questionsIn(await call('write'));
    const junk = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`junk${n}`, text(1_000)]));
    const { requests } = questionsIn(await call('write', { requestState, inputResponses: junk }));
    expect(Object.keys(requests)).toEqual([approvalKey]);
  });

  it('to what was asked are kept while an approval is asked for anew', async () => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Write?') : allow());
    const first = questionsIn(await call('write'));
    const approved = { requestState: first.requestState, inputResponses: { [approvalKey]: yes } };
    const second = questionsIn(await call('write', approved));
    expect(Object.keys(second.requests)).toEqual(['first']);
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Write more?') : allow());
    const inputResponses = { first: text(3), other: text(3) };
    const third = questionsIn(await call('write', { requestState: second.requestState, inputResponses }));
    expect(Object.keys(third.requests)).toEqual([approvalKey]);
    const again = { requestState: third.requestState, inputResponses: { [approvalKey]: yes } };
    expect(Object.keys(questionsIn(await call('write', again)).requests)).toEqual(['second']);
  });

  it('that are larger than can travel are the client’s to shorten', async () => {
    const { response, status } = await call('write', { inputResponses: { first: text(70_000) } });
    expect([status, response?.error]).toEqual([
      200,
      { code: -32602, message: 'The answers are larger than can travel: 64 KiB' },
    ]);
    // One that need not travel may be as long as it likes.
    const both = { first: text(70_000), second: text(70_000) };
    expect(textOf(await call('write', { inputResponses: both }))).toBe('70000 70000');
  });

  it('are not what is too large where the author remembers too much', async () => {
    const { response } = await call('remember');
    expect(response?.error).toEqual({ code: -32603, message: 'Internal error' });
    expect(served.errors.splice(0)).toEqual([expect.any(RangeError)]);
  });
});

describe('what runs once', () => {
  it.each(['hang', 'hang-stopped'])('and never ends does not outlive the tool’s time limit: %s', async (name) => {
    const { response } = await call(name);
    expect(response?.result).toMatchObject({ isError: true });
    expect(textOf({ response } as Reply)).toMatch(/in time|within 50 ms/);
  });

  it.each(['modern', 'legacy'] as const)('is run once by several at the same time: %s', async (era) => {
    const client = await connect(era, served);
    expect(textOf(await client.callTool('twice'))).toBe('[1,1,1]');
    expect(effects).toBe(1);
    expect(textOf(await client.callTool('retry'))).toBe('["rejected","rejected","done"]');
  });
});

// https://modelcontextprotocol.io/specification/2026-07-28/basic#missing-required-client-capability
describe('a question beside one that cannot be asked', () => {
  it('is put to nobody: the call is -32021 at once, with all that is missing', async () => {
    const { status, response } = await call('beside');
    expect([status, response?.error?.code]).toEqual([400, -32021]);
    const requiredCapabilities = { elicitation: { url: {} }, sampling: {}, roots: {} };
    expect(response?.error?.data).toEqual({ requiredCapabilities });
  });

  it('is put where the handler does without the other', async () => {
    const { requests, requestState } = questionsIn(await call('without'));
    expect(Object.keys(requests)).toEqual(['q']);
    const done = await call('without', { requestState, inputResponses: { q: text(1) } });
    expect(textOf(done)).toBe('x -32021');
  });
});
