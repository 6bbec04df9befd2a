/** mcpRouter: mounts an endpoint in an Express app, under Connect, or on a plain server. The only file that knows Express. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { allowAll } from './authorizer/decisions';
import { checkSensitive, sensitiveTools } from './authorizer/sensitive';
import { postMessage } from './http/endpoint';
import { HttpError, sendError, shuttingDown, tryLater } from './http/http-error';
import { Mount } from './http/mount';
import type { MountStats } from './http/mount';
import { readOptions } from './http/options';
import type { McpRouterOptions, Posture } from './http/options';
import { createOriginCheck } from './http/origin';
import { deleteSession, getStream, otherMethod } from './http/session-stream';
import { ErrorCode, UnavailableError } from './protocol/errors';
import { latestLegacyRevision, latestRevision } from './protocol/revisions';
import { quietly } from './quietly';
import { coreOf, McpServer } from './server';
import { checkWait } from './settings';

/** What {@link mcpRouter} returns: a middleware, and the end of what it has open. */
export interface McpRouter {
  /** Express's, Connect's, or, with two arguments, `http.createServer`'s. */
  (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void;
  /**
   * Refuse new requests with 503, let running calls finish, then end all that is open. A second call waits for the first.
   *
   * @param options `graceMs`: how long calls may take to finish, in milliseconds. `Infinity`: as long as they take. Default
   *   10_000. Rejects with a RangeError if it is no such number.
   */
  close(options?: { graceMs?: number }): Promise<void>;
  /** What is open, running and waiting right now. */
  stats(): MountStats;
}

/**
 * Serve `server` at the mount path: clients of every revision, on one line.
 *
 * @example
 * app.use('/mcp', mcpRouter(server));
 * @throws {TypeError | RangeError} for an option that makes no sense, and for a sensitive tool while the server has no
 *   `authorizer`.
 */
export function mcpRouter(server: McpServer, options: McpRouterOptions = {}): McpRouter {
  if (!(server instanceof McpServer))
    throw new TypeError('mcpRouter(server): server must be an McpServer of this package');
  const core = coreOf(server);
  checkSensitive(core, 'mcpRouter');
  const mountOptions = readOptions(options);
  if (mountOptions.sessions.shared !== undefined && !core.secretsGiven) {
    throw new TypeError(
      'mcpRouter: sessions are shared between processes, so the server needs secrets that all of them have: new McpServer(info, { secrets: [process.env.MCP_SECRET] })',
    );
  }
  const checkOrigin = createOriginCheck(options, {
    onRefused: (refusal, req) => mount.reports.reject(refusal, req),
    onPreflight: () => mount.reports.countRequest(204),
  });
  const mount = new Mount(core, mountOptions, options);
  const { path } = mountOptions;

  let isSaid = false;
  /** The answer is Express's 404, which says nothing of us. */
  function sayMisplaced(req: IncomingMessage): void {
    const mistake = isSaid ? undefined : misplaced(req, path);
    if (mistake === undefined) return;
    isSaid = true;
    mount.reports.onError(new Error(mistake));
  }

  function mcpEndpoint(req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void {
    // Another path is another's business, before any check of ours.
    if (!isEndpoint(req.url!, path)) {
      if (next !== undefined) {
        sayMisplaced(req);
        return next();
      }
      return sendError(res, new HttpError(404, ErrorCode.InvalidRequest, 'There is nothing here'));
    }
    if (!checkOrigin(req, res)) return;
    serve(mount, req, res).catch((error: unknown) => fail(mount, req, res, error));
  }

  announce(mount, options);
  return Object.assign(mcpEndpoint, {
    close: async ({ graceMs = 10_000 }: { graceMs?: number } = {}) =>
      mount.close(checkWait('close({ graceMs }): graceMs', graceMs)),
    stats: () => mount.stats(),
  });
}

/** What is wrong with a mount that is never reached; undefined where the request may be somebody else's. */
function misplaced({ route, baseUrl }: IncomingMessage & { route?: unknown; baseUrl?: string }, path: string) {
  if (route !== undefined)
    return 'mcpRouter is the handler of a route, and answers nothing there: write app.use("/mcp", mcpRouter(server)), not app.post or app.all';
  if (path !== '/' && baseUrl === path)
    return `mcpRouter is mounted at ${path}, and has the option path as well: its endpoint would be ${path}${path}. Take one of them away`;
  return undefined;
}

/** With or without a trailing slash, whatever the query. */
function isEndpoint(url: string, path: string): boolean {
  if (url === path) return true;
  const query = url.indexOf('?');
  const pathname = query < 0 ? url : url.slice(0, query);
  return pathname === path || pathname === `${path === '/' ? '' : path}/` || (path === '/' && pathname === '');
}

function serve(mount: Mount, req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (mount.closing) return Promise.reject(shuttingDown());
  switch (req.method) {
    case 'POST':
      return postMessage(mount, req, res);
    case 'GET':
      return getStream(mount, req, res);
    case 'DELETE':
      return deleteSession(mount, req, res);
    default:
      return otherMethod(mount);
  }
}

/** Answer with the refusal; anything else is a fault of ours or the host's, and stays here. */
function fail(mount: Mount, req: IncomingMessage, res: ServerResponse, error: unknown): void {
  const refusal =
    error instanceof HttpError
      ? error
      : error instanceof UnavailableError
        ? tryLater(503, error.message)
        : new HttpError(500, ErrorCode.InternalError, 'Internal error', { cause: error });
  mount.reports.reject(refusal, req);
  // Whoever has begun an answer meanwhile ends it: the host, or a reply that ends with its call.
  if (!res.headersSent) sendError(res, refusal);
}

/** Say once what is served to whom. */
function announce(mount: Mount, { origins = [], allowedHosts = [], onReady }: McpRouterOptions): void {
  const { core, options } = mount;
  const state = (hook: unknown, configured: boolean): Posture['authorizer'] =>
    hook === undefined ? 'none' : hook === allowAll ? 'allowAll' : configured ? 'configured' : 'default';
  const posture: Posture = {
    eras: [`legacy (to ${latestLegacyRevision.version})`, `modern (${latestRevision.version})`],
    origins,
    allowedHosts,
    authorizer: state(core.authorizer, core.authorizerConfigured),
    readAuthorizer: state(core.readAuthorizer, core.readAuthorizerConfigured),
    sensitiveTools: sensitiveTools(core.registry),
    sessionStore: options.sessions.constructor.name,
    limits: Object.fromEntries(
      Object.entries(options).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
    ),
  };
  if (onReady !== undefined) quietly(onReady)(posture);
  mount.reports.log('info', { ...posture }, 'MCP endpoint ready');
}
