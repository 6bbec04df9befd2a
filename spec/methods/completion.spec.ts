/** Completion: suggestions for a prompt's arguments and a template's variables. */
import type { Context, McpServer } from 'express-mcp';
import * as z from 'zod';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { join } from '../support/memory';
import { createServer, serve } from '../support/serve';
import type { Served } from '../support/serve';

const asked: unknown[] = [];
const counted = (count: number) => Array.from({ length: count }, (_, index) => `value ${index}`);

function registerAll(server: McpServer): void {
  const note = (value: string, others: Record<string, string>, { principal, era }: Context) => {
    asked.push({ value, others, principal, era });
    return ['go', 'rust'].filter((one) => one.startsWith(value));
  };
  server.registerPrompt(
    'code',
    {
      argsSchema: z.object({ language: z.string(), count: z.string().optional(), bare: z.string().optional() }),
      complete: { language: note, count: async (value) => counted(Number(value)) },
    },
    () => 'x',
  );
  server.registerPrompt('none', {}, () => 'x');
  server.registerResource('repo', 'repo://{owner}/{name}', { complete: { owner: note } }, () => '');
  server.registerResource('fixed', 'repo://fixed', {}, () => '');
}

let served: Served;
beforeAll(async () => {
  served = await serve(registerAll);
});
afterAll(() => served.close());
beforeEach(() => asked.splice(0));

describe.each(eras)('%s era', (era) => {
  let client: EraClient;
  beforeAll(async () => {
    client = await connect(era, served);
  });
  const code = { type: 'ref/prompt', name: 'code' };
  const repo = { type: 'ref/resource', uri: 'repo://{owner}/{name}' };
  const complete = (params: object) => client.request('completion/complete', params as Record<string, unknown>);
  const valuesOf = async (params: object) => (await complete(params)).response?.result?.completion;

  it.each([
    ['an argument of a prompt', code, 'language'],
    ['a variable of a template', repo, 'owner'],
  ])('suggests values for %s', async (_what, ref, name) => {
    expect(await valuesOf({ ref, argument: { name, value: 'r' } })).toEqual({
      values: ['rust'],
      total: 1,
      hasMore: false,
    });
    expect(await valuesOf({ ref, argument: { name, value: '' } })).toEqual({
      values: ['go', 'rust'],
      total: 2,
      hasMore: false,
    });
    expect(await valuesOf({ ref, argument: { name, value: 'x' } })).toEqual({ values: [], total: 0, hasMore: false });
  });

  it('tells the completer what was chosen before, and who asks', async () => {
    const argument = { name: 'language', value: 'g' };
    await complete({ ref: code, argument, context: { arguments: { count: '1' } } });
    await complete({ ref: code, argument, context: {} });
    await complete({ ref: code, argument, context: { arguments: null } });
    expect(asked).toEqual([
      { value: 'g', others: { count: '1' }, principal: undefined, era },
      { value: 'g', others: {}, principal: undefined, era },
      { value: 'g', others: {}, principal: undefined, era },
    ]);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion#completion-results: maximum 100
  it.each([99, 100, 101, 5_000])('sends at most 100 of %i values, and says how many there are', async (count) => {
    const completion = await valuesOf({ ref: code, argument: { name: 'count', value: String(count) } });
    expect(completion).toEqual({ values: counted(Math.min(count, 100)), total: count, hasMore: count > 100 });
  });

  it('has nothing to suggest where the author has not said how', async () => {
    const nothing = { values: [], total: 0, hasMore: false };
    expect(await valuesOf({ ref: code, argument: { name: 'bare', value: 'x' } })).toEqual(nothing);
    expect(await valuesOf({ ref: repo, argument: { name: 'name', value: 'x' } })).toEqual(nothing);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion#error-handling
  it.each<[string, object]>([
    ['of an unknown prompt', { ref: { type: 'ref/prompt', name: 'nope' }, argument: { name: 'language', value: '' } }],
    ['of an unknown argument', { ref: code, argument: { name: 'nope', value: '' } }],
    [
      'of a prompt without arguments',
      { ref: { type: 'ref/prompt', name: 'none' }, argument: { name: 'a', value: '' } },
    ],
    ['of an unknown template', { ref: { type: 'ref/resource', uri: 'x://{y}' }, argument: { name: 'y', value: '' } }],
    [
      'of a resource without variables',
      { ref: { type: 'ref/resource', uri: 'repo://fixed' }, argument: { name: 'y', value: '' } },
    ],
    ['of another kind', { ref: { type: 'ref/tool', name: 'code' }, argument: { name: 'language', value: '' } }],
    ['without a ref', { argument: { name: 'language', value: '' } }],
    ['without an argument', { ref: code }],
    ['of an argument without a value', { ref: code, argument: { name: 'language' } }],
    ['of a value that is no text', { ref: code, argument: { name: 'language', value: 5 } }],
    ['with a context that is none', { ref: code, argument: { name: 'language', value: '' }, context: 'x' }],
    [
      'with arguments that are no text',
      { ref: code, argument: { name: 'language', value: '' }, context: { arguments: { a: 5 } } },
    ],
  ])('%s: SHOULD be -32602', async (_what, params) => {
    expect((await complete(params)).response?.error?.code).toBe(-32602);
    expect(asked).toEqual([]);
  });
});

describe('completion', () => {
  it('that fails is a fault of the server', async () => {
    const errors: unknown[] = [];
    const failure = new Error('database down');
    const server = createServer(undefined, { errors });
    const argsSchema = z.object({ a: z.string() });
    server.registerPrompt('x', { argsSchema, complete: { a: () => Promise.reject(failure) } }, () => 'x');
    const client = await join(server);
    const params = { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: '' } };
    expect((await client.request('completion/complete', params)).error?.code).toBe(-32603);
    expect(errors).toEqual([failure]);
  });
});
