/** Registration: what is refused, by words that name what is wrong and what to do. */
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { McpServer } from 'express-mcp';
import type { McpServerOptions, ResourceConfig, Schema, StandardSchema, ToolConfig } from 'express-mcp';
import * as v from 'valibot';
import * as z from 'zod';
import { join, textOfMessage } from './support/memory';
import type { MemoryClient } from './support/memory';
import { createServer } from './support/serve';

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

describe('the name of a tool', () => {
  // https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names
  it.each(['a', 'getUser', 'DATA_EXPORT_v2', 'admin.tools.list', '-', '.', '0', 'x'.repeat(128)])(
    'SHOULD be of letters, digits, "_", "-" and ".", at most 128: %s is one',
    (name) => {
      expect(createServer().registerTool(name, {}, run).name).toBe(name);
    },
  );

  it.each(['', ' ', 'get user', 'a,b', 'a/b', 'é', 'a\n', 'x'.repeat(129), '=?base64?eA==?=', 5, null, undefined, {}])(
    'is refused when it is none: %j',
    (name) => {
      expect(() => createServer().registerTool(name as string, {}, run)).toThrow(
        new TypeError(`tool name ${JSON.stringify(name)}: must be 1 to 128 of A-Z, a-z, 0-9, "_", "." and "-"`),
      );
    },
  );

  it('SHOULD be told apart by its case', () => {
    const server = createServer();
    server.registerTool('Echo', {}, run);
    expect(() => server.registerTool('echo', {}, run)).not.toThrow();
  });
});

describe('a name that is taken', () => {
  it.each<[string, (server: McpServer) => unknown, RegExp]>([
    ['of a tool', (server) => server.registerTool('x', {}, run), /^tool "x" is registered already.*update\(\)/],
    ['of a prompt', (server) => server.registerPrompt('x', {}, run), /^prompt "x" is registered already/],
    [
      '(the uri) of a resource',
      (server) => server.registerResource('x', 'x:1', {}, run),
      /^resource "x:1" is registered/,
    ],
    ['(the uri) of a template', (server) => server.registerResource('x', 'x:{a}', {}, run), /^resource "x:\{a\}" is/],
  ])('%s is refused, and the first stays', (_what, declare, message) => {
    const server = createServer();
    declare(server);
    expect(() => declare(server)).toThrow(message);
    expect(() => declare(server)).toThrow(TypeError);
  });

  it('may be given again after it was removed', () => {
    const server = createServer();
    server.registerTool('x', {}, run).remove();
    expect(() => server.registerTool('x', {}, run)).not.toThrow();
  });

  it('belongs to tools, prompts and resources each on their own', () => {
    const server = createServer((s) => s.registerTool('x', {}, run));
    server.registerPrompt('x', {}, run);
    server.registerResource('x', 'x:1', {}, run);
    expect(() => server.registerResource('x', 'x:2', {}, run)).not.toThrow();
  });
});

