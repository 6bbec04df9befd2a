/** `readAuthorizer` decides about resources, prompts and completion, as `authorizer` does about tools. */
import { allow, deny, elicit } from 'express-mcp';
import type { McpServer, McpServerOptions, ReadQuestion, ToolQuestion } from 'express-mcp';
import * as z from 'zod';
import { connect, eras } from '../support/eras';
import { join } from '../support/memory';
import {
  answer,
  approvalKey,
  approvalOf,
  asker,
  createPolicy,
  denialIn,
  forms,
  notYes,
  questionOn,
  questionsIn,
  responseOn,
  yes,
} from '../support/questions';
import { createServer, serve } from '../support/serve';
import type { Served } from '../support/serve';
import { modernRevision } from '../support/schema';
import { legacySession, modern } from '../support/wire';
import type { Reply } from '../support/wire';

const policy = createPolicy<ReadQuestion>();
const tools = createPolicy<ToolQuestion>();
const ran: string[] = [];
const served: Served[] = [];
beforeEach(() => {
  policy.decide = () => allow();
  policy.taken();
  tools.taken();
  ran.splice(0);
});
afterEach(async () => {
  await Promise.all(served.splice(0).map((one) => one.close()));
});

const note = (name: string) => {
  ran.push(name);
  return name;
};

function register(server: McpServer): void {
  server.registerResource('readme', 'file:///readme', { title: 'Read me' }, () => note('readme'));
  const complete = { id: () => [note('complete item')] };
  server.registerResource('item', 'item://{id}', { complete }, (_uri, { id }) => note(`item ${id}`));
  const argsSchema = z.object({ topic: z.string(), tone: z.string().default('kind') });
  server.registerPrompt(
    'greet',
    { argsSchema, complete: { topic: () => [note('complete greet')] } },
    ({ topic, tone }, ctx) => note(`greet ${topic} ${tone} ${JSON.stringify(ctx.approval ?? null)}`),
  );
  server.registerTool('noop', {}, () => 'noop');
}

async function start(options: McpServerOptions = {}): Promise<Served> {
  const made = await serve(register, { server: { authorizer: tools.hook, readAuthorizer: policy.hook, ...options } });
  served.push(made);
  return made;
}

const greet = { name: 'greet', arguments: { topic: 'tea' } };
const completions = {
  prompt: {
    ref: { type: 'ref/prompt', name: 'greet' },
    argument: { name: 'topic', value: 't' },
    context: { arguments: { tone: 'x' } },
  },
  template: { ref: { type: 'ref/resource', uri: 'item://{id}' }, argument: { name: 'id', value: '1' } },
};

interface Case {
  method: string;
  params: Record<string, unknown>;
  runs: string[];
  question: object;
}
const readme: Case = {
  method: 'resources/read',
  params: { uri: 'file:///readme' },
  runs: ['readme'],
  question: {
    operation: 'call',
    kind: 'resource',
    method: 'resources/read',
    name: 'readme',
    uri: 'file:///readme',
    definition: { uri: 'file:///readme', name: 'readme', title: 'Read me' },
    arguments: {},
  },
};
const both: [string, Case][] = [
  ['a resource', readme],
  [
    'a template’s resource',
    {
      method: 'resources/read',
      params: { uri: 'item://a%20b' },
      runs: ['item a b'],
      question: {
        operation: 'call',
        kind: 'resource',
        method: 'resources/read',
        name: 'item',
        uri: 'item://a%20b',
        definition: { uriTemplate: 'item://{id}', name: 'item' },
        arguments: { id: 'a b' },
      },
    },
  ],
  [
    'a prompt',
    {
      method: 'prompts/get',
      params: greet,
      runs: ['greet tea kind null'],
      question: {
        operation: 'call',
        kind: 'prompt',
        method: 'prompts/get',
        name: 'greet',
        definition: { name: 'greet', arguments: [{ name: 'topic', required: true }, { name: 'tone' }] },
        arguments: { topic: 'tea', tone: 'kind' },
      },
    },
  ],
];
const completing: [string, Case][] = [
  [
    'the completion of a prompt',
    {
      method: 'completion/complete',
      params: completions.prompt,
      runs: ['complete greet'],
      question: expect.objectContaining({
        operation: 'call',
        kind: 'prompt',
        method: 'completion/complete',
        name: 'greet',
        arguments: { topic: 't', tone: 'x' },
      }) as object,
    },
  ],
  [
    'the completion of a template',
    {
      method: 'completion/complete',
      params: completions.template,
      runs: ['complete item'],
      question: expect.objectContaining({
        operation: 'call',
        kind: 'resourceTemplate',
        method: 'completion/complete',
        name: 'item',
        arguments: { id: '1' },
      }) as object,
    },
  ],
];
const subscribing: [string, Case][] = [
  [
    'a subscription',
    {
      method: 'resources/subscribe',
      params: { uri: 'file:///readme' },
      runs: [],
      question: { ...readme.question, method: 'resources/subscribe' },
    },
  ],
];

