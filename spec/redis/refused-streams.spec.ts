/** GETs that are refused on one node take no stream away from anybody on another. */
import { createCluster } from '../support/cluster';
import type { Cluster } from '../support/cluster';
import { createRedis, describeRedis } from '../support/redis';
import type { Redis } from '../support/redis';
import { legacySession } from '../support/wire';
import type { LegacySession, Message } from '../support/wire';

describeRedis('A GET that is refused', () => {
  let redis: Redis;
  let cluster: Cluster;
  let session: LegacySession;
  beforeAll(async () => {
    redis = await createRedis();
  });
  beforeEach(async () => {
    cluster = await createCluster(redis, { bearer: true, router: { maxStreamsPerPrincipal: 1 } }, 2);
    session = await open();
  });
  afterEach(() => cluster.close());
  afterAll(() => redis.close());

  const open = () => legacySession(cluster, { headers: { Authorization: 'Bearer alice-token' } });
  const get = (node: number, lastEventId?: string, whose = session) =>
    whose.at(cluster.nodes[node]!).get({ 'Last-Event-ID': lastEventId });
  const call = (name: string) =>
    session
      .at(cluster.nodes[0]!)
      .stream('tools/call', { name, arguments: {}, _meta: { progressToken: 't' } }, { id: 7 });
  const changed = ({ method }: Message) => method === 'notifications/tools/list_changed';
  /** Where no stream here has got to. */
  const positions = ['1', '8', '1000', '999999999999999'];

  it.each(positions)('for position %s of the session’s own stream leaves that where it is', async (position) => {
    const stream = await get(0);
    const forged = `${session.sessionId.slice(0, 6)}.0.${position}`;
    for (const node of [1, 0]) expect((await get(node, forged)).status).toBe(400);
    cluster.nodes[1]!.server.notifyToolsChanged();
    await stream.find(changed);
    expect(stream.events.filter(({ message }) => message !== undefined)).toHaveLength(1);
    stream.close();
  });

  it.each(positions.slice(1))('for position %s of a reply’s stream leaves that where it is', async (position) => {
    const reply = await call('report-and-hold');
    await reply.find(({ method }) => method === 'notifications/progress');
    const forged = reply.events[0]!.id!.replace(/\d+$/, position);
    for (const node of [1, 0]) expect((await get(node, forged)).status).toBe(400);
    await cluster.nodes[0]!.router.close({ graceMs: 0 });
    await reply.find(({ id }) => id === 7);
    expect((await get(1, forged)).status).toBe(400);
  });

  it('for a stream beyond a cap leaves that where it is', async () => {
    const mine = await get(0);
    const other = await get(1, undefined, await open());
    expect((await get(1)).status).toBe(429);
    cluster.nodes[1]!.server.notifyToolsChanged();
    await mine.find(changed);
    mine.close();
    other.close();
  });

  it('is not one that replaces the only stream there may be', async () => {
    const first = await get(0);
    const second = await get(0);
    expect(second.status).toBe(200);
    await first.ended;
    second.close();
  });

  it('is one that names what its node had yet to tell, if that node lives; where it is dead, the call has ended', async () => {
    const reply = await call('report-and-hold');
    await reply.find(({ method }) => method === 'notifications/progress');
    const [dead] = cluster.nodes;
    const untold = reply.events[0]!.id!.replace(/\d+$/, '3');
    expect((await get(1, untold)).status).toBe(400);
    reply.close();
    await dead!.sessions.shared.leave();
    await redis.command('DEL', `${cluster.prefix}:node:${dead!.sessions.shared.node}`);
    const resumed = await get(1, untold);
    expect((await resumed.find(({ id }) => id === 7)).error?.message).toContain('has ended');
    await resumed.ended;
  });
});
