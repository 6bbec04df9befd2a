/** Every refusal that the package can make, and the codes that it uses for them. */
import { ErrorCode, McpError, ToolError, deny } from 'express-mcp';
import type { McpServer } from 'express-mcp';
import * as z from 'zod';
import { legacyRevisions, modernRevision } from './support/schema';
import type { Revision } from './support/schema';
import { serve } from './support/serve';
import type { Served } from './support/serve';
import type { Headers, Message, Reply } from './support/wire';
import { legacySession, modernRequest, post, send } from './support/wire';

const standard = [-32700, -32600, -32601, -32602, -32603];
const known: Record<Revision, number[]> = {
  '2024-11-05': [...standard, -32002],
  '2025-03-26': [...standard, -32002],
  '2025-06-18': [...standard, -32002],
  '2025-11-25': [...standard, -32002, -32042],
  // https://modelcontextprotocol.io/specification/2026-07-28/basic#error-codes
  '2026-07-28': [...standard, -32020, -32021, -32022],
};

/** What a -32042 must name. */
const page = { mode: 'url', elicitationId: 'one', url: 'https://example.com/', message: 'Log in' };

function registerAll(server: McpServer): void {
  const fail = (error: () => unknown) => () => {
    throw error();
  };
  const mirrored = z.object({ region: z.string().optional().meta({ 'x-mcp-header': 'Region' }) });
  server.registerTool('mirrored', { inputSchema: mirrored }, () => 'x');
  server.registerTool(
    'bug',
    {},
    fail(() => new Error('bug')),
  );
  server.registerTool(
    'tool-error',
    {},
    fail(() => new ToolError('no')),
  );
  server.registerTool('wrong', {}, () => 5 as never);
  server.registerTool('slow', { timeoutMs: 1 }, () => new Promise(() => undefined));
  server.registerTool('asks', {}, async (_args, context) => {
    await context.elicit('q', { message: 'Who?', schema: z.object({ a: z.string() }) });
  });
  for (const [name, code] of Object.entries(ErrorCode)) {
    server.registerTool(
      `code-${name}`,
      {},
      fail(() => new McpError(code, name, { elicitations: [page] })),
    );
  }
  const argsSchema = z.object({ a: z.string() });
  server.registerPrompt('args', { argsSchema, complete: { a: fail(() => new ToolError('no')) } }, () => 'x');
  server.registerPrompt(
    'bug',
    {},
    fail(() => new Error('bug')),
  );
  server.registerPrompt(
    'tool-error',
    {},
    fail(() => new ToolError('no')),
  );
  server.registerPrompt('denied', {}, () => 'x');
  server.registerResource('one', 'x:1', {}, () => 'x');
  server.registerResource('denied', 'x:denied', {}, () => 'x');
  server.registerResource(
    'bug',
    'x:bug',
    {},
    fail(() => new Error('bug')),
  );
  server.registerResource('family', 'y:{id}', {}, () => 'x');
}

/** What a client can get wrong, or meet. */
const requests: [string, Record<string, unknown>][] = [
  ['no/such', {}],
  ['ping', {}],
  ['initialize', { protocolVersion: 5 }],
  ['tools/list', { cursor: 'bogus' }],
  ['tools/call', {}],
  ['tools/call', { name: 'nope' }],
  ['tools/call', { name: 'mirrored', arguments: 5 }],
  ['tools/call', { name: 'mirrored', arguments: { region: 'x' } }],
  ['tools/call', { name: 'mirrored', arguments: { region: 5 } }],
  ...['bug', 'tool-error', 'wrong', 'slow', 'asks'].map((name): [string, object] => ['tools/call', { name }]),
  ...Object.keys(ErrorCode).map((name): [string, object] => ['tools/call', { name: `code-${name}` }]),
  ['tools/call', { name: 'asks', inputResponses: [] }],
  ['tools/call', { name: 'asks', requestState: 'forged' }],
  ['prompts/get', { name: 'nope' }],
  ['prompts/get', { name: 'args' }],
  ['prompts/get', { name: 'bug' }],
  ['prompts/get', { name: 'tool-error' }],
  ['prompts/get', { name: 'denied' }],
  ['resources/read', {}],
  ['resources/read', { uri: 'x:nope' }],
  ['resources/read', { uri: 'x:bug' }],
  ['resources/read', { uri: 'x:denied' }],
  ['resources/read', { uri: 'y:%' }],
  ['resources/subscribe', { uri: 'x:nope' }],
  ['completion/complete', {}],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'args' }, argument: { name: 'a', value: '' } }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'args' }, argument: { name: 'b', value: '' } }],
  ['logging/setLevel', { level: 'loud' }],
  ['subscriptions/listen', {}],
] as [string, Record<string, unknown>][];

