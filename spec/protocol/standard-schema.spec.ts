/** Schemas of zod, valibot and their like: what registration takes, what it refuses, and how it says so. */
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import type { Schema, StandardSchema, ToolConfig } from 'express-mcp';
import * as v from 'valibot';
import * as z from 'zod';
import { join, textOfMessage } from '../support/memory';
import type { MemoryClient } from '../support/memory';
import { createServer } from '../support/serve';

const run = () => 'ran';
const register = (config: ToolConfig) => () => createServer().registerTool('x', config, run as never);
const withInput = (inputSchema: unknown) => register({ inputSchema: inputSchema as Schema });
const withOutput = (outputSchema: unknown) => register({ outputSchema: outputSchema as Schema });

/** A client of a server with one tool `x` that says what arguments it got. */
async function serverWith(inputSchema: unknown): Promise<MemoryClient> {
  const server = createServer();
  server.registerTool('x', { inputSchema: inputSchema as Schema }, (args) => JSON.stringify(args));
  return join(server);
}

async function inputSchemaOf(client: MemoryClient): Promise<unknown> {
  const tools = (await client.request('tools/list')).result?.tools as { inputSchema: unknown }[];
  return tools[0]?.inputSchema;
}

describe('a schema that cannot be expressed is refused, naming tool and path', () => {
  it.each<[string, z.ZodType, string]>([
    ['a date', z.object({ at: z.date() }), 'at'],
    ['a coerced date', z.object({ at: z.coerce.date() }), 'at'],
    ['a bigint', z.object({ n: z.bigint() }), 'n'],
    ['a custom type', z.object({ file: z.custom<Buffer>() }), 'file'],
    ['a symbol', z.object({ s: z.symbol() }), 's'],
    ['a map', z.object({ m: z.map(z.string(), z.number()) }), 'm'],
    ['one within another', z.object({ a: z.object({ b: z.object({ at: z.date() }) }) }), 'a.b.at'],
    ['one in a list', z.object({ ok: z.string(), list: z.array(z.date()) }), 'list'],
    ['an optional one', z.object({ at: z.date().optional() }), 'at'],
  ])('%s', (_what, schema, path) => {
    expect(withInput(schema)).toThrow(TypeError);
    expect(withInput(schema)).toThrow(new RegExp(`^tool "x": the input schema has no JSON Schema, at "${path}": \\S`));
    expect(withOutput(schema)).toThrow(
      new RegExp(`^tool "x", outputSchema: the output schema has no JSON Schema, at "${path}": \\S`),
    );
    expect(() => createServer().registerPrompt('x', { argsSchema: schema }, run)).toThrow(
      /^prompt "x": the input schema/,
    );
  });

  it('and the other tools are listed', async () => {
    const server = createServer();
    server.registerTool('good', {}, run);
    expect(() => server.registerTool('bad', { inputSchema: z.object({ at: z.date() }) }, run)).toThrow();
    const client = await join(server);
    expect((await client.request('tools/list')).result?.tools).toEqual([expect.objectContaining({ name: 'good' })]);
  });

  it('the error keeps its cause', () => {
    try {
      withInput(z.object({ at: z.date() }))();
      throw new Error('not refused');
    } catch (error) {
      expect((error as Error).cause).toBeInstanceOf(Error);
    }
  });
});

