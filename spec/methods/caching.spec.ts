/** How long, and by whom, an answer may be kept; and the rest of the modern envelope. */
import { allow, deny } from 'express-mcp';
import type { Authorizer, McpServer, McpServerOptions, ReadAuthorizer } from 'express-mcp';
import { connect, eras } from '../support/eras';
import { join } from '../support/memory';
import type { MemoryClient } from '../support/memory';
import { modernRevision } from '../support/schema';
import { createServer, serve } from '../support/serve';

const run = () => 'x';
function registerAll(server: McpServer): void {
  for (const name of ['x', 'y', 'z']) {
    server.registerTool(name, {}, run);
    server.registerPrompt(name, {}, run);
    server.registerResource(name, `x:${name}`, {}, run);
    server.registerResource(name, `x:{id}/${name}`, {}, run);
  }
}

// https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#cacheable-results
const cacheable: Record<string, [string, Record<string, unknown>]> = {
  discover: ['server/discover', {}],
  tools: ['tools/list', {}],
  prompts: ['prompts/list', {}],
  resources: ['resources/list', {}],
  resourceTemplates: ['resources/templates/list', {}],
  read: ['resources/read', { uri: 'x:x' }],
};
const all = Object.keys(cacheable);

async function hintsOf(client: MemoryClient, what: string): Promise<unknown> {
  const { result } = await client.request(...cacheable[what]!);
  return { ttlMs: result?.ttlMs, cacheScope: result?.cacheScope };
}

async function hints(options: McpServerOptions = {}, setup = registerAll): Promise<Record<string, unknown>> {
  const client = await join(createServer(setup, { server: options }), { revision: modernRevision });
  const found: Record<string, unknown> = {};
  for (const what of all) found[what] = await hintsOf(client, what);
  client.close();
  return found;
}

describe('the envelope of every result', () => {
  const requests: [string, Record<string, unknown>][] = [
    ...Object.values(cacheable),
    ['tools/call', { name: 'x' }],
    ['prompts/get', { name: 'x' }],
  ];

  it.each(eras)('in the %s era, over HTTP', async (era) => {
    const served = await serve(registerAll);
    try {
      const client = await connect(era, served);
      for (const [method, params] of requests) {
        if (era === 'legacy' && method === 'server/discover') continue;
        const { result } = (await client.request(method, params)).response!;
        if (era === 'legacy') {
          for (const field of ['resultType', 'ttlMs', 'cacheScope', '_meta']) expect(result).not.toHaveProperty(field);
          continue;
        }
        // https://modelcontextprotocol.io/specification/2026-07-28/basic: MUST have a type, SHOULD name the server
        expect(result).toMatchObject({
          resultType: 'complete',
          _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'bare', version: '1.0.0' } },
        });
        const isCacheable = Object.values(cacheable).some(([known]) => known === method);
        expect('ttlMs' in result!).toBe(isCacheable);
        expect('cacheScope' in result!).toBe(isCacheable);
      }
    } finally {
      await served.close();
    }
  });

  it('leaves the author’s own _meta beside the server’s', async () => {
    const server = createServer((s) => s.registerTool('x', {}, () => ({ content: [], _meta: { 'a.b/c': 1 } })));
    const { result } = await (await join(server, { revision: modernRevision })).callTool('x');
    expect(result?._meta).toEqual({
      'a.b/c': 1,
      'io.modelcontextprotocol/serverInfo': { name: 'bare', version: '1.0.0' },
    });
  });
});