let served: Served;
beforeAll(async () => {
  served = await serve(registerAll, {
    server: {
      readAuthorizer: (call) =>
        call.name === 'denied' && call.operation === 'call' ? deny('no') : { decision: 'allow' },
    },
    router: { maxBodyBytes: 4_000 },
  });
});
afterAll(() => served.close());

const codes = (replies: Reply[]): number[] =>
  replies.flatMap(({ messages }: { messages: Message[] }) => messages.flatMap(({ error }) => error?.code ?? []));

/** What is wrong with HTTP, in the headers of a right request. */
async function httpFaults(headers: Headers, body: Record<string, unknown>): Promise<Reply[]> {
  const { url } = served;
  const bodies = ['{', '', '[]', 'null', '5', '{"jsonrpc":"1.0"}', JSON.stringify({ ...body, pad: 'x'.repeat(5_000) })];
  return Promise.all([
    ...bodies.map((text) => post(url, text, headers)),
    post(url, body, { ...headers, 'Content-Type': 'text/plain' }),
    post(url, body, { ...headers, Accept: 'text/html' }),
    post(url, body, { ...headers, Origin: 'https://evil.example' }),
    post(url, body, { ...headers, Host: 'evil.example' }),
    send(url, { method: 'PUT', headers, body }),
    send(url, { method: 'GET', headers: { ...headers, Accept: 'text/html' } }),
  ]);
}

describe('the codes of the errors', () => {
  it(`of ${modernRevision} MUST be its own or the application’s; none of the reserved range but those`, async () => {
    const replies: Reply[] = [];
    for (const [method, params] of requests) {
      const { headers, body } = modernRequest(method, params);
      replies.push(await post(served.url, body, headers, { revision: modernRevision, validate: false }));
    }
    const { headers, body } = modernRequest('tools/call', { name: 'bug' });
    const versionKey = 'io.modelcontextprotocol/protocolVersion';
    const other = modernRequest('tools/list', {}, { meta: { [versionKey]: '2027-01-01' } });
    replies.push(
      ...(await httpFaults(headers, body)),
      await post(served.url, body, { ...headers, 'Mcp-Name': 'other' }),
      await post(served.url, other.body, { ...other.headers, 'MCP-Protocol-Version': '2027-01-01' }),
      await post(served.url, { jsonrpc: '2.0', id: 1, result: {} }, headers),
    );
    const found = new Set(codes(replies));
    // Each is provoked, or the list above says too little.
    expect([...found].sort()).toEqual([...known[modernRevision]].sort());
  });

  it.each(legacyRevisions)('of %s are its own', async (revision) => {
    const session = await legacySession(served, { revision, capabilities: { elicitation: { url: {} } } });
    const replies: Reply[] = [];
    for (const [method, params] of requests) {
      replies.push(await session.post({ jsonrpc: '2.0', id: 1, method, params }, { validate: false }));
    }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'bug' } };
    replies.push(
      ...(await httpFaults(session.headers, body)),
      await session.post(body, { headers: { 'Mcp-Session-Id': 'unknown' } }),
      await session.post(body, { headers: { 'Mcp-Session-Id': undefined } }),
      await session.post(body, { headers: { 'MCP-Protocol-Version': '1999-01-01' } }),
    );
    const found = new Set(codes(replies));
    expect([...found].sort()).toEqual([...known[revision]].sort());
  });
});
