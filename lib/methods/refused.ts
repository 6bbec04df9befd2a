/** Refusals of what exists: those who may not know that hear that it does not. */
import type { CallContext } from '../call-context';
import { McpError } from '../protocol/errors';
import { isPromise } from '../protocol/promise';

/**
 * What a refused caller gets or is thrown.
 *
 * @param isShown May the caller know of what it is refused?
 * @param refusal Made for those who may.
 * @param unknown Made for the others: the same as for what does not exist.
 * @param fault What went wrong: if it is no answer to a caller, somebody hears of it even where that is hidden.
 */
export async function refused<T>(
  context: CallContext,
  isShown: boolean | Promise<boolean>,
  refusal: () => T,
  unknown: () => Promise<T>,
  fault?: unknown,
): Promise<T> {
  if (isPromise(isShown) ? await isShown : isShown) return refusal();
  if (fault !== undefined && !(fault instanceof McpError)) context.fault(fault);
  return unknown();
}
