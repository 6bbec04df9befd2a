/** What an authorizer is asked, by every door, and what becomes of an answer that is no decision. */
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { allow, allowAll, deny, elicit } from 'express-mcp';
import type { Context, Decision, ToolQuestion } from 'express-mcp';
import * as z from 'zod';
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { join } from '../support/memory';
import type { MemoryClient } from '../support/memory';
import { answer, approvalOf, createPolicy, denialIn, forms, yes } from '../support/questions';
import { latestLegacy, modernRevision } from '../support/schema';
import { watchTimers } from '../support/timers';
import { legacySession, modern, textOf } from '../support/wire';
import { bearerAuth } from 'express-mcp';

const policy = createPolicy<ToolQuestion>();
const alice = { Authorization: 'Bearer alice-token' };
let fixture: Fixture;

/** What middleware in front of the endpoint leaves on the request. */
const tenant: RequestHandler = (req, _res, next) => {
  (req as IncomingMessage & { tenant?: string }).tenant = 'blue';
  next();
};

beforeAll(async () => {
  fixture = await createFixture({
    before: [
      tenant,
      bearerAuth({
        verify: (token) => ({ principal: token.split('-')[0]!, scopes: token.split('-').slice(1) }),
      }) as RequestHandler,
    ],
    server: { authorizer: policy.hook, authorizerTimeoutMs: 2_000 },
  });
});
afterAll(() => fixture.close());
beforeEach(() => {
  policy.decide = () => allow();
  policy.taken();
  fixture.ran.splice(0);
  fixture.errors.splice(0);
});

describe('the answers', () => {
  it('are made by functions that check what they are given', () => {
    expect(allow()).toEqual({ decision: 'allow' });
    expect(deny('no')).toEqual({ decision: 'deny', reason: 'no' });
    expect(deny('no', {})).toEqual({ decision: 'deny', reason: 'no' });
    expect(deny('no', { scopes: ['a'] })).toEqual({ decision: 'deny', reason: 'no', scopes: ['a'] });
    expect(elicit('Sure?')).toEqual({ decision: 'elicit', prompt: { message: 'Sure?' } });
    const fields = z.object({});
    expect(elicit({ message: 'Sure?', fields })).toEqual({ decision: 'elicit', prompt: { message: 'Sure?', fields } });
    expect(allowAll({} as never, {} as never)).toEqual({ decision: 'allow' });
  });

  it.each<[string, () => unknown]>([
    ['deny() without a reason', () => deny(undefined as never)],
    ['deny() with a number', () => deny(5 as never)],
    ['deny() with scopes that are no list', () => deny('no', { scopes: 'a' as never })],
    ['deny() with scopes that are no strings', () => deny('no', { scopes: [1] as never })],
    ['elicit() without a prompt', () => elicit(undefined as never)],
    ['elicit() with an empty one', () => elicit('')],
    ['elicit() without a message', () => elicit({} as never)],
    ['elicit() with a number', () => elicit({ message: 5 } as never)],
  ])('are not made of anything: %s', (_what, make) => {
    expect(make).toThrow(TypeError);
  });
});

