/** Declares suites once more, through a round-robin of three nodes that share a Redis. */
import { useNodes } from './nodes';
import { createRedis, describeRedis } from './redis';
import type { Redis } from './redis';

/** Reasons by the names of specs, as they are declared: left out, because several nodes do it in another way than one. */
export type Different = Readonly<Record<string, string>>;

/** Declare suites, named as their files below `spec/`. */
export function rerun(suites: Readonly<Record<string, Different>>): void {
  describeRedis('Through three nodes,', () => {
    let redis: Redis;
    let made = 0;
    beforeAll(async () => {
      redis = await createRedis();
      useNodes(() => {
        const prefix = `rerun:${++made}`;
        return [1, 2, 3].map(() => redis.createStore({ prefix }));
      });
    });
    afterAll(async () => {
      useNodes(undefined);
      await redis.close();
    });

    for (const [suite, different] of Object.entries(suites)) {
      describe(suite, () => {
        const unknown = declare(suite, different);
        it('leaves out only what there is', () => expect(unknown).toEqual([]));
      });
    }

    afterAll(() => {
      const lines = Object.entries(suites).flatMap(([suite, different]) =>
        Object.entries(different).map(([name, reason]) => `  skipped: ${suite}, "${name}": ${reason}\n`),
      );
      // Past the runner, which shows no names where all went well.
      process.stdout.write(`Through three nodes:\n${lines.join('')}`);
    });
  });
}

/** Leave out what is different, while a suite declares itself. @returns The names of `different` that it does not have. */
function declare(suite: string, different: Different): string[] {
  const unknown = new Set(Object.keys(different));
  const original = globalThis.it;
  const choose = (name: string): { it: jest.It; title: string } => {
    const reason = different[name];
    if (reason === undefined) return { it: original, title: name };
    unknown.delete(name);
    return { it: original.skip as jest.It, title: `${name} [${reason}]` };
  };
  const chosen = (name: string, ...rest: [jest.ProvidesCallback?, number?]) => {
    const { it, title } = choose(name);
    it(title, ...rest);
  };
  const each = (...table: unknown[]) => {
    return (name: string, ...rest: unknown[]) => {
      const { it, title } = choose(name);
      const declareEach = (it.each as (...table: unknown[]) => (name: string, ...rest: unknown[]) => void)(...table);
      declareEach(title, ...rest);
    };
  };
  globalThis.it = Object.assign(chosen, original, { each }) as unknown as jest.It; // what the suites use of it
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- declared here, within the describe
    require(`../${suite}.spec`);
  } finally {
    globalThis.it = original;
  }
  return [...unknown];
}
