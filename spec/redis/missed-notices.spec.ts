/** What a session's stream has missed: looked up by whom it concerns, and never left out in silence. */
import { createCluster } from '../support/cluster';
import type { Cluster } from '../support/cluster';
import { eventually } from '../support/eventually';
import { createRedis, describeRedis } from '../support/redis';
import type { Redis } from '../support/redis';
import { legacySession, modern, post } from '../support/wire';
import type { LegacySession } from '../support/wire';

describeRedis('Notices that a node has missed', () => {
  let redis: Redis;
  let cluster: Cluster;
  let session: LegacySession;
  let ended: string[];
  beforeAll(async () => {
    redis = await createRedis();
  });
  beforeEach(async () => {
    ended = [];
    cluster = await createCluster(redis, { router: { onSessionEnd: ({ reason }) => ended.push(reason) } }, 2);
    session = await legacySession(cluster);
  });
  afterEach(() => cluster.close());
  afterAll(() => redis.close());

  const get = (node: number) => session.at(cluster.nodes[node]!).get();
  const ping = (node: number) => session.at(cluster.nodes[node]!).request('ping');
  const says = (text: string) =>
    cluster.nodes[1]!.server.notify('notifications/message', { level: 'info', data: text });
  /** As if more had been said than is kept. */
  const forget = async () => {
    const last = await redis.command('GET', `{${cluster.prefix}}:seq`);
    await redis.command('DEL', `{${cluster.prefix}}:said`);
    await redis.command('HSET', `{${cluster.prefix}}:said:state`, 'l', String(Number(last) + 1));
    await redis.command('INCR', `{${cluster.prefix}}:seq`);
  };
  it('are those of a resource that was subscribed to on another node meanwhile', async () => {
    const stream = await get(0);
    const uri = 'file:///readme.txt';
    // The first attempt to read the session again fails.
    const reading = jest.spyOn(cluster.nodes[0]!.sessions, 'get').mockRejectedValueOnce(new Error('away'));
    await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const body = { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri } };
    expect((await post(cluster.nodes[1]!.url, body, session.headers)).status).toBe(200);
    cluster.nodes[1]!.server.notifyResourceUpdated(uri);
    const update = await stream.find(({ method }) => method === 'notifications/resources/updated');
    expect(update.params).toMatchObject({ uri });
    expect(reading.mock.calls.length).toBeGreaterThan(1);
    stream.close();
  });

  it('end the session, as a full inbox does, where more were said than are kept', async () => {
    const stream = await get(0);
    says('heard');
    await stream.find(({ params }) => params?.data === 'heard');
    await cluster.nodes[0]!.sessions.shared.leave();
    stream.close();
    await forget();
    const refused = await get(1);
    expect(refused.status).toBe(404);
    expect((await ping(1)).status).toBe(404);
    expect(ended).toEqual(['inbox-full']);
  });

  it('end the session although it is still read here', async () => {
    const stream = await get(0);
    says('heard');
    await stream.find(({ params }) => params?.data === 'heard');
    await forget();
    says('after a gap');
    await stream.ended;
    await eventually(() => ended.length > 0);
    expect(ended).toEqual(['inbox-full']);
    expect((await ping(1)).status).toBe(404);
  });

  it('are nothing to a session that has never listened', async () => {
    says('to nobody');
    await forget();
    const stream = await get(1);
    says('to it');
    await stream.find(({ params }) => params?.data === 'to it');
    stream.close();
  });

  it('are none because Redis has lost count of them', async () => {
    const stream = await get(0);
    const listening = await modern(cluster.nodes[0]!).stream('subscriptions/listen', {
      notifications: { toolsListChanged: true },
    });
    const changes = () =>
      listening.events.filter(({ message }) => message?.method === 'notifications/tools/list_changed').length;
    const change = async () => {
      const before = changes();
      cluster.nodes[1]!.server.notifyToolsChanged();
      await eventually(() => changes() > before);
    };
    for (let times = 0; times < 3; times += 1) await change();
    says('before');
    await stream.find(({ params }) => params?.data === 'before');
    await redis.command('DEL', `{${cluster.prefix}}:seq`);
    says('after');
    await stream.find(({ params }) => params?.data === 'after');
    await change();
    await redis.command('FLUSHALL');
    await change();
    await change();
    expect(changes()).toBe(6);
    listening.close();
    stream.close();
  });
});
