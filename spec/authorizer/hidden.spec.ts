/** What is hidden from a caller cannot be told from what does not exist, by any request of theirs. */
import { allow, deny, elicit } from 'express-mcp';
import type { McpServer, ReadQuestion, ToolQuestion } from 'express-mcp';
import * as z from 'zod';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { createPolicy, forms } from '../support/questions';
import { serve } from '../support/serve';
import { legacySession, modern, textOf } from '../support/wire';
import type { Headers, LegacySession, Reply } from '../support/wire';

const tools = createPolicy<ToolQuestion>();
const reads = createPolicy<ReadQuestion>();

/** One name that is hidden from bob and one that does not exist, equally long. */
const hidden = 'vault';
const missing = 'vauxt';

function register(server: McpServer): void {
  const inputSchema = {
    type: 'object',
    properties: { account: { type: 'string', 'x-mcp-header': 'Account' }, amount: { type: 'integer' } },
    required: ['account'],
  };
  server.registerTool(hidden, { inputSchema }, () => 'opened');
  const broken = z.object({ topic: z.string().optional() }).refine(() => {
    throw new Error('a bug in the schema');
  });
  server.registerTool('picky', { inputSchema: broken }, () => 'picked');
  server.registerPrompt('picky', { argsSchema: broken }, () => 'picked');
  server.registerPrompt(
    hidden,
    { argsSchema: z.object({ topic: z.string() }), complete: { topic: () => ['gold'] } },
    () => 'a prompt',
  );
  server.registerResource(hidden, `file:///${hidden}`, {}, () => 'the secret');
  const list = () => [{ uri: 'box://1', name: 'box one' }];
  server.registerResource('box', 'box://{number}', { list, complete: { number: () => ['1'] } }, () => 'a box');
}

let fixture: Fixture;
const bob: Headers = { Authorization: 'Bearer bob-token' };
const alice: Headers = { Authorization: 'Bearer alice-token' };
beforeAll(async () => {
  fixture = await createFixture({
    bearer: true,
    server: { authorizer: tools.hook, readAuthorizer: reads.hook },
    setup: register,
  });
});
afterAll(() => fixture.close());
beforeEach(() => {
  const mayKnow = (name: string, principal: string | undefined) =>
    principal === 'alice' || ![hidden, 'box', 'picky'].includes(name);
  tools.decide = ({ name }, { principal }) => (mayKnow(name, principal) ? allow() : deny('Only for alice'));
  reads.decide = ({ name }, { principal }) => (mayKnow(name, principal) ? allow() : deny('Only for alice'));
  tools.taken();
  reads.taken();
});
afterEach(() => expect(fixture.errors.splice(0)).toEqual([]));

/** All that a client can see of an answer, but the time of day. */
function seen({ status, headers, text }: Reply): object {
  const { date: _, ...rest } = headers;
  return { status, headers: rest, text };
}

/** The answers for both names, with the name written the same, and how often the authorizers were asked for each. */
async function compare(
  ask: (name: string) => Promise<Reply>,
): Promise<{ hiddenOne: object; missingOne: object; asked: number[] }> {
  const asked: number[] = [];
  const answers: object[] = [];
  for (const name of [hidden, missing]) {
    tools.taken();
    reads.taken();
    const { text, ...rest } = await ask(name);
    expect(text).not.toMatch(/alice|opened|secret|gold/);
    answers.push(seen({ ...rest, text: text.replaceAll(name, '<name>') }));
    asked.push(tools.taken().length + reads.taken().length);
  }
  return { hiddenOne: answers[0]!, missingOne: answers[1]!, asked };
}

async function expectAlike(ask: (name: string) => Promise<Reply>): Promise<void> {
  const { hiddenOne, missingOne, asked } = await compare(ask);
  expect(hiddenOne).toEqual(missingOne);
  expect(asked[0]).toBe(asked[1]);
}

const account = { 'Mcp-Param-Account': 'main' };
const right = { account: 'main', amount: 1 };

