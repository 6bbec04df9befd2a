/** Registration: what is refused, by words that name what is wrong and what to do. */
import type { McpServer, ResourceConfig, ToolConfig } from 'express-mcp';
import * as z from 'zod';
import { join } from './support/memory';
import { createServer } from './support/serve';

const run = () => 'ran';
const register = (config: ToolConfig) => () => createServer().registerTool('x', config, run as never);

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

  it.each([0, -1, 0.5, 1.5, NaN, Infinity, 2 ** 31, '5', null])('is refused: a time limit of %j', (timeoutMs) => {
    expect(register({ timeoutMs: timeoutMs as number })).toThrow(RangeError);
    expect(register({ timeoutMs: timeoutMs as number })).toThrow(
      /^tool "x": timeoutMs must be whole milliseconds from 1/,
    );
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