describe('a registration that makes no sense', () => {
  const none = undefined as never;
  it.each<[string, (server: McpServer) => unknown, string]>([
    ['a tool without a handler', (s) => s.registerTool('x', {}, none), 'tool "x": the handler must be a function'],
    [
      'a tool whose handler stands for its configuration',
      (s) => s.registerTool('x', run as never, none),
      'tool "x": the handler must be a function',
    ],
    [
      'a prompt without a handler',
      (s) => s.registerPrompt('x', {}, none),
      'prompt "x": the handler must be a function',
    ],
    [
      'a resource without a handler',
      (s) => s.registerResource('x', 'x:1', {}, none),
      'resource "x": the handler must be a function',
    ],
    [
      'a template without a handler',
      (s) => s.registerResource('x', 'x:{a}', {}, none),
      'resource "x": the handler must be a function',
    ],
    [
      'a prompt without a name',
      (s) => s.registerPrompt('', {}, run),
      'prompt name "": must be a string that is not empty',
    ],
    [
      'a resource without a name',
      (s) => s.registerResource('', 'x:1', {}, run),
      'resource name "": must be a string that is not empty',
    ],
    [
      'a resource without a uri',
      (s) => s.registerResource('x', '', {}, run),
      'resource "x": uri must be a uri or a template',
    ],
    [
      'a resource whose uri is none',
      (s) => s.registerResource('x', 'readme', {}, run),
      'resource "x": "readme" is no absolute uri',
    ],
    [
      'a resource that completes variables',
      (s) => s.registerResource('x', 'x:1', { complete: {} }, run),
      'resource "x": complete belongs to a template, and x:1 has no variables',
    ],
    [
      'a resource that lists others',
      (s) => s.registerResource('x', 'x:1', { list: () => [] }, run),
      'resource "x": list belongs to a template, and x:1 has no variables',
    ],
    [
      'a template that completes another variable',
      (s) => s.registerResource('x', 'x:{a}', { complete: { b: () => [] } }, run),
      'resource "x": complete.b: there is no such argument',
    ],
    [
      'a prompt that completes another argument',
      (s) => s.registerPrompt('x', { complete: { b: () => [] } }, run),
      'prompt "x": complete.b: there is no such argument',
    ],
    [
      'a completer that is no function',
      (s) => s.registerResource('x', 'x:{a}', { complete: { a: ['x'] as never } }, run),
      'resource "x": complete.a must be a function',
    ],
    [
      'a stream that is neither',
      (s) => s.registerTool('x', { stream: 'never' as 'auto' }, run),
      `tool "x": stream must be 'auto' or 'always', got "never"`,
    ],
    [
      'a provider that is none',
      (s) => s.provideTools({} as never),
      'provideTools(provider): provider needs the functions listTools and callTool',
    ],
    [
      'a notification that is none',
      (s) => s.notify('tools/list'),
      'notify(method): must start with "notifications/", got "tools/list"',
    ],
  ])('is refused: %s', (_what, declare, message) => {
    const server = createServer();
    expect(() => declare(server)).toThrow(new TypeError(message));
  });

  it.each([0, -1, 0.5, NaN, Infinity, 2 ** 31, '5', null])('is refused: a time limit of %j', (timeoutMs) => {
    expect(register({ timeoutMs: timeoutMs as number })).toThrow(RangeError);
    expect(register({ timeoutMs: timeoutMs as number })).toThrow(/^tool "x": timeoutMs: must be milliseconds from 1/);
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching: MUST be >= 0
  it.each([-1, 1.5, NaN, Infinity, '5'])('is refused: a ttlMs of %j', (ttlMs) => {
    const config: ResourceConfig = { cache: { ttlMs: ttlMs as number } };
    for (const uri of ['x:1', 'x:{a}']) {
      expect(() => createServer().registerResource('x', uri, config, run)).toThrow(
        /^resource "x": cache\.ttlMs: must be/,
      );
    }
  });

  it('leaves nothing behind', async () => {
    const server = createServer();
    expect(() => server.registerTool('x', { inputSchema: z.object({ at: z.date() }) }, run)).toThrow();
    expect(() => server.registerPrompt('x', { complete: { b: () => [] } }, run)).toThrow();
    const client = await join(server);
    expect(client.initializeResult?.capabilities).toEqual({ logging: {} });
    expect(() => server.registerTool('x', {}, run)).not.toThrow();
  });
});

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

describe('an option of the server that makes no sense', () => {
  const create = (options: object) => () => new McpServer({ name: 'x', version: '1' }, options as McpServerOptions);

  it.each([0, -1, 1.5, NaN, Infinity, '5', null])('pageSize %j', (pageSize) => {
    expect(create({ pageSize })).toThrow(RangeError);
    expect(create({ pageSize })).toThrow(/pageSize.*must be a positive integer/);
  });

  it.each(['authorizerTimeoutMs', 'elicitationTimeoutMs', 'toolTimeoutMs'])('%s', (option) => {
    for (const value of [0, -1, 0.5, NaN, Infinity, 2 ** 31, '5', null]) {
      expect(create({ [option]: value })).toThrow(RangeError);
      expect(create({ [option]: value })).toThrow(new RegExp(`^new McpServer\\(…, \\{ ${option} \\}\\): must be`));
    }
    expect(create({ [option]: 2 ** 31 - 1 })).not.toThrow();
    expect(create({ [option]: undefined })).not.toThrow();
  });

  it.each(['tools', 'read', 'discover'])('cache.%s', (what) => {
    expect(create({ cache: { [what]: { ttlMs: -1 } } })).toThrow(RangeError);
    expect(create({ cache: { [what]: { ttlMs: 0.5 } } })).toThrow(
      new RegExp(`\\{ cache: \\{ ${what} \\} \\}\\)\\.ttlMs: must be whole milliseconds from 0 up, got 0\\.5$`),
    );
    expect(create({ cache: { [what]: { cacheScope: 'shared' } } })).toThrow(
      /cacheScope: must be 'public' or 'private', got "shared"$/,
    );
    expect(create({ cache: { [what]: undefined } })).not.toThrow();
  });

  it.each([[['short']], [[]], ['not a list']])('secrets %j', (secrets) => {
    expect(create({ secrets })).toThrow(/secrets/);
  });

  it.each([{}, { name: 'x' }, { version: '1' }, { name: 5, version: '1' }])('info %j', (info) => {
    expect(() => new McpServer(info as never)).toThrow(
      new TypeError('new McpServer(info): info needs a name and a version, both strings'),
    );
  });
});
