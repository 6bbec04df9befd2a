/** Checks of what authors set: misuse is said at the call, with the option, its value and what was meant. */
import type { CacheHints } from './declarations';

/** The longest time that a timer can wait. */
const maxDurationMs = 2 ** 31 - 1;

/** @throws {RangeError} naming `option`, unless a timer can wait so long. */
export function checkDuration(option: string, value: number): number {
  if (typeof value === 'number' && value >= 1 && value <= maxDurationMs) return value;
  throw new RangeError(`${option}: must be milliseconds from 1 to ${maxDurationMs}, got ${JSON.stringify(value)}`);
}

/**
 * @throws {RangeError | TypeError} naming `option`.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
 */
export function checkCacheHints(option: string, hints: CacheHints | undefined): void {
  const { ttlMs, cacheScope } = hints ?? {};
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs >= 0))
    throw new RangeError(`${option}.ttlMs: must be whole milliseconds from 0 up, got ${JSON.stringify(ttlMs)}`);
  if (cacheScope !== undefined && cacheScope !== 'public' && cacheScope !== 'private')
    throw new TypeError(`${option}.cacheScope: must be 'public' or 'private', got ${JSON.stringify(cacheScope)}`);
}
