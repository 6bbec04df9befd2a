/** Closed while nobody has decided: served to this machine only, sensitive tools to nobody. */
import { allow, allowAll, deny, McpServer, mcpRouter } from 'express-mcp';
import type { McpRouterOptions, McpServerOptions } from 'express-mcp';
import * as z from 'zod';
import { checkDecided } from '../../lib/http/identity';
import { coreOf } from '../../lib/server';
import { join } from '../support/memory';
import { denialIn } from '../support/questions';
import { serve } from '../support/serve';
import type { Served } from '../support/serve';
import { initializeMessage, legacySession, modern, openStream, post, send } from '../support/wire';
import type { Headers, Reply } from '../support/wire';

const served: Served[] = [];
afterEach(async () => {
  await Promise.all(served.splice(0).map((one) => one.close()));
});

function register(server: McpServer): void {
  server.registerTool('echo', { inputSchema: z.object({}) }, () => 'echo');
  server.registerResource('readme', 'file:///readme', {}, () => 'Read me.');
  server.registerResource('item', 'item://{id}', { complete: { id: () => ['1'] } }, () => 'An item.');
  server.registerPrompt('greet', {}, () => 'Hello');
}

const nobody = { authorizer: undefined, readAuthorizer: undefined };

async function start(options: McpServerOptions, router?: McpRouterOptions): Promise<Served> {
  const made = await serve(register, { server: { ...nobody, ...options }, router });
  served.push(made);
  return made;
}

/** What a request that did not begin on this machine shows. */
const elsewhere: [string, Headers][] = [
  ['a Host that is no loopback name', { Host: 'mcp.example.com' }],
  ['a Host that only begins like one', { Host: 'localhost.example.com' }],
  ['Forwarded', { Forwarded: 'for=192.0.2.1' }],
  ['X-Forwarded-For', { 'X-Forwarded-For': '192.0.2.1' }],
  ['X-Forwarded-For with this machine', { 'X-Forwarded-For': '127.0.0.1' }],
  ['X-Forwarded-Host', { 'X-Forwarded-Host': 'localhost' }],
  ['X-Forwarded-Proto', { 'X-Forwarded-Proto': 'https' }],
  ['any other X-Forwarded', { 'x-FORWARDED-port': '443' }],
  ['X-Real-IP', { 'X-Real-IP': '192.0.2.1' }],
  ['Via', { Via: '1.1 proxy' }],
];

const proxied = { 'X-Forwarded-For': '192.0.2.1' };

const toolRequests: [string, Record<string, unknown>][] = [
  ['tools/list', {}],
  ['tools/call', { name: 'echo', arguments: {} }],
];
const readRequests: [string, Record<string, unknown>][] = [
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'file:///readme' }],
  ['prompts/list', {}],
  ['prompts/get', { name: 'greet' }],
  ['completion/complete', { ref: { type: 'ref/resource', uri: 'item://{id}' }, argument: { name: 'id', value: '' } }],
  ['subscriptions/listen', { notifications: { resourceSubscriptions: ['file:///readme'] } }],
];

/** 403 as a JSON-RPC error that names the option. */
function expectClosed({ status, response, headers }: Reply, option: string): void {
  expect([status, response?.error?.code]).toEqual([403, -32600]);
  expect(response?.error?.message).toContain(`"${option}"`);
  expect(headers['content-type']).toMatch(/^application\/json/);
}

