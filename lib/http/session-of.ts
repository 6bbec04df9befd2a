/** Which session a legacy request belongs to. */
import type { IncomingHttpHeaders } from 'node:http';
import { ErrorCode } from '../protocol/errors';
import { findRevision } from '../protocol/revisions';
import type { Session } from '../sessions/session';
import { HttpError } from './http-error';
import type { Identity } from './identity';
import type { Mount } from './mount';

/**
 * The session that a request names. A value where it is at hand.
 *
 * @throws {HttpError} 400 without an id or with a revision that is not ours, 404 for an id that is not this caller's.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export function findSession(
  mount: Mount,
  { 'mcp-session-id': id, 'mcp-protocol-version': version }: IncomingHttpHeaders,
  { principal }: Identity,
): Session | Promise<Session> {
  if (typeof id !== 'string' || id === '') {
    throw new HttpError(
      400,
      ErrorCode.InvalidRequest,
      'Mcp-Session-Id is missing: open a session with initialize, or send a request of 2026-07-28',
    );
  }
  const live = mount.sessions.findLive(id, principal);
  if (live !== undefined) return checked(live, version);
  return mount.sessions.find(id, principal).then((session) => checked(session, version));
}

/** It has ended, never was, or is another's. */
export function noSession(): HttpError {
  return new HttpError(404, ErrorCode.InvalidRequest, 'There is no such session: open a new one with initialize');
}

function checked(session: Session | undefined, version: string | string[] | undefined): Session {
  if (session === undefined) throw noSession();
  // transports, "Protocol Version Header": invalid is 400; absent means the one that was negotiated.
  if (version !== undefined && findRevision(version as string)?.era !== 'legacy') {
    throw new HttpError(400, ErrorCode.InvalidRequest, 'MCP-Protocol-Version is not a revision that sessions speak');
  }
  return session;
}

/** The session that `initialize` names, if there is one: it is initialized already. A stale id is no hindrance. */
export async function initializedSession(
  mount: Mount,
  { 'mcp-session-id': id }: IncomingHttpHeaders,
  { principal }: Identity,
): Promise<Session | undefined> {
  return typeof id === 'string' && id !== '' ? mount.sessions.find(id, principal) : undefined;
}
