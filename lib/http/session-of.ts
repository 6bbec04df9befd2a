/** Which session a legacy request belongs to. */
import type { IncomingMessage } from 'node:http';
import { ErrorCode } from '../protocol/errors';
import { findRevision } from '../protocol/revisions';
import type { Session } from '../sessions/session';
import { HttpError } from './http-error';
import type { Identity } from './identity';
import type { Mount } from './mount';

/**
 * The session that a request names.
 *
 * @throws {HttpError} 400 without an id or with a revision that is not ours, 404 for an id that is not this caller's.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export async function findSession(mount: Mount, req: IncomingMessage, { principal }: Identity): Promise<Session> {
  const id = req.headers['mcp-session-id'];
  const version = req.headers['mcp-protocol-version'];
  if (typeof id !== 'string' || id === '') {
    throw new HttpError(
      400,
      ErrorCode.InvalidRequest,
      'Mcp-Session-Id is missing: open a session with initialize, or send a request of 2026-07-28',
    );
  }
  const session = mount.sessions.findLive(id, principal) ?? (await mount.sessions.find(id, principal));
  if (session === undefined)
    throw new HttpError(404, ErrorCode.InvalidRequest, 'There is no such session: open a new one with initialize');
  // transports, "Protocol Version Header": invalid is 400; absent means the one that was negotiated.
  if (version !== undefined && findRevision(version as string)?.era !== 'legacy') {
    throw new HttpError(400, ErrorCode.InvalidRequest, 'MCP-Protocol-Version is not a revision that sessions speak');
  }
  return session;
}

/** The session that `initialize` names, if there is one: it is initialized already. A stale id is no hindrance. */
export async function initializedSession(
  mount: Mount,
  req: IncomingMessage,
  { principal }: Identity,
): Promise<Session | undefined> {
  const id = req.headers['mcp-session-id'];
  return typeof id === 'string' && id !== '' ? mount.sessions.find(id, principal) : undefined;
}
