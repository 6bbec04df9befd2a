/** Where an endpoint can be mounted, and what that does to its neighbours: nothing. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import compression from 'compression';
import connectApp from 'connect';
import express from 'express';
import type { Express } from 'express';
import express4 from 'express4';
import { allowAll, McpServer, mcpRouter } from 'express-mcp';
import type { McpRouterOptions } from 'express-mcp';
import { connect, eras } from '../support/eras';
import type { Era } from '../support/eras';
import { send } from '../support/exchange';
import { createFixture } from '../support/fixture';
import { closeListeners, listen } from '../support/listen';
import { legacySession, post, textOf } from '../support/wire';

const routers: ReturnType<typeof mcpRouter>[] = [];
afterEach(async () => {
  await Promise.all(routers.splice(0).map((router) => router.close({ graceMs: 0 })));
  await closeListeners();
});

function createRouter(options: McpRouterOptions = {}) {
  const server = new McpServer(
    { name: 'mounted', version: '1.0.0' },
    { authorizer: allowAll, readAuthorizer: allowAll },
  );
  server.registerTool('where', {}, (_args, { request }) => request?.url ?? 'nowhere');
  server.registerTool('reports', {}, (_args, ctx) => {
    ctx.progress(1);
    return 'done';
  });
  const router = mcpRouter(server, options);
  routers.push(router);
  return router;
}

/** The whole of it works there: a call, a stream of a call, and what its era has besides. */
async function expectServed(era: Era, url: string): Promise<void> {
  const client = await connect(era, { url });
  expect((await client.request('tools/list')).status).toBe(200);
  expect(textOf(await client.callTool('where'))).not.toBe('nowhere');
  const reply = await client.request('tools/call', { name: 'reports', arguments: {}, _meta: { progressToken: 1 } });
  expect([reply.events !== undefined, textOf(reply)]).toEqual([true, 'done']);
  if (era === 'modern') return;
  const session = await legacySession({ url });
  const stream = await session.get();
  expect(stream.status).toBe(200);
  expect((await session.delete()).status).toBe(204);
  await stream.ended;
}

const expresses = { 'Express 5': express, 'Express 4': express4 as unknown as typeof express };

describe.each(Object.entries(expresses))('under %s', (_name, createApp) => {
  const mounts: [string, string, (app: Express, router: ReturnType<typeof createRouter>) => void][] = [
    ['at a path', '/mcp', (app, router) => app.use('/mcp', router)],
    ['at the root', '/', (app, router) => app.use(router)],
    ['at the root, by name', '/', (app, router) => app.use('/', router)],
    ['at a path with a parameter', '/tenants/a/mcp', (app, router) => app.use('/tenants/:tenant/mcp', router)],
    [
      'in nested routers',
      '/api/v1/mcp',
      (app, router) => app.use('/api', createApp.Router().use('/v1', createApp.Router().use('/mcp', router))),
    ],
    ['behind compression()', '/mcp', (app, router) => app.use(compression({ threshold: 0 })).use('/mcp', router)],
    ['behind express.json()', '/mcp', (app, router) => app.use(createApp.json()).use('/mcp', router)],
    [
      'as a route of every verb',
      '/mcp',
      (app, router) => app.all('/mcp', (req, res, next) => router(at(req), res, next)),
    ],
  ];

  describe.each(eras)('in the %s era', (era) => {
    it.each(mounts)('it is served %s', async (_where, path, mount) => {
      const app = createApp();
      mount(app, createRouter());
      await expectServed(era, `${await listen(app)}${path}`);
    });

    it.each(['/mcp', '/mcp/', '/mcp?x=1', '/mcp/?x=1', '/MCP'])(
      'it is served directly at %s, without a redirect',
      async (path) => {
        const app = createApp();
        app.use('/mcp', createRouter());
        await expectServed(era, `${await listen(app)}${path}`);
      },
    );
  });

  it('every form of its address is behind the same login', async () => {
    const app = createApp();
    app.use('/mcp', (_req, res) => void res.status(401).json({ error: 'login' }), createRouter());
    const url = await listen(app);
    for (const path of ['/mcp', '/mcp/', '/mcp?x=1', '/MCP']) {
      expect((await send(`${url}${path}`, { body: {}, validate: false })).status).toBe(401);
    }
  });

  it.each(['/mcp', '/'])('routes of the host beside it are untouched: mounted at %s', async (mount) => {
    const app = createApp();
    app.use(mount, createRouter());
    const seen: unknown[] = [];
    app.use(createApp.json());
    app.use((req, res) => {
      seen.push(req.body);
      res.status(418).send('the host');
    });
    const url = await listen(app);
    const strange = { Origin: 'https://evil.example', Host: 'evil.example', 'Content-Type': 'application/json' };
    for (const path of ['/other', '/mcp/other', '/mcpx', '/mc', '//']) {
      for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE', 'PUT'] as const) {
        const body = method === 'POST' ? { a: 1 } : undefined;
        const reply = await send(`${url}${path}`, { method, headers: strange, body, validate: false });
        expect([path, method, reply.status]).toEqual([path, method, 418]);
        expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
      }
    }
    expect(seen).toContainEqual({ a: 1 });
  });
});

