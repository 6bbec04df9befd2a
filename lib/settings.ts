/** Checks of what authors set: misuse is said at the call, with the option, its value and what was meant. */
import { inspect } from 'node:util';
import type { CacheHints } from './declarations';

/** The longest time that a timer can wait; it takes a longer one for 1 ms. */
const longestMs = 2 ** 31 - 1;

/** @throws {RangeError} beginning with `option`, unless a timer can wait so long. */
export function checkDuration(option: string, value: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= longestMs) return value;
  throw new RangeError(`${option} must be whole milliseconds from 1 to ${longestMs}, got ${inspect(value)}`);
}

/** @throws {RangeError} beginning with `option`, unless it is a number of things, one at least. */
export function checkCount(option: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new RangeError(`${option} must be a positive integer, got ${inspect(value)}`);
}

/**
 * A wait that may be none, or for ever: that is as long as a timer can.
 *
 * @throws {RangeError} beginning with `option`.
 */
export function checkWait(option: string, value: number): number {
  if (typeof value === 'number' && value >= 0) return Math.min(value, longestMs);
  throw new RangeError(`${option} must be milliseconds from 0 up, or Infinity, got ${inspect(value)}`);
}

/** Every key of `T`: the compiler keeps the list whole. */
export type Keys<T> = Readonly<Record<keyof T, true>>;

/** The same hint for each of `names`; see {@link checkKeys}. */
export function hintFor(names: readonly string[], hint: (name: string) => string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, hint(name)]));
}

/**
 * What is misspelt must not be silently ignored.
 *
 * @param hints What is meant, by what is often written for it.
 * @throws {TypeError} beginning with `owner`, for a key that is not one of `known`.
 */
export function checkKeys(
  owner: string,
  given: object,
  known: Readonly<Record<string, true>>,
  hints: Readonly<Record<string, string>> = {},
): void {
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || Object.hasOwn(known, key)) continue;
    const near = Object.keys(known).find((name) => name.toLowerCase() === key.toLowerCase());
    const hint = Object.hasOwn(hints, key) ? hints[key]! : near === undefined ? undefined : `did you mean ${near}?`;
    throw new TypeError(`${owner}: there is no "${key}"; ${hint ?? `there are ${Object.keys(known).join(', ')}`}`);
  }
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
