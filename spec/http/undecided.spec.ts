/** While nobody has decided who may: this machine only, and no sensitive tool. */
import { allow, allowAll, McpServer, mcpRouter } from 'express-mcp';
import type { McpServerOptions } from 'express-mcp';
import type { RequestHandler } from 'express';
import { connect, eras } from '../support/eras';
import { createFixture } from '../support/fixture';
import type { Fixture } from '../support/fixture';
import { initializeMessage, legacySession, modernRequest, post, send, textOf } from '../support/wire';
import type { Headers, Reply } from '../support/wire';

const undecided: McpServerOptions = { authorizer: undefined, readAuthorizer: undefined };

let fixture: Fixture;
afterEach(() => fixture.close());

/** A server without `destroy`, which would not start. */
async function start(server: McpServerOptions = undecided, before: RequestHandler[] = []): Promise<void> {
  fixture = await createFixture({ server, before, tools: false });
  fixture.server.registerTool('harmless', {}, () => 'done');
}

/** Another end of the connection, as the server sees it. */
function seenFrom(address: 'localAddress' | 'remoteAddress', value: string): RequestHandler {
  return (req, _res, next) => {
    Object.defineProperty(req.socket, address, { value, configurable: true });
    next();
  };
}

function expectRefused(reply: Reply, option = 'authorizer'): void {
  expect([reply.status, reply.json?.error?.code]).toEqual([403, -32600]);
  expect(reply.json?.error?.message).toContain(`"${option}"`);
}

/** Headers by which a proxy shows that the request comes from elsewhere. */
const forwarded: Headers[] = [
  { Forwarded: 'for=192.0.2.1' },
  { Forwarded: '' },
  { 'X-Forwarded-For': '192.0.2.1' },
  { 'X-Forwarded-Host': 'mcp.example' },
  { 'X-Forwarded-Proto': 'https' },
  { 'X-Forwarded-Port': '443' },
  { 'X-Forwarded-Anything': 'x' },
  { 'x-forwarded-for': '127.0.0.1' },
  { 'X-Real-IP': '127.0.0.1' },
  { Via: '1.1 proxy' },
];

describe.each(eras)('nobody has decided, %s era', (era) => {
  it('a request from this machine is served', async () => {
    await start();
    const client = await connect(era, fixture);
    expect(textOf(await client.callTool('harmless'))).toBe('done');
    expect((await client.request('resources/list')).status).toBe(200);
  });

  it.each(['::1', '::ffff:127.0.0.1', '127.0.0.2'])('a request from this machine is served: %s', async (address) => {
    await start(undecided, [seenFrom('remoteAddress', address), seenFrom('localAddress', address)]);
    expect(textOf(await (await connect(era, fixture)).callTool('harmless'))).toBe('done');
  });

  it.each(forwarded)('a request that came through a proxy is refused: %j', async (headers) => {
    await start();
    const client = await connect(era, fixture);
    expectRefused(await client.callTool('harmless', {}, { headers }));
    expectRefused(await client.request('tools/list', {}, { headers }));
    expectRefused(await client.request(era === 'legacy' ? 'ping' : 'server/discover', {}, { headers }));
  });

  it.each([
    ['localAddress', '192.0.2.1'],
    ['localAddress', '::'],
    ['remoteAddress', '192.0.2.1'],
    ['remoteAddress', '::ffff:192.0.2.1'],
    ['remoteAddress', '2001:db8::1'],
    ['remoteAddress', '128.0.0.1'],
  ] as const)('a request whose %s is %s is refused', async (which, value) => {
    await start(undecided, [seenFrom(which, value)]);
    const { body, headers } =
      era === 'legacy' ? { body: initializeMessage(), headers: {} } : modernRequest('tools/list');
    expectRefused(await post(fixture.url, body, headers));
  });

  it('a request in production is refused', async () => {
    await start();
    const client = await connect(era, fixture);
    const { NODE_ENV } = process.env;
    process.env.NODE_ENV = 'production';
    try {
      expectRefused(await client.callTool('harmless'));
    } finally {
      process.env.NODE_ENV = NODE_ENV;
    }
    expect(textOf(await client.callTool('harmless'))).toBe('done');
  });

  it('a request for another Host is refused, and allowedHosts does not decide who may', async () => {
    fixture = await createFixture({ server: undecided, tools: false, router: { allowedHosts: ['mcp.example'] } });
    const client = await connect(era, fixture);
    expectRefused(await client.request('tools/list', {}, { headers: { Host: 'mcp.example' } }));
  });

  it('a fallback that a framework installed has decided nothing', async () => {
    await start({ authorizer: () => allow(), readAuthorizer: () => allow(), authorizerSource: 'default' });
    const client = await connect(era, fixture);
    expectRefused(await client.callTool('harmless', {}, { headers: { Via: '1.1 proxy' } }));
    expect(textOf(await client.callTool('harmless'))).toBe('done');
  });

  it.each(['authorizer', 'readAuthorizer'] as const)(
    'a decision about the one is none about the other: %s',
    async (given) => {
      await start({ ...undecided, [given]: allowAll });
      const headers = { Via: '1.1 proxy' };
      const client = await connect(era, fixture, { headers });
      const tools = await client.request('tools/list');
      const reads = [
        await client.request('resources/list'),
        await client.request('resources/read', { uri: 'file:///readme.txt' }),
        await client.request('prompts/list'),
        await client.request('prompts/get', { name: 'greet' }),
      ];
      if (given === 'authorizer') {
        expect(tools.status).toBe(200);
        for (const reply of reads) expectRefused(reply, 'readAuthorizer');
      } else {
        expectRefused(tools);
        for (const reply of reads) expect(reply.status).toBe(200);
      }
    },
  );

  it('a decision, any decision, opens the door', async () => {
    await start({ authorizer: () => allow(), readAuthorizer: () => allow() });
    const client = await connect(era, fixture, { headers: { 'X-Forwarded-For': '192.0.2.1', Via: '1.1 proxy' } });
    expect(textOf(await client.callTool('harmless'))).toBe('done');
  });
});

