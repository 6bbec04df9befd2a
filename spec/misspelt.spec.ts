/** What is misspelt, or said to the wrong one, is not silently ignored. */
import { bearerAuth, McpServer, mcpRouter } from 'express-mcp';
import { join } from './support/memory';
import { createServer } from './support/serve';

// As from JavaScript, where nobody counts the keys.
type Loose = never;
const tool = (config: object) => createServer().registerTool('x', config as Loose, () => 'y');
const prompt = (config: object) => createServer().registerPrompt('x', config as Loose, () => 'y');
const resource = (config: object) => createServer().registerResource('x', 'file:///x', config as Loose, () => 'y');
const router = (options: object) => mcpRouter(createServer(), options as Loose);
const server = (options: object) => new McpServer({ name: 'x', version: '1' }, options as Loose);

it.each<[string, () => unknown, string]>([
  ['a tool', () => tool({ schema: {} }), 'tool "x": there is no "schema"; did you mean inputSchema?'],
  ['a tool', () => tool({ parameters: {} }), 'tool "x": there is no "parameters"; did you mean inputSchema?'],
  ['a tool', () => tool({ inputschema: {} }), 'did you mean inputSchema?'],
  ['a tool', () => tool({ destructiveHint: true }), 'annotations: { destructiveHint: true }'],
  ['a tool', () => tool({ nonsense: 1 }), 'there are title, description, inputSchema'],
  [
    'a tool',
    () => tool({ annotations: { destructive: true } }),
    'annotations.destructive: did you mean destructiveHint?',
  ],
  ['a prompt', () => prompt({ inputSchema: {} }), 'prompt "x": there is no "inputSchema"; did you mean argsSchema?'],
  ['a resource', () => resource({ mimetype: 'a/b' }), 'resource "x": there is no "mimetype"; did you mean mimeType?'],
  [
    'a mount',
    () => router({ authorizer: () => true }),
    'it belongs to the server: new McpServer(info, { authorizer })',
  ],
  ['a mount', () => router({ allowedOrigins: [] }), 'mcpRouter: there is no "allowedOrigins"; did you mean origins?'],
  ['a mount', () => router({ toString: 1 }), 'mcpRouter: there is no "toString"; there are'],
  [
    'a server',
    () => server({ authorise: () => true }),
    'there is no "authorise"; there are authorizer, readAuthorizer',
  ],
  ['a server', () => server({ instructions: 'x' }), 'it belongs to the first argument'],
  ['a server', () => server({ origins: [] }), 'it belongs to the mount: mcpRouter(server, { origins })'],
  ['a server', () => server({ secrets: 'x'.repeat(32) }), 'must be an array of secrets'],
  ['a server', () => new McpServer(undefined as Loose), 'info needs a name and a version'],
  ['bearerAuth', () => bearerAuth({ verify: () => null, scope: 'a' } as Loose), 'bearerAuth: there is no "scope"'],
])('%s says what is meant: %#', (_, make, message) => {
  expect(make).toThrow(TypeError);
  expect(make).toThrow(message);
});

describe('what a handler gets wrong', () => {
  it.each<[string, (context: { elicit(...args: unknown[]): unknown }) => unknown, string]>([
    [
      'a question without a key',
      (context) => context.elicit({ message: 'x', schema: {} }),
      'the key is a string of your choice',
    ],
    ['a question without a schema', (context) => context.elicit('k', { message: 'x' }), 'has a schema or a url'],
    ['a value without an outputSchema', () => ({ temperature: 3 }), 'to return a value, declare an outputSchema'],
    ['a block without its array', () => ({ type: 'text', text: 'x' }), 'put a single block in an array'],
  ])('is said to its author: %s', async (_, handler, message) => {
    const errors: unknown[] = [];
    const server = createServer(
      (one) => one.registerTool('x', {}, (_args, context) => handler(context as Loose) as Loose),
      {
        errors,
      },
    );
    const client = await join(server);
    expect((await client.callTool('x')).error?.code).toBe(-32603);
    client.close();
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining(message) })]);
  });
});

it('an option that is undefined is none', () => {
  expect(() => tool({ schema: undefined })).not.toThrow();
  expect(() => router({ authorizer: undefined })).not.toThrow();
});

it('annotations that we do not know are the client’s business', () => {
  expect(() => tool({ annotations: { 'com.example/cost': 5 } })).not.toThrow();
});