describe('hints', () => {
  const list = { ttlMs: 0, cacheScope: 'public' };

  it('say nothing may be kept, unless the server says otherwise; a read is the caller’s own', async () => {
    expect(await hints()).toEqual({
      ...Object.fromEntries(all.map((what) => [what, list])),
      read: { ttlMs: 0, cacheScope: 'private' },
    });
  });

  it.each(all)('are the server’s own for: %s', async (what) => {
    const own = { ttlMs: 60_000, cacheScope: what === 'read' ? 'public' : 'private' } as const;
    const found = await hints({ cache: { [what]: own } });
    expect(found[what]).toEqual(own);
    for (const other of all) if (other !== what) expect(found[other]).toMatchObject({ ttlMs: 0 });
    expect((await hints({ cache: { [what]: { ttlMs: 5 } } }))[what]).toMatchObject({ ttlMs: 5 });
  });

  it('may be a resource’s own', async () => {
    const cache = { ttlMs: 1_000, cacheScope: 'public' } as const;
    const server = createServer(
      (s) => {
        s.registerResource('own', 'x:own', { cache }, run);
        s.registerResource('family', 'y:{id}', { cache: { ttlMs: 7 } }, run);
        s.registerResource('other', 'x:other', {}, run);
      },
      { server: { cache: { read: { ttlMs: 5 } } } },
    );
    const client = await join(server, { revision: modernRevision });
    const read = async (uri: string) => (await client.request('resources/read', { uri })).result;
    expect(await read('x:own')).toMatchObject(cache);
    expect(await read('y:1')).toMatchObject({ ttlMs: 7, cacheScope: 'private' });
    expect(await read('x:other')).toMatchObject({ ttlMs: 5, cacheScope: 'private' });
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#security-considerations
  it('are private wherever an authorizer could answer callers differently, whatever the server says', async () => {
    const own = { cacheScope: 'public' } as const;
    const cache = Object.fromEntries(all.map((what) => [what, own]));
    const authorizer: Authorizer = ({ name }, { principal }) => (name === principal ? allow() : deny('not yours'));
    const found = await hints({
      authorizer: authorizer as Authorizer & ReadAuthorizer,
      readAuthorizer: () => allow(),
      cache,
    });
    expect(found).toEqual({
      ...Object.fromEntries(all.map((what) => [what, { ttlMs: 0, cacheScope: 'private' }])),
      discover: list,
    });
  });

  it('are private for tools that a provider computes, and for resources that a template lists', async () => {
    const found = await hints({}, (server) => {
      registerAll(server);
      server.provideTools({ listTools: () => [], callTool: run });
      server.registerResource('listed', 'z:{id}', { list: () => [] }, run);
    });
    expect(found).toMatchObject({
      tools: { cacheScope: 'private' },
      resources: { cacheScope: 'private' },
      prompts: { cacheScope: 'public' },
      resourceTemplates: { cacheScope: 'public' },
    });
  });

  // https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#interaction-with-pagination
  it('MUST have one scope on all pages of a list', async () => {
    const options = { pageSize: 1, cache: { tools: { cacheScope: 'private' as const, ttlMs: 3 } } };
    const client = await join(createServer(registerAll, { server: options }), { revision: modernRevision });
    let cursor: unknown;
    do {
      const { result } = await client.request('tools/list', { cursor });
      expect(result).toMatchObject({ cacheScope: 'private', ttlMs: 3 });
      cursor = result?.nextCursor;
    } while (cursor !== undefined);
  });
});

describe('a list that the server keeps for itself', () => {
  it('is made anew when it changes, and is each revision’s own', async () => {
    const server = createServer(registerAll);
    const modern = await join(server, { revision: modernRevision });
    const old = await join(server, { revision: '2024-11-05' });
    const count = async (client: MemoryClient) =>
      ((await client.request('tools/list')).result?.tools as unknown[]).length;
    expect([await count(modern), await count(old), await count(modern)]).toEqual([3, 3, 3]);
    const handle = server.registerTool('later', { title: 'Later' }, run);
    expect([await count(modern), await count(old)]).toEqual([4, 4]);
    const shown = async (client: MemoryClient) =>
      ((await client.request('tools/list')).result?.tools as { title?: string }[])[3]?.title;
    expect([await shown(modern), await shown(old)]).toEqual(['Later', undefined]);
    handle.update({ title: 'Renamed' });
    expect(await shown(modern)).toBe('Renamed');
    handle.remove();
    expect([await count(modern), await count(old)]).toEqual([3, 3]);
  });

  it('is not kept where callers differ', async () => {
    const authorizer: Authorizer = ({ name }, { principal }) => (name === principal ? allow() : deny('not yours'));
    const server = createServer(registerAll, { server: { authorizer } });
    for (const principal of ['x', 'y', 'x']) {
      const client = await join(server, { revision: modernRevision, connection: { principal } });
      const { result } = await client.request('tools/list');
      expect(result?.tools).toEqual([expect.objectContaining({ name: principal })]);
    }
  });
});
