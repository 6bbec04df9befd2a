/** The server that the specs drive: a real app on a loopback port, with one tool for each thing a tool can do. */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Express, RequestHandler } from 'express';
import { allowAll, bearerAuth, McpServer, mcpRouter } from 'express-mcp';
import type { McpRouterOptions, McpServerOptions } from 'express-mcp';
import { secrets, startNodes } from './nodes';
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

/** Start one; several nodes where `useNodes` says so, of which `server` and `app` are the first's. */
export async function createFixture(options: FixtureOptions = {}): Promise<Fixture> {
  const probe = createProbe();
  if (options.router?.sessions !== undefined) return createNode(options, probe);
  return startNodes((sessions) => {
    if (sessions === undefined) return createNode(options, probe);
    return createNode(
      { ...options, server: { secrets, ...options.server }, router: { ...options.router, sessions } },
      probe,
    );
  });
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
