/** The specs of legacy sessions once more, through a round-robin of three nodes that share a Redis. */
import { useNodes } from '../support/fixture';
import { createRedis, describeRedis } from '../support/redis';
import type { Redis } from '../support/redis';

/** Those that look at nothing but the wire. */
const suites = [
  'http/close-stream',
  'http/progress',
  'http/resuming',
  'http/session-end',
  'http/session-ids',
  'http/session-owner',
  'http/session-stream',
  'http/stream-always',
  'authorizer/asking-legacy',
  'authorizer/approval',
  'protocol/cancellation',
  'protocol/lifecycle',
  'clients/questions',
  'clients/sessions',
];

describeRedis('Through three nodes,', () => {
  let redis: Redis;
  let made = 0;
  beforeAll(async () => {
    redis = await createRedis();
    useNodes(() => {
      const prefix = `legacy:${++made}`;
      return [1, 2, 3].map(() => redis.createStore({ prefix }));
    });
  });
  afterAll(async () => {
    useNodes(undefined);
    await redis.close();
  });

  for (const suite of suites) {
    describe(suite, () => {
      require(`../${suite}.spec`);
    });
  }
});
