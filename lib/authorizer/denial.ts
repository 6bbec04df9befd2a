/** What a denied caller sees. */
import type { CallContext } from '../call-context';
import { ErrorCode, McpError } from '../protocol/errors';
import type { CallToolResult } from '../protocol/types';
import type { Decision } from './decisions';

/** Why a call did not run. */
export interface Denial {
  /** `authorization_required`: a human would have to be asked, and this client cannot ask one. */
  readonly code: 'authorization_denied' | 'authorization_required';
  readonly reason: string;
  /** What the human would be, or was, asked. */
  readonly prompt?: string;
}

/** The same text for every failure of an authorizer: the caller learns nothing of its inside. */
export const undecidedReason = 'The authorizer could not decide';

/** Where a program finds the {@link Denial} in a result or an error. */
export const denialKey = 'io.github.express-mcp/authorization';

/**
 * The denial that a `deny()` makes; the scopes it names become the call's challenge. Only for a caller who may know
 * what is denied: a challenge shows that there is something.
 */
export function denialOf({ reason, scopes }: Decision & { decision: 'deny' }, context: CallContext): Denial {
  const denial: Denial = { code: 'authorization_denied', reason };
  if (scopes !== undefined) context.challenge = { scopes, error: denialError(denial) };
  return denial;
}

/** For a tool: a result that the model reads. */
export function denialResult(denial: Denial): CallToolResult {
  const text =
    denial.code === 'authorization_denied'
      ? `Not authorized: ${denial.reason}`
      : `Authorization required: ${denial.reason}`;
  return { content: [{ type: 'text', text }], isError: true, _meta: { [denialKey]: denial } };
}

/** For a resource, a prompt or a completion: an error. */
export function denialError(denial: Denial): McpError {
  return new McpError(ErrorCode.InvalidRequest, `Not authorized: ${denial.reason}`, { [denialKey]: denial });
}
