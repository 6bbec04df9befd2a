/** Calls what authors hook in, whatever it does. */
import { isPromise } from './protocol/promise';

/** A hook of the author's that throws must not take the call with it, and one that rejects not the process. */
export function quietly<Args extends unknown[]>(
  hook: (...args: Args) => void | PromiseLike<unknown>,
): (...args: Args) => void {
  return (...args) => {
    try {
      const returned = hook(...args);
      if (isPromise(returned)) returned.then(undefined, (error: unknown) => logError(error));
    } catch (error) {
      logError(error);
    }
  };
}

/** What a fault happened in, as far as it is known. */
interface During {
  readonly method: string;
  /** What was called, read or got. */
  readonly target?: { readonly name: string } | undefined;
}

/** Where a fault goes that nobody has asked for. */
export function logError(error: unknown, context?: Pick<During, 'method'>): void {
  if (context === undefined) return console.error('express-mcp:', error);
  const { method, target } = context as During;
  console.error(`express-mcp: ${method}${target === undefined ? '' : ` ${JSON.stringify(target.name)}`}:`, error);
}
