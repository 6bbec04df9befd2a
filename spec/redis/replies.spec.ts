/** What becomes of replies' streams while Redis is away, and when their nodes die at their very beginning. */
import { createCluster } from '../support/cluster';
import type { Cluster } from '../support/cluster';
import { createRedis, describeRedis } from '../support/redis';
import type { Redis } from '../support/redis';
import { legacySession, modern, openStream, textOf } from '../support/wire';
import type { LegacySession } from '../support/wire';

describeRedis('A reply that becomes a stream', () => {
  let redis: Redis;
  let cluster: Cluster;
  let session: LegacySession;
  let goOn: () => void;
  let paused: Promise<void>;
  beforeAll(async () => {
    redis = await createRedis();
  });
  beforeEach(async () => {
    const released = new Promise<void>((resolve) => (goOn = resolve));
    let tell: () => void;
    paused = new Promise((resolve) => (tell = resolve));
    cluster = await createCluster(redis, {
      setup(server) {
        server.registerTool('late', { description: 'Reports once Redis is away' }, async (_, ctx) => {
          redis.pause();
          ctx.progress(1);
          tell();
          await released;
          ctx.progress(2);
          return 'done';
        });
      },
    });
    session = await legacySession(cluster);
  });
  afterEach(() => {
    redis.resume();
    goOn();
    return cluster.close();
  });
  afterAll(() => redis.close());

  const get = (node: number, lastEventId: string) =>
    openStream(cluster.nodes[node]!.url, {
      headers: { ...session.headers, 'Last-Event-ID': lastEventId },
      revision: session.revision,
    });
  const callLate = () =>
    openStream(cluster.nodes[0]!.url, {
      method: 'POST',
      headers: session.headers,
      body: {
        jsonrpc: '2.0',
        id: 7,
        method: 'tools/call',
        params: { name: 'late', arguments: {}, _meta: { progressToken: 't' } },
      },
      revision: session.revision,
    });
  const progressed = ({ method }: { method?: string }) => method === 'notifications/progress';

  it('gives no event id away before any node could resume after it', async () => {
    let opened = false;
    const opening = callLate().finally(() => (opened = true));
    await paused;
    // Others go on meanwhile: there and back, ten times.
    for (let n = 0; n < 10; n += 1)
      expect(textOf(await modern(cluster.nodes[0]!).callTool('echo', { text: 'x' }))).toContain('x');
    expect(opened).toBe(false);
    redis.resume();
    const reply = await opening;
    await reply.find(progressed);
    expect(reply.events[0]).toMatchObject({ data: '', id: expect.any(String) });
    const resumed = await get(1, reply.events[0]!.id!);
    expect(resumed.status).toBe(200);
    goOn();
    await resumed.find(({ id }) => id === 7);
    await resumed.ended;
  });

  it('does not make a result wait for Redis: it comes without event ids', async () => {
    const opening = callLate();
    goOn();
    const reply = await opening;
    await reply.find(({ id }) => id === 7);
    await reply.ended;
    expect(reply.events.map(({ id, message }) => [id, message?.params?.progress])).toEqual([
      [undefined, 1],
      [undefined, 2],
      [undefined, undefined],
    ]);
  });

  it('that lets its connection go does so once the client can come back', async () => {
    const leaving = cluster.nodes[0]!.server;
    leaving.registerTool('leave', { description: 'Lets go' }, async (_, ctx) => {
      const closes = ctx.closeStream();
      await new Promise<void>((resolve) => (goOn = resolve));
      return `closed: ${closes}`;
    });
    const reply = await openStream(cluster.nodes[0]!.url, {
      method: 'POST',
      headers: session.headers,
      body: { jsonrpc: '2.0', id: 8, method: 'tools/call', params: { name: 'leave', arguments: {} } },
      revision: session.revision,
    });
    await reply.ended;
    expect(reply.events).toMatchObject([{ data: '', id: expect.any(String), retry: expect.any(Number) }]);
    goOn();
    const resumed = await get(2, reply.events[0]!.id!);
    expect(JSON.stringify(await resumed.find(({ id }) => id === 8))).toContain('closed: true');
    await resumed.ended;
  });
});
