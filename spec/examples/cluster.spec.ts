/** `examples/cluster.ts`: one session, three processes. */
import { endExamples, startExample } from '../support/example';
import { createRedis, describeRedis } from '../support/redis';
import { legacySession, textOf } from '../support/wire';

describeRedis('the example cluster', () => {
  it('answers one session from three processes', async () => {
    // Its own would outlive the way in which specs end examples.
    const redis = await createRedis();
    try {
      const example = await startExample('cluster', { REDIS_URL: redis.url });
      const session = await legacySession(example);
      const answers = new Set<string>();
      for (let n = 0; n < 6; n += 1) answers.add(textOf(await session.callTool('whoami', {})));
      expect(answers.size).toBe(3);
    } finally {
      await endExamples();
      await redis.close();
    }
  }, 60_000);
});
