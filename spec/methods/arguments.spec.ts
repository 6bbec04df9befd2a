/** What a handler gets for arguments, and what is refused before it runs. */
import * as z from 'zod';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { legacyRevisions, modernRevision, revisions } from '../support/schema';
import { serve } from '../support/serve';
import type { Served } from '../support/serve';
import { legacySession, modern, textOf } from '../support/wire';

const got: unknown[] = [];
let served: Served;

beforeAll(async () => {
  served = await serve((server) => {
    const note = (args: unknown) => {
      got.push(args);
      return 'ran';
    };
    const asksBack = z.object({ n: z.number() });
    server.registerTool('none', {}, note);
    server.registerTool('empty', { inputSchema: z.object({}) }, note);
    server.registerTool('optional', { inputSchema: z.object({ a: z.string().optional() }) }, note);
    server.registerTool('required', { inputSchema: z.object({ a: z.string() }) }, note);
    server.registerTool('plain', { inputSchema: { type: 'object', required: ['a'] } }, note);
    server.registerTool('asks', { inputSchema: z.object({ n: z.number(), when: z.iso.date() }) }, async (args, ctx) => {
      note(args);
      await ctx.elicit('n', { message: 'How many?', schema: asksBack });
    });
    server.registerPrompt('none', {}, note);
    server.registerPrompt('optional', { argsSchema: z.object({ a: z.string().optional() }) }, note);
    server.registerPrompt('required', { argsSchema: z.object({ a: z.string() }) }, note);
  });
});
afterAll(() => served.close());
beforeEach(() => got.splice(0));

describe.each(eras)('%s era', (era) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect(era, served);
  });

  describe('without arguments', () => {
    it.each(['none', 'empty', 'optional'])('a tool that needs none runs with {}: %s', async (name) => {
      for (const params of [{ name }, { name, arguments: {} }, { name, arguments: undefined }]) {
        expect(textOf(await client.request('tools/call', params))).toBe('ran');
      }
      expect(got).toEqual([{}, {}, {}]);
    });

    it.each(['none', 'optional'])('a prompt that needs none is written with {}: %s', async (name) => {
      for (const params of [{ name }, { name, arguments: {} }]) {
        const reply = await client.request('prompts/get', params);
        expect(reply.response?.result?.messages).toEqual([{ role: 'user', content: { type: 'text', text: 'ran' } }]);
      }
      expect(got).toEqual([{}, {}]);
    });

    // https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling: input validation errors are
    // tool execution errors
    it.each(['required', 'plain'])(
      'a tool that needs one does not run, and the model reads which: %s',
      async (name) => {
        for (const params of [{ name }, { name, arguments: {} }]) {
          const reply = await client.request('tools/call', params);
          expect(reply.status).toBe(200);
          expect(reply.response?.result).toMatchObject({ isError: true });
          expect(textOf(reply)).toMatch(/\ba\b/);
        }
        expect(got).toEqual([]);
      },
    );

    // https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#error-handling
    it('a prompt that needs one SHOULD answer -32602', async () => {
      for (const params of [{ name: 'required' }, { name: 'required', arguments: {} }]) {
        const reply = await client.request('prompts/get', params);
        expect(reply.response?.error).toMatchObject({ code: -32602, message: expect.stringMatching(/\ba\b/) });
      }
      expect(got).toEqual([]);
    });
  });

  describe('arguments that are no object', () => {
    // https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling: a malformed request is a
    // protocol error
    it.each(['x', '', [], [{}], 5, 0, true, false])('of a tool answer -32602 and run nothing: %j', async (args) => {
      for (const name of ['none', 'optional', 'required']) {
        const reply = await client.callTool(name, args);
        expect(reply.response?.error?.code).toBe(-32602);
      }
      expect(got).toEqual([]);
    });

    it('null counts as none', async () => {
      expect(textOf(await client.callTool('optional', null))).toBe('ran');
      expect((await client.callTool('required', null)).response?.result?.isError).toBe(true);
      expect((await client.request('prompts/get', { name: 'optional', arguments: null })).status).toBe(200);
      expect(got).toEqual([{}, {}]);
    });

    it.each(['x', '', [], 5, true])('of a prompt answer -32602: %j', async (args) => {
      const reply = await client.request('prompts/get', { name: 'optional', arguments: args });
      expect(reply.response?.error?.code).toBe(-32602);
      expect(got).toEqual([]);
    });

    it.each([5, null, true, {}, ['a']])('nor may an argument of a prompt be anything but text: %j', async (a) => {
      const reply = await client.request('prompts/get', { name: 'optional', arguments: { a } });
      expect(reply.response?.error?.code).toBe(-32602);
      expect(got).toEqual([]);
    });
  });

  it('an argument of the wrong type runs neither handler nor question', async () => {
    const capable = await connect(era, served, { capabilities: { elicitation: {} } });
    for (const args of [
      { n: 'five', when: '2026-01-01' },
      { n: 5, when: 'tomorrow' },
      { n: null, when: 1 },
    ]) {
      const reply = await capable.callTool('asks', args);
      expect(reply.response?.result).toMatchObject({ isError: true });
      expect(reply.messages).toHaveLength(1);
    }
    expect(got).toEqual([]);
  });
});

// https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling
describe.each(revisions)('in %s', (revision) => {
  it('an argument of the wrong type is a result that names the field, so that the model can correct itself', async () => {
    const call =
      revision === modernRevision
        ? modern(served).callTool
        : (await legacySession(served, { revision: legacyRevisions.find((known) => known === revision) })).callTool;
    const reply = await call('asks', { n: 'five', when: 'tomorrow' });
    expect(reply.status).toBe(200);
    expect(reply.response?.result).toMatchObject({ isError: true });
    expect(textOf(reply)).toMatch(/^Invalid arguments for tool asks:\nn: .+\nwhen: .+$/);
    expect(got).toEqual([]);
  });
});