describe('a tool that is hidden, modern era', () => {
  const call = (name: string, args: unknown, headers: Headers = {}, rest: object = {}) =>
    modern(fixture, bob).request(
      'tools/call',
      { name, arguments: args, ...rest },
      { id: 1, headers, capabilities: forms },
    );

  it.each<[string, (name: string) => Promise<Reply>]>([
    ['right arguments', (name) => call(name, right, account)],
    ['wrong arguments', (name) => call(name, { amount: 'x' })],
    ['no arguments', (name) => call(name, undefined)],
    ['arguments that are none', (name) => call(name, [])],
    ['a header that is missing', (name) => call(name, right)],
    ['a header that differs', (name) => call(name, right, { 'Mcp-Param-Account': 'other' })],
    ['a header that cannot be read', (name) => call(name, right, { 'Mcp-Param-Account': '=?base64?!?=' })],
    ['a name header that differs', (name) => call(name, right, { ...account, 'Mcp-Name': 'x' })],
    ['answers to nothing', (name) => call(name, right, account, { inputResponses: { a: {} } })],
    ['answers that are none', (name) => call(name, right, account, { inputResponses: [] })],
    ['a state that is none', (name) => call(name, right, account, { requestState: 'AAAA' })],
    ['a state that is no string', (name) => call(name, right, account, { requestState: 7 })],
    ['JSON only', (name) => call(name, right, { ...account, Accept: 'application/json' })],
    ['a stream only', (name) => call(name, right, { ...account, Accept: 'text/event-stream' })],
  ])('is answered as one that does not exist: %s', async (_what, ask) => {
    await expectAlike(ask);
  });

  it('is answered so in words', async () => {
    const { response, status } = await call(hidden, right, account);
    expect([status, response?.error]).toEqual([200, { code: -32602, message: `Unknown tool: ${hidden}` }]);
    expect(fixture.ran).toEqual([]);
  });

  it('is answered so with the state that alice was given', async () => {
    tools.decide = (question, { principal }) =>
      principal !== 'alice' ? deny('Only for alice') : question.operation === 'call' ? elicit('Open?') : allow();
    const client = modern(fixture, alice);
    const asked = await client.request(
      'tools/call',
      { name: hidden, arguments: right },
      { headers: account, capabilities: forms },
    );
    const requestState = asked.response?.result?.requestState;
    expect(requestState).toEqual(expect.any(String));
    await expectAlike((name) => call(name, right, account, { requestState }));
  });

  it('makes no demand for scopes, which would show that there is something', async () => {
    tools.decide = (_question, { principal }) =>
      principal === 'alice' ? allow() : deny('no', { scopes: ['vault:open'] });
    await expectAlike((name) => call(name, right, account));
    expect((await call(hidden, right, account)).headers['www-authenticate']).toBeUndefined();
  });

  it('is answered so when the caller would have to approve, and cannot be asked', async () => {
    tools.decide = ({ operation }, { principal }) =>
      principal === 'alice' ? allow() : operation === 'call' ? elicit('Open?') : deny('Only for alice');
    await expectAlike((name) =>
      modern(fixture, bob).callTool(name, right, { id: 1, headers: account, capabilities: {} }),
    );
  });

  it('is answered so while the authorizer is down', async () => {
    tools.decide = (_question, { principal }) => {
      if (principal === 'alice') return allow();
      throw new Error('down');
    };
    await expectAlike((name) => call(name, right, account));
    expect(fixture.errors.splice(0).length).toBeGreaterThan(0);
  });

  it('is answered so when its schema fails, of which onError hears', async () => {
    const { text } = await modern(fixture, bob).callTool('picky', {}, { id: 1 });
    expect(text.replaceAll('picky', missing)).toBe((await modern(fixture, bob).callTool(missing, {}, { id: 1 })).text);
    expect(fixture.errors.splice(0).map(String)).toEqual(['Error: a bug in the schema']);
    // She who may know of it gets what every fault gets.
    const hers = await modern(fixture, alice).callTool('picky', {});
    expect(hers.response?.error?.code).toBe(-32603);
    expect(fixture.errors.splice(0)).toHaveLength(1);
  });

  it('takes as long to refuse, since the authorizer takes its time for each question', async () => {
    const times: number[] = [];
    for (const name of [hidden, missing]) {
      let waits = 0;
      tools.decide = () =>
        new Promise((resolve) => setImmediate(() => resolve((waits += 1) > 9 ? allow() : deny('no'))));
      await call(name, right, account);
      times.push(waits);
    }
    expect(times).toEqual([2, 2]);
  });
});

describe('a tool that is hidden, legacy era', () => {
  let session: LegacySession;
  beforeAll(async () => {
    session = await legacySession(fixture, { headers: bob, capabilities: forms });
  });

  it.each<[string, unknown]>([
    ['right arguments', right],
    ['wrong arguments', { amount: 'x' }],
    ['no arguments', undefined],
    ['arguments that are none', 'x'],
  ])('is answered as one that does not exist: %s', async (_what, args) => {
    await expectAlike((name) => session.callTool(name, args, { id: 1 }));
  });

  it('is answered so in words that a model can read', async () => {
    const { response } = await session.callTool(hidden, right);
    expect(response?.result).toEqual({ content: [{ type: 'text', text: `Unknown tool: ${hidden}` }], isError: true });
  });

  it('is answered so in a batch', async () => {
    const old = await legacySession(fixture, { headers: bob, revision: '2025-03-26' });
    const message = (name: string) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: right },
    });
    await expectAlike((name) => old.post([message(name)]));
  });
});

describe('alice, who may', () => {
  it('is asked about once per call, and gets her answer', async () => {
    const reply = await modern(fixture, alice).callTool(hidden, right, { headers: account });
    expect(textOf(reply)).toBe('opened');
    expect(tools.taken()).toEqual([`call ${hidden}`]);
    const session = await legacySession(fixture, { headers: alice });
    expect(textOf(await session.callTool(hidden, right))).toBe('opened');
    expect(tools.taken()).toEqual([`call ${hidden}`]);
  });

  it('learns what is wrong with her call', async () => {
    const client = modern(fixture, alice);
    expect((await client.callTool(hidden, {})).response?.result?.isError).toBe(true);
    const reply = await client.callTool(hidden, right, { headers: { 'Mcp-Param-Account': 'other' } });
    expect([reply.status, reply.response?.error?.code]).toEqual([400, -32020]);
  });
});