describe.each(eras)('%s era', (era) => {
  const cases = era === 'legacy' ? [...both, ...completing, ...subscribing] : [...both, ...completing];

  it.each(cases)('%s is asked about once, with what is asked for, and runs when it is allowed', async (_what, one) => {
    const client = await connect(era, await start());
    const { response } = await client.request(one.method, one.params);
    expect(response?.error).toBeUndefined();
    expect(policy.asked.map(({ call }) => call)).toEqual([one.question]);
    expect(tools.asked).toEqual([]);
    expect(ran).toEqual(one.runs);
  });

  it.each(cases)('%s that is denied is an error that says why', async (_what, one) => {
    policy.decide = ({ operation }) => (operation === 'call' ? deny('Only on weekdays') : allow());
    const client = await connect(era, await start());
    const { status, response } = await client.request(one.method, one.params);
    expect(status).toBe(200);
    expect(response?.error).toMatchObject({ code: -32600, message: 'Not authorized: Only on weekdays' });
    expect(denialIn(response)).toEqual({ code: 'authorization_denied', reason: 'Only on weekdays' });
    expect(ran).toEqual([]);
  });

  it.each(cases)('%s is denied by a hook that fails, and onError hears of it', async (_what, one) => {
    policy.decide = ({ operation }) => {
      if (operation === 'call') throw new Error('secret');
      return allow();
    };
    const server = await start();
    const { response, text } = await (await connect(era, server)).request(one.method, one.params);
    expect(denialIn(response)).toEqual({ code: 'authorization_denied', reason: 'The authorizer could not decide' });
    expect(text).not.toContain('secret');
    expect([server.errors.length, ran]).toEqual([1, []]);
  });

  it.each(cases)('%s needs approval that a client without forms cannot give', async (_what, one) => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure?') : allow());
    const { response } = await (await connect(era, await start())).request(one.method, one.params);
    expect(denialIn(response)).toMatchObject({ code: 'authorization_required', prompt: 'Sure?' });
    expect(ran).toEqual([]);
  });

  it.each(completing)('%s is never worth a question to the human', async (_what, one) => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure?') : allow());
    const client = await connect(era, await start(), { capabilities: forms });
    const { response } = await client.request(one.method, one.params);
    expect(denialIn(response)).toMatchObject({ code: 'authorization_required', prompt: 'Sure?' });
    expect(ran).toEqual([]);
  });

  it('a call of a tool is no business of it', async () => {
    const client = await connect(era, await start());
    policy.decide = () => deny('no');
    expect((await client.callTool('noop')).response?.result?.isError).toBeUndefined();
    expect([policy.taken(), tools.taken()]).toEqual([[], ['call noop']]);
  });
});

describe('approval, legacy era', () => {
  it.each([...both, ...subscribing])('is asked for on the stream of %s', async (_what, one) => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure?') : allow());
    const server = await start();
    const session = await legacySession(server, { capabilities: forms });
    const stream = await session.stream(one.method, one.params);
    const { id } = await questionOn(stream);
    expect(ran).toEqual([]);
    await answer(session, id, yes);
    expect((await responseOn(stream)).error).toBeUndefined();
    expect(ran).toEqual(one.runs);
    const refused = await session.stream(one.method, one.params);
    await answer(session, (await questionOn(refused)).id, { action: 'decline' });
    expect(denialIn(await responseOn(refused))).toMatchObject({ code: 'authorization_denied', prompt: 'Sure?' });
    expect(ran).toEqual(one.runs);
  });
});

describe('a call that is cancelled between the yes and the run', () => {
  /** Fields whose check begins, and then waits. */
  function gated() {
    let begin!: () => void;
    let go!: () => void;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const open = new Promise<void>((resolve) => (go = resolve));
    const fields = z.object({ note: z.string().optional() }).refine(async () => {
      begin();
      await open;
      return true;
    });
    policy.decide = ({ operation }) => (operation === 'call' ? elicit({ message: 'Sure?', fields }) : allow());
    return { begun, go };
  }

  it.each(both)('does not run, legacy era: %s', async (_what, one) => {
    const { begun, go } = gated();
    const session = await legacySession(await start(), { capabilities: forms });
    const stream = await session.stream(one.method, one.params, { id: 'gone' });
    await answer(session, (await questionOn(stream)).id, yes);
    await begun;
    await session.notify('notifications/cancelled', { requestId: 'gone' });
    go();
    await stream.ended;
    expect((await session.request('ping')).status).toBe(200);
    expect(ran).toEqual([]);
  });

  it.each(both)('does not run, modern era: %s', async (_what, one) => {
    const { begun, go } = gated();
    const client = await join(createServer(register, { server: { readAuthorizer: policy.hook } }), {
      revision: modernRevision,
      capabilities: forms,
    });
    const { result } = await client.request(one.method, one.params);
    const retry = { ...one.params, requestState: result?.requestState, inputResponses: { [approvalKey]: yes } };
    const cancelled = client.request(one.method, retry, { id: 'gone' }).catch(() => 'not answered');
    await begun;
    await client.notify('notifications/cancelled', { requestId: 'gone' });
    go();
    expect(await cancelled).toBe('not answered');
    expect(ran).toEqual([]);
    client.close();
  });
});

