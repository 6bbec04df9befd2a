/** Revision by feature: what each one knows reaches its clients, what came later never does. */
import { ErrorCode, McpError } from 'express-mcp';
import type { ContentBlock, Context, McpServer } from 'express-mcp';
import * as z from 'zod';
import { isModern, legacyOnly, modernOnly, since } from './support/since';
import { join } from './support/memory';
import type { MemoryClient } from './support/memory';
import { revisions } from './support/schema';
import { createServer } from './support/serve';

const icons = [{ src: 'https://example.com/a.png', mimeType: 'image/png', sizes: ['48x48'] }];
const annotations = { audience: ['user' as const], priority: 1 };
const _meta = { 'example.com/a': 1 };
const embedded = { uri: 'x:1', text: 'one', _meta };
const blocks: Record<string, ContentBlock> = {
  text: { type: 'text', text: 'text', annotations, _meta },
  image: { type: 'image', data: 'AA==', mimeType: 'image/png', _meta },
  audio: { type: 'audio', data: 'AA==', mimeType: 'audio/wav', _meta },
  resource: { type: 'resource', resource: embedded, annotations, _meta },
  link: { type: 'resource_link', uri: 'x:1', name: 'one', title: 'One', description: 'First', icons, _meta },
};
const about = { title: 'Title', description: 'Description', icons, _meta };
const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hi' } }];

const voice = { type: 'audio' as const, data: 'AA==', mimeType: 'audio/wav' };
const toolUse = { type: 'tool_use' as const, id: '1', name: 'x', input: {} };

/** Where a user must log in first. */
const loginPage = { mode: 'url', elicitationId: 'one', url: 'https://example.com/login', message: 'Log in' };

/** What a handler may ask the client. */
const questions: Record<string, (context: Context) => Promise<unknown>> = {
  form: (ctx) => ctx.elicit('q', { message: 'Who?', schema: z.object({ name: z.string() }) }),
  url: (ctx) => ctx.elicit('q', { message: 'Open', url: 'https://example.com/' }),
  sampling: (ctx) => ctx.sample('q', { messages, maxTokens: 1 }),
  'sampling with tools': (ctx) => ctx.sample('q', { messages, maxTokens: 1, tools: [] }),
  roots: (ctx) => ctx.listRoots(),
  voice: (ctx) => ctx.sample('q', { messages: [{ role: 'user', content: [voice] }], maxTokens: 1 }),
  context: (ctx) => ctx.sample('q', { messages, maxTokens: 1, includeContext: 'thisServer' }),
  several: (ctx) => ctx.sample('q', { messages: [{ role: 'user', content: [voice, voice] }], maxTokens: 1 }),
  'tools before': (ctx) => ctx.sample('q', { messages: [{ role: 'assistant', content: toolUse }], maxTokens: 1 }),
};

function registerAll(server: McpServer): void {
  const hints = { readOnlyHint: true, title: 'Hint' };
  const outputSchema = z.object({ n: z.number() });
  server.registerTool('tool', { ...about, annotations: hints, outputSchema }, () => ({ n: 1 }));
  server.registerTool('array', { outputSchema: z.array(z.number()) }, () => [1]);
  server.registerTool('content', {}, () => ({ content: Object.values(blocks), _meta }));
  server.registerTool('progress', {}, (_args, context) => context.progress(1, 2, 'half'));
  server.registerTool('needs-page', {}, () => {
    throw new McpError(ErrorCode.UrlElicitationRequired, 'Log in first', { elicitations: [loginPage] });
  });
  server.registerTool('ask', { inputSchema: z.object({ what: z.string() }) }, async ({ what }, context) => {
    await questions[what]!(context);
    return 'answered';
  });
  const argsSchema = z.object({ a: z.string().optional().meta({ title: 'A', description: 'An argument' }) });
  server.registerPrompt('prompt', { ...about, argsSchema, complete: { a: () => ['x'] } }, () =>
    Object.values(blocks).map((content) => ({ role: 'user' as const, content })),
  );
  const config = { ...about, mimeType: 'text/plain', annotations };
  server.registerResource('resource', 'x:1', { ...config, size: 3 }, () => [embedded]);
  server.registerResource('template', 'x:{id}/y', config, () => '');
}

const info = { title: 'Server', description: 'For specs', websiteUrl: 'https://example.com/', icons };
const options = { experimental: { 'example.com/x': {} }, extensions: { 'example.com/y': {} } };