/** As `app.use` would give it on. */
function at(req: IncomingMessage): IncomingMessage {
  req.url = '/';
  return req;
}

describe.each(eras)('without Express, in the %s era', (era) => {
  it('it is served straight by http.createServer, at the path it is told', async () => {
    await expectServed(era, `${await listen(createRouter({ path: '/mcp' }))}/mcp`);
  });

  it('it is served straight by http.createServer at the root', async () => {
    await expectServed(era, await listen(createRouter()));
  });

  it('it is served with a next of the host', async () => {
    const router = createRouter({ path: '/mcp' });
    const url = await listen((req, res) => router(req, res, () => res.writeHead(418).end('the host')));
    await expectServed(era, `${url}/mcp`);
    expect((await send(`${url}/other`, { validate: false })).text).toBe('the host');
  });

  it('it is served under Connect', async () => {
    const app = connectApp()
      .use('/mcp', createRouter())
      .use((_req: IncomingMessage, res: ServerResponse) => res.writeHead(418).end('the host'));
    const url = await listen(app);
    await expectServed(era, `${url}/mcp`);
    expect((await send(`${url}/other`, { validate: false })).text).toBe('the host');
  });

  it('it is served at a path that is written with a slash at its end', async () => {
    const url = await listen(createRouter({ path: '/mcp/' }));
    for (const path of ['/mcp', '/mcp/']) await expectServed(era, `${url}${path}`);
  });
});

describe('every other path of a plain server', () => {
  it('is a JSON 404, never silence', async () => {
    const url = await listen(createRouter({ path: '/mcp' }));
    for (const path of ['/', '/other', '/mcp/other', '/mcpx', '/MCP', '/?/mcp', '/%6dcp']) {
      const reply = await post(`${url}${path}`, { jsonrpc: '2.0', id: 1, method: 'ping' });
      expect([path, reply.status, reply.json?.error?.code]).toEqual([path, 404, -32600]);
    }
  });

  it('is left to the error handling of the host where there is a next, whatever it does', async () => {
    const router = createRouter({ path: '/mcp' });
    const server = createServer((req, res) => {
      try {
        router(req, res, () => {
          throw new Error('of the host');
        });
      } catch (error) {
        res.writeHead(418).end(String(error));
      }
    });
    const url = await listen((req, res) => void server.emit('request', req, res));
    expect((await send(`${url}/other`, { validate: false })).text).toBe('Error: of the host');
  });
});

describe('two mounts of one server', () => {
  it('serve side by side, each its own sessions', async () => {
    const fixture = await createFixture();
    const second = mcpRouter(fixture.server);
    routers.push(second);
    fixture.app.use('/second', second);
    const session = await legacySession(fixture);
    const other = await legacySession({ url: fixture.url.replace('/mcp', '/second') });
    expect(textOf(await other.callTool('echo', { text: 'a' }))).toBe('a');
    const crossed = await other.request('ping', undefined, { headers: { 'Mcp-Session-Id': session.sessionId } });
    expect(crossed.status).toBe(404);
    await fixture.close();
  });
});

describe.each(Object.entries(expresses))('a mount that is never reached, under %s,', (_name, createApp) => {
  it.each<[string, (app: Express, options: McpRouterOptions) => void, string]>([
    ['the handler of a route', (app, options) => app.all('/mcp', createRouter(options)), 'not app.post or app.all'],
    [
      'at a path that is its option too',
      (app, options) => app.use('/mcp', createRouter({ ...options, path: '/mcp' })),
      'its endpoint would be /mcp/mcp',
    ],
  ])('says so, once: %s', async (_, mountAt, message) => {
    const errors: unknown[] = [];
    const app = createApp();
    mountAt(app, { onError: (error) => void errors.push(error) });
    const url = `${await listen(app)}/mcp`;
    for (let times = 0; times < 2; times += 1) expect((await fetch(url, { method: 'POST' })).status).toBe(404);
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining(message) })]);
  });

  it('is silent where the request is for somebody else', async () => {
    const errors: unknown[] = [];
    const app = createApp();
    app.use('/mcp', createRouter({ onError: (error) => void errors.push(error) }));
    expect((await fetch(`${await listen(app)}/mcp/other`, { method: 'POST' })).status).toBe(404);
    expect(errors).toEqual([]);
  });
});