describe('a schema of the wrong kind', () => {
  it('the fields without their object: the answer shows how to wrap them', () => {
    const message = 'tool "x": got the fields of a schema, not a schema; wrap them: z.object({ … })';
    expect(withInput({ city: z.string() })).toThrow(new TypeError(message));
    expect(withInput({ type: 'object', city: z.string() })).toThrow(new TypeError(message));
  });

  it('a Standard Schema that cannot give its JSON Schema: the answer names the fix', () => {
    const standard = { version: 1, vendor: 'zod', validate: (value: unknown) => ({ value }) } as const;
    for (const bare of [{ '~standard': standard }, v.object({ a: v.string() })]) {
      expect(withInput(bare)).toThrow(TypeError);
      expect(withInput(bare)).toThrow(
        /^tool "x": this (zod|valibot) schema cannot give its JSON Schema; use zod 4\.2 or later, .*toStandardJsonSchema/,
      );
    }
  });

  it.each([null, true, 'string', 5, [], run])('no schema at all: %s', (schema) => {
    expect(withInput(schema)).toThrow(/^tool "x": a schema must be a Standard Schema or a JSON Schema object$/);
    expect(withOutput(schema)).toThrow(/^tool "x", outputSchema: a schema must be/);
  });

  it.each([z.string(), z.array(z.string()), { type: 'array' }])('arguments that are no object', (schema) => {
    expect(withInput(schema)).toThrow(/^tool "x": arguments are an object, the schema's root is "(string|array)"$/);
  });
});

describe('schemas of other libraries', () => {
  it('valibot, through its adapter', async () => {
    const schema = toStandardJsonSchema(
      v.object({ n: v.pipe(v.number(), v.minValue(1)), s: v.optional(v.string(), 'x') }),
    );
    const client = await serverWith(schema);
    expect(await inputSchemaOf(client)).toMatchObject({
      type: 'object',
      properties: { n: { type: 'number', minimum: 1 } },
      required: ['n'],
    });
    expect(textOfMessage(await client.callTool('x', { n: 1 }))).toBe('{"n":1,"s":"x"}');
    const refused = await client.callTool('x', { n: 0 });
    expect(refused.result?.isError).toBe(true);
    expect(textOfMessage(refused)).toMatch(/^Invalid arguments for tool x:\nn: /);
  });

  it('arktype and its like, whose schemas are functions', async () => {
    const schema: StandardSchema = Object.assign(() => undefined, {
      '~standard': {
        version: 1,
        vendor: 'arktype',
        validate: (value: unknown) =>
          typeof (value as { a?: unknown }).a === 'string'
            ? { value }
            : { issues: [{ message: 'must be a string', path: [{ key: 'a' }] }] },
        jsonSchema: { input: () => ({ type: 'object', required: ['a'] }), output: () => ({ type: 'object' }) },
      } as const,
    });
    const client = await serverWith(schema);
    expect(await inputSchemaOf(client)).toEqual({ type: 'object', required: ['a'] });
    expect(textOfMessage(await client.callTool('x', { a: 'y' }))).toBe('{"a":"y"}');
    expect(textOfMessage(await client.callTool('x', { a: 5 }))).toBe(
      'Invalid arguments for tool x:\na: must be a string',
    );
  });

  it('a library’s JSON Schema is asked for once, as 2020-12', async () => {
    const targets: string[] = [];
    const standard = z.object({ a: z.string() })['~standard'];
    const input = (options: { target: 'draft-2020-12' }) => {
      targets.push(options.target);
      return standard.jsonSchema.input(options);
    };
    const client = await serverWith({
      '~standard': { ...standard, jsonSchema: { ...standard.jsonSchema, input } },
    });
    for (let n = 0; n < 3; n += 1) {
      await client.request('tools/list');
      await client.callTool('x', { a: 'y' });
    }
    expect(targets).toEqual(['draft-2020-12']);
  });

  it('a validator that fails is a fault of the server, and the caller learns nothing of it', async () => {
    const errors: unknown[] = [];
    const failure = new Error('database down');
    const standard = z.object({})['~standard'];
    const server = createServer(undefined, { errors });
    server.registerTool(
      'x',
      {
        inputSchema: {
          '~standard': {
            ...standard,
            validate: () => {
              throw failure;
            },
          },
        } as Schema,
      },
      run,
    );
    const client = await join(server);
    expect((await client.callTool('x')).error).toEqual({ code: -32603, message: 'Internal error' });
    expect(errors).toEqual([failure]);
  });
});
