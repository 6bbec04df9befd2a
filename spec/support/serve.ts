/** A server that has what its spec registers and nothing else, without HTTP or on a loopback port. */
import { createServer as createHttpServer } from 'node:http';
import type { ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { allowAll, McpServer, mcpRouter } from 'express-mcp';
import type { McpRouterOptions, McpServerOptions, ServerInfo } from 'express-mcp';
import { secrets, startNodes } from './nodes';
import type { Target } from './wire';

export interface ServerSetup {
  /** Laid over `allowAll` for both authorizers. */
  server?: McpServerOptions;
  /** Laid over name and version. */
  info?: Partial<ServerInfo>;
  /** What `onError` heard is put here. */
  errors?: unknown[];
}

/** A server that everybody may use. */
export function createServer(setup?: (server: McpServer) => void, options: ServerSetup = {}): McpServer {
  const server = new McpServer(
    { name: 'bare', version: '1.0.0', ...options.info },
    {
      authorizer: allowAll,
      readAuthorizer: allowAll,
      onError: (error) => void options.errors?.push(error),
      ...options.server,
    },
  );
  setup?.(server);
  return server;
}

export interface ServeOptions extends ServerSetup {
  router?: McpRouterOptions;
  http?: ServerOptions;
}

export interface Served extends Target {
  port: number;
  server: McpServer;
  router: ReturnType<typeof mcpRouter>;
  /** What `onError` heard. */
  errors: unknown[];
  close(): Promise<void>;
}

/** The same, mounted on a loopback port; several nodes where `useNodes` says so, of which `server` is the first's. */
export async function serve(setup: (server: McpServer) => void, options: ServeOptions = {}): Promise<Served> {
  const { errors = [], router } = options;
  if (router?.sessions !== undefined) return serveNode(setup, { ...options, errors });
  return startNodes((sessions) => {
    if (sessions === undefined) return serveNode(setup, { ...options, errors });
    return serveNode(setup, {
      ...options,
      errors,
      server: { secrets, ...options.server },
      router: { ...router, sessions },
    });
  });
}

async function serveNode(setup: (server: McpServer) => void, options: ServeOptions): Promise<Served> {
  const { errors = [], router: routerOptions, http = {} } = options;
  const server = createServer(setup, { ...options, errors });
  const router = mcpRouter(server, { onError: (error) => void errors.push(error), ...routerOptions });
  const httpServer = createHttpServer(http, router);
  await new Promise<void>((resolve) => httpServer.listen(0, '127.0.0.1', resolve));
  const { port } = httpServer.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    server,
    router,
    errors,
    async close() {
      await router.close({ graceMs: 0 });
      const closed = new Promise((resolve) => httpServer.close(resolve));
      httpServer.closeAllConnections();
      await closed;
    },
  };
}