describe.each(eras)('the question about a call over HTTP, %s era', (era) => {
  it('has the tool, its parsed arguments, and who asks for it', async () => {
    const client = await connect(era, fixture, { headers: { Authorization: 'Bearer alice-read-write' } });
    const reply = await client.callTool('slow', { ms: 0 });
    expect(textOf(reply)).toBe('done');
    expect(policy.asked).toHaveLength(1);
    const { call, context } = policy.asked[0]!;
    expect(call).toEqual({
      operation: 'call',
      kind: 'tool',
      name: 'slow',
      // As the handler gets them, defaults included.
      arguments: { ms: 0, text: 'done' },
      definition: {
        name: 'slow',
        description: 'Takes its time',
        inputSchema: expect.objectContaining({ type: 'object' }),
        sensitive: false,
      },
    });
    expect(context).toMatchObject({
      method: 'tools/call',
      era,
      revision: client.revision,
      transport: 'http',
      principal: 'alice',
      auth: { principal: 'alice', scopes: ['read', 'write'] },
      clientInfo: { name: 'wire' },
    });
    expect(context.sessionId).toEqual(era === 'legacy' ? expect.any(String) : undefined);
    expect((context.request as IncomingMessage & { tenant?: string }).tenant).toBe('blue');
  });

  it('says which tools are sensitive', async () => {
    const client = await connect(era, fixture, { headers: alice });
    await client.callTool('destroy');
    expect(policy.asked[0]?.call.definition).toMatchObject({ sensitive: true, annotations: { destructiveHint: true } });
  });

  it('comes with every call, with the caller of that call', async () => {
    const client = await connect(era, fixture, { headers: { Authorization: 'Bearer alice-read' } });
    for (const scope of ['read', 'write', 'admin']) {
      const reply = await client.callTool('caller', {}, { headers: { Authorization: `Bearer alice-${scope}` } });
      expect(textOf(reply)).toBe('alice');
    }
    expect(policy.asked.map(({ context }) => context.auth?.scopes)).toEqual([['read'], ['write'], ['admin']]);
  });

  it('does not come for arguments that are wrong, and nothing runs', async () => {
    const client = await connect(era, fixture, { headers: alice });
    const { response } = await client.callTool('echo', { text: 5 });
    expect(response?.result?.isError).toBe(true);
    expect(policy.taken()).toEqual(['list echo']);
    expect(fixture.ran).toEqual([]);
  });

  it('answered with deny tells the caller why, for models and for programs', async () => {
    policy.decide = ({ operation }) => (operation === 'call' ? deny('Only on weekdays') : allow());
    const client = await connect(era, fixture, { headers: alice });
    const { status, response } = await client.callTool('echo', { text: 'a' });
    expect(status).toBe(200);
    expect(response?.result).toMatchObject({
      content: [{ type: 'text', text: 'Not authorized: Only on weekdays' }],
      isError: true,
    });
    expect(denialIn(response)).toEqual({ code: 'authorization_denied', reason: 'Only on weekdays' });
    expect(fixture.ran).toEqual([]);
  });

  it('waits for the decision', async () => {
    let decided!: (decision: Decision) => void;
    const asked = new Promise<void>((begun) => {
      policy.decide = () => {
        begun();
        return new Promise((resolve) => (decided = resolve));
      };
    });
    const client = await connect(era, fixture, { headers: alice });
    const reply = client.callTool('echo', { text: 'a' });
    await asked;
    expect(fixture.ran).toEqual([]);
    decided(allow());
    expect(textOf(await reply)).toBe('a');
  });
});