describe.each(revisions)('%s', (revision) => {
  const from = since(revision);
  let client: MemoryClient;
  beforeAll(async () => {
    const capabilities = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
    client = await join(createServer(registerAll, { info, server: options }), { revision, capabilities });
  });
  afterAll(() => client.close());
  const listed = async (method: string, field: string) =>
    ((await client.request(method)).result?.[field] as Record<string, unknown>[])[0]!;
  const keys = (value: unknown) => Object.keys(value as object).sort();

  it('tools', async () => {
    const tool = await listed('tools/list', 'tools');
    expect(keys(tool)).toEqual(
      [
        'name',
        'description',
        'inputSchema',
        ...from('2025-03-26', ['annotations']),
        ...from('2025-06-18', ['title', 'outputSchema', '_meta']),
        ...from('2025-11-25', ['icons']),
      ].sort(),
    );
  });

  it('output schemas of objects, and of any value', async () => {
    const tools = (await client.request('tools/list')).result?.tools as { name: string; outputSchema?: object }[];
    const shown = tools.filter(({ outputSchema }) => outputSchema !== undefined).map(({ name }) => name);
    expect(shown).toEqual([...from('2025-06-18', ['tool']), ...from('2026-07-28', ['array'])]);
  });

  it('structured content of objects, and of any value', async () => {
    const { result: object } = await client.callTool('tool');
    const { result: array } = await client.callTool('array');
    expect('structuredContent' in object!).toBe(from('2025-06-18'));
    expect('structuredContent' in array!).toBe(from('2026-07-28'));
    expect(object?.content).toEqual([{ type: 'text', text: '{"n":1}' }]);
    expect(array?.content).toEqual([{ type: 'text', text: '[1]' }]);
  });

  it('resources and templates', async () => {
    const fields = [
      'name',
      'description',
      'mimeType',
      'annotations',
      ...from('2025-06-18', ['title', '_meta']),
      ...from('2025-11-25', ['icons']),
    ];
    expect(keys(await listed('resources/list', 'resources'))).toEqual([...fields, 'uri', 'size'].sort());
    expect(keys(await listed('resources/templates/list', 'resourceTemplates'))).toEqual(
      [...fields, 'uriTemplate'].sort(),
    );
  });

  it('prompts and their arguments', async () => {
    const prompt = await listed('prompts/list', 'prompts');
    expect(keys(prompt)).toEqual(
      [
        'name',
        'description',
        'arguments',
        ...from('2025-06-18', ['title', '_meta']),
        ...from('2025-11-25', ['icons']),
      ].sort(),
    );
    const [argument] = prompt.arguments as object[];
    expect(keys(argument)).toEqual(['name', 'description', ...from('2025-06-18', ['title'])].sort());
  });

  it('kinds of content, in results and in prompts; others are text', async () => {
    const meta = from('2025-06-18') ? { _meta } : {};
    const resource = { uri: 'x:1', text: 'one', ...meta };
    const expected = [
      { type: 'text', text: 'text', annotations, ...meta },
      { type: 'image', data: 'AA==', mimeType: 'image/png', ...meta },
      from('2025-03-26')
        ? { ...blocks.audio, _meta: undefined, ...meta }
        : { type: 'text', text: '[audio content, audio/wav]' },
      { type: 'resource', resource, annotations, ...meta },
      from('2025-11-25')
        ? blocks.link
        : from('2025-06-18')
          ? { ...blocks.link, icons: undefined }
          : { type: 'text', text: 'One: x:1 (First)' },
    ].map((block) => JSON.parse(JSON.stringify(block)) as unknown);
    const { result } = await client.callTool('content');
    expect(result).toMatchObject({ content: expected, _meta });
    expect(result?.content).toEqual(expected);
    const prompt = await client.request('prompts/get', { name: 'prompt' });
    expect((prompt.result?.messages as { content: unknown }[]).map(({ content }) => content)).toEqual(expected);
    const read = await client.request('resources/read', { uri: 'x:1' });
    expect(read.result?.contents).toEqual([resource]);
  });

  it('the message of a progress notice', async () => {
    await client.callTool('progress', {}, { meta: { progressToken: 't' } });
    const { params } = await client.find(({ method }) => method === 'notifications/progress');
    expect(params).toEqual({
      progressToken: 't',
      progress: 1,
      total: 2,
      ...(from('2025-03-26') ? { message: 'half' } : {}),
    });
  });

  it('what the server says of itself', async () => {
    const result = client.initializeResult ?? (await client.request('server/discover')).result!;
    const serverInfo = isModern(revision)
      ? (result._meta as Record<string, unknown>)['io.modelcontextprotocol/serverInfo']
      : result.serverInfo;
    expect(keys(serverInfo)).toEqual(
      [
        'name',
        'version',
        ...from('2025-06-18', ['title']),
        ...from('2025-11-25', ['description', 'websiteUrl', 'icons']),
      ].sort(),
    );
    expect(keys(result.capabilities)).toEqual(
      [
        'experimental',
        'logging',
        'prompts',
        'resources',
        'tools',
        ...from('2025-03-26', ['completions']),
        ...from('2026-07-28', ['extensions']),
      ].sort(),
    );
  });

  it('the envelope of a result', async () => {
    const own = isModern(revision) ? ['_meta', 'resultType'] : [];
    const cached = isModern(revision) ? [...own, 'cacheScope', 'ttlMs'] : [];
    expect(keys((await client.request('tools/list')).result)).toEqual(['tools', ...cached].sort());
    expect(keys((await client.request('resources/read', { uri: 'x:1' })).result)).toEqual(
      ['contents', ...cached].sort(),
    );
    expect(keys((await client.request('prompts/get', { name: 'prompt' })).result)).toEqual(
      ['description', 'messages', ...own].sort(),
    );
    const params = { ref: { type: 'ref/prompt', name: 'prompt' }, argument: { name: 'a', value: '' } };
    expect(keys((await client.request('completion/complete', params)).result)).toEqual(['completion', ...own].sort());
  });

  it('methods', async () => {
    const uri = 'x:1';
    const answers = async (methods: Record<string, Record<string, unknown>>) => {
      const served: string[] = [];
      for (const [method, params] of Object.entries(methods)) {
        if ((await client.request(method, params)).error?.code !== -32601) served.push(method);
      }
      return served;
    };
    const legacy = {
      ping: {},
      'logging/setLevel': { level: 'info' },
      'resources/subscribe': { uri },
      'resources/unsubscribe': { uri },
    };
    const modern = { 'server/discover': {}, 'subscriptions/listen': {} };
    expect(await answers(legacy)).toEqual(legacyOnly(revision, Object.keys(legacy)));
    expect(await answers(modern)).toEqual(modernOnly(revision, Object.keys(modern)));
  });

  it('batches', async () => {
    const request = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const answer = await client.send([request]);
    if (revision === '2025-03-26') expect(answer).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
    else expect(answer).toMatchObject({ error: { code: -32600 } });
  });

  it('codes of errors', async () => {
    const missing = await client.request('resources/read', { uri: 'x:nope' });
    expect(missing.error?.code).toBe(isModern(revision) ? -32602 : -32002);
    const page = await client.callTool('needs-page');
    expect(page.error).toEqual({
      code: revision === '2025-11-25' ? -32042 : -32603,
      message: 'Log in first',
      data: { elicitations: [loginPage] },
    });
    const unknown = await client.callTool('nope');
    if (isModern(revision)) expect(unknown.error?.code).toBe(-32602);
    else expect(unknown.result).toMatchObject({ isError: true });
  });

  // Whatever the client declares.
  it.each([
    ['form', '2025-06-18', 'elicitation/create'],
    ['url', '2025-11-25', 'elicitation/create'],
    ['sampling', '2024-11-05', 'sampling/createMessage'],
    ['sampling with tools', '2025-11-25', 'sampling/createMessage'],
    ['tools before', '2025-11-25', 'sampling/createMessage'],
    ['several', '2025-11-25', 'sampling/createMessage'],
    ['roots', '2024-11-05', 'roots/list'],
  ] as const)('a question to the client: %s', async (what, first, method) => {
    const before = client.heard.length;
    const call = client.callTool('ask', { what });
    if (isModern(revision)) {
      const { result } = await call;
      expect(Object.values(result?.inputRequests as object)).toEqual([expect.objectContaining({ method })]);
    } else if (from(first)) {
      const question = await client.find((message) => message.id !== undefined);
      expect(question.method).toBe(method);
      await client.send({ jsonrpc: '2.0', id: question.id, error: { code: -1, message: 'no' } });
      expect((await call).result).toMatchObject({ isError: true });
    } else {
      expect((await call).result).toMatchObject({ isError: true });
      expect(client.heard.slice(before)).toEqual([]);
    }
  });

  const asked = async (what: string): Promise<Record<string, unknown>> => {
    const call = client.callTool('ask', { what });
    if (isModern(revision)) {
      const requests = (await call).result?.inputRequests as { q: { params: Record<string, unknown> } };
      return requests.q.params;
    }
    const { id, params } = await client.find((message) => message.id !== undefined);
    await client.send({ jsonrpc: '2.0', id, error: { code: -1, message: 'no' } });
    await call;
    return params!;
  };

  it('content of a question to the client’s model', async () => {
    const [message] = (await asked('voice')).messages as { content: unknown }[];
    if (revision === '2024-11-05') expect(message?.content).toMatchObject({ type: 'text' });
    else expect([message?.content].flat()).toEqual([voice]);
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/client/sampling#capabilities
  it('context in it, where a client cannot declare it yet', async () => {
    expect((await asked('context')).includeContext).toBe(from('2025-11-25') ? undefined : 'thisServer');
  });
});