describe('nobody has decided', () => {
  it('serves this machine, in both eras', async () => {
    const one = await start({});
    const session = await legacySession(one);
    for (const [method, params] of [...toolRequests, ...readRequests.slice(0, -1)]) {
      expect((await modern(one).request(method, params)).response?.error).toBeUndefined();
      expect((await session.request(method, params)).response?.error).toBeUndefined();
    }
    for (const host of ['localhost', '127.0.0.1', '[::1]', 'LOCALHOST:1'])
      expect((await modern(one).request('tools/list', {}, { headers: { Host: host } })).status).toBe(200);
  });

  it.each(elsewhere)('serves nobody from elsewhere: %s', async (_what, headers) => {
    // What the Host says is another check's business too: here it is let through.
    const one = await start({}, { allowedHosts: ['mcp.example.com', 'localhost.example.com'] });
    for (const [method, params] of toolRequests)
      expectClosed(await modern(one).request(method, params, { id: 'abc', headers }), 'authorizer');
    for (const [method, params] of readRequests)
      expectClosed(await modern(one).request(method, params, { id: 'abc', headers }), 'readAuthorizer');
    for (const body of [
      initializeMessage(),
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
    ])
      expectClosed(await post(one.url, body, headers), 'authorizer');
    expectClosed(await modern(one).request('server/discover', {}, { headers }), 'authorizer');
  });

  it('serves nobody in a session either that this machine has opened', async () => {
    const one = await start({});
    const session = await legacySession(one);
    expectClosed(await session.callTool('echo', {}, { id: 'abc', headers: proxied }), 'authorizer');
    expect((await session.callTool('echo', {}, { id: 'abc', headers: proxied })).response?.id).toBe('abc');
    expectClosed(
      await session.request('resources/read', { uri: 'file:///readme' }, { headers: proxied }),
      'readAuthorizer',
    );
    const get = await openStream(one.url, { headers: { ...session.headers, ...proxied } });
    expect(get.status).toBe(403);
    get.close();
    expect((await session.callTool('echo')).status).toBe(200);
  });

  it('takes no response, no notification and no end of a session from elsewhere', async () => {
    const one = await start({});
    const session = await legacySession(one);
    const headers = { ...session.headers, ...proxied };
    expectClosed(await session.post({ jsonrpc: '2.0', id: 'q', result: {} }, { headers: proxied }), 'authorizer');
    expectClosed(await session.notify('notifications/cancelled', { requestId: 1 }, { headers: proxied }), 'authorizer');
    expectClosed(await send(one.url, { method: 'DELETE', headers }), 'authorizer');
    expect((await session.request('ping')).status).toBe(200);
  });

  it('serves nobody in an element of a batch', async () => {
    const one = await start({});
    const session = await legacySession(one, { revision: '2025-03-26' });
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: {} } };
    const { messages } = await session.post([call], { headers: proxied });
    expect(messages[0]?.error?.message).toContain('"authorizer"');
  });

  it('serves nobody in production', async () => {
    const before = process.env.NODE_ENV;
    process.env.NODE_ENV = 'production';
    try {
      const one = await start({});
      const refused = await modern(one).request('tools/list');
      expectClosed(refused, 'authorizer');
      expect(refused.response?.error?.message).toContain('NODE_ENV is production');
      expectClosed(await modern(one).request('prompts/list'), 'readAuthorizer');
    } finally {
      process.env.NODE_ENV = before;
    }
  });
});

describe('this machine', () => {
  const check = (localAddress: string | undefined, remoteAddress: string | undefined) => () =>
    checkDecided(coreOf(new McpServer({ name: 's', version: '1' })), 'tools', {
      socket: { localAddress, remoteAddress },
      headers: { host: 'localhost' },
    } as never);

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['127.0.0.1', '127.1.2.3'],
    ['::1', '::1'],
    ['::ffff:127.0.0.1', '::ffff:127.0.0.1'],
  ])('is at both ends of %s and %s', (local, remote) => {
    expect(check(local, remote)).not.toThrow();
  });

  it.each([
    ['127.0.0.1', '192.0.2.1'],
    ['192.0.2.1', '127.0.0.1'],
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
    ['::', '::1'],
    ['127.0.0.1', undefined],
    [undefined, undefined],
  ])('is not at both ends of %s and %s', (local, remote) => {
    expect(check(local, remote)).toThrow(/"authorizer"/);
  });
});

