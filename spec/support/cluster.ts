/** Several nodes of one app that share a Redis, and a proxy that sends each request to the next of them. */
import { createFixture } from './fixture';
import type { Fixture, FixtureOptions } from './fixture';
import type { RedisSessionStore } from 'express-mcp/redis';
import type { Redis } from './redis';
import { secrets } from './nodes';
import { createRoundRobin } from './round-robin';

export interface Cluster {
  /** The proxy's. */
  url: string;
  nodes: (Fixture & { sessions: RedisSessionStore })[];
  prefix: string;
  close(): Promise<void>;
}

export { secrets } from './nodes';

let lastPrefix = 0;

/** Start one. The stores of a cluster have a prefix of their own. */
export async function createCluster(redis: Redis, options: FixtureOptions = {}, size = 3): Promise<Cluster> {
  const prefix = `cluster:${++lastPrefix}`;
  const nodes = await Promise.all(
    Array.from({ length: size }, async () => {
      const sessions = redis.createStore({ prefix });
      const fixture = await createFixture({
        ...options,
        server: { secrets, ...options.server },
        router: { ...options.router, sessions },
      });
      return { ...fixture, sessions };
    }),
  );
  const proxy = await createRoundRobin(nodes.map(({ port }) => port));
  return {
    url: `http://127.0.0.1:${proxy.port}/mcp`,
    nodes,
    prefix,
    async close() {
      await Promise.all([proxy.close(), ...nodes.map((node) => node.close())]);
    },
  };
}
