/** The JSON Schema that clients see for an author's schema, and that calls pass by it. */
import { Ajv2020 } from 'ajv/dist/2020';
import type { Context, McpServer } from 'express-mcp';
import * as z from 'zod';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { serve } from '../support/serve';
import type { Served } from '../support/serve';
import { textOf } from '../support/wire';

type Published = Record<string, unknown> & { properties?: Record<string, Record<string, unknown>> };

/** Says what it got, in JSON. */
const tell = (args: unknown, _context: Context) => JSON.stringify(args);

const inputs = {
  plain: z.object({ a: z.string() }),
  action: z.discriminatedUnion('action', [
    z.object({ action: z.literal('open'), path: z.string() }),
    z.object({ action: z.literal('close'), force: z.boolean().default(false) }),
  ]),
  either: z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]),
  both: z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() })),
  tags: z.object({ tags: z.union([z.array(z.string()), z.string()]).transform((tags) => [tags].flat()) }),
  upper: z.object({ a: z.string() }).transform(({ a }) => ({ a: a.toUpperCase() })),
  trimmed: z.object({ a: z.preprocess((value) => String(value).trim(), z.string()) }),
  defaults: z.object({ a: z.string(), n: z.number().default(10), o: z.string().optional() }),
  strict: z.strictObject({ a: z.string() }),
  loose: z.looseObject({ a: z.string() }),
  record: z.record(z.string(), z.number()),
  branded: z.object({ id: z.string().brand<'id'>() }),
  refined: z.object({ a: z.number(), b: z.number() }).refine(({ a, b }) => a < b, 'a must be less than b'),
  later: z.object({ a: z.string().refine(async (a) => a !== 'taken', 'is taken') }),
  when: z.object({ at: z.iso.datetime() }),
  tree: z.object({
    name: z.string(),
    get children() {
      return z.array(inputs.tree).optional();
    },
  }) as z.ZodObject,
  none: z.object({}),
  unknown: z.unknown(),
};

let served: Served;
beforeAll(async () => {
  served = await serve((server: McpServer) => {
    for (const [name, inputSchema] of Object.entries(inputs)) server.registerTool(name, { inputSchema }, tell);
    server.registerTool('absent', {}, tell);
    server.registerTool('braces', { inputSchema: {} }, tell);
    const draft07 = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' };
    server.registerTool('draft-07', { inputSchema: draft07 }, tell);
    server.registerTool(
      'typed',
      { outputSchema: z.object({ n: z.number().default(3), at: z.iso.date().optional() }) },
      () => ({ n: undefined }),
    );
  });
});
afterAll(() => served.close());