describe('once somebody has decided', () => {
  it.each(elsewhere)('everybody is served: %s', async (_what, headers) => {
    const one = await start(
      { authorizer: allowAll, readAuthorizer: allowAll },
      { allowedHosts: ['mcp.example.com', 'localhost.example.com'] },
    );
    for (const [method, params] of [...toolRequests, ...readRequests.slice(0, -1)])
      expect((await modern(one).request(method, params, { headers })).response?.error).toBeUndefined();
  });

  it.each(readRequests)('about tools only, %s is still for this machine', async (method, params) => {
    const one = await start({ authorizer: allow });
    expectClosed(await modern(one).request(method, params, { headers: proxied }), 'readAuthorizer');
    for (const [other, rest] of toolRequests)
      expect((await modern(one).request(other, rest, { headers: proxied })).status).toBe(200);
    expect((await modern(one).request('server/discover', {}, { headers: proxied })).status).toBe(200);
  });

  it.each(readRequests.slice(0, -1))(
    'about tools only, %s is still for this machine in a session too',
    async (method, params) => {
      const one = await start({ authorizer: allow });
      const session = await legacySession(one, { headers: proxied });
      expectClosed(await session.request(method, params), 'readAuthorizer');
      expectClosed(await session.request('resources/subscribe', { uri: 'file:///readme' }), 'readAuthorizer');
      expect((await session.callTool('echo')).status).toBe(200);
    },
  );

  it.each(toolRequests)('about reads only, %s is still for this machine', async (method, params) => {
    const one = await start({ readAuthorizer: allow });
    expectClosed(await modern(one).request(method, params, { headers: proxied }), 'authorizer');
    for (const [other, rest] of readRequests.slice(0, -1))
      expect((await modern(one).request(other, rest, { headers: proxied })).response?.error).toBeUndefined();
  });

  it('about tools only, changes of lists may be heard of', async () => {
    const one = await start({ authorizer: allow });
    const stream = await modern(one).stream(
      'subscriptions/listen',
      { notifications: { toolsListChanged: true, resourceSubscriptions: [] } },
      { headers: proxied },
    );
    expect((await stream.next())?.message?.method).toBe('notifications/subscriptions/acknowledged');
    stream.close();
  });
});

describe('a fallback that a framework installs: authorizerSource', () => {
  it('runs, and counts as if nobody had decided', async () => {
    const one = await start({
      authorizer: ({ name }) => (name === 'echo' ? deny('Not even here') : allow()),
      readAuthorizer: () => deny('Not even here'),
      authorizerSource: 'default',
    });
    expectClosed(await modern(one).request('tools/list', {}, { headers: proxied }), 'authorizer');
    expectClosed(await modern(one).request('prompts/list', {}, { headers: proxied }), 'readAuthorizer');
    expect((await modern(one).request('tools/list')).response?.result?.tools).toEqual([]);
    expect((await modern(one).request('prompts/list')).response?.result?.prompts).toEqual([]);
  });

  it.each(['x', '', null, true])('is none of %j', (authorizerSource) => {
    const make = () => new McpServer({ name: 's', version: '1' }, { authorizerSource: authorizerSource as never });
    expect(make).toThrow(/authorizerSource/);
  });
});

describe('whether somebody has decided', () => {
  const server = (options: McpServerOptions) => {
    const made = new McpServer({ name: 's', version: '1' }, options);
    return [made.authorizationConfigured(), made.readAuthorizationConfigured()];
  };

  it('is told, and told no when unsure', () => {
    expect(server({})).toEqual([false, false]);
    expect(server({ authorizer: undefined, readAuthorizer: undefined })).toEqual([false, false]);
    expect(server({ authorizer: allow })).toEqual([true, false]);
    expect(server({ readAuthorizer: allow })).toEqual([false, true]);
    expect(server({ authorizer: allowAll, readAuthorizer: allowAll })).toEqual([true, true]);
    expect(server({ authorizer: allow, readAuthorizer: allow, authorizerSource: 'configured' })).toEqual([true, true]);
    expect(server({ authorizer: allow, readAuthorizer: allow, authorizerSource: 'default' })).toEqual([false, false]);
    expect(server({ authorizerSource: 'configured' })).toEqual([false, false]);
  });

  it.each(['allowAll', true, {}, null])('is not decided by %j', (hook) => {
    for (const option of ['authorizer', 'readAuthorizer'])
      expect(() => new McpServer({ name: 's', version: '1' }, { [option]: hook as never })).toThrow(
        new RegExp(`${option}.*allowAll`),
      );
  });
});