describe('a tool of a provider', () => {
  it('that is hidden is answered as one that does not exist, where there is no other tool', async () => {
    const one = await serve(
      (server) =>
        server.provideTools({
          listTools: () => [{ name: hidden, inputSchema: { type: 'object', required: ['account'] } }],
          callTool: () => 'opened',
        }),
      { server: { authorizer: tools.hook } },
    );
    try {
      tools.decide = () => deny('Only for alice');
      for (const args of [right, {}]) await expectAlike((name) => modern(one).callTool(name, args, { id: 1 }));
    } finally {
      await one.close();
    }
  });
});

describe('a sensitive tool that nobody has decided about', () => {
  it('is asked about as often as one that does not exist, where a fallback hides it', async () => {
    const one = await serve(() => undefined, { server: { authorizer: tools.hook, authorizerSource: 'default' } });
    try {
      // Later than the mount, which would have refused it.
      one.server.registerTool(hidden, { sensitive: true }, () => 'opened');
      tools.decide = () => deny('Only for alice');
      await expectAlike((name) => modern(one).callTool(name, {}, { id: 1 }));
    } finally {
      await one.close();
    }
  });
});

describe.each(['modern', 'legacy'])('what is hidden from reading, %s era', (era) => {
  let request: (method: string, params: Record<string, unknown>) => Promise<Reply>;
  beforeAll(async () => {
    if (era === 'modern') {
      request = (method, params) => modern(fixture, bob).request(method, params, { id: 1, capabilities: forms });
    } else {
      const session = await legacySession(fixture, { headers: bob, capabilities: forms });
      request = (method, params) => session.request(method, params, { id: 1 });
    }
  });

  const prompt = (name: string) => ({ ref: { type: 'ref/prompt', name }, argument: { name: 'topic', value: '' } });
  it.each<[string, (name: string) => Promise<Reply>]>([
    ['prompts/get', (name) => request('prompts/get', { name, arguments: { topic: 'x' } })],
    ['prompts/get with wrong arguments', (name) => request('prompts/get', { name, arguments: { other: 'x' } })],
    ['prompts/get without arguments', (name) => request('prompts/get', { name })],
    ['completion', (name) => request('completion/complete', prompt(name))],
    [
      'completion of an argument that is none',
      (name) => request('completion/complete', { ...prompt(name), argument: { name: 'x', value: '' } }),
    ],
    ['resources/read', (name) => request('resources/read', { uri: `file:///${name}` })],
    ['resources/subscribe', (name) => request('resources/subscribe', { uri: `file:///${name}` })],
    ['resources/unsubscribe', (name) => request('resources/unsubscribe', { uri: `file:///${name}` })],
    ['a template’s resource', (name) => request('resources/read', { uri: name === hidden ? 'box://1' : 'bax://1' })],
    [
      'a template’s resource, malformed',
      (name) => request('resources/read', { uri: name === hidden ? 'box://%zz' : 'bax://%zz' }),
    ],
    [
      'completion of a template',
      (name) =>
        request('completion/complete', {
          ref: { type: 'ref/resource', uri: `${name === hidden ? 'box' : 'bax'}://{number}` },
          argument: { name: 'number', value: '' },
        }),
    ],
  ])('is answered as what does not exist: %s', async (_what, ask) => {
    const written = async (name: string): Promise<Reply> => {
      const reply = await ask(name);
      return { ...reply, text: reply.text.replaceAll('bax:', 'box:') };
    };
    await expectAlike(written);
    // A demand for scopes would show that there is something.
    reads.decide = ({ name }) => (name === hidden || name === 'box' ? deny('no', { scopes: ['vault'] }) : allow());
    await expectAlike(written);
  });

  it('is answered so when its schema fails, of which onError hears', async () => {
    const [broken, none] = [
      await request('prompts/get', { name: 'picky' }),
      await request('prompts/get', { name: missing }),
    ];
    expect(broken.text.replaceAll('picky', missing)).toBe(none.text);
    expect(fixture.errors.splice(0).map(String)).toEqual(['Error: a bug in the schema']);
  });

  it('is in no list, page or cursor', async () => {
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
      const { text } = await request(method, {});
      expect(text).not.toMatch(/vault|box/);
      expect(text).not.toContain('nextCursor');
    }
  });
});

describe('subscriptions/listen', () => {
  it('honours a hidden resource as one that does not exist', async () => {
    const listen = async (name: string) => {
      const stream = await modern(fixture, bob).stream(
        'subscriptions/listen',
        { notifications: { resourceSubscriptions: [`file:///${name}`, 'file:///readme.txt'] } },
        { id: 1 },
      );
      const event = await stream.next();
      stream.close();
      return event?.data;
    };
    const heard = await listen(hidden);
    expect(heard).toBe(await listen(missing));
    expect(heard).not.toContain(hidden);
  });
});
