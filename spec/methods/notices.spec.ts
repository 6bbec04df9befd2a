/** News for legacy sessions: lists, resources they have subscribed to, whatever the author says. */
import { allow, deny } from 'express-mcp';
import type { McpServer, ReadAuthorizer } from 'express-mcp';
import { join } from '../support/memory';
import type { MemoryClient } from '../support/memory';
import { modernRevision } from '../support/schema';
import { createServer, serve } from '../support/serve';
import { legacySession } from '../support/wire';

const run = () => 'x';
function registerAll(server: McpServer): void {
  server.registerTool('x', {}, run);
  server.registerPrompt('x', {}, run);
  server.registerResource('a', 'x:a', {}, run);
  server.registerResource('b', 'x:b', {}, run);
  server.registerResource('secret', 'x:secret', {}, run);
  server.registerResource('family', 'y:{id}', {}, run);
}

const readAuthorizer: ReadAuthorizer = (call) => ('uri' in call && call.uri === 'x:secret' ? deny('secret') : allow());

describe('a session without HTTP', () => {
  let server: McpServer;
  let client: MemoryClient;
  let heard: unknown[];
  beforeEach(async () => {
    server = createServer(registerAll, { server: { readAuthorizer } });
    client = await join(server);
    heard = client.heard;
  });
  afterEach(() => client.close());
  const ask = async (method: string, uri: unknown) => client.request(`resources/${method}`, { uri });
  const said = () => client.heard.map(({ method, params }) => params?.uri ?? method);

  // https://modelcontextprotocol.io/specification/2025-11-25/server/tools#list-changed-notification and its kin
  it('hears of each change of a list', () => {
    const tool = server.registerTool('later', {}, run);
    tool.update({ title: 'Later' });
    tool.remove();
    tool.remove();
    const prompt = server.registerPrompt('later', {}, run);
    prompt.update({ title: 'Later' });
    prompt.remove();
    const resource = server.registerResource('later', 'x:later', {}, run);
    resource.update({ title: 'Later' });
    resource.remove();
    const provider = server.provideTools({ listTools: () => [], callTool: run });
    provider.remove();
    provider.remove();
    server.notifyToolsChanged();
    server.notifyPromptsChanged();
    server.notifyResourcesChanged();
    const changed = (kind: string) => `notifications/${kind}/list_changed`;
    expect(said()).toEqual([
      ...[1, 2, 3].map(() => changed('tools')),
      ...[1, 2, 3].map(() => changed('prompts')),
      ...[1, 2, 3].map(() => changed('resources')),
      ...[1, 2, 3].map(() => changed('tools')),
      changed('prompts'),
      changed('resources'),
    ]);
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions
  it('hears of the resources it has subscribed to, and no others', async () => {
    expect((await ask('subscribe', 'x:a')).result).toEqual({});
    expect((await ask('subscribe', 'x:a')).result).toEqual({});
    expect((await ask('subscribe', 'y:7')).result).toEqual({});
    for (const uri of ['x:a', 'x:b', 'y:7', 'y:8', 'x:nope', 'x:secret']) server.notifyResourceUpdated(uri);
    expect(said()).toEqual(['x:a', 'y:7']);
  });

  it('hears no more after it has unsubscribed', async () => {
    await ask('subscribe', 'x:a');
    await ask('subscribe', 'x:b');
    expect((await ask('unsubscribe', 'x:a')).result).toEqual({});
    expect((await ask('unsubscribe', 'x:a')).result).toEqual({});
    expect((await ask('unsubscribe', 'x:never')).result).toEqual({});
    server.notifyResourceUpdated('x:a');
    server.notifyResourceUpdated('x:b');
    expect(said()).toEqual(['x:b']);
  });

  it.each(['x:nope', 'x:secret'])('cannot subscribe to what is not there for it: %s', async (uri) => {
    expect((await ask('subscribe', uri)).error).toMatchObject({ code: -32002, data: { uri } });
    server.notifyResourceUpdated(uri);
    expect(heard).toEqual([]);
  });

  it.each([undefined, null, 5, '', ['x:a']])('a uri of %j is -32602', async (uri) => {
    expect((await ask('subscribe', uri)).error?.code).toBe(-32602);
    expect((await ask('unsubscribe', uri)).error?.code).toBe(-32602);
  });

  it('may subscribe to a thousand resources', async () => {
    for (let n = 0; n < 1_000; n += 1) await ask('subscribe', `y:${n}`);
    expect((await ask('subscribe', 'y:1000')).error?.code).toBe(-32600);
    expect((await ask('subscribe', 'y:999')).result).toEqual({});
    await ask('unsubscribe', 'y:0');
    expect((await ask('subscribe', 'y:1000')).result).toEqual({});
  });

  it('may subscribe to uris of 256 Ki characters together', async () => {
    const [first, second] = ['a', 'b'].map((letter) => `y:${letter.repeat(200_000)}`);
    expect((await ask('subscribe', first)).result).toEqual({});
    expect((await ask('subscribe', second)).error?.code).toBe(-32600);
    expect((await ask('subscribe', first)).result).toEqual({});
    await ask('unsubscribe', first);
    expect((await ask('subscribe', second)).result).toEqual({});
  });

  it('hears what the author says, with and without params', async () => {
    server.notify('notifications/message', { level: 'info', data: 1 });
    expect(heard).toEqual([{ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } }]);
    server.notify('notifications/tools/list_changed');
    expect(heard[1]).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging#setting-log-level
  it('hears log messages of the author from its level up: info, until it has said another', async () => {
    const say = () => {
      for (const level of ['debug', 'info', 'warning', 'error'])
        server.notify('notifications/message', { level, data: 1 });
      return client.heard.splice(0).map(({ params }) => params?.level);
    };
    expect(say()).toEqual(['info', 'warning', 'error']);
    await client.request('logging/setLevel', { level: 'error' });
    expect(say()).toEqual(['error']);
    await client.request('logging/setLevel', { level: 'debug' });
    expect(say()).toEqual(['debug', 'info', 'warning', 'error']);
  });

  it.each([undefined, {}, { level: 'loud' }, { level: 0 }])(
    'cannot be sent a log message of no level: %j',
    (params) => {
      expect(() => server.notify('notifications/message', params)).toThrow(TypeError);
      expect(heard).toEqual([]);
    },
  );

  it('hears of a resource it has not subscribed to by no door', async () => {
    await ask('subscribe', 'x:a');
    for (const uri of ['x:a', 'x:b']) server.notify('notifications/resources/updated', { uri });
    expect(said()).toEqual(['x:a']);
    expect(() => server.notify('notifications/resources/updated')).toThrow(TypeError);
    expect(() => server.notify('notifications/resources/updated', { uri: 5 })).toThrow(TypeError);
  });

  it('hears alone what the author says to it', async () => {
    const other = await join(server);
    server.notify('notifications/message', { level: 'info', data: 1 }, client.connection);
    expect([client.heard.length, other.heard.length]).toEqual([1, 0]);
    server.notify('notifications/message', { level: 'info', data: 2 });
    expect([client.heard.length, other.heard.length]).toEqual([2, 1]);
    other.close();
  });

  it('does not share its subscriptions', async () => {
    const other = await join(server);
    await ask('subscribe', 'x:a');
    server.notifyResourceUpdated('x:a');
    expect([client.heard.length, other.heard.length]).toEqual([1, 0]);
    other.close();
  });

  it('hears nothing once it has closed', async () => {
    await ask('subscribe', 'x:a');
    client.close();
    server.notifyToolsChanged();
    server.notifyResourceUpdated('x:a');
    expect(heard).toEqual([]);
  });

  it('shares a server with modern clients, and neither hears the other’s', async () => {
    const modern = await join(server, { revision: modernRevision });
    server.notify('notifications/message', { level: 'info', data: 1 });
    server.notifyToolsChanged();
    expect(modern.heard).toEqual([]);
    expect(said()).toEqual(['notifications/message', 'notifications/tools/list_changed']);
    modern.close();
  });
});

describe('a client that has not said notifications/initialized', () => {
  // https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization: SHOULD NOT be sent more
  // than pings and logs
  it('hears no news', async () => {
    const server = createServer(registerAll);
    const connection = {};
    const heard: unknown[] = [];
    const stop = server.subscribe((message) => heard.push(message), connection);
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    await server.handleMessage({ jsonrpc: '2.0', id: 1, method: 'initialize', params }, connection);
    server.notifyToolsChanged();
    expect(heard).toEqual([]);
    await server.handleMessage({ jsonrpc: '2.0', method: 'notifications/initialized' }, connection);
    server.notifyToolsChanged();
    expect(heard).toHaveLength(1);
    stop();
  });
});

describe('a session over HTTP', () => {
  it('hears on its GET stream, what waited first', async () => {
    const served = await serve(registerAll);
    try {
      const session = await legacySession(served);
      await session.request('resources/subscribe', { uri: 'x:a' });
      served.server.notifyResourceUpdated('x:a');
      served.server.notifyResourceUpdated('x:a');
      served.server.notifyResourceUpdated('x:b');
      served.server.notifyToolsChanged();
      served.server.notifyToolsChanged();
      const stream = await session.get();
      served.server.notifyPromptsChanged();
      await stream.find(({ method }) => method === 'notifications/prompts/list_changed');
      const said = stream.events
        .flatMap(({ message }) => message ?? [])
        .map(({ method, params }) => params?.uri ?? method);
      expect(said).toEqual(['x:a', 'notifications/tools/list_changed', 'notifications/prompts/list_changed']);
      await session.request('resources/unsubscribe', { uri: 'x:a' });
      served.server.notifyResourceUpdated('x:a');
      served.server.notifyResourcesChanged();
      const next = await stream.find(() => true);
      expect(next.method).toBe('notifications/resources/list_changed');
      stream.close();
    } finally {
      await served.close();
    }
  });

  it('hears what the author says to every connection', async () => {
    const served = await serve(registerAll);
    try {
      const streams = await Promise.all([1, 2].map(async () => (await legacySession(served)).get()));
      served.server.notify('notifications/message', { level: 'info', data: 'all' });
      for (const stream of streams) {
        expect((await stream.find(({ method }) => method === 'notifications/message')).params?.data).toBe('all');
        stream.close();
      }
    } finally {
      await served.close();
    }
  });

  it('cannot subscribe where the mount sends nothing on its own', async () => {
    const served = await serve(registerAll, { router: { serverMessages: false } });
    try {
      const session = await legacySession(served);
      expect(session.initializeReply.response?.result?.capabilities).toMatchObject({ resources: {}, tools: {} });
      expect(session.initializeReply.text).not.toMatch(/listChanged|subscribe/);
      const reply = await session.request('resources/subscribe', { uri: 'x:a' });
      expect(reply.response?.error?.code).toBe(-32601);
    } finally {
      await served.close();
    }
  });
});
