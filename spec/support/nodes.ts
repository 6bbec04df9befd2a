/** Whether what a spec starts is one node, or several that share their sessions, behind a round-robin. */
import type { McpRouter, McpServer, SessionStore } from 'express-mcp';
import { createRoundRobin } from './round-robin';

/** Shared by all nodes. */
export const secrets = ['a secret that all nodes have, of 32 bytes'];

/** What is asked of a node. */
interface Node {
  port: number;
  url: string;
  server: McpServer;
  router: McpRouter;
  close(): Promise<void>;
}

let createStores: (() => SessionStore[]) | undefined;

/** From now on what a spec starts is a node for each store of `create`; undefined: a single one again. */
export function useNodes(create: (() => SessionStore[]) | undefined): void {
  createStores = create;
}

/**
 * Start what a spec asks for.
 *
 * @param start One of them: a single one without a store, or a node with its store.
 * @returns The only one; or the first, with the round-robin's address, `close` and `stats` of all routers as one, and a server
 *   that registers on all.
 */
export async function startNodes<N extends Node>(start: (sessions?: SessionStore) => Promise<N>): Promise<N> {
  if (createStores === undefined) return start();
  const nodes: N[] = [];
  for (const sessions of createStores()) nodes.push(await start(sessions));
  const first = nodes[0]!;
  const stats = nodes.map(({ router }) => router.stats);
  const closes = nodes.map(({ router }) => router.close);
  registerOnAll(nodes.map(({ server }) => server));
  const proxy = await createRoundRobin(nodes.map(({ port }) => port));
  const router = Object.assign(first.router, {
    close: async (options: { graceMs?: number } = {}) => {
      await Promise.all(closes.map((close) => close(options)));
    },
    stats: () => stats.map((read) => read()).reduce(sum),
  });
  return {
    ...first,
    url: first.url.replace(`:${first.port}`, `:${proxy.port}`),
    port: proxy.port,
    router,
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
      await proxy.close();
    },
  };
}

/** What the first server registers from now on, the others do too. */
function registerOnAll(servers: readonly McpServer[]): void {
  for (const name of ['registerTool', 'registerResource', 'registerPrompt', 'provideTools'] as const) {
    const registers = servers.map((server) => server[name].bind(server) as (...args: unknown[]) => Handle);
    const register = (...args: unknown[]) => {
      const handles = registers.map((one) => one(...args));
      return {
        ...handles[0],
        update: (change: unknown) => handles.forEach((handle) => handle.update?.(change)),
        remove: () => handles.forEach((handle) => handle.remove()),
      };
    };
    Object.assign(servers[0]!, { [name]: register });
  }
}

interface Handle {
  update?(change: unknown): void;
  remove(): void;
}

type Stats = ReturnType<McpRouter['stats']>;

function sum(a: Stats, b: Stats): Stats {
  const add = (x: Readonly<Record<string, number>>, y: Readonly<Record<string, number>>) =>
    Object.fromEntries([...Object.keys(x), ...Object.keys(y)].map((key) => [key, (x[key] ?? 0) + (y[key] ?? 0)]));
  const numbers = (stats: Stats) =>
    Object.fromEntries(Object.entries(stats).filter(([, value]) => typeof value === 'number'));
  return {
    ...(add(numbers(a), numbers(b)) as unknown as Stats), // the rest of it follows
    sessionsEnded: add(a.sessionsEnded, b.sessionsEnded),
    requests: add(a.requests, b.requests),
  };
}
