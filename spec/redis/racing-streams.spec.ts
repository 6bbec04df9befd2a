/** GETs of one session that come in at the same time, on one node and on several: one of them hears, the others end. */
import { createCluster } from '../support/cluster';
import type { Cluster } from '../support/cluster';
import { eventually } from '../support/eventually';
import { createRedis, describeRedis } from '../support/redis';
import type { Redis } from '../support/redis';
import { legacySession, openStream, post } from '../support/wire';
import type { LegacySession, Message, Stream } from '../support/wire';

describeRedis('GETs that race', () => {
  let redis: Redis;
  let cluster: Cluster;
  let session: LegacySession;
  let goOn: () => void;
  beforeAll(async () => {
    redis = await createRedis();
  });
  beforeEach(async () => {
    cluster = await createCluster(redis, {
      setup: (server) =>
        server.registerTool('wait', { description: 'Reports, and waits' }, async (_, ctx) => {
          ctx.log('info', 'begun');
          await new Promise<void>((resolve) => (goOn = resolve));
          return 'done';
        }),
    });
    session = await legacySession(cluster, { capabilities: { elicitation: {} } });
  });
  afterEach(() => cluster.close());
  afterAll(() => redis.close());

  const get = (node: number, lastEventId?: string) =>
    session.at(cluster.nodes[node]!).get({ 'Last-Event-ID': lastEventId });
  const call = (node: number, name: string, accept = 'application/json, text/event-stream') => ({
    url: cluster.nodes[node]!.url,
    body: { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: {} } },
    headers: { ...session.headers, Accept: accept },
  });
  const says = (text: string) =>
    cluster.nodes[2]!.server.notify('notifications/message', { level: 'info', data: text });
  const heard = (streams: Stream[], wanted: (message: Message) => boolean) =>
    streams.flatMap(({ events }) => events.flatMap(({ message }) => (message && wanted(message) ? [message] : [])));
  /** @returns Those that are still open, once that is one. */
  const ended = (streams: Stream[]) => {
    const open = new Set(streams.filter(({ status }) => status === 200));
    for (const stream of open) void stream.ended.then(() => open.delete(stream));
    return open;
  };

  it.each([
    [2, 2],
    [3, 3],
    [4, 2],
    [6, 3],
    [3, 1],
  ])('for a session’s own stream, %i on %i nodes', async (count, spread) => {
    for (let times = 0; times < 5; times += 1) {
      const streams = await Promise.all(Array.from({ length: count }, (_, n) => get(n % spread)));
      const open = ended(streams);
      says(`first ${times}`);
      await eventually(() => open.size === 1);
      await [...open][0]!.find(({ params }) => params?.data === `first ${times}`);
      says(`second ${times}`);
      await [...open][0]!.find(({ params }) => params?.data === `second ${times}`);
      expect(heard(streams, ({ params }) => params?.data === `first ${times}`)).toHaveLength(1);
      expect(heard(streams, ({ params }) => params?.data === `second ${times}`)).toHaveLength(1);
      // A client that takes JSON only is asked there.
      const { url, body, headers } = call(1, 'ask', 'application/json');
      const reply = post(url, body, headers);
      const question = await [...open][0]!.find(({ method }) => method === 'elicitation/create');
      await post(url, { jsonrpc: '2.0', id: question.id, result: { action: 'decline' } }, headers);
      expect(JSON.stringify((await reply).response)).toContain('decline');
      for (const stream of open) stream.close();
      await eventually(() => open.size === 0);
      const counted = () => cluster.nodes.reduce((sum, { router }) => sum + router.stats().streams, 0);
      await eventually(() => counted() === 0);
      session = await legacySession(cluster, { capabilities: { elicitation: {} } });
    }
  });

  it.each([
    [2, 3],
    [3, 3],
    [6, 3],
    [3, 1],
  ])('for a reply’s stream, %i on %i nodes', async (count, spread) => {
    for (let times = 0; times < 5; times += 1) {
      const { url, body, headers } = call(0, 'wait');
      const reply = await openStream(url, { method: 'POST', headers, body, revision: session.revision });
      await reply.find(({ params }) => params?.data === 'begun');
      const first = reply.events[0]!.id!;
      const streams = await Promise.all(Array.from({ length: count }, (_, n) => get((n + 1) % spread, first)));
      const open = ended([reply, ...streams]);
      await eventually(() => open.size === 1);
      goOn();
      await [...open][0]!.find(({ id }) => id === 7);
      await eventually(() => open.size === 0);
      expect(heard([reply, ...streams], ({ id }) => id === 7)).toHaveLength(1);
      session = await legacySession(cluster);
    }
  });
});
