/** Lets requests through that carry a good bearer token, and says who they come from. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { ErrorCode, InvalidTokenError } from '../protocol/errors';
import type { AuthInfo } from '../protocol/auth-info';
import { isPromise, within } from '../protocol/promise';
import { quietly } from '../quietly';
import { checkDuration, checkKeys } from '../settings';
import type { Keys } from '../settings';
import { setAuth } from './auth-info';
import type { BearerChallenge } from './auth-info';
import { checkScopes, readBearerToken, writeChallenge } from './bearer-challenge';
import { HttpError, sendError } from './http-error';
import type { Middleware } from './middleware';
import { checkHttpUrl, metadataUrlOf, requestOrigin, requestPath } from './resource-url';

/** What a token turned out to say. */
export interface VerifiedToken {
  /** Identifies the caller, unique among all that this server knows; not empty. */
  principal: string;
  /** What the token allows, one string for each. A broad scope that implies narrower ones brings those along. @default [] */
  scopes?: readonly string[];
  /** When the token ends, in seconds since the epoch, as a JWT's `exp`. Leave out for a token without an end. */
  expiresAt?: number;
  /** What handlers and authorizers may want to know besides. */
  claims?: Record<string, unknown>;
}

/**
 * Says whose a token is: null, or a thrown {@link InvalidTokenError} with the reason, for one that is no good. Anything
 * else thrown counts as an outage. Must check that the token was issued for this server (its audience).
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#token-handling
 */
export type TokenVerifier = (
  token: string,
  req: IncomingMessage,
) => VerifiedToken | null | PromiseLike<VerifiedToken | null>;

/** Options of {@link bearerAuth}. Read once, when the middleware is made. */
export interface BearerAuthOptions {
  /** Says whose a token is. A synchronous answer costs no promise. */
  verify: TokenVerifier;
  /** Scopes that every request needs, all of them: without one of them 403. @default [] */
  scopes?: readonly string[];
  /**
   * The endpoint's URL as clients know it ("https://mcp.example.com/mcp"); wins over every header.
   *
   * @default the URL of the request, in an Express app, as its `trust proxy` says. Outside one, without this option, the
   * challenge names no metadata, and clients look for it at the well-known path.
   */
  resource?: string;
  /**
   * Where the metadata is, when `protectedResourceMetadata` does not serve it: its URL, or false when there is none.
   *
   * @default the well-known URL of `resource`
   */
  resourceMetadata?: string | false;
  /** How long `verify` may take, in milliseconds, before the answer is 503. @default 10_000 */
  verifyTimeoutMs?: number;
  /** Called with every failure of `verify` that is not the token's fault. Must not throw. @default console.error */
  onError?: (error: unknown, req: IncomingMessage) => void;
}

const optionKeys: Keys<BearerAuthOptions> = {
  verify: true,
  scopes: true,
  resource: true,
  resourceMetadata: true,
  verifyTimeoutMs: true,
  onError: true,
};
const noScopes: readonly string[] = [];
const retryAfterSeconds = 5;
const invalidToken = 'The token is not valid';
// A `Date.now()` where seconds were meant: as seconds it lies beyond the year 5000.
const latestExpiresAt = 1e11;

/**
 * Refuse requests without a good bearer token; tell the endpoint behind it who the others come from.
 *
 * No token, a bad or an expired one is 401, a missing scope 403, each with one `WWW-Authenticate` challenge; a `verify` that
 * fails or does not answer in time is 503 without one. Preflights (`OPTIONS`) pass, since browsers send them without token.
 *
 * @throws {TypeError | RangeError} if an option cannot be what it is meant to be.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#access-token-usage
 * @example
 * ```ts
 * import { bearerAuth, mcpRouter } from 'express-mcp';
 *
 * const principals = new Map([['token-of-alice', { principal: 'alice', scopes: ['read'] }]]);
 * app.use('/mcp', bearerAuth({ verify: (token) => principals.get(token) ?? null }), mcpRouter(server));
 * ```
 */
