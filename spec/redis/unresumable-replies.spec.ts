/** Replies that have begun while Redis was away: nobody can come back for the rest of them. */
import { createCluster } from '../support/cluster';
import { createRedis, describeRedis } from '../support/redis';
import type { Redis } from '../support/redis';
import { legacySession } from '../support/wire';

describeRedis('A reply that began while Redis was away', () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await createRedis();
  });
  afterAll(() => redis.close());

  it.each([
    ['its tool', {}],
    ['the age of its stream', { maxStreamAgeMs: 300 }],
  ])('is not let go by %s', async (_, router) => {
    let goOn!: () => void;
    const released = new Promise<void>((resolve) => (goOn = resolve));
    const closed: boolean[] = [];
    const cluster = await createCluster(
      redis,
      {
        router: { keepAliveMs: 200, ...router },
        setup(server) {
          server.registerTool('late', { description: 'Reports once Redis is away' }, async (_args, ctx) => {
            redis.pause();
            ctx.progress(1);
            await released;
            if (!('maxStreamAgeMs' in router)) closed.push(ctx.closeStream());
            return 'done';
          });
        },
      },
      1,
    );
    try {
      const session = await legacySession(cluster);
      const params = { name: 'late', arguments: {}, _meta: { progressToken: 't' } };
      const reply = await session.stream('tools/call', params, { id: 7 });
      await reply.find(({ method }) => method === 'notifications/progress');
      redis.resume();
      await new Promise((resolve) => setTimeout(resolve, 500));
      goOn();
      expect((await reply.find(({ id }) => id === 7)).result).toMatchObject({ content: [{ text: 'done' }] });
      expect(reply.events.filter(({ id }) => id !== undefined)).toEqual([]);
      expect(closed).not.toContain(true);
    } finally {
      redis.resume();
      await cluster.close();
    }
  });
});
