/** Only who has declared that they can be asked is asked; nobody else is let through, and nobody waits. */
import { allow, elicit } from 'express-mcp';
import type { ToolQuestion } from 'express-mcp';
import * as z from 'zod';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { answer, createPolicy, denialIn, forms, questionOn, responseOn, yes } from '../support/questions';
import { join } from '../support/memory';
import { legacyRevisions, modernRevision } from '../support/schema';
import { legacySession, modern, textOf } from '../support/wire';

/** A choice of several, which came with 2025-11-25. */
const several = z.object({ which: z.array(z.enum(['a', 'b'])) });

const decide = ({ operation, name }: ToolQuestion) =>
  operation === 'call' && name === 'echo' ? elicit('Say it aloud?') : allow();
const policy = createPolicy<ToolQuestion>(decide);
let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture({
    server: { authorizer: policy.hook },
    setup(server) {
      server.registerTool('sample', {}, async (_args, ctx) => {
        await ctx.sample('s', { messages: [], maxTokens: 1 });
        return 'sampled';
      });
      server.registerTool('context', {}, async (_args, ctx) => {
        await ctx.sample('s', { messages: [], maxTokens: 1, includeContext: 'thisServer' });
        return 'sampled';
      });
      server.registerTool('roots', {}, async (_args, ctx) => {
        await ctx.listRoots();
        return 'listed';
      });
      server.registerTool('several', {}, async (_args, ctx) => {
        await ctx.elicit('s', { message: 'Which?', schema: several });
        return 'chosen';
      });
      server.registerTool('page', {}, async (_args, ctx) => {
        await ctx.elicit('p', { message: 'Open it', url: 'https://example.com/' });
        return 'opened';
      });
    },
  });
});
afterAll(() => fixture.close());
beforeEach(() => fixture.ran.splice(0));
afterEach(() => {
  expect(fixture.errors).toEqual([]);
  expect(fixture.router.stats().parked).toBe(0);
});

/** Capabilities, strange ones too, with which no form may be asked for. */
const formless: object[] = [
  {},
  { elicitation: true },
  { elicitation: null },
  { elicitation: 'form' },
  { elicitation: [] },
  { elicitation: 0 },
  { elicitation: { url: {} } },
  { elicitation: { form: null } },
  { elicitation: { form: true } },
  { elicitation: { form: [] } },
  JSON.parse('{"elicitation":{"__proto__":{"form":{}}}}') as object,
  JSON.parse('{"__proto__":{"elicitation":{}}}') as object,
  { sampling: {} },
  { experimental: { elicitation: {} } },
];
const withForms: object[] = [
  { elicitation: {} },
  { elicitation: { form: {} } },
  { elicitation: { form: {}, url: {} } },
  { elicitation: { form: { anything: 1 } } },
];

const required = { code: 'authorization_required', reason: expect.any(String), prompt: 'Say it aloud?' };

