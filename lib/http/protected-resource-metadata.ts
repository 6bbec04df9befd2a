/** Serves the document that tells a client which authorization servers issue tokens for an endpoint. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { ErrorCode } from '../protocol/errors';
import { checkScopes } from './bearer-challenge';
import { HttpError, sendError, sendJson } from './http-error';
import type { Middleware } from './middleware';
import {
  checkHttpUrl,
  isExpressRequest,
  requestOrigin,
  requestPath,
  requestTarget,
  wellKnownPath,
} from './resource-url';

/** Options of {@link protectedResourceMetadata}. Read once, when the middleware is made. */
export interface ProtectedResourceMetadataOptions {
  /** Issuers of the tokens that the endpoint takes, as their own metadata spells them. At least one. */
  authorizationServers: readonly string[];
  /**
   * The endpoint's URL as clients know it ("https://mcp.example.com/mcp"); wins over every header. Give `bearerAuth` the
   * same. Needed outside an Express app.
   *
   * @default the URL whose metadata is asked for, in an Express app, as its `trust proxy` says
   */
  resource?: string;
  /** Without `resource`: the endpoints' full paths ("/mcp"); other paths go to `next()`. @default every path */
  paths?: readonly string[];
  /** Scopes that basic use needs, as `scopes_supported`. @default undefined (not said) */
  scopes?: readonly string[];
  /** More members of the document, under RFC 9728's names: `resource_name`, `resource_documentation`, … @default {} */
  metadata?: Record<string, unknown>;
}

const maxAgeSeconds = 600;
const owned: Record<string, string> = {
  resource: 'resource',
  authorization_servers: 'authorizationServers',
  scopes_supported: 'scopes',
};

/**
 * Serve OAuth 2.0 Protected Resource Metadata. Mount it at the root of the app: it answers GET on
 * `/.well-known/oauth-protected-resource` followed by the endpoint's path, to which the challenge of `bearerAuth` points,
 * and hands every other request on. The document is public: any origin may read it, and caches may keep it.
 *
 * Outside an Express app there is no `trust proxy` to say which host clients see: without `resource` it answers 500 there.
 *
 * @throws {TypeError} if an option cannot be what it is meant to be.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery#authorization-server-location
 * @see https://www.rfc-editor.org/rfc/rfc9728#section-3
 * @example
 * ```ts
 * import { bearerAuth, mcpRouter, protectedResourceMetadata } from 'express-mcp';
 *
 * app.use(protectedResourceMetadata({ authorizationServers: ['https://auth.example.com'] }));
 * app.use('/mcp', bearerAuth({ verify: () => null }), mcpRouter(server));
 * ```
 */
export function protectedResourceMetadata(options: ProtectedResourceMetadataOptions): Middleware {
  const common = commonMembers(options);
  const fixed = fixedDocument(options, common);
  const paths = checkPaths(options);

  function answerFor(path: string, req: IncomingMessage, res: ServerResponse): void {
    // A document made from headers is for whoever sent them: a shared cache might not tell their requests apart.
    if (fixed !== undefined) return sendDocument(res, fixed.json, 'public');
    if (!isExpressRequest(req)) {
      const message = 'protectedResourceMetadata needs the option "resource" outside an Express app';
      return sendError(res, new HttpError(500, ErrorCode.InternalError, message));
    }
    const origin = requestOrigin(req);
    if (origin === undefined) {
      return sendError(res, new HttpError(400, ErrorCode.InvalidRequest, 'The Host header is missing or malformed'));
    }
    sendDocument(res, JSON.stringify({ resource: origin + path, ...common }), 'private');
  }

  return function protectedResourceMetadataMiddleware(req, res, next) {
    const path = endpointPath(req);
    const isOurs = path !== undefined && (fixed ? path === fixed.path : (paths?.has(path.toLowerCase()) ?? true));
    if (!isOurs) return next();
    if (req.method === 'GET' || req.method === 'HEAD') return answerFor(path, req, res);
    if (req.method === 'OPTIONS') return sendPreflight(res);
    next();
  };
}

/** The path of the endpoint whose metadata the request asks for; undefined for other requests. */
function endpointPath(req: IncomingMessage): string | undefined {
  // Every request of the app comes by: no parsing before this.
  if (!requestTarget(req).includes(wellKnownPath)) return undefined;
  const path = requestPath(req);
  if (path === wellKnownPath) return '';
  return path.startsWith(`${wellKnownPath}/`) ? path.slice(wellKnownPath.length) : undefined;
}

function sendDocument(res: ServerResponse, json: string, cache: 'public' | 'private'): void {
  const headers = { 'Access-Control-Allow-Origin': '*', 'Cache-Control': `${cache}, max-age=${maxAgeSeconds}` };
  sendJson(res, 200, json, headers);
}

/** Browser clients ask first, since they send `MCP-Protocol-Version` along. */
function sendPreflight(res: ServerResponse): void {
  const headers = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Methods': 'GET' };
  res.writeHead(204, { ...headers, 'Access-Control-Allow-Headers': '*' }).end();
}

function commonMembers(options: ProtectedResourceMetadataOptions): Record<string, unknown> {
  const { authorizationServers, scopes, metadata = {} } = options;
  if (!Array.isArray(authorizationServers) || authorizationServers.length === 0) {
    const meant = 'an array with the URL of at least one authorization server';
    throw new TypeError(
      `protectedResourceMetadata: authorizationServers must be ${meant}, got ${inspect(authorizationServers)}`,
    );
  }
  for (const issuer of authorizationServers) {
    checkHttpUrl('protectedResourceMetadata: authorizationServers', issuer, 'URLs of issuers');
  }
  for (const name of Object.keys(metadata)) {
    if (owned[name] === undefined) continue;
    throw new TypeError(`protectedResourceMetadata: metadata has ${inspect(name)}: use the option ${owned[name]}`);
  }
  const members = {
    authorization_servers: authorizationServers,
    scopes_supported: scopes && checkScopes('protectedResourceMetadata: scopes', scopes),
    bearer_methods_supported: ['header'],
    ...metadata,
  };
  // A copy, made now: throws here for what JSON cannot hold, and later changes of the options have no effect.
  return JSON.parse(JSON.stringify(members)) as Record<string, unknown>;
}

function fixedDocument(
  { resource, paths }: ProtectedResourceMetadataOptions,
  common: Record<string, unknown>,
): { json: string; path: string } | undefined {
  if (resource === undefined) return undefined;
  if (paths !== undefined) {
    throw new TypeError('protectedResourceMetadata: resource names one endpoint with its path; leave paths out');
  }
  const { pathname } = checkHttpUrl('protectedResourceMetadata: resource', resource, "the endpoint's URL");
  const path = pathname.endsWith('/') ? pathname.slice(0, -1) : pathname;
  // As it was given: clients and authorization servers compare it as a string.
  return { json: JSON.stringify({ resource, ...common }), path };
}

function checkPaths({ paths }: ProtectedResourceMetadataOptions): ReadonlySet<string> | undefined {
  if (paths === undefined) return undefined;
  const isPath = (path: unknown) => typeof path === 'string' && /^\/[^?#\s]*$/.test(path);
  if (!Array.isArray(paths) || !paths.every(isPath)) {
    const meant = 'an array of full paths, each beginning with "/"';
    throw new TypeError(`protectedResourceMetadata: paths must be ${meant}, got ${inspect(paths)}`);
  }
  // Express matches paths in any case, and clients then know the endpoint by the case they wrote.
  return new Set(paths.map((path: string) => path.replace(/\/$/, '').toLowerCase()));
}
