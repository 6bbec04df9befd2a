/** The specs of legacy sessions once more, through a round-robin of three nodes that share a Redis. */
import { useNodes } from '../support/nodes';
import { createRedis, describeRedis } from '../support/redis';
import type { Redis } from '../support/redis';

/** `http/session-stream` is not among them: it takes what is said for heard at once, and counts on one node's 409. */
const suites = [
  'http/close-stream',
  'http/progress',
  'http/resuming',
  'http/session-end',
  'http/session-ids',
  'http/session-owner',
  'http/stream-always',
  'authorizer/asking-legacy',
  'authorizer/approval',
  'protocol/cancellation',
  'protocol/lifecycle',
  'clients/questions',
  'clients/sessions',
];

/** What several nodes do in another way than one does, and why. */
const different: Record<string, string> = {
  // Each node has a copy of the session, so that sessions are counted more than once.
  'its id in initialize opens a session of the other, and ends nothing': 'stats',
  'terminates its session, and the server forgets it': 'stats',
  // Redis spends an approval for all of a prefix; these servers have a prefix each.
  'that several servers of a process share let an approval be spent at one of them only': 'prefix',
  // The name of the node is part of it.
  'asks for an explicit yes, on its own stream, under an id that nobody can guess': 'id',
};

/** Leave out what is different, while a suite declares itself. */
function declare(suite: string): void {
  const original = globalThis.it;
  const choose = (name: string): jest.It => (name in different ? original.skip : original);
  const chosen = (name: string, ...rest: [jest.ProvidesCallback?, number?]) => choose(name)(name, ...rest);
  const each = (...table: unknown[]) => {
    return (name: string, ...rest: unknown[]) =>
      (choose(name).each as (...table: unknown[]) => (name: string, ...rest: unknown[]) => void)(...table)(
        name,
        ...rest,
      );
  };
  globalThis.it = Object.assign(chosen, original, { each }) as unknown as jest.It; // what the suites use of it
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- declared here, within the describe
    require(`../${suite}.spec`);
  } finally {
    globalThis.it = original;
  }
}

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

  for (const suite of suites) describe(suite, () => declare(suite));
});