describe('approval, modern era', () => {
  const isAsking = ({ response }: Reply) => response?.result?.resultType === 'input_required';

  it.each(both)('is asked for in the answer about %s, and used once', async (_what, one) => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure?') : allow());
    const { request } = asker(modern(await start()));
    const asked = await request(one.method, one.params);
    expect(Object.keys(questionsIn(asked).requests)).toEqual([approvalKey]);
    const approval = approvalOf(asked);
    const done = await request(one.method, { ...one.params, ...approval });
    expect([done.response?.error, isAsking(done), ran]).toEqual([undefined, false, one.runs]);
    expect(isAsking(await request(one.method, { ...one.params, ...approval }))).toBe(true);
    // Without the state, or with another's, it is worth nothing.
    expect(isAsking(await request(one.method, { ...one.params, inputResponses: approval.inputResponses }))).toBe(true);
    const { requestState } = questionsIn(await request('resources/read', { uri: 'item://other' }));
    const crossed = await request(one.method, { ...one.params, ...approval, requestState });
    expect(crossed.response?.error?.code).toBe(-32602);
    const malformed = await request(one.method, { ...one.params, requestState: 'AAAA' });
    expect(malformed.response?.error?.code).toBe(-32602);
    expect(ran).toEqual(one.runs);
  });

  it.each(notYes)('is not given by: %s', async (_what, given) => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure?') : allow());
    const { request } = asker(modern(await start()));
    const approval = approvalOf(await request('prompts/get', greet), given);
    const { response } = await request('prompts/get', { ...greet, ...approval });
    expect(denialIn(response)).toMatchObject({ code: 'authorization_denied', prompt: 'Sure?' });
    expect(ran).toEqual([]);
  });

  it('is bound to the arguments of a prompt', async () => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure?') : allow());
    const { request } = asker(modern(await start()));
    const approval = approvalOf(await request('prompts/get', greet));
    const other = await request('prompts/get', { ...greet, arguments: { topic: 'beer' }, ...approval });
    expect(other.response?.error?.code).toBe(-32602);
    expect(ran).toEqual([]);
  });

  it('brings the fields that were asked for to the handler', async () => {
    const fields = z.object({ reason: z.string() });
    policy.decide = ({ operation }) => (operation === 'call' ? elicit({ message: 'Sure?', fields }) : allow());
    const { request } = asker(modern(await start()));
    const given = { action: 'accept', content: { approve: true, reason: 'r', more: 'm' } };
    await request('prompts/get', { ...greet, ...approvalOf(await request('prompts/get', greet), given) });
    expect(ran).toEqual(['greet tea kind {"reason":"r"}']);
  });

  it('is never asked for a subscription, which is not honoured instead', async () => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure?') : allow());
    const stream = await modern(await start()).stream(
      'subscriptions/listen',
      { notifications: { resourceSubscriptions: ['file:///readme'], resourcesListChanged: true } },
      { capabilities: forms },
    );
    const acknowledgement = await stream.next();
    expect(acknowledgement?.message?.params?.notifications).toEqual({
      resourceSubscriptions: [],
      resourcesListChanged: true,
    });
    stream.close();
  });
});

describe('a subscription', () => {
  it('is asked about with its method in the modern era too', async () => {
    const stream = await modern(await start()).stream('subscriptions/listen', {
      notifications: { resourceSubscriptions: ['file:///readme'] },
    });
    await stream.next();
    expect(policy.asked.map(({ call }) => call)).toEqual([{ ...readme.question, method: 'resources/subscribe' }]);
    stream.close();
  });
});

describe('without a readAuthorizer', () => {
  it('this machine may read everything, and the authorizer of tools is not asked', async () => {
    const client = modern(await start({ readAuthorizer: undefined }));
    for (const [, { method, params }] of both)
      expect((await client.request(method, params)).response?.error).toBeUndefined();
    expect([policy.asked, tools.asked]).toEqual([[], []]);
  });
});
