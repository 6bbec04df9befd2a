/** Who sent an HTTP request: the principal that the host's authentication found, never what the client says. */
import type { IncomingMessage } from 'node:http';
import { inspect } from 'node:util';
import type { ServerCore } from '../core';
import type { Hook } from '../methods/method';
import type { AuthInfo } from '../protocol/auth-info';
import { ErrorCode } from '../protocol/errors';
import { authOf } from './auth-info';
import { HttpError } from './http-error';
import { isLoopbackAddress, isLoopbackHost } from './host';
import type { MountOptions } from './options';

/** A caller, as far as they are known. */
export interface Identity {
  readonly principal: string | undefined;
  readonly auth: AuthInfo | undefined;
}

/** When the caller's token ends, in milliseconds since the epoch. */
export function expiresAt({ auth }: Identity): number {
  return auth?.expiresAt === undefined ? Infinity : auth.expiresAt * 1_000;
}

const nobody: Identity = { principal: undefined, auth: undefined };

/**
 * Who calls.
 *
 * @throws {HttpError} 500 where a login ran and nobody has said what its principal is: all users would be one.
 */
export function identify(
  req: IncomingMessage & { user?: unknown; auth?: unknown },
  { principal: principalOf }: MountOptions,
): Identity {
  const auth = authOf(req);
  if (principalOf !== undefined) {
    const principal: unknown = principalOf(req);
    if (principal === undefined || principal === null)
      return auth === undefined ? nobody : { principal: auth.principal, auth };
    if (typeof principal !== 'string' || principal === '') {
      throw misconfigured(
        `mcpRouter: principal(req) must give a string that is not empty, or undefined; it gave ${inspect(principal, { depth: 0 })}`,
      );
    }
    return { principal, auth };
  }
  if (auth !== undefined) return { principal: auth.principal, auth };
  if (req.user || req.auth) {
    throw misconfigured(
      'A login has set req.user or req.auth, and mcpRouter cannot know who that is: give it the option `principal`, for example principal: (req) => (req as Request).user?.id',
    );
  }
  return nobody;
}

/** The caller learns that something is wrong; `onError` hears what. */
function misconfigured(message: string): HttpError {
  return new HttpError(500, ErrorCode.InternalError, 'Internal error', { cause: new TypeError(message) });
}

/** Headers by which a proxy says that the request comes from elsewhere. */
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'];

/** Why a request may come from elsewhere, or this be production; undefined if it started and ended on this machine. */
function notLocal({ socket, headers }: IncomingMessage): string | undefined {
  if (!isLoopbackAddress(socket.localAddress) || !isLoopbackAddress(socket.remoteAddress))
    return 'this request comes from another';
  if (!isLoopbackHost(headers.host)) return 'this request names another host';
  const proxied = Object.keys(headers).find((name) => proxyHeaders.includes(name) || name.startsWith('x-forwarded-'));
  if (proxied !== undefined) return `this request has come through a proxy (${proxied})`;
  return process.env.NODE_ENV === 'production' ? 'NODE_ENV is production' : undefined;
}

/**
 * While nobody has decided who may, only this machine is served.
 *
 * @throws {HttpError} 403 naming the option.
 */
export function checkDecided(
  { authorizerConfigured, readAuthorizerConfigured }: ServerCore,
  hook: Hook,
  req: IncomingMessage,
): void {
  const decided =
    hook === 'tools'
      ? authorizerConfigured
      : hook === 'reads'
        ? readAuthorizerConfigured
        : authorizerConfigured || readAuthorizerConfigured;
  const elsewhere = decided ? undefined : notLocal(req);
  if (elsewhere === undefined) return;
  const option = hook === 'reads' ? 'readAuthorizer' : 'authorizer';
  throw new HttpError(
    403,
    ErrorCode.InvalidRequest,
    `Nobody has decided who may use this server, so it serves this machine only, and ${elsewhere}: give McpServer the option "${option}" (allowAll lets everybody)`,
  );
}
