/** What is advertised works, and what is not advertised is not there. */
import type { McpServer } from 'express-mcp';
import * as z from 'zod';
import { connect, eras } from '../support/eras';
import type { EraClient } from '../support/eras';
import { join } from '../support/memory';
import { latestLegacy, modernRevision } from '../support/schema';
import { createServer, serve } from '../support/serve';

const run = () => 'x';
const argsSchema = z.object({ a: z.string() });

/** Each feature: how it is declared, and requests that exist with it. */
const features: Record<string, { declare(server: McpServer): void; requests: [string, Record<string, unknown>][] }> = {
  tools: {
    declare: (server) => server.registerTool('x', {}, run),
    requests: [
      ['tools/list', {}],
      ['tools/call', { name: 'x' }],
    ],
  },
  resources: {
    declare: (server) => server.registerResource('x', 'x:1', {}, run),
    requests: [
      ['resources/list', {}],
      ['resources/templates/list', {}],
      ['resources/read', { uri: 'x:1' }],
    ],
  },
  prompts: {
    declare: (server) => server.registerPrompt('x', {}, run),
    requests: [
      ['prompts/list', {}],
      ['prompts/get', { name: 'x' }],
    ],
  },
  completions: {
    declare: (server) => server.registerPrompt('y', { argsSchema, complete: { a: () => ['x'] } }, run),
    requests: [['completion/complete', { ref: { type: 'ref/prompt', name: 'y' }, argument: { name: 'a', value: '' } }]],
  },
};

async function advertised(client: EraClient, initialize: Record<string, unknown> | undefined): Promise<string[]> {
  const result = initialize ?? (await client.request('server/discover')).response?.result;
  return Object.keys(result?.capabilities as object).sort();
}

describe.each(eras)('%s era, over HTTP', (era) => {
  // https://modelcontextprotocol.io/specification/2026-07-28/server/tools#capabilities and its kin: MUST declare
  it.each(['none', ...Object.keys(features)])('a server with this declared alone: %s', async (name) => {
    const served = await serve((server) => features[name]?.declare(server));
    try {
      const client = await connect(era, served);
      const initialize = era === 'legacy' ? await initializeResult(served.server) : undefined;
      // A completer belongs to a prompt.
      const there = name === 'completions' ? ['completions', 'prompts'] : features[name] === undefined ? [] : [name];
      expect(await advertised(client, initialize)).toEqual([...there, 'logging'].sort());
      for (const [feature, { requests }] of Object.entries(features)) {
        for (const [method, params] of requests) {
          const reply = await client.request(method, params);
          if (there.includes(feature)) {
            expect(reply.status).toBe(200);
            expect(reply.response?.error?.code).not.toBe(-32601);
          } else {
            expect(reply.status).toBe(era === 'modern' ? 404 : 200);
            expect(reply.response?.error?.code).toBe(-32601);
          }
        }
      }
    } finally {
      await served.close();
    }
  });

  it('logging works wherever it is advertised', async () => {
    const served = await serve((server) =>
      server.registerTool('log', {}, (_args, context) => context.log('error', 'heard')),
    );
    try {
      const client = await connect(era, served);
      if (era === 'legacy') {
        expect((await client.request('logging/setLevel', { level: 'error' })).response?.result).toEqual({});
      }
      const _meta = { 'io.modelcontextprotocol/logLevel': 'error' };
      const reply = await client.request('tools/call', { name: 'log', ...(era === 'modern' ? { _meta } : {}) });
      expect(reply.messages[0]).toMatchObject({ method: 'notifications/message', params: { data: 'heard' } });
    } finally {
      await served.close();
    }
  });

  it('the first of a kind that is registered later is there for those who have asked before', async () => {
    const served = await serve((server) => features.tools!.declare(server));
    try {
      const client = await connect(era, served);
      expect((await client.request('resources/list')).response?.error?.code).toBe(-32601);
      features.resources!.declare(served.server);
      expect((await client.request('resources/list')).response?.result?.resources).toHaveLength(1);
      const later = await connect(era, served);
      const initialize = era === 'legacy' ? await initializeResult(served.server) : undefined;
      expect(await advertised(later, initialize)).toContain('resources');
    } finally {
      await served.close();
    }
  });
});

/** The answer to `initialize`, which the client of the specs keeps to itself. */
async function initializeResult(server: McpServer): Promise<Record<string, unknown> | undefined> {
  return (await join(server, { listening: false })).initializeResult;
}

describe('a feature', () => {
  it.each([latestLegacy, modernRevision] as const)(
    'stays advertised when the last of its kind is removed: %s',
    async (revision) => {
      const server = createServer();
      server.registerTool('x', {}, run).remove();
      server.registerPrompt('x', {}, run).remove();
      server.registerResource('x', 'x:1', {}, run).remove();
      const client = await join(server, { revision });
      const result = client.initializeResult ?? (await client.request('server/discover')).result!;
      expect(Object.keys(result.capabilities as object).sort()).toEqual(['logging', 'prompts', 'resources', 'tools']);
      for (const list of ['tools', 'prompts', 'resources']) {
        expect((await client.request(`${list}/list`)).result?.[list]).toEqual([]);
      }
      client.close();
    },
  );

  it('is there when a provider gives it', async () => {
    const server = createServer();
    server.provideTools({ listTools: () => [], callTool: run });
    const client = await join(server);
    expect(client.initializeResult?.capabilities).toHaveProperty('tools');
    expect((await client.request('tools/list')).result?.tools).toEqual([]);
    client.close();
  });

  it('is there when an update brings it', async () => {
    const server = createServer();
    const prompt = server.registerPrompt('x', { argsSchema }, run);
    const before = await join(server, { listening: false });
    expect(before.initializeResult?.capabilities).not.toHaveProperty('completions');
    prompt.update({ complete: { a: () => ['x'] } });
    const after = await join(server, { listening: false });
    expect(after.initializeResult?.capabilities).toHaveProperty('completions');
    const params = { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: '' } };
    expect((await after.request('completion/complete', params)).result?.completion).toMatchObject({ values: ['x'] });
  });
});

describe('news of changes', () => {
  const all = createServer((server) => {
    for (const name of ['tools', 'resources', 'prompts']) features[name]!.declare(server);
  });

  it.each([latestLegacy, modernRevision] as const)(
    'are advertised to those who can hear them: %s',
    async (revision) => {
      for (const listening of [true, false]) {
        const client = await join(all, { revision, listening });
        const result = client.initializeResult ?? (await client.request('server/discover')).result!;
        const news = listening ? { listChanged: true } : {};
        expect(result.capabilities).toEqual({
          logging: {},
          tools: news,
          prompts: news,
          resources: listening ? { ...news, subscribe: true } : {},
        });
        client.close();
      }
    },
  );

  it('cannot be asked for where nothing would be heard', async () => {
    const deaf = await join(all, { listening: false });
    for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
      expect((await deaf.request(method, { uri: 'x:1' })).error?.code).toBe(-32601);
    }
    const modern = await join(all, { revision: modernRevision, listening: false });
    const params = { notifications: { toolsListChanged: true } };
    expect((await modern.request('subscriptions/listen', params)).error?.code).toBe(-32600);
  });
});