export function bearerAuth(options: BearerAuthOptions): Middleware {
  checkKeys('bearerAuth', options, optionKeys);
  const { verify, verifyTimeoutMs = 10_000, onError = logError } = options;
  checkOptions(verify, verifyTimeoutMs, onError);
  const tell = quietly(onError);
  const tooLate = () => new Error(`bearerAuth: verify gave no answer in ${verifyTimeoutMs} ms`);
  const scopes = checkScopes('bearerAuth: scopes', options.scopes);
  const metadataOf = resourceMetadataOf(options);

  function challenge(req: IncomingMessage, details: BearerChallenge): string {
    return writeChallenge(metadataOf(req), scopes, details);
  }

  function refuse(req: IncomingMessage, res: ServerResponse, status: 401 | 403, details: BearerChallenge): void {
    const message = details.description ?? 'Send a token: "Authorization: Bearer <token>"';
    const headers = { 'WWW-Authenticate': challenge(req, details) };
    answer(res, new HttpError(status, ErrorCode.InvalidRequest, message, { headers }));
  }

  function refuseAfter(error: unknown, req: IncomingMessage, res: ServerResponse): void {
    if (error instanceof InvalidTokenError) {
      return refuse(req, res, 401, { error: 'invalid_token', description: error.message || invalidToken });
    }
    const headers = { 'Retry-After': retryAfterSeconds };
    answer(res, new HttpError(503, ErrorCode.InternalError, 'The token cannot be checked now', { headers }));
    tell(error, req);
  }

  function admit(auth: AuthInfo, req: IncomingMessage, res: ServerResponse, next: () => void): void {
    if (isAnswered(res)) return;
    if (!scopes.every((scope) => auth.scopes.includes(scope))) {
      const description = `The token needs the scope${scopes.length > 1 ? 's' : ''} ${scopes.join(', ')}`;
      return refuse(req, res, 403, { error: 'insufficient_scope', description });
    }
    setAuth(req, auth, (details) => challenge(req, details));
    next();
  }

  async function admitLater(
    verified: PromiseLike<VerifiedToken | null>,
    req: IncomingMessage,
    res: ServerResponse,
    next: () => void,
  ): Promise<void> {
    let auth: AuthInfo;
    try {
      auth = readVerified(await within(verified, verifyTimeoutMs, tooLate));
    } catch (error) {
      return refuseAfter(error, req, res);
    }
    admit(auth, req, res, next);
  }

  return function bearerAuthMiddleware(req, res, next) {
    if (req.method === 'OPTIONS') return next();
    const token = readBearerToken(req);
    if (token === undefined) return refuse(req, res, 401, {});
    if (token === null) {
      const description = 'Send one Authorization header with one token';
      return refuse(req, res, 401, { error: 'invalid_token', description });
    }
    let auth: AuthInfo;
    try {
      const verified = verify(token, req);
      if (isPromise(verified)) return void admitLater(verified, req, res, next);
      auth = readVerified(verified);
    } catch (error) {
      return refuseAfter(error, req, res);
    }
    admit(auth, req, res, next);
  };
}

/** Whether the host has answered while `verify` was at work, by a time limit of its own. */
function isAnswered(res: ServerResponse): boolean {
  return res.headersSent;
}

function answer(res: ServerResponse, error: HttpError): void {
  if (!isAnswered(res)) sendError(res, error);
}

function logError(error: unknown): void {
  console.error(error); // the error alone: the request holds the token
}

function checkOptions(verify: unknown, verifyTimeoutMs: number, onError: unknown): void {
  if (typeof verify !== 'function') {
    throw new TypeError(`bearerAuth: verify must be a function of the token, got ${inspect(verify)}`);
  }
  if (typeof onError !== 'function') {
    throw new TypeError(`bearerAuth: onError must be a function, got ${inspect(onError)}`);
  }
  checkDuration('bearerAuth: verifyTimeoutMs', verifyTimeoutMs);
}

function resourceMetadataOf(options: BearerAuthOptions): (req: IncomingMessage) => string | undefined {
  const { resource, resourceMetadata } = options;
  const derived =
    resource === undefined
      ? undefined
      : metadataUrlOf(checkHttpUrl('bearerAuth: resource', resource, "the endpoint's URL"));
  if (resourceMetadata === false) return () => undefined;
  const fixed =
    resourceMetadata === undefined
      ? derived
      : checkHttpUrl('bearerAuth: resourceMetadata', resourceMetadata, 'the URL of the metadata, or false').href;
  if (fixed !== undefined) return () => fixed;
  return (req) => {
    const origin = requestOrigin(req);
    return origin === undefined ? undefined : metadataUrlOf(new URL(origin + requestPath(req)));
  };
}

/** The caller that `verify` names; throws InvalidTokenError for a bad token, TypeError for an answer that is none. */
function readVerified(verified: VerifiedToken | null | undefined): AuthInfo {
  if (verified === null) throw new InvalidTokenError(invalidToken);
  if (verified === undefined)
    throw new TypeError('bearerAuth: verify returned undefined; return null for a token that is no good');
  // Verifiers are written in JavaScript too, and read what a database returns: the type is a hope here.
  const { principal, scopes = noScopes, expiresAt, claims } = (verified ?? {}) as Partial<VerifiedToken>;
  if (typeof principal !== 'string' || principal === '') {
    const meant = 'null, or an object with a principal that is a string and not empty';
    throw new TypeError(`bearerAuth: verify must return ${meant}; the principal is ${inspect(principal)}`);
  }
  // A string has `includes` too: "admin:read" would include the scope "admin".
  if (!Array.isArray(scopes)) {
    throw new TypeError(`bearerAuth: verify must return scopes as an array of strings, got ${inspect(scopes)}`);
  }
  if (expiresAt !== undefined) {
    if (typeof expiresAt !== 'number' || !(expiresAt < latestExpiresAt)) {
      const meant = 'seconds since the epoch, or left out for a token without an end';
      throw new TypeError(`bearerAuth: verify must return expiresAt in ${meant}; got ${inspect(expiresAt)}`);
    }
    if (expiresAt * 1000 <= Date.now()) throw new InvalidTokenError('The token has expired');
  }
  return { principal, scopes, expiresAt, claims };
}
