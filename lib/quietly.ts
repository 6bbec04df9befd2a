/** Calls what authors hook in, whatever it does. */
import { isPromise } from './protocol/promise';

/** A hook of the author's that throws must not take the call with it, and one that rejects not the process. */
export function quietly<Args extends unknown[]>(
  hook: (...args: Args) => void | PromiseLike<unknown>,
): (...args: Args) => void {
  return (...args) => {
    try {
      const returned = hook(...args);
      if (isPromise(returned)) returned.then(undefined, logError);
    } catch (error) {
      logError(error);
    }
  };
}

/** Where a fault goes that nobody has asked for. */
export function logError(error: unknown): void {
  console.error('express-mcp:', error);
}