describe('the question about a call over another transport', () => {
  const call = async (client: MemoryClient) => {
    await client.callTool('nothing');
    return policy.asked.splice(0)[0]!.context;
  };

  it.each([latestLegacy, modernRevision] as const)(
    'has what the transport knows, whatever the client says: %s',
    async (revision) => {
      const auth = { principal: 'carol', scopes: ['x'] };
      for (const [connection, expected] of [
        [{}, { transport: 'memory', principal: undefined, auth: undefined }],
        [{ transport: 'stdio' }, { transport: 'stdio', principal: undefined }],
        [{ principal: 'bob' }, { transport: 'memory', principal: 'bob', auth: undefined }],
        [{ auth }, { principal: 'carol', auth }],
      ] as const) {
        const client = await join(fixture.server, { revision, connection: { ...connection } });
        const meta = { transport: 'http', principal: 'alice', auth: { principal: 'alice' } };
        await client.callTool('nothing', {}, { meta });
        expect(policy.asked.splice(0)[0]?.context).toMatchObject({ ...expected, request: undefined });
        client.close();
      }
    },
  );

  it('is asked for the human as over HTTP, legacy era', async () => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure?') : allow());
    const client = await join(fixture.server, { capabilities: forms });
    const denied = client.callTool('nothing');
    const first = await client.find(({ method }) => method === 'elicitation/create');
    await client.send({ jsonrpc: '2.0', id: first.id, result: { action: 'decline' } });
    expect(denialIn(await denied)).toMatchObject({ code: 'authorization_denied' });
    const approved = client.callTool('nothing');
    const second = await client.find(({ method }) => method === 'elicitation/create');
    // Not from another connection, whoever has heard of it.
    const other = await join(fixture.server, { capabilities: forms });
    await other.send({ jsonrpc: '2.0', id: second.id, result: yes });
    expect(fixture.ran).toEqual([]);
    await client.send({ jsonrpc: '2.0', id: second.id, result: yes });
    expect((await approved).result?.isError).toBeUndefined();
    expect(fixture.ran).toEqual(['nothing']);
    other.close();
    client.close();
  });

  it('is asked for the human as over HTTP, modern era', async () => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure?') : allow());
    const [mine, other] = [
      await join(fixture.server, { revision: modernRevision, capabilities: forms, connection: { principal: 'alice' } }),
      await join(fixture.server, { revision: modernRevision, capabilities: forms, connection: { principal: 'bob' } }),
    ];
    const response = await mine.callTool('nothing');
    const params = { name: 'nothing', arguments: {}, ...approvalOf({ response, text: '' } as never) };
    expect((await other.request('tools/call', params)).error?.code).toBe(-32602);
    expect((await mine.request('tools/call', params)).result?.isError).toBeUndefined();
    expect((await mine.request('tools/call', params)).result?.resultType).toBe('input_required');
    expect(fixture.ran).toEqual(['nothing']);
    mine.close();
    other.close();
  });

  it('cannot be asked of the human where nobody listens, or no connection is named', async () => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure?') : allow());
    const deaf = await join(fixture.server, { capabilities: forms, listening: false });
    expect(denialIn(await deaf.callTool('nothing'))).toMatchObject({ code: 'authorization_required' });
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'nothing' } };
    const response = await fixture.server.handleMessage(message);
    expect(denialIn(response as never)).toMatchObject({ code: 'authorization_required' });
    expect(fixture.ran).toEqual([]);
  });

  it('ends with the connection', async () => {
    policy.decide = ({ operation }) => (operation === 'call' ? elicit('Sure?') : allow());
    const client = await join(fixture.server, { capabilities: forms });
    const reply = client.callTool('nothing').catch(() => 'not answered');
    await client.find(({ method }) => method === 'elicitation/create');
    client.close();
    expect(await reply).toBe('not answered');
    expect(fixture.ran).toEqual([]);
    expect(await call(await join(fixture.server))).toMatchObject({ transport: 'memory' });
  });
});

/** Everything that is no decision. */
const faulty: [string, () => unknown][] = [
  [
    'throws',
    () => {
      throw new Error('postgres://user:secret@host');
    },
  ],
  [
    'throws something that is no Error',
    () => {
      throw 'secret';
    },
  ],
  ['rejects', () => Promise.reject(new Error('postgres://user:secret@host'))],
  ['answers undefined', () => undefined],
  ['answers null', () => null],
  ['answers true', () => true],
  ['answers a word', () => 'allow'],
  ['answers a promise of true', async () => true],
  ['answers the function itself', () => allow],
  ['answers a list', () => [allow()]],
  ['answers another object', () => ({ allow: true })],
  ['answers another decision', () => ({ decision: 'Allow' })],
  ['answers a decision that is an object', () => ({ decision: { toString: () => 'allow' } })],
  ['denies without a reason', () => ({ decision: 'deny' })],
  ['denies with scopes that are none', () => ({ decision: 'deny', reason: 'no', scopes: 'a' })],
  ['asks without a prompt', () => ({ decision: 'elicit' })],
  ['asks without a message', () => ({ decision: 'elicit', prompt: {} })],
  ['asks for what no form can hold', () => elicit({ message: 'Sure?', fields: z.object({ who: z.object({}) }) })],
  [
    'asks for the approval itself as a field',
    () => elicit({ message: 'Sure?', fields: z.object({ approve: z.boolean() }) }),
  ],
  ['asks with fields that are no schema', () => elicit({ message: 'Sure?', fields: 5 as never })],
];