describe('nobody has decided: within a session', () => {
  it('nothing comes or goes through a proxy', async () => {
    await start();
    const session = await legacySession(fixture);
    const batches = await legacySession(fixture, { revision: '2025-03-26' });
    const headers = { ...session.headers, Via: '1.1 proxy' };
    for (const reply of [
      await session.notify('notifications/initialized', undefined, { headers: { Via: '1.1 proxy' } }),
      await session.post({ jsonrpc: '2.0', id: 'q', result: {} }, { headers: { Via: '1.1 proxy' } }),
      await batches.post([{ jsonrpc: '2.0', id: 1, method: 'ping' }], { headers: { Via: '1.1 proxy' } }),
      await send(fixture.url, { method: 'GET', headers: { ...headers, Accept: 'text/event-stream' } }),
      await send(fixture.url, { method: 'DELETE', headers }),
    ]) {
      expectRefused(reply);
    }
    expect((await session.request('ping')).status).toBe(200);
  });
});

describe('a sensitive tool', () => {
  const sensitive = [{ sensitive: true }, { annotations: { destructiveHint: true } }];
  const make = (options: McpServerOptions = {}) => new McpServer({ name: 'sensitive', version: '1.0.0' }, options);

  it.each(sensitive)('does not start while nobody has decided: %j', (config) => {
    const server = make();
    server.registerTool('wipe', config, () => 'wiped');
    expect(() => mcpRouter(server)).toThrow(TypeError);
    expect(() => mcpRouter(server)).toThrow(/"wipe".*authorizer/);
    const fallback = make({ authorizer: () => allow(), authorizerSource: 'default' });
    fallback.registerTool('wipe', config, () => 'wiped');
    expect(() => mcpRouter(fallback)).toThrow(/"wipe"/);
    const reads = make({ readAuthorizer: allowAll });
    reads.registerTool('wipe', config, () => 'wiped');
    expect(() => mcpRouter(reads)).toThrow(/"wipe"/);
  });

  it.each(sensitive)('starts once somebody has: %j', async (config) => {
    for (const authorizer of [allowAll, () => allow()]) {
      const server = make({ authorizer });
      server.registerTool('wipe', config, () => 'wiped');
      await mcpRouter(server).close();
    }
  });

  it.each([{ sensitive: false }, { annotations: { destructiveHint: false } }, { annotations: { readOnlyHint: true } }])(
    'is none of these: %j',
    async (config) => {
      const server = make();
      server.registerTool('look', config, () => 'looked');
      await mcpRouter(server).close();
    },
  );

  it.each(eras)('is denied when it comes later, from this machine too: %s era', async (era) => {
    await start();
    const ran = jest.fn(() => 'wiped');
    fixture.server.registerTool('wipe', { sensitive: true }, ran);
    const handle = fixture.server.registerTool('turns', {}, ran);
    handle.update({ annotations: { destructiveHint: true } });
    fixture.server.provideTools({
      listTools: () => [{ name: 'provided', annotations: { destructiveHint: true }, inputSchema: { type: 'object' } }],
      callTool: ran,
    });
    const client = await connect(era, fixture);
    for (const name of ['wipe', 'turns', 'provided']) {
      const { response } = await client.callTool(name);
      expect(response?.result?.isError).toBe(true);
      expect(JSON.stringify(response?.result)).toMatch(/authorizer/);
    }
    expect(ran).not.toHaveBeenCalled();
    expect(textOf(await client.callTool('harmless'))).toBe('done');
  });
});
