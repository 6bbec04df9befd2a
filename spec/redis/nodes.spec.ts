/** Three nodes that share a Redis: any of them answers any request. */
import { McpServer, mcpRouter } from 'express-mcp';
import { redisSessions } from 'express-mcp/redis';
import { createCluster, secrets } from '../support/cluster';
import type { Cluster } from '../support/cluster';
import { eventually } from '../support/eventually';
import { createRedis, describeRedis } from '../support/redis';
import type { Redis } from '../support/redis';
import { initializeMessage, legacySession, modern, post, send, textOf } from '../support/wire';

function registerLog(server: McpServer): void {
  server.registerTool('log', { description: 'Logs on two levels' }, (_, ctx) => {
    ctx.log('info', 'chat');
    ctx.log('error', 'trouble');
    return 'done';
  });
}

describeRedis('Sessions on several nodes', () => {
  let redis: Redis;
  let cluster: Cluster;
  beforeAll(async () => {
    redis = await createRedis();
  });
  beforeEach(async () => {
    cluster = await createCluster(redis, { bearer: true, router: { maxSessionsPerPrincipal: 3 }, setup: registerLog });
  });
  afterEach(() => cluster.close());
  afterAll(() => redis.close());

  const alice = { Authorization: 'Bearer alice-token' };
  const bob = { Authorization: 'Bearer bob-token' };

  it('are opened on one, and used on every other', async () => {
    const session = await legacySession(cluster, { headers: alice });
    for (let n = 0; n < 6; n += 1) expect(textOf(await session.callTool('echo', { text: `${n}` }))).toContain(`${n}`);
    expect(cluster.nodes.map(({ calls }) => calls.length > 0)).toEqual([true, true, true]);
  });

  it('are reported as in use by one node for all, unless what it says cannot be', async () => {
    const open = async (minutesAgo?: number) => {
      const { headers, sessionId } = await legacySession(cluster, { headers: alice });
      const key = `{${cluster.prefix}:${sessionId}}`;
      const reportedAt = async () => Number(await redis.command('HGET', key, 't'));
      if (minutesAgo !== undefined) await redis.command('HSET', key, 't', String(Date.now() - minutesAgo * 60_000));
      const before = await reportedAt();
      for (const { url } of cluster.nodes) expect((await ping(url, headers)).status).toBe(200);
      return { before, reportedAt };
    };
    const fresh = await open();
    for (const minutesAgo of [1, -1]) {
      const { reportedAt } = await open(minutesAgo);
      let latest = 0;
      void (async () => {
        while (Math.abs(Date.now() - latest) > 10_000) latest = await reportedAt();
      })();
      await eventually(() => Math.abs(Date.now() - latest) < 10_000);
    }
    expect(await fresh.reportedAt()).toBe(fresh.before);
  });

  it('keep what the client set on another node', async () => {
    const session = await legacySession(cluster, { headers: alice });
    await session.request('logging/setLevel', { level: 'error' });
    for (const { url } of cluster.nodes) {
      const { messages } = await post(
        url,
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'log', arguments: {} } },
        session.headers,
      );
      expect(messages.flatMap(({ params }) => params?.data ?? [])).toEqual(['trouble']);
    }
  });

  // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
  it('MUST be 404 on every node once DELETE has ended them on one', async () => {
    const session = await legacySession(cluster, { headers: alice });
    for (const { url } of cluster.nodes) expect((await ping(url, session.headers)).status).toBe(200);
    expect((await send(cluster.nodes[1]!.url, { method: 'DELETE', headers: session.headers })).status).toBe(204);
    for (const { url } of cluster.nodes) expect((await ping(url, session.headers)).status).toBe(404);
  });

  it('are ended by one of several DELETEs that come in at the same time on different nodes', async () => {
    for (let times = 0; times < 5; times += 1) {
      const session = await legacySession(cluster, { headers: alice });
      const ends = cluster.nodes.map(({ url }) => send(url, { method: 'DELETE', headers: session.headers }));
      expect((await Promise.all(ends)).map(({ status }) => status).sort()).toEqual([204, 404, 404]);
    }
    const ended = cluster.nodes.map(({ router }) => router.stats().sessionsEnded.client ?? 0);
    expect(ended.reduce((sum, count) => sum + count)).toBe(5);
  });

  it('are nobody else’s on any node', async () => {
    const session = await legacySession(cluster, { headers: alice });
    for (const { url } of cluster.nodes) expect((await ping(url, { ...session.headers, ...bob })).status).toBe(404);
    expect((await ping(cluster.url, session.headers)).status).toBe(200);
  });

  it('abort a call on one node when DELETE comes in at another', async () => {
    const session = await legacySession(cluster, { headers: alice });
    const [a, b] = cluster.nodes;
    const call = post(
      a!.url,
      { jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'hold', arguments: {} } },
      session.headers,
    );
    await a!.until(() => a!.ran.length > 0);
    await send(b!.url, { method: 'DELETE', headers: session.headers });
    await a!.until(() => a!.aborted.length > 0);
    expect((await call).response).toBeDefined();
  });

  it('cancel a call on one node when the cancellation comes in at another', async () => {
    const session = await legacySession(cluster, { headers: alice });
    const [a, b] = cluster.nodes;
    const call = post(
      a!.url,
      { jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'hold', arguments: {} } },
      session.headers,
    );
    await a!.until(() => a!.ran.length > 0);
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } };
    expect((await post(b!.url, cancelled, session.headers)).status).toBe(202);
    await a!.until(() => a!.aborted.length > 0);
    expect((await call).messages).toEqual([]);
  });

  it('that end by being idle are told of once, by a node that lives', async () => {
    const ended: object[] = [];
    const idle = await createCluster(redis, {
      bearer: true,
      router: { sessionIdleMs: 200, onSessionEnd: (end) => ended.push(end) },
    });
    try {
      const { sessionId } = await legacySession({ url: idle.nodes[0]!.url }, { headers: alice });
      await idle.nodes[0]!.sessions.shared.leave();
      await eventually(() => ended.length > 0);
      expect(ended).toEqual([{ sessionId, principal: 'alice', reason: 'idle' }]);
    } finally {
      await idle.close();
    }
  });

  it('are opened, used and resumed whatever their idle time is divided by', async () => {
    const odd = await createCluster(redis, { router: { sessionIdleMs: 15_001 } }, 2);
    const session = await legacySession(odd);
    const reply = await session
      .at(odd.nodes[0]!)
      .stream('tools/call', { name: 'progress', arguments: {}, _meta: { progressToken: 't' } }, { id: 7 });
    await reply.ended;
    const resumed = await session.at(odd.nodes[1]!).get({ 'Last-Event-ID': reply.events[0]!.id });
    expect(resumed.status).toBe(200);
    resumed.close();
    await odd.close();
  });

  it('are capped per principal over all nodes', async () => {
    for (let n = 0; n < 3; n += 1) await legacySession(cluster, { headers: alice });
    const refused = await post(cluster.url, initializeMessage(), alice);
    expect([refused.status, refused.headers['retry-after'], refused.json?.id]).toEqual([503, '5', 'init']);
    await legacySession(cluster, { headers: bob });
  });

  it('answer 503 within bounded time while Redis is away, and go on when it is back', async () => {
    const session = await legacySession(cluster, { headers: alice });
    redis.pause();
    const refused = await Promise.all([
      ping(cluster.url, session.headers),
      post(cluster.url, initializeMessage(), alice),
      send(cluster.url, { method: 'DELETE', headers: session.headers }),
      send(cluster.url, { method: 'GET', headers: { ...session.headers, Accept: 'text/event-stream' } }),
      session.notify('notifications/initialized'),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
    expect(refused.map(({ headers }) => headers['retry-after'])).toEqual(['5', '5', '5', '5', '5']);
    // What needs nothing of it works.
    expect(textOf(await modern(cluster, alice).callTool('echo', { text: 'modern' }))).toContain('modern');
    redis.resume();
    for (let status = 503; status !== 200;) status = (await ping(cluster.url, session.headers)).status;
  });

  it('are over, not broken, when Redis has been restarted empty', async () => {
    const session = await legacySession(cluster, { headers: alice });
    await redis.kill();
    expect((await ping(cluster.url, session.headers)).status).toBe(503);
    await redis.start();
    for (const { url } of cluster.nodes) {
      let status = 503;
      while (status === 503) ({ status } = await ping(url, session.headers));
      expect(status).toBe(404);
    }
    await legacySession(cluster, { headers: alice });
  });

  const ping = (url: string, headers: Record<string, string | string[] | undefined>) =>
    post(url, { jsonrpc: '2.0', id: 1, method: 'ping' }, headers);

  it('need secrets that all nodes have', () => {
    const server = new McpServer({ name: 'no-secrets', version: '1.0.0' });
    expect(() => mcpRouter(server, { sessions: redis.createStore() })).toThrow(/secrets/);
  });

  it('take one store for one mount', () => {
    const server = new McpServer({ name: 'two-mounts', version: '1.0.0' }, { secrets });
    const sessions = redis.createStore();
    const router = mcpRouter(server, { sessions });
    expect(() => mcpRouter(server, { sessions })).toThrow(TypeError);
    return router.close({ graceMs: 0 });
  });

  it.each([
    [{ client: undefined }, TypeError],
    [{ client: {} }, TypeError],
    [{ prefix: '' }, TypeError],
    [{ prefix: 'a{b}' }, TypeError],
    [{ commandTimeoutMs: 0 }, RangeError],
    [{ commandTimeoutMs: NaN }, RangeError],
    [{ commandTimeoutMs: 2 ** 31 }, RangeError],
  ])('refuse the options %j', (options, error) => {
    const client = { duplicate: () => ({}) };
    expect(() => redisSessions({ client, ...options } as never)).toThrow(error);
  });
});