describe.each(eras)('%s era', (era) => {
  let client: EraClient;
  let schemas: Record<string, Published>;
  let tools: { name: string; inputSchema: Published; outputSchema?: Published }[];
  beforeAll(async () => {
    client = await connect(era, served);
    tools = (await client.request('tools/list')).response?.result?.tools as typeof tools;
    schemas = Object.fromEntries(tools.map(({ name, inputSchema }) => [name, inputSchema]));
  });
  const call = async (name: string, args?: object) => {
    const reply = await client.callTool(name, args);
    return reply.response?.result?.isError === true ? textOf(reply) : (JSON.parse(textOf(reply)) as unknown);
  };

  it('every tool is listed, its schema an object’s, valid as JSON Schema 2020-12', () => {
    expect(tools.map(({ name }) => name)).toEqual([...Object.keys(inputs), 'absent', 'braces', 'draft-07', 'typed']);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const { name, inputSchema, outputSchema } of tools) {
      expect(inputSchema.type).toBe('object');
      if (name !== 'draft-07') ajv.compile(inputSchema);
      if (outputSchema !== undefined) ajv.compile(outputSchema);
    }
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/basic#schema-dialect
  it('what a library wrote names no dialect, which means 2020-12; an author’s own schema keeps its name', () => {
    for (const { name, inputSchema, outputSchema } of tools) {
      if (name === 'draft-07') expect(inputSchema.$schema).toBe('http://json-schema.org/draft-07/schema#');
      else expect(inputSchema).not.toHaveProperty('$schema');
      expect(outputSchema ?? {}).not.toHaveProperty('$schema');
    }
  });

  it.each(['absent', 'braces', 'none', 'unknown'])('without fields it is still an object’s: %s', async (name) => {
    expect(schemas[name]).toMatchObject({ type: 'object' });
    expect(await call(name)).toEqual({});
    expect(await call(name, {})).toEqual({});
  });

  it('a union at the root shows every branch, and a call is checked by its branch', async () => {
    const { oneOf, anyOf } = schemas.action as { oneOf?: Published[]; anyOf?: Published[] };
    expect((oneOf ?? anyOf)?.map(({ properties }) => properties?.action?.const)).toEqual(['open', 'close']);
    expect(await call('action', { action: 'open', path: '/' })).toEqual({ action: 'open', path: '/' });
    expect(await call('action', { action: 'close' })).toEqual({ action: 'close', force: false });
    expect(await call('action', { action: 'open' })).toContain('path');
    expect(await call('action', { action: 'burn', path: '/' })).toContain('action');
    expect(await call('either', { b: 1 })).toEqual({ b: 1 });
    expect(await call('both', { a: 'x', b: 1 })).toEqual({ a: 'x', b: 1 });
    expect(await call('both', { a: 'x' })).toContain('b');
  });

  it('a transform shows what goes in, and the handler gets what comes out', async () => {
    expect(schemas.tags?.properties?.tags?.anyOf).toEqual([
      { type: 'array', items: { type: 'string' } },
      { type: 'string' },
    ]);
    expect(await call('tags', { tags: 'x' })).toEqual({ tags: ['x'] });
    expect(await call('tags', { tags: ['x', 'y'] })).toEqual({ tags: ['x', 'y'] });
    expect(await call('tags', { tags: 5 })).toContain('tags');
    expect(await call('upper', { a: 'x' })).toEqual({ a: 'X' });
    expect(await call('trimmed', { a: ' x ' })).toEqual({ a: 'x' });
  });

  it('a field with a default is not required, and an object is closed only where its author says so', async () => {
    expect(schemas.defaults).toMatchObject({ required: ['a'] });
    expect(schemas.defaults).not.toHaveProperty('additionalProperties');
    expect(schemas.strict).toMatchObject({ additionalProperties: false });
    expect(schemas.loose?.additionalProperties).not.toBe(false);
    expect(await call('defaults', { a: 'x' })).toEqual({ a: 'x', n: 10 });
    expect(await call('defaults', { a: 'x', extra: 1 })).toEqual({ a: 'x', n: 10 });
    expect(await call('loose', { a: 'x', extra: 1 })).toEqual({ a: 'x', extra: 1 });
    expect(await call('strict', { a: 'x', extra: 1 })).toContain('extra');
  });

  it('what JSON Schema cannot say is checked all the same', async () => {
    expect(await call('refined', { a: 1, b: 2 })).toEqual({ a: 1, b: 2 });
    expect(await call('refined', { a: 2, b: 1 })).toContain('a must be less than b');
    expect(await call('later', { a: 'free' })).toEqual({ a: 'free' });
    expect(await call('later', { a: 'taken' })).toContain('a: is taken');
  });

  it('a date travels as text with its format', async () => {
    expect(schemas.when?.properties?.at).toMatchObject({ type: 'string', format: 'date-time' });
    expect(await call('when', { at: '2026-07-28T00:00:00Z' })).toEqual({ at: '2026-07-28T00:00:00Z' });
    expect(await call('when', { at: 'today' })).toContain('at');
  });

  it('a schema may contain itself', async () => {
    const tree = { name: 'a', children: [{ name: 'b', children: [{ name: 'c' }] }] };
    expect(await call('tree', tree)).toEqual(tree);
    expect(await call('tree', { name: 'a', children: [{ name: 5 }] })).toContain('children.0.name');
  });

  it('an output schema shows what comes out, defaults included', async () => {
    const outputSchema = tools.find(({ name }) => name === 'typed')?.outputSchema;
    expect(outputSchema).toMatchObject({ type: 'object', required: ['n'] });
    const reply = await client.callTool('typed');
    expect(reply.response?.result?.structuredContent).toEqual({ n: 3 });
  });
});
