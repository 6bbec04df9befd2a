/** `context.log`: what reaches the client, and what it never asked for. */
import type { LoggingLevel, McpServer } from 'express-mcp';
import * as z from 'zod';
import { connect } from '../support/eras';
import { join } from '../support/memory';
import { modernRevision } from '../support/schema';
import { createServer, serve } from '../support/serve';
import type { Served } from '../support/serve';
import type { Message } from '../support/wire';
import { legacySession, modern, textOf } from '../support/wire';

// https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging#log-levels
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

function registerAll(server: McpServer): void {
  server.registerTool('all', {}, (_args, context) => {
    for (const level of levels) context.log(level as LoggingLevel, { level }, 'spec');
  });
  server.registerTool('data', { inputSchema: z.object({ data: z.any().optional() }) }, ({ data }, context) => {
    context.log('error', data);
  });
  server.registerTool('loud', {}, (_args, context) => context.log('loud' as 'error', 'x'));
  server.registerPrompt('all', {}, (_args, context) => {
    context.log('error', 'prompt');
    return 'x';
  });
  server.registerResource('all', 'x:1', {}, (_uri, _variables, context) => {
    context.log('error', 'resource');
    return 'x';
  });
}

let served: Served;
beforeAll(async () => {
  served = await serve(registerAll);
});
afterAll(() => served.close());

const levelsOf = (messages: Message[]) =>
  messages.filter(({ method }) => method === 'notifications/message').map(({ params }) => params?.level);

describe('a modern request', () => {
  const call = (logLevel?: unknown, name = 'all') => {
    const _meta = logLevel === undefined ? {} : { 'io.modelcontextprotocol/logLevel': logLevel };
    return modern(served).request('tools/call', { name, _meta });
  };

  // https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging#per-request-log-level
  it('that names no level MUST hear nothing', async () => {
    expect((await call()).messages).toHaveLength(1);
  });

  it.each(levels)('that names a level hears from it up: %s', async (level) => {
    const { messages } = await call(level);
    expect(levelsOf(messages)).toEqual(levels.slice(levels.indexOf(level)));
    expect(messages.at(-1)).toHaveProperty('result');
    expect(messages[0]).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level, logger: 'spec', data: { level } },
    });
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging#error-handling
  it.each(['loud', 'WARNING', '', 5, null, {}, ['error']])(
    'that names no level there is SHOULD be refused with -32602: %j',
    async (level) => {
      const reply = await call(level);
      expect(reply.response?.error?.code).toBe(-32602);
      expect(reply.messages).toHaveLength(1);
    },
  );

  it('decides for itself alone', async () => {
    const [loud, silent] = await Promise.all([call('debug'), call()]);
    expect(levelsOf(loud.messages)).toEqual(levels);
    expect(levelsOf(silent.messages)).toEqual([]);
  });

  it('hears of prompts and resources too', async () => {
    const _meta = { 'io.modelcontextprotocol/logLevel': 'error' };
    const prompt = await modern(served).request('prompts/get', { name: 'all', _meta });
    const resource = await modern(served).request('resources/read', { uri: 'x:1', _meta });
    expect(prompt.messages[0]?.params?.data).toBe('prompt');
    expect(resource.messages[0]?.params?.data).toBe('resource');
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging#per-request-log-level
  it('MUST NOT be logged on a listen stream', async () => {
    const server = createServer(registerAll);
    const client = await join(server, { revision: modernRevision });
    const listening = client.request(
      'subscriptions/listen',
      { notifications: { toolsListChanged: true } },
      { meta: { 'io.modelcontextprotocol/logLevel': 'debug' } },
    );
    await client.find(({ method }) => method === 'notifications/subscriptions/acknowledged');
    await client.callTool('all');
    server.notifyToolsChanged();
    await client.find(({ method }) => method === 'notifications/tools/list_changed');
    expect(levelsOf(client.heard)).toEqual([]);
    client.close();
    await listening;
  });
});

describe('a legacy session', () => {
  // https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging#setting-log-level
  it('hears from info up until it says otherwise', async () => {
    const { messages } = await (await legacySession(served)).callTool('all');
    expect(levelsOf(messages)).toEqual(levels.slice(1));
  });

  it.each(levels)('hears from the level it has set: %s', async (level) => {
    const session = await legacySession(served);
    expect((await session.request('logging/setLevel', { level })).response?.result).toEqual({});
    expect(levelsOf((await session.callTool('all')).messages)).toEqual(levels.slice(levels.indexOf(level)));
  });

  it('sets it for itself alone', async () => {
    const [quiet, other] = [await legacySession(served), await legacySession(served)];
    await quiet.request('logging/setLevel', { level: 'emergency' });
    expect(levelsOf((await other.callTool('all')).messages)).toHaveLength(7);
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging#error-handling
  it.each(['loud', '', 5, null, undefined, {}])('SHOULD hear -32602 for a level there is not: %j', async (level) => {
    const session = await legacySession(served);
    expect((await session.request('logging/setLevel', { level })).response?.error?.code).toBe(-32602);
    expect(levelsOf((await session.callTool('all')).messages)).toHaveLength(7);
  });

  it('is not moved by the field of a modern request', async () => {
    const session = await legacySession(served);
    const _meta = { 'io.modelcontextprotocol/logLevel': 'emergency' };
    expect(levelsOf((await session.request('tools/call', { name: 'all', _meta })).messages)).toHaveLength(7);
  });
});

describe.each(['legacy', 'modern'] as const)('what is logged, %s era', (era) => {
  const call = async (name: string, args?: object) => {
    const client = await connect(era, served);
    const _meta = { 'io.modelcontextprotocol/logLevel': 'debug' };
    return client.request('tools/call', { name, arguments: args, _meta });
  };

  it.each(['text', 5, null, true, { a: [1] }, []])('may be any JSON value: %j', async (data) => {
    const { messages } = await call('data', { data });
    expect(messages[0]?.params).toEqual({ level: 'error', data });
  });

  it('that is nothing is null, since a message has its data', async () => {
    const { messages } = await call('data');
    expect(messages[0]?.params).toEqual({ level: 'error', data: null });
  });

  it('cannot have a level there is not: the author hears so', async () => {
    served.errors.splice(0);
    expect((await call('loud')).response?.error?.code).toBe(-32603);
    expect(served.errors).toEqual([new TypeError(`log(level): "loud" is not one of ${levels.join(', ')}`)]);
  });
});

describe('a client that takes JSON only', () => {
  it('gets its answer, without what came before', async () => {
    const headers = { Accept: 'application/json' };
    const _meta = { 'io.modelcontextprotocol/logLevel': 'debug' };
    const reply = await modern(served).request('tools/call', { name: 'all', _meta }, { headers });
    expect(reply.headers['content-type']).toBe('application/json');
    expect(reply.messages).toHaveLength(1);
    const session = await legacySession(served);
    expect((await session.request('tools/call', { name: 'all' }, { headers })).messages).toHaveLength(1);
    expect(() => textOf(reply)).toThrow();
  });
});
