/** Keeps what `bearerAuth` verified on the request, where nothing that a client sends can reach it. */
import type { IncomingMessage } from 'node:http';
import type { AuthInfo } from '../protocol/auth-info';

export type { AuthInfo } from '../protocol/auth-info';

/** What a `WWW-Authenticate` header says besides where the metadata is. */
export interface BearerChallenge {
  /** Absent when no credentials came. */
  error?: 'invalid_token' | 'insufficient_scope';
  /** Read by the client's developer; characters that RFC 6750 does not allow are replaced. */
  description?: string;
  /** Scopes that this operation needs, on top of those the whole mount needs. */
  scope?: readonly string[];
}

/** Write the value of `WWW-Authenticate` for one request. */
export type ChallengeWriter = (challenge: BearerChallenge) => string;

const AUTH = Symbol('express-mcp: auth');

interface AuthenticatedRequest extends IncomingMessage {
  [AUTH]?: { auth: AuthInfo; challenge: ChallengeWriter };
}

/** Say who `req` comes from, and how a later refusal of it is worded. */
export function setAuth(req: IncomingMessage, auth: AuthInfo, challenge: ChallengeWriter): void {
  (req as AuthenticatedRequest)[AUTH] = { auth, challenge };
}

/** The caller that `bearerAuth` verified, if it ran. */
export function authOf(req: IncomingMessage): AuthInfo | undefined {
  return (req as AuthenticatedRequest)[AUTH]?.auth;
}

/** What writes the challenge for `req`, if `bearerAuth` ran. */
export function challengeOf(req: IncomingMessage): ChallengeWriter | undefined {
  return (req as AuthenticatedRequest)[AUTH]?.challenge;
}