describe('an authorizer’s question', () => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation
  it.each(formless)('MUST NOT go to a legacy client that declares %j', async (capabilities) => {
    const session = await legacySession(fixture, { capabilities });
    const { response, messages } = await session.callTool('echo', { text: 'a' });
    expect(denialIn(response)).toEqual(required);
    expect([messages.length, fixture.ran]).toEqual([1, []]);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#capabilities
  it.each(formless)('MUST NOT go to a modern client that declares %j, nor does -32021', async (capabilities) => {
    const reply = await modern(fixture).callTool('echo', { text: 'a' }, { capabilities });
    expect([reply.status, denialIn(reply.response)]).toEqual([200, required]);
    expect(fixture.ran).toEqual([]);
  });

  it.each(['2024-11-05', '2025-03-26'] as const)(
    'never goes to a client of %s, which has no word for it',
    async (revision) => {
      const session = await legacySession(fixture, { revision, capabilities: forms });
      const { response } = await session.callTool('echo', { text: 'a' });
      expect(denialIn(response)).toEqual(required);
      expect(fixture.ran).toEqual([]);
    },
  );

  it.each(['2024-11-05', '2025-06-18', '2025-11-25'] as const)(
    'never goes to a client of %s that cannot be asked, whatever it asks for',
    async (revision) => {
      policy.decide = ({ operation }) =>
        operation === 'call' ? elicit({ message: 'Say it aloud?', fields: several }) : allow();
      const session = await legacySession(fixture, { revision, capabilities: {} });
      const { response } = await session.callTool('echo', { text: 'a' });
      policy.decide = decide;
      expect(denialIn(response)).toEqual(required);
    },
  );

  it.each(withForms)('goes to a legacy client that declares %j', async (capabilities) => {
    const session = await legacySession(fixture, { capabilities });
    const stream = await session.stream('tools/call', { name: 'echo', arguments: { text: 'a' } });
    await answer(session, (await questionOn(stream)).id, yes);
    expect((await responseOn(stream)).result?.content).toEqual([{ type: 'text', text: 'a' }]);
  });

  it.each(withForms)('goes to a modern client that declares %j', async (capabilities) => {
    const { response } = await modern(fixture).callTool('echo', { text: 'a' }, { capabilities });
    expect(response?.result?.resultType).toBe('input_required');
  });

  it('goes by what a modern request itself declares, not by an earlier one', async () => {
    const client = modern(fixture);
    const asked = await client.callTool('echo', { text: 'a' }, { capabilities: forms });
    const { requestState } = asked.response?.result ?? {};
    const params = { name: 'echo', arguments: { text: 'a' }, requestState };
    const inputResponses = { 'io.github.express-mcp/approval': yes };
    const { response } = await client.request('tools/call', { ...params, inputResponses }, { capabilities: {} });
    expect(denialIn(response)).toEqual(required);
    expect(fixture.ran).toEqual([]);
  });
});

describe('a tool’s own question', () => {
  it.each(formless)('MUST NOT go to a legacy client that declares %j: the tool fails at once', async (capabilities) => {
    const session = await legacySession(fixture, { capabilities });
    const reply = await session.callTool('ask');
    expect(reply.response?.result?.isError).toBe(true);
    expect(textOf(reply)).toContain('elicitation');
    expect(reply.messages).toHaveLength(1);
  });

  it.each(['2024-11-05', '2025-06-18', '2025-11-25'] as const)(
    'MUST NOT go to a legacy client of %s that has declared nothing, in a form it could not show either',
    async (revision) => {
      const reply = await (await legacySession(fixture, { revision })).callTool('several');
      expect(reply.response?.result?.isError).toBe(true);
      expect(textOf(reply)).toContain('elicitation');
    },
  );

  // https://modelcontextprotocol.io/specification/2026-07-28/basic#missing-required-client-capability
  it.each(formless)('MUST NOT go to a modern client that declares %j: 400 and -32021', async (capabilities) => {
    const { status, response } = await modern(fixture).callTool('ask', {}, { capabilities });
    expect([status, response?.error?.code]).toEqual([400, -32021]);
    expect(response?.error?.data).toEqual({ requiredCapabilities: { elicitation: { form: {} } } });
  });

  it.each([
    ['sample', { sampling: true }, { sampling: {} }],
    ['sample', { sampling: null }, { sampling: {} }],
    ['sample', forms, { sampling: {} }],
    ['roots', { roots: true }, { roots: {} }],
    ['page', { elicitation: {} }, { elicitation: { url: {} } }],
    ['page', { elicitation: { form: {} } }, { elicitation: { url: {} } }],
    ['page', { elicitation: { url: null } }, { elicitation: { url: {} } }],
  ])('%s needs its own capability, not %j', async (tool, capabilities, requiredCapabilities) => {
    const session = await legacySession(fixture, { capabilities });
    const legacy = await session.callTool(tool);
    expect([legacy.response?.result?.isError, legacy.messages.length]).toEqual([true, 1]);
    const { status, response } = await modern(fixture).callTool(tool, {}, { capabilities });
    expect([status, response?.error?.code]).toEqual([400, -32021]);
    expect(response?.error?.data).toEqual({ requiredCapabilities });
  });
});

describe('context of servers in a question to the model', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/client/sampling#capabilities
  it.each([
    [{ sampling: {} }, undefined],
    [{ sampling: { context: true } }, undefined],
    [{ sampling: { context: {} } }, 'thisServer'],
  ])('SHOULD only be asked for where the client declares it: %j', async (capabilities, expected) => {
    const { response } = await modern(fixture).callTool('context', {}, { capabilities });
    const requests = response?.result?.inputRequests as { s: { params: Record<string, unknown> } };
    expect(requests.s.params.includeContext).toBe(expected);
  });
});

describe('a client without HTTP that cannot be asked', () => {
  it.each([...legacyRevisions, modernRevision] as const)('is denied at once: %s', async (revision) => {
    const client = await join(fixture.server, { revision, capabilities: { elicitation: { url: {} } } });
    expect(denialIn(await client.callTool('echo', { text: 'a' }))).toEqual(required);
    expect([client.heard, fixture.ran]).toEqual([[], []]);
    client.close();
  });
});