describe('a sensitive tool', () => {
  const sensitive = [
    ['destructiveHint', { annotations: { destructiveHint: true } }],
    ['sensitive', { sensitive: true }],
    ['destructiveHint, whatever sensitive says', { annotations: { destructiveHint: true }, sensitive: false }],
    ['both', { annotations: { destructiveHint: true, readOnlyHint: true }, sensitive: true }],
  ] as const;
  const harmless = [
    ['nothing', {}],
    ['destructiveHint: false', { annotations: { destructiveHint: false } }],
    ['sensitive: false', { sensitive: false }],
    ['readOnlyHint', { annotations: { readOnlyHint: true } }],
  ] as const;

  const make = (config: object, options: McpServerOptions) => {
    const server = new McpServer({ name: 's', version: '1' }, options);
    server.registerTool('wipe', config, () => 'wiped');
    return server;
  };

  it.each(sensitive)('is not mounted while nobody has decided: %s', (_what, config) => {
    for (const options of [
      {},
      { readAuthorizer: allowAll },
      { authorizer: allow, authorizerSource: 'default' as const },
    ])
      expect(() => mcpRouter(make(config, options))).toThrow(/"wipe".*authorizer/);
    expect(() => mcpRouter(make(config, { authorizer: allowAll }))).not.toThrow();
  });

  it.each(harmless)('is not one with %s', (_what, config) => {
    expect(() => mcpRouter(make(config, {}))).not.toThrow();
  });

  it.each(sensitive)(
    'that comes later is denied while nobody has decided, by every door: %s',
    async (_what, config) => {
      let ran = 0;
      const one = await start({});
      const run = () => {
        ran += 1;
        return 'ran';
      };
      one.server.registerTool('wipe', config, run);
      const handle = one.server.registerTool('change', {}, run);
      handle.update(config);
      one.server.provideTools({ listTools: () => [{ name: 'given', ...config }], callTool: run });
      const session = await legacySession(one);
      const memory = await join(one.server);
      for (const name of ['wipe', 'change', 'given']) {
        for (const reply of [await modern(one).callTool(name), await session.callTool(name)])
          expect(denialIn(reply.response)).toMatchObject({
            code: 'authorization_denied',
            reason: expect.stringContaining('authorizer'),
          });
        expect(denialIn(await memory.callTool(name))).toMatchObject({ code: 'authorization_denied' });
      }
      expect(ran).toBe(0);
      // What does no harm is served meanwhile.
      handle.update({ annotations: { destructiveHint: false }, sensitive: false });
      expect((await modern(one).callTool('change')).response?.result?.isError).toBeUndefined();
      expect(ran).toBe(1);
      memory.close();
    },
  );

  it('is denied by a fallback’s yes too', async () => {
    const one = await start({ authorizer: allow, authorizerSource: 'default' });
    one.server.registerTool('wipe', { sensitive: true }, () => 'wiped');
    expect(denialIn((await modern(one).callTool('wipe')).response)).toMatchObject({ code: 'authorization_denied' });
  });

  it('runs where somebody has decided so', async () => {
    const one = await start({ authorizer: allowAll });
    one.server.registerTool('wipe', { sensitive: true }, () => 'wiped');
    expect((await modern(one).callTool('wipe')).response?.result?.isError).toBeUndefined();
  });
});
