/** Several nodes of one app that share a Redis, and a proxy that sends each request to the next of them. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createFixture } from './fixture';
import type { Fixture, FixtureOptions } from './fixture';
import type { RedisSessionStore } from 'express-mcp/redis';
import type { Redis } from './redis';

export const secrets = ['a secret that all nodes have, of 32 bytes'];

export interface Cluster {
  /** The proxy's. */
  url: string;
  nodes: (Fixture & { sessions: RedisSessionStore })[];
  prefix: string;
  close(): Promise<void>;
}

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

/** Each request goes to the next port. What either side cuts is cut on the other. */
export async function createRoundRobin(ports: readonly number[]): Promise<{ port: number; close(): Promise<void> }> {
  let turn = 0;
  const proxy = createServer((req, res) => {
    const port = ports[turn++ % ports.length];
    const { method, headers, url } = req;
    const onward = request({ host: '127.0.0.1', port, method, path: url, headers, agent: false }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      res.flushHeaders();
      answer.on('error', () => res.destroy());
      answer.pipe(res);
    });
    onward.on('error', () => res.destroy());
    res.on('close', () => onward.destroy());
    req.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    port: (proxy.address() as AddressInfo).port,
    async close() {
      const closed = new Promise((resolve) => proxy.close(resolve));
      proxy.closeAllConnections();
      await closed;
    },
  };
}