describe.each(eras)('an authorizer, %s era, that', (era) => {
  it.each(faulty)('%s denies, and onError hears of it', async (_what, misbehave) => {
    policy.decide = ({ operation }) => (operation === 'call' ? (misbehave() as Decision) : allow());
    const client = await connect(era, fixture, { headers: alice, capabilities: forms });
    const { status, response, text } = await client.callTool('echo', { text: 'a' });
    expect([status, fixture.ran]).toEqual([200, []]);
    // The caller learns nothing of what went wrong inside.
    expect(denialIn(response)).toEqual({ code: 'authorization_denied', reason: 'The authorizer could not decide' });
    expect(text).not.toMatch(/secret|postgres|form/);
    expect(fixture.errors).toEqual([expect.any(Error)]);
    expect((fixture.errors[0] as Error).message).toMatch(/authorizer/);
  });

  it('does so always hides what it is asked about', async () => {
    policy.decide = () => {
      throw new Error('down');
    };
    const client = await connect(era, fixture, { headers: alice });
    const { text } = await client.callTool('echo', { text: 'a' });
    expect(text).toContain('Unknown tool: echo');
    expect(fixture.ran).toEqual([]);
    expect(fixture.errors.map(String)).toEqual([
      expect.stringMatching(/call of tool "echo".*down/),
      expect.stringMatching(/listing tool "echo".*down/),
    ]);
  });
});

describe('an authorizer that is too slow', () => {
  it('denies after authorizerTimeoutMs, and its late answer is worth nothing', async () => {
    const late: ((decision: Decision) => void)[] = [];
    const slow = await createFixture({
      server: {
        authorizer: ({ operation }) => (operation === 'call' ? new Promise((resolve) => late.push(resolve)) : allow()),
        authorizerTimeoutMs: 30,
      },
    });
    try {
      const reply = await modern(slow).callTool('echo', { text: 'a' });
      expect(denialIn(reply.response)).toEqual({
        code: 'authorization_denied',
        reason: 'The authorizer could not decide',
      });
      expect(slow.errors.map(String)).toEqual([expect.stringMatching(/"echo".*30 ms/)]);
      late.forEach((resolve) => resolve(allow()));
      await new Promise((resolve) => setImmediate(resolve));
      expect(slow.ran).toEqual([]);
    } finally {
      await slow.close();
    }
  });

  it('may fail late without harm', async () => {
    const late: ((error: Error) => void)[] = [];
    const slow = await createFixture({
      server: { authorizer: () => new Promise((_, reject) => late.push(reject)), authorizerTimeoutMs: 20 },
    });
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      await modern(slow).callTool('echo', { text: 'a' });
      late.forEach((reject) => reject(new Error('late')));
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toEqual([]);
      expect(late).toHaveLength(2);
    } finally {
      process.off('unhandledRejection', note);
      await slow.close();
    }
  });

  it('leaves no timer when it was fast enough', async () => {
    const timers = watchTimers();
    try {
      policy.decide = async () => allow();
      await fixture.server.handleMessage({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'nothing' } });
      expect(fixture.ran).toEqual(['nothing']);
      expect(timers.pending()).not.toContain(2_000);
    } finally {
      timers.restore();
    }
  });
});

describe('an onError that throws', () => {
  it('does not let a call through', async () => {
    const logged = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const fragile = await createFixture({
      server: {
        authorizer: () => undefined as never,
        onError: () => {
          throw new Error('the log is full');
        },
      },
    });
    try {
      const { text } = await modern(fragile).callTool('echo', { text: 'a' });
      expect(text).toContain('Unknown tool');
      expect(fragile.ran).toEqual([]);
    } finally {
      await fragile.close();
      logged.mockRestore();
    }
  });
});

describe('an authorizer that puts questions of its own', () => {
  it('decides nothing by that in the modern era', async () => {
    policy.decide = async ({ operation }, context: Context) => {
      if (operation === 'list') return allow();
      await context.elicit('own', { message: 'Sure?', schema: z.object({}) });
      return allow();
    };
    const { response } = await modern(fixture, alice).callTool('echo', { text: 'a' }, { capabilities: forms });
    expect(denialIn(response)).toMatchObject({ code: 'authorization_denied' });
    expect(fixture.ran).toEqual([]);
  });
});

describe('a call that is cancelled while the authorizer decides', () => {
  it('does not run, whatever the decision', async () => {
    let decided!: () => void;
    const asked = new Promise<void>((begun) => {
      policy.decide = () => {
        begun();
        return new Promise((resolve) => (decided = () => resolve(allow())));
      };
    });
    const session = await legacySession(fixture, { headers: alice });
    const reply = session.callTool('echo', { text: 'a' }, { id: 'c' });
    await asked;
    await session.notify('notifications/cancelled', { requestId: 'c' });
    decided();
    await reply;
    expect((await answer(session, 'x', yes)).status).toBe(202);
    expect(fixture.ran).toEqual([]);
  });
});
