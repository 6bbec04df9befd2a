/** The server that the specs drive: a real app on a loopback port, with one tool for each thing a tool can do. */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Express, RequestHandler } from 'express';
import { allowAll, bearerAuth, McpServer, mcpRouter } from 'express-mcp';
import type { McpRouterOptions, McpServerOptions, SessionStore } from 'express-mcp';
import { createRoundRobin } from './round-robin';
import { registerFeatures, registerTools } from './tools';
import type { Probe } from './tools';

export interface FixtureOptions {
  /** Laid over `allowAll` for both authorizers. */
  server?: McpServerOptions;
  router?: McpRouterOptions;
  /** Middleware in front of the endpoint. */
  before?: RequestHandler[];
  /** Demand a token: `alice-token` is alice, `bob-token` is bob. */
  bearer?: boolean;
  /** Where the endpoint is mounted; `/mcp` by default. */
  mount?: string;
  /** `false`: without the usual tools, one of which is sensitive. */
  tools?: false;
  /** Register more, before the mount. */
  setup?(server: McpServer): void;
  /** Another Express than the installed one. */
  express?: typeof express;
}

export interface Fixture extends Probe {
  url: string;
  port: number;
  app: Express;
  server: McpServer;
  router: ReturnType<typeof mcpRouter>;
  httpServer: Server;
  /** What `onError` heard. */
  errors: unknown[];
  /** Resolves once `condition` holds; looked at whenever a tool starts, ends or is aborted. */
  until(condition: () => boolean): Promise<void>;
  close(): Promise<void>;
}

const principals: Record<string, string> = { 'alice-token': 'alice', 'bob-token': 'bob' };

/** Shared by all nodes. */
export const secrets = ['a secret that all nodes have, of 32 bytes'];

let createStores: (() => SessionStore[]) | undefined;

/** From now on a fixture is a node for each store of `create`, behind a round-robin; undefined: a single one again. */
export function useNodes(create: (() => SessionStore[]) | undefined): void {
  createStores = create;
}

/** Start one; several nodes where {@link useNodes} says so, of which `server`, `app` and `router` are the first's. */
export async function createFixture(options: FixtureOptions = {}): Promise<Fixture> {
  if (createStores === undefined || options.router?.sessions !== undefined) return createNode(options, createProbe());
  const probe = createProbe();
  const nodes = await Promise.all(
    createStores().map((sessions) =>
      createNode(
        { ...options, server: { secrets, ...options.server }, router: { ...options.router, sessions } },
        probe,
      ),
    ),
  );
  const stats = nodes.map(({ router }) => router.stats);
  const closes = nodes.map(({ router }) => router.close);
  const proxy = await createRoundRobin(nodes.map(({ port }) => port));
  return {
    ...nodes[0]!,
    url: `http://127.0.0.1:${proxy.port}${options.mount ?? '/mcp'}`,
    port: proxy.port,
    router: Object.assign(nodes[0]!.router, {
      close: async (options: { graceMs?: number } = {}) => {
        await Promise.all(closes.map((close) => close(options)));
      },
      stats: () => stats.map((read) => read()).reduce(sum),
    }),
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
      await proxy.close();
    },
  };
}

type Stats = ReturnType<Fixture['router']['stats']>;

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

interface Watched extends Probe {
  waiting: Set<() => void>;
  errors: unknown[];
}

function createProbe(): Watched {
  const waiting = new Set<() => void>();
  const changed = () => waiting.forEach((look) => look());
  return { ran: [], ended: [], aborted: [], calls: [], changed, waiting, errors: [] };
}

async function createNode(options: FixtureOptions, { waiting, errors, ...probe }: Watched): Promise<Fixture> {
  const onError = (error: unknown) => void errors.push(error);
  const server = new McpServer(
    { name: 'fixture', version: '1.2.3', instructions: 'For specs.' },
    { authorizer: allowAll, readAuthorizer: allowAll, onError, ...options.server },
  );
  if (options.tools !== false) registerTools(server, probe);
  registerFeatures(server);
  options.setup?.(server);

  const app = (options.express ?? express)();
  const router = mcpRouter(server, { onError, ...options.router });
  const verify = async (token: string) => {
    const principal = principals[token];
    return principal === undefined ? null : { principal, scopes: [] };
  };
  const before = [...(options.before ?? []), ...(options.bearer ? [bearerAuth({ verify }) as RequestHandler] : [])];
  const mount = options.mount ?? '/mcp';
  app.use(mount, ...before, router);
  const httpServer = createServer(app);
  await new Promise<void>((resolve) => httpServer.listen(0, '127.0.0.1', resolve));
  const { port } = httpServer.address() as AddressInfo;

  return {
    ...probe,
    url: `http://127.0.0.1:${port}${mount}`,
    port,
    app,
    server,
    router,
    httpServer,
    errors,
    until: (condition) =>
      new Promise((resolve) => {
        const look = () => {
          if (!condition()) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    async close() {
      await router.close({ graceMs: 0 });
      const closed = new Promise((resolve) => httpServer.close(resolve));
      httpServer.closeAllConnections();
      await closed;
    },
  };
}
