/** What HTTP says about an answer of the protocol. */
import { ErrorCode } from '../protocol/errors';
import type { Revision } from '../protocol/revisions';
import type { JsonRpcResponse } from '../protocol/types';

/** Errors of methods are no errors of HTTP. */
export function statusOf(response: JsonRpcResponse, { methodNotFoundStatus }: Revision): number {
  if (!('error' in response)) return 200;
  switch (response.error.code) {
    case ErrorCode.MethodNotFound:
      return methodNotFoundStatus;
    case ErrorCode.HeaderMismatch:
    case ErrorCode.MissingRequiredClientCapability:
    case ErrorCode.UnsupportedProtocolVersion:
      return 400;
    default:
      return 200;
  }
}
